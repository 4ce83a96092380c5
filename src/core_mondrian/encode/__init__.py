"""User data in, integer codes out."""
