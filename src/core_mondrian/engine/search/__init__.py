"""Policy `best`: cut where the released values lose least, then improve the classes.

best                 choose beta, cut down to blocks, solve them, join their trees
best_search          the same for one thread, compiled
exact_cuts           every candidate cut of every column, by what its sides lose
code_groups          the records of a partition by their code in one column
objective            what a box loses, column by column, in its released form
class_loss           what a class of records loses
blocks               cut a block, trying cuts out before one is taken
block_solving        a block: cut, then split ties
tie_splitting        cut a class between rows that are equal
regrouping           move records between classes, cut neighbours anew
lanes                columns as small numbers, to compare many records quickly
closeness            which records of a block are closest
clustering           divide a block into clusters of close records
annealing            change the classes of a block, even at a cost first
exchanges            exchange records between two classes
suppression          records that are cheaper to suppress than to release
suppression_budget   spend the budget on them
equity               weigh groups until none loses much more than the others
loss_weights         the objective of a table and spec, as arrays
counted_cuts         the best cut of a partition that is known by its counts
workspace            what all of these work on
"""
