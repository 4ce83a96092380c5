"""Runs: where they begin, and who is in them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.runtime.runs import run_members, run_starts

RUNS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=20)


@given(RUNS)
def test_members_are_listed_run_by_run(runs: list[tuple[int, int]]) -> None:
    starts, lengths = np.array(runs, dtype=np.int32).reshape(-1, 2).T

    members = run_members(starts, lengths)

    assert members.tolist() == [start + i for start, n in runs for i in range(n)]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_a_run_starts_where_the_key_changes(keys: list[int]) -> None:
    keys.sort()

    starts = run_starts(np.array(keys, dtype=np.int64))

    assert starts.tolist() == [
        i for i, key in enumerate(keys) if i == 0 or keys[i - 1] != key
    ]
