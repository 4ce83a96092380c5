"""Groups: the records of a partition by their code in one column.

What a cut needs to know of another column is gathered group by group: the pairs of
codes, the lowest and highest of them, and for numbers the sums of their levels. Of a
partition that is only counted these come from whoever counted it.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    NOTHING_HIGH,
    NOTHING_LOW,
    RANGE,
    VALUE_SET,
)
from cython.cimports.core_mondrian.engine.records import data, low_half, row
from cython.cimports.core_mondrian.engine.search.objective import worth_of
from cython.cimports.core_mondrian.engine.sorting import sort_keys

from core_mondrian.engine.search.workspace import RecordBuffers, SearchWorkspace


def find_span(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    start: int,
    stop: int,
) -> bool:
    """Note the lowest and highest code of a column; return whether they differ."""
    low = cython.declare(cython.int, buffers.records[start, column])
    high = cython.declare(cython.int, low)
    for i in range(start + 1, stop):
        code = buffers.records[i, column]
        low = min(low, code)
        high = max(high, code)
    workspace.totals[column].low = low
    workspace.totals[column].high = high
    return low != high


def group_records(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    start: int,
    stop: int,
) -> int:
    """Fill the partition's groups of ``column`` by rising code; count them.

    ``keys`` holds the records' positions, group after group:

        keys     [ 7 2 9 | 4 | 1 8 ... ]
        groups     n = 3   1   ...          ``first`` is where a group begins in keys
    """
    n = stop - start
    span = workspace.totals[column].high - workspace.totals[column].low + 1
    if n > 24 and span <= 2 * n + 32 and span < workspace.histogram.shape[0]:
        count_positions(buffers, workspace, column, start, stop)
    else:
        sort_positions(buffers, workspace, column, start, stop)
    rows_at = buffers.rows_at
    group = -1
    last = -1
    for i in range(start, stop):
        record = buffers.keys[i]
        code = buffers.records[record, column]
        rows = buffers.records[record, rows_at]
        if code != last:
            group += 1
            last = code
            workspace.groups[group].code = code
            workspace.groups[group].first = i
            workspace.groups[group].n = 1
            workspace.groups[group].rows = rows
        else:
            workspace.groups[group].n += 1
            workspace.groups[group].rows += rows
    return group + 1


def count_positions(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    start: int,
    stop: int,
) -> None:
    """Fill ``keys`` with positions by code: count codes, then put each in its place.

    histogram   counts ─► place of each code's first ─► of its next ─► 0
    """
    low = workspace.totals[column].low
    span = workspace.totals[column].high - low + 1
    for i in range(start, stop):
        workspace.histogram[buffers.records[i, column] - low] += 1
    place = cython.declare(cython.longlong, start)
    for code in range(span):
        size = workspace.histogram[code]
        workspace.histogram[code] = place
        place += size
    for i in range(start, stop):
        code = buffers.records[i, column] - low
        buffers.keys[workspace.histogram[code]] = i
        workspace.histogram[code] += 1
    for code in range(span):
        workspace.histogram[code] = 0


def sort_positions(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    start: int,
    stop: int,
) -> None:
    """Fill ``keys`` with positions by code: sort them, the code in the upper half.

    Many are put into buckets of neighbouring codes first, each of which is sorted:

        codes    0 .. 7 | 8 .. 15 | 16 .. 23 | ...     with a shift of 3
    """
    if stop - start <= 24:
        for i in range(start, stop):
            code = cython.cast(cython.longlong, buffers.records[i, column])
            buffers.keys[i] = (code << 32) | i
        sort_keys(data(buffers.keys), start, stop - 1)
    else:
        top = workspace.totals[column].high - workspace.totals[column].low
        n_buckets = min(2 * (stop - start), workspace.histogram.shape[0])
        shift = cython.declare(cython.int, 0)
        while (top >> shift) >= n_buckets:
            shift += 1
        fill_buckets(buffers, workspace, column, start, stop, shift)
        sort_buckets(buffers, workspace, top >> shift, start)
    for i in range(start, stop):
        buffers.keys[i] = low_half(buffers.keys[i])


def fill_buckets(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    start: int,
    stop: int,
    shift: int,
) -> None:
    """Fill ``keys`` bucket after bucket; ``histogram`` says where each one ends."""
    low = workspace.totals[column].low
    top = (workspace.totals[column].high - low) >> shift
    for i in range(start, stop):
        workspace.histogram[(buffers.records[i, column] - low) >> shift] += 1
    place = cython.declare(cython.longlong, start)
    for bucket in range(top + 1):
        size = workspace.histogram[bucket]
        workspace.histogram[bucket] = place
        place += size
    for i in range(start, stop):
        code = cython.cast(cython.longlong, buffers.records[i, column])
        bucket = (code - low) >> shift
        buffers.keys[workspace.histogram[bucket]] = (code << 32) | i
        workspace.histogram[bucket] += 1


def sort_buckets(
    buffers: RecordBuffers, workspace: SearchWorkspace, top: int, start: int
) -> None:
    """Sort the keys of each bucket; ``histogram`` is 0 again."""
    first = cython.declare(cython.longlong, start)
    for bucket in range(top + 1):
        end = workspace.histogram[bucket]
        workspace.histogram[bucket] = 0
        if end - first > 1:
            sort_keys(data(buffers.keys), first, end - 1)
        first = end


def weigh_groups(
    buffers: RecordBuffers, workspace: SearchWorkspace, n_groups: int
) -> None:
    """Fill what the rows of each group are worth."""
    for group in range(n_groups):
        if not workspace.objective.has_worth:
            workspace.groups[group].worth = workspace.groups[group].rows
            continue
        worth = cython.declare(cython.longlong, 0)
        first = workspace.groups[group].first
        for i in range(first, first + workspace.groups[group].n):
            record = row(buffers.records, buffers.keys[i])
            worth += worth_of(workspace.objective, record, buffers.rows_at)
        workspace.groups[group].worth = worth


def order_by_rows(
    buffers: RecordBuffers, workspace: SearchWorkspace, start: int, n_groups: int
) -> None:
    """Sort the groups by falling rows, ties by code."""
    for group in range(n_groups):
        rest = NOTHING_LOW - workspace.groups[group].rows
        buffers.ranks[start + group] = (rest << 32) | group
        workspace.ordered[group] = workspace.groups[group]
    sort_keys(data(buffers.ranks), start, start + n_groups - 1)
    for group in range(n_groups):
        place = low_half(buffers.ranks[start + group])
        workspace.groups[group] = workspace.ordered[place]


def load_pairs(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int, other: int
) -> None:
    """Fill the codes of ``other`` in each group of ``column``, and what they are worth.

    Where two columns have few values, equal pairs are counted first: then what follows
    costs as much as there are pairs, however many records there are.

        codes   [ 3 5 5 | 0 | 3 4 ... ]
        worth   [ 2 1 1 | 9 | 1 1 ... ]     from ``begin`` to ``end`` of each group
    """
    if column == other:
        load_own_codes(buffers, workspace)
        return
    span = cython.declare(cython.longlong, workspace.totals[other].high)
    span -= workspace.totals[other].low - 1
    own_span = workspace.totals[column].high - workspace.totals[column].low + 1
    n_pairs = span * own_span
    n_records = workspace.stop - workspace.start
    if n_pairs > n_records or n_pairs > workspace.joint.shape[0]:
        load_records(buffers, workspace, other)
    else:
        load_joint_counts(buffers, workspace, column, other)


def load_own_codes(buffers: RecordBuffers, workspace: SearchWorkspace) -> None:
    """Fill one pair for each group: its own code."""
    start = workspace.start
    for group in range(workspace.n_groups):
        workspace.groups[group].begin = start + group
        workspace.groups[group].end = start + group + 1
        buffers.codes[start + group] = workspace.groups[group].code
        buffers.worth[start + group] = workspace.groups[group].worth


def load_records(
    buffers: RecordBuffers, workspace: SearchWorkspace, other: int
) -> None:
    """Fill one pair for each record."""
    rows_at = buffers.rows_at
    for i in range(workspace.start, workspace.stop):
        record = row(buffers.records, buffers.keys[i])
        buffers.codes[i] = record[other]
        buffers.worth[i] = worth_of(workspace.objective, record, rows_at)
    for group in range(workspace.n_groups):
        first = workspace.groups[group].first
        workspace.groups[group].begin = first
        workspace.groups[group].end = first + workspace.groups[group].n


def load_joint_counts(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int, other: int
) -> None:
    """Fill the pairs of codes that there are, counted in ``joint``."""
    rows_at = buffers.rows_at
    low = workspace.totals[column].low
    other_low = workspace.totals[other].low
    span = workspace.totals[other].high - other_low + 1
    for i in range(workspace.start, workspace.stop):
        record = row(buffers.records, i)
        pair = span * (record[column] - low) + record[other] - other_low
        workspace.joint[pair] += worth_of(workspace.objective, record, rows_at)
    place = workspace.start
    for group in range(workspace.n_groups):
        workspace.groups[group].begin = place
        first = span * (workspace.groups[group].code - low)
        for code in range(span):
            if workspace.joint[first + code] > 0:
                buffers.codes[place] = other_low + code
                buffers.worth[place] = workspace.joint[first + code]
                workspace.joint[first + code] = 0
                place += 1
        workspace.groups[group].end = place


def describe_groups(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int, other: int
) -> None:
    """Fill what each group of ``column`` holds of ``other``: pairs, box and sums."""
    load_pairs(buffers, workspace, column, other)
    kind = workspace.objective.info[other].kind
    if kind == VALUE_SET:
        return
    if kind == RANGE and workspace.beta > 0.0:
        sum_groups(buffers, workspace, other)
    else:
        box_groups(buffers, workspace)


def box_groups(buffers: RecordBuffers, workspace: SearchWorkspace) -> None:
    """Fill the lowest and highest of each group's loaded codes."""
    for group in range(workspace.n_groups):
        low = cython.declare(cython.int, NOTHING_LOW)
        high = cython.declare(cython.int, NOTHING_HIGH)
        for i in range(workspace.groups[group].begin, workspace.groups[group].end):
            low = min(low, buffers.codes[i])
            high = max(high, buffers.codes[i])
        workspace.groups[group].low = low
        workspace.groups[group].high = high


