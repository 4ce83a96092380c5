"""Candidates: the released rows that a person may be, read from the cells alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from core_mondrian.analysis.attacks.columns import (
    Column,
    read_carried,
    read_quasi_identifier,
)
from core_mondrian.runtime.array_types import Flags, Integers
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import OpenFrame
from core_mondrian.verification.counting import (
    Coded,
    code_series,
    combine,
    compress,
    first_rows,
)
from core_mondrian.verification.verify import open_release

_MOST_CELLS: Final = 1 << 22
Pairs = tuple[Integers, Integers]


@dataclass(frozen=True, slots=True)
class Candidates:
    """People, and the classes of released rows; a class shows one thing."""

    columns: tuple[Column, ...]
    class_of: Integers
    """Class of each released row; -1: it shows nothing and is nobody's."""
    rows: Integers
    """Rows of each class."""
    person: Integers
    """Number of what is known of each person; who is known alike is found alike."""
    first: Integers
    """A person of each such number, and how many rows they have."""
    people: Integers
    units: Integers | None = None
    """Whose row each row of the original is; None: rows are counted."""

    @property
    def who(self) -> Literal["rows", "persons"]:
        """What is counted."""
        return "rows" if self.units is None else "persons"

    @property
    def n_people(self) -> int:
        """All rows of the original, or persons."""
        return self.count(np.ones(self.first.size, dtype=np.bool_))

    def count(self, chosen: Flags) -> int:
        """Count the rows (persons) of which something chosen is known."""
        if self.units is None:
            return int(self.people[chosen].sum())
        return self.count_rows(chosen[self.person])

    def count_rows(self, chosen: Flags) -> int:
        """Count chosen rows of the original, or the persons who have one."""
        if self.units is None:
            return int(np.count_nonzero(chosen))
        return int(np.unique(self.units[chosen]).size)

    def knowing(self, names: Sequence[str]) -> "Candidates":
        """Return what somebody finds who knows these columns only."""
        chosen = [one for one in self.columns if one.name in names]
        return _gather(chosen, self.class_of, self.rows.size, self.units)

    def sizes(self) -> Integers:
        """Count the rows that each known tuple may be."""
        values = [column.values[self.first] for column in self.columns]
        return self.sizes_of(values)

    def sizes_of(self, values: Sequence[Integers]) -> Integers:
        """Count the rows that fit people with these values, column by column."""
        n = values[0].size
        sizes = np.zeros(n, dtype=np.int64)
        for start, stop in self._parts(n):
            fits = self._fit([one[start:stop] for one in values])
            sizes[start:stop] = _weigh(fits, self.rows)
        return sizes

    def strange_rows(self) -> int:
        """Count the released rows that nobody fits."""
        fits_anybody = np.zeros(self.rows.size, dtype=np.bool_)
        values = [column.values[self.first] for column in self.columns]
        for start, stop in self._parts(self.first.size):
            fits_anybody |= self._fit([one[start:stop] for one in values]).any(axis=0)
        return int(self.rows[~fits_anybody].sum())

    def pairs(
        self, width: int = 1, persons: Integers | None = None
    ) -> Iterator[tuple[int, int, Pairs]]:
        """Yield persons from one number to another, and the classes that fit them.

        ``persons`` are those of ``first`` if None; ``width`` is how much room the
        caller needs for each.
        """
        wanted = self.first if persons is None else persons
        for start, stop in self._parts(wanted.size, width):
            chosen = wanted[start:stop]
            fits = self._fit([one.values[chosen] for one in self.columns])
            places, classes = np.nonzero(fits)
            yield start, stop, (places + start, classes)

    def fits_row(self, person: int, row: int) -> bool:
        """Return whether a person may be a released row."""
        shown = self.class_of[row]
        for one in self.columns:
            value, cell = one.values[person], one.cells[shown]
            if not (value == cell if one.fits is None else one.fits[cell, value]):
                return False
        return bool(shown >= 0)

    def first_fit(self, person: int, row: int) -> int:
        """Return the first person from ``person`` on who may be a released row.

        There are as many persons as rows of the original if nobody may be it.
        """
        if person < self.person.size and self.fits_row(person, row):
            return person
        n, block = self.person.size, 64
        shown = self.class_of[row]
        while person < n:
            stop = min(person + block, n)
            fits = np.ones(stop - person, dtype=np.bool_)
            for one in self.columns:
                values, cell = one.values[person:stop], one.cells[shown]
                fits &= values == cell if one.fits is None else one.fits[cell][values]
            if fits.any():
                return person + int(fits.argmax())
            person, block = stop, min(4 * block, _MOST_CELLS)
        return n

    def _parts(self, n: int, width: int = 1) -> Iterator[tuple[int, int]]:
        step = max(1, _MOST_CELLS // max(self.rows.size, width, 1))
        for start in range(0, n, step):
            yield start, min(start + step, n)

    def _fit(self, values: Sequence[Integers]) -> Flags:
        fits = np.ones((values[0].size, self.rows.size), dtype=np.bool_)
        for column, one in zip(self.columns, values, strict=True):
            fits &= column.fit(one, column.cells)
        return fits


def _weigh(fits: Flags, rows: Integers) -> Integers:
    """Add up the rows of the classes that fit, eight classes at a time."""
    packed = np.packbits(fits, axis=1, bitorder="little")
    padded = np.zeros(packed.shape[1] * 8, dtype=np.int64)
    padded[: rows.size] = rows
    bits = np.arange(256)[:, np.newaxis] >> np.arange(8) & 1
    sums = padded.reshape(-1, 8) @ bits.T
    weights: Integers = sums[np.arange(packed.shape[1]), packed].sum(axis=1)
    return weights


def _gather(
    columns: Sequence[Column],
    class_of: Integers,
    n_classes: int,
    units: Integers | None,
) -> "Candidates":
    """Return the classes and people that differ in these columns."""
    n_cells = [int(one.cells.max(initial=0)) + 1 for one in columns]
    shown = compress(
        combine(
            [
                Coded(one.cells, n) if n_classes else Coded(one.cells, 1)
                for one, n in zip(columns, n_cells, strict=True)
            ]
        )
    )
    regrouped = tuple(one.regroup(first_rows(shown)) for one in columns)
    merged = np.append(shown.codes, -1)[class_of]
    people = compress(
        combine(
            [Coded(one.values, int(one.values.max(initial=0)) + 1) for one in columns]
        )
    )
    return Candidates(
        columns=regrouped,
        class_of=merged,
        rows=np.bincount(merged[merged >= 0], minlength=shown.n_codes).astype(np.int64),
        person=people.codes,
        first=first_rows(people),
        people=np.bincount(people.codes, minlength=people.n_codes).astype(np.int64),
        units=units,
    )


def find_candidates(
    released: OpenFrame,
    original: OpenFrame,
    spec: Spec,
    carried: Sequence[str],
) -> Candidates:
    """Match the original's people with the release, by what it shows.

    Next to the quasi-identifiers, the columns ``carried`` are known, which are
    released as they are. Rows that show nothing because they are suppressed are
    nobody's: whoever attacks leaves them out.
    """
    _, shown = open_release(released.to_native(), spec)
    coded = {
        name: [code_series(released[one]) for one in names]
        for name, names in shown.items()
    }
    every = [one for each in coded.values() for one in each]
    keys = compress(combine([*every, *(code_series(released[n]) for n in carried)]))
    rows = first_rows(keys)
    class_of = keys.codes
    if spec.suppressed == "blank":
        blank = np.logical_and.reduce([one.missing for one in every])
        class_of = np.where(blank, -1, class_of)
    tables = released, original
    columns = [
        read_quasi_identifier(tables, (name, names), rows, spec)
        for name, names in shown.items()
    ]
    columns += [read_carried(tables, name, rows) for name in carried]
    units = None
    if spec.unit is not None and spec.unit in original.columns:
        units = code_series(original[spec.unit]).codes
    return _gather(columns, class_of, rows.size, units)


def side_by_side(first: Candidates, second: Candidates) -> Candidates:
    """Return the rows of two releases whose rows are known to be the same."""
    n_classes = max(second.rows.size, 1)
    both = compress(
        Coded(
            (first.class_of + 1) * (n_classes + 1) + second.class_of + 1,
            (first.rows.size + 1) * (n_classes + 1),
        )
    )
    one = first_rows(both)
    columns = [
        part.regroup(each.class_of[one])
        for each in (first, second)
        for part in each.columns
    ]
    nobody = (first.class_of < 0) | (second.class_of < 0)
    return _gather(columns, np.where(nobody, -1, both.codes), one.size, first.units)
