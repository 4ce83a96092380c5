"""Cut a class between rows that are equal, where no cut of values is allowed."""

import cython
from cython.cimports.core_mondrian.engine.layout import CUT, RANGE, VALUE_SET
from cython.cimports.core_mondrian.engine.model_rules import (
    add_record,
    admits_sides,
    change_side,
    clear,
)
from cython.cimports.core_mondrian.engine.nodes import add_node
from cython.cimports.core_mondrian.engine.records import copy_record, node_at, row
from cython.cimports.core_mondrian.engine.search.blocks import bound_side, push
from cython.cimports.core_mondrian.engine.search.class_loss import worth_between
from cython.cimports.core_mondrian.engine.search.code_groups import (
    find_span,
    group_records,
)
from cython.cimports.core_mondrian.engine.search.exact_cuts import ROUNDING
from cython.cimports.core_mondrian.engine.search.objective import box_loss, worth_of
from cython.cimports.libc.math import INFINITY

from core_mondrian.engine.layout import Codes, Floats
from core_mondrian.engine.search.workspace import Block, SearchWorkspace


def split_ties(block: Block, workspace: SearchWorkspace, node: int) -> None:
    """Cut one class between rows as often as that pays; write the classes out.

    The top segment of the stack is the last in ``trial``, so that it has room to grow:

        trial   [ waits | waits | top segment | room ]
        out     [ finished classes | scratch ]
                                   └ block.n_records
    """
    least = workspace.rules.min_rows
    begin = block.nodes[node].start
    for i in range(begin, block.nodes[node].stop):
        copy_record(block.main.records, i, block.trial.records, i - begin)
    n = block.nodes[node].stop - begin
    depth = push(block, 0, 0, n, block.nodes[node].rows, node)
    while depth:
        depth -= 1
        start = block.stack[depth].start
        stop = block.stack[depth].stop
        rows = block.stack[depth].rows
        column = -1
        if (
            rows >= 2 * least
            and stop - start > 1
            and block.n_records + stop < block.room
        ):
            column = find_place(block, workspace, start, stop, rows)
        if column < 0:
            write_class(block, block.stack[depth].node, start, stop)
        else:
            depth = cut_segment(block, workspace, depth, column)


def find_place(
    block: Block, workspace: SearchWorkspace, start: int, stop: int, rows: int
) -> int:
    """Find the best place to cut a segment between two rows; return its column or -1.

    How many rows are before it is in ``found[n_columns]``.
    """
    best = workspace.n_columns
    workspace.found[best].first = -1
    workspace.found[best].loss = INFINITY
    workspace.rows = rows
    workspace.worth = worth_between(block.trial, workspace.objective, start, stop, rows)
    find_active(block, workspace, start, stop)
    if workspace.rules.has_rules:
        clear(workspace.all_counts)
        for i in range(start, stop):
            record = row(block.trial.records, i)
            add_record(workspace.all_counts, workspace.rules, record)
    for active in range(workspace.n_active):
        column = workspace.active[active]
        group_records(block.trial, workspace, column, start, stop)
        running_losses(block, workspace, start, stop, 1, block.before)
        running_losses(block, workspace, stop - 1, start - 1, -1, block.after)
        if active == 0:
            workspace.found[best].loss = workspace.worth * block.before[stop - 1]
        try_places(block, workspace, column, start, stop)
    return workspace.found[best].first


def find_active(
    block: Block, workspace: SearchWorkspace, start: int, stop: int
) -> None:
    """Fill the columns in which a segment is not constant."""
    n_active = 0
    for column in range(workspace.n_columns):
        if find_span(block.trial, workspace, column, start, stop):
            workspace.active[n_active] = column
            n_active += 1
    workspace.n_active = n_active


def running_losses(
    block: Block,
    workspace: SearchWorkspace,
    first: int,
    last: int,
    step: int,
    losses: Floats,
) -> None:
    """Fill the loss per row of the records from ``first`` up to each, in key order."""
    i = first
    while i != last:
        losses[i] = 0.0
        i += step
    for active in range(workspace.n_active):
        column = workspace.active[active]
        if workspace.objective.info[column].kind == VALUE_SET:
            unit = workspace.objective.info[column].unit
            n_distinct = 0
            i = first
            while i != last:
                code = block.trial.records[block.trial.keys[i], column]
                if is_new(workspace, column, code):
                    n_distinct += 1
                losses[i] += unit * (n_distinct - 1)
                i += step
            forget_codes(
                block, workspace, column, min(first, last + 1), max(first + 1, last)
            )
            continue
        low = cython.declare(
            cython.int, block.trial.records[block.trial.keys[first], column]
        )
        high = cython.declare(cython.int, low)
        i = first
        while i != last:
            code = block.trial.records[block.trial.keys[i], column]
            low = min(low, code)
            high = max(high, code)
            losses[i] += box_loss(workspace.objective, column, low, high)
            i += step


def is_new(workspace: SearchWorkspace, column: int, code: int) -> bool:
    """Note a code in ``side``; return whether it was not yet there."""
    place = workspace.objective.info[column].count_offset + code
    if workspace.side[place] != 0:
        return False
    workspace.side[place] = 1
    return True


def forget_codes(
    block: Block, workspace: SearchWorkspace, column: int, start: int, stop: int
) -> None:
    """Set ``side`` back to 0 for the codes of some records, in key order."""
    offset = workspace.objective.info[column].count_offset
    for i in range(start, stop):
        workspace.side[offset + block.trial.records[block.trial.keys[i], column]] = 0


