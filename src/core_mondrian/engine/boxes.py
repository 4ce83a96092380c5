"""What a class looks like: its box, its median, its lowest hierarchy node."""

import cython
import numpy as np
from cython.cimports.core_mondrian.engine.columns import (
    ColumnViews,
    common_ancestor,
    is_blank,
)
from cython.cimports.core_mondrian.engine.records import data, low_half
from cython.cimports.core_mondrian.engine.sorting import sort_keys

from core_mondrian.engine.layout import Codes, Columns, Counts, Tuples


def find_boxes(
    tuples: Tuples, starts: Counts, stops: Counts, low: Codes, high: Codes
) -> None:
    """Fill the smallest and largest code of each class (axis 0) and column (axis 1)."""
    records = cython.declare(cython.int[:, ::1], tuples.records)
    with cython.nogil:
        for leaf in range(starts.shape[0]):
            find_box(records, starts[leaf], stops[leaf], low, high, leaf)


def find_box(
    records: Codes, start: int, stop: int, low: Codes, high: Codes, leaf: int
) -> None:
    """Fill the box of one class."""
    for column in range(low.shape[1]):
        low[leaf, column] = records[start, column]
        high[leaf, column] = records[start, column]
    for i in range(start + 1, stop):
        for column in range(low.shape[1]):
            code = records[i, column]
            low[leaf, column] = min(low[leaf, column], code)
            high[leaf, column] = max(high[leaf, column], code)


def find_medians(
    tuples: Tuples, column: int, starts: Counts, stops: Counts, medians: Codes
) -> None:
    """Fill the lower median code of each class."""
    records = cython.declare(cython.int[:, ::1], tuples.records)
    # Of its own: columns may be looked at on several threads.
    keys = cython.declare(cython.longlong[::1], np.empty_like(tuples.keys))
    with cython.nogil:
        for leaf in range(starts.shape[0]):
            medians[leaf] = lower_median(
                records, keys, column, starts[leaf], stops[leaf]
            )


def lower_median(
    records: Codes, keys: Counts, column: int, start: int, stop: int
) -> int:
    """Return the lower median code of one class; ``keys`` are sorted (code, rows)."""
    rows_at = records.shape[1] - 2
    rows = cython.declare(cython.longlong, 0)
    for i in range(start, stop):
        code = cython.cast(cython.longlong, records[i, column])
        n = cython.cast(cython.longlong, records[i, rows_at])
        keys[i] = (code << 32) | n
        rows += n
    sort_keys(data(keys), start, stop - 1)
    i = start
    seen = low_half(keys[i])
    while seen <= (rows - 1) // 2:
        i += 1
        seen += low_half(keys[i])
    return keys[i] >> 32


def find_nodes(
    columns: Columns, column: int, low: Codes, high: Codes, nodes: Codes
) -> None:
    """Fill the lowest hierarchy node that covers each class; -1: blank."""
    views = cython.declare(ColumnViews, ColumnViews(columns))
    with cython.nogil:
        missing = views.info[column].n_values
        for leaf in range(nodes.shape[0]):
            if low[leaf] == missing or is_blank(views, column, low[leaf], high[leaf]):
                nodes[leaf] = -1
            else:
                nodes[leaf] = common_ancestor(views, column, low[leaf], high[leaf])
