"""Cut a block: a partition small enough to try out cuts before one is taken."""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    ACCEPTED,
    CONSIDERED,
    CUT,
    EXAMINED,
    FINAL,
    PROPOSED,
    RANGE,
)
from cython.cimports.core_mondrian.engine.nodes import add_node
from cython.cimports.core_mondrian.engine.records import copy_record, node_at
from cython.cimports.core_mondrian.engine.search.class_loss import (
    class_loss,
    worth_between,
)
from cython.cimports.core_mondrian.engine.search.code_groups import (
    find_span,
    group_records,
    order_by_rows,
)
from cython.cimports.core_mondrian.engine.search.exact_cuts import find_cuts
from cython.cimports.libc.math import INFINITY

from core_mondrian.engine.layout import Fields
from core_mondrian.engine.search.workspace import Block, RecordBuffers, SearchWorkspace

if not cython.compiled:
    # Cuts tried out times columns: the more columns, the dearer each trial.
    _MOST_TRIALS = 64


def split_records(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    start: int,
    stop: int,
) -> int:
    """Move the left side of a found cut to the front; return where the right begins.

    Both sides keep their order.
    """
    if workspace.found[column].by_rows:
        find_span(buffers, workspace, column, start, stop)
        n_groups = group_records(buffers, workspace, column, start, stop)
        order_by_rows(buffers, workspace, start, n_groups)
        mark_left(buffers, workspace, column, n_groups)
    else:
        low = workspace.found[column].low
        high = workspace.found[column].high
        for i in range(start, stop):
            code = buffers.records[i, column]
            buffers.ranks[i] = 1 if low <= code <= high else 0
    return move_marked(buffers, start, stop)


def mark_left(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int, n_groups: int
) -> None:
    """Set ``ranks`` of the records to 1 in the groups of the left side, else to 0."""
    first = workspace.found[column].first
    last = workspace.found[column].last
    for group in range(n_groups):
        begin = workspace.groups[group].first
        mark = 1 if first <= group < last else 0
        for i in range(begin, begin + workspace.groups[group].n):
            buffers.ranks[buffers.keys[i]] = mark


def move_marked(buffers: RecordBuffers, start: int, stop: int) -> int:
    """Move the marked records to the front; return where the others begin.

    records   [ a B C d E ]  ─►  [ B C E | a d ]
    spare     [ a d ]             the others wait here for the marked ones
    """
    front = start
    n_back = 0
    for i in range(start, stop):
        if buffers.ranks[i]:
            if front != i:
                copy_record(buffers.records, i, buffers.records, front)
            front += 1
        else:
            copy_record(buffers.records, i, buffers.spare, start + n_back)
            n_back += 1
    for i in range(n_back):
        copy_record(buffers.spare, start + i, buffers.records, front + i)
    return front


def weight_of_impurity(workspace: SearchWorkspace, rows: int, beta: float) -> float:
    """Return beta, or 0 where a partition is nearly a class and only loss counts."""
    if rows <= 4 * workspace.rules.min_rows:
        return 0.0
    return beta


def push(block: Block, depth: int, start: int, stop: int, rows: int, node: int) -> int:
    """Put a segment on top of the stack; return the new depth."""
    block.stack[depth].start = start
    block.stack[depth].stop = stop
    block.stack[depth].rows = rows
    block.stack[depth].node = node
    return depth + 1


def greedy_loss(
    block: Block, workspace: SearchWorkspace, depth: int, floor: int, limit: float
) -> float:
    """Cut the segments above ``floor`` greedily; return what is lost, or ``limit``.

    Only ``block.trial`` is cut.
    """
    least = workspace.rules.min_rows
    total = 0.0
    while depth > floor:
        depth -= 1
        start = block.stack[depth].start
        stop = block.stack[depth].stop
        rows = block.stack[depth].rows
        weight = weight_of_impurity(workspace, rows, block.beta)
        best = -1
        if rows >= 2 * least and stop - start > 1:
            best = find_cuts(block.trial, workspace, start, stop, rows, weight)
        if best < 0:
            worth = worth_between(block.trial, workspace.objective, start, stop, rows)
            total += worth * class_loss(block.trial, workspace, start, stop, -1)
        else:
            left = workspace.found[best].rows
            if weight == 0.0 and left < 2 * least and rows - left < 2 * least:
                # Neither side can be cut again: what they lose is known.
                total += workspace.found[best].loss
            else:
                middle = split_records(block.trial, workspace, best, start, stop)
                depth = push(block, depth, middle, stop, rows - left, -1)
                depth = push(block, depth, start, middle, left, -1)
        if total >= limit:
            return limit
    return total


def next_plan(block: Block, n_columns: int) -> int:
    """Return the column whose plan gains most, or -1."""
    best = -1
    for column in range(n_columns):
        if block.plans[column].rows == 0 or block.plans[column].gain <= 0.0:
            continue
        if best < 0 or block.plans[column].gain > block.plans[best].gain:
            best = column
    return best


