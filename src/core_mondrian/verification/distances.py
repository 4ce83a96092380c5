"""Earth mover's distances between each class and the whole table."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import SpecError
from core_mondrian.runtime.array_types import Floats, Integers
from core_mondrian.tables.readings import ascending, spell
from core_mondrian.verification.counts import Classes


class Tree(Protocol):
    """The part of a hierarchy that distances need, without the room that has it."""

    labels: tuple[str, ...]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @property
    def n_leaves(self) -> int: ...
    @property
    def leaves(self) -> tuple[str, ...]: ...
    @property
    def parents(self) -> NDArray[np.int32]: ...


# Differences of classes by leaf that are laid out at a time: 32 MiB.
_MOST_CELLS = 1 << 22


def equal_distance(classes: Classes) -> Floats:
    """Return ½ Σ |q(s) - p(s)|: what q has more of is what p has more of."""
    return classes.total(np.maximum(classes.share() - classes.table_share(), 0.0))


def ordered_distance(classes: Classes, column: str) -> Floats:
    """Return Σ |Q(i) - P(i)| / (m - 1), where Q and P add up shares value by value.

    Q stands still between two values of a class, while P rises::

        Q      ______________        Between a and b, |Q - P| is Q - P before the place
           P     __|----   ^         where P passes Q, and P - Q from there on: sums of
        ___|----           |         P from the first value on are all that is needed.
           a       x       b

    Raises:
        SpecError: the values are texts without an order.
    """
    used = np.flatnonzero(classes.table)
    order = _ascending(classes.labels, column)
    order = order[classes.table[order] > 0]
    if classes.table[-1]:
        order = np.append(order, classes.table.size - 1)
    rank = np.empty(classes.table.size, dtype=np.int64)
    rank[order] = np.arange(used.size)
    by_rank = np.lexsort((rank[classes.value], classes.owner))
    owner, count = classes.owner[by_rank], classes.count[by_rank]
    start = rank[classes.value[by_rank]]
    is_last = np.append(owner[1:] != owner[:-1], True)[: owner.size]
    end = np.where(is_last, used.size, np.append(start[1:], 0)[: owner.size])
    is_first = np.append(True, owner[1:] != owner[:-1])[: owner.size]

    shares = np.cumsum(classes.table[order]) / max(classes.n_rows, 1)
    sums = np.append(0.0, np.cumsum(shares))
    whole = np.cumsum(count)
    before = np.maximum.accumulate(np.where(is_first, whole - count, 0))
    own = (whole - before) / classes.rows[owner]
    passed = np.clip(np.searchsorted(shares, own, "right"), start, end)
    moved = own * (2 * passed - start - end) + sums[start] + sums[end]
    moved -= 2 * sums[passed]
    moved += np.where(is_first, sums[start], 0.0)  # before its first value Q is 0
    distances = np.bincount(owner, moved, classes.rows.size) / max(1, used.size - 1)
    return np.where(classes.rows > 0, distances, np.nan)


def _ascending(labels: Sequence[object], column: str) -> Integers:
    texts = [label for label in labels if isinstance(label, str)]
    order = ascending(texts) if texts else range(len(labels))
    if order is None or len(order) < len(labels):
        raise SpecError(
            f"column {column!r} of the release holds text without an order",
            hint="t-closeness with distance 'ordered' needs numbers, dates or times",
        )
    return np.array(order, dtype=np.int64)


def hierarchical_distance(classes: Classes, tree: Tree, column: str) -> Floats:
    """Return Σ height(N) / H · min(surplus, lack) over all inner nodes N.

    The surplus of N adds up q - p of those children that have more of the class than
    of the table, the lack p - q of the others.

    Raises:
        SpecError: the tree does not cover a value.
    """
    leaf = _leaves(classes.labels, tree, column)
    heights = np.zeros(len(tree.labels), dtype=np.int64)
    for node in range(len(tree.labels) - 1, 0, -1):  # children come after parents
        above = tree.parents[node]
        heights[above] = max(heights[above], heights[node] + 1)
    distances = np.zeros(classes.rows.size)
    step = max(1, _MOST_CELLS // (tree.n_leaves + 2))
    for first in range(0, classes.rows.size, step):
        part = slice(first, min(first + step, classes.rows.size))
        distances[part] = _moved(classes, part, leaf, tree, heights)
    return np.where(classes.rows > 0, distances, np.nan)


def _leaves(labels: Sequence[object], tree: Tree, column: str) -> Integers:
    """Return the leaf of each value; of the missing one, the number of leaves."""
    places = {spell(text): place for place, text in enumerate(tree.leaves)}
    leaves = [places.get(spell(str(label)), -1) for label in labels]
    if -1 in leaves:
        raise SpecError(
            f"the hierarchy of {column!r} does not cover {leaves.count(-1)} of "
            f"{len(leaves)} values in the release",
            hint="verify with the hierarchy that the release was made with",
        )
    return np.array([*leaves, tree.n_leaves], dtype=np.int64)


def _moved(
    classes: Classes,
    part: slice,
    leaf: Integers,
    tree: Tree,
    heights: Integers,
) -> Floats:
    """Return what some classes have to move, times how far.

    A node passes on what its children have too much of, as far as others lack it:

        extra    [ .2  -.1 | -.3  .2 ]     q - p by leaf
        sums     0  .2  .1  -.2  0         of a node: the difference of two of them
        more         .1       -.1          by child of the root: .1 moves
    """
    n_leaves, n_classes = tree.n_leaves, part.stop - part.start
    table = np.bincount(leaf, classes.table, n_leaves + 1) / max(classes.n_rows, 1)
    first, last = np.searchsorted(classes.owner, (part.start, part.stop))
    owner = classes.owner[first:last] - part.start
    share = classes.share()[first:last]
    width = n_leaves + 1
    cells = owner * width + leaf[classes.value[first:last]]
    own = np.bincount(cells, share, n_classes * width).reshape(n_classes, width)
    extra = own - table
    # By node: q - p of its leaves, as a difference of sums from the first leaf on.
    sums = np.zeros((n_classes, width))
    np.cumsum(extra[:, :-1], axis=1, out=sums[:, 1:])
    more = sums[:, tree.high + 1] - sums[:, tree.low]
    moved = np.zeros(n_classes)
    for node in np.flatnonzero(heights).tolist():
        children = np.flatnonzero(tree.parents == node)
        each = more[:, children[children > 0]]
        if node == 0:
            each = np.column_stack([each, extra[:, -1]])  # missing hangs here
        surplus = np.maximum(each, 0.0).sum(axis=1)
        lack = np.maximum(-each, 0.0).sum(axis=1)
        moved += heights[node] / heights[0] * np.minimum(surplus, lack)
    return moved
