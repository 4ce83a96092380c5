"""What leaves holds what it shows: no cell of a hidden row, no order of the source."""

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import Command
from leftovers import (
    EVERY_TYPE,
    HIDDEN,
    cell_bytes,
    column_of,
    leftovers,
    memory_of,
    needles_of,
    word,
)

from core_mondrian import (
    KAnonymity,
    OutputError,
    PaperPolicy,
    Spec,
    Suppression,
    anonymize,
    anonymize_files,
    p_sensitize,
)
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.tables.cleaning import clean_column, clean_frame, clean_table
from core_mondrian.tables.files.kinds import source_schema
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table

NUMBERS = [5, 3, HIDDEN, 4, 3, HIDDEN, 6, 7]
ROWS = list("xxzxxyxx")
"""The rows with hidden cells are those that fit nowhere."""
KEPT = [NUMBERS[i] for i, row in enumerate(ROWS) if row == "x"]
SECRET = word(HIDDEN)
NEEDLE = f"{HIDDEN:011d}".encode()


def losing_spec(**more: Any) -> Spec:
    """A spec that suppresses what is not an x."""
    return Spec(
        ("a",),
        more.pop("models", (KAnonymity(6),)),
        policy=PaperPolicy(),
        suppress=Suppression(rows=2),
        inline_below=0,
        **more,
    )


def table_of(kind: Any) -> pa.Table:
    return pa.table({"a": ROWS, "cell": column_of(kind, NUMBERS)})


def cells_of(column: Any) -> list[Any]:
    return [cell.as_py() for cell in column]


# Arrow


@pytest.mark.parametrize("kind", EVERY_TYPE, ids=str)
def test_arrow_buffers_hold_no_suppressed_cell(kind: Any) -> None:
    table = table_of(kind)
    assert leftovers(memory_of(table), needles_of(kind)) == needles_of(kind)

    released = anonymize(table, losing_spec()).data.select(["cell"])

    assert leftovers(memory_of(released), needles_of(kind)) == []
    kept = [cell for cell, row in zip(table["cell"], ROWS, strict=True) if row == "x"]
    assert cells_of(released["cell"]) == cells_of(kept)
    released.validate(full=True)


@pytest.mark.parametrize("kind", EVERY_TYPE, ids=str)
def test_a_slice_of_a_table_holds_no_other_row(kind: Any) -> None:
    table = pa.table({"cell": column_of(kind, [HIDDEN, 3, 4, 5, HIDDEN])})

    cleaned = clean_table(table.slice(1, 3))

    assert leftovers(memory_of(cleaned), needles_of(kind)) == []
    assert cells_of(cleaned["cell"]) == cells_of(table["cell"])[1:4]
    cleaned.validate(full=True)


@pytest.mark.parametrize(
    "kind", [x for x in EVERY_TYPE if "union" not in str(x)], ids=str
)
def test_nothing_is_left_under_missing_cells(kind: Any) -> None:
    if pa.types.is_run_end_encoded(kind):
        pytest.skip("is missing in its values only")
    table = pa.table({"cell": _masked(column_of(kind, NUMBERS))})
    assert leftovers(memory_of(table), needles_of(kind)) == needles_of(kind)

    cleaned = clean_table(table)

    assert leftovers(memory_of(cleaned), needles_of(kind)) == []
    shown = dict(zip(KEPT, cells_of(column_of(kind, KEPT)), strict=True))
    assert cells_of(cleaned["cell"]) == [shown.get(number) for number in NUMBERS]
    cleaned.validate(full=True)


def _masked(array: Any) -> Any:
    """Return an array whose hidden cells are missing, with their bytes in place."""
    shown = np.array([number != HIDDEN for number in NUMBERS])
    bits = pa.py_buffer(np.packbits(shown, bitorder="little").tobytes())
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _masked(array.storage))
    if pa.types.is_dictionary(kind):
        codes = _masked(array.indices)
        return pa.DictionaryArray.from_arrays(
            codes, array.dictionary, ordered=kind.ordered
        )
    own = array.buffers()
    if not kind.num_fields:
        return pa.Array.from_buffers(kind, len(array), [bits, *own[1:]])
    if pa.types.is_struct(kind):
        children = [array.field(i) for i in range(kind.num_fields)]
    else:
        children = [array.values]
    buffers = [bits, *own[1 : kind.num_buffers]]
    return pa.Array.from_buffers(kind, len(array), buffers, children=children)


