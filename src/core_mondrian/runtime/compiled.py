"""Refuse to start where the compiled modules are missing, and say what to do."""

from importlib.util import find_spec

if find_spec("core_mondrian._cython_helpers") is None:
    raise ImportError(
        "core-mondrian is not compiled here: install it with `pip install .`, which "
        "needs a C compiler, or in a checkout run `make demo` or `make test`"
    )
