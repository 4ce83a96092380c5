"""Grow the part of the tree below one queued partition in a single call.

Hybrid execution (Core Mondrian §3.5, §3.6). Children of at least ``inline_below`` rows
are queued with a budget fixed beforehand. Smaller ones are solved in place, largest
first, each with all the budget that is left; if one of them overruns it, the cut that
made it is abandoned and the next one is tried.
"""

import numpy as np

from core_mondrian.kernels.apart import first_of, last_of
from core_mondrian.kernels.borrow import (
    borrow_columns,
    borrow_models,
    borrow_tuples,
    borrow_work,
    borrowed,
)
from core_mondrian.kernels.funnel import find_cut
from core_mondrian.kernels.groups import copy_record
from core_mondrian.kernels.jit import entry_kernel, kernel, merged_kernel
from core_mondrian.kernels.layout import (
    ABANDONED,
    CLASS,
    CUT,
    FAILS,
    LOSE_LEFT,
    LOSE_RIGHT,
    MAY_PASS,
    PAPER,
    QUEUED,
    SUPPRESSED,
    TOPPED_UP,
    Codes,
    Columns,
    Fields,
    Models,
    Policy,
    Tuples,
    Work,
)
from core_mondrian.kernels.nodes import add_node
from core_mondrian.kernels.proposals import form_parts, judge_part, top_up_pool
from core_mondrian.kernels.rules import add_record, clear
from core_mondrian.kernels.runs import find_box, sort_keys

# After this many abandoned cuts a partition is closed as it is: each attempt solves
# everything below again, and forced backtracking was measured at 20 times the cost.
MAX_ATTEMPTS = 8


@kernel
def split_number(
    tuples: Tuples, nodes: Fields, node: int, n_nodes: int, work: Work, column: int
) -> int:
    """Reorder the partition at the chosen cut point and append both sides."""
    start = nodes[node].start
    stop = nodes[node].stop
    at = work.chosen[0].at
    variant = work.chosen[0].variant
    records = tuples.records
    rows_at = records.shape[1] - 2
    front = start
    n_back = 0
    rows_left = np.int64(0)
    for i in range(start, stop):
        if records[i, column] <= at:
            rows_left += records[i, rows_at]
            if front != i:
                copy_record(records, i, records, front)
            front += 1
        else:
            copy_record(records, i, tuples.spare, start + n_back)
            n_back += 1
    for i in range(n_back):
        copy_record(tuples.spare, start + i, records, front + i)
    rows_right = nodes[node].rows - rows_left
    add_node(nodes, n_nodes, node, start, front, rows_left)
    nodes[n_nodes].low = work.box[column].low
    nodes[n_nodes].high = at
    if variant == LOSE_LEFT:
        nodes[n_nodes].kind = SUPPRESSED
    add_node(nodes, n_nodes + 1, node, front, stop, rows_right)
    nodes[n_nodes + 1].low = at + 1
    nodes[n_nodes + 1].high = work.box[column].high
    if variant == LOSE_RIGHT:
        nodes[n_nodes + 1].kind = SUPPRESSED
    return n_nodes + 2


@kernel
def find_part(tuples: Tuples, start: int, n_parts: int, code: int) -> int:
    """Return the part whose interval of codes holds ``code``."""
    left = start
    right = start + n_parts - 1
    while left < right:
        middle = (left + right + 1) // 2
        if tuples.parts[middle].low <= code:
            left = middle
        else:
            right = middle - 1
    return left


@kernel
def split_category(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    nodes: Fields,
    node: int,
    n_nodes: int,
    work: Work,
    column: int,
) -> int:
    """Reorder the partition by part, the pool last, and append a child for each."""
    start = nodes[node].start
    stop = nodes[node].stop
    rows = nodes[node].rows
    may_stay_open = policy.name == PAPER and rows < policy.inline_below
    n_parts = form_parts(
        tuples, columns, models, work, column, start, stop, may_stay_open
    )
    if work.chosen[0].variant == TOPPED_UP:
        top_up_pool(tuples, models, work, column, start, stop, n_parts)
    parts = tuples.parts
    for part in range(start, start + n_parts):
        parts[part].place = 0
    in_pool = 0
    for i in range(start, stop):
        part = find_part(tuples, start, n_parts, tuples.records[i, column])
        tuples.keys[i] = part
        if parts[part].state == FAILS:
            in_pool += 1
        else:
            parts[part].place += 1
    place = start
    pooled_rows = np.int64(0)
    for part in range(start, start + n_parts):
        if parts[part].state == FAILS:
            pooled_rows += parts[part].rows
            continue
        end = place + parts[part].place
        add_node(nodes, n_nodes, node, place, end, parts[part].rows)
        nodes[n_nodes].low = parts[part].low
        nodes[n_nodes].high = parts[part].high
        nodes[n_nodes].open = parts[part].state == MAY_PASS
        n_nodes += 1
        parts[part].place = place
        place = end
    if in_pool:
        add_node(nodes, n_nodes, node, place, stop, pooled_rows)
        if work.chosen[0].loss > 0:
            nodes[n_nodes].kind = SUPPRESSED
        n_nodes += 1
    for i in range(start, stop):
        part = tuples.keys[i]
        if parts[part].state == FAILS:
            copy_record(tuples.records, i, tuples.spare, place)
            place += 1
        else:
            copy_record(tuples.records, i, tuples.spare, parts[part].place)
            parts[part].place += 1
    for i in range(start, stop):
        copy_record(tuples.spare, i, tuples.records, i)
    return n_nodes