def test_columns_read_from_one_message_do_not_hold_each_other() -> None:
    # Arrow's IPC reads a batch as one buffer: every column refers to all of it.
    table = pa.table({"a": [1] * 4, "id": [SECRET] * 4, "b": [1, 2, 3, 4]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    read = pa.ipc.open_stream(sink.getvalue()).read_all()
    spec = Spec(("a",), (KAnonymity(2),), identifiers=("id",))

    released = anonymize(read, spec).data

    assert leftovers(memory_of(released), [NEEDLE]) == []


def test_neighbours_do_not_show_in_the_last_byte_of_bits() -> None:
    truths = pa.array([False, True, True, True, True])

    cleaned = clean_table(pa.table({"a": truths.slice(0, 1)}))

    assert cleaned["a"].chunk(0).buffers()[1].to_pybytes() == b"\x00"


def test_equal_entries_of_a_dictionary_cannot_be_told_apart() -> None:
    codes, values = pa.array([0, 1, 2, 1]), pa.array(["u", "u", None])
    table = pa.table({"a": pa.DictionaryArray.from_arrays(codes, values)})

    cleaned = clean_table(table)["a"].chunk(0)

    assert cleaned.dictionary.to_pylist() == ["u"]
    assert cleaned.indices.to_pylist() == [0, 0, None, 0]


def test_runs_do_not_show_where_a_row_was_left_out() -> None:
    runs = pc.run_end_encode(pa.array([1, 1, 7, 1, 1, 8, 1, 1]))

    released = anonymize(pa.table({"a": ROWS, "run": runs}), losing_spec()).data

    assert released["run"].chunk(0).run_ends.to_pylist() == [6]


def test_chunks_do_not_show_where_a_row_was_left_out(tmp_path: Path) -> None:
    halves = [ROWS[:4], ROWS[4:]], [[1, 2, 3, 4], [5, 6, 7, 8]]
    table = pa.table(
        {
            name: pa.chunked_array(parts)
            for name, parts in zip("ab", halves, strict=True)
        }
    )

    release = anonymize(table, losing_spec())
    release.save(tmp_path / "a.arrow")

    assert release.data["b"].to_pylist() == [1, 2, 4, 5, 7, 8]
    assert [column.num_chunks for column in release.data.columns] == [1, 1]
    with pa.ipc.open_file(tmp_path / "a.arrow") as file:
        assert file.num_record_batches == 1


def test_a_text_that_is_too_long_for_one_chunk_is_halved_by_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def concat(arrays: list[pa.Array]) -> pa.Array:
        if sum(map(len, arrays)) > 3:
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return joined(arrays)

    joined = pa.concat_arrays
    monkeypatch.setattr(pa, "concat_arrays", concat)

    cleaned = clean_column(pa.chunked_array([["a"], ["b", "c"], ["d", "e"]]))

    assert [len(chunk) for chunk in cleaned.chunks] == [2, 3]
    assert cleaned.to_pylist() == list("abcde")


def test_an_ordered_dictionary_keeps_its_order_over_chunks() -> None:
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    values = pa.array(["low", SECRET, "mid", "high"])
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), values, ordered=True)
        for codes in ([3, 0], [2, 3])
    ]

    cleaned = clean_table(pa.table({"a": pa.chunked_array(chunks, kind)}))["a"]

    assert cleaned.to_pylist() == ["high", "low", "mid", "high"]
    assert cleaned.chunk(0).dictionary.to_pylist() == ["low", "mid", "high"]


def test_dictionaries_that_are_too_long_together_are_joined_by_what_is_used() -> None:
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1], pa.int8()), pa.array([f"{name}{i}" for i in range(100)])
        )
        for name in "pq"
    ]

    cleaned = clean_table(pa.table({"a": pa.chunked_array(chunks)}))["a"]

    assert cleaned.to_pylist() == ["p0", "p1", "q0", "q1"]


