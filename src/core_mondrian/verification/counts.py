"""What a released table shows of its classes: how many rows have which value."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core_mondrian.runtime.array_types import Floats, Integers
from core_mondrian.runtime.runs import run_starts


def _none() -> Integers:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of a table, and what one model looks at in them."""

    rows: Integers
    """Rows of each class."""
    sizes: Integers
    """Persons of each class; where no unit is named, its rows."""
    owner: Integers = field(default_factory=_none)
    """Of each pair of a class and a value it holds: the class, rising."""
    value: Integers = field(default_factory=_none)
    """Of each pair: the number of the value."""
    count: Integers = field(default_factory=_none)
    """Of each pair: the rows of the class that have the value."""
    table: Integers = field(default_factory=_none)
    """Rows of the whole table by value; the last value is the missing one."""
    labels: Sequence[object] = ()
    """What the values are, without the missing one."""
    outside: Integers = field(default_factory=_none)
    """Persons of the population that fit each class and are not in it."""

    @property
    def n_rows(self) -> int:
        """Rows of the whole table that are counted."""
        return int(self.table.sum())

    def without_missing(self) -> "Classes":
        """Return the classes with rows left out that have no value."""
        kept = self.value < self.table.size - 1
        owner, count = self.owner[kept], self.count[kept]
        rows = np.bincount(owner, count, self.rows.size).astype(np.int64)
        table = np.append(self.table[:-1], 0)
        value = self.value[kept]
        return replace(
            self, rows=rows, owner=owner, value=value, count=count, table=table
        )

    def share(self) -> Floats:
        """Return, of each pair, the share of the value in its class."""
        return np.asarray(self.count / self.rows[self.owner], dtype=np.float64)

    def table_share(self) -> Floats:
        """Return, of each pair, the share of the value in the whole table."""
        return np.asarray(self.table[self.value] / self.n_rows, dtype=np.float64)

    def total(self, amounts: Floats | Integers) -> Floats:
        """Add up what each class's pairs amount to; NaN for a class without rows."""
        sums = np.bincount(self.owner, amounts, self.rows.size)
        return np.where(self.rows > 0, sums, np.nan)

    def largest(self, amounts: Floats | Integers) -> Floats:
        """Return the largest amount among each class's pairs, likewise; 0 at least."""
        most_by_class = np.where(self.rows > 0, 0.0, np.nan)
        starts = run_starts(self.owner)
        if starts.size:
            most = np.maximum.reduceat(amounts, starts)
            most_by_class[self.owner[starts]] = np.maximum(most, 0.0)
        return most_by_class
