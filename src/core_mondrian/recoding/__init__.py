"""What a class shows.

plan              what becomes of every tuple, decided before any row is touched
recode            leaves → released columns
labels            what each class shows in a column
intervals         ranges, as text or with both bounds in the column's own type
rounding          bounds on a grid that a whole column shares
representatives   one number for a class: mean, median, midpoint, or a draw
value_sets        the distinct values of a class as text
own_labels        what classes show by a policy of the user's own (§3.4)
"""