def test_notes_on_tables_and_columns_do_not_leave() -> None:
    inner = pa.field("x", pa.int64(), metadata={"by": SECRET})
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), metadata={"by": SECRET}),
            pa.field("s", pa.struct([inner]), metadata={"by": SECRET}),
            pa.field("l", pa.list_(pa.field("item", pa.struct([inner])))),
            pa.field("e", pa.int64(), metadata={"ARROW:extension:name": "own.kind"}),
        ],
        metadata={"by": SECRET},
    )
    rows = {"a": [1, 1], "s": [{"x": 1}] * 2, "l": [[{"x": 1}]] * 2, "e": [1, 2]}
    table = pa.table(rows, schema=schema)
    assert leftovers(memory_of(table), [NEEDLE]) == [NEEDLE]

    released = anonymize(table, Spec(("a",), (KAnonymity(2),))).data

    assert leftovers(memory_of(released), [NEEDLE]) == []
    kept = released.schema.field("e").metadata
    assert kept == {b"ARROW:extension:name": b"own.kind"}


# pandas

SHOWN = [word(number) for number in NUMBERS]
MOMENTS = pd.to_datetime([number * 86_400_000 for number in NUMBERS], unit="ms")
PANDAS: dict[str, tuple[Any, list[bytes]]] = {
    "object": (pd.Series(SHOWN, dtype=object), [NEEDLE]),
    "str": (pd.Series(SHOWN), [NEEDLE]),
    "string[python]": (pd.Series(SHOWN, dtype="string[python]"), [NEEDLE]),
    "string[pyarrow]": (pd.Series(SHOWN, dtype="string[pyarrow]"), [NEEDLE]),
    "category": (pd.Series(SHOWN, dtype="category"), [NEEDLE]),
    "ordered category": (
        pd.Series(pd.Categorical(SHOWN, ordered=True)),
        [NEEDLE],
    ),
    "int64": (pd.Series(NUMBERS), [cell_bytes(pa.int64(), HIDDEN)]),
    "Int64": (pd.Series(NUMBERS, dtype="Int64"), [cell_bytes(pa.int64(), HIDDEN)]),
    "Float64": (
        pd.Series(NUMBERS, dtype="Float64"),
        [np.float64(HIDDEN).tobytes()],
    ),
    "datetime64": (pd.Series(MOMENTS), [MOMENTS.asi8[2].tobytes()]),
    "timestamp with zone": (
        pd.Series(MOMENTS.tz_localize("UTC")),
        [MOMENTS.asi8[2].tobytes()],
    ),
    "interval": (
        pd.Series(
            pd.arrays.IntervalArray.from_arrays(NUMBERS, [x + 1 for x in NUMBERS])
        ),
        [cell_bytes(pa.int64(), HIDDEN)],
    ),
    "sparse": (
        pd.Series(pd.arrays.SparseArray(NUMBERS, fill_value=HIDDEN)),
        [cell_bytes(pa.int32(), HIDDEN)],
    ),
    "arrays in cells": (
        pa.array([[number, number] for number in NUMBERS]).to_pandas(),
        [cell_bytes(pa.int64(), HIDDEN)],
    ),
    "arrays in dicts": (
        pa.array([{"x": [number, number]} for number in NUMBERS]).to_pandas(),
        [cell_bytes(pa.int64(), HIDDEN)],
    ),
    **{
        f"{kind}[pyarrow]": (
            pd.Series(pd.arrays.ArrowExtensionArray(column_of(kind, NUMBERS))),
            needles_of(kind),
        )
        for kind in (
            *(pa.string(), pa.int64(), pa.dictionary(pa.int16(), pa.string())),
            *(pa.list_(pa.string()), pa.struct({"s": pa.string(), "n": pa.int64()})),
        )
    },
}


@pytest.mark.parametrize(("column", "needles"), PANDAS.values(), ids=PANDAS)
def test_pandas_memory_holds_no_suppressed_cell(
    column: Any, needles: list[bytes]
) -> None:
    frame = pd.DataFrame({"a": ROWS, "cell": column})
    assert leftovers(memory_of(frame), needles)

    released = anonymize(frame, losing_spec()).data[["cell"]]

    assert leftovers(memory_of(released), needles) == []
    kept = column[[row == "x" for row in ROWS]].astype(object).tolist()
    assert str(released["cell"].astype(object).tolist()) == str(kept)
    assert type(released["cell"].dtype) is type(column.dtype)