def try_places(
    block: Block, workspace: SearchWorkspace, column: int, start: int, stop: int
) -> None:
    """Try the places between two rows, by rising code of one column.

    Between the rows of one record both sides show its values, so that only the first
    and the last place that leave enough rows need looking at.
    """
    least = workspace.rules.min_rows
    rows = workspace.rows
    worth = workspace.worth
    rows_at = block.trial.rows_at
    seen = cython.declare(cython.longlong, 0)
    left = cython.declare(cython.longlong, 0)  # what the rows seen are worth
    if workspace.rules.has_rules:
        clear(workspace.side_counts)
    for i in range(start, stop):
        record = row(block.trial.records, block.trial.keys[i])
        n = cython.cast(cython.longlong, record[rows_at])
        each = worth_of(workspace.objective, record, rows_at) // n
        if seen >= least and rows - seen >= least:
            loss = left * block.before[i - 1] + (worth - left) * block.after[i]
            try_place(workspace, loss, seen, column)
        for end in range(2):
            taken = least if end == 0 else rows - least
            if seen < taken < seen + n:
                more = left + each * (taken - seen)
                loss = more * block.before[i] + (worth - more) * block.after[i]
                count_here(workspace, record, taken - seen)
                try_place(workspace, loss, taken, column)
                count_here(workspace, record, seen - taken)
        count_here(workspace, record, n)
        seen += n
        left += each * n


def try_place(workspace: SearchWorkspace, loss: float, taken: int, column: int) -> None:
    """Keep a place if it loses less than ``found[n_columns]``.

    ``workspace.side_counts`` counts the ``taken`` rows before it.
    """
    best = workspace.n_columns
    if loss >= workspace.found[best].loss * (1.0 - ROUNDING):
        return
    if workspace.rules.has_rules and not admits_sides(
        workspace.rules,
        workspace.rows,
        taken,
        workspace.all_counts,
        workspace.side_counts,
        workspace.rest_counts,
    ):
        return
    workspace.found[best].loss = loss
    workspace.found[best].rows = taken
    workspace.found[best].first = column


def count_here(workspace: SearchWorkspace, record: Codes, rows: int) -> None:
    """Count ``rows`` more rows (or fewer) before the place that is looked at."""
    if workspace.rules.has_rules:
        change_side(
            workspace.side_counts, workspace.all_counts, workspace.rules, record, rows
        )


def write_class(block: Block, node: int, start: int, stop: int) -> None:
    """Write a segment of ``trial`` out as a finished class."""
    n_out = block.n_records
    block.nodes[node].start = n_out
    for i in range(start, stop):
        copy_record(block.trial.records, i, block.out, n_out)
        n_out += 1
    block.nodes[node].stop = n_out
    block.n_records = n_out


def cut_segment(
    block: Block, workspace: SearchWorkspace, depth: int, column: int
) -> int:
    """Cut the segment above ``depth`` at the place that was found; return the depth.

    ``find_place`` leaves the totals of the segment as they are.
    """
    start = block.stack[depth].start
    stop = block.stack[depth].stop
    rows = block.stack[depth].rows
    node = block.stack[depth].node
    taken = workspace.found[workspace.n_columns].rows
    group_records(block.trial, workspace, column, start, stop)
    middle, end = divide_records(block, start, stop, taken)
    left = cython.declare(cython.int, block.n_nodes)
    right = cython.declare(cython.int, left + 1)
    block.n_nodes += 2
    block.nodes[node].kind = CUT
    block.nodes[node].column = column
    block.nodes[node].first_child = left
    block.nodes[node].n_children = 2
    add_node(node_at(block.nodes, left), left, node, 0, 0, taken)
    add_node(node_at(block.nodes, right), right, node, 0, 0, rows - taken)
    if workspace.objective.info[column].kind == RANGE:
        bound_side(block.trial, node_at(block.nodes, left), column, middle, end)
        bound_side(block.trial, node_at(block.nodes, right), column, start, middle)
    depth = push(block, depth, start, middle, rows - taken, right)
    return push(block, depth, middle, end, taken, left)


def divide_records(block: Block, start: int, stop: int, taken: int) -> tuple[int, int]:
    """Move the first ``taken`` rows, in key order, behind the others.

    The record with the last of them may have rows on both sides, and is there twice:

        keys    [ a b c d ]  ─►  trial [ c d | a b c ]
                  taken ┘                    middle    end
    """
    rows_at = block.trial.rows_at
    first_out = block.n_records
    n_left = 0
    n_right = 0
    left = taken
    for i in range(start, stop):
        record = block.trial.keys[i]
        n = cython.cast(cython.longlong, block.trial.records[record, rows_at])
        here = min(left, n)
        left -= here
        if here > 0:
            copy_record(block.trial.records, record, block.trial.spare, start + n_left)
            block.trial.spare[start + n_left, rows_at] = here
            n_left += 1
        if here < n:
            copy_record(block.trial.records, record, block.out, first_out + n_right)
            block.out[first_out + n_right, rows_at] = n - here
            n_right += 1
    for i in range(n_right):
        copy_record(block.out, first_out + i, block.trial.records, start + i)
    middle = start + n_right
    for i in range(n_left):
        copy_record(block.trial.spare, start + i, block.trial.records, middle + i)
    return middle, middle + n_left
