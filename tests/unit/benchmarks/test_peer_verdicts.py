"""The yardstick agrees with counting by hand, and names what is wrong."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peers.tools.ours import read
from benchmarks.peers.verdicts import ID, Terms, judge_release
from benchmarks.score import score

QIDS = ("age", "job")
TREE = {
    "cook": ["cook", "kitchen", "*"],
    "chef": ["chef", "kitchen", "*"],
    "nurse": ["nurse", "ward", "*"],
}
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(20, 29)),
        st.one_of(st.none(), st.sampled_from(["cook", "chef", "nurse"])),
        st.sampled_from(["a", "b", "c", None]),  # its class; None: left out
    ),
    min_size=1,
    max_size=12,
)


def table(rows: list[Any]) -> pd.DataFrame:
    ages = [np.nan if age is None else float(age) for age, *_ in rows]
    jobs = pd.Series([job for _, job, *_ in rows], dtype="object")
    return pd.DataFrame({"age": ages, "job": jobs, ID: range(len(rows))})


def by_hand(rows: list[Any], kind: str) -> float:
    """NCP from its definition, cell by cell."""
    ages = [age for age, *_ in rows if age is not None]
    width = (max(ages) - min(ages) if ages else 0) or 1
    domain = {job for _, job, _ in rows}
    total = 0.0
    for _, _, label in rows:
        if label is None:
            total += 2.0
            continue
        mates = [row for row in rows if row[2] == label]
        its = [age for age, *_ in mates]
        known = [age for age in its if age is not None]
        if known and len(known) < len(its):
            total += 1.0
        elif known:
            total += (max(known) - min(known)) / width
        jobs = {job for _, job, _ in mates}
        if len(jobs) > 1:
            total += {
                "flat": 1.0,
                "set": (len(jobs) - 1) / (len(domain) - 1),
                "tax": 2 / 3 if jobs == {"cook", "chef"} else 1.0,
            }[kind]
    return total / (2 * len(rows))


@given(ROWS)
def test_score_is_what_the_definitions_say(rows: list[Any]) -> None:
    kept = [i for i, row in enumerate(rows) if row[2] is not None]
    # Labels stand in for what is shown: a class is a distinct released tuple.
    shown = pd.DataFrame({ID: kept, "age": [rows[i][2] for i in kept], "job": "*"})

    found = score(table(rows), shown, ID, [*QIDS], k=3, trees={"job": TREE})

    sizes = Counter(rows[i][2] for i in kept)
    lost = len(rows) - len(kept)
    assert found["suppressed"] == lost
    assert found["classes"] == len(sizes)
    assert found["violations"] == sum(n for n in sizes.values() if n < 3)
    assert found["dm_released"] == sum(n * n for n in sizes.values())
    assert found["dm"] == found["dm_released"] + lost * len(rows)
    for kind in ("flat", "set", "tax"):
        assert found[f"ncp_{kind}"] == pytest.approx(by_hand(rows, kind), abs=1e-5)


def test_a_row_that_became_blank_is_suppressed_and_one_that_was_blank_is_not() -> None:
    original = table([(30, "cook", "a"), (None, None, "a")])
    blank = pd.DataFrame({ID: [0, 1], "age": [None, None], "job": [None, None]})

    found = score(original, blank, ID, [*QIDS])

    assert (found["suppressed"], found["classes"]) == (1, 1)


def released(**changes: Any) -> pd.DataFrame:
    """Four rows in two classes, as text."""
    columns = {
        "age": ["[20, 21]", "[20, 21]", "30", "30"],
        "job": ["cook", "cook", "*", "*"],
        ID: ["0", "1", "2", "3"],
    }
    return pd.DataFrame(columns | changes)


ORIGINAL = table([(20, "cook", 0), (21, "cook", 0), (30, "chef", 0), (30, "nurse", 0)])


@pytest.mark.parametrize(
    ("what", "words"),
    [
        pytest.param(released(), [], id="sound"),
        pytest.param(
            released(age=["20", "[20, 21]", "30", "30"]),
            ["k broken in 2 rows"],
            id="a class of one",
        ),
        pytest.param(released().iloc[:2], ["2 rows lost"], id="rows lost"),
        pytest.param(
            pd.concat([released(), released().iloc[:1]]), ["1 row added"], id="twice"
        ),
        pytest.param(
            released(**{ID: ["0", "1", "2", "9"]}),
            ["k broken in 1 row", "1 row lost", "1 row added"],
            id="a row of nobody",
        ),
        pytest.param(
            released(age=["[20, 21)"] * 2 + ["30"] * 2), ["1 cell untrue"], id="untrue"
        ),
        pytest.param(
            released(job=["cook", "cook", "x|y", "x|y"]),
            ["2 cells unreadable"],
            id="unreadable",
        ),
        pytest.param(
            released(index=["100", "101", "102", "103"]),
            ["original row numbers in column index"],
            id="row numbers, shifted",
        ),
        pytest.param(released(count=["1", "1", "1", "1"]), [], id="a column of ones"),
        pytest.param(released().drop(columns="age"), ["1 column lost"], id="column"),
        pytest.param(released().iloc[:0], ["an empty table"], id="empty"),
    ],
)
def test_what_is_wrong_is_said(what: pd.DataFrame, words: list[str]) -> None:
    found = judge_release(ORIGINAL, what, read, Terms(QIDS, k=2, may_lose=0))

    assert found["wrong"] == words


def test_rows_within_the_allowance_are_not_lost() -> None:
    terms = Terms(QIDS, k=2, may_lose=2)

    found = judge_release(ORIGINAL, released().iloc[:2], read, terms)

    assert found["wrong"] == []
    assert found["suppressed"] == 2


def test_equal_sets_in_another_order_are_one_class() -> None:
    jobs = ["{cook, nurse}", "{nurse, cook}", "{chef, cook}", "{chef, cook}"]
    rows = [(20, "cook", 0), (20, "nurse", 0), (30, "chef", 0), (30, "cook", 0)]
    original = table(rows)
    what = released(age=["20", "20", "30", "30"], job=jobs)

    found = judge_release(original, what, read, Terms(QIDS, k=2, may_lose=0))

    assert found["wrong"] == []
    assert found["classes"] == 2
    assert (found["ncp_flat"], found["ncp_set"]) == (0.5, 0.25)
