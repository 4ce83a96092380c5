"""Grow the partition tree."""
