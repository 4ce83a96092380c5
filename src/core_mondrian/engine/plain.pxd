# Compiled, so that it can tell.
