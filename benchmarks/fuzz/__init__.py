"""Random tables, specs and files against what is promised of every release."""
