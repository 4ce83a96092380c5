"""Relax: cut a class between rows that are equal, where no cut of values is allowed."""

import numpy as np

from core_mondrian.kernels.block import bound_side, push
from core_mondrian.kernels.borrow import (
    borrow_aims,
    borrow_finder,
    borrow_models,
    borrow_space,
    borrowed,
)
from core_mondrian.kernels.calls import call_for_int
from core_mondrian.kernels.exact import ROUNDING
from core_mondrian.kernels.groups import copy_record, find_span, group_records
from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import (
    CUT,
    RANGE,
    VALUE_SET,
    Aims,
    Block,
    Codes,
    Finder,
    Floats,
    Models,
    Space,
)
from core_mondrian.kernels.losses import box_loss, worth_between, worth_of
from core_mondrian.kernels.nodes import add_node
from core_mondrian.kernels.rules import (
    add_record,
    admits_sides,
    change_side,
    clear,
)


@kernel
def running_losses(
    space: Space,
    aims: Aims,
    finder: Finder,
    n_active: int,
    first: int,
    last: int,
    step: int,
    losses: Floats,
) -> None:
    """Fill the loss per row of the records from ``first`` up to each, in key order."""
    for i in range(first, last, step):
        losses[i] = 0.0
    for active in range(n_active):
        column = finder.active[active]
        if aims.info[column].kind == VALUE_SET:
            offset = aims.info[column].count_offset
            unit = aims.info[column].unit
            n_distinct = 0
            for i in range(first, last, step):
                code = offset + space.records[space.keys[i], column]
                n_distinct += finder.side[code] == 0
                finder.side[code] = 1
                losses[i] += unit * (n_distinct - 1)
            for i in range(first, last, step):
                finder.side[offset + space.records[space.keys[i], column]] = 0
            continue
        low = space.records[space.keys[first], column]
        high = low
        for i in range(first, last, step):
            code = space.records[space.keys[i], column]
            low = min(low, code)
            high = max(high, code)
            losses[i] += box_loss(aims, column, low, high)


@kernel
def try_place(
    models: Models,
    finder: Finder,
    n_columns: int,
    rows: int,
    loss: float,
    taken: int,
    column: int,
) -> None:
    """Keep a place if it loses less than ``finder.found[n_columns]``.

    ``finder.side_counts`` counts the ``taken`` rows before it.
    """
    best = finder.found[n_columns]
    if loss >= best.loss * (1.0 - ROUNDING):
        return
    if models.has_rules and not admits_sides(
        models, rows, taken, finder.all_counts, finder.side_counts, finder.rest_counts
    ):
        return
    best.loss = loss
    best.rows = taken
    best.first = column


@kernel
def count_here(
    models: Models, finder: Finder, record: Codes, n_columns: int, rows: int
) -> None:
    """Count ``rows`` more rows (or fewer) before the place that is looked at."""
    if models.has_rules:
        change_side(
            finder.side_counts, finder.all_counts, models, record, n_columns, rows
        )


@entry_kernel
def find_best_place(
    space: Space,
    before: Floats,
    after: Floats,
    aims: Aims,
    models: Models,
    finder: Finder,
    start: int,
    stop: int,
    rows: int,
) -> int:
    """Find the best place to cut a segment between two rows; return its column or -1.

    Between the rows of one record both sides show its values, so that only the first
    and the last place that leave enough rows need looking at.
    """
    space = borrow_space(space)
    before = borrowed(before)
    after = borrowed(after)
    aims = borrow_aims(aims)
    models = borrow_models(models)
    finder = borrow_finder(finder)
    records = space.records
    rows_at = records.shape[1] - 2
    n_columns = aims.info.size
    least = models.min_rows
    n_active = 0
    for column in range(n_columns):
        if find_span(space, finder, column, start, stop):
            finder.active[n_active] = column
            n_active += 1
    best = finder.found[n_columns]
    best.first = -1
    best.loss = np.inf
    worth = worth_between(records, aims, start, stop, rows)
    if models.has_rules:
        clear(finder.all_counts, models)
        for i in range(start, stop):
            add_record(finder.all_counts, models, records[i], n_columns)
    for active in range(n_active):
        column = finder.active[active]
        group_records(space, finder, column, start, stop)
        running_losses(space, aims, finder, n_active, start, stop, 1, before)
        running_losses(space, aims, finder, n_active, stop - 1, start - 1, -1, after)
        if active == 0:
            best.loss = worth * before[stop - 1]
        seen = np.int64(0)
        left = np.int64(0)  # what the rows seen are worth
        clear(finder.side_counts, models)
        for i in range(start, stop):
            record = records[space.keys[i]]
            n = np.int64(record[rows_at])
            each = worth_of(aims, record) // n
            if seen >= least and rows - seen >= least:
                loss = left * before[i - 1] + (worth - left) * after[i]
                try_place(models, finder, n_columns, rows, loss, seen, column)
            for taken in (np.int64(least), rows - np.int64(least)):
                if seen < taken < seen + n:
                    more = left + each * (taken - seen)
                    loss = more * before[i] + (worth - more) * after[i]
                    count_here(models, finder, record, n_columns, taken - seen)
                    try_place(models, finder, n_columns, rows, loss, taken, column)
                    count_here(models, finder, record, n_columns, seen - taken)
            count_here(models, finder, record, n_columns, n)
            seen += n
            left += each * n
    return np.int64(best.first)


