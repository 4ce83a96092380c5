"""From rows to codes.

keyed_hashing   SipHash of whole columns of 64-bit words
allocation      which rows of a split tuple go to which of its classes
persons         persons who look the same change places by lot
"""
