"""Rows looked at as numbers: what is found in them, and how little is kept of them."""

from collections import Counter
from datetime import date
from itertools import pairwise
from math import isnan
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.measures import leakage
from core_mondrian.measures import row_sample as sights
from core_mondrian.measures.disclosure_warnings import count_repeats
from core_mondrian.measures.leakage import Hidden, HiddenCounts, leaked_share
from core_mondrian.measures.row_sample import (
    DistinctRows,
    EveryRow,
    distinct_rows,
    distinct_rows_of_frame,
    join_distinct_rows,
)
from core_mondrian.spec.identifier_detection import recognize
from core_mondrian.verification.counting import Coded

ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["a", "b", None]),
        st.sampled_from([0.5, float("nan"), None, -0.0, 0.0]),
    ),
    min_size=1,
    max_size=40,
)


def seen(rows: list[tuple[int, str | None, float | None]]) -> DistinctRows:
    piece, texts, numbers = zip(*rows, strict=True)
    columns = {
        "text": pa.array(texts, pa.string()),
        "number": pa.array(numbers, pa.float64()),
    }
    return distinct_rows(columns, np.array(piece, dtype=np.int32))


def plain(sight: DistinctRows) -> dict[str, Any]:
    return {
        "rows": sight.rows.tolist(),
        "counts": sight.counts.tolist(),
        "piece": sight.piece.tolist(),
        "cells": {name: keys.tolist() for name, keys in sight.cells.items()},
        "values": {name: sorted(x.to_pylist()) for name, x in sight.values.items()},
    }


@given(ROWS, st.lists(st.integers(0, 40), max_size=4), st.integers(1, 40))
def test_rows_in_parts_are_seen_as_they_are_together(
    rows: list[Any], cuts: list[int], most: int
) -> None:
    edges = [0, *sorted(cuts), len(rows)]
    parts = [rows[i:j] for i, j in pairwise(edges) if rows[i:j]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sights, "_MOST_ROWS", most)

        parted = join_distinct_rows(
            [join_distinct_rows([seen(part)]) for part in parts[::-1]]
        )

        assert plain(parted) == plain(seen(rows))
        assert parted.rows.size <= most


@given(ROWS)
def test_equal_rows_are_one_that_counts_for_all(rows: list[Any]) -> None:
    def same(cell: Any) -> Any:
        is_nan = isinstance(cell, float) and isnan(cell)
        return None if is_nan else cell

    wanted = Counter(tuple(same(cell) for cell in row) for row in rows)

    assert sorted(seen(rows).counts.tolist()) == sorted(wanted.values())


@given(ROWS)
def test_equal_rows_tell_as_much_as_each_of_them(rows: list[Any]) -> None:
    sight = seen(rows)
    hidden = np.array([row[0] for row in rows], dtype=np.int64)
    texts = np.array([{"a": 0, "b": 1}.get(row[1], 2) for row in rows])
    each = np.ones(len(rows), dtype=np.int64)
    at_stake = hidden > 0
    whole = leaked_share(Coded(texts, 3), Hidden("q", hidden, 3, at_stake), each)
    few = sight.piece.astype(np.int64)
    coded = sight.coded("text")

    assert coded is not None
    assert leaked_share(coded, Hidden("q", few, 3, few > 0), sight.counts) == whole
    found = count_repeats(coded, counts=sight.counts)
    counted = Counter(row[1] for row in rows if row[1])
    assert (found.n_filled, found.n_values) == (counted.total(), len(counted))
    assert found.n_alone == sum(n == 1 for n in counted.values())


def test_very_wide_rows_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sights, "MOST_CELLS", 100)
    column = pa.array(range(50))

    sight = distinct_rows(
        {str(i): column for i in range(10)}, np.zeros(50, dtype=np.int32)
    )

    assert sight.rows.size == 10


def test_of_long_texts_only_the_start_is_kept() -> None:
    longs = [f"u{i}@example.org" + "x" * 5000 for i in range(40)]
    column = pa.array([*longs, *longs])

    sight = distinct_rows({"a": column}, np.zeros(80, dtype=np.int32))

    assert max(map(len, sight.values["a"].to_pylist())) == 256
    assert sight.counts.tolist() == [2] * 40
    assert recognize("a", sight.values["a"]) == recognize("a", column) is not None


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(pa.array([date(2020, 1, 1)] * 3), id="dates"),
        pytest.param(pa.array(["a@b.cd", "e@f.gh", None]), id="texts"),
        pytest.param(
            pa.array(["a@b.cd", "e@f.gh", None]).dictionary_encode(), id="codes"
        ),
        pytest.param(pa.array(["a@b.cd", "e@f.gh"], pa.string_view()), id="views"),
        pytest.param(pa.array([b"a", b"b"]), id="bytes"),
        pytest.param(pa.array([b"a" * 16, None], pa.uuid()), id="uuid"),
        pytest.param(pa.array([[1], None]), id="lists"),
        pytest.param(pa.nulls(3), id="nothing"),
    ],
)
def test_values_that_are_kept_are_recognized_as_the_column_is(column: Any) -> None:
    chunked = pa.chunked_array([column])
    one = distinct_rows({"a": chunked}, np.zeros(len(chunked), dtype=np.int32))

    joined = join_distinct_rows([one, one])

    assert recognize("a", joined.values["a"]) == recognize("a", chunked)
    assert (joined.coded("a") is None) == pa.types.is_nested(column.type)


@given(ROWS, st.lists(st.booleans(), min_size=40, max_size=40))
def test_rows_one_by_one_are_seen_as_hashed_ones_are(
    rows: list[Any], chosen: list[bool]
) -> None:
    piece, texts, numbers = zip(*rows, strict=True)
    table = pa.table(
        {
            "text": pa.array(texts, pa.string()),
            "number": pa.array(numbers, pa.float64()),
        }
    )
    frame = nw.from_native(table, eager_only=True)
    places = np.flatnonzero(chosen[: len(rows)])
    kept = [row for row, is_kept in zip(rows, chosen, strict=False) if is_kept]
    if not kept:
        return
    pieces = np.array(piece, dtype=np.int32)[places]

    every = distinct_rows_of_frame(frame, table.column_names, pieces, places)

    assert isinstance(every, EveryRow)
    hashed = seen(kept)
    for name in table.column_names:
        one, other = every.coded(name), hashed.coded(name)
        assert one is not None
        assert other is not None
        assert count_repeats(one) == count_repeats(other, counts=hashed.counts)
        found, wanted = (
            leaked_share(coded, Hidden("q", codes, 3, codes > 0), counts)
            for coded, codes, counts in (
                (one, every.piece.astype(np.int64), None),
                (other, hashed.piece.astype(np.int64), hashed.counts),
            )
        )
        assert found == wanted


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 9), st.booleans()),
        min_size=2,
        max_size=60,
    ),
    st.integers(0, 4096),
)
def test_what_is_seen_to_tell_little_tells_little(
    rows: list[tuple[int, int, bool]], few: int
) -> None:
    values, hidden, at_stake = (np.array(x) for x in zip(*rows, strict=True))
    carried = Coded(values, int(values.max()) + 1)
    stake = HiddenCounts.of(Hidden("q", hidden, 10, at_stake), None)
    whole = stake.share_leaked_by(carried)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leakage, "_FEW_PAIRS", few)

        found = stake.share_leaked_by(carried, 0.5)

    assert found == whole if whole >= 0.5 else found < 0.5
