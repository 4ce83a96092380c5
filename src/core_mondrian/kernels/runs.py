"""Runs: the distinct codes of one column in a partition, rising, with their rows."""

import numpy as np

from core_mondrian.kernels.jit import kernel
from core_mondrian.kernels.layout import Counts, Tuples, Work

_BLOCK = 512


@kernel
def sort_short(keys: Counts, first: int, last: int) -> None:
    """Sort ``keys[first]`` to ``keys[last]`` by insertion."""
    for i in range(first + 1, last + 1):
        key = keys[i]
        j = i - 1
        while j >= first and keys[j] > key:
            keys[j + 1] = keys[j]
            j -= 1
        keys[j + 1] = key


@kernel
def sort_keys(keys: Counts, first: int, last: int) -> None:
    """Sort ``keys[first]`` to ``keys[last]``: quicksort, the smaller side first.

    Numba's own sort takes three seconds to compile.
    """
    if last - first < 32:
        sort_short(keys, first, last)
        return
    pending = np.empty(128, dtype=np.int64)
    n_pending = 0
    while True:
        while last - first >= 32:
            middle = (first + last) // 2
            low = min(keys[first], keys[middle])
            high = max(keys[first], keys[middle])
            pivot = max(low, min(high, keys[last]))
            i = first
            j = last
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    key = keys[i]
                    keys[i] = keys[j]
                    keys[j] = key
                    i += 1
                    j -= 1
            # The larger side waits: at most log2(n) sides ever do.
            if j - first < last - i:
                pending[n_pending] = i
                pending[n_pending + 1] = last
                last = j
            else:
                pending[n_pending] = first
                pending[n_pending + 1] = j
                first = i
            n_pending += 2
        sort_short(keys, first, last)
        if n_pending == 0:
            return
        n_pending -= 2
        first = pending[n_pending]
        last = pending[n_pending + 1]


@kernel
def find_box(tuples: Tuples, work: Work, start: int, stop: int) -> int:
    """Fill ``work.low`` and ``work.high`` with the partition's box; count its rows."""
    records = tuples.records
    for column in range(work.box.size):
        work.box[column].low = records[start, column]
        work.box[column].high = records[start, column]
    rows_at = records.shape[1] - 2
    rows = np.int64(0)
    # Column by column keeps the bounds in registers, block by block the records in
    # the cache.
    for first in range(start, stop, _BLOCK):
        last = min(first + _BLOCK, stop)
        for i in range(first, last):
            rows += records[i, rows_at]
        for column in range(work.box.size):
            low = work.box[column].low
            high = work.box[column].high
            for i in range(first, last):
                code = records[i, column]
                low = min(low, code)
                high = max(high, code)
            work.box[column].low = low
            work.box[column].high = high
    return rows


@kernel
def sort_positions(tuples: Tuples, column: int, start: int, stop: int) -> None:
    """Fill ``keys`` with (code, position in the partition), rising."""
    for i in range(start, stop):
        code = np.int64(tuples.records[i, column])
        tuples.keys[i] = (code << 32) | np.int64(i - start)
    sort_keys(tuples.keys, start, stop - 1)


@kernel
def find_runs(
    tuples: Tuples, work: Work, column: int, start: int, stop: int, by_position: bool
) -> int:
    """Fill the partition's runs of ``column`` and return how many there are.

    ``by_position`` also leaves the positions in code order in ``keys``, which the
    privacy rules need.
    """
    low = np.int64(work.box[column].low)
    span = np.int64(work.box[column].high) - low + 1
    n = stop - start
    if not by_position and span <= 2 * n + 32 and span <= work.histogram.size:
        return _runs_by_counting(tuples, work, column, start, stop)
    rows_at = tuples.records.shape[1] - 2
    if by_position:
        sort_positions(tuples, column, start, stop)
    else:
        for i in range(start, stop):
            code = np.int64(tuples.records[i, column])
            tuples.keys[i] = (code << 32) | np.int64(tuples.records[i, rows_at])
        sort_keys(tuples.keys, start, stop - 1)
    run = start - 1
    last = np.int64(-1)
    for i in range(start, stop):
        key = tuples.keys[i]
        code = key >> 32
        if by_position:
            rows = np.int64(tuples.records[start + (key & 0xFFFFFFFF), rows_at])
        else:
            rows = key & 0xFFFFFFFF
        if code != last:
            run += 1
            last = code
            tuples.runs[run].code = code
            tuples.runs[run].rows = rows
        else:
            tuples.runs[run].rows += rows
    return run - start + 1


@kernel
def _runs_by_counting(
    tuples: Tuples, work: Work, column: int, start: int, stop: int
) -> int:
    """Fill the runs through a histogram, which is left zeroed."""
    low = work.box[column].low
    rows_at = tuples.records.shape[1] - 2
    for i in range(start, stop):
        code = tuples.records[i, column] - low
        work.histogram[code] += tuples.records[i, rows_at]
    run = start
    for code in range(work.box[column].high - low + 1):
        rows = work.histogram[code]
        if rows:
            tuples.runs[run].code = code + low
            tuples.runs[run].rows = rows
            run += 1
            work.histogram[code] = 0
    return run - start