@kernel
def mark_open_sides(
    tuples: Tuples, models: Models, nodes: Fields, first: int, work: Work
) -> None:
    """Note which sides of a number's cut do not pass the models yet."""
    for child in range(first, first + 2):
        if nodes[child].kind == SUPPRESSED:
            continue
        clear(work.side_counts, models)
        for i in range(nodes[child].start, nodes[child].stop):
            add_record(work.side_counts, models, tuples.records[i], work.box.size)
        verdict = judge_part(models, nodes[child].rows, work.side_counts, True)
        nodes[child].open = verdict == MAY_PASS


@kernel
def take_turns(tuples: Tuples, nodes: Fields, node: int) -> None:
    """Note in which order the children are solved: largest first, ties as they stand.

    ``nodes[first + i].turn`` is the child whose turn is the i-th.
    """
    first = nodes[node].first_child
    n = nodes[node].n_children
    most = nodes[node].rows
    start = nodes[node].start
    for i in range(n):
        tuples.keys[start + i] = ((most - nodes[first + i].rows) << 32) | i
    sort_keys(tuples.keys, start, start + n - 1)
    for i in range(n):
        nodes[first + i].turn = first + (tuples.keys[start + i] & 0xFFFFFFFF)


@kernel
def is_worth_cutting(models: Models, nodes: Fields, node: int) -> bool:
    """Tell whether a child may hold two classes, or has to be cut to hold one."""
    if nodes[node].kind == SUPPRESSED:
        return False
    return nodes[node].rows >= 2 * models.min_rows or nodes[node].open == 1


@kernel
def queue_children(
    models: Models, policy: Policy, nodes: Fields, node: int, left: int
) -> int:
    """Give each child that will be queued its share of ``left``; return the rest."""
    first = nodes[node].first_child
    last = first + nodes[node].n_children
    total = np.int64(0)
    for child in range(first, last):
        if is_worth_cutting(models, nodes, child):
            total += nodes[child].rows
    given = np.int64(0)
    for child in range(first, last):
        if not is_worth_cutting(models, nodes, child):
            continue
        if nodes[child].rows >= policy.inline_below:
            # Rounded down: the parts can never be given more than there is.
            nodes[child].budget = nodes[child].rows * left // total
            nodes[child].kind = QUEUED
            given += nodes[child].budget
    return left - given


@kernel
def apply_cut(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    nodes: Fields,
    node: int,
    n_nodes: int,
    work: Work,
) -> int:
    """Carry out the chosen cut; return how many nodes there are now."""
    column = work.chosen[0].column
    first = n_nodes
    nodes[node].kind = CUT
    nodes[node].column = column
    nodes[node].at = work.chosen[0].at
    if work.chosen[0].variant <= LOSE_RIGHT:
        n_nodes = split_number(tuples, nodes, node, n_nodes, work, column)
        if not models.is_monotone:
            mark_open_sides(tuples, models, nodes, first, work)
    else:
        n_nodes = split_category(
            tuples, columns, models, policy, nodes, node, n_nodes, work, column
        )
    nodes[node].first_child = first
    nodes[node].n_children = n_nodes - first
    take_turns(tuples, nodes, node)
    return n_nodes


@kernel
def open_frame(stack: Fields, depth: int, node: int) -> None:
    """Put ``node`` on top of the stack, not yet cut."""
    stack[depth].node = node
    stack[depth].attempt = 0
    stack[depth].mark = -1
    stack[depth].queue_mark = -1
    stack[depth].next = -1
    stack[depth].left = 0
    stack[depth].spent = 0


@kernel
def enqueue(nodes: Fields, node: int, queue: Codes, n_queued: int) -> int:
    """Append the node's queued children to the queue; return its new length."""
    first = nodes[node].first_child
    for child in range(first, first + nodes[node].n_children):
        if nodes[child].kind == QUEUED:
            queue[n_queued] = child
            n_queued += 1
    return n_queued


@kernel
def next_child(models: Models, nodes: Fields, stack: Fields, top: int) -> int:
    """Return the next child to be solved in place, or -1 when all are done."""
    node = stack[top].node
    first = nodes[node].first_child
    while stack[top].next < nodes[node].n_children:
        child = nodes[first + stack[top].next].turn
        stack[top].next += 1
        if nodes[child].kind != QUEUED and is_worth_cutting(models, nodes, child):
            return child
    return -1


