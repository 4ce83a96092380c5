"""Counts of partitions that are too large to be in one place, column by column.

Whoever has some of the records counts them (`project`); the sums of all (`add_up`) are
laid out as the engine takes them. A projection is a column with the sensitive codes,
or, for the policy `best`, a pair of columns: those of one column at a time, because
pairs of fine columns are as many as the tuples.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedTable
from core_mondrian.engine.inputs import build_tuples
from core_mondrian.engine.layout import Codes, Tuples
from core_mondrian.engine.search.workspace import RecordBuffers
from core_mondrian.errors import SpecError

Integers = NDArray[np.int64]

_TUPLES = -1
"""The projection that only counts tuples."""
_MOST_KEYS = 2**62
# Counting by place takes no more than sorting as long as places are no more than this.
_FEW_PLACES = 1 << 16


class Entries(NamedTuple):
    """Rows by node and key: one entry each, rising."""

    node: Codes
    key: Integers
    rows: Codes


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted, by projection."""

    entries: dict[int, Entries]

    def of(self, node: int, projection: int) -> tuple[Integers, Codes]:
        """Return the keys of one projection of a node, rising, and their rows."""
        found = self.entries[projection]
        low, high = np.searchsorted(found.node, [node, node + 1])
        return found.key[low:high], found.rows[low:high]

    def n_tuples(self, node: int) -> int:
        """Return how many tuples a node has."""
        return int(self.of(node, _TUPLES)[1].sum())

    @property
    def size(self) -> int:
        """How many entries there are."""
        return sum(one.key.size for one in self.entries.values())


@dataclass(frozen=True, slots=True)
class Projector:
    """What is counted: how many codes each column has, and which others matter."""

    widths: tuple[int, ...]
    """Codes of each quasi-identifier."""
    others: tuple[int, ...]
    """Codes of the sensitive columns and the unit; none, if only rows matter."""
    paired: int | None = None
    """The column that is counted with each of the others; None: each by itself."""

    def with_others(self, column: int) -> "Projector":
        """Return what counts a column with each of the others."""
        return replace(self, paired=column)

    def project(self, records: Codes, node: Codes) -> Counted:
        """Count records by node in every projection."""
        rows = records[:, -2]
        found = {}
        if self.paired is None:
            ones = np.ones_like(rows)
            found[_TUPLES] = _count(node, np.zeros(rows.size, dtype=np.int64), ones)
        for column in range(len(self.widths)):
            if column != self.paired:
                found[column] = _count(node, self._keys(records, column), rows)
        return Counted(found)

    def _keys(self, records: Codes, column: int) -> Integers:
        """Return the key of each record in one projection."""
        n_columns = len(self.widths)
        if self.paired is None:
            key = records[:, column].astype(np.int64)
            more = [(n_columns + i, width) for i, width in enumerate(self.others)]
        else:
            key = records[:, self.paired].astype(np.int64)
            more = [(column, self.widths[column])]
        for place, width in more:
            key *= width
            key += records[:, place]
        return key

    def lay_out(self, counted: Counted, node: int) -> tuple[Codes, Integers]:
        """Return a node's counts as records, column after column, and where each is.

        The second array has the start and stop of every column.
        """
        n_columns = len(self.widths)
        keys = [counted.of(node, column) for column in range(n_columns)]
        stops = np.cumsum([rows.size for _, rows in keys])
        edges = np.stack([stops - [rows.size for _, rows in keys], stops], axis=1)
        records = np.zeros((stops[-1], n_columns + len(self.others) + 2), np.int32)
        for column, (key, rows) in enumerate(keys):
            part = records[edges[column, 0] : edges[column, 1]]
            rest = key
            for i in range(len(self.others) - 1, -1, -1):
                rest, part[:, n_columns + i] = np.divmod(rest, self.others[i])
            part[:, column] = rest
            part[:, -2] = rows
        return records, edges.ravel()

    def lay_out_pairs(
        self, alone: Counted, counted: Counted, node: int
    ) -> tuple[Codes, Codes, Integers]:
        """Return second codes and rows of a node's pairs, and where those are.

        The third array has the edges of all pairs of columns, of which only those of
        the paired column hold anything, and then the first code of each pair.
        ``alone`` has the counts of each column by itself.
        """
        n_columns = len(self.widths)
        found = []
        for column, width in enumerate(self.widths):
            if column == self.paired:
                codes, rows = self.marginal(alone, node, column)
                found.append((codes * width + codes, rows))
            else:
                found.append(counted.of(node, column))
        sizes = np.zeros((n_columns, n_columns), dtype=np.int64)
        sizes[self.paired] = [rows.size for _, rows in found]
        edges = np.cumsum(sizes.ravel())
        n = int(edges[-1])
        second, rows_of = np.empty((2, n), dtype=np.int32)
        places = np.concatenate([[0], edges, np.empty(n, dtype=np.int64)])
        first, at = places[edges.size + 1 :], 0
        for (key, rows), width in zip(found, self.widths, strict=True):
            inside = slice(at, at + key.size)
            np.floor_divide(key, width, out=first[inside])
            np.remainder(key, width, out=second[inside], casting="same_kind")
            rows_of[inside] = rows
            at += key.size
        return second, rows_of, places

    def marginal(
        self, counted: Counted, node: int, column: int
    ) -> tuple[Integers, Codes]:
        """Return the codes of a column that a node has, rising, and their rows."""
        key, rows = counted.of(node, column)
        codes = key // int(np.prod(self.others, dtype=np.int64))
        found, first = np.unique(codes, return_index=True)
        return found, np.add.reduceat(rows, first, dtype=np.int32)


