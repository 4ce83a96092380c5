"""What core-mondrian is made of: locked, listed, licensed, and tried old and new."""
