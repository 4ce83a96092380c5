"""Generalization hierarchies: a tree of labels over the values of a column."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import DataError

ROOT = "*"


@dataclass(frozen=True)
class Hierarchy:
    """A rooted tree as flat arrays; node 0 is the root.

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
    def leaves(self) -> tuple[str, ...]:
        """Leaf labels in leaf order."""
        nodes = np.flatnonzero(self.n_children == 0)
        order = nodes[np.argsort(self.low[nodes], kind="stable")]
        return tuple(self.labels[node] for node in order.tolist())

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """Geometric size of each node: 10**level - 1 (RILM's default)."""
        level = np.zeros(len(self.labels), dtype=np.int64)
        for node in range(len(self.labels) - 1, -1, -1):
            first = int(self.first_child[node])
            for child in range(first, first + int(self.n_children[node])):
                step = 0 if self.labels[child] == self.labels[node] else 1
                level[node] = max(level[node], level[child] + step)
        return np.power(10.0, level, dtype=np.float64) - 1.0

    def with_missing(self) -> "Hierarchy":
        """Return the same tree with one more leaf under the root, for missing."""
        low, high = self.low.copy(), self.high.copy()
        first, n_children = self.first_child.copy(), self.n_children.copy()
        leaf = self.n_leaves
        position = int(first[0] + n_children[0]) if n_children[0] else 1
        high[0] = leaf
        first = np.where(first >= position, first + 1, first)
        first[0] = 1
        n_children[0] += 1
        labels = (*self.labels[:position], "", *self.labels[position:])
        return Hierarchy(
            labels,
            np.insert(low, position, leaf).astype(np.int32),
            np.insert(high, position, leaf).astype(np.int32),
            np.insert(first, position, 0).astype(np.int32),
            np.insert(n_children, position, 0).astype(np.int32),
        )


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


def from_paths(paths: Iterable[Sequence[str]], where: str = "hierarchy") -> Hierarchy:
    """Build a hierarchy from rows ``leaf, parent, …, root``, one per leaf.

    Raises:
        DataError: rows of different length, several roots, a leaf given twice, or a
            label with two parents.
    """
    children: dict[tuple[str, ...], dict[str, None]] = {}
    parents: dict[tuple[int, str], tuple[str, ...]] = {}
    rows = [tuple(reversed([cell.strip() for cell in path])) for path in paths]
    if not rows:
        raise DataError(f"{where}: no rows", hint="write 'leaf;parent;…;*' per value")
    seen: set[str] = set()
    for line, row in enumerate(rows, start=1):
        _check_row(row, rows[0], f"{where}, line {line}")
        if row[-1] in seen:
            raise DataError(f"{where}, line {line}: the same leaf a second time")
        seen.add(row[-1])
        for depth in range(1, len(row)):
            children.setdefault(row[:depth], {})[row[depth]] = None
            if parents.setdefault((depth, row[depth]), row[:depth]) != row[:depth]:
                raise DataError(f"{where}, line {line}: a label with two parents")
    return _lay_out(rows[0][:1], children, len(rows[0]))


def _check_row(row: tuple[str, ...], first: tuple[str, ...], where: str) -> None:
    if len(row) != len(first):
        raise DataError(f"{where}: {len(row)} levels, but line 1 has {len(first)}")
    if len(row) < 2:
        raise DataError(f"{where}: one level; a leaf and a root are needed")
    if row[0] != first[0]:
        raise DataError(f"{where}: another root than line 1")
    if any(not label for label in row):
        raise DataError(f"{where}: an empty label")


def _lay_out(
    root: tuple[str, ...], children: dict[tuple[str, ...], dict[str, None]], depth: int
) -> Hierarchy:
    """Number nodes level by level, siblings together, leaves depth first."""
    leaf_number: dict[tuple[str, ...], int] = {}
    stack = [root]
    while stack:
        path = stack.pop()
        if len(path) == depth:
            leaf_number[path] = len(leaf_number)
        else:
            stack.extend((*path, label) for label in reversed(children[path]))
    order = [root]
    first_child: list[int] = []
    n_children: list[int] = []
    for path in order:
        below = children.get(path, {})
        first_child.append(len(order) if below else 0)
        n_children.append(len(below))
        order.extend((*path, label) for label in below)
    low = np.zeros(len(order), dtype=np.int32)
    high = np.zeros(len(order), dtype=np.int32)
    for node in range(len(order) - 1, -1, -1):
        if n_children[node] == 0:
            low[node] = high[node] = leaf_number[order[node]]
        else:
            low[node] = low[first_child[node]]
            high[node] = high[first_child[node] + n_children[node] - 1]
    return Hierarchy(
        tuple(path[-1] for path in order),
        low,
        high,
        np.array(first_child, dtype=np.int32),
        np.array(n_children, dtype=np.int32),
    )


def read_hierarchy(path: Path) -> Hierarchy:
    """Read rows ``leaf;parent;…;*``, the form ARX writes.

    Raises:
        DataError: the file cannot be read or is not such a tree.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = type(error).__name__
        raise DataError(f"hierarchy file {path}: cannot be read ({reason})") from None
    lines = [line for line in text.splitlines() if line.strip()]
    return from_paths((line.split(";") for line in lines), where=f"hierarchy {path}")
