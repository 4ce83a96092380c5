"""Which column first: RILM, as Core Mondrian §3.3 orders its cut choices, or width."""

import cython
from cython.cimports.core_mondrian.engine.columns import (
    common_ancestor,
    is_blank,
)
from cython.cimports.core_mondrian.engine.layout import CATEGORY
from cython.cimports.core_mondrian.engine.paper.breakout import is_good_enough
from cython.cimports.libc.math import INFINITY, nextafter

from core_mondrian.engine.columns import ColumnViews
from core_mondrian.engine.paper.workspace import FunnelWorkspace


def rank_choices(work: FunnelWorkspace) -> int:
    """Fill ``work.choices`` with the columns worth examining, best first; count them.

    ``work.box`` holds the partition's box.
    """
    work.strategy.rank_columns(work)
    n = 0
    for column in range(work.n_columns):
        if work.box[column].low == work.box[column].high:
            continue
        if work.ranks[column] < INFINITY:
            insert_choice(work, n, column, work.ranks[column])
            n += 1
    return n


def rank_by_rilm(work: FunnelWorkspace) -> None:
    """Rank columns by RILM, the most blurred first; those good enough are not tried."""
    for column in range(work.n_columns):
        low = work.box[column].low
        high = work.box[column].high
        if low == high:
            continue
        score = rilm(work.columns, column, low, high)
        if is_good_enough(work.columns, column, score):
            score = INFINITY
        work.ranks[column] = score


def rank_by_width(work: FunnelWorkspace) -> None:
    """Rank columns by their normalized range, the widest first (LeFevre)."""
    for column in range(work.n_columns):
        low = work.box[column].low
        high = work.box[column].high
        if low < high:
            work.ranks[column] = -normalized_width(work.columns, column, low, high)


def rank_widest(work: FunnelWorkspace) -> None:
    """Try the widest column only, as the paper's baseline does."""
    rank_by_width(work)
    widest = cython.declare(cython.Py_ssize_t, -1)
    for column in range(work.n_columns):
        if work.box[column].low == work.box[column].high:
            continue
        if widest >= 0 and work.ranks[column] >= work.ranks[widest]:
            work.ranks[column] = INFINITY
            continue
        if widest >= 0:
            work.ranks[widest] = INFINITY
        widest = column


def insert_choice(work: FunnelWorkspace, n: int, column: int, score: float) -> None:
    """Put a column among the first ``n`` choices, after those that score the same."""
    place = n
    while place > 0 and work.choices[place - 1].score > score:
        work.choices[place] = work.choices[place - 1]
        place -= 1
    work.choices[place].score = score
    work.choices[place].column = column


def rilm(columns: ColumnViews, column: int, low: int, high: int) -> float:
    """Return how much of the column's detail a class with this box keeps."""
    if is_blank(columns, column, low, high):
        return 0.0
    if columns.info[column].kind == CATEGORY:
        first = columns.info[column].node_offset
        root = columns.nodes[first].node_size
        if root == 0.0:
            return 1.0
        node = common_ancestor(columns, column, low, high)
        return 1.0 - columns.nodes[first + node].node_size / root
    offset = columns.info[column].value_offset
    smallest = columns.values[offset + low]
    largest = columns.values[offset + high]
    for tail in range(columns.domains.shape[1]):
        bottom = columns.domains[column, tail, 0]
        top = columns.domains[column, tail, 1]
        # One step of slack: interpolated percentiles miss exact values by a hair.
        if smallest < nextafter(bottom, -INFINITY):
            continue
        if largest > nextafter(top, INFINITY):
            continue
        if top == bottom:
            return 1.0
        return 1.0 - (largest - smallest) / (top - bottom)
    return 0.0


def normalized_width(columns: ColumnViews, column: int, low: int, high: int) -> float:
    """Return the share of the column's range that a box spans (LeFevre's choice)."""
    if is_blank(columns, column, low, high):
        return 1.0
    if columns.info[column].kind == CATEGORY:
        first = columns.info[column].node_offset
        node = first + common_ancestor(columns, column, low, high)
        leaves = columns.nodes[node].high - columns.nodes[node].low + 1
        return float(leaves) / (columns.nodes[first].high + 1)
    offset = columns.info[column].value_offset
    width = columns.info[column].width
    if width == 0.0:
        return 0.0
    return (columns.values[offset + high] - columns.values[offset + low]) / width
