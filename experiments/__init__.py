"""The paper's evaluation (Core Mondrian §4), measured again by one command."""
