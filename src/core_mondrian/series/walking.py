"""Walk new rows down the tree of a recoding, to the node where each of them stops."""

import cython
import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Integers = NDArray[np.int64]
Steps = np.recarray[tuple[int], np.dtype[np.void]]
LeafRanges = np.recarray[tuple[int], np.dtype[np.void]]

_STEP_FIELDS = (
    *("column", "is_number", "blank", "cut", "left", "right", "missing"),
    *("named", "covered"),
)
STEP = np.dtype([(name, np.int32) for name in _STEP_FIELDS])
"""A node: less than a line of the cache. ``blank`` is the code of missing in its
column, ``missing`` the child that missing values go to."""
LEAF_RANGE = np.dtype([(name, np.int32) for name in ("first", "last", "child")])


class TreeWalk:
    """What every step reads: the nodes, and the ranges of leaves that lead on.

    Ranges of node ``i`` begin at ``nodes[i].named`` and end where those of the next
    node begin; likewise what labels cover. There is one entry more than nodes.
    """

    def __init__(self, nodes: Steps, named: LeafRanges, covered: LeafRanges) -> None:
        self.nodes = nodes
        self.named = named
        self.covered = covered


def find_stops(walk: TreeWalk, codes: Codes, stops: Integers) -> None:
    """Fill the node at which each tuple of codes stops."""
    with cython.nogil:
        for i in range(codes.shape[0]):
            node = cython.declare(cython.longlong, 0)
            child = cython.declare(cython.longlong, 0)
            while child >= 0:
                node = child
                child = -1
                if walk.nodes[node].column >= 0:
                    child = child_of(walk, node, codes[i, walk.nodes[node].column])
            stops[i] = node


def child_of(walk: TreeWalk, node: int, code: int) -> int:
    """Return the child that a value leads to; -1: the cut cannot place it."""
    if code == walk.nodes[node].blank:
        return walk.nodes[node].missing
    if walk.nodes[node].is_number:
        if code <= walk.nodes[node].cut:
            return walk.nodes[node].left
        return walk.nodes[node].right
    child = named_child(walk, node, code)
    return child if child >= 0 else covered_child(walk, node, code)


def named_child(walk: TreeWalk, node: int, code: int) -> int:
    """Return the child whose range names a leaf; -1: none does."""
    low = walk.nodes[node].named
    high = walk.nodes[node + 1].named
    end = high
    while low < high:  # the first range that does not end before the leaf
        middle = (low + high) // 2
        if walk.named[middle].last < code:
            low = middle + 1
        else:
            high = middle
    if low < end and walk.named[low].first <= code:
        return walk.named[low].child
    return -1


def covered_child(walk: TreeWalk, node: int, code: int) -> int:
    """Return the child whose own label covers a leaf; -1: none does.

    What labels cover is apart, or one inside the other: looking back from the last one
    that begins before the leaf, the first that holds it says most.
    """
    place = walk.nodes[node + 1].covered - 1
    while place >= walk.nodes[node].covered:
        if walk.covered[place].first <= code <= walk.covered[place].last:
            return walk.covered[place].child
        place -= 1
    return -1
