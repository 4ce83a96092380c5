"""Counts of partitions whose records are elsewhere, and records that stand in for them.

Which cut the funnel takes depends on each column by itself, besides what the models
look at. So any records with the same counts column by column lead to the same cut, and
`stand_in` makes the fewest that are easily made:

    column a    0: 3 rows   1: 4 rows          a   0  0  1  1
    column b    5: 2 rows   6: 4   7: 1        b   5  6  6  7
                                            rows   2  1  3  1

The search asks for more: what the records with one code hold of the other columns.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from core_mondrian.engine.layout import Codes, Counts


class Marginal(NamedTuple):
    """Rows of partitions by code of one column: rising by node, others and code."""

    node: Codes
    others: Codes
    """What else is distinguished (axis 1): the sensitive codes, and the person."""
    code: Codes
    rows: Counts

    def of(self, node: int) -> "Marginal":
        """Return the counts of one partition."""
        return Marginal._make(_of_node(self, node))


class Moments(NamedTuple):
    """What the rows with each code of a column hold of numbers: rising by node, code.

    Numbers are on axis 1, in the order of their columns.
    """

    node: Codes
    code: Codes
    low: Codes
    high: Codes
    levels: Counts
    squares: Counts

    def of(self, node: int) -> "Moments":
        """Return what was counted of one partition."""
        return Moments._make(_of_node(self, node))


class Pairs(NamedTuple):
    """Rows of partitions by the codes of two columns: rising by node and both codes."""

    node: Codes
    first: Codes
    second: Codes
    rows: Counts

    def of(self, node: int) -> "Pairs":
        """Return the pairs of one partition."""
        return Pairs._make(_of_node(self, node))


def _of_node(counts: Iterable[Codes | Counts], node: int) -> Iterator[Codes | Counts]:
    """Return the part of some columns that is of one node; the first rises by node."""
    columns = list(counts)
    first, last = np.searchsorted(columns[0], [node, node + 1]).tolist()
    return (column[first:last] for column in columns)


class PartitionCounter(Protocol):
    """Whoever has the records, and counts those of some partitions."""

    def marginals(self, nodes: Sequence[int], columns: Sequence[int]) -> list[Marginal]:
        """Count partitions by the codes of columns, and all that models look at."""

    def moments(self, nodes: Sequence[int], column: int) -> Moments:
        """Sum up what partitions hold of each number, by the codes of a column."""

    def pairs(
        self, nodes: Sequence[int], column: int, others: Sequence[int]
    ) -> list[Pairs]:
        """Count partitions by the codes of a column and each of others."""


def stand_in(marginals: Sequence[Marginal]) -> Codes:
    """Return records with the counts of one partition, given column by column.

    All columns have as many rows of each combination of ``others``, and are sorted by
    it; so the rows can be divided where any of them changes.
    """
    ends = [np.cumsum(marginal.rows) for marginal in marginals]
    edges = np.unique(np.concatenate(ends))
    n_columns, n_others = len(marginals), marginals[0].others.shape[1]
    records = np.empty((edges.size, n_columns + n_others + 2), dtype=np.int32)
    for column, marginal in enumerate(marginals):
        place = np.searchsorted(ends[column], edges)
        records[:, column] = marginal.code[place]
        if column == 0:
            records[:, n_columns:-2] = marginal.others[place]
    records[:, -2] = np.diff(edges, prepend=0)
    records[:, -1] = np.arange(edges.size)
    return records
