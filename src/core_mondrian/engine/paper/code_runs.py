"""Runs: the distinct codes of one column in a partition, rising, with their rows."""

import cython
from cython.cimports.core_mondrian.engine.records import data, low_half
from cython.cimports.core_mondrian.engine.sorting import sort_keys

from core_mondrian.engine.paper.workspace import FunnelWorkspace

if not cython.compiled:
    _BLOCK = 512


def find_box(work: FunnelWorkspace, start: int, stop: int) -> None:
    """Fill ``work.box`` with the lowest and highest code of each column.

    Column by column keeps the bounds in registers, block by block the records in the
    cache.
    """
    for column in range(work.n_columns):
        work.box[column].low = work.records[start, column]
        work.box[column].high = work.records[start, column]
    first = start
    while first < stop:
        last = min(first + _BLOCK, stop)
        for column in range(work.n_columns):
            low = cython.declare(cython.int, work.box[column].low)
            high = cython.declare(cython.int, work.box[column].high)
            for i in range(first, last):
                code = work.records[i, column]
                low = min(low, code)
                high = max(high, code)
            work.box[column].low = low
            work.box[column].high = high
        first = last


def find_runs(work: FunnelWorkspace, by_position: bool) -> None:
    """Fill the runs of the column at hand, from ``work.runs[start]`` on.

        codes of the records    4 2 2 7 4      with 1 3 1 1 2 rows
        runs                    2: 4 rows   4: 3 rows   7: 1 row

    ``by_position`` also leaves the positions in code order in ``keys``, which the
    privacy rules need.
    """
    start = work.start
    span = work.box[work.column].high - work.box[work.column].low + 1
    n = work.stop - start
    if not by_position and span <= 2 * n + 32 and span <= work.histogram.shape[0]:
        runs_by_counting(work)
        return
    if by_position:
        sort_positions(work)
    else:
        sort_codes(work)
    run = start - 1
    last = cython.declare(cython.longlong, -1)
    for i in range(start, work.stop):
        key = work.keys[i]
        code = key >> 32
        rows = cython.declare(cython.longlong, low_half(key))
        if by_position:
            rows = work.records[start + rows, work.rows_at]
        if code != last:
            run += 1
            last = code
            work.runs[run].code = code
            work.runs[run].rows = rows
        else:
            work.runs[run].rows += rows
    work.n_runs = run - start + 1


def sort_codes(work: FunnelWorkspace) -> None:
    """Fill ``keys`` with (code, rows), rising."""
    for i in range(work.start, work.stop):
        code = cython.cast(cython.longlong, work.records[i, work.column])
        rows = cython.cast(cython.longlong, work.records[i, work.rows_at])
        work.keys[i] = (code << 32) | rows
    sort_keys(data(work.keys), work.start, work.stop - 1)


def sort_positions(work: FunnelWorkspace) -> None:
    """Fill ``keys`` with (code, position in the partition), rising."""
    for i in range(work.start, work.stop):
        code = cython.cast(cython.longlong, work.records[i, work.column])
        work.keys[i] = (code << 32) | (i - work.start)
    sort_keys(data(work.keys), work.start, work.stop - 1)


def runs_by_counting(work: FunnelWorkspace) -> None:
    """Fill the runs through a histogram, which is left zeroed."""
    column = work.column
    rows_at = work.rows_at
    low = work.box[column].low
    for i in range(work.start, work.stop):
        code = work.records[i, column] - low
        work.histogram[code] += work.records[i, rows_at]
    run = work.start
    for code in range(work.box[column].high - low + 1):
        rows = work.histogram[code]
        if rows:
            work.runs[run].code = code + low
            work.runs[run].rows = rows
            run += 1
            work.histogram[code] = 0
    work.n_runs = run - work.start
