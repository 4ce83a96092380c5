"""Which column first: RILM, as Core Mondrian §3.3 orders its cut choices, or width."""

import numpy as np

from core_mondrian.kernels.jit import kernel
from core_mondrian.kernels.layout import (
    CATEGORY,
    PAPER,
    Columns,
    Policy,
    Work,
)


@kernel
def common_ancestor(columns: Columns, column: int, low: int, high: int) -> int:
    """Return the lowest hierarchy node that covers the codes ``low`` to ``high``."""
    first = columns.info[column].node_offset
    node = np.int64(0)
    while columns.nodes[first + node].n_children > 0:
        child = child_with(columns, column, node, low)
        if columns.nodes[first + child].high < high:
            break
        node = child
    return node


@kernel
def child_with(columns: Columns, column: int, node: int, code: int) -> int:
    """Return the child of ``node`` that covers ``code``, by bisection."""
    first = columns.info[column].node_offset
    left = np.int64(columns.nodes[first + node].first)
    right = left + columns.nodes[first + node].n_children - 1
    while left < right:
        middle = (left + right + 1) // 2
        if columns.nodes[first + middle].low <= code:
            left = middle
        else:
            right = middle - 1
    return left


@kernel
def is_blank(columns: Columns, column: int, low: int, high: int) -> bool:
    """Tell whether a class with this box mixes missing and present values."""
    return high == columns.info[column].n_values and low < high


@kernel
def rilm(columns: Columns, column: int, low: int, high: int) -> float:
    """Return how much of the column's detail a class with this box keeps."""
    if is_blank(columns, column, low, high):
        return 0.0
    if columns.info[column].kind == CATEGORY:
        first = columns.info[column].node_offset
        root = columns.nodes[first].size
        if root == 0.0:
            return 1.0
        node = common_ancestor(columns, column, low, high)
        return 1.0 - columns.nodes[first + node].size / root
    offset = columns.info[column].value_offset
    smallest = columns.values[offset + low]
    largest = columns.values[offset + high]
    for tail in range(columns.domains.shape[1]):
        bottom = columns.domains[column, tail, 0]
        top = columns.domains[column, tail, 1]
        # One step of slack: interpolated percentiles miss exact values by a hair.
        if smallest < np.nextafter(bottom, -np.inf):
            continue
        if largest > np.nextafter(top, np.inf):
            continue
        if top == bottom:
            return 1.0
        return 1.0 - (largest - smallest) / (top - bottom)
    return 0.0


@kernel
def normalized_width(columns: Columns, column: int, low: int, high: int) -> float:
    """Return the share of the column's range that a box spans (LeFevre's choice)."""
    if is_blank(columns, column, low, high):
        return 1.0
    if columns.info[column].kind == CATEGORY:
        first = columns.info[column].node_offset
        node = first + common_ancestor(columns, column, low, high)
        leaves = columns.nodes[node].high - columns.nodes[node].low + 1
        return leaves / (columns.nodes[first].high + 1)
    offset = columns.info[column].value_offset
    width = columns.info[column].width
    if width == 0.0:
        return 0.0
    return (columns.values[offset + high] - columns.values[offset + low]) / width


@kernel
def rank_choices(columns: Columns, policy: Policy, work: Work) -> int:
    """Fill ``work.order`` with the columns worth examining, best first; count them."""
    n = 0
    for column in range(work.box.size):
        low = work.box[column].low
        high = work.box[column].high
        if low == high:
            continue
        if policy.name == PAPER:
            score = rilm(columns, column, low, high)
            # Dynamic breakout: this column is good enough here (§3.3), or as good as.
            enough = columns.info[column].breakout
            if score >= enough * (1.0 - 1e-5) - 1e-8:
                continue
        else:
            score = -normalized_width(columns, column, low, high)
        place = n
        while place > 0 and work.choices[place - 1].score > score:
            work.choices[place].score = work.choices[place - 1].score
            work.choices[place].column = work.choices[place - 1].column
            place -= 1
        work.choices[place].score = score
        work.choices[place].column = column
        n += 1
    return n
