"""Grow the part of the tree below one queued partition in a single call.

Hybrid execution (Core Mondrian §3.5, §3.6). Children of at least ``inline_below`` rows
are queued with a budget fixed beforehand. Smaller ones are solved in place, largest
first, each with all the budget that is left; if one of them overruns it, the cut that
made it is abandoned and the next one is tried.
"""

import cython
import numpy as np
from cython.cimports.core_mondrian.engine.budget import (
    backtrack,
    is_overrun,
    is_worth_cutting,
    next_child,
    queue_children,
    spend,
)
from cython.cimports.core_mondrian.engine.layout import (
    CLASS,
    CUT,
    FAILS,
    LOSE_LEFT,
    LOSE_RIGHT,
    MAY_PASS,
    QUEUED,
    SUPPRESSED,
    TOPPED_UP,
)
from cython.cimports.core_mondrian.engine.model_rules import add_record, clear
from cython.cimports.core_mondrian.engine.nodes import add_node
from cython.cimports.core_mondrian.engine.paper.category_parts import (
    find_part,
    form_parts,
    top_up_pool,
)
from cython.cimports.core_mondrian.engine.paper.code_runs import find_box
from cython.cimports.core_mondrian.engine.paper.funnel import (
    find_cut,
    spendable_rows,
)
from cython.cimports.core_mondrian.engine.paper.proposals import judge_part
from cython.cimports.core_mondrian.engine.paper.workspace import open_column
from cython.cimports.core_mondrian.engine.records import (
    copy_record,
    data,
    low_half,
    node_at,
    row,
)
from cython.cimports.core_mondrian.engine.sorting import sort_keys

from core_mondrian.engine.layout import FRAME, NODE, Fields, fields, raw_fields
from core_mondrian.engine.paper.workspace import FunnelWorkspace

if not cython.compiled:
    # After this many abandoned cuts a partition is closed as it is: each attempt solves
    # everything below again, and forced backtracking was measured at 20 times the cost.
    MAX_ATTEMPTS = 8


def cut_partition(work: FunnelWorkspace, root: Fields, ship_above: int) -> Fields:
    """Grow what is below one queued partition; its own node comes first.

    Queued partitions of at least ``ship_above`` rows are left with kind ``QUEUED`` for
    another call, maybe on another thread. Their budgets are fixed, so that where they
    are solved changes nothing. A partition of n tuples never has more than 2 n nodes,
    so there is room for no more of them.
    """
    n = int(root["stop"][0] - root["start"][0])
    nodes = raw_fields(2 * n, NODE)
    nodes[0] = root[0]
    nodes["parent"][0] = -1
    work.starts_at_root = int(root["parent"][0]) < 0
    work.nodes = nodes
    work.queue = np.empty(2 * n, dtype=np.int32)
    work.stack = raw_fields(n, FRAME)
    with cython.nogil:
        cut_below(work, ship_above)
    work.nodes = None
    work.queue = None
    work.stack = None
    check_hooks(work)
    return nodes[: work.n_nodes]


def check_hooks(work: FunnelWorkspace) -> None:
    """Raise if a function of the user's policy has failed, or returned NaN."""
    if work.n_faults:
        from core_mondrian.engine.own_hooks import raise_fault

        raise_fault(work)


def cut_once(work: FunnelWorkspace, root: Fields) -> Fields:
    """Cut a partition, all records of the workspace, and none of its children.

    Its own node comes first. Children that are solved in place are classes as yet.
    """
    n = work.records.shape[0]
    nodes = fields(n + 2, NODE)
    nodes[0] = root[0]
    nodes["start"][0], nodes["stop"][0] = 0, n
    work.starts_at_root = int(root["parent"][0]) < 0
    work.nodes = nodes
    with cython.nogil:
        cut_root(work)
    work.nodes = None
    check_hooks(work)
    return nodes[: work.n_nodes]


def cut_below(work: FunnelWorkspace, ship_above: int) -> None:
    """Grow the tree below node 0."""
    work.n_nodes = 1
    work.queue[0] = 0
    work.n_queued = 1
    done = 0
    while done < work.n_queued:
        root = work.queue[done]
        done += 1
        if root > 0 and work.nodes[root].rows >= ship_above:
            continue
        cut_inline(work, root)


