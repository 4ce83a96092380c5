"""Fit once, apply to new rows, release again: one guarantee over all releases.

recoding          `fit` and `Recoding`: a tree fitted once, applied to new rows
fitted_columns    columns of new rows as codes, next to the values that a fit named
recoding_parts    a recoding as tables and plain values, and back
recoding_tree     the tree in terms of values
walking           where a new row stops in the tree (compiled)
cohorts           rows that are shown together, from the finest node that suffices
judge             do sets of rows pass the models, next to the table of the fit?
shown_cells       what a cohort shows: the box of its node and its own rows
private_file      several tables in one file that only its owner reads
"""
