"""What a class loses in all columns, in the form it is released in."""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    NOTHING_HIGH,
    NOTHING_LOW,
    VALUE_SET,
)
from cython.cimports.core_mondrian.engine.records import row
from cython.cimports.core_mondrian.engine.search.objective import box_loss, worth_of

from core_mondrian.engine.layout import Counts, Floats
from core_mondrian.engine.search.workspace import (
    ObjectiveViews,
    RecordBuffers,
    SearchWorkspace,
)


def worth_between(
    buffers: RecordBuffers,
    objective: ObjectiveViews,
    start: int,
    stop: int,
    rows: int,
) -> int:
    """Return what records are worth that have ``rows`` rows."""
    if not objective.has_worth:
        return rows
    worth = cython.declare(cython.longlong, 0)
    for i in range(start, stop):
        worth += worth_of(objective, row(buffers.records, i), buffers.rows_at)
    return worth


def class_loss(
    buffers: RecordBuffers, workspace: SearchWorkspace, start: int, stop: int, gone: int
) -> float:
    """Return what each row of a class loses, without the record ``gone`` (-1: none)."""
    loss = 0.0
    for column in range(workspace.n_columns):
        if workspace.objective.info[column].kind == VALUE_SET:
            loss += value_set_loss(buffers, workspace, column, start, stop, gone)
            continue
        low = cython.declare(cython.int, NOTHING_LOW)
        high = cython.declare(cython.int, NOTHING_HIGH)
        for i in range(start, stop):
            if i != gone:
                code = buffers.records[i, column]
                low = min(low, code)
                high = max(high, code)
        loss += box_loss(workspace.objective, column, low, high)
    return loss


def value_set_loss(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    start: int,
    stop: int,
    gone: int,
) -> float:
    """Return what each row of a class loses in a column released as a set."""
    offset = workspace.objective.info[column].count_offset
    n_distinct = 0
    for i in range(start, stop):
        code = offset + buffers.records[i, column]
        if i != gone and workspace.side[code] == 0:
            n_distinct += 1
            workspace.side[code] = 1
    for i in range(start, stop):
        workspace.side[offset + buffers.records[i, column]] = 0
    return workspace.objective.info[column].unit * (n_distinct - 1)


def class_losses(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    starts: Counts,
    stops: Counts,
    losses: Floats,
) -> None:
    """Fill what each row of each class loses."""
    with cython.nogil:
        for i in range(starts.shape[0]):
            losses[i] = class_loss(buffers, workspace, starts[i], stops[i], -1)
