"""Generalization hierarchies: a tree of labels over the values of a column."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import DataError
from core_mondrian.runtime.runs import run_members

ROOT = "*"
# Powers of ten beyond this are no floats; only the proportions of sizes matter.
_MOST_LEVELS = 300


@dataclass(frozen=True)
class Hierarchy:
    """A rooted tree as flat arrays; node 0 is the root, nodes are level by level.

    Leaves are numbered in depth-first order, so each node covers one interval of leaf
    numbers and the children of a node are consecutive nodes in leaf order.
    """

    labels: tuple[str, ...]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    first_child: NDArray[np.int32]
    n_children: NDArray[np.int32]

    @property
    def n_leaves(self) -> int:
        return int(self.high[0]) + 1

    @cached_property
    def leaf_nodes(self) -> NDArray[np.intp]:
        """The node of each leaf number; a root alone is none."""
        nodes = np.flatnonzero(self.n_children == 0)[: self.n_leaves]
        return nodes[np.argsort(self.low[nodes], kind="stable")]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """Leaf labels in leaf order."""
        return tuple(self.labels[node] for node in self.leaf_nodes.tolist())

    @cached_property
    def parents(self) -> NDArray[np.int32]:
        """The parent of each node; the root's is -1."""
        parents = np.repeat(np.arange(len(self.labels)), self.n_children)
        return np.append(-1, parents).astype(np.int32)

    @cached_property
    def levels(self) -> tuple[slice, ...]:
        """The nodes of each depth, from the root down."""
        levels = [slice(0, 1)]
        while n := int(self.n_children[levels[-1]].sum()):
            levels.append(slice(levels[-1].stop, levels[-1].stop + n))
        return tuple(levels)

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Geometric size of each node: 10**level - 1 (RILM's default).

        Scaled down for trees so high that this is no float.
        """
        parents = self.parents.tolist()
        differs = [
            label != self.labels[parent]
            for label, parent in zip(self.labels[1:], parents[1:], strict=True)
        ]
        step = np.append(0, np.array(differs, dtype=np.int64))
        level = np.zeros(len(self.labels), dtype=np.int64)
        for nodes in self.levels[:0:-1]:
            np.maximum.at(level, self.parents[nodes], level[nodes] + step[nodes])
        down = max(0, int(level[0]) - _MOST_LEVELS)
        return np.power(10.0, level - down) - 10.0**-down

    def with_leaves(self, labels: Sequence[str]) -> "Hierarchy":
        """Return the same tree with more leaves, the last ones, right under the root.

        A root of no leaves gets them as its first.
        """
        position = 1 + int(self.n_children[0])
        more = np.arange(self.n_leaves, self.n_leaves + len(labels))
        none = np.zeros(len(labels), dtype=np.int32)
        first, n_children = self.first_child.copy(), self.n_children.copy()
        high = self.high.copy()
        first[first >= position] += len(labels)
        first[0] = 1
        n_children[0] += len(labels)
        high[0] += len(labels)

        def widen(
            array: NDArray[np.int32], own: NDArray[np.signedinteger[Any]]
        ) -> NDArray[np.int32]:
            parts = (array[:position], own, array[position:])
            return np.concatenate(parts).astype(np.int32)

        return Hierarchy(
            (*self.labels[:position], *labels, *self.labels[position:]),
            widen(self.low, more),
            widen(high, more),
            widen(first, none),
            widen(n_children, none),
        )

    def with_missing(self) -> "Hierarchy":
        """Return the same tree with one more leaf under the root, for missing."""
        return self.with_leaves(("",))


def flat(values: Sequence[str]) -> Hierarchy:
    """Return the hierarchy with all ``values`` right under the root."""
    n = len(values)
    leaf = np.arange(n, dtype=np.int32)
    zeros = np.zeros(n, dtype=np.int32)
    return Hierarchy(
        (ROOT, *values),
        np.concatenate(([0], leaf)).astype(np.int32),
        np.concatenate(([n - 1], leaf)).astype(np.int32),
        np.concatenate(([1], zeros)).astype(np.int32),
        np.concatenate(([n], zeros)).astype(np.int32),
    )


def from_paths(
    paths: Iterable[Sequence[str]],
    where: str = "hierarchy",
    lines: Sequence[int] | None = None,
) -> Hierarchy:
    """Build a hierarchy from rows ``leaf, parent, …, root``, one per leaf.

    ``lines`` says where the rows stand in ``where``, for messages; None: from 1 on.

    Raises:
        DataError: rows of different length, several roots, a leaf given twice, or a
            label with two parents.
    """
    rows = [[cell.strip() for cell in path] for path in paths]
    if not rows:
        raise DataError(f"{where}: no rows", hint="write 'leaf;parent;…;*' per value")
    numbers = range(1, len(rows) + 1) if lines is None else lines

    def place(row: int) -> str:
        return f"{where}, line {numbers[row]}"

    width, root = len(rows[0]), rows[0][-1:]
    seen: set[str] = set()
    for i, row in enumerate(rows):
        if len(row) != width or width < 2 or row[-1:] != root or "" in row:
            _refuse_row(row, rows[0], place(i), numbers[0])
        if row[0] in seen:
            raise DataError(
                f"{place(i)}: the same leaf a second time", hint="write each value once"
            )
        seen.add(row[0])
    return from_columns(list(zip(*rows, strict=True)), place)


def _refuse_row(row: list[str], first: list[str], where: str, line: int) -> None:
    if len(row) != len(first):
        raise DataError(
            f"{where}: {len(row)} levels, but line {line} has {len(first)}",
            hint="repeat a label to fill a level, as in 'leaf;leaf;*'",
        )
    if len(row) < 2:
        raise DataError(
            f"{where}: one level; a leaf and a root are needed",
            hint="write 'leaf;parent;…;*' per value",
        )
    if row[-1] != first[-1]:
        raise DataError(
            f"{where}: another root than line {line}",
            hint="end every line with the same label, such as *",
        )
    raise DataError(
        f"{where}: an empty label",
        hint="repeat a label to fill a level, as in 'leaf;leaf;*'",
    )


def from_columns(
    columns: Sequence[Sequence[str]], place: Callable[[int], str] = str
) -> Hierarchy:
    """Build a hierarchy from its levels: the leaves, what is over each, …, the root.

    Leaves differ, and the last level is one label. ``place`` names a row.

    Raises:
        DataError: a label of a level is under two labels of the next.
    """
    labels = [columns[-1][0]]
    parents = [np.array([-1])]
    above = np.zeros(len(columns[0]), dtype=np.int64)  # each row's node, a level up
    for column in reversed(columns[:-1]):
        number: dict[str, int] = {}
        codes = np.array([number.setdefault(x, len(number)) for x in column])
        parent = np.empty(len(number), dtype=np.int64)
        parent[codes[::-1]] = above[::-1]  # the first row counts
        strays = np.flatnonzero(parent[codes] != above)
        if strays.size:
            raise DataError(
                f"{place(int(strays[0]))}: a label with two parents",
                hint="call the groups by different names, or move one of them",
            )
        above = codes + len(labels)
        labels.extend(number)
        parents.append(parent)
    return lay_out(labels, np.concatenate(parents))


def lay_out(labels: Sequence[str], parents: NDArray[np.int64]) -> Hierarchy:
    """Return the tree of nodes given by label and parent (-1: it is the root).

    Siblings stay in the order they are given in. Nodes are numbered level by level,
    siblings together, leaves depth first.

        parents    2  0 -1  2  0              node 2 is the root, 0 and 3 its children
        by_parent  [ 2 | 1  4 | 0  3 ]        the nodes by their parents
        order      2 | 0  3 | 1  4            level by level

    Raises:
        DataError: there is not one root, or nodes hang in a circle.
    """
    n = len(labels)
    roots = np.flatnonzero(parents < 0)
    if roots.size != 1:
        raise DataError(
            f"a hierarchy has one root, found {roots.size}",
            hint="the root alone has no parent: -1",
        )
    counts = np.bincount(parents[parents >= 0], minlength=n)
    by_parent = np.argsort(parents, kind="stable")
    firsts = 1 + np.cumsum(counts) - counts
    levels = [roots]
    while (n_below := counts[levels[-1]]).any():
        levels.append(by_parent[run_members(firsts[levels[-1]], n_below)])
    order = np.concatenate(levels)
    if order.size != n:
        raise DataError(
            f"{n - order.size} nodes of a hierarchy hang in a circle",
            hint="every way up ends at the root",
        )
    n_children = counts[order]
    low, width = _intervals(n_children, [level.size for level in levels])
    first = np.where(n_children > 0, 1 + np.cumsum(n_children) - n_children, 0)
    return Hierarchy(
        tuple(labels[i] for i in order.tolist()),
        low.astype(np.int32),
        (low + width - 1).astype(np.int32),
        first.astype(np.int32),
        n_children.astype(np.int32),
    )


def _intervals(
    n_children: NDArray[np.int64], sizes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first leaf of each node and how many it has; nodes level by level."""
    parents = np.append(-1, np.repeat(np.arange(n_children.size), n_children))
    stops = np.cumsum(sizes).tolist()
    levels = [slice(stop - n, stop) for stop, n in zip(stops, sizes, strict=True)]
    width = (n_children == 0).astype(np.int64)
    for nodes in levels[:0:-1]:
        np.add.at(width, parents[nodes], width[nodes])
    low = np.zeros(n_children.size, dtype=np.int64)
    for nodes in levels[1:]:
        before = np.cumsum(width[nodes]) - width[nodes]
        over = parents[nodes]
        is_first = np.append(True, over[1:] != over[:-1])
        siblings = np.cumsum(is_first) - 1
        begins = before[is_first][siblings]
        low[nodes] = low[over] + before - begins
    return low, width
