"""Codes of rows, next to what NumPy and Python count."""

from collections import Counter
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.verification import counting
from core_mondrian.verification.counting import (
    Coded,
    _code_objects,
    class_sizes,
    code_column,
    code_series,
    combine,
    compress,
    first_rows,
    value_counts,
)

NAN = float("nan")


@st.composite
def codes_of_rows(draw: Any) -> Coded:
    """Few codes or many, of few rows: both ways to count."""
    n_codes = draw(st.sampled_from([1, 3, 8, 40, 10**12]))
    code = st.integers(0, n_codes - 1) | st.just(n_codes - 1)
    codes = draw(st.lists(code, max_size=12))
    return Coded(np.array(codes, dtype=np.int64), n_codes)


@given(keys=codes_of_rows(), data=st.data())
def test_codes_are_numbered_and_counted_as_numpy_does(
    keys: Coded, data: st.DataObject
) -> None:
    times = data.draw(
        st.lists(st.integers(1, 5), min_size=keys.codes.size, max_size=keys.codes.size)
    )
    values, first, where, sizes = np.unique(
        keys.codes, return_index=True, return_inverse=True, return_counts=True
    )

    packed = compress(keys)

    assert packed.codes.tolist() == where.tolist()
    assert packed.n_codes == values.size
    assert first_rows(keys).tolist() == first.tolist()
    assert class_sizes(keys).tolist() == sizes.tolist()
    heavy = np.zeros(values.size, dtype=np.int64)
    np.add.at(heavy, where, np.array(times, dtype=np.int64))
    weighted = class_sizes(keys, np.array(times, dtype=np.int64))
    assert weighted.tolist() == heavy.tolist()
    for counts in (class_sizes(keys), weighted, packed.codes, first_rows(keys)):
        assert counts.dtype == np.int64


@pytest.mark.parametrize("far", [1, 10**9], ids=["few codes", "many codes"])
def test_sizes_come_in_the_order_of_codes(far: int) -> None:
    keys = Coded(np.array([5, 9, 5, 7, 5, 9]) * far, 10 * far)

    assert class_sizes(keys).tolist() == [3, 1, 2]
    assert class_sizes(keys, np.array([1, 2, 3, 4, 5, 6])).tolist() == [9, 4, 8]
    assert first_rows(keys).tolist() == [0, 3, 1]
    assert compress(keys).codes.tolist() == [0, 2, 0, 1, 0, 2]


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=12))
def test_columns_are_combined_as_tuples_rank(rows: list[tuple[int, ...]]) -> None:
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    columns = [Coded(table[:, i].copy(), n) for i, n in enumerate((4, 5, 6))]

    both = combine(columns)

    assert both.n_codes == 4 * 5 * 6
    assert both.codes.tolist() == [(a * 5 + b) * 6 + c for a, b, c in rows]
    assert [column.codes.tolist() for column in columns] == table.T.tolist()


def test_one_column_is_combined_with_nothing() -> None:
    column = Coded(np.array([2, 0]), 3)

    both = combine([column])

    assert (both.codes.tolist(), both.n_codes) == ([2, 0], 3)
    assert not np.shares_memory(both.codes, column.codes)


def test_codes_that_would_not_fit_are_numbered_anew() -> None:
    # 16 * 2**60 is 0 in 64 bits.
    many = 2**30
    columns = [
        Coded(np.array([0, 16, 16, 3]), many),
        Coded(np.array([5, 5, 5, 5]), many),
        Coded(np.array([7, 7, 7, 1]), many),
    ]

    both = combine(columns)

    assert compress(both).codes.tolist() == [0, 2, 2, 1]
    assert both.codes.min() >= 0
    assert both.codes.max() < both.n_codes <= 2**62


def test_codes_that_just_fit_stay() -> None:
    columns = [Coded(np.array([2**31 - 1, 0]), 2**31)] * 2

    both = combine(columns)

    assert both.n_codes == 2**62
    assert both.codes.tolist() == [2**62 - 1, 0]


def test_codes_that_just_do_not_fit_are_numbered_anew() -> None:
    columns = [Coded(np.array([7, 0]), 2**32), Coded(np.array([1, 3]), 2**31)]

    both = combine(columns)

    assert both.n_codes == 2 * 2**31
    assert compress(both).codes.tolist() == [1, 0]


