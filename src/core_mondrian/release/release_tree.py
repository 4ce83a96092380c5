"""How a released table divides: a tree over its classes, and their sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.runtime.plain_values import JsonObject

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """The classes of a released table, and what they show."""

    columns: tuple[str, ...]
    codes: Codes
    """What each class (axis 0) shows in each column (axis 1): a place among `texts`.
    """
    texts: tuple[Sequence[str | None], ...]
    """Per column what the codes stand for, from the smallest on; None: blank."""
    rows: Codes
    """Rows of each class."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Classes that show the same so far, and how they divide further."""

    shows: str | None
    """What they show in the column that divides the branch above; None: blank."""
    n_rows: int
    n_classes: int
    column: str | None = None
    """The column that divides this branch; None: it is not divided."""
    branches: tuple["Branch", ...] = ()
    """The largest of its branches, those of most rows first."""
    n_others: int = 0
    """Branches that are summed up, with so many rows and classes together."""
    other_rows: int = 0
    other_classes: int = 0

    def to_json(self) -> JsonObject:
        """Return plain values."""
        plain: JsonObject = {
            "shows": self.shows,
            "rows": self.n_rows,
            "classes": self.n_classes,
            "column": self.column,
        }
        if self.column is None:
            return plain
        plain["branches"] = [branch.to_json() for branch in self.branches]
        plain["others"] = {
            "branches": self.n_others,
            "rows": self.other_rows,
            "classes": self.other_classes,
        }
        return plain


@dataclass(frozen=True, slots=True)
class _Divided:
    """Classes by what they show in one column, those of most rows first."""

    codes: Codes
    rows: Codes
    classes: Codes
    n_listed: int

    @property
    def score(self) -> int:
        """Classes that a row may still be in, summed over rows: less is better.

        Rows whose branch is not listed may be in any class, as before.
        """
        n = self.n_listed
        unlisted = int(self.rows[n:].sum()) * int(self.classes.sum())
        return int(self.rows[:n] @ self.classes[:n]) + unlisted


def grow_branches(table: ReleasedTable, depth: int, width: int) -> Branch:
    """Divide the classes by one column at a time, ``depth`` times at most.

    The column is the one whose ``width`` largest branches leave a row fewest classes
    to be in; of equal ones the first. One branch more is listed rather than summed up
    alone.
    """
    everything = np.arange(table.rows.size)
    return _grow(table, everything, None, depth, width)


def _grow(
    table: ReleasedTable, inside: Codes, shows: str | None, depth: int, width: int
) -> Branch:
    n_rows, n_classes = int(table.rows[inside].sum()), int(inside.size)
    chosen = _choose(table, inside, width) if depth > 0 else None
    if chosen is None:
        return Branch(shows, n_rows, n_classes)
    column, divided = chosen
    n = divided.n_listed
    codes = table.codes[inside, column]
    branches = [
        _grow(table, inside[codes == code], table.texts[column][code], depth - 1, width)
        for code in divided.codes[:n].tolist()
    ]
    return Branch(
        shows=shows,
        n_rows=n_rows,
        n_classes=n_classes,
        column=table.columns[column],
        branches=tuple(branches),
        n_others=int(divided.codes.size) - n,
        other_rows=int(divided.rows[n:].sum()),
        other_classes=int(divided.classes[n:].sum()),
    )


def _choose(
    table: ReleasedTable, inside: Codes, width: int
) -> tuple[int, _Divided] | None:
    """Return the column that divides the classes best; None: none does."""
    divisions = [
        (i, _divide(table, inside, i, width)) for i in range(table.codes.shape[1])
    ]
    dividing = [one for one in divisions if one[1].codes.size > 1]
    return min(dividing, key=lambda one: one[1].score, default=None)


def _divide(table: ReleasedTable, inside: Codes, column: int, width: int) -> _Divided:
    codes, place = np.unique(table.codes[inside, column], return_inverse=True)
    rows = np.zeros(codes.size, dtype=np.int64)
    np.add.at(rows, place.ravel(), table.rows[inside])
    classes = np.bincount(place.ravel(), minlength=codes.size).astype(np.int64)
    order = np.argsort(-rows, kind="stable")
    n_listed = codes.size if codes.size <= width + 1 else width
    return _Divided(codes[order], rows[order], classes[order], n_listed)


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Classes of ``low`` to ``high`` rows."""

    low: int
    high: int
    n_classes: int
    n_rows: int

    def to_json(self) -> dict[str, int]:
        """Return plain values."""
        return {
            "from": self.low,
            "to": self.high,
            "classes": self.n_classes,
            "rows": self.n_rows,
        }


def size_bins(sizes: Codes, least: int | None = None) -> tuple[SizeBin, ...]:
    """Count the classes from the smallest size to twice that, and so on.

    ``least``, if no class is smaller, begins instead, so that two tables have the same
    bins.
    """
    if not sizes.size:
        return ()
    least = int(sizes.min()) if least is None else least
    step = np.frexp(sizes // least)[1] - 1  # whole numbers: no rounding at a limit
    n_classes = np.bincount(step)
    # Rows as whole numbers: bincount would add them up as floats.
    n_rows = np.zeros(n_classes.size, dtype=np.int64)
    np.add.at(n_rows, step, sizes)
    return tuple(
        SizeBin(least << i, (least << i + 1) - 1, int(n), int(n_rows[i]))
        for i, n in enumerate(n_classes)
    )
