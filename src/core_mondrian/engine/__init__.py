"""From distinct tuples to the tree of classes. No dataframe, no Python object per node.

grow               the tree of one table under one spec: policies, budget, equity
inputs             table and spec as the arrays that compiled code takes
missing_patterns   §3.2: a root per pattern of missing values; repair of small ones
scheduler          §3.5: queued partitions on threads
executor           §3.5: the same queue on other machines, or with less memory
marginals          counts by column, for partitions too large for one machine
budget             §3.6: who may suppress how many rows; backtracking
constraints        what every class has to satisfy, counted in NumPy
model_rules        the same for compiled code: counts of a set of records, rules on them
paper/             §3.3: the cut funnel
search/            policy `best`
layout             arrays, records and constants, declared once (and for C in the .pxd)
tree, nodes        the grown tree; its nodes while it grows
columns, boxes     what codes stand for; what a class spans
split_tuples       tuples whose rows are in several classes
funnel_counts      how many cuts each stage of the funnel has seen
records, sorting   moving and sorting records
"""
