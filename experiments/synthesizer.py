"""More rows like those of a table: its columns as a tree of pairs, drawn anew.

The tree is Chow and Liu's (1968): of all trees over the columns the one whose pairs
tell most about each other. A row is drawn from the root down, each column by what the
table has next to the value of its parent, so single columns and the pairs of the tree
come out as they are, and combinations of more columns come out new.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import DataError, SpecError
from core_mondrian.runtime.array_types import Words
from core_mondrian.tables.hashing import draw, row_words
from core_mondrian.verification.counting import code_column, compress, first_rows

Codes: TypeAlias = NDArray[np.int64]

BINS: Final = 64
"""Columns with more values than this are binned, into about as many bins."""
_HALF_WORD: Final = np.uint64(32)
_ROWS_AT_ONCE: Final = 262_144


@dataclass(frozen=True, slots=True)
class _Urn:
    """Codes to draw from, those of one group next to each other."""

    codes: Codes
    starts: Codes
    sizes: Codes

    def draw(self, groups: Codes, words: Words) -> Codes:
        """Take one of the codes of each row's group, all equally likely."""
        # 32 bits times at most 2**31 codes: the product fits a word.
        sizes = self.sizes.take(groups).astype(np.uint64)
        places = ((words >> _HALF_WORD) * sizes) >> _HALF_WORD
        return self.codes.take(self.starts.take(groups) + places.astype(np.int64))


@dataclass(frozen=True, slots=True)
class _Column:
    """One column: its values, and how to draw one next to its parent's."""

    values: pa.Array
    """Of each code, a cell of the table; missing is a value."""
    parent: int | None
    bins: _Urn
    """Bins by the bin of the parent."""
    within: _Urn
    """Codes by their bin."""


@dataclass(frozen=True, slots=True)
class Synthesizer:
    """Draws rows; row i of a sample depends on the seed and on i only."""

    schema: pa.Schema
    columns: tuple[_Column, ...]
    order: tuple[int, ...]
    """Columns such that parents come before their children."""

    @property
    def tree(self) -> dict[str, str | None]:
        """Return the parent of each column, None for the root."""
        names = self.schema.names
        parents = ((at, self.columns[at].parent) for at in self.order)
        return {
            names[at]: None if parent is None else names[parent]
            for at, parent in parents
        }

    def sample(self, n_rows: int, seed: int) -> pa.Table:
        """Return ``n_rows`` new rows; fewer rows are the first of more.

        Raises:
            SpecError: n_rows is negative.
        """
        if n_rows < 0:
            raise SpecError(f"n_rows is at least 0, got {n_rows}")
        starts = range(0, n_rows, _ROWS_AT_ONCE)
        batches = [
            self._batch(start, min(start + _ROWS_AT_ONCE, n_rows), seed)
            for start in starts
        ]
        return pa.Table.from_batches(batches, schema=self.schema)

    def _batch(self, start: int, stop: int, seed: int) -> pa.RecordBatch:
        words = row_words(np.arange(start, stop, dtype=np.uint64), seed)
        drawn: dict[int, Codes] = {}
        cells: dict[int, pa.Array] = {}
        for at in self.order:
            column = self.columns[at]
            groups = np.zeros(stop - start, dtype=np.int64)
            if column.parent is not None:
                groups = drawn[column.parent]
            drawn[at] = column.bins.draw(groups, draw(words, 2 * at + 1))
            codes = column.within.draw(drawn[at], draw(words, 2 * at + 2))
            cells[at] = column.values.take(pa.array(codes))
        arrays = [cells[at] for at in range(len(self.columns))]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@dataclass(frozen=True, slots=True)
class _Binned:
    """A column's cells as codes, and the codes in bins."""

    values: pa.Array
    codes: Codes
    bin_of: Codes

    @property
    def rows(self) -> Codes:
        return self.bin_of.take(self.codes)

    @property
    def n_bins(self) -> int:
        return int(self.bin_of.max()) + 1


