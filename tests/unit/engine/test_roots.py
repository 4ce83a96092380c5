"""The roots: tuples sorted by their root, and shares of the budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.engine.layout import QUEUED, SUPPRESSED
from core_mondrian.engine.missing_patterns import Roots
from core_mondrian.engine.roots import build_roots, root_nodes
from core_mondrian.tables.encoded import EncodedTable


def some_roots(root: list[int], suppressed: list[bool]) -> Roots:
    codes = np.arange(len(root), dtype=np.int32).reshape(-1, 1)
    return Roots(codes, np.array(root), len(suppressed), 0, np.array(suppressed))


def test_each_root_has_its_own_tuples_in_their_order() -> None:
    counts = np.array([5, 1, 2, 4, 3])
    table = EncodedTable((), (), np.zeros((5, 0), np.int32), counts, 15)

    tuples, nodes = build_roots(table, some_roots([1, 0, 0, 1, 2], [False] * 3), 0)

    assert tuples.records[:, -1].tolist() == [1, 2, 0, 3, 4]
    assert tuples.records[:, -2].tolist() == [1, 2, 5, 4, 3]
    assert nodes["start"].tolist() == [0, 2, 4]
    assert nodes["stop"].tolist() == [2, 4, 5]
    assert nodes["rows"].tolist() == [3, 9, 3]
    assert nodes["parent"].tolist() == nodes["cut_code"].tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    ("rows", "suppressed", "budget", "shares"),
    [
        ([30, 60, 10], [False, False, False], 10, [3, 6, 1]),
        ([30, 60, 10], [False, False, False], 9, [2, 5, 0]),
        ([30, 60, 10], [False, False, True], 19, [3, 6, 10]),
        ([30, 60, 10], [False, False, False], 0, [0, 0, 0]),
    ],
)
def test_shares_are_in_proportion_and_rounded_down(
    rows: list[int], suppressed: list[bool], budget: int, shares: list[int]
) -> None:
    nodes = root_nodes(np.array(rows), np.array(suppressed), budget)

    assert nodes["budget"].tolist() == shares
    assert nodes["kind"].tolist() == [
        SUPPRESSED if is_whole else QUEUED for is_whole in suppressed
    ]


@given(st.data())
def test_the_roots_never_have_more_than_there_is(data: st.DataObject) -> None:
    rows = np.array(data.draw(st.lists(st.integers(1, 10**9), min_size=2, max_size=9)))
    suppressed = np.zeros(rows.size, dtype=np.bool_)
    suppressed[data.draw(st.integers(0, rows.size - 1))] = data.draw(st.booleans())
    budget = data.draw(st.integers(int(rows[suppressed].sum()), int(rows.sum())))

    nodes = root_nodes(rows, suppressed, budget)

    assert int(nodes["budget"].min()) >= 0
    assert int(nodes["budget"].sum()) <= budget
