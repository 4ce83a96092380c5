"""Re-identification risk: how likely a person is to be found, before and after.

A prosecutor knows that the person is in the table; a journalist only that the person is
in the population; a marketer is after as many as possible, whoever they are. Where no
population is known, the table is all there is of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core_mondrian.measures.cells import divide
from core_mondrian.runtime.array_types import Integers
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.verification.counting import Coded, combine, compress

_FREE_CODES = 4
"""Codes per row that are counted as they are."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """People in groups of ``low`` to ``high`` people who look alike."""

    low: int
    high: int
    n_people: int


@dataclass(frozen=True, slots=True)
class Risk:
    """How likely people are to be found; None: there is nobody to find."""

    n_people: int
    """Whom groups are counted in: persons where the spec names a unit, else rows."""
    n_groups: int
    """Groups of people who look alike."""
    smallest: int | None
    """People in the smallest of them."""
    n_unique: int
    """People who look like nobody else."""
    n_small: int
    """People in groups smaller than a class may be."""
    highest: float | None
    """Prosecutor: of the person who is found most easily."""
    average: float | None
    """Prosecutor: on average."""
    journalist_highest: float | None
    journalist_average: float | None
    marketer: float | None
    """Share of all people who are found if everybody is looked for."""
    crowds: tuple[Crowd, ...]
    """People by how many look like them: alone, fewer than a class needs, more."""


@dataclass(frozen=True, slots=True)
class Records:
    """Rows that look alike, as codes of what they show; several may look the same."""

    columns: tuple[Coded, ...]
    rows: Integers
    units: Coded | None = None
    """Whose rows they are; None: everybody has one."""
    population: Integers | None = None
    """Rows of the whole population that look so; None: it is the table."""

    def keys(self, chosen: Sequence[int]) -> Coded:
        """Return codes that are equal where the chosen columns are; some may be free.

        As long as there are not many more of them than rows, counting all of them is
        quicker than to find out which are used.
        """
        keys = combine([self.columns[i] for i in chosen])
        return keys if keys.n_codes <= _FREE_CODES * self.rows.size else compress(keys)

    def sizes(self, chosen: Sequence[int]) -> Integers:
        """Return how many people look alike in the chosen columns, group by group.

        Codes that are free, and groups that only the population has, have nobody.
        """
        keys = self.keys(chosen)
        if self.units is None:
            return _total(keys, self.rows)
        there = self.rows > 0
        pairs = compress(combine([keys, self.units]).select(there))
        group = np.zeros(pairs.n_codes, dtype=np.int64)
        group[pairs.codes] = keys.codes[there]
        return np.bincount(group, minlength=keys.n_codes).astype(np.int64)


def table_records(table: EncodedTable) -> Records:
    """Return the rows of a table as they came in, and of its population if known."""
    columns = tuple(
        Coded(table.codes[:, i].astype(np.int64), column.n_values + 1)
        for i, column in enumerate(table.columns)
    )
    rows = np.where(table.inside, table.counts, 0)
    population = None if table.present is None else table.counts
    return Records(columns, rows, units_of(table), population)


def units_of(table: EncodedTable) -> Coded | None:
    """Return whose row each tuple is; None: everybody has one row."""
    if table.n_units is None:
        return None
    return Coded(table.codes[:, -1].astype(np.int64), table.n_units)


def measure_risk(records: Records, k: int) -> Risk:
    """Return the risk of people who look alike in all columns."""
    everything = range(len(records.columns))
    sizes = records.sizes(everything)
    fitting = sizes
    if records.population is not None:
        fitting = _total(records.keys(everything), records.population)
    there = sizes > 0
    return risk_of(sizes[there], fitting[there], k)


def risk_of(sizes: Integers, fitting: Integers, k: int) -> Risk:
    """Return the risk of groups of people, and of the population that looks so."""
    n = int(sizes.sum())
    smallest = int(sizes.min()) if n else None
    average = divide(int(sizes.size), n)
    expected = _expected(sizes, fitting)
    return Risk(
        n_people=n,
        n_groups=int(sizes.size),
        smallest=smallest,
        n_unique=int(np.count_nonzero(sizes == 1)),
        n_small=int(sizes[sizes < k].sum()),
        highest=None if smallest is None else 1 / smallest,
        average=average,
        journalist_highest=1 / int(fitting.min()) if n else None,
        journalist_average=expected,
        marketer=expected,
        crowds=_crowds(sizes, max(k, 2)),
    )


def _crowds(sizes: Integers, least: int) -> tuple[Crowd, ...]:
    """Count people by the size of their group, from ``least`` on to twice that each.

    The limits depend on ``least`` alone, so that two tables compare.
    """
    step = np.frexp(sizes // least)[1]  # whole numbers: no rounding at a limit
    place = np.where(sizes == 1, 0, step + 1)
    people = np.zeros(int(place.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(people, place, sizes)
    limits = [(1, 1), (2, least - 1)]
    limits += [(least << i, (least << i + 1) - 1) for i in range(people.size - 2)]
    return tuple(
        Crowd(low, high, n)
        for (low, high), n in zip(limits, people.tolist(), strict=False)
        if low <= high
    )


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """How many people some columns together single out, before and after."""

    columns: tuple[str, ...]
    unique_before: int
    small_before: int
    """People in groups smaller than a class may be."""
    unique_after: int
    smallest_after: int | None

    @classmethod
    def of_all(cls, names: Sequence[str], before: Risk, after: Risk) -> "Uniqueness":
        """Return what all columns together single out, which the risks know."""
        numbers = before.n_unique, before.n_small, after.n_unique, after.smallest
        return cls(tuple(names), *numbers)


def measure_uniqueness(
    before: Records, after: Records, names: Sequence[str], k: int
) -> Uniqueness:
    """Return what the columns ``names`` single out; the records have no others."""
    chosen = range(len(names))
    class_sizes = [
        sizes[sizes > 0] for sizes in (before.sizes(chosen), after.sizes(chosen))
    ]
    return Uniqueness(
        columns=tuple(names),
        unique_before=int(np.count_nonzero(class_sizes[0] == 1)),
        small_before=int(class_sizes[0][class_sizes[0] < k].sum()),
        unique_after=int(np.count_nonzero(class_sizes[1] == 1)),
        smallest_after=int(class_sizes[1].min()) if class_sizes[1].size else None,
    )


def pick(records: Records, chosen: Sequence[int]) -> Records:
    """Return the records with some of their columns only."""
    return replace(records, columns=tuple(records.columns[i] for i in chosen))


def _total(keys: Coded, rows: Integers) -> Integers:
    total = np.bincount(keys.codes, weights=rows, minlength=keys.n_codes)
    return total.astype(np.int64)


def _expected(sizes: Integers, fitting: Integers) -> float | None:
    """Return the mean over people of one over those who look the same."""
    if np.array_equal(sizes, fitting):  # whole numbers, so that nothing is rounded
        return divide(int(sizes.size), int(sizes.sum()))
    order = np.lexsort((fitting, sizes))
    each = sizes[order] / np.maximum(fitting[order], 1)
    return divide(float(each.sum()), int(sizes.sum()))