def fit(table: pa.Table) -> Synthesizer:
    """Learn the columns of a table and the tree over them.

    What is learnt does not depend on the order of the rows.

    Raises:
        DataError: the table has no rows or no columns.
    """
    if not table.num_rows or not table.num_columns:
        raise DataError("a table to learn from has at least one row and one column")
    binned = [_bin(column) for column in table.columns]
    parents = _grow_tree(binned)
    columns: list[_Column | None] = [None] * len(binned)
    for at, parent in parents.items():
        one = binned[at]
        groups = np.zeros_like(one.codes) if parent is None else binned[parent].rows
        within = _fill_urn(one.rows, one.codes)
        columns[at] = _Column(one.values, parent, _fill_urn(groups, one.rows), within)
    known = tuple(column for column in columns if column is not None)
    return Synthesizer(table.schema, known, tuple(parents))


def _bin(column: pa.ChunkedArray) -> _Binned:
    keys = compress(code_column(column, ordered=True))
    values = column.take(pa.array(first_rows(keys))).combine_chunks()
    counts = np.bincount(keys.codes, minlength=keys.n_codes)
    is_number = _has_distances(column.type)
    return _Binned(values, keys.codes, _find_bins(counts, is_number=is_number))


def _has_distances(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(is_kind(kind) for is_kind in (*kinds, pa.types.is_temporal))


def _find_bins(counts: NDArray[np.intp], *, is_number: bool) -> Codes:
    """Put codes into bins: frequent ones alone, the others with their neighbours.

    Neighbours of a number are the next values, of a category those as frequent.
    """
    if counts.size <= BINS:
        return np.arange(counts.size)
    order = np.arange(counts.size)
    if not is_number:
        order = np.argsort(-counts, kind="stable")
    is_frequent = counts >= counts.sum() / BINS
    room = max(int(counts[~is_frequent].sum()) / BINS, 1.0)
    bins = np.empty(counts.size, dtype=np.int64)
    current, filled, was_frequent = -1, room, False
    for code in order.tolist():
        if is_frequent[code] or was_frequent or filled >= room:
            current, filled = current + 1, 0.0
        bins[code] = current
        filled += counts[code]
        was_frequent = bool(is_frequent[code])
    return bins


def _fill_urn(groups: Codes, codes: Codes) -> _Urn:
    """Sort the table's codes by their group; no row order is kept."""
    n_codes = int(codes.max()) + 1
    keys = np.sort(groups * n_codes + codes)
    sizes = np.bincount(groups)
    return _Urn(keys % n_codes, np.cumsum(sizes) - sizes, sizes)


def _grow_tree(columns: list[_Binned]) -> dict[int, int | None]:
    """Return the parent of each column, parents first: Prim's algorithm.

    Of equal pairs the first in the table's order is taken.
    """
    tells: dict[tuple[int, int], float] = {}
    for pair in combinations(range(len(columns)), 2):
        tells[pair] = _information(columns[pair[0]], columns[pair[1]])
    parents: dict[int, int | None] = {0: None}
    while len(parents) < len(columns):
        edges = [
            (-tells[min(a, b), max(a, b)], b, a)
            for a in parents
            for b in range(len(columns))
            if b not in parents
        ]
        _, child, parent = min(edges)
        parents[child] = parent
    return parents


def _information(first: _Binned, second: _Binned) -> float:
    """Return the mutual information of two columns in nats, less its bias.

    Counts of few rows look dependent; Miller and Madow's correction takes away what
    independent columns would seem to tell on average.
    """
    a, b = first.rows, second.rows
    both = [_entropy(counts) for counts in _margins(a, b, second.n_bins)]
    (one, n_one), (other, n_other), (joint, n_joint) = both
    return one + other - joint - (n_joint - n_one - n_other + 1) / (2 * a.size)


def _margins(a: Codes, b: Codes, n_bins: int) -> Iterator[NDArray[np.intp]]:
    yield np.bincount(a)
    yield np.bincount(b)
    yield np.bincount(a * n_bins + b)


def _entropy(counts: NDArray[np.intp]) -> tuple[float, int]:
    """Return the entropy in nats, and how many different values there are."""
    present = counts[counts > 0]
    shares = present / present.sum()
    return float(-(shares * np.log(shares)).sum()), int(present.size)
