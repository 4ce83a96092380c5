"""The paper's cut funnel (§3.3): from all columns of a partition to one cut or none.

column_ranking     which column first: RILM, or LeFevre's width
breakout           columns that are good enough are left alone
proposals          where a number could be cut: median, bin edges
category_parts     how a category could be cut: hierarchy children, small ones pooled
code_runs          the distinct codes of a column in a partition, with their rows
scoring            standard deviation after a cut against before
strategy           §3.4: the decisions of `paper` and `original` as tables of functions
own_strategy       the same for a user's policy
funnel             examined, considered, proposed, final, accepted
growth             carry cuts out, solve what is inline, queue the rest (§3.5)
workspace          what all of these work on
"""
