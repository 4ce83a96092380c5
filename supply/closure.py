"""Which installed packages stand behind core-mondrian and its extras."""

import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from typing import TypeAlias

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.lock import ROOT

EXTRAS = (
    *("own-models", "report", "sign", "sklearn", "spark", "sql", "statistics"),
    "studio",
)
"""What users may ask for; `dev` and `fuzz` are ours alone."""
Asked: TypeAlias = list[tuple[str, str]]
"""Packages, each once without an extra and once with every extra asked for."""


def needed(extras: Iterable[str] = EXTRAS) -> dict[str, Distribution]:
    """Return what core-mondrian needs with these extras, by canonical name, sorted.

    Raises:
        PackageNotFoundError: one of them is not installed here.
    """
    found: dict[str, Distribution] = {}
    asked: set[tuple[str, str]] = set()
    waiting = _asked_by(direct(extras), "")
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in asked:
            asked.add((name, extra))
            found[name] = found.get(name) or distribution(name)
            waiting += _asked_by(found[name].requires or [], extra)
    return dict(sorted(found.items()))


def direct(extras: Iterable[str] = EXTRAS) -> list[str]:
    """Return what pyproject.toml asks for: of the checkout, whatever is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    asked = [*project["dependencies"], *(x for e in extras for x in optional[e])]
    return list(dict.fromkeys(asked))


def names_needed(texts: Iterable[str]) -> list[str]:
    """Return the canonical names of what these requirements name here, sorted."""
    return sorted({name for name, _ in _asked_by(texts, "")})


def _asked_by(texts: Iterable[str], extra: str) -> Asked:
    asked: Asked = []
    for wanted in map(Requirement, texts):
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            name = canonicalize_name(wanted.name)
            asked += [(name, more) for more in ("", *sorted(wanted.extras))]
    return asked
