"""The caller's frame comes back as it was, but for the quasi-identifiers."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from core_mondrian import (
    DataError,
    KAnonymity,
    PaperPolicy,
    Spec,
    Suppression,
    anonymize,
)
from core_mondrian.errors import SpecError
from core_mondrian.tables import pandas_types as pandas_columns
from core_mondrian.tables.frames import (
    arrow_column,
    check_columns,
    open_frame,
    replace_columns,
)


def k_spec(columns: str = "a", **more: Any) -> Spec:
    return Spec(tuple(columns), (KAnonymity(2),), suppress=Suppression(rows=0), **more)


def texts(frame: Any) -> list[Any]:
    """Column a as plain values, missing ones as None."""
    column = frame["a"]
    cells = column.to_pylist() if isinstance(frame, pa.Table) else list(column)
    return [None if pd.isna(value) else value for value in cells]


@pytest.mark.parametrize(
    "index",
    [
        pytest.param([7, 7, 3, 7], id="repeated"),
        pytest.param(pd.MultiIndex.from_product([("p", "q"), (1, 2)]), id="levels"),
        pytest.param(list("wxyz"), id="names"),
    ],
)
def test_a_pandas_index_starts_anew_and_rows_keep_their_order(index: Any) -> None:
    frame = pd.DataFrame({"x": list("pqrs"), "a": [1, 2, 3, 4]}, index=index)

    release = anonymize(frame, k_spec())

    assert release.data.index.equals(pd.RangeIndex(4))
    assert release.data["x"].tolist() == list("pqrs")
    assert release.data["a"].tolist() == ["[1, 2]"] * 2 + ["[3, 4]"] * 2


def test_rows_apart_keep_the_index_that_says_which_they_are() -> None:
    frame = pd.DataFrame({"a": list("xxxy"), "x": [1, 2, 3, 4]}, index=[7, 7, 7, 9])
    spec = Spec(
        ("a",),
        (KAnonymity(3),),
        suppress=Suppression(rows=1),
        suppressed="separate",
        inline_below=0,
    )

    release = anonymize(frame, spec)

    assert release.data["x"].tolist() == [1, 2, 3]
    assert release.suppressed is not None
    assert release.suppressed.index.tolist() == [9]


def test_callers_frame_is_not_changed() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "x": [1, 2, 3, 4]})
    before = frame.copy(deep=True)

    anonymize(frame, k_spec())

    pd.testing.assert_frame_equal(frame, before)


def test_types_of_other_columns_are_kept() -> None:
    table = pa.table({"a": [1, 1, 2, 2], "x": pa.array([1, 2, 3, 4], pa.int8())})

    release = anonymize(table, k_spec())

    assert release.data["x"].type == pa.int8()


DATES = [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(2021, 1, 1)] + [None] * 2
MOMENTS = [dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 2), None, None]
KINDS: list[Any] = [
    pytest.param(
        pa.table({"a": pa.array([Decimal("1.10"), Decimal("2.25"), None, None])}),
        ["[1.10, 2.25]", None],
        id="decimals",
    ),
    pytest.param(
        pa.table({"a": pa.array([True, True, False, False, None, None])}),
        ["true", "false", None],
        id="booleans",
    ),
    pytest.param(
        pa.table({"a": pa.array(DATES, pa.date32())}),
        ["[2020-01-01, 2021-01-01]", None],
        id="dates",
    ),
    pytest.param(
        pa.table({"a": pa.array(MOMENTS, pa.timestamp("s", "Europe/Paris"))}),
        ["[2020-01-01 06:00:00+0100, 2020-01-02 01:00:00+0100]", None],
        id="timestamps with a zone",
    ),
    pytest.param(
        pa.table({"a": pa.array([1, 2, None, None], pa.time32("s"))}),
        ["[00:00:01, 00:00:02]", None],
        id="times of day",
    ),
    pytest.param(
        pd.DataFrame({"a": pd.Categorical(["x", "y", "x", "y", None, None])}),
        ["x", "y", None],
        id="pandas category",
    ),
    pytest.param(
        pd.DataFrame({"a": pd.Categorical([3, 1, 3, 1], categories=[3, 2, 1])}),
        ["3", "1"],
        id="pandas category of numbers",
    ),
    pytest.param(
        pd.DataFrame({"a": pd.array([1, 1, None, None], dtype="Int64")}),
        ["1", None],
        id="pandas Int64",
    ),
    pytest.param(
        pl.DataFrame({"a": pl.Series([None] * 4, dtype=pl.Null)}),
        [None],
        id="polars Null",
    ),
    pytest.param(
        pa.table({"a": pa.array(list("xyxy"), pa.large_string())}),
        ["x", "y"],
        id="large text",
    ),
]


@pytest.mark.parametrize(("frame", "shown"), KINDS)
def test_kinds_of_quasi_identifiers(frame: Any, shown: list[Any]) -> None:
    release = anonymize(frame, k_spec())

    assert list(dict.fromkeys(texts(release.data))) == shown
    assert isinstance(release.data, type(frame))


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(
            pl.DataFrame(
                {"a": pl.Series(["x", "x", None, None], dtype=pl.Categorical)}
            ),
            id="polars Categorical",
        ),
        pytest.param(
            pl.DataFrame(
                {"a": pl.Series(["x", "x", None, None], dtype=pl.Enum(["x"]))}
            ),
            id="polars Enum",
        ),
        pytest.param(
            pa.table(
                {
                    "a": pa.DictionaryArray.from_arrays(
                        pa.array([0, 0, None, None], pa.uint8()), pa.array(["x"])
                    )
                }
            ),
            id="Arrow dictionary with unsigned indices",
        ),
    ],
)
def test_missing_values_in_dictionaries_with_unsigned_indices(frame: Any) -> None:
    release = anonymize(frame, k_spec())

    assert texts(release.data) == ["x", "x", None, None]


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.array([1, 1, 2, 2], np.float16), id="half floats"),
        pytest.param(pa.array(list("xxyy"), pa.string_view()), id="string views"),
    ],
)
def test_types_that_arrow_cannot_sort(array: Any) -> None:
    release = anonymize(pa.table({"a": array}), k_spec())

    assert release.verification.n_classes == 2


def test_polars_categorical_comes_back_categorical() -> None:
    frame = pl.DataFrame({"a": pl.Series(list("xxyy"), dtype=pl.Categorical)})

    release = anonymize(frame, k_spec())

    assert isinstance(release.data.schema["a"], pl.Categorical)
    assert release.data["a"].cast(pl.Categorical()).to_list() == list("xxyy")


def test_pandas_category_comes_back_as_a_category() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(list("xxyz"))})

    release = anonymize(frame, k_spec())

    assert isinstance(release.data["a"].dtype, pd.CategoricalDtype)
    assert release.data["a"].tolist() == ["x", "x", "*", "*"]


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_column_with_more_text_than_one_arrow_array_holds(
    kind: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(pandas_columns, "_MOST_TEXT", 11)
    long = pa.array(["five5", None, "five5", "six66."]).dictionary_encode()

    frame = replace_columns(
        open_frame(kind({"a": [1, 2, 3, 4]})), {"a": {"a": long}}, (), None
    )

    assert pandas_columns.plain(long).type == pa.large_string()
    assert pandas_columns.plain(long[:3]).type == pa.string()
    assert texts(frame) == ["five5", None, "five5", "six66."]


def test_nan_and_null_are_both_missing() -> None:
    table = pa.table({"a": pa.array([1.0, 1.0, float("nan"), None])})

    release = anonymize(table, k_spec())

    assert texts(release.data) == ["1", "1", None, None]
    assert release.verification.n_classes == 2


def test_minus_zero_is_zero() -> None:
    table = pa.table({"a": [0.0, -0.0, 1.0, 1.0]})

    release = anonymize(table, k_spec())

    assert texts(release.data) == ["0", "0", "1", "1"]


def test_dictionary_with_repeated_unused_and_null_values() -> None:
    values = pa.array(["x", "y", "x", None, "unused"])
    indices = pa.array([0, 1, 2, 3, None, 1], pa.int8())
    array = pa.DictionaryArray.from_arrays(indices, values)

    release = anonymize(pa.table({"a": array}), k_spec())

    assert texts(release.data) == ["x", "y", "x", None, None, "y"]


def test_chunks_with_different_dictionaries() -> None:
    first = pa.array(["x", "y"]).dictionary_encode()
    second = pa.array(["y", "z", "x", "z"]).dictionary_encode()

    release = anonymize(pa.table({"a": pa.chunked_array([first, second])}), k_spec())

    assert texts(release.data) == ["x", "y", "y", "z", "x", "z"]


def test_mixed_types_are_named_by_column_only() -> None:
    frame = open_frame(pd.DataFrame({"a": pd.Series([1, "secret"], dtype=object)}))

    with pytest.raises(DataError) as caught:
        arrow_column(frame, "a")

    assert "column 'a' mixes values" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_absent_columns_are_listed_in_order() -> None:
    frame = open_frame(pa.table({"a": [1]}))

    with pytest.raises(SpecError, match=r"'b', 'c'"):
        check_columns(frame, ["c", "a", "b"])


@pytest.mark.parametrize("kind", ["category", "string"])
def test_blank_rows_lose_their_sensitive_value_too(kind: str) -> None:
    from oracle import DistinctDiversity

    frame = pd.DataFrame(
        {"a": list("xxxxz"), "s": pd.Series(list("pqpqp"), dtype=kind)}
    )
    spec = Spec(
        ("a",),
        (KAnonymity(2), DistinctDiversity(2)),
        policy=PaperPolicy(),
        suppress=Suppression(rows=1),
        suppressed="blank",
        inline_below=0,
    )

    release = anonymize(frame, spec)

    assert release.data["a"].isna().tolist() == [False] * 4 + [True]
    assert release.data["s"].isna().tolist() == [False] * 4 + [True]
