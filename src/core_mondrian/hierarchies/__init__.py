"""Hierarchies made from a column's values, read from files, and written to them."""
