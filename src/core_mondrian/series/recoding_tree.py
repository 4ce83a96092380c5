r"""The tree of a recoding, in terms of values: where a new row stops in it.

A number cut names the last value on its left. A category cut names ranges of leaves,
one for each child, and maybe children for the rest, pools, which know the leaves that
the fit has seen in them:

             age <= 39                     occupation
            /         \                   /     |     \
      age 17 … 39   age 40 … 90       Sales   Tech    the rest

A row stops where the cut does not say where it goes: a missing value that the fit has
not seen there, a label that no child covers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.grown import Grown
from core_mondrian.engine.layout import CUT
from core_mondrian.engine.tree import PartitionTree
from core_mondrian.errors import InternalError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.recoding.labels import number_distinct
from core_mondrian.series.fitted_columns import NextColumn, lowest_over
from core_mondrian.series.walking import (
    LEAF_RANGE,
    STEP,
    LeafRanges,
    TreeWalk,
    find_stops,
)
from core_mondrian.tables.encoded import EncodedTable

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
_POOL: Final = -1
_BLANK: Final = -2


class Pooled(NamedTuple):
    """Leaves that the fit has seen in pools, one entry for each."""

    child: Integers
    """The node that is the pool."""
    code: Codes
    """Of the parent's column."""


@dataclass(frozen=True)
class RecodingTree:
    """One entry per node, parents before children; -1 where something does not apply.

    Codes are fitted codes (`FittedColumn`).
    """

    parent: Integers
    column: Integers
    """The quasi-identifier that is cut; -1: none, the node is a leaf."""
    cut: Integers
    """Number cuts: the last value on the left."""
    first: Integers
    last: Integers
    """Codes of the parent's column that lead here. Numbers: -1 in ``first`` is the
    left side. Categories: -1 in both is the pool, -2 is missing and nothing else."""
    low: Codes
    high: Codes
    """The box (node, column): smallest and largest value seen; -1: all are missing."""
    has_missing: Flags
    """Whether missing values were seen (node, column)."""
    pooled: Pooled

    @property
    def n_nodes(self) -> int:
        return int(self.parent.size)

    @cached_property
    def depth(self) -> Integers:
        """Cuts between each node and the root."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for node, parent in enumerate(self.parent.tolist()):
            depth[node] = depth[parent] + 1 if parent >= 0 else 0
        return depth

    @property
    def leaves(self) -> Integers:
        """Nodes that are not cut."""
        return np.flatnonzero(self.column < 0)

    def box(self, columns: Sequence[NextColumn]) -> tuple[Codes, Codes]:
        """Return the boxes (node, column) in the codes of new rows.

        A box that mixes missing and present values ends with the missing one.
        """
        low, high = np.empty_like(self.low), np.empty_like(self.high)
        for i, column in enumerate(columns):
            fitted = column.fitted
            low[:, i] = fitted[self.low[:, i]]  # the last one is that of missing
            high[:, i] = fitted[np.where(self.has_missing[:, i], -1, self.high[:, i])]
        return low, high


def tree_of(grown: Grown, table: EncodedTable) -> RecodingTree:
    """Return what the engine has grown, in the table's codes; missing ones are -1.

    Raises:
        InternalError: tuples were divided or suppressed, which no recoding can repeat.
    """
    tree = grown.tree
    if (
        grown.split_tuples is not None
        or tree.n_suppressed
        or (tree.parent[1:] < 0).any()
    ):
        raise InternalError("a recoding of a tree that is not disjoint")
    low, high, has_missing = _boxes(tree, table)
    is_number = np.array([column.kind == "number" for column in table.columns])
    parents = tree.parent[1:]
    of = tree.column[parents]
    is_left = tree.high[1:] <= tree.cut_code[parents]
    missing = np.array([item.missing for item in table.columns])[of]
    first, last = tree.low.copy(), tree.high.copy()
    is_blank = first[1:] == missing
    last[1:] = np.where(is_blank, _BLANK, np.minimum(last[1:], missing - 1))
    last[1:] = np.where(is_number[of], -1, last[1:])
    first[1:] = np.where(is_blank, _BLANK, first[1:])
    first[1:] = np.where(is_number[of], np.where(is_left, -1, 0), first[1:])
    column = np.where(tree.kind == CUT, tree.column, -1)
    return RecodingTree(
        parent=tree.parent,
        column=column,
        cut=tree.cut_code,
        first=first,
        last=last,
        low=low,
        high=high,
        has_missing=has_missing,
        pooled=_pooled(tree, table),
    )


def _pooled(tree: PartitionTree, table: EncodedTable) -> Pooled:
    """Return the leaves in each pool: two pools of one cut may look alike by labels."""
    children, codes = [_empty()], [np.zeros(0, dtype=np.int32)]
    for i, column in enumerate(table.columns):
        if column.kind != "category":
            continue
        is_pool = (tree.low < 0) & (tree.parent >= 0)
        pools = np.flatnonzero(is_pool & (tree.column[tree.parent] == i))
        n = tree.stop[pools] - tree.start[pools]
        inside = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
        places = np.repeat(tree.start[pools], n) + inside
        width = column.missing + 1
        seen = np.repeat(pools, n) * width + table.codes[tree.order[places], i]
        pairs, _ = number_distinct(seen)
        pairs = pairs[pairs % width != column.missing]
        children.append(pairs // width)
        codes.append((pairs % width).astype(np.int32))
    return Pooled(np.concatenate(children), np.concatenate(codes))


def _boxes(tree: PartitionTree, table: EncodedTable) -> tuple[Codes, Codes, Flags]:
    """Return the smallest and largest present code of each node, by column."""
    n_columns = len(table.columns)
    codes = table.codes[tree.order, :n_columns]
    missing = np.array([column.missing for column in table.columns], dtype=np.int32)
    ends = np.flatnonzero(tree.kind != CUT)
    ends = ends[np.argsort(tree.start[ends], kind="stable")]
    starts = tree.start[ends]
    low = np.broadcast_to(missing, (tree.n_nodes, n_columns)).copy()
    high = np.full((tree.n_nodes, n_columns), -1, dtype=np.int32)
    has_missing = np.zeros((tree.n_nodes, n_columns), dtype=np.bool_)
    low[ends] = np.minimum.reduceat(codes, starts)
    present = np.where(codes == missing, np.int32(-1), codes)
    high[ends] = np.maximum.reduceat(present, starts)
    has_missing[ends] = np.logical_or.reduceat(codes == missing, starts)
    for level in range(int(tree.depth.max()), 0, -1):
        nodes = np.flatnonzero(tree.depth == level)
        parents = tree.parent[nodes]
        np.minimum.at(low, parents, low[nodes])
        np.maximum.at(high, parents, high[nodes])
        np.logical_or.at(has_missing, parents, has_missing[nodes])
    return np.where(low == missing, np.int32(-1), low), high, has_missing


def named_codes(tree: RecodingTree, column: int) -> Integers:
    """Return the codes of a column of numbers that cuts and boxes name, rising."""
    cuts = tree.cut[tree.column == column]
    named = np.concatenate([cuts, tree.low[:, column], tree.high[:, column]])
    return np.unique(named[named >= 0]).astype(np.int64)


def renumbered(tree: RecodingTree, column: int, numbers: Codes) -> RecodingTree:
    """Return the tree with the codes of a column of numbers replaced; -1 stays."""
    number = np.append(numbers, np.int32(-1))
    low, high, cut = tree.low.copy(), tree.high.copy(), tree.cut.copy()
    low[:, column] = number[low[:, column]]
    high[:, column] = number[high[:, column]]
    is_cut = tree.column == column
    cut[is_cut] = number[cut[is_cut]]
    return replace(tree, low=low, high=high, cut=cut)


class Ranges(NamedTuple):
    """Ranges of leaves that lead from a node to a child, node by node."""

    start: Integers
    """Those of node ``i`` stand at ``start[i]`` to ``start[i + 1]``, …"""
    ranges: LeafRanges
    """… by their first leaf; of several, the longest first, and a pool's last."""


