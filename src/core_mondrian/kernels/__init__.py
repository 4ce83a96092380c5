"""Compiled loops over integer arrays."""
