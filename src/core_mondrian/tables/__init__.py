"""Tables at both ends of a run.

keys          the secret of a run, separated by purpose
arrow_cells   cells of an Arrow array by place, and no other bytes
cleaning      the one place that cleans whatever leaves, of every kind of frame
"""
