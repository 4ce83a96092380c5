"""Cut a category at its lowest common node: one part per child, small ones pooled.

Parts stand in ``work.parts`` from the partition's start on, by rising codes:

    hierarchy      node                  codes 0 ... 9
                   ├ a   0 1 2           part a: passes
                   ├ b   3               part b: fails ─┐
                   ├ c   4 5 6 7         part c: passes ├ the pool
                   └ d   8 9             part d: fails ─┘
"""

import cython
from cython.cimports.core_mondrian.engine.columns import (
    child_with,
    common_ancestor,
)
from cython.cimports.core_mondrian.engine.layout import (
    FAILS,
    PASSES,
    POOLED,
    TOPPED_UP,
)
from cython.cimports.core_mondrian.engine.model_rules import add_record, clear
from cython.cimports.core_mondrian.engine.paper.code_runs import find_runs
from cython.cimports.core_mondrian.engine.paper.proposals import (
    add_proposal,
    judge_part,
    may_stay_open,
)
from cython.cimports.core_mondrian.engine.records import low_half, row

from core_mondrian.engine.paper.workspace import FunnelWorkspace


def propose_categories(work: FunnelWorkspace) -> None:
    """Append the cuts of a category: one part per child, small children pooled.

    If the pool is too small for a class it is lost, or, as another proposal that loses
    no row, filled up with the smallest child that would have passed.
    """
    form_parts(work)
    work.has_topped_up = False
    work.n_examined += 1
    work.n_considered += 1
    in_pool = pool_rows(work)
    if in_pool == 0:
        add_proposal(work, -1, POOLED, 0)
        return
    if n_surviving(work) == 0:
        return
    if judge_part(work.rules, in_pool, work.pool, False) == PASSES:
        add_proposal(work, -1, POOLED, 0)
        return
    add_proposal(work, -1, POOLED, in_pool)
    if not work.use_lossless:
        return
    work.n_examined += 1
    work.has_topped_up = True
    if top_up_pool(work):
        work.n_considered += 1
        add_proposal(work, -1, TOPPED_UP, 0)


def propose_whole_children(work: FunnelWorkspace) -> None:
    """Append LeFevre's cut of a category: one part per child, if all of them pass."""
    form_parts(work)
    work.has_topped_up = False
    work.n_examined += 1
    work.n_considered += 1
    if pool_rows(work) == 0 and n_surviving(work) > 1:
        add_proposal(work, -1, POOLED, 0)


def form_parts(work: FunnelWorkspace) -> None:
    """Part the partition at its common ancestor and judge each part.

    Parts that fail are in the pool; ``work.pool`` counts it.
    """
    has_rules = work.rules.has_rules
    find_runs(work, has_rules)
    split_by_children(work)
    clear(work.pool)
    i = work.start
    for part in range(work.start, work.start + work.n_parts):
        first = i
        if has_rules:
            clear(work.side)
            n_added = cython.declare(cython.longlong, work.parts[part].rows)
            while n_added > 0:
                position = work.start + low_half(work.keys[i])
                add_record(work.side, work.rules, row(work.records, position))
                n_added -= work.records[position, work.rows_at]
                i += 1
        rows = work.parts[part].rows
        verdict = judge_part(work.rules, rows, work.side, may_stay_open(work))
        work.parts[part].state = verdict
        if verdict == FAILS and has_rules:
            for j in range(first, i):
                position = work.start + low_half(work.keys[j])
                add_record(work.pool, work.rules, row(work.records, position))


def form_proposed_parts(work: FunnelWorkspace, proposal: int) -> None:
    """Part the partition at hand as one of its column's proposals does.

    They are as the proposals left them, unless the pool has been topped up since.
    """
    if not work.has_topped_up:
        return
    form_parts(work)
    if work.proposals[proposal].variant == TOPPED_UP:
        top_up_pool(work)


def split_by_children(work: FunnelWorkspace) -> None:
    """Give each run the child of the common ancestor it lies under."""
    column = work.column
    first = work.columns.info[column].node_offset
    node = common_ancestor(
        work.columns, column, work.box[column].low, work.box[column].high
    )
    part = work.start - 1
    high = cython.declare(cython.int, -1)
    for run in range(work.start, work.start + work.n_runs):
        code = work.runs[run].code
        rows = work.runs[run].rows
        if code > high:
            child = child_with(work.columns, column, node, code)
            high = work.columns.nodes[first + child].high
            part += 1
            work.parts[part].low = work.columns.nodes[first + child].low
            work.parts[part].high = high
            work.parts[part].rows = 0
            work.parts[part].mode = 0
        work.parts[part].rows += rows
        work.parts[part].mode = max(work.parts[part].mode, rows)
    work.n_parts = part - work.start + 1


def find_part(work: FunnelWorkspace, code: int) -> int:
    """Return the part whose interval of codes holds ``code``, by bisection."""
    left = work.start
    right = work.start + work.n_parts - 1
    while left < right:
        middle = (left + right + 1) // 2
        if work.parts[middle].low <= code:
            left = middle
        else:
            right = middle - 1
    return left


def pool_rows(work: FunnelWorkspace) -> int:
    """Return the rows of all parts in the pool."""
    rows = cython.declare(cython.longlong, 0)
    for part in range(work.start, work.start + work.n_parts):
        if work.parts[part].state == FAILS:
            rows += work.parts[part].rows
    return rows


def n_surviving(work: FunnelWorkspace) -> int:
    """Return how many parts stand on their own."""
    n = 0
    for part in range(work.start, work.start + work.n_parts):
        if work.parts[part].state != FAILS:
            n += 1
    return n


def top_up_pool(work: FunnelWorkspace) -> bool:
    """Move the smallest parts into the pool until the pool passes the models."""
    rows = pool_rows(work)
    while n_surviving(work) > 1:
        part = smallest_part(work)
        work.parts[part].state = FAILS
        rows += work.parts[part].rows
        if work.rules.has_rules:
            add_to_pool(work, part)
        if judge_part(work.rules, rows, work.pool, False) == PASSES:
            return True
    return False


def smallest_part(work: FunnelWorkspace) -> int:
    """Return the first of the smallest parts that are not in the pool."""
    smallest = cython.declare(cython.Py_ssize_t, -1)
    for part in range(work.start, work.start + work.n_parts):
        if work.parts[part].state == FAILS:
            continue
        if smallest < 0 or work.parts[part].rows < work.parts[smallest].rows:
            smallest = part
    return smallest


def add_to_pool(work: FunnelWorkspace, part: int) -> None:
    """Add one part of a category's cut to the counts of the pool."""
    for i in range(work.start, work.stop):
        code = work.records[i, work.column]
        if work.parts[part].low <= code <= work.parts[part].high:
            add_record(work.pool, work.rules, row(work.records, i))
