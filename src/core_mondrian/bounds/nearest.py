"""Find the tuples that lose least together with one of them."""

import cython
from cython.cimports.core_mondrian.engine.layout import VALUE_SET
from cython.cimports.core_mondrian.engine.search.objective import box_loss
from cython.cimports.libc.math import INFINITY

from core_mondrian.bounds.tuples import NearTuples, TupleTree


def find_nearest(tree: TupleTree, near: NearTuples, anchor: int) -> int:
    """Fill the tuples nearest to one; return how many there are, itself included.

    ``near.radius`` is what any other tuple loses with it, or more; infinite: there is
    no other.
    """
    with cython.nogil:
        near.n = 0
        near.radius = INFINITY
        visit(tree, near, anchor, 0)
    return near.n


def visit(tree: TupleTree, near: NearTuples, anchor: int, node: int) -> None:
    """Look for near tuples below a node, on the nearer side first."""
    first = tree.spans[node, 2]
    if first < 0:
        visit_leaf(tree, near, anchor, node)
        return
    loss = box_distance(tree, anchor, first)
    other = first + 1
    other_loss = box_distance(tree, anchor, other)
    if other_loss < loss:
        first, other = other, first
        loss, other_loss = other_loss, loss
    if loss < near.radius:
        visit(tree, near, anchor, first)
    if other_loss < near.radius:
        visit(tree, near, anchor, other)


def visit_leaf(tree: TupleTree, near: NearTuples, anchor: int, node: int) -> None:
    """Keep the near tuples of a leaf."""
    for i in range(tree.spans[node, 0], tree.spans[node, 1]):
        loss = pair_loss(tree, near, anchor, i)
        if loss < near.radius:
            keep(near, i, loss)


def pair_loss(tree: TupleTree, near: NearTuples, anchor: int, i: int) -> float:
    """Return what two tuples lose as a class; more than the radius may be less."""
    loss = 0.0
    for column in range(tree.objective.n_columns):
        a = tree.codes[anchor, column]
        b = tree.codes[i, column]
        if a == b:
            continue
        loss += column_loss(tree, column, min(a, b), max(a, b))
        if loss >= near.radius:
            break
    return loss


def column_loss(tree: TupleTree, column: int, low: int, high: int) -> float:
    """Return what two different codes of a column lose together."""
    if tree.objective.info[column].kind == VALUE_SET:
        return tree.objective.info[column].unit
    return box_loss(tree.objective, column, low, high)


def box_distance(tree: TupleTree, anchor: int, node: int) -> float:
    """Return what a tuple loses at least with any tuple below a node.

    Codes are in the order of their values: of those beyond the box's edge, the edge is
    the nearest.
    """
    loss = 0.0
    for column in range(tree.objective.n_columns):
        code = tree.codes[anchor, column]
        low = tree.low[node, column]
        high = tree.high[node, column]
        if code < low:
            loss += column_loss(tree, column, code, low)
        elif code > high:
            loss += column_loss(tree, column, high, code)
    return loss


def keep(near: NearTuples, i: int, loss: float) -> None:
    """Keep a tuple among the nearest: a heap with the farthest on top.

    Once there are enough, the farthest goes, and what it loses is the radius.
    """
    if near.n < near.most:
        near.n += 1
        sift_up(near, near.n - 1, i, loss)
        if near.n == near.most:
            near.radius = near.losses[0]
        return
    sift_down(near, i, loss)
    near.radius = near.losses[0]


def sift_up(near: NearTuples, place: int, i: int, loss: float) -> None:
    """Put a tuple at the bottom of the heap, and let it rise."""
    while place > 0:
        above = (place - 1) // 2
        if near.losses[above] >= loss:
            break
        near.losses[place] = near.losses[above]
        near.numbers[place] = near.numbers[above]
        place = above
    near.losses[place] = loss
    near.numbers[place] = i


def sift_down(near: NearTuples, i: int, loss: float) -> None:
    """Put a tuple in the place of the farthest, and let it sink."""
    place = cython.declare(cython.Py_ssize_t, 0)
    while True:
        below = 2 * place + 1
        if below >= near.n:
            break
        if below + 1 < near.n and near.losses[below + 1] > near.losses[below]:
            below += 1
        if near.losses[below] <= loss:
            break
        near.losses[place] = near.losses[below]
        near.numbers[place] = near.numbers[below]
        place = below
    near.losses[place] = loss
    near.numbers[place] = i
