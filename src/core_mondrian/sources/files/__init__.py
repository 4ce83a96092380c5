"""Files larger than memory: counted in one pass, recoded in another."""