def guide(tree: RecodingTree, columns: Sequence[NextColumn]) -> TreeWalk:
    """Return the tree in the codes of new rows, ready to be walked."""
    n, child, parent = tree.n_nodes, np.arange(1, tree.n_nodes), tree.parent[1:]
    is_number = np.array([item.column.kind == "number" for item in columns])
    of = tree.column[parent]
    is_left = is_number[of] & (tree.first[1:] < 0)
    named, covered = _named_ranges(tree, columns), _covered_ranges(tree, columns)
    nodes = np.zeros(n + 1, dtype=STEP).view(np.recarray)
    nodes.column[:n] = tree.column
    nodes.is_number[:n] = is_number[tree.column]
    nodes.blank[:n] = np.array([x.column.missing for x in columns])[tree.column]
    nodes.cut[:n] = _number_cuts(tree, columns)
    nodes.left[:n] = _one_child(n, parent, child, is_left)
    nodes.right[:n] = _one_child(n, parent, child, is_number[of] & ~is_left)
    nodes.missing[:n] = _one_child(n, parent, child, tree.has_missing[child, of])
    nodes.named, nodes.covered = named.start, covered.start
    return TreeWalk(nodes, named.ranges, covered.ranges)


def _number_cuts(tree: RecodingTree, columns: Sequence[NextColumn]) -> Codes:
    cut = np.zeros(tree.n_nodes, dtype=np.int32)
    for i, item in enumerate(columns):
        here = np.flatnonzero(tree.column == i)
        if item.column.kind == "number":
            cut[here] = item.fitted[tree.cut[here]]
    return cut