@kernel
def relax_class(
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    node: int,
    n_nodes: int,
    n_out: int,
) -> tuple[int, int]:
    """Cut one class between rows as often as that pays; write the classes out.

    Returns how many nodes and finished records there are now.
    """
    nodes = block.nodes
    trial = block.trial
    rows_at = trial.records.shape[1] - 2
    n_columns = aims.info.size
    least = models.min_rows
    start = nodes[node].start
    for i in range(start, nodes[node].stop):
        copy_record(block.main.records, i, trial.records, i - start)
    depth = push(block.stack, 0, 0, nodes[node].stop - start, nodes[node].rows, node)
    while depth:
        # The top segment is the last in ``trial``, so that it has room to grow.
        depth -= 1
        start = np.int64(block.stack[depth].start)
        stop = np.int64(block.stack[depth].stop)
        rows = block.stack[depth].rows
        node = block.stack[depth].node
        column = -1
        has_room = n_out + stop < block.room[0]
        if rows >= 2 * least and stop - start > 1 and has_room:
            column = call_for_int(
                finder.find_place,
                (
                    trial,
                    block.before,
                    block.after,
                    aims,
                    models,
                    finder,
                    start,
                    stop,
                    rows,
                ),
            )
        if column < 0:
            nodes[node].start = n_out
            for i in range(start, stop):
                copy_record(trial.records, i, block.out, n_out)
                n_out += 1
            nodes[node].stop = n_out
            continue
        taken = finder.found[n_columns].rows
        # find_place leaves the totals of the segment as they are.
        group_records(trial, finder, column, start, stop)
        n_left = 0
        n_right = 0
        left = taken
        for i in range(start, stop):
            record = trial.keys[i]
            n = trial.records[record, rows_at]
            here = min(left, n)
            left -= here
            if here > 0:
                copy_record(trial.records, record, trial.spare, start + n_left)
                trial.spare[start + n_left, rows_at] = here
                n_left += 1
            if here < n:
                copy_record(trial.records, record, block.out, n_out + n_right)
                block.out[n_out + n_right, rows_at] = n - here
                n_right += 1
        for i in range(n_right):
            copy_record(block.out, n_out + i, trial.records, start + i)
        middle = start + n_right
        for i in range(n_left):
            copy_record(trial.spare, start + i, trial.records, middle + i)
        nodes[node].kind = CUT
        nodes[node].column = column
        nodes[node].first_child = n_nodes
        nodes[node].n_children = 2
        add_node(nodes, n_nodes, node, 0, 0, taken)
        add_node(nodes, n_nodes + 1, node, 0, 0, rows - taken)
        if aims.info[column].kind == RANGE:
            bound_side(trial, nodes, n_nodes, column, middle, middle + n_left)
            bound_side(trial, nodes, n_nodes + 1, column, start, middle)
        depth = push(block.stack, depth, start, middle, rows - taken, n_nodes + 1)
        depth = push(block.stack, depth, middle, middle + n_left, taken, n_nodes)
        n_nodes += 2
    return n_nodes, n_out