def test_codes_rank_only_if_asked() -> None:
    column = pa.chunked_array([pa.array(["b", "a"])])

    for series in (column, pd.Series(["b", "a"])):
        coded = code_series(nw.from_native(series, series_only=True))
        assert (coded.codes.tolist(), list(coded.labels)) == ([0, 1], [])
    assert list(code_column(column).labels) == []


def test_rows_without_a_value_have_the_last_code() -> None:
    coded = Coded(np.array([0, 2, 1, 2]), 3, ("a", "b"))

    assert coded.missing.tolist() == [False, True, False, True]
    some = coded.select(np.array([True, False, True, True]))
    assert (some.codes.tolist(), some.n_codes, some.labels) == (
        [0, 1, 2],
        3,
        ("a", "b"),
    )


COLUMNS: dict[str, tuple[pa.Array, list[int], list[Any]]] = {
    "numbers": (pa.array([2.5, None, -1.0, NAN, 2.5]), [1, 2, 0, 2, 1], [-1.0, 2.5]),
    "zeros": (pa.array([0.0, -0.0, 1.0]), [0, 0, 1], [0.0, 1.0]),
    "halves": (pa.array([1.5, 0.5], pa.float16()), [1, 0], [0.5, 1.5]),
    "whole": (pa.array([3, 1, None, 2]), [2, 0, 3, 1], [1, 2, 3]),
    "texts": (pa.array(["b", "a", None, "b"]), [1, 0, 2, 1], ["a", "b"]),
    "decimals": (
        pa.array([Decimal("2.50"), Decimal("-1.00")]),
        [1, 0],
        [Decimal("-1.00"), Decimal("2.50")],
    ),
    "dates": (pa.array([2, 1], pa.date32()), [1, 0], None),  # type: ignore[dict-item]
    "all missing": (pa.nulls(2, pa.string()), [0, 0], []),
    "no rows": (pa.array([], pa.string()), [], []),
    "lists": (pa.array([[2], [1], None, [2]]), [1, 0, 2, 1], [(1,), (2,)]),
    "structs": (
        pa.array([{"x": 2}, {"x": 1}, None]),
        [1, 0, 2],
        [(("x", 1),), (("x", 2),)],
    ),
}


@pytest.mark.parametrize(("cells", "codes", "labels"), COLUMNS.values(), ids=COLUMNS)
def test_values_rank_and_missing_is_last(
    cells: pa.Array, codes: list[int], labels: list[Any] | None
) -> None:
    coded = code_column(pa.chunked_array([cells]), ordered=True)

    assert coded.codes.tolist() == codes
    assert coded.codes.dtype == np.int64
    assert labels is None or list(coded.labels) == labels
    assert coded.n_codes == len(coded.labels) + 1


@pytest.mark.parametrize(("cells", "codes", "_"), COLUMNS.values(), ids=COLUMNS)
def test_without_an_order_the_same_rows_are_equal(
    cells: pa.Array, codes: list[int], _: Any
) -> None:
    coded = code_column(pa.chunked_array([cells]))

    assert compress(coded).codes.size == len(codes)
    pairs = set(zip(coded.codes.tolist(), codes, strict=True))
    assert len(pairs) == len(set(codes)) == len({code for code, _ in pairs})
    if cells.null_count:
        assert coded.missing.tolist() == cells.is_null(nan_is_null=True).to_pylist()


def test_a_struct_of_missing_fields_is_not_missing() -> None:
    cells = pa.array([{"x": None}, None, {"x": None}, {"x": 1}])

    coded = code_column(pa.chunked_array([cells]))

    assert coded.missing.tolist() == [False, True, False, False]
    assert sorted(Counter(coded.codes.tolist()).values()) == [1, 1, 2]


def test_a_struct_without_fields_is_a_value() -> None:
    cells = pa.array([{}, None, {}], pa.struct([]))

    coded = code_column(pa.chunked_array([cells]))

    assert coded.missing.tolist() == [False, True, False]