def cut_inline(work: FunnelWorkspace, root: int) -> None:
    """Solve one queued partition with everything inline below it.

    Appends nodes, and queues the children that are large enough.
    """
    open_frame(work, 0, root)
    depth = 1
    while depth:
        top = depth - 1
        if work.stack[top].next_child < 0:
            if cut_node(work, top):
                continue
            spent = close_node(work, work.stack[top].node)
        else:
            child = next_child(work, top)
            if child >= 0:
                open_frame(work, depth, child)
                depth += 1
                continue
            spent = work.stack[top].spent
        # The node on top is done and has spent ``spent`` rows: its parent pays.
        depth -= 1
        if depth:
            spend(work, depth - 1, spent)
            if is_overrun(work, depth - 1):
                backtrack(work, depth - 1)


def open_frame(work: FunnelWorkspace, depth: int, node: int) -> None:
    """Put ``node`` on top of the stack, not yet cut."""
    work.stack[depth].node = node
    work.stack[depth].attempt = 0
    work.stack[depth].undo_mark = -1
    work.stack[depth].queue_mark = -1
    work.stack[depth].next_child = -1
    work.stack[depth].left = 0
    work.stack[depth].spent = 0


def cut_node(work: FunnelWorkspace, top: int) -> bool:
    """Cut the partition on top of the stack, if there is a cut left to try."""
    node = work.stack[top].node
    start = work.nodes[node].start
    stop = work.nodes[node].stop
    attempt = work.stack[top].attempt
    if stop - start <= 1 or attempt >= MAX_ATTEMPTS:
        return False
    if not may_cut(work, node):
        return False
    find_box(work, start, stop)
    if not find_cut(work, node, attempt):
        return False
    loss = work.chosen[0].loss
    work.stack[top].undo_mark = work.n_nodes
    work.stack[top].queue_mark = work.n_queued
    work.stack[top].next_child = 0
    work.stack[top].spent = loss
    apply_cut(work, node)
    work.stack[top].left = queue_children(work, node, work.spendable - loss)
    enqueue(work, node)
    return True


def may_cut(work: FunnelWorkspace, node: int) -> bool:
    """Return whether a partition is looked at for cuts: a root always is."""
    if node == 0 and work.starts_at_root:
        return True
    return is_worth_cutting(work, node)


def cut_root(work: FunnelWorkspace) -> None:
    """Cut node 0, and say which of its children are queued."""
    work.n_nodes = 1
    if may_cut(work, 0):
        find_box(work, work.nodes[0].start, work.nodes[0].stop)
        if find_cut(work, 0, 0):
            apply_cut(work, 0)
            queue_children(work, 0, work.spendable - work.chosen[0].loss)
            return
    close_node(work, 0)


def apply_cut(work: FunnelWorkspace, node: int) -> None:
    """Carry out the cut that ``find_cut`` has chosen for a partition."""
    first = work.n_nodes
    column = work.chosen[0].column
    work.nodes[node].kind = CUT
    work.nodes[node].column = column
    work.nodes[node].cut_code = work.chosen[0].cut_code
    open_column(work, column, work.nodes[node].start, work.nodes[node].stop)
    if work.chosen[0].variant <= LOSE_RIGHT:
        split_number(work, node)
        if not work.rules.is_monotone:
            mark_open_sides(work, first)
    else:
        split_category(work, node)
    work.nodes[node].first_child = first
    work.nodes[node].n_children = work.n_nodes - first
    take_turns(work, node)


def close_node(work: FunnelWorkspace, node: int) -> int:
    """Leave a partition as it is; return the rows that costs."""
    work.nodes[node].column = -1
    work.nodes[node].cut_code = -1
    work.nodes[node].first_child = -1
    work.nodes[node].n_children = 0
    if work.nodes[node].needs_cut or not is_released(work, node):
        work.nodes[node].kind = SUPPRESSED
        return work.nodes[node].rows
    work.nodes[node].kind = CLASS
    return 0


def is_released(work: FunnelWorkspace, node: int) -> bool:
    """Return whether a partition that passes the models is released.

    It is, unless the strategy would rather suppress it and the budget allows that.
    """
    if not work.strategy.asks_before_release:
        return True
    work.rows = work.nodes[node].rows
    work.spendable = spendable_rows(work, node)
    if work.spendable < work.rows:
        return True
    find_box(work, work.nodes[node].start, work.nodes[node].stop)
    return work.strategy.releases(work, node)


def add_child(
    work: FunnelWorkspace, parent: int, start: int, stop: int, rows: int
) -> None:
    """Append a child."""
    n = work.n_nodes
    add_node(node_at(work.nodes, n), n, parent, start, stop, rows)
    work.n_nodes = n + 1


