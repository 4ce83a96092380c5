"""A table at a glance: types, missing cells and values, by naive counts."""

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from core_mondrian.analysis.inspection import inspect_table
from core_mondrian.studio.preview import (
    MOST_COLUMNS,
    ColumnPreview,
    preview_columns,
    write_preview,
)

N = 60
ATTACK = "<img src=x onerror=alert(1)>"


def preview_of(**columns: pa.Array) -> dict[str, ColumnPreview]:
    table = pa.table(columns)
    found = preview_columns(table, inspect_table(table).columns)
    return {one.name: one for one in found}


@pytest.mark.parametrize(
    ("values", "kind", "ends"),
    [
        pytest.param(
            pa.array([(i * i) % 41 for i in range(N)]), "whole number", ("0", "40")
        ),
        pytest.param(
            pa.array([float("nan"), *((i * i) % 41 / 2 for i in range(N - 1))]),
            *("number", ("0", "20")),
        ),
        pytest.param(
            pa.array(
                [Decimal((i * i) % 41) / 4 for i in range(N)], pa.decimal128(8, 2)
            ),
            *("number", ("0", "10")),
        ),
        pytest.param(
            pa.array([date(2020, 1, 1) + timedelta((i * i) % 41) for i in range(N)]),
            *("date", ("2020-01-01", "2020-02-10")),
        ),
    ],
)
def test_numbers_and_dates_have_bars_over_their_range(
    values: pa.Array, kind: str, ends: tuple[str, str]
) -> None:
    (one,) = preview_of(x=values).values()

    assert (one.kind, one.ends, one.top) == (kind, ends, ())
    assert sum(one.bins) == N - (kind == "number" and ends[1] == "20")
    if kind == "whole number":
        parts = Counter(min(14 * ((i * i) % 41) // 40, 13) for i in range(N))
        assert list(one.bins) == [parts[i] for i in range(14)]


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int8(), pa.string())])
def test_texts_have_their_most_frequent_values(kind: pa.DataType) -> None:
    values = [None if i % 5 == 0 else "abbcccddddeeeee"[i % 15] for i in range(N)]

    (one,) = preview_of(x=pa.array(values).cast(kind)).values()

    counted = Counter(value for value in values if value is not None)
    assert (one.kind, one.bins, one.n_missing) == ("text", (), N // 5)
    assert [n for _, n in one.top] == [n for _, n in counted.most_common(3)]
    assert all(counted[text] == n for text, n in one.top)


def test_what_is_different_in_every_row_and_lists_have_no_bars() -> None:
    found = preview_of(
        who=pa.array(range(N)),
        tags=pa.array([[i] for i in range(N)]),
        nothing=pa.nulls(N, pa.string()),
    )

    assert [(one.bins, one.top) for one in found.values()] == 3 * [((), ())]
    assert found["nothing"].n_missing == N


def test_text_is_escaped_and_of_many_columns_the_first_are_shown() -> None:
    pytest.importorskip("nicegui")
    table = pa.table({f"{ATTACK}{i}": [ATTACK, ATTACK, None] for i in range(60)})
    found = preview_columns(table, inspect_table(table).columns)

    page = write_preview(table, found)

    assert len(found) == MOST_COLUMNS
    assert "<img" not in page
    assert page.count("&lt;img") == MOST_COLUMNS * 4  # head, value and two cells
    assert page.count("33.3\u202f% missing") == MOST_COLUMNS
