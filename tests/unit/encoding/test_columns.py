"""Columns become codes: ranks for numbers, leaves for labels, one code for missing."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import DataError
from core_mondrian.encoding.columns import (
    CodedColumn,
    as_floats,
    encode_ranked,
    encode_sensitive,
    rank_column,
)
from core_mondrian.hierarchies.tree import Hierarchy, from_paths

ANIMALS = from_paths(
    [("hen", "bird", "*"), ("cat", "beast", "*"), ("owl", "bird", "*")]
)


def chunked(cells: Any, kind: Any = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(cells, kind)])


@given(st.lists(st.none() | st.integers(-5, 5), max_size=30))
def test_ranks_are_positions_among_the_distinct_values(cells: list[int | None]) -> None:
    ranked = rank_column(chunked(cells, pa.int64()), "a")

    distinct = sorted({cell for cell in cells if cell is not None})
    wanted = [len(distinct) if cell is None else distinct.index(cell) for cell in cells]
    assert ranked.values.to_pylist() == distinct
    assert ranked.codes.tolist() == wanted


@given(
    st.lists(st.none() | st.text("abAB ", max_size=2), max_size=30), st.integers(0, 30)
)
def test_chunks_and_dictionaries_change_no_code(
    cells: list[str | None], at: int
) -> None:
    whole = chunked(cells, pa.string())
    parts = [pa.array(cells[:at], pa.string()), pa.array(cells[at:], pa.string())]
    coded = pa.chunked_array([part.dictionary_encode() for part in parts])

    expected = rank_column(whole, "a")
    found = rank_column(coded, "a")

    assert found.codes.tolist() == expected.codes.tolist()
    assert found.values.to_pylist() == expected.values.to_pylist()


@pytest.mark.parametrize(
    ("array", "floats"),
    [
        pytest.param(pa.array([False, True]), [0.0, 1.0], id="booleans"),
        pytest.param(
            pa.array([dt.date(1970, 1, 2), dt.date(1971, 1, 1)]),
            [1.0, 365.0],
            id="days",
        ),
        pytest.param(
            pa.array([1, 1_000_000], pa.timestamp("us", "UTC")),
            [1.0, 1e6],
            id="timestamps in their own unit",
        ),
        pytest.param(
            pa.array([Decimal("-1.5"), Decimal("2.25")]), [-1.5, 2.25], id="decimals"
        ),
        pytest.param(pa.array([5], pa.time32("s")), [5.0], id="times"),
        pytest.param(pa.array([5], pa.duration("ms")), [5.0], id="durations"),
        pytest.param(pa.array([2**64 - 1], pa.uint64()), [2.0**64], id="uint64"),
    ],
)
def test_ordered_values_have_floats(array: pa.Array, floats: list[float]) -> None:
    assert as_floats(array).tolist() == floats


def encode(cells: list[Any], tree: Hierarchy | None, name: str = "a") -> CodedColumn:
    return encode_ranked(rank_column(chunked(cells), name), name, tree, "error")


def test_hierarchy_leaves_are_codes_in_depth_first_order() -> None:
    coded = encode(["owl", "cat", None, "hen"], ANIMALS)

    assert ANIMALS.leaves == ("hen", "owl", "cat")
    assert coded.codes.tolist() == [1, 2, 3, 0]
    assert coded.column.missing == 3


def test_numbers_can_have_a_hierarchy() -> None:
    tree = from_paths([("1", "low", "*"), ("2", "low", "*"), ("9", "high", "*")])

    coded = encode([9, 1, 2], tree)

    assert coded.codes.tolist() == [2, 0, 1]
    assert coded.column.kind == "category"


def test_values_outside_the_hierarchy_are_counted_not_named() -> None:
    cells = ["cat", "canary", "canary", "budgie", None]

    with pytest.raises(DataError) as caught:
        encode(cells, ANIMALS, "pet")

    told = str(caught.value)
    assert "hierarchy of 'pet' does not cover 2 of 3 values in the data" in told
    assert "(3 rows, counted from 0: 1, 2, 3)" in told
    assert "canary" not in told


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param([[1]], id="lists"),
        pytest.param([{"x": 1}], id="structs"),
        pytest.param([b"x"], id="bytes"),
    ],
)
def test_types_without_order_or_labels_are_refused(cells: list[Any]) -> None:
    with pytest.raises(DataError, match="neither an order nor labels"):
        rank_column(chunked(cells), "a")


def test_infinite_numbers_are_refused_even_in_a_dictionary() -> None:
    array = chunked([1.0, float("-inf")]).dictionary_encode()

    with pytest.raises(DataError, match="infinite"):
        rank_column(array, "a")


def test_text_is_ordered_by_code_point_not_by_locale_or_arrival() -> None:
    coded = encode(["b", "é", "B", "a"], None)

    assert coded.values.to_pylist() == ["B", "a", "b", "é"]


def test_missing_is_the_last_sensitive_value() -> None:
    codes, column = encode_sensitive(chunked(["y", None, "x"]), "s")

    assert codes.tolist() == [1, 2, 0]
    assert column.n_values == 3


def test_an_empty_column_has_no_codes() -> None:
    ranked = rank_column(pa.chunked_array([], pa.string()), "a")

    assert ranked.codes.dtype == np.int32
    assert ranked.codes.size == 0
