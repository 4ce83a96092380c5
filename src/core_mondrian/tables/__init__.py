"""Tables at both ends of a run.

frames           pandas, polars and Arrow tables, seen as one
encoded          distinct tuples of codes, and their classes: what the engine sees
files/           CSV, Parquet and Arrow files; staged, then published atomically
pandas_types     the types of pandas that Arrow has other names for
readings         texts that stand for one value
arrow_types      which Arrow types are text
arrow_cells      the cells of an Arrow array by place, and no other bytes
cell_keys        a 64-bit key per cell, the same in every frame library
hashing          splitmix64, and draws that depend on a seed and a row only
text_hashing     hashes of texts, compiled
keys             the secret of a run, separated by purpose
pseudonyms       keyed pseudonyms
shuffle          rows in an order that reveals nothing
cleaning         the one place that cleans whatever leaves
"""