def test_chunks_with_dictionaries_of_their_own() -> None:
    def chunk(places: list[int | None], values: list[str | None]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), values)

    first, other = pa.array(["b", "a"]), pa.array(["a", None, "c"])
    chunks = [
        chunk([0, 1, None], first),
        chunk([1, 1], first),
        chunk([0, 1, 2], other),
        chunk([0], first),
    ]

    coded = code_column(pa.chunked_array(chunks), ordered=True)

    assert coded.codes.tolist() == [1, 0, 3, 0, 0, 0, 3, 2, 1]
    assert coded.labels == ["a", "b", "c"]


def test_extension_types_are_what_they_are_kept_as() -> None:
    storage = pa.array([b"0" * 16, b"1" * 16, None], pa.binary(16))
    cells = pa.ExtensionArray.from_storage(pa.uuid(), storage)

    coded = code_column(pa.chunked_array([cells, cells]), ordered=True)

    assert coded.codes.tolist() == [0, 1, 2] * 2
    assert code_column(pa.chunked_array([], pa.uuid())).n_codes == 1


MIXED: list[tuple[list[Any], list[int]]] = [
    ([1, "1", 1, None], [0, 1, 0, 2]),
    ([True, 1, False, 0, True], [1, 3, 0, 2, 1]),
    (["b", pd.NA, "a", pd.NaT, NAN, 7], [2, 3, 1, 3, 3, 0]),
    ([{1}, {1}, {2}, "x"], [1, 1, 2, 0]),
    ([np.bool_(1), True, "x"], [1, 1, 0]),
    ([np.float64("nan"), "x", np.float64(1)], [2, 1, 0]),
    ([[1, [2, NAN]], [1, [2, None]], [1, [2]], "x"], [2, 2, 1, 0]),
    ([{"k": 1}, {"k": 2}, {"k": 1}, "x"], [1, 2, 1, 0]),
    ([np.array([1, 2]), [1, 2], "x"], [1, 1, 0]),
]


@pytest.mark.parametrize(("values", "codes"), MIXED)
def test_values_that_arrow_cannot_compare(values: list[Any], codes: list[int]) -> None:
    series = nw.from_native(pd.Series(values, dtype=object), series_only=True)

    for ordered in (False, True):
        coded = code_series(series, ordered=ordered)

        assert coded.n_codes == len(coded.labels) + 1
        same = [[a == b for a in codes] for b in codes]
        found = coded.codes.tolist()
        assert [[a == b for a in found] for b in found] == same
        missing = [code == len(set(coded.labels)) for code in found]
        assert coded.missing.tolist() == missing


def test_objects_that_are_all_missing() -> None:
    series = nw.from_native(pd.Series([None, NAN], dtype=object), series_only=True)

    coded = _code_objects(series.to_list())

    assert (coded.codes.tolist(), coded.n_codes, coded.labels) == ([0, 0], 1, [])
    assert coded.codes.dtype == np.int64


def test_mixed_values_rank_by_kind_and_spelling() -> None:
    series = nw.from_native(
        pd.Series(["b", 10, "a", 9], dtype=object), series_only=True
    )

    coded = code_series(series, ordered=True)

    assert coded.labels == [10, 9, "a", "b"]
    assert coded.codes.tolist() == [3, 0, 2, 1]


def test_objects_that_do_compare_rank_as_they_are() -> None:
    lists = pa.array([[10], [9], None])

    assert code_column(pa.chunked_array([lists]), ordered=True).labels == [(9,), (10,)]


@given(
    numbers=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9), max_size=40),
    data=st.data(),
)
def test_values_are_counted_however_many_occur_once(
    numbers: list[int], data: st.DataObject
) -> None:
    kept = data.draw(
        st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers))
    )
    wanted = sorted(Counter(numbers).values())
    some = sorted(Counter(x for x, k in zip(numbers, kept, strict=True) if k).values())
    table = nw.from_native(
        pa.table({"a": pa.array(numbers, pa.int64())}), eager_only=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_FEW_NUMBERS", 2)

        assert sorted(value_counts(table["a"]).tolist()) == wanted
        rows = np.array(kept, dtype=np.bool_)
        assert sorted(value_counts(table["a"], rows).tolist()) == some


def test_missing_values_are_no_values() -> None:
    table = pa.table({"a": pa.array([3, None, 3, 1]), "b": ["x", None, "x", "y"]})
    frame = nw.from_native(table, eager_only=True)

    for name in ("a", "b"):
        assert sorted(value_counts(frame[name]).tolist()) == [1, 2]
