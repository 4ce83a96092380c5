"""The definitions that a released table is checked by.

The engine measures classes by compiled functions of its own while it cuts; nothing of
them is used here, so that a fault in one of the two shows.

- `definitions`: each shipped privacy model, from the counts of a released table.
- `distances`: earth mover's distances between a class and the table.
"""
