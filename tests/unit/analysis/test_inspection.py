"""Inspection counts right, shows no cell, and survives odd columns."""

import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian.analysis.inspection import inspect_table


def test_each_column_is_counted() -> None:
    table = pa.table(
        {
            "name": [f"n{i}" for i in range(6)],
            "sex": pa.array(["f", "m", "f", None, "f", None]).dictionary_encode(),
            "age": [1.0, 1.0, 2.0, float("nan"), None, 1.0],
        }
    )

    found = inspect_table(table)

    facts = [
        (c.name, c.type, c.n_missing, c.n_distinct, c.n_unique_rows, c.is_nearly_unique)
        for c in found.columns
    ]
    assert facts == [
        ("name", "string", 0, 6, 6, True),
        ("sex", "string", 2, 2, 1, False),
        ("age", "double", 2, 2, 1, False),
    ]


def test_identifiers_are_left_out_of_growing_sets() -> None:
    table = pa.table({"id": list(range(40)), "a": [i // 4 for i in range(40)]})

    found = inspect_table(table)

    assert [step.columns for step in found.growing] == [("a",)]


def test_nested_columns_are_reported_not_counted() -> None:
    kinds = {"list": [[1], None], "struct": [{"a": 1}, {"a": 2}], "plain": [1, 1]}

    found = inspect_table(pa.table(kinds))

    assert [c.n_distinct for c in found.columns] == [None, None, 1]
    assert [c.n_missing for c in found.columns] == [1, 0, 0]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(pa.table({}), id="no columns"),
        pytest.param(pa.table({"a": pa.array([], pa.string())}), id="no rows"),
        pytest.param(pa.table({"a": pa.nulls(3)}), id="nothing but missing"),
        pytest.param(pa.table({"a": [1]}), id="one row"),
        pytest.param(
            pa.table([pa.array([1, 1]), pa.array([1, 1])], names=["a", "a"]),
            id="two columns of one name",
        ),
    ],
)
def test_degenerate_tables_are_inspected(table: Any) -> None:
    found = inspect_table(table)

    assert found.n_rows == table.num_rows
    assert len(found.columns) == table.num_columns


def test_unused_dictionary_values_are_not_counted() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["x", "unused"]))

    assert inspect_table(pa.table({"a": coded})).columns[0].n_distinct == 1


def test_hundreds_of_columns_are_bounded_work() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({f"c{i}": rng.integers(0, 3, 500) for i in range(300)})

    found = inspect_table(table)

    assert len(found.columns) == 300
    assert 1 <= len(found.growing) <= 6


def test_no_cell_is_in_the_result() -> None:
    table = pa.table({"a": ["CANARY 1", "CANARY 2", "CANARY 2", None]})

    found = inspect_table(table)

    assert "CANARY" not in json.dumps(found.to_json())
    assert "CANARY" not in repr(found)


ROWS = st.lists(
    st.tuples(*[st.one_of(st.none(), st.integers(0, 3)) for _ in range(3)]),
    min_size=2,
    max_size=30,
)


@settings(deadline=None, max_examples=100)
@given(ROWS)
def test_growing_sets_agree_with_a_plain_count(rows: list[tuple[int | None]]) -> None:
    names = ["a", "b", "c"]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    table = pa.table({n: pa.array(v, pa.int64()) for n, v in columns.items()})

    found = inspect_table(table)

    for step in found.growing:
        places = [names.index(name) for name in step.columns]
        sizes = Counter(tuple(row[place] for place in places) for row in rows)
        assert step.n_unique_rows == sum(size == 1 for size in sizes.values())
        assert step.n_classes == len(sizes)


def test_progress_counts_columns_and_ends_at_one() -> None:
    seen: list[tuple[str, float]] = []
    table = pa.table({"a": [1, 1, 2], "b": ["x", "y", "y"], "c": [[1], [2], [3]]})

    inspect_table(table, lambda stage, done: seen.append((stage, done)))

    done = [share for _, share in seen]
    assert {stage for stage, _ in seen} == {"counting"}
    assert done == sorted(done)
    assert (done[0], len(done), done[-1]) == (0.0, 5, 1.0)
