"""Benchmarks: scripts that print one JSON object per line; words go to stderr."""