@pytest.mark.parametrize(
    "kind",
    [
        "Int64",
        "Float64",
        "int64",
        "category",
        "str",
        "string[python]",
        "int64[pyarrow]",
    ],
)
def test_pandas_memory_holds_no_blanked_cell(kind: str) -> None:
    column, needles = PANDAS[kind]
    frame = pd.DataFrame({"a": ROWS, "cell": column})

    released = _blanked(frame)

    assert released["cell"].isna().tolist() == [row != "x" for row in ROWS]
    assert leftovers(memory_of(released[["cell"]]), needles) == []


def _blanked(frame: Any) -> Any:
    models = (KAnonymity(6), DistinctLDiversity(2, "cell"))
    return anonymize(frame, losing_spec(models=models, suppressed="blank")).data


def test_pandas_notes_and_index_do_not_leave() -> None:
    names = [SECRET, *(f"person {i}" for i in range(7))]
    index = pd.Index(names, name=SECRET)
    frame = pd.DataFrame({"a": [1] * 8, "b": range(8)}, index=index)
    frame.attrs["collected by"] = SECRET
    frame.columns.name = SECRET

    released = anonymize(frame, Spec(("a",), (KAnonymity(2),))).data

    assert leftovers(memory_of(released), [NEEDLE]) == []
    assert released.index.equals(pd.RangeIndex(8))
    assert (released.attrs, released.columns.name) == ({}, None)
    assert released["b"].tolist() == list(range(8))


def test_numbers_of_rows_do_not_tell_which_are_gone() -> None:
    released = anonymize(pd.DataFrame({"a": ROWS, "b": NUMBERS}), losing_spec()).data

    assert released.index.equals(pd.RangeIndex(6))


def test_a_column_is_no_view_of_the_identifiers_beside_it() -> None:
    frame = pd.DataFrame(np.array([[1, HIDDEN, 2]] * 4), columns=["a", "id", "b"])
    spec = Spec(("a",), (KAnonymity(2),), identifiers=("id",))

    released = anonymize(frame, spec).data

    assert leftovers(memory_of(released), [cell_bytes(pa.int64(), HIDDEN)]) == []


# polars

ENUM = pl.Enum(list(dict.fromkeys(SHOWN)))
POLARS: dict[str, tuple[pl.Series, list[bytes]]] = {
    "String": (pl.Series(SHOWN), [NEEDLE]),
    "Int64": (pl.Series(NUMBERS), [cell_bytes(pa.int64(), HIDDEN)]),
    "Categorical": (pl.Series(SHOWN, dtype=pl.Categorical), [NEEDLE]),
    "Enum": (pl.Series(SHOWN, dtype=ENUM), [NEEDLE]),
    "List(String)": (pl.Series([[x, x] for x in SHOWN]), [NEEDLE]),
    "List(Categorical)": (
        pl.Series([[x] for x in SHOWN], dtype=pl.List(pl.Categorical)),
        [NEEDLE],
    ),
    "Array(Enum)": (pl.Series([[x] for x in SHOWN], dtype=pl.Array(ENUM, 1)), [NEEDLE]),
    "Struct": (
        pl.Series(
            [{"s": x, "e": x, "n": n} for x, n in zip(SHOWN, NUMBERS, strict=True)],
            dtype=pl.Struct({"s": pl.String, "e": ENUM, "n": pl.Int64}),
        ),
        [NEEDLE, cell_bytes(pa.int64(), HIDDEN)],
    ),
    "Datetime": (
        pl.Series([dt.datetime(2020, 1, 1) + dt.timedelta(days=x) for x in NUMBERS]),
        [],
    ),
    "Decimal": (
        pl.Series([Decimal(x) for x in NUMBERS]),
        [cell_bytes(pa.decimal128(38), HIDDEN)],
    ),
}


@pytest.mark.parametrize(("column", "needles"), POLARS.values(), ids=POLARS)
def test_polars_memory_holds_no_suppressed_cell(
    column: pl.Series, needles: list[bytes]
) -> None:
    frame = pl.DataFrame({"a": ROWS, "cell": column})

    released = anonymize(frame, losing_spec()).data.select("cell")

    assert leftovers(memory_of(released), needles) == []
    kept = column.filter(pl.Series(ROWS) == "x").to_list()
    assert released["cell"].to_list() == kept


@pytest.mark.parametrize("kind", ["String", "Int64", "Categorical", "Enum"])
def test_polars_memory_holds_no_blanked_cell(kind: str) -> None:
    column, needles = POLARS[kind]

    released = _blanked(pl.DataFrame({"a": ROWS, "cell": column}))

    assert released["cell"].null_count() == 2
    assert leftovers(memory_of(released.select("cell")), needles) == []


