"""What was lost, what is at risk, what was promised."""
