"""How little any release of a table can lose: a lower bound, and what proves it.

bound          find_bound(): the figure, how it was found, and how sure it is
tuples         the distinct tuples of a table, and what is near each of them
nearest        the tuples nearest to one of them, compiled
hulls          all sets of rows around a tuple, by what they show; compiled
prices         what each row has to lose, raised as long as no set can pay less
confidence     a lower bound of a mean, from a sample
check          the proof: prices that no set of k rows can undercut; uses none of these
"""