def split_number(work: FunnelWorkspace, node: int) -> None:
    """Reorder the partition at the chosen cut point and append both sides.

    start                front       i             stop
    [ code <= at, so far | free      | still to see ]
    spare  [ code > at, so far ]  goes behind the front in the end
    """
    start = work.start
    stop = work.stop
    column = work.column
    at = work.chosen[0].cut_code
    front = start
    n_back = 0
    rows_left = cython.declare(cython.longlong, 0)
    for i in range(start, stop):
        if work.records[i, column] <= at:
            rows_left += work.records[i, work.rows_at]
            if front != i:
                copy_record(work.records, i, work.records, front)
            front += 1
        else:
            copy_record(work.records, i, work.spare, start + n_back)
            n_back += 1
    for i in range(n_back):
        copy_record(work.spare, start + i, work.records, front + i)
    left = work.n_nodes
    right = left + 1
    add_child(work, node, start, front, rows_left)
    add_child(work, node, front, stop, work.nodes[node].rows - rows_left)
    work.nodes[left].low = work.box[column].low
    work.nodes[left].high = at
    work.nodes[right].low = at + 1
    work.nodes[right].high = work.box[column].high
    if work.chosen[0].variant == LOSE_LEFT:
        work.nodes[left].kind = SUPPRESSED
    if work.chosen[0].variant == LOSE_RIGHT:
        work.nodes[right].kind = SUPPRESSED


def mark_open_sides(work: FunnelWorkspace, first: int) -> None:
    """Note which sides of a number's cut do not pass the models yet."""
    for child in range(first, first + 2):
        if work.nodes[child].kind == SUPPRESSED:
            continue
        clear(work.side)
        for i in range(work.nodes[child].start, work.nodes[child].stop):
            add_record(work.side, work.rules, row(work.records, i))
        verdict = judge_part(work.rules, work.nodes[child].rows, work.side, True)
        work.nodes[child].needs_cut = 1 if verdict == MAY_PASS else 0


def split_category(work: FunnelWorkspace, node: int) -> None:
    """Reorder the partition by part, the pool last, and append a child for each.

    A counting sort: ``place`` of a part is first how many records it has, then where
    its next record goes.

        start                                    stop
        [ part a | part c | ... | pool: parts b, d ]
                     place of c ▲
    """
    form_parts(work)
    if work.chosen[0].variant == TOPPED_UP:
        top_up_pool(work)
    for part in range(work.start, work.start + work.n_parts):
        work.parts[part].place = 0
    for i in range(work.start, work.stop):
        part = find_part(work, work.records[i, work.column])
        work.keys[i] = part
        work.parts[part].place += 1
    pool_place = add_part_children(work, node)
    for i in range(work.start, work.stop):
        part = work.keys[i]
        if work.parts[part].state == FAILS:
            copy_record(work.records, i, work.spare, pool_place)
            pool_place += 1
        else:
            copy_record(work.records, i, work.spare, work.parts[part].place)
            work.parts[part].place += 1
    for i in range(work.start, work.stop):
        copy_record(work.spare, i, work.records, i)


def add_part_children(work: FunnelWorkspace, node: int) -> int:
    """Append a child for each part and one for the pool; return where that starts."""
    place = work.start
    pooled_rows = cython.declare(cython.longlong, 0)
    for part in range(work.start, work.start + work.n_parts):
        if work.parts[part].state == FAILS:
            pooled_rows += work.parts[part].rows
            continue
        end = place + work.parts[part].place
        child = work.n_nodes
        add_child(work, node, place, end, work.parts[part].rows)
        work.nodes[child].low = work.parts[part].low
        work.nodes[child].high = work.parts[part].high
        work.nodes[child].needs_cut = 1 if work.parts[part].state == MAY_PASS else 0
        work.parts[part].place = place
        place = end
    if place < work.stop:
        child = work.n_nodes
        add_child(work, node, place, work.stop, pooled_rows)
        if work.chosen[0].loss > 0:
            work.nodes[child].kind = SUPPRESSED
    return place


def take_turns(work: FunnelWorkspace, node: int) -> None:
    """Note in which order the children are solved: largest first, ties as they stand.

    ``nodes[first + i].visit_order`` is the child whose turn is the i-th.
    """
    start = work.start
    first = work.nodes[node].first_child
    n = work.nodes[node].n_children
    most = work.nodes[node].rows
    for i in range(n):
        work.keys[start + i] = ((most - work.nodes[first + i].rows) << 32) | i
    sort_keys(data(work.keys), start, start + n - 1)
    for i in range(n):
        work.nodes[first + i].visit_order = first + low_half(work.keys[start + i])


def enqueue(work: FunnelWorkspace, node: int) -> None:
    """Append the node's queued children to the queue."""
    first = work.nodes[node].first_child
    for child in range(first, first + work.nodes[node].n_children):
        if work.nodes[child].kind == QUEUED:
            work.queue[work.n_queued] = child
            work.n_queued += 1
