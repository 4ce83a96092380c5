"""The reference of the Python API: one entry for each public name."""

import re
from typing import Final

import core_mondrian

_MARK: Final = re.compile(r"^::: public (\S+)$", re.MULTILINE)


def with_public_names(page: str) -> str:
    """Return the page with each ``::: public PACKAGE`` replaced by its public names."""
    return _MARK.sub(lambda mark: "\n\n".join(map(_entry, _names_of(mark[1]))), page)


def absent_names(page: str) -> list[str]:
    """Return the public names that no section of the page holds."""
    listed = {name for package in _MARK.findall(page) for name in _names_of(package)}
    return sorted(set(core_mondrian.__all__) - listed)


def _names_of(package: str) -> list[str]:
    return [name for name in core_mondrian.__all__ if _is_in(_home(name), package)]


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _home(name: str) -> str:
    return str(getattr(core_mondrian, name).__module__)


def _entry(name: str) -> str:
    return f"::: {_home(name)}.{name}"
