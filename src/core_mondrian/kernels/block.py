"""Cut a block: a partition small enough to try out cuts before one is taken."""

import numpy as np

from core_mondrian.kernels.borrow import borrow_finder, borrow_space
from core_mondrian.kernels.calls import call_for_int
from core_mondrian.kernels.exact import find_cuts
from core_mondrian.kernels.groups import (
    copy_record,
    find_span,
    group_records,
    order_by_rows,
)
from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import (
    ACCEPTED,
    CONSIDERED,
    CUT,
    EXAMINED,
    FINAL,
    PROPOSED,
    RANGE,
    Aims,
    Block,
    Fields,
    Finder,
    Models,
    Space,
)
from core_mondrian.kernels.losses import class_loss, worth_between
from core_mondrian.kernels.nodes import add_node

# Cuts tried out times columns: the more columns, the dearer each trial.
_MOST_TRIALS = 64


@entry_kernel
def split_found(
    space: Space, finder: Finder, column: int, start: int, stop: int
) -> int:
    """Move the left side of a found cut to the front; return where the right begins.

    Both sides keep their order.
    """
    space = borrow_space(space)
    finder = borrow_finder(finder)
    find_span(space, finder, column, start, stop)
    n_groups = group_records(space, finder, column, start, stop)
    if finder.found[column].by_rows:
        order_by_rows(space, start, n_groups)
    first = start + finder.found[column].first
    last = start + finder.found[column].last
    for group in range(start, start + n_groups):
        begin = space.groups[group].first
        is_left = first <= group < last
        for i in range(begin, begin + space.groups[group].n):
            space.ranks[space.keys[i]] = is_left
    front = start
    n_back = 0
    for i in range(start, stop):
        if space.ranks[i]:
            if front != i:
                copy_record(space.records, i, space.records, front)
            front += 1
        else:
            copy_record(space.records, i, space.spare, start + n_back)
            n_back += 1
    for i in range(n_back):
        copy_record(space.spare, start + i, space.records, front + i)
    return front


@kernel
def split_records(
    space: Space, finder: Finder, column: int, start: int, stop: int
) -> int:
    """Call ``split_found``."""
    return call_for_int(finder.split, (space, finder, column, start, stop))


@kernel
def weight_of_impurity(models: Models, rows: int, beta: float) -> float:
    """Return beta, or 0 where a partition is nearly a class and only loss counts."""
    if rows <= 4 * models.min_rows:
        return 0.0
    return beta


@kernel
def push(stack: Fields, depth: int, start: int, stop: int, rows: int, node: int) -> int:
    """Put a segment on top of the stack; return the new depth."""
    stack[depth].start = start
    stack[depth].stop = stop
    stack[depth].rows = rows
    stack[depth].node = node
    return depth + 1


@kernel
def greedy_loss(
    space: Space,
    aims: Aims,
    models: Models,
    finder: Finder,
    stack: Fields,
    depth: int,
    floor: int,
    beta: float,
    limit: float,
) -> float:
    """Cut the segments above ``floor`` greedily; return what is lost, or ``limit``."""
    least = models.min_rows
    total = 0.0
    while depth > floor:
        depth -= 1
        start = stack[depth].start
        stop = stack[depth].stop
        rows = stack[depth].rows
        weight = weight_of_impurity(models, rows, beta)
        best = -1
        if rows >= 2 * least and stop - start > 1:
            best = find_cuts(space, aims, models, finder, start, stop, rows, weight)
        if best < 0:
            worth = worth_between(space.records, aims, start, stop, rows)
            total += worth * class_loss(space.records, aims, finder, start, stop, -1)
        else:
            left = finder.found[best].rows
            if weight == 0.0 and left < 2 * least and rows - left < 2 * least:
                # Neither side can be cut again: what they lose is known.
                total += finder.found[best].loss
            else:
                middle = split_records(space, finder, best, start, stop)
                depth = push(stack, depth, middle, stop, rows - left, -1)
                depth = push(stack, depth, start, middle, left, -1)
        if total >= limit:
            return limit
    return total


@kernel
def copy_found(source: Fields, i: int, target: Fields, j: int) -> None:
    """Write ``source[i]`` over ``target[j]``."""
    target[j].loss = source[i].loss
    target[j].gain = source[i].gain
    target[j].rows = source[i].rows
    target[j].side = source[i].side
    target[j].first = source[i].first
    target[j].last = source[i].last
    target[j].by_rows = source[i].by_rows


@kernel
def next_plan(plans: Fields, n_columns: int) -> int:
    """Return the column whose plan gains most, or -1."""
    best = -1
    for column in range(n_columns):
        if plans[column].rows == 0 or plans[column].gain <= 0.0:
            continue
        if best < 0 or plans[column].gain > plans[best].gain:
            best = column
    return best


