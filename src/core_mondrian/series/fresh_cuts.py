"""Cuts for the new rows of one release: a tree that is grown for them alone."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.grow import grow
from core_mondrian.errors import InfeasibleError
from core_mondrian.series.cohorts import Ancestry
from core_mondrian.series.recoding import Batch
from core_mondrian.spec.declaration import Spec

Integers = NDArray[np.int64]
Lots = NDArray[np.uint64]


class FreshCuts(NamedTuple):
    """A tree over the new rows of one release."""

    tree: Ancestry
    node: Integers
    """The node of each row."""


class _Stump(NamedTuple):
    """A tree of one node."""

    parent: Integers
    depth: Integers

    @property
    def n_nodes(self) -> int:
        return 1


def cut_afresh(batch: Batch, lot: Lots, spec: Spec, threads: int | None) -> FreshCuts:
    """Cut new rows by themselves; where all of them are too few, not at all.

    Classes need not be disjoint: no later row is placed by them. ``lot`` decides which
    of several rows that look alike is in which class; nobody else can draw it.
    """
    row_tuple = batch.encoded.row_tuple
    none = np.zeros(1, dtype=np.int64)
    whole = FreshCuts(_Stump(none - 1, none), np.zeros(row_tuple.size, dtype=np.int64))
    if not row_tuple.size:
        return whole
    try:
        grown = grow(batch.encoded.table, spec, threads=threads)
    except InfeasibleError:
        return whole
    fragment = row_tuple.astype(np.int64)
    if grown.split_tuples is not None:
        # tuple of each fragment  0   0 1    rows in the order of tuple and lot
        # rows of each fragment   3   1 2    a b c|d|e f: each fragment takes its own
        order = np.lexsort((lot, row_tuple))
        fragment[order] = np.repeat(
            np.arange(grown.split_tuples.rows.size), grown.split_tuples.rows
        )
    return FreshCuts(grown.tree, grown.tree.leaf_of_tuple[fragment])
