"""Tables in databases: counted and recoded there, as SQL."""
