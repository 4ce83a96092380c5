"""From distinct tuples to the tree of classes. No dataframe, no Python object per node.

grow               the tree of one table under one spec: begin reading here
consistency        growing again until every model is met in the released table
funnel_tree        one tree by the paper's funnel
best_tree          one tree by policy `best`
grow_parts         the same where tuples do not fit into memory
grown              what a tree is grown from, and what has grown
roots              the roots' records and budgets
inputs             table and spec as the arrays that compiled code takes
missing_patterns   §3.2: a root per pattern of missing values; repair of small ones
scheduler          §3.5: queued partitions on threads, or with another executor
top                the top of such a tree: cut by counts while partitions are large
parts              what is below: parts that one thread or machine solves whole
marginals          counts by column and pair, and the records that stand in for them
budget             §3.6: who may suppress how many rows; backtracking
constraints        what every class has to satisfy, counted in NumPy
model_rules        the same for compiled code: counts of a set of records, rules on them
paper/             §3.3: the cut funnel
search/            policy `best`
layout             arrays, records and constants, declared once (and for C in the .pxd)
tree, nodes        the grown tree; its nodes while it grows
columns, boxes     what codes stand for; what a class spans
funnel_counts      how many cuts each stage of the funnel has seen
records, sorting   moving and sorting records
exact_sums         sums of floats that do not depend on the order
own_hooks          functions of a user's policy, callable from compiled code
plain              whether the engine runs uncompiled, which only tests ask for
"""
