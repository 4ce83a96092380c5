"""Statistics do not depend on the order of rows, and name no small group."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import IS_PLAIN
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.analysis.analyst_statistics import Question, compare

pytestmark = pytest.mark.skipif(IS_PLAIN, reason="not about the engine")

ASKED = (
    Question("means", "v", ("t", "a")),
    Question("means", "w", ("t",)),
    Question("table", "w", ("a", "t")),
    Question("linear", "v", ("a", "t")),
    Question("logistic", "w", ("a", "t")),
)
CELLS = st.tuples(
    st.sampled_from(["A", "B", "C", "D", None]),
    st.one_of(st.integers(0, 9), st.none()),
    st.floats(-5, 5, allow_subnormal=False),
    st.sampled_from(["l", "r"]),
)


def table_of(rows: list[Any]) -> pa.Table:
    kinds = (pa.string(), pa.int64(), pa.float64(), pa.string())
    columns = zip(*rows, strict=True)
    arrays = [pa.array(x, kind) for x, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=list("tavw"))


@settings(max_examples=40)
@given(
    st.lists(CELLS, min_size=6, max_size=60),
    st.integers(2, 3),
    st.randoms(use_true_random=False),
    st.sampled_from(["label", "set"]),
)
def test_the_order_of_rows_changes_nothing(
    rows: list[Any], k: int, random: Any, categories: Any
) -> None:
    people = table_of(rows)
    spec = Spec(("t", "a"), (KAnonymity(k),), categories=categories)
    released = anonymize(people, spec).data
    orders = [list(range(len(rows))) for _ in range(2)]
    for order in orders:
        random.shuffle(order)

    found = compare(people, released, spec, ASKED)
    again = compare(people.take(orders[0]), released.take(orders[1]), spec, ASKED)

    assert json.dumps(again.to_json()) == json.dumps(found.to_json())


@settings(max_examples=60)
@given(st.lists(CELLS, min_size=6, max_size=60), st.integers(2, 6))
def test_no_group_has_fewer_than_k_rows_and_shares_add_up(
    rows: list[Any], k: int
) -> None:
    people = table_of(rows)
    spec = Spec(("t", "a"), (KAnonymity(k),))
    released = anonymize(people, spec).data

    for answer in compare(people, released, spec, ASKED[:3]).answers:
        counted = [row.n_before for row in answer.rows if row.n_before is not None]
        total = sum(counted) + answer.left_out[0]
        assert total in (len(rows), 0) or not answer.rows
        assert all(n == 0 or n >= k for n in counted)
        if answer.question.kind == "table" and answer.rows:
            for shares in ("before", "after"):
                parts = [getattr(row, shares) or 0.0 for row in answer.rows]
                assert np.isclose(sum(parts), 1.0, atol=1e-2)