@kernel
def close_node(nodes: Fields, node: int) -> int:
    """Leave a partition as it is; return the rows that costs."""
    nodes[node].column = -1
    nodes[node].at = -1
    nodes[node].first_child = -1
    nodes[node].n_children = 0
    if nodes[node].open:
        nodes[node].kind = SUPPRESSED
        return nodes[node].rows
    nodes[node].kind = CLASS
    return 0


@merged_kernel
def solve(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    nodes: Fields,
    root: int,
    n_nodes: int,
    queue: Codes,
    n_queued: int,
    stack: Fields,
) -> tuple[int, int]:
    """Solve one queued partition with everything inline below it.

    Appends nodes, and queues the children that are large enough. Returns how many
    nodes and queued nodes there are now.
    """
    open_frame(stack, 0, root)
    depth = 1
    while depth:
        top = depth - 1
        node = stack[top].node
        if stack[top].next < 0:
            start = nodes[node].start
            stop = nodes[node].stop
            found = False
            if stop - start > 1 and stack[top].attempt < MAX_ATTEMPTS:
                find_box(tuples, work, start, stop)
                found = find_cut(
                    tuples, columns, models, policy, work, start, stop,
                    nodes[node].rows, nodes[node].budget, nodes[node].open == 1,
                    stack[top].attempt,
                )  # fmt: skip
            if found:
                loss = work.chosen[0].loss
                stack[top].mark = n_nodes
                stack[top].queue_mark = n_queued
                stack[top].next = 0
                stack[top].spent = loss
                n_nodes = apply_cut(
                    tuples, columns, models, policy, nodes, node, n_nodes, work
                )
                left = nodes[node].budget - loss
                stack[top].left = queue_children(models, policy, nodes, node, left)
                n_queued = enqueue(nodes, node, queue, n_queued)
                continue
            spent = close_node(nodes, node)
        else:
            child = next_child(models, nodes, stack, top)
            if child >= 0:
                nodes[child].budget = stack[top].left
                open_frame(stack, depth, child)
                depth += 1
                continue
            spent = stack[top].spent
        # The node on top is done and has spent ``spent`` rows; tell its parent.
        depth -= 1
        if depth == 0:
            break
        top = depth - 1
        stack[top].left -= spent
        stack[top].spent += spent
        if stack[top].left < 0:
            # Backtrack: undo the parent's cut with all that came of it.
            work.funnel[ABANDONED, nodes[stack[top].node].column] += 1
            n_nodes = stack[top].mark
            n_queued = stack[top].queue_mark
            stack[top].attempt += 1
            stack[top].next = -1
    return n_nodes, n_queued


@entry_kernel
def grow_below(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    nodes: Fields,
    queue: Codes,
    stack: Fields,
    ship_above: int,
) -> int:
    """Grow the tree below ``nodes[0]`` and return how many nodes it has.

    Queued partitions of at least ``ship_above`` rows are left with kind ``QUEUED`` for
    another call, maybe on another thread. Their budgets are fixed, so that where they
    are solved changes nothing. A partition of n tuples never has more than 2 n nodes,
    so ``nodes`` and ``queue`` need no more, nor ``stack`` more than n.
    """
    tuples = borrow_tuples(tuples)
    columns = borrow_columns(columns)
    models = borrow_models(models)
    work = borrow_work(work)
    nodes = borrowed(nodes)
    queue = borrowed(queue)
    stack = borrowed(stack)
    n_nodes = 1
    queue[0] = 0
    n_queued = 1
    done = 0
    while done < n_queued:
        root = queue[done]
        done += 1
        if root > 0 and nodes[root].rows >= ship_above:
            continue
        n_nodes, n_queued = solve(
            tuples, columns, models, policy, work, nodes, root, n_nodes, queue,
            n_queued, stack,
        )  # fmt: skip
    return n_nodes


@entry_kernel
def cut_counted(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    nodes: Fields,
) -> int:
    """Cut ``nodes[0]``, of which only counts are at hand; return how many nodes result.

    ``work`` says where the counts of each column are, and the box. Children have the
    codes they hold, not where: whoever has the records has to divide them.
    """
    tuples = borrow_tuples(tuples)
    columns = borrow_columns(columns)
    models = borrow_models(models)
    work = borrow_work(work)
    nodes = borrowed(nodes)
    rows = nodes[0].rows
    budget = nodes[0].budget
    if not find_cut(
        tuples, columns, models, policy, work, 0, 0, rows, budget, False, 0
    ):
        close_node(nodes, 0)
        return 1
    column = work.chosen[0].column
    nodes[0].start = first_of(work.apart, column, 0)
    nodes[0].stop = last_of(work.apart, column, 0)
    n_nodes = apply_cut(tuples, columns, models, policy, nodes, 0, 1, work)
    queue_children(models, policy, nodes, 0, budget - work.chosen[0].loss)
    return n_nodes