def _one_child(n: int, parent: Integers, child: Integers, which: Flags) -> Integers:
    """Return one of the chosen children of each node; -1: there is none."""
    only = np.full(n, -1, dtype=np.int64)
    only[parent[which]] = child[which]
    return only


def _named_ranges(tree: RecodingTree, columns: Sequence[NextColumn]) -> Ranges:
    children, firsts, lasts = _empty(), _empty(), _empty()
    for i, item in enumerate(columns):
        if item.column.kind == "category":
            own = _children(tree, i)
            own = own[tree.last[own] >= 0]
            is_own = tree.column[tree.parent[tree.pooled.child]] == i
            leaves = item.fitted[tree.pooled.code[is_own]]
            children = np.concatenate([children, own, tree.pooled.child[is_own]])
            ends = item.fitted[tree.first[own]], item.fitted[tree.last[own]]
            firsts = np.concatenate([firsts, ends[0], leaves])
            lasts = np.concatenate([lasts, ends[1], leaves])
    return _ranges(tree, children, firsts, lasts)


def _covered_ranges(tree: RecodingTree, columns: Sequence[NextColumn]) -> Ranges:
    children, firsts, lasts = _empty(), _empty(), _empty()
    for i, item in enumerate(columns):
        if item.column.kind == "category":
            own = _children(tree, i)
            own = own[tree.low[own, i] >= 0]
            ends = item.fitted[tree.low[own, i]], item.fitted[tree.high[own, i]]
            hierarchy = _tree(item)
            over = lowest_over(hierarchy, *ends)
            children = np.append(children, own)
            firsts = np.append(firsts, hierarchy.low[over])
            lasts = np.append(lasts, hierarchy.high[over])
    return _ranges(tree, children, firsts, lasts)


def _empty() -> Integers:
    return np.zeros(0, dtype=np.int64)


def _children(tree: RecodingTree, column: int) -> Integers:
    """Return the children of nodes that are cut by a column."""
    return np.flatnonzero((tree.parent >= 0) & (tree.column[tree.parent] == column))


def _ranges(
    tree: RecodingTree, children: Integers, firsts: Integers, lasts: Integers
) -> Ranges:
    parents = tree.parent[children]
    is_pool = tree.last[children] == _POOL
    order = np.lexsort((is_pool, -lasts, firsts, parents))
    ranges = np.empty(order.size, dtype=LEAF_RANGE).view(np.recarray)
    ranges.first, ranges.last = firsts[order], lasts[order]
    ranges.child = children[order]
    starts = np.searchsorted(parents[order], np.arange(tree.n_nodes + 1))
    return Ranges(starts, ranges)


def _tree(item: NextColumn) -> Hierarchy:
    if item.column.hierarchy is None:
        raise InternalError("a category without a hierarchy")
    return item.column.hierarchy


def walk(way: TreeWalk, codes: Codes) -> Integers:
    """Return the node at which each tuple of codes stops."""
    stops = np.zeros(codes.shape[0], dtype=np.int64)
    find_stops(way, codes, stops)
    return stops


def in_codes_of(tree: RecodingTree, columns: Sequence[NextColumn]) -> RecodingTree:
    """Return the tree in the codes of new rows instead of fitted ones."""
    arrays = {
        name: getattr(tree, name).copy()
        for name in ("low", "high", "cut", "first", "last")
    }
    of = np.append(-1, tree.column[tree.parent[1:]])
    pooled = tree.pooled.code.copy()
    for i, item in enumerate(columns):
        number = np.append(item.fitted[:-1], np.int32(-1))
        for name in ("low", "high"):
            arrays[name][:, i] = number[arrays[name][:, i]]
        is_number = item.column.kind == "number"
        here = tree.column == i if is_number else (of == i) & (tree.last >= 0)
        for name in ("cut",) if is_number else ("first", "last"):
            arrays[name][here] = number[arrays[name][here]]
        if not is_number:
            here = of[tree.pooled.child] == i
            pooled[here] = number[pooled[here]]
    return replace(tree, **arrays, pooled=tree.pooled._replace(code=pooled))
