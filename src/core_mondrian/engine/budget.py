"""Who may suppress how many rows (Core Mondrian §3.6).

A child that is queued has its budget fixed beforehand, by its share of the rows, so
that it does not matter where and when it is solved. Children solved in place spend, one
after the other, what the queued ones leave; a child that spends more than there is
undoes the cut above it.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    ABANDONED,
    CUT,
    QUEUED,
    SUPPRESSED,
)

from core_mondrian.engine.paper.workspace import FunnelWorkspace


def is_worth_cutting(work: FunnelWorkspace, node: int) -> bool:
    """Return whether a partition may hold two classes, or has to be cut to hold one."""
    if work.nodes[node].needs_cut == 1:
        return True
    return work.nodes[node].rows >= 2 * work.rules.min_rows


def is_unsolved(work: FunnelWorkspace, child: int) -> bool:
    """Return whether a child is to be cut further, or to be asked about."""
    if work.nodes[child].kind == SUPPRESSED:
        return False
    return work.strategy.asks_before_release or is_worth_cutting(work, child)


def queue_children(work: FunnelWorkspace, node: int, left: int) -> int:
    """Give each child that will be queued its share of ``left``; return the rest."""
    first = work.nodes[node].first_child
    last = first + work.nodes[node].n_children
    total = cython.declare(cython.longlong, 0)
    for child in range(first, last):
        if is_unsolved(work, child):
            total += work.nodes[child].rows
    given = cython.declare(cython.longlong, 0)
    for child in range(first, last):
        if not is_unsolved(work, child):
            continue
        if work.nodes[child].rows >= work.inline_below:
            # Rounded down: the parts can never be given more than there is.
            work.nodes[child].budget = work.nodes[child].rows * left // total
            work.nodes[child].kind = QUEUED
            given += work.nodes[child].budget
    return left - given


def next_child(work: FunnelWorkspace, top: int) -> int:
    """Return the next child to be solved in place, or -1 when all are done.

    It may spend all that is left.
    """
    node = work.stack[top].node
    first = work.nodes[node].first_child
    while work.stack[top].next_child < work.nodes[node].n_children:
        child = work.nodes[first + work.stack[top].next_child].visit_order
        work.stack[top].next_child += 1
        if work.nodes[child].kind != QUEUED and is_unsolved(work, child):
            work.nodes[child].budget = work.stack[top].left
            return child
    return -1


def spend(work: FunnelWorkspace, top: int, rows: int) -> None:
    """Take the rows that a child has suppressed from what is left."""
    work.stack[top].left -= rows
    work.stack[top].spent += rows


def is_overrun(work: FunnelWorkspace, top: int) -> bool:
    """Return whether the children of a partition have spent more than there was."""
    return work.stack[top].left < 0


def backtrack(work: FunnelWorkspace, top: int) -> None:
    """Undo a partition's cut with all that came of it, to try the next one."""
    work.counters[ABANDONED, work.nodes[work.stack[top].node].column] += 1
    for node in range(work.stack[top].undo_mark, work.n_nodes):
        if work.nodes[node].kind == CUT:
            work.counters[ABANDONED, work.nodes[node].column] += 1
    work.n_nodes = work.stack[top].undo_mark
    work.n_queued = work.stack[top].queue_mark
    work.stack[top].attempt += 1
    work.stack[top].next_child = -1
