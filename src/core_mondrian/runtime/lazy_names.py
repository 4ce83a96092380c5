"""Names of a package that load when they are first used."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def load_on_use(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``: it takes each name from its module, once."""

    def load(name: str) -> Any:  # noqa: ANN401
        if name not in homes:
            close = _closest(name, homes)
            meant = f"; did you mean {close!r}?" if close else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def _closest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that may have been meant: written otherwise, or longer."""
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1)
    return close[0] if close else next((one for one in names if name in one), None)
