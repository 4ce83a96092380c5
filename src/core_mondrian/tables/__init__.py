"""Tables at both ends of a run.

keys        the secret of a run, separated by purpose
"""
