"""Counts of partitions that are too large to be in one place, column by column.

Whoever has some of the records counts them (`project`); the sums of all (`add_up`) are
laid out as the kernels take them. A projection is a column with the sensitive codes,
or, for the policy `best`, a pair of columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import SpecError
from core_mondrian.kernels.layout import Codes, Finder, Space, Tuples, Work
from core_mondrian.partition.aims import build_space
from core_mondrian.partition.arrays import build_tuples

Integers = NDArray[np.int64]

TUPLES = -1
"""The projection that only counts tuples."""
_MOST_KEYS = 2**62


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows by projection, node and key: one entry each, rising."""

    node: Integers
    projection: Integers
    key: Integers
    rows: Integers

    def of(self, node: int, projection: int) -> tuple[Integers, Integers]:
        """Return the keys of one projection of a node, rising, and their rows."""
        inside = self.slice_of(projection)
        low, high = np.searchsorted(self.node[inside], [node, node + 1])
        found = slice(inside.start + int(low), inside.start + int(high))
        return self.key[found], self.rows[found]

    def slice_of(self, projection: int) -> slice:
        """Return where the entries of a projection are."""
        first, last = np.searchsorted(self.projection, [projection, projection + 1])
        return slice(int(first), int(last))


@dataclass(frozen=True, slots=True)
class Projector:
    """What is counted: how many codes each column has, and which others matter."""

    widths: tuple[int, ...]
    """Codes of each quasi-identifier."""
    others: tuple[int, ...]
    """Codes of the sensitive columns and the unit; none, if only rows matter."""
    has_pairs: bool

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of columns, in the order of their projections."""
        if not self.has_pairs:
            return []
        return list(combinations(range(len(self.widths)), 2))

    def project(self, records: Codes, node: NDArray[np.int32]) -> Counted:
        """Count records by node in every projection."""
        n_columns = len(self.widths)
        owner = node.astype(np.int64)
        rows = records[:, -2].astype(np.int64)
        codes = records[:, :-2].astype(np.int64)
        zero = np.zeros_like(owner)
        found = [_count(TUPLES, owner, zero, np.ones_like(rows))]
        for column in range(n_columns):
            key = codes[:, column].copy()
            for i, width in enumerate(self.others):
                key = key * width + codes[:, n_columns + i]
            found.append(_count(column, owner, key, rows))
        for number, (left, right) in enumerate(self.pairs):
            key = codes[:, left] * self.widths[right] + codes[:, right]
            found.append(_count(n_columns + number, owner, key, rows))
        return _joined(found)

    def lay_out(self, counted: Counted, node: int) -> tuple[Codes, Integers]:
        """Return a node's counts as records, column after column, and where each is.

        The second array has the start and stop of every column.
        """
        n_columns = len(self.widths)
        parts, edges, at = [], [], 0
        for column in range(n_columns):
            key, rows = counted.of(node, column)
            part = np.zeros((key.size, n_columns + len(self.others) + 2), np.int32)
            for i in range(len(self.others) - 1, -1, -1):
                key, part[:, n_columns + i] = np.divmod(key, self.others[i])
            part[:, column] = key
            part[:, -2] = rows
            parts.append(part)
            edges += [at, at + rows.size]
            at += rows.size
        return np.concatenate(parts), np.array(edges, dtype=np.int64)

    def lay_out_pairs(
        self, counted: Counted, node: int
    ) -> tuple[Codes, Codes, Integers, Integers]:
        """Return second codes and rows of all pairs, first codes, and where each is."""
        n_columns = len(self.widths)
        tables = {}
        for number, (left, right) in enumerate(self.pairs):
            key, rows = counted.of(node, n_columns + number)
            first, second = np.divmod(key, self.widths[right])
            tables[left, right] = first, second, rows
            order = np.argsort(second, kind="stable")
            tables[right, left] = second[order], first[order], rows[order]
        for column in range(n_columns):
            codes, rows = self.marginal(counted, node, column)
            tables[column, column] = codes, codes, rows
        places = [(i, j) for i in range(n_columns) for j in range(n_columns)]
        edges = np.cumsum([0, *(tables[place][0].size for place in places)])
        first, second, rows = (
            np.concatenate([tables[place][k] for place in places]) for k in range(3)
        )
        return second.astype(np.int32), rows.astype(np.int32), first, edges

    def marginal(
        self, counted: Counted, node: int, column: int
    ) -> tuple[Integers, Integers]:
        """Return the codes of a column that a node has, rising, and their rows."""
        key, rows = counted.of(node, column)
        codes = key // int(np.prod(self.others, dtype=np.int64))
        found, first = np.unique(codes, return_index=True)
        return found, np.add.reduceat(rows, first)


def projector_of(table: EncodedTable, *, has_rules: bool, has_pairs: bool) -> Projector:
    """Return what has to be counted of a table.

    Raises:
        SpecError: the sensitive columns have too many values together.
    """
    widths = tuple(column.n_values + 1 for column in table.columns)
    others: tuple[int, ...] = ()
    if has_rules:
        others = tuple(column.n_values for column in table.sensitive)
        others += () if table.n_units is None else (table.n_units,)
    most = max(widths)
    for width in others:
        most *= width
    if max(most, max(widths) ** 2) > _MOST_KEYS:
        raise SpecError(
            "the sensitive columns have too many values to be counted together",
            hint="run where all tuples fit, or with fewer of them",
        )
    return Projector(widths, others, has_pairs)


def _count(projection: int, node: Integers, key: Integers, rows: Integers) -> Counted:
    order = np.lexsort((key, node))
    node, key = node[order], key[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (node[1:] != node[:-1]) | (key[1:] != key[:-1])
    first = np.flatnonzero(is_new)
    total = np.add.reduceat(rows[order], first) if first.size else rows[:0]
    return Counted(node[first], np.full_like(first, projection), key[first], total)


def _joined(counted: Sequence[Counted]) -> Counted:
    return Counted(
        np.concatenate([one.node for one in counted]),
        np.concatenate([one.projection for one in counted]),
        np.concatenate([one.key for one in counted]),
        np.concatenate([one.rows for one in counted]),
    )


def add_up(counted: Sequence[Counted]) -> Counted:
    """Return the sums of what several have counted.

    Projection by projection: pairs of fine columns are as many as the tuples, and
    there are many pairs, so that nothing should be as long as all of them twice.
    """
    known = np.unique(np.concatenate([np.unique(one.projection) for one in counted]))
    found = []
    for projection in known.tolist():
        parts = [(one, one.slice_of(projection)) for one in counted]
        node, key, rows = (
            np.concatenate([getattr(one, name)[inside] for one, inside in parts])
            for name in ("node", "key", "rows")
        )
        found.append(_count(projection, node, key, rows))
    return _joined(found) if found else counted[0]


def counted_tuples(records: Codes, edges: Integers, work: Work) -> tuple[Tuples, Work]:
    """Return laid out counts as the funnel takes them."""
    codes = np.ascontiguousarray(records[:, :-2])
    counts = records[:, -2].astype(np.int64)
    tuples = build_tuples(codes, counts, np.arange(len(records)))
    work = work._replace(apart=edges)
    for column in range(work.box.size):
        codes = records[edges[2 * column] : edges[2 * column + 1], column]
        work.box[column]["low"], work.box[column]["high"] = codes.min(), codes.max()
    return tuples, work


def counted_space(
    records: Codes,
    edges: Integers,
    pairs: tuple[Codes, Codes, Integers, Integers],
    finder: Finder,
) -> tuple[Space, Finder]:
    """Return laid out counts as the search takes them."""
    second, rows, first, places = pairs
    space = build_space(records)._replace(codes=second, worth=rows)
    apart = np.concatenate([edges, places, first])
    return space, finder._replace(apart=apart)