def test_polars_types_without_arrow_come_back_as_they_were() -> None:
    wide = pl.Series("w", [1, None, 2**100], dtype=pl.Int128)
    lists = pl.Series("l", [[1], None, [2**100]], dtype=pl.List(pl.Int128))
    things = pl.Series("o", [(1,), None, {"a"}], dtype=pl.Object)

    cleaned = clean_frame(pl.DataFrame([wide, lists, things]))

    assert cleaned.schema == {"w": wide.dtype, "l": lists.dtype, "o": pl.Object}
    assert cleaned.rows() == [(1, [1], (1,)), (None,) * 3, (2**100, [2**100], {"a"})]


# Files


SUFFIXES = [".parquet", ".arrow", ".feather", ".csv"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", EVERY_TYPE, ids=str)
def test_files_hold_no_row_beyond_the_table(
    tmp_path: Path, kind: Any, suffix: str
) -> None:
    file = tmp_path / f"a{suffix}"

    _write(table_of(kind).slice(3, 2), file)

    assert leftovers(file_memory(file), needles_of(kind, shortest=4)) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_hold_no_suppressed_cell(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a{suffix}"
    columns = {str(i): column_of(kind, NUMBERS) for i, kind in enumerate(_in(suffix))}
    needles = [x for kind in _in(suffix) for x in needles_of(kind, shortest=4)]
    table = pa.table({"a": ROWS, **columns})

    _write(anonymize(table, losing_spec()).data, file)

    assert leftovers(file_memory(file), needles) == []


def _in(suffix: str) -> list[Any]:
    """Return types that a format has."""
    if suffix == ".csv":
        return [pa.string(), pa.int64(), pa.dictionary(pa.int16(), pa.string())]
    names = (
        "union",
        "run_end",
        "interval",
        "dictionary<values=list",
        "<s: string_view",
    )
    lacks = names if suffix == ".parquet" else ()
    return [x for x in EVERY_TYPE if not any(name in str(x) for name in lacks)]


def _write(table: pa.Table, file: Path) -> None:
    try:
        write_table(table, file)
    except OutputError as error:
        if re.search("no CSV form|NotImplemented", str(error)) is None:
            raise
        pytest.skip("the format has no such type")


def file_memory(file: Path) -> list[bytes]:
    """Return the bytes of a file, and those it holds compressed."""
    held = [file.read_bytes()]
    if file.suffix in (".arrow", ".feather"):
        with pa.ipc.open_file(file) as reader:
            held.extend(memory_of(reader.read_all()))
    if file.suffix == ".parquet":
        texts = [
            x.path_in_schema for x in _chunks(file) if x.physical_type == "BYTE_ARRAY"
        ]
        # Arrow hands the dictionary of a page over as it is.
        held.extend(memory_of(pq.read_table(file, read_dictionary=texts)))
    return held


def _chunks(file: Path) -> list[Any]:
    group = pq.read_metadata(file).row_group(0)
    return [group.column(i) for i in range(group.num_columns)]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_streamed_files_hold_no_suppressed_cell(tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / f"b{suffix}"
    kinds = _in(suffix)
    columns = {str(i): column_of(kind, NUMBERS) for i, kind in enumerate(kinds)}
    pq.write_table(pa.table({"a": ROWS, **columns}), source)

    anonymize_files(source, target, losing_spec())

    needles = [x for kind in kinds for x in needles_of(kind, shortest=4)]
    assert leftovers(file_memory(target), needles) == []


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_the_row_order_of_the_source_is_nowhere_in_a_shuffled_file(
    tmp_path: Path, suffix: str
) -> None:
    numbers = [7, 3, 5, 3, 6, 4, 5, 9, 8, 2]
    kinds = [x for x in _in(suffix) if not pa.types.is_dictionary(x) or not x.ordered]
    kinds = [x for x in kinds if "interval" not in str(x) and "union" not in str(x)]
    spec = Spec(("a",), (KAnonymity(5),), shuffle=3)
    files = []
    for n, order in enumerate((numbers, numbers[::-1], sorted(numbers))):
        columns = {str(i): column_of(kind, order) for i, kind in enumerate(kinds)}
        released = anonymize(pa.table({"a": [1] * 10, **columns}), spec).data
        write_table(released, tmp_path / f"{n}{suffix}")
        files.append((tmp_path / f"{n}{suffix}").read_bytes())

    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
def test_a_dictionary_page_does_not_undo_the_shuffle(
    cli: Command, tmp_path: Path, suffix: str
) -> None:
    files = []
    for order in (SHOWN, SHOWN[::-1]):
        pq.write_table(pa.table({"a": [1] * 8, "cell": order}), tmp_path / "a.parquet")
        target = tmp_path / f"{len(files)}{suffix}"
        done = cli(
            *("anonymize", "a.parquet", target.name, "--qid", "a"),
            *("--k", 4, "--shuffle", 3),
        )
        assert done.code == 0, done.err
        files.append(target.read_bytes())

    assert files[0] == files[1]


@pytest.mark.parametrize("kind", ["category", "polars"])
def test_categories_do_not_undo_the_shuffle(kind: str) -> None:
    def categories(order: list[str]) -> list[str]:
        spec = Spec(("a",), (KAnonymity(5),), shuffle=3)
        if kind == "polars":
            cell = pl.Series(order, dtype=pl.Categorical)
            shown = anonymize(pl.DataFrame({"a": [1] * 8, "cell": cell}), spec).data
            dtype: Any = shown["cell"].dtype
            return list(dtype.categories.to_series())
        listed = pd.Categorical(order, categories=list(dict.fromkeys(order)))
        released = anonymize(pd.DataFrame({"a": [1] * 8, "cell": listed}), spec).data
        return list(released["cell"].cat.categories)

    assert categories(SHOWN) == categories(SHOWN[::-1])


def test_pandas_reads_its_types_again_and_no_count_of_categories(
    tmp_path: Path,
) -> None:
    frame = pd.DataFrame(
        {
            "age": pd.array([1, None, 3], dtype="Int64"),
            "kind": pd.Categorical(["u", "v", "u"], categories=["u", "v", SECRET]),
        },
        index=pd.Index(["p", "q", "r"], name="key"),
    )
    frame.attrs["secret"] = SECRET
    frame.to_parquet(tmp_path / "a.parquet")

    write_table(read_table(tmp_path / "a.parquet"), tmp_path / "b.parquet")

    again = pd.read_parquet(tmp_path / "b.parquet")
    assert again["age"].dtype == "Int64"
    assert again["kind"].tolist() == ["u", "v", "u"]
    assert again["key"].tolist() == ["p", "q", "r"]  # a column, for all to see
    notes = pq.read_schema(tmp_path / "b.parquet").metadata[b"pandas"]
    assert b"num_categories" not in notes
    assert leftovers(file_memory(tmp_path / "b.parquet"), [NEEDLE]) == []


def test_replaced_values_are_gone_from_categories() -> None:
    cells = ["p", "p", "p", "q"] * 2
    frame = pd.DataFrame(
        {"a": [1] * 4 + [2] * 4, "s": pd.Categorical(cells, ["p", "q", SECRET])}
    )
    frame.attrs["by"] = SECRET

    done = p_sensitize(frame, ["a"], "s", p=2, k=4)

    assert leftovers(memory_of(done.data), [NEEDLE]) == []
    assert set(done.data["s"].cat.categories) == set(done.data["s"])


@pytest.mark.parametrize("how", ["whole", "streamed"])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_polars_files_with_lists_of_text_lose_rows(
    tmp_path: Path, suffix: str, how: str
) -> None:
    frame = pl.DataFrame({"a": ROWS, "l": [[x, None] for x in SHOWN], "s": SHOWN})
    source, target = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    (frame.write_parquet if suffix == ".parquet" else frame.write_ipc)(source)

    if how == "whole":
        table = read_table(source)
        released = anonymize(table, losing_spec()).data
        write_table(released, target, source=source_schema(table))
    elif suffix == ".parquet":
        anonymize_files(source, target, losing_spec())
    else:
        pytest.skip("streams read CSV and Parquet")

    again = (pl.read_parquet if suffix == ".parquet" else pl.read_ipc)(target)
    assert again.schema == frame.schema
    assert again["l"].to_list() == [[word(number), None] for number in KEPT]
    assert leftovers(file_memory(target), [NEEDLE]) == []
