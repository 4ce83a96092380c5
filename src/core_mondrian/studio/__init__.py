"""The studio: a local web page on which a release is made; every step is a spec."""
