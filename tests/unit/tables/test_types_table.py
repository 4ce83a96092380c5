"""Every type, in every role and format, on every kind of frame; docs/types.md.

With CORE_MONDRIAN_UPDATE_DOCS=1 the tables in docs/types.md are written anew.
"""

import datetime as dt
import os
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from core_mondrian import (
    KAnonymity,
    PaperPolicy,
    Release,
    Spec,
    Suppression,
    anonymize,
)
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.tables.pandas_types import as_pandas as as_column

PAGE = Path(__file__).parents[3] / "docs" / "types.md"
N_ROWS = 24
STEPS = [None if i >= 18 else i // 2 for i in range(N_ROWS)]
"""What all columns are made of: 0, 0, 1, 1, … 8, 8, and six times missing."""


def made(kind: pa.DataType, convert: Callable[[int], Any] = lambda i: i) -> pa.Array:
    return pa.array([None if i is None else convert(i) for i in STEPS], kind)


def counted(kind: pa.DataType, step: int = 1) -> pa.Array:
    """Steps counted in the units of a temporal type."""
    wide = pa.int32() if kind.bit_width == 32 else pa.int64()
    return made(pa.int64(), lambda i: 1000 + step * i).cast(wide).cast(kind)


def letters(kind: pa.DataType) -> pa.Array:
    return made(kind, lambda i: "abcdefghij"[i])


WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
CODED = letters(pa.string()).dictionary_encode()
NUMBERS: dict[str, pa.Array] = {
    **{name: made(getattr(pa, name)()) for name in WHOLE},
    "float16": made(pa.float16(), lambda i: np.float16(i / 4)),
    "float32": made(pa.float32(), lambda i: i / 4),
    "float64": made(pa.float64(), lambda i: i / 10),
    "decimal32": made(pa.decimal32(6, 2), lambda i: Decimal(i) / 4),
    "decimal64": made(pa.decimal64(12, 2), lambda i: Decimal(i) / 4),
    "decimal128": made(pa.decimal128(20, 2), lambda i: Decimal(i) / 4),
    "decimal256": made(pa.decimal256(50, 2), lambda i: Decimal(i) / 4),
    "bool": made(pa.bool_(), lambda i: i > 4),
    "date32": counted(pa.date32(), 40),
    "date64": counted(pa.date32(), 40).cast(pa.date64()),
    "timestamp_s": counted(pa.timestamp("s"), 3600),
    "timestamp_ms": counted(pa.timestamp("ms"), 10**7),
    "timestamp_us": counted(pa.timestamp("us"), 10**12),
    "timestamp_ns": counted(pa.timestamp("ns"), 10**17),
    "timestamp_zone": counted(pa.timestamp("us", "Europe/Paris"), 10**13),
    "time_s": counted(pa.time32("s"), 100),
    "time_ms": counted(pa.time32("ms"), 1000),
    "time_us": counted(pa.time64("us"), 10**6),
    "time_ns": counted(pa.time64("ns"), 10**9),
    "duration_s": counted(pa.duration("s"), 10**5),
    "duration_ms": counted(pa.duration("ms")),
    "duration_us": counted(pa.duration("us")),
    "duration_ns": counted(pa.duration("ns")),
    "dictionary_of_int64": made(pa.int64()).dictionary_encode(),
    "dictionary_of_date32": counted(pa.date32(), 40).dictionary_encode(),
}
TEXTS: dict[str, pa.Array] = {
    "string": letters(pa.string()),
    "large_string": letters(pa.large_string()),
    "string_view": letters(pa.string_view()),
    "dictionary": CODED,
    "dictionary_ordered": pa.DictionaryArray.from_arrays(
        CODED.indices, CODED.dictionary, ordered=True
    ),
    "dictionary_uint8": pa.DictionaryArray.from_arrays(
        CODED.indices.cast(pa.uint8()), CODED.dictionary
    ),
    "null": pa.nulls(N_ROWS),
}
ONLY_CARRIED: dict[str, pa.Array] = {
    "list": made(pa.list_(pa.int64()), lambda i: [i, i]),
    "struct": made(pa.struct({"x": pa.int64()}), lambda i: {"x": i}),
    "binary": made(pa.binary(), lambda i: bytes([i])),
}
FORMATS = ("interval", "bounds", "struct", "mean", "median", "midpoint", "sample")
RANGES = ("interval", "bounds", "struct")


def table_of(arrays: dict[str, pa.Array]) -> pa.Table:
    n_rows = len(next(iter(arrays.values())))
    return pa.table({**arrays, "id": pa.array(range(n_rows))})


# --- frames of every kind ----------------------------------------------------------

MASKED = {
    **{getattr(pa, n)(): n.replace("i", "I", 1).replace("uI", "UI") for n in WHOLE},
    pa.bool_(): "boolean",
    pa.float32(): "Float32",
    pa.float64(): "Float64",
    pa.string(): "string",
}


def as_arrow(table: pa.Table) -> pa.Table:
    return table


def as_polars(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    extra = []
    if "int64" in table.column_names:
        extra.append(frame["int64"].cast(pl.Int128).alias("int128"))
    if "dictionary" in table.column_names:
        kind = pl.Enum([*"abcdefghij", "unused"])
        extra.append(frame["string"].cast(kind).alias("enum"))
    return frame.with_columns(extra)


def indexed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index(pd.Index([f"row {i % 7}" for i in range(len(frame))]))


def as_pandas(table: pa.Table) -> pd.DataFrame:
    return indexed(table.to_pandas())


def as_masked(table: pa.Table) -> pd.DataFrame:
    find = {kind: pd.api.types.pandas_dtype(name) for kind, name in MASKED.items()}
    return indexed(table.to_pandas(types_mapper=find.get))


def as_pandas_arrow(table: pa.Table) -> pd.DataFrame:
    return indexed(table.to_pandas(types_mapper=pd.ArrowDtype))


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "Arrow": as_arrow,
    "polars": as_polars,
    "pandas": as_pandas,
    "pandas, nullable": as_masked,
    "pandas, ArrowDtype": as_pandas_arrow,
}
IMPOSSIBLE = {
    "polars": {"decimal256"},
    "pandas": {"time_ns"},
    "pandas, nullable": {"time_ns"},
    "pandas, ArrowDtype": {"string_view"},  # it cannot take rows of it
}


def frame_of(kind: str, arrays: dict[str, pa.Array]) -> Any:
    skipped = IMPOSSIBLE.get(kind, set())
    kept = {name: array for name, array in arrays.items() if name not in skipped}
    return KINDS[kind](table_of(kept))


def names_in(frame: Any) -> list[str]:
    return list(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def type_in(frame: Any, name: str) -> str:
    if isinstance(frame, pa.Table):
        return str(frame.schema.field(name).type)
    dtype = frame[name].dtype
    return "Categorical" if isinstance(dtype, pl.Categorical) else str(dtype)


def cells_in(frame: Any, name: str) -> list[Any]:
    """Cells as plain values, missing ones as None, by way of Arrow."""
    column = nw.from_native(frame, eager_only=True)[name]
    if column.dtype in (nw.Int128, nw.UInt128):
        column = column.cast(nw.Int64)
    values = column.to_arrow().to_pylist()
    return [None if value != value else value for value in values]  # noqa: PLR0124


def columns_of(frame: Any) -> tuple[str, ...]:
    return tuple(name for name in names_in(frame) if name != "id")


def release_of(frame: Any, **more: Any) -> Release[Any]:
    spec = Spec(columns_of(frame), (KAnonymity(6),), missing="value", **more)
    return anonymize(frame, spec)


# --- what a release of them looks like ---------------------------------------------


def is_within(value: Any, low: Any, high: Any) -> bool:
    if low is None or high is None:
        return low is None and high is None and value is None
    return bool(low <= value <= high)


@pytest.mark.parametrize("nice", [False, True], ids=["exact", "nice"])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_contain_every_original_in_its_own_type(kind: str, nice: Any) -> None:
    frame = frame_of(kind, NUMBERS)

    release = release_of(frame, numbers="bounds", nice=nice)

    assert release.verification.n_classes > 1
    assert cells_in(release.data, "id") == list(range(N_ROWS))
    for name in columns_of(frame):
        assert name not in names_in(release.data)
        ends = [cells_in(release.data, f"{name}_{end}") for end in ("min", "max")]
        originals = cells_in(frame, name)
        for value, low, high in zip(originals, *ends, strict=True):
            assert is_within(value, low, high), name


@pytest.mark.parametrize("nice", [False, True], ids=["exact", "nice"])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_structs_and_intervals_say_the_same(kind: str, nice: Any) -> None:
    frame = frame_of(kind, NUMBERS)

    found = {how: release_of(frame, numbers=how, nice=nice).data for how in RANGES}

    for name in columns_of(frame):
        low, high = (
            cells_in(found["bounds"], f"{name}_{end}") for end in ("min", "max")
        )
        structs = cells_in(found["struct"], name)
        texts = cells_in(found["interval"], name)
        for first, last, both, text in zip(low, high, structs, texts, strict=True):
            if first is None:
                assert both is None
                assert text is None
                continue
            assert both == {"min": first, "max": last}, name
            assert text.startswith("[") == (first != last)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numbers", ["mean", "median", "midpoint", "sample"])
def test_one_value_per_class_lies_in_its_range(kind: str, numbers: Any) -> None:
    frame = frame_of(kind, NUMBERS)

    release = release_of(frame, numbers=numbers)
    bounds = release_of(frame, numbers="bounds").data

    for name in columns_of(frame):
        low, high = (cells_in(bounds, f"{name}_{end}") for end in ("min", "max"))
        shown = cells_in(release.data, name)
        for value, first, last in zip(shown, low, high, strict=True):
            if value is None:
                assert first is None
            elif isinstance(value, float):
                assert float(first) <= value <= float(last), name
            else:
                assert first <= value <= last, name


@pytest.mark.parametrize("categories", ["label", "set"])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_contain_every_original(kind: str, categories: Any) -> None:
    frame = frame_of(kind, TEXTS)

    release = release_of(frame, categories=categories)

    for name in columns_of(frame):
        originals, shown = cells_in(frame, name), cells_in(release.data, name)
        for value, text in zip(originals, shown, strict=True):
            members = re.findall(r"[a-z]+", text or "null")
            assert text == "*" or (value or "null") in members, name


@pytest.mark.parametrize("kind", KINDS)
def test_other_columns_come_back_as_they_were(kind: str) -> None:
    arrays = {**NUMBERS, **TEXTS, **ONLY_CARRIED}
    frame = frame_of(kind, {**arrays, "q": pa.array(STEPS)})
    names = [name for name in names_in(frame) if name != "q"]
    spec = Spec(("q",), (KAnonymity(6),), numbers="bounds", class_id="class")

    release = anonymize(frame, spec)

    assert names_in(release.data)[-4:] == ["q_min", "q_max", "id", "class"] or (
        kind == "polars"
    )
    released = nw.from_native(release.data).select(names).to_native()
    before = nw.from_native(frame).select(names).to_native()
    assert_same(released, cleaned(before))


def cleaned(frame: Any) -> Any:
    """Return a frame of the caller's without what does not leave."""
    if isinstance(frame, pl.DataFrame):
        return frame.select(
            column.cast(
                pl.Enum([x for x in column.dtype.categories if x in set(column)])
            )
            if isinstance(column.dtype, pl.Enum)
            else column
            for column in frame.get_columns()
        )
    if not isinstance(frame, pd.DataFrame):
        return frame
    frame = frame.reset_index(drop=True)
    coded = [x for x in frame if isinstance(frame[x].dtype, pd.CategoricalDtype)]
    return frame.assign(**{x: _sorted(frame[x].cat) for x in coded})


def _sorted(coded: Any) -> pd.Series:
    used = coded.remove_unused_categories().cat
    in_order = used.categories if used.ordered else used.categories.sort_values()
    return used.reorder_categories(in_order)


def in_shared_categories(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(
        column.cast(pl.Categorical())
        if isinstance(column.dtype, pl.Categorical)
        else column
        for column in frame.get_columns()
    )


def assert_same(frame: Any, other: Any) -> None:
    if isinstance(frame, pl.DataFrame):
        frame, other = in_shared_categories(frame), in_shared_categories(other)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(frame, other)
    else:
        assert frame.equals(other)
        assert frame.schema == other.schema


@pytest.mark.parametrize("suppressed", ["drop", "separate"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_left_out_take_nothing_along(kind: str, suppressed: Any) -> None:
    arrays = {**NUMBERS, **TEXTS, **ONLY_CARRIED}
    frame = frame_of(kind, {**arrays, "q": pa.array(["a"] * 21 + ["z"] * 3)})
    names = [name for name in names_in(frame) if name != "q"]
    spec = small_spec("q", suppressed=suppressed)

    release = anonymize(frame, spec)

    assert release.n_suppressed == 3
    first = nw.from_native(frame, eager_only=True)[:21].select(names).to_native()
    released = nw.from_native(release.data).select(names).to_native()
    assert_same(released, cleaned(first))
    if suppressed == "separate":
        rest = nw.from_native(frame, eager_only=True)[21:].to_native()
        assert_same(release.suppressed, rest)
    else:
        assert release.suppressed is None


def small_spec(*columns: str, **more: Any) -> Spec:
    """A spec that suppresses up to three rows to keep classes of five."""
    return Spec(
        columns,
        more.pop("models", (KAnonymity(5),)),
        policy=PaperPolicy(),
        suppress=Suppression(rows=3),
        inline_below=0,
        **more,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_can_be_sensitive_and_blank(kind: str) -> None:
    arrays = {**NUMBERS, **TEXTS}
    arrays.pop("null")  # one value: no class has two
    frame = frame_of(kind, {**arrays, "q": pa.array(["a"] * 21 + ["z"] * 3)})
    for name in columns_of(frame):
        if name == "q":
            continue
        models = (KAnonymity(5), DistinctLDiversity(2, name))

        release = anonymize(frame, small_spec("q", models=models, suppressed="blank"))

        assert release.n_suppressed == 3, name
        # An enum lists those in use.
        kinds = (type_in(data, name) for data in (release.data, frame))
        assert len({re.sub(r"Enum\(.*", "Enum", kind) for kind in kinds}) == 1
        originals = cells_in(frame, name)
        assert cells_in(release.data, name) == originals[:21] + [None] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_can_be_shuffled(kind: str) -> None:
    arrays = {**NUMBERS, **TEXTS, **ONLY_CARRIED, "q": pa.array(STEPS)}
    arrays["number"] = pa.array(range(N_ROWS))
    spec = Spec(("q",), (KAnonymity(6),), identifiers=("id",), shuffle=7)
    backwards = {name: flipped(array) for name, array in arrays.items()}

    first, second = (
        anonymize(frame_of(kind, each), spec) for each in (arrays, backwards)
    )

    found = cells_in(first.data, "number")
    assert sorted(found) == list(range(N_ROWS))
    assert found not in (sorted(found), sorted(found)[::-1])
    assert_same(first.data, second.data)
    if isinstance(first.data, pd.DataFrame):
        assert first.data.index.equals(pd.RangeIndex(N_ROWS))


def flipped(array: pa.Array) -> pa.Array:
    order = pa.array(range(N_ROWS)[::-1])
    if array.type == pa.string_view():  # which Arrow cannot take from
        return array.cast(pa.string()).take(order).cast(array.type)
    return array.take(order)


def test_all_kinds_of_frames_give_one_release() -> None:
    simple = {"int64": NUMBERS["int64"], "date32": NUMBERS["date32"]}
    simple |= {"timestamp_s": NUMBERS["timestamp_s"], "string": TEXTS["string"]}
    digests = {
        how: {
            release_of(kind(table_of(simple)), numbers=how, nice=True).digest
            for kind in (as_arrow, as_masked, as_pandas_arrow)
        }
        for how in FORMATS
    }

    assert all(len(found) == 1 for found in digests.values())


def test_a_sample_is_the_same_in_every_unit_and_library() -> None:
    frames = [
        kind(table_of({"timestamp_s": NUMBERS["timestamp_s"]}))
        for kind in KINDS.values()
    ]

    drawn = [
        [
            None if x is None else x.replace(tzinfo=None)
            for x in cells_in(release_of(f, numbers="sample").data, "timestamp_s")
        ]
        for f in frames
    ]

    assert all(each == drawn[0] for each in drawn)


# --- the page ----------------------------------------------------------------------

TEXT = ("String", "str", "string[pyarrow]", "large_string[pyarrow]")
CODED_TEXT = "dictionary<values=string, indices=int32, ordered=0>"


def say(kind: str, before: str) -> str:
    """A released type in the words of the page."""
    if kind == before and kind not in TEXT:
        return "same"
    if kind in TEXT:
        return "text"
    if kind.startswith(CODED_TEXT):
        return "coded text"
    if kind.lower().startswith("struct"):
        return "struct"
    return {"Categorical": "categorical", "category": "category"}.get(kind, f"`{kind}`")


def rows_of(frame: Any, hows: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """What each column becomes, one row for all columns that become the same."""
    found = {how: release_of(frame, **asked).data for how, asked in hows.items()}
    outcomes: dict[tuple[str, ...], list[str]] = {}
    for name in columns_of(frame):
        before = type_in(frame, name)
        cells = []
        for how in hows:
            data = found[how]
            shown = name if name in names_in(data) else f"{name}_min"
            cells.append(say(type_in(data, shown), before))
        listed = outcomes.setdefault(tuple(cells), [])
        holds = name.removeprefix("dictionary_of_").split("_")[0]
        vague = f"`{before}` of {holds}"
        listed.append(vague if before in ("object", "category") else f"`{before}`")
    return [(", ".join(dict.fromkeys(x)), *row) for row, x in outcomes.items()]


def as_markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def tables() -> dict[str, str]:
    """The tables of the page by name."""
    numbers = {how: {"numbers": how} for how in FORMATS}
    texts = {how: {"categories": how} for how in ("label", "set")}
    found = {}
    for kind in KINDS:
        n_rows = 18 if kind == "pandas" else N_ROWS  # without missing ones
        arrays = {name: array[:n_rows] for name, array in NUMBERS.items()}
        rows = rows_of(frame_of(kind, arrays), numbers)
        found[f"{kind}: numbers"] = as_markdown(("in", *numbers), rows)
        rows = rows_of(frame_of(kind, TEXTS), texts)
        found[f"{kind}: text"] = as_markdown(("in", *texts), rows)
    return found


@pytest.mark.skipif(pd.__version__ < "3", reason="text has another name there")
def test_the_page_says_what_becomes_of_each_type() -> None:
    page = PAGE.read_text(encoding="utf-8")
    written = page
    for name, table in tables().items():
        mark = f"<!-- {name} -->"
        assert written.count(mark) == 2, name
        before, _, after = written.split(mark)
        written = f"{before}{mark}\n\n{table}\n\n{mark}{after}"
    if os.environ.get("CORE_MONDRIAN_UPDATE_DOCS") == "1":
        PAGE.write_text(written, encoding="utf-8")
    else:
        assert written == page


@pytest.mark.parametrize("numbers", ["bounds", "median", "sample"])
@pytest.mark.parametrize(
    ("cells", "blank"),
    [
        pytest.param(np.arange(24, dtype=np.int64), "Int64", id="int64"),
        pytest.param(np.arange(24, dtype=np.uint8), "UInt8", id="uint8"),
        pytest.param(np.arange(24.0), "float64", id="float64"),
        pytest.param(np.arange(24).astype("M8[ns]"), "datetime64[ns]", id="moments"),
    ],
)
def test_blanks_in_pandas_do_not_make_whole_numbers_floats(
    cells: Any, blank: str, numbers: Any
) -> None:
    frame = pd.DataFrame({"a": cells, "q": list("pppppppqqqqqqqrrrrrrr") + ["z"] * 3})
    shown = "a_min" if numbers == "bounds" else "a"

    released = anonymize(frame, small_spec("q", "a", numbers=numbers)).data
    blanked = anonymize(
        frame, small_spec("q", "a", numbers=numbers, suppressed="blank")
    ).data

    assert released[shown].dtype == cells.dtype
    assert str(blanked[shown].dtype) == blank
    assert blanked[shown].isna().sum() == 3


def test_booleans_with_blanks_are_nullable_unless_they_were_objects() -> None:
    array = pa.array([True, None])

    assert str(as_column(array, np.dtype(bool)).dtype) == "boolean"
    assert str(as_column(array[:1], np.dtype(bool)).dtype) == "bool"
    assert str(as_column(array, np.dtype(object)).dtype) == "object"


def test_large_whole_numbers_stay_exact_next_to_blanks() -> None:
    large = [2**53 + 1] * 21 + [7] * 3
    frame = pd.DataFrame({"a": large, "q": ["a"] * 21 + ["z"] * 3})

    spec = small_spec("q", "a", numbers="median", suppressed="blank")
    released = anonymize(frame, spec).data

    assert released["a"].tolist()[:21] == large[:21]


def test_nan_null_nat_and_na_are_one_missing_value() -> None:
    for cells in (
        pd.array([1.0, float("nan"), None] * 4, dtype=object),
        pd.array([dt.datetime(2020, 1, 1), pd.NaT, None] * 4, dtype=object),
        pd.array([1, pd.NA, None] * 4, dtype="Int64"),
        pd.array(["x", pd.NA, None] * 4, dtype="string"),
        pd.array(["x", float("nan"), None] * 4, dtype=object),
    ):
        release = anonymize(pd.DataFrame({"a": cells}), Spec(("a",), (KAnonymity(4),)))

        assert release.verification.n_classes == 2
        assert release.verification.smallest_class == 4