def try_cuts(
    block: Block,
    workspace: SearchWorkspace,
    start: int,
    stop: int,
    rows: int,
    depth: int,
) -> int:
    """Finish the best cut of every column greedily; return the column that ends best.

    The cuts are tried by falling gain, so that most of the others can be given up
    early; a tie keeps the one of higher gain.
    """
    n_columns = workspace.n_columns
    for column in range(n_columns):
        block.plans[column] = workspace.found[column]
    lowest = INFINITY
    chosen = -1
    for _ in range(max(2, _MOST_TRIALS // n_columns)):
        best = next_plan(block, n_columns)
        if best < 0:
            break
        for i in range(start, stop):
            copy_record(block.main.records, i, block.trial.records, i)
        workspace.found[best] = block.plans[best]
        left = block.plans[best].rows
        middle = split_records(block.trial, workspace, best, start, stop)
        top = push(block, depth, middle, stop, rows - left, -1)
        top = push(block, top, start, middle, left, -1)
        loss = greedy_loss(block, workspace, top, depth, lowest)
        if loss < lowest:
            lowest = loss
            chosen = best
        block.plans[best].gain = 0.0  # it has had its turn
    workspace.found[chosen] = block.plans[chosen]
    return chosen


def count_columns(workspace: SearchWorkspace) -> None:
    """Count in the funnel what became of each column."""
    for column in range(workspace.n_columns):
        if workspace.totals[column].low == workspace.totals[column].high:
            continue
        workspace.counters[EXAMINED, column] += 1
        if workspace.found[column].rows > 0:
            workspace.counters[CONSIDERED, column] += 1
            if workspace.found[column].gain > 0.0:
                workspace.counters[PROPOSED, column] += 1


def count_choice(workspace: SearchWorkspace, best: int) -> None:
    """Count in the funnel which column is cut."""
    workspace.counters[FINAL, best] += 1
    workspace.counters[ACCEPTED, best] += 1


def bound_side(
    buffers: RecordBuffers, node: Fields, column: int, start: int, stop: int
) -> None:
    """Note which codes of the cut column lead to a node."""
    low = cython.declare(cython.int, buffers.records[start, column])
    high = cython.declare(cython.int, low)
    for i in range(start + 1, stop):
        low = min(low, buffers.records[i, column])
        high = max(high, buffers.records[i, column])
    node.low = low
    node.high = high


def cut_node(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    nodes: Fields,
    node: int,
    n_nodes: int,
    column: int,
) -> int:
    """Carry out a found cut; return where the right side begins.

    A number's sides are two ranges of codes. Of a category the left side is a range,
    and the right side all the rest; a set of frequent values is no range.
    """
    start = nodes[node].start
    stop = nodes[node].stop
    rows = nodes[node].rows
    left = workspace.found[column].rows
    by_rows = workspace.found[column].by_rows
    middle = split_records(buffers, workspace, column, start, stop)
    nodes[node].kind = CUT
    nodes[node].column = column
    nodes[node].first_child = n_nodes
    nodes[node].n_children = 2
    right = n_nodes + 1
    add_node(node_at(nodes, n_nodes), n_nodes, node, start, middle, left)
    add_node(node_at(nodes, right), right, node, middle, stop, rows - left)
    if not by_rows:
        bound_side(buffers, node_at(nodes, n_nodes), column, start, middle)
    if workspace.objective.info[column].kind == RANGE:
        bound_side(buffers, node_at(nodes, right), column, middle, stop)
        nodes[node].cut_code = nodes[n_nodes].high
    return middle


def grow_block(
    block: Block, workspace: SearchWorkspace, n_records: int, all_rows: int
) -> None:
    """Cut the first records of the block into classes: ``block.nodes``."""
    least = workspace.rules.min_rows
    add_node(node_at(block.nodes, 0), 0, -1, 0, n_records, all_rows)
    n_nodes = 1
    depth = push(block, 0, 0, n_records, all_rows, 0)
    while depth:
        depth -= 1
        start = block.stack[depth].start
        stop = block.stack[depth].stop
        rows = block.stack[depth].rows
        node = block.stack[depth].node
        if rows < 2 * least or stop - start == 1:
            continue
        weight = weight_of_impurity(workspace, rows, block.beta)
        best = find_cuts(block.main, workspace, start, stop, rows, weight)
        if block.counts_funnel:
            count_columns(workspace)
        if best < 0:
            continue
        # Below three times the least, neither side can be cut again.
        if block.tries_cuts and rows >= 3 * least:
            best = try_cuts(block, workspace, start, stop, rows, depth)
        if block.counts_funnel:
            count_choice(workspace, best)
        left = workspace.found[best].rows
        middle = cut_node(block.main, workspace, block.nodes, node, n_nodes, best)
        depth = push(block, depth, middle, stop, rows - left, n_nodes + 1)
        depth = push(block, depth, start, middle, left, n_nodes)
        n_nodes += 2
    block.n_nodes = n_nodes
