"""From rows to codes, and to distinct tuples with counts.

columns         one column: its values, rising, and the code of every row
trees           hierarchies that a spec asks for, fitted to the values
encoder         all columns of a table, as a spec names them
collapse        rows packed into words; equal ones are one tuple
row_parts       rows allocated to parts that are grouped separately
row_groups      equal rows by hashing their words, compiled
population      a population's rows, encoded with the table
drawable        values that may be put in the place of sensitive ones
keyed_hashing   SipHash of whole columns of 64-bit words
allocation      which rows of a split tuple go to which of its classes
persons         persons who look the same change places at random
"""