def sum_groups(buffers: RecordBuffers, workspace: SearchWorkspace, column: int) -> None:
    """Fill the lowest and highest of each group's codes, and the sums of their levels.

    ``column`` is the number whose codes are loaded.
    """
    offset = workspace.objective.info[column].value_offset
    for group in range(workspace.n_groups):
        low = cython.declare(cython.int, NOTHING_LOW)
        high = cython.declare(cython.int, NOTHING_HIGH)
        levels = cython.declare(cython.longlong, 0)
        squares = cython.declare(cython.longlong, 0)
        for i in range(workspace.groups[group].begin, workspace.groups[group].end):
            code = buffers.codes[i]
            low = min(low, code)
            high = max(high, code)
            level = workspace.objective.levels[offset + code]
            product = level * buffers.worth[i]
            levels += product
            squares += level * product
        workspace.groups[group].low = low
        workspace.groups[group].high = high
        workspace.levels[group] = levels
        workspace.squares[group] = squares


def bound_groups(workspace: SearchWorkspace, n_groups: int) -> None:
    """Fill the box of all groups before each one, and of all from it on."""
    low_before = cython.declare(cython.int, NOTHING_LOW)
    high_before = cython.declare(cython.int, NOTHING_HIGH)
    for group in range(n_groups):
        workspace.groups[group].low_before = low_before
        workspace.groups[group].high_before = high_before
        low_before = min(low_before, workspace.groups[group].low)
        high_before = max(high_before, workspace.groups[group].high)
    low_after = cython.declare(cython.int, NOTHING_LOW)
    high_after = cython.declare(cython.int, NOTHING_HIGH)
    for group in range(n_groups - 1, -1, -1):
        low_after = min(low_after, workspace.groups[group].low)
        high_after = max(high_after, workspace.groups[group].high)
        workspace.groups[group].low_after = low_after
        workspace.groups[group].high_after = high_after
