"""Fit once, apply to new rows, release again: one guarantee over all releases.

recoding          `fit` and `Recoding`: a tree fitted once, applied to new rows
fitted_columns    columns of new rows as codes, next to the values that a fit named
recoding_parts    a recoding as tables and plain values, and back
recoding_tree     the tree in terms of values
fresh_cuts        a tree for the new rows of one release
walking           where a new row stops in the tree (compiled)
cohorts           rows that are shown together, from the finest node that suffices
judge             do sets of rows pass the models, next to the table of the fit?
shown_cells       what a cohort shows: the box of its node and its own rows
series            `Series`: a folder, its lock, and the order in which files appear
release_step      one more release: who is shown in which cohort
events            who leaves a cohort with those who are gone or have changed
row_hashes        which row of the last release is this, and has it changed?
shown_codes       what has been shown, in the codes of new rows and back
step_rows         the rows of a release as they are shown
state             what a series remembers
state_file        the same as one file, and back
private_file      several tables in one file that only its owner reads
"""
