"""How little any release of a table can lose: a lower bound, and what proves it.

bound         find_bound(): the figure, how it was found, and how sure it is
boxes         distinct tuples in a tree of boxes
tuples        the distinct tuples of a table, and what is near each; compiled
nearest       the tuples nearest to one of them, compiled
hulls         all sets of rows around a tuple, by what they show; compiled
prices        what each row has to lose, raised as long as no set can pay less
confidence    a lower bound of a mean, from a sample
certificate   a bound as plain values, for anyone to prove
check         the proof: prices that no set of k rows undercuts; uses none of these
"""
