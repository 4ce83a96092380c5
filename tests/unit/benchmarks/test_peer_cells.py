"""What tools write is read as they mean it; the texts are recorded from their runs."""

import pytest

from benchmarks.peers.cells import (
    BLANK,
    MISSING,
    Anything,
    Cell,
    Column,
    Mean,
    Range,
    Unreadable,
    Values,
    covers,
)
from benchmarks.peers.tools import anjana, anonypy, lighthouse, ours, polarfrost

AGE = Column("age", is_number=True)
JOB = Column("job", is_number=False, values=frozenset({"cook", "nurse", "a, b", "nan"}))


def values(*members: str) -> Values:
    return Values(frozenset(members))


@pytest.mark.parametrize(
    ("tool", "column", "text", "cell"),
    [
        pytest.param(ours, AGE, "[69, 70]", Range(69, 70), id="our range"),
        pytest.param(ours, AGE, "18", Range(18, 18), id="our number"),
        pytest.param(ours, AGE, "[-3.5, 1e3]", Range(-3.5, 1000), id="our floats"),
        pytest.param(ours, JOB, "*", Anything(), id="our star"),
        pytest.param(ours, JOB, "cook", values("cook"), id="our value"),
        pytest.param(
            ours, JOB, '{"a, b", cook, null}', values("a, b", "cook", MISSING), id="set"
        ),
        pytest.param(lighthouse, AGE, "41.2", Mean(41.2), id="mean"),
        pytest.param(lighthouse, JOB, "*", Anything(), id="star"),
        pytest.param(anonypy, AGE, "20-25", Range(20, 25), id="dashes"),
        pytest.param(anonypy, AGE, "-5.0--3.0", Range(-5, -3), id="below zero"),
        pytest.param(anonypy, AGE, "nan-nan", BLANK, id="no number in the class"),
        pytest.param(anonypy, JOB, "nurse,cook", values("cook", "nurse"), id="list"),
        pytest.param(anonypy, JOB, "cook,nan", values("cook", MISSING), id="with nan"),
        pytest.param(anonypy, JOB, "a, b", values("a, b"), id="comma, alone"),
        pytest.param(
            anonypy, JOB, "a, b,cook", Unreadable("a\0 b\0cook"), id="comma, in a list"
        ),
        pytest.param(anjana, AGE, "[20, 25)", Range(20, 25, closed=False), id="open"),
        pytest.param(anjana, JOB, "clerk", Unreadable("clerk"), id="unknown value"),
        pytest.param(polarfrost, AGE, "20-20", Range(20, 20), id="one number, twice"),
        pytest.param(polarfrost, AGE, "*", Anything(), id="all missing"),
        pytest.param(polarfrost, JOB, "None,cook", values("cook", MISSING), id="None"),
    ],
)
def test_cells_are_read(tool: object, column: Column, text: str, cell: Cell) -> None:
    assert tool.read(text, column) == cell  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("cell", "value", "is_true"),
    [
        pytest.param(Range(20, 25), 25.0, True, id="closed"),
        pytest.param(Range(20, 25, closed=False), 25.0, False, id="half-open"),
        pytest.param(Range(20, 25), None, False, id="missing in a range"),
        pytest.param(values("cook"), "cook", True, id="member"),
        pytest.param(values("cook"), "nurse", False, id="no member"),
        pytest.param(values("cook", MISSING), None, True, id="missing in a set"),
        pytest.param(Mean(3), 99.0, True, id="a mean claims nothing of a row"),
        pytest.param(Anything(), None, True, id="star"),
    ],
)
def test_a_cell_is_true_of_what_it_covers(
    cell: Cell, value: float | str | None, *, is_true: bool
) -> None:
    assert covers(cell, value) is is_true
