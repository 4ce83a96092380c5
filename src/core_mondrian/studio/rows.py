"""Rows before and after: any page of a table beside its release, line by line.

A page is cut out of the Arrow tables when it is asked for, so that it takes as long
in a large table as in a small one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.columns import comparable
from core_mondrian.recoding.intervals import moment_texts
from core_mondrian.recoding.labels import BOUNDS
from core_mondrian.spec.declaration import Spec

PAGE: Final = 20
"""Lines of a page."""
OUT: Final = "left out"
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Head:
    """A column of a page, and where its cells come from."""

    title: str
    before: str | None
    """The column of the table; None: it is new in the release."""
    after: str | None
    """The column of the release; None: the page shows what came in."""
    is_once: bool = False
    """Whether nothing else on the page shows what came in."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a line; text as it is, not escaped."""

    text: str
    is_changed: bool = False
    """Whether the release shows something else than came in."""
    is_out: bool = False
    """Whether it stands for what is not released."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table, and what became of it."""

    number: int
    """From 1 on, as the rows came in."""
    is_out: bool
    """Whether the row was suppressed."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Rows:
    """A table and its release, side by side."""

    before: pa.Table = field(repr=False)
    after: pa.Table = field(repr=False)
    out: Places = field(repr=False)
    """Where suppressed rows stood in the table, rising."""
    spec: Spec = field(repr=False)

    @property
    def is_aligned(self) -> bool:
        """Whether it is known which released row was which: not if it was shuffled."""
        return self.spec.shuffle is None

    @cached_property
    def heads(self) -> tuple[Head, ...]:
        """The columns of every page."""
        return tuple(self._heads())

    def n_lines(self, *, only_out: bool) -> int:
        """Return how many lines all pages have."""
        return int(self.out.size) if only_out else int(self.before.num_rows)

    def n_pages(self, *, only_out: bool) -> int:
        """Return how many pages there are, one at least."""
        return max(1, -(-self.n_lines(only_out=only_out) // PAGE))

    def page_of(self, number: int, *, only_out: bool) -> int:
        """Return the page, from 0 on, of a row or of the next that is on one.

        Rows are numbered from 1 on.
        """
        at = number - 1
        if only_out:
            at = int(np.searchsorted(self.out, at))
        last = self.n_pages(only_out=only_out) - 1
        return min(max(at // PAGE, 0), last)

    def page(self, page: int, *, only_out: bool) -> list[Line]:
        """Return the lines of a page, which are numbered from 0 on."""
        ends = PAGE * page, min(PAGE * (page + 1), self.n_lines(only_out=only_out))
        places = self.out[slice(*ends)] if only_out else np.arange(*ends)
        if not self.is_aligned:
            return self._lines(places, places, np.zeros(places.size, dtype=np.bool_))
        n_before = np.searchsorted(self.out, places)
        is_out = np.append(self.out, -1)[n_before] == places
        if not self.spec.leaves_out:
            return self._lines(places, places, is_out)
        return self._lines(places, np.where(is_out, -1, places - n_before), is_out)

    def _lines(
        self, places: Places, moved: Places, is_out: NDArray[np.bool_]
    ) -> list[Line]:
        """Return lines, given where each row is in the release; -1: it is not."""
        there = (moved >= 0) & (moved < self.after.num_rows)
        before = _pick(self.before, places)
        after = _pick(self.after, moved[there])
        nth = np.where(there, np.cumsum(there) - 1, -1).tolist()
        columns = [self._cells(head, before, after, nth) for head in self.heads]
        rows = zip((places + 1).tolist(), is_out.tolist(), strict=True)
        return [
            Line(number, is_gone, cells)
            for (number, is_gone), cells in zip(
                rows, zip(*columns, strict=True), strict=True
            )
        ]

    def _cells(
        self, head: Head, before: pa.Table, after: pa.Table, nth: list[int]
    ) -> Iterator[Cell]:
        """Yield the cells of a column; ``nth`` says which released row is where."""
        old = len(nth) * [""]
        if head.before is not None:
            old = texts_of(before.column(head.before))
        if head.after is None:
            yield from map(Cell, old)
            return
        new = texts_of(after.column(head.after))
        has_old = head.before is not None and self.is_aligned
        for was, place in zip(old, nth, strict=True):
            if place >= 0:
                yield Cell(new[place], is_changed=has_old and was != new[place])
            elif not self.is_aligned:
                yield Cell("")
            else:
                yield Cell(was if head.is_once else OUT, is_out=True)

    def _heads(self) -> Iterator[Head]:
        """Yield the columns; what passes through is there once, if lines belong so."""
        released, spec = self.after.column_names, self.spec
        changed = (*spec.quasi_identifiers, *spec.pseudonyms)
        used: set[str] = set()
        for name in self.before.column_names:
            if name in released and name not in changed and self.is_aligned:
                used.add(name)
                yield Head(name, name, name, is_once=True)
                continue
            what = "removed" if name in spec.removed else "before"
            yield Head(f"{name} ({what})", name, None)
            for new in (name, *spec.bounds_of(name)):
                if new in released:
                    used.add(new)
                    yield Head(f"{new} (released)", name, new)
        for name in released:
            if name not in used:  # the number of the class
                yield Head(f"{name} (new)", None, name)


def _pick(table: pa.Table, places: Places) -> pa.Table:
    """Return some rows: a slice for each run of places, and no copy of a column."""
    if not places.size:
        return table.slice(0, 0)
    starts = np.flatnonzero(np.diff(places, prepend=places[0] - 2) != 1)
    lengths = np.diff(np.append(starts, places.size))
    return pa.concat_tables(
        table.slice(int(places[start]), int(n))
        for start, n in zip(starts, lengths, strict=True)
    )


def texts_of(column: pa.ChunkedArray | pa.Array) -> list[str]:
    """Return cells as the release writes them; what is missing is empty."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [text for chunk in chunks for text in _chunk_texts(chunk)]


def _chunk_texts(cells: Any) -> Sequence[str]:  # noqa: ANN401  # an Arrow array
    if pa.types.is_dictionary(cells.type):  # of many values few are looked at
        cells = cells.dictionary.take(cells.indices)
    if pa.types.is_struct(cells.type) and cells.type.names == list(BOUNDS):
        ends = [_chunk_texts(end) for end in cells.flatten()]
        return [
            low if low == high else f"[{low}, {high}]"
            for low, high in zip(*ends, strict=True)
        ]
    try:
        texts = moment_texts(comparable(cells))[0].to_pylist()
    except pa.ArrowException:  # lists and the like
        texts = [None if cell is None else str(cell) for cell in cells.to_pylist()]
    return [text or "" for text in texts]
