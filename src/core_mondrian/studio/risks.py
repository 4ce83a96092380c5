"""Who can be singled out by what others may know, and what each column adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_mondrian.analysis.inspection import InspectedColumn
from core_mondrian.measures.risk import Records
from core_mondrian.studio.actions import OpenedTable
from core_mondrian.studio.jobs import Progress
from core_mondrian.verification.counting import Coded, combine, compress, first_rows


@dataclass(frozen=True, slots=True)
class Risk:
    """Groups of people who look alike in a table as it stands, by their size.

    There are few sizes, however many rows there are: whatever is asked, for whatever
    k, takes no time.
    """

    sizes: NDArray[np.int64]
    """The sizes that occur, rising."""
    groups: NDArray[np.int64]
    """How many groups have each."""

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> "Risk":
        """Return the risk of groups of these sizes; those of nobody do not count."""
        return cls(*np.unique(sizes[sizes > 0], return_counts=True))

    @property
    def n_people(self) -> int:
        return int(self.sizes @ self.groups)

    @property
    def n_groups(self) -> int:
        return int(self.groups.sum())

    @property
    def n_unique(self) -> int:
        """People who look like nobody else."""
        return int(self.groups[self.sizes == 1].sum())

    def n_below(self, k: int) -> int:
        """Return how many look like fewer than k, themselves included."""
        small = self.sizes < k
        return int(self.sizes[small] @ self.groups[small])

    @property
    def highest(self) -> float:
        """The chance to guess which row is whose, for the one found most easily."""
        return 1 / int(self.sizes[0]) if self.sizes.size else 0.0

    @property
    def average(self) -> float:
        """The same on average over all people."""
        return self.n_groups / self.n_people if self.sizes.size else 0.0


@dataclass(slots=True)
class RiskCounts:
    """What is counted of some columns; the page looks at it while it grows."""

    names: tuple[str, ...]
    unit: str | None
    """The column that says whose row it is: then persons are counted, not rows."""
    total: Risk | None = None
    """Of all the columns together."""
    n_without: dict[str, int] = field(default_factory=dict)
    """How many would be unique by all columns but this one."""

    @property
    def who(self) -> str:
        return "rows" if self.unit is None else "persons"

    def n_added(self, name: str) -> int | None:
        """Return how many are unique only because of a column.

        None: that is not counted yet.
        """
        if self.total is None or name not in self.n_without:
            return None
        return self.total.n_unique - self.n_without[name]


def count_risks(
    opened: OpenedTable, counts: RiskCounts, progress: Progress
) -> RiskCounts:
    """Count the columns of ``counts`` together, then all but each, and note it there.

    Raises whatever ``progress`` raises, between two columns.
    """
    if not counts.names:
        return counts
    columns = []
    for name in (*counts.names, *([counts.unit] if counts.unit else [])):
        progress("code", 0.0)
        columns.append(opened.code(name))
    records = collapse(columns, has_unit=counts.unit is not None)
    everything = range(len(counts.names))
    counts.total = Risk.of(records.sizes(everything))
    for i, name in enumerate(counts.names):
        progress("count", i / len(counts.names))
        others = [j for j in everything if j != i]
        counts.n_without[name] = _count_unique(records, others)
    return counts


def _count_unique(records: Records, chosen: Sequence[int]) -> int:
    if chosen:
        return Risk.of(records.sizes(chosen)).n_unique
    # All look alike: only who is alone is unique.
    units = records.units
    n = int(records.rows.sum()) if units is None else np.unique(units.codes).size
    return int(n == 1)


def collapse(columns: Sequence[Coded], *, has_unit: bool) -> Records:
    """Return rows that are alike as one; the last column may say whose rows they are.

    There may be far fewer of them, and they are counted once for each column.
    """
    keys = compress(combine(columns))
    one: NDArray[Any] = first_rows(keys)
    alike = [Coded(column.codes[one], column.n_codes) for column in columns]
    rows = np.bincount(keys.codes, minlength=keys.n_codes).astype(np.int64)
    units = alike.pop() if has_unit else None
    return Records(tuple(alike), rows, units)


def risk_text(counts: RiskCounts, k: int) -> tuple[str, str]:
    """Return who is unique by the columns that are known, and how easily found."""
    risk = counts.total
    who = counts.who if counts.unit is None else "records of persons"
    if risk is None or not risk.n_people:
        return "", ""
    n = len(counts.names)
    known = "this column" if n == 1 else f"these {n} columns"
    unique = share_text(risk.n_unique, risk.n_people)
    first = (
        f"{risk.n_unique:,} of {risk.n_people:,} {who} ({unique}) are unique in the "
        "table as it is."
    )
    more = (
        f"Whoever knows {known} of a person and guesses which row is theirs is right "
        f"in {risk.average:.1%} of cases on average, and at worst in "
        f"{risk.highest:.1%}. Of the {who}, "
        f"{share_text(risk.n_below(k), risk.n_people)} look like fewer than {k} "
        f"{counts.who}."
    )
    if counts.unit is not None:
        more += " Rows of one person that look alike are one record."
    return first, more


def alone_text(column: InspectedColumn, n_rows: int) -> str:
    """Return how many rows a column singles out by itself."""
    n = column.n_unique_rows
    if n is None or not n_rows:
        return ""
    if not n:
        return "alone it singles out nobody"
    return f"alone it singles out {n:,} row{'s' * (n != 1)} ({share_text(n, n_rows)})"


def without_text(total: Risk, n_without: int) -> str:
    """Return how many would be unique if a column were not known."""
    without = share_text(n_without, total.n_people)
    with_it = share_text(total.n_unique, total.n_people)
    if without == with_it:
        return f"with or without it {with_it} are unique"
    return f"without it {without} are unique instead of {with_it}"


def share_text(n: int, of: int) -> str:
    """Return a share as people write it; few are not none, and most are not all."""
    text = f"{n / of:.1%}"
    if text == "0.0%":
        return "under 0.1%" if n else "0%"
    return "over 99.9%" if text == "100.0%" and n < of else text
