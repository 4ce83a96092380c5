"""Whether the engine runs as plain Python, which only tests ask for."""

import cython

IS_PLAIN = not cython.compiled
