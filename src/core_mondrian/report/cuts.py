"""Branches: the first cuts of the partition tree, told by what the release shows.

A cut point is a value of the original, so a branch is named by what its classes show.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.tree import PartitionTree
from core_mondrian.release.result import AnyRelease
from core_mondrian.report.plain import DASH
from core_mondrian.report.views import Bounds, Integers, View

DEPTH = 4
"""Levels of cuts that are told."""
_MOST_BRANCHES = 12
_MOST_LABELS = 3


@dataclass(frozen=True, slots=True)
class Level:
    """All nodes so many cuts below the top."""

    depth: int
    n_nodes: int
    n_classes: int
    """Those of them that are classes."""
    rows: int
    """Released rows of those classes."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A part of the table, and how it was cut."""

    shows: str
    """What its classes show in the column that was cut above; empty: it is the top."""
    rows: int
    n_classes: int
    cut: str | None
    """The column it was cut by; None: it is a class."""
    branches: tuple["Branch", ...]
    """The largest ones, if they are told."""
    n_more: int = 0
    """Branches that are not told."""


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """The partition tree in a few figures."""

    n_nodes: int
    n_classes: int
    """Leaves; classes that look alike are one in the release."""
    depth: int
    levels: tuple[Level, ...]
    top: tuple[Branch, ...]


def describe_tree(release: AnyRelease, views: list[View]) -> TreeFacts:
    """Return the figures and the first branches of the partition tree."""
    tree = release.tree
    describer = _Describer(release, views)
    roots = np.flatnonzero(tree.parent < 0).tolist()
    return TreeFacts(
        n_nodes=tree.n_nodes,
        n_classes=tree.n_classes,
        depth=int(tree.depth.max(initial=0)),
        levels=_levels(tree),
        top=tuple(
            b for root in roots if (b := describer.describe(root, "", DEPTH)).rows
        ),
    )


def _levels(tree: PartitionTree) -> tuple[Level, ...]:
    n = int(tree.depth.max(initial=0)) + 1
    leaf_depth = tree.depth[tree.leaves]
    nodes = np.bincount(tree.depth, minlength=n)
    classes = np.bincount(leaf_depth, minlength=n)
    rows = np.bincount(leaf_depth, weights=tree.rows[tree.leaves], minlength=n)
    return tuple(
        Level(depth, *(int(counted[depth]) for counted in (nodes, classes, rows)))
        for depth in range(n)
    )


class _Describer:
    """Names branches by the classes below them."""

    def __init__(self, release: AnyRelease, views: list[View]) -> None:
        tree = release.tree
        self._tree = tree
        self._views = views
        order = np.argsort(tree.start[tree.leaves], kind="stable")
        self._starts = tree.start[tree.leaves][order]
        self._classes = release._recoded.class_of_leaf[order]  # noqa: SLF001
        self._rows = np.append(0, np.cumsum(tree.rows[tree.leaves][order]))

    def describe(self, node: int, shows: str, depth: int) -> Branch:
        tree = self._tree
        first, last = self._leaves(node)
        children: list[Branch] = []
        column = int(tree.column[node]) if tree.n_children[node] else -1
        if depth and column >= 0:
            start = int(tree.first_child[node])
            for child in range(start, start + int(tree.n_children[node])):
                span = self._leaves(child)
                if self._rows[span[1]] > self._rows[span[0]]:
                    words = self._describe(column, self._classes[slice(*span)])
                    children.append(self.describe(child, words, depth - 1))
        children.sort(key=lambda branch: -branch.rows)
        return Branch(
            shows,
            int(self._rows[last] - self._rows[first]),
            last - first,
            tree.columns[column] if column >= 0 and last - first > 1 else None,
            tuple(children[:_MOST_BRANCHES]),
            max(0, len(children) - _MOST_BRANCHES),
        )

    def _leaves(self, node: int) -> tuple[int, int]:
        """Return where the classes below a node begin and end."""
        ends = [self._tree.start[node], self._tree.stop[node]]
        first, last = np.searchsorted(self._starts, ends)
        return int(first), int(last)

    def _describe(self, column: int, classes: Integers) -> str:
        view = self._views[column]
        if view.cells.column.kind != "number":
            return _list_labels(view, classes)
        return _join_ranges(view.bounds, classes)


def _join_ranges(bounds: Bounds, classes: Integers) -> str:
    low, high = bounds.low[classes], bounds.high[classes]
    there = ~np.isnan(low)
    if not there.any():
        return "blank"
    ends = bounds.texts[float(low[there].min())], bounds.texts[float(high[there].max())]
    words = ends[0] if ends[0] == ends[1] else f"{ends[0]} {DASH} {ends[1]}"
    return words if there.all() else f"{words}, or blank"


def _list_labels(view: View, classes: Integers) -> str:
    index = view.index[classes]
    places: NDArray[np.intp]
    places, where = np.unique(index, return_inverse=True)
    rows = np.bincount(where, weights=view.rows[classes])
    order = np.argsort(-rows, kind="stable")
    texts = view.labels.texts
    named = [
        "blank" if (at := int(places[i])) < 0 else texts[at].as_py()
        for i in order[:_MOST_LABELS].tolist()
    ]
    more = places.size - len(named)
    return ", ".join(named) + (f", and {more} more" if more else "")
