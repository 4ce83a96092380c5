"""How results show themselves in a notebook."""
