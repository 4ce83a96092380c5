"""Learned: values that occur with the same other values are alike."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import Builder, texts_of
from core_mondrian.hierarchies.tree import ROOT, Hierarchy, flat, lay_out
from core_mondrian.runtime.array_types import Counts

MOST_VALUES: Final = 2_000
"""All pairs of values are compared."""
MOST_CODES: Final = 32
"""Different values of another column that are distinguished."""
_LISTED: Final = 4
# Whole numbers, so that distances are exact in whatever order they are added up: a
# square has 28 bits, and the sum over all columns less than 53.
_LEVELS: Final = 2**14
# Every group is taken to have so many rows more, as the table has them on the whole:
# a few rows say little.
_USUAL_ROWS: Final = 10


@dataclass(frozen=True)
class Learned(Builder):
    """Groups of values that occur with the same values of the other columns.

    Level by level the groups most alike are joined, two or a few at a time, so that
    the tree is about as high on every side. Alike are those whose rows are spread
    alike over the other columns (Hellinger's distance; groups of few rows are taken to
    be nearly average); of equally alike ones those with the first values come first.
    """

    kind: ClassVar[str] = "learned"
    children: int = 2
    """Groups that are joined to one at most."""
    columns: tuple[str, ...] = ()
    """The columns looked at; none: all other quasi-identifiers."""

    def __post_init__(self) -> None:
        if isinstance(self.children, bool) or not isinstance(self.children, int):
            raise SpecError("learned: children is a whole number")
        if self.children < 2:
            raise SpecError(f"learned: children is at least 2, got {self.children}")
        if any(not isinstance(name, str) for name in self.columns):
            raise SpecError("learned: columns are names")

    def build(
        self, values: Iterable[object], profiles: Sequence[Counts] = ()
    ) -> Hierarchy:
        """Return the tree; ``profiles`` count rows by value (axis 0) per column.

        Without them neighbouring values are alike.

        Raises:
            SpecError: there are too many values.
        """
        texts = texts_of(values)
        if len(texts) > MOST_VALUES:
            raise SpecError(
                f"a hierarchy is learned of at most {MOST_VALUES} values, found "
                f"{len(texts)}",
                hint="take kind 'prefix', 'ranges' or 'lookup', or write a file",
            )
        groups: list[list[int]] = [[i] for i in range(len(texts))]
        counts = [np.asarray(profile, dtype=np.int64) for profile in profiles]
        levels = [groups]
        while len(groups) > self.children:
            joined = _join(_distances(counts, len(groups)), self.children)
            counts = [_add_up(profile, joined) for profile in counts]
            groups = [sorted(x for i in one for x in groups[i]) for one in joined]
            levels.append(groups)
        return _tree(texts, levels)


def _distances(profiles: Sequence[Counts], n: int) -> NDArray[np.float64]:
    """Return how much each pair of groups differs, over all columns."""
    squares = np.zeros((n, n))
    for profile in profiles:
        usual = profile.sum(axis=0) / max(int(profile.sum()), 1)
        rows = profile.sum(axis=1, keepdims=True)
        shares = (profile + _USUAL_ROWS * usual) / (rows + _USUAL_ROWS)
        roots = np.rint(np.sqrt(shares) * _LEVELS)
        own = (roots * roots).sum(axis=1)
        squares += own[:, np.newaxis] + own - 2.0 * (roots @ roots.T)
    return squares


def _join(losses: NDArray[np.float64], most: int) -> list[list[int]]:
    """Put every group to the one it loses least with, ``most`` of them at most."""
    n = len(losses)
    left, right = np.triu_indices(n, 1)
    order = np.argsort(losses[left, right], kind="stable")
    joined: list[list[int]] = []
    owner = [-1] * n
    n_free = n
    for a, b in zip(left[order].tolist(), right[order].tolist(), strict=True):
        if owner[a] < 0 and owner[b] < 0:
            owner[a] = owner[b] = len(joined)
            joined.append([a, b])
            n_free -= 2
        elif owner[a] < 0 or owner[b] < 0:
            free, taken = (a, b) if owner[a] < 0 else (b, a)
            if len(joined[owner[taken]]) < most:
                owner[free] = owner[taken]
                joined[owner[taken]].append(free)
                n_free -= 1
        if not n_free:
            break
    joined += [[i] for i in range(n) if owner[i] < 0]
    return sorted(sorted(one) for one in joined)


def _add_up(profile: Counts, joined: list[list[int]]) -> Counts:
    return np.stack([profile[one].sum(axis=0) for one in joined])


def _tree(texts: list[str], levels: list[list[list[int]]]) -> Hierarchy:
    """Return the tree of the groups; one that is alone on a level stays what it is."""
    if not texts:
        return flat([])
    labels, parents = [ROOT], [-1]
    over = [0] * len(texts)
    n_over = [len(texts)] * len(texts)
    for groups in reversed(levels):
        for group in groups:
            if over[group[0]] and len(group) == n_over[group[0]]:
                continue
            labels.append(_label([texts[i] for i in group]))
            parents.append(over[group[0]])
            for i in group:
                over[i], n_over[i] = len(labels) - 1, len(group)
    return lay_out(labels, np.array(parents, dtype=np.int64))


def _label(members: list[str]) -> str:
    """Return a value, a set of a few as a release shows sets, or the first ones."""
    if len(members) == 1:
        return members[0]
    if len(members) <= _LISTED:
        return f"{{{', '.join(map(_quote, members))}}}"
    first = ", ".join(members[: _LISTED - 1])
    return f"{first} and {len(members) - _LISTED + 1} more"


def _quote(value: str) -> str:
    is_safe = set(',{}"').isdisjoint(value) and value == value.strip()
    if is_safe and value not in ("", "null"):
        return value
    return json.dumps(value, ensure_ascii=False)
