"""Verification: a released table counted again, by code of its own.

verify        models, budget and rows of a released table
counting      classes of a released table
verify_series  what all releases of a series reveal together
read_back     the file that was written, read again
matches       which classes a person of the population fits
counts        rows, persons and sensitive values of every class
definitions   each shipped privacy model, from these counts
distances     earth mover's distances between a class and the table

The engine measures classes by compiled functions of its own while it cuts; nothing of
them is used here, so that a fault in one of the two shows.
"""