@kernel
def roll_out(
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    start: int,
    stop: int,
    rows: int,
    depth: int,
    beta: float,
) -> int:
    """Finish the best cut of every column greedily; return the column that ends best.

    The cuts are tried by falling gain, so that most of the others can be given up
    early; a tie keeps the one of higher gain.
    """
    n_columns = aims.info.size
    for column in range(n_columns):
        copy_found(finder.found, column, block.plans, column)
    lowest = np.inf
    chosen = -1
    for _ in range(max(2, _MOST_TRIALS // n_columns)):
        best = next_plan(block.plans, n_columns)
        if best < 0:
            break
        for i in range(start, stop):
            copy_record(block.main.records, i, block.trial.records, i)
        copy_found(block.plans, best, finder.found, best)
        left = block.plans[best].rows
        middle = split_records(block.trial, finder, best, start, stop)
        top = push(block.stack, depth, middle, stop, rows - left, -1)
        top = push(block.stack, top, start, middle, left, -1)
        loss = greedy_loss(
            block.trial, aims, models, finder, block.stack, top, depth, beta, lowest
        )
        if loss < lowest:
            lowest = loss
            chosen = best
        block.plans[best].gain = 0.0  # it has had its turn
    copy_found(block.plans, chosen, finder.found, chosen)
    return chosen


@kernel
def count_columns(finder: Finder) -> None:
    """Count in the funnel what became of each column."""
    for column in range(finder.active.size):
        if finder.totals[column].low == finder.totals[column].high:
            continue
        finder.funnel[EXAMINED, column] += 1
        finder.funnel[CONSIDERED, column] += finder.found[column].rows > 0
        is_proposed = finder.found[column].rows > 0 and finder.found[column].gain > 0.0
        finder.funnel[PROPOSED, column] += is_proposed


@kernel
def bound_side(
    space: Space, nodes: Fields, node: int, column: int, start: int, stop: int
) -> None:
    """Note which codes of the cut column lead to a node."""
    low = space.records[start, column]
    high = low
    for i in range(start + 1, stop):
        low = min(low, space.records[i, column])
        high = max(high, space.records[i, column])
    nodes[node].low = low
    nodes[node].high = high


@kernel
def cut_node(
    space: Space,
    aims: Aims,
    finder: Finder,
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
    left = finder.found[column].rows
    by_rows = finder.found[column].by_rows
    middle = split_records(space, finder, column, start, stop)
    nodes[node].kind = CUT
    nodes[node].column = column
    nodes[node].first_child = n_nodes
    nodes[node].n_children = 2
    add_node(nodes, n_nodes, node, start, middle, left)
    add_node(nodes, n_nodes + 1, node, middle, stop, rows - left)
    if not by_rows:
        bound_side(space, nodes, n_nodes, column, start, middle)
    if aims.info[column].kind == RANGE:
        bound_side(space, nodes, n_nodes + 1, column, middle, stop)
        nodes[node].at = nodes[n_nodes].high
    return middle


@kernel
def grow_block(
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    n_records: int,
    all_rows: int,
    beta: float,
    rolls_out: bool,
    counts: bool,
) -> int:
    """Cut the block's records into classes; return how many nodes that makes."""
    least = models.min_rows
    nodes = block.nodes
    add_node(nodes, 0, -1, 0, n_records, all_rows)
    n_nodes = 1
    depth = push(block.stack, 0, 0, n_records, all_rows, 0)
    while depth:
        depth -= 1
        start = block.stack[depth].start
        stop = block.stack[depth].stop
        rows = block.stack[depth].rows
        node = block.stack[depth].node
        if rows < 2 * least or stop - start == 1:
            continue
        weight = weight_of_impurity(models, rows, beta)
        best = find_cuts(block.main, aims, models, finder, start, stop, rows, weight)
        if counts:
            count_columns(finder)
        if best < 0:
            continue
        # Below three times the least, neither side can be cut again.
        if rolls_out and rows >= 3 * least:
            best = roll_out(block, aims, models, finder, start, stop, rows, depth, beta)
        if counts:
            finder.funnel[FINAL, best] += 1
            finder.funnel[ACCEPTED, best] += 1
        left = finder.found[best].rows
        middle = cut_node(block.main, aims, finder, nodes, node, n_nodes, best)
        depth = push(block.stack, depth, middle, stop, rows - left, n_nodes + 1)
        depth = push(block.stack, depth, start, middle, left, n_nodes)
        n_nodes += 2
    return n_nodes