def projector_of(table: EncodedTable, *, has_rules: bool) -> Projector:
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
    return Projector(widths, others)


def _count(node: Codes, key: Integers, rows: Codes) -> Entries:
    """Add up the rows of each node and key."""
    if not node.size:
        return Entries(node, key, rows)
    first, width = int(node.min()), int(key.max()) + 1
    n_places = (int(node.max()) - first + 1) * width
    if n_places > _MOST_KEYS:
        return _sum_runs(np.lexsort((key, node)), node, key, rows)
    place = (node.astype(np.int64) - first) * width + key
    if n_places > 2 * node.size + _FEW_PLACES:
        return _sum_runs(np.argsort(place), node, key, rows)
    used = np.flatnonzero(np.bincount(place))
    # Sums of whole numbers below 2**31, so that floats hold them.
    total = np.bincount(place, weights=rows)[used]
    nodes, keys = np.divmod(used, width)
    return Entries((nodes + first).astype(np.int32), keys, total.astype(np.int32))


def _sum_runs(
    order: NDArray[np.intp], node: Codes, key: Integers, rows: Codes
) -> Entries:
    """Add up neighbours of one node and key, once they are in order."""
    node, key = node[order], key[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (node[1:] != node[:-1]) | (key[1:] != key[:-1])
    first = np.flatnonzero(is_new)
    return Entries(
        node[first], key[first], np.add.reduceat(rows[order], first, dtype=np.int32)
    )


def add_up(counted: Sequence[Counted]) -> Counted:
    """Return the sums of what several have counted."""
    found = {}
    for projection in counted[0].entries:
        parts = [one.entries[projection] for one in counted]
        found[projection] = _count(
            *(np.concatenate(part) for part in zip(*parts, strict=True))
        )
    return Counted(found)


def counted_tuples(records: Codes) -> Tuples:
    """Return laid out counts as the funnel takes them."""
    codes = np.ascontiguousarray(records[:, :-2])
    counts = records[:, -2].astype(np.int64)
    return build_tuples(codes, counts, np.arange(len(records)))


def counted_buffers(
    records: Codes, edges: Integers, pairs: tuple[Codes, Codes, Integers]
) -> tuple[RecordBuffers, Integers]:
    """Return laid out counts as the search takes them, and where each column is."""
    second, rows, places = pairs
    buffers = RecordBuffers(records)
    buffers.take_pairs(second, rows)
    return buffers, np.concatenate([edges, places])
