"""Threads: how many, and the same work on each of some columns."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

# Columns of fewer rows are done before another thread has started.
_ROWS_PER_THREAD = 50_000


def n_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def useful_threads(asked: int | None, n_rows: int) -> int:
    """Return how many threads to work on so many rows: as asked, or all cores."""
    most = n_cores() if asked is None else asked
    return max(1, min(most, n_rows // _ROWS_PER_THREAD))


def spans(n: int, n_spans: int) -> list[tuple[int, int]]:
    """Divide ``n`` things into spans of as many each: where they begin and end."""
    return [*pairwise(n * i // n_spans for i in range(n_spans + 1))]


def map_threads(
    work: Callable[[ItemT], ResultT], items: Sequence[ItemT]
) -> list[ResultT]:
    """Return ``work(item)`` of each item, in order, on a thread for each."""
    if len(items) < 2:
        return list(map(work, items))
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(work, items))


@contextmanager
def started(
    work: Callable[[], ResultT], n_threads: int
) -> Iterator[Callable[[], ResultT]]:
    """Do ``work`` beside what is done inside; give a function that returns its result.

    On one thread it is done when it is asked for, and whatever fails inside comes
    before what fails in it.
    """
    if n_threads < 2:
        yield work
        return
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work).result


def map_columns(
    work: Callable[[ItemT], ResultT],
    columns: Sequence[ItemT],
    n_rows: int,
    threads: int | None = None,
    report: Callable[[float], None] = lambda _: None,
) -> list[ResultT]:
    """Return ``work(column)`` of each column, in order, on ``threads`` or all cores.

    Arrow and NumPy let other threads run while they work. Of several errors the first
    column's is raised.
    """
    most = n_cores() if threads is None else threads
    n_threads = min(most, len(columns), n_rows // _ROWS_PER_THREAD)
    if n_threads < 2:
        return _collect(map(work, columns), len(columns), report)
    with ThreadPoolExecutor(n_threads) as pool:
        return _collect(pool.map(work, columns), len(columns), report)


def _collect(
    done: Iterable[ResultT], n: int, report: Callable[[float], None]
) -> list[ResultT]:
    results: list[ResultT] = []
    for result in done:
        results.append(result)
        report(len(results) / n)
    return results
