"""Sort 64-bit keys in place: quicksort, and insertion where there are few."""

import cython

from core_mondrian.engine.layout import Counts


def sort_short(keys: Counts, first: int, last: int) -> None:
    """Sort ``keys[first]`` to ``keys[last]`` by insertion."""
    for i in range(first + 1, last + 1):
        key = keys[i]
        j = i - 1
        while j >= first and keys[j] > key:
            keys[j + 1] = keys[j]
            j -= 1
        keys[j + 1] = key


def divide(keys: Counts, first: int, last: int) -> tuple[int, int]:
    """Exchange keys until the left side is at most, the right at least the pivot.

    first          j  i              last
    [ <= pivot ....]  [.... >= pivot ]

    Returns where the left side ends and where the right side starts.
    """
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
    return j, i


def sort_keys(keys: Counts, first: int, last: int) -> None:
    """Sort ``keys[first]`` to ``keys[last]``: quicksort, the smaller side first."""
    # Pairs of first and last. The larger side waits, so at most log2(n) sides ever do.
    pending = cython.declare(cython.longlong[128])
    n_pending = 0
    while True:
        while last - first >= 32:
            end, start = divide(keys, first, last)
            if end - first < last - start:
                pending[n_pending] = start
                pending[n_pending + 1] = last
                last = end
            else:
                pending[n_pending] = first
                pending[n_pending + 1] = end
                first = start
            n_pending += 2
        sort_short(keys, first, last)
        if n_pending == 0:
            return
        n_pending -= 2
        first = pending[n_pending]
        last = pending[n_pending + 1]
