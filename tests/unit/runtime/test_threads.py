"""The same on one thread and on several, results and errors."""

import threading
import time

import pytest

from core_mondrian.runtime.threads import map_columns, n_cores

MANY = 10**6


@pytest.mark.parametrize("threads", [None, 1, 2, 7])
@pytest.mark.parametrize("n_rows", [0, MANY])
def test_results_come_in_order(threads: int | None, n_rows: int) -> None:
    told: list[float] = []
    found = map_columns(lambda x: x * x, range(5), n_rows, threads, told.append)
    assert found == [0, 1, 4, 9, 16]
    assert told == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_the_first_columns_error_is_raised() -> None:
    def work(i: int) -> int:
        if i == 1:
            time.sleep(0.05)  # so that the later one fails first
            raise ValueError("one")
        if i == 3:
            raise ValueError("three")
        return i

    with pytest.raises(ValueError, match="one"):
        map_columns(work, range(4), MANY, 4)


def test_one_thread_is_this_one() -> None:
    ids = map_columns(lambda _: threading.get_ident(), range(3), MANY, 1)
    assert set(ids) == {threading.get_ident()}


def test_several_threads_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=10)  # broken if one waits alone
    map_columns(lambda _: meeting.wait(), range(2), MANY, 2)


def test_there_is_a_core() -> None:
    assert n_cores() >= 1
