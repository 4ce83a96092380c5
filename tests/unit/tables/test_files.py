"""Files: what comes back is what went in, and failures leave nothing behind."""

import datetime as dt
import errno
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian.errors import DataError, MondrianError, OutputError, SpecError
from core_mondrian.tables.files import atomic_write as place
from core_mondrian.tables.files import csv_text, write
from core_mondrian.tables.files.atomic_write import check_target, write_files
from core_mondrian.tables.files.kinds import source_schema
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.staging import draft_folder, private_folder
from core_mondrian.tables.files.write import table_writer, write_table

CANARY = "CANARY-7391"
IS_ROOT = os.geteuid() == 0


def csv_file(folder: Path, content: str | bytes, name: str = "in.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Reading CSV


def test_typed_columns_get_types_and_others_stay_text(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "age,day,note,zip\n3,2020-01-02,1.50,01234\n4,,,9\n")

    table = read_table(path, typed=["age", "day", "zip"])

    assert table["age"].to_pylist() == [3, 4]
    assert table["day"].to_pylist() == [dt.date(2020, 1, 2), None]
    assert table["note"].to_pylist() == ["1.50", None]
    assert table["zip"].to_pylist() == ["01234", "9"]
    assert source_schema(table).types == [
        pa.int64(),
        pa.date32(),
        pa.string(),
        pa.string(),
    ]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(["1", "-2", ""], [1, -2, None], id="whole numbers"),
        pytest.param(["1.5", "1e3"], [1.5, 1000.0], id="numbers"),
        pytest.param(["true", "false"], [True, False], id="truth"),
        pytest.param(["0", "10"], [0, 10], id="zero itself"),
        pytest.param(["0.5", "10"], [0.5, 10.0], id="zero before a point"),
        pytest.param(["007", "10"], ["007", "10"], id="leading zeros"),
        pytest.param(["-01", "1.5"], ["-01", "1.5"], id="leading zeros in one of many"),
        pytest.param(["0x1F", "1"], ["0x1F", "1"], id="hexadecimal"),
        pytest.param(["9" * 19, "1"], ["9" * 19, "1"], id="more than 64 bits"),
        pytest.param(["", ""], [None, None], id="nothing but missing"),
        pytest.param(["x", " x "], ["x", " x "], id="spaces"),
        pytest.param(
            ["x,y", 'say "a"', "a\nb"], ["x,y", 'say "a"', "a\nb"], id="quoted"
        ),
    ],
)
def test_types_are_inferred_from_all_values(
    tmp_path: Path, cells: list[str], expected: list[Any]
) -> None:
    lines = "".join('"' + cell.replace('"', '""') + '",x\n' for cell in cells)
    path = csv_file(tmp_path, "a,b\n" + lines)

    assert read_table(path)["a"].to_pylist() == expected


def test_arrows_threads_get_no_object_of_pythons_for_small_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may still have it when Python ends: one command in 70 was aborted so."""
    told: list[bool] = []
    read = pa_csv.read_csv

    def watched(source: Any, options: Any, *more: Any) -> Any:
        told.append(options.use_threads)
        return read(source, options, *more)

    monkeypatch.setattr(pa_csv, "read_csv", watched)
    path = tmp_path / "people.csv"
    path.write_text("age,city\n1,a\n2,b\n")

    read_table(path)

    assert told
    assert not any(told)


def test_null_values_apply_to_typed_columns_only(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a,b,c\n1,NA,NA\nNA,NA,x\n,,\n")

    table = read_table(path, typed=["a", "c"], null_values=("NA", ""))

    assert table.to_pydict() == {
        "a": [1, None, None],
        "b": ["NA", "NA", None],
        "c": [None, "x", None],
    }


def test_without_inference_texts_stay_but_missing_is_missing(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a,b\n1,x\n1.0,NA\n")

    table = read_table(path, null_values=("NA",), infer=False)

    assert table.to_pydict() == {"a": ["1", "1.0"], "b": ["x", None]}


def test_byte_order_mark_and_line_ends_are_no_data(tmp_path: Path) -> None:
    path = csv_file(tmp_path, b"\xef\xbb\xbfa,b\r\n1,x\r\n\r\n2,y\r\n")

    assert read_table(path).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_an_empty_line_is_a_missing_value_in_a_table_of_one_column(
    tmp_path: Path,
) -> None:
    path = csv_file(tmp_path, "a\n1\n\n2\n")

    assert read_table(path)["a"].to_pylist() == [1, None, 2]


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\n\n"])
def test_a_header_alone_is_a_table_without_rows(tmp_path: Path, content: str) -> None:
    table = read_table(csv_file(tmp_path, content))

    assert (table.num_rows, table.column_names) == (0, ["a", "b"])


def test_many_blocks_have_one_type(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(csv_text, "BLOCK", 64)
    lines = "".join(f"{i % 7},name {i}\n" for i in range(500)) + "x,last\n"
    table = read_table(csv_file(tmp_path, "a,b\n" + lines), typed=["a"])

    assert table["a"].to_pylist() == [str(i % 7) for i in range(500)] + ["x"]
    assert table["b"].to_pylist()[-2:] == ["name 499", "last"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("a.csv", b"", "empty", id="empty"),
        pytest.param("a.csv", b"\n\n", "empty", id="blank lines only"),
        pytest.param("a.parquet", b"", "empty", id="empty parquet"),
        pytest.param(
            "a.csv", b"a,b\n1\n", "row 2: expected 2 values, found 1", id="short"
        ),
        pytest.param("a.csv", b"a,b\n1,2\n1,2,3\n", "row 3: .* found 3", id="long"),
        pytest.param("a.csv", b'a,b\n1,"CANARY-7391', "inside a quoted", id="cut"),
        pytest.param("a.csv", b"a,b\n1,CANARY-7391\xff\n", "UTF-8", id="bytes"),
        pytest.param("a.csv", b"a,\xff\n1,2\n", "UTF-8", id="header bytes"),
        pytest.param("a.csv", b"\xff\xfea\x00\n", "no utf-16", id="UTF-16 cut"),
        pytest.param("a.csv", b"a,a\n1,2\n", "once: 'a'", id="names twice"),
        pytest.param("a.parquet", b"CANARY-7391", "not a Parquet", id="not parquet"),
        pytest.param("a.arrow", b"CANARY-7391" * 9, "not an Arrow", id="not arrow"),
        pytest.param("a.feather", b"CANARY-7391" * 9, "not an Arrow", id="not feather"),
        pytest.param("a.xlsx", b"CANARY-7391", "unknown kind", id="suffix"),
        pytest.param("a", b"CANARY-7391", "unknown kind", id="no suffix"),
    ],
)
def test_bad_files_are_refused_without_quoting_them(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = csv_file(tmp_path, content, name)

    with pytest.raises(DataError, match=message) as caught:
        read_table(path)

    assert CANARY not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_truncated_files_are_refused(tmp_path: Path, suffix: str, share: float) -> None:
    whole = tmp_path / f"whole{suffix}"
    write_table(pa.table({"a": [f"{CANARY} {i}" for i in range(999)]}), whole)
    content = whole.read_bytes()
    path = csv_file(tmp_path, content[: int(len(content) * share)], f"cut{suffix}")

    with pytest.raises(DataError) as caught:
        read_table(path)

    assert CANARY not in str(caught.value)


def test_invalid_text_in_parquet_is_refused(tmp_path: Path) -> None:
    wrong = pa.array([b"ok", b"\xff\xfe"]).view(pa.string())
    pq.write_table(pa.table({"a": wrong}), tmp_path / "a.parquet")

    with pytest.raises(DataError, match="UTF-8"):
        read_table(tmp_path / "a.parquet")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()

    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="a folder"):
        read_table(tmp_path / "folder.csv")


@pytest.mark.skipif(IS_ROOT, reason="root may read everything")
def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "a\n1\n")
    path.chmod(0)

    with pytest.raises(DataError, match="cannot be read"):
        read_table(path)


def test_an_error_while_opening_is_told_without_content(
    tmp_path: Path, monkeypatch: Any
) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    path = csv_file(tmp_path, "a\n1\n")
    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(DataError, match="Permission denied"):
        read_table(path)


def test_parquet_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "a.parquet")

    with pytest.raises(DataError, match="more than once"):
        read_table(tmp_path / "a.parquet")


# Round trips

EVERYTHING = {
    "text": pa.array(["x", "y", None, "x"]),
    "large": pa.array(["x", "y", None, "x"], pa.large_string()),
    "view": pa.array(["x", "y", None, "x"], pa.string_view()),
    "whole": pa.array([1, 2, None, 4]),
    "float": pa.array([1.5, None, float("inf"), -0.0]),
    "truth": pa.array([True, None, False, True]),
    "day": pa.array([dt.date(2020, 1, 1), None, None, dt.date(1999, 1, 1)]),
    "time": pa.array([dt.datetime(2020, 1, 1, 2, 3), None, None, None]),
    "money": pa.array([Decimal("1.50"), None, None, None]),
    "bytes": pa.array([b"x", None, b"y", b"x"]),
    "list": pa.array([[1], None, [], [2]]),
    "struct": pa.array([{"a": "x"}, None, {"a": None}, {"a": "x"}]),
    "null": pa.nulls(4),
    "coded": pa.array(["u", "v", None, "u"]).dictionary_encode(),
}


@pytest.mark.parametrize("suffix", [".parquet", ".pq", ".arrow", ".feather", ".ipc"])
def test_types_and_values_survive(tmp_path: Path, suffix: str) -> None:
    table = pa.table(EVERYTHING)
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"

    write_table(table, first)
    write_table(read_table(first), second)

    reader = pq.read_table if suffix in (".parquet", ".pq") else pa_feather.read_table
    again = reader(second)
    assert again.schema.remove_metadata() == table.schema
    assert again.to_pydict() == table.to_pydict()


def test_old_arrow_is_not_asked_to_compress_views(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = pa.array(["a long text that is seen many times"] * 999, pa.string_view())
    nested = pa.StructArray.from_arrays([views], ["a"])
    file = tmp_path / "a.feather"
    monkeypatch.setattr("core_mondrian.tables.files.write._COMPRESSES_VIEWS", 10_000)

    write_table(pa.table({"a": nested}), file)

    assert pa_feather.read_table(file) == pa.table({"a": nested})
    assert file.stat().st_size > 999 * 16  # A view takes 16 bytes.


def test_text_read_as_codes_is_text_for_every_reader(tmp_path: Path) -> None:
    source, target = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"a": ["x", None, "y"] * 100}), source)
    table = read_table(source)
    assert pa.types.is_dictionary(table.schema.field("a").type)

    write_table(table, target)

    assert pq.read_table(target).schema == pa.schema({"a": pa.string()})
    assert pl.read_parquet(target).schema == {"a": pl.String}
    text = "str" if int(pd.__version__.split(".")[0]) >= 3 else "object"
    assert pd.read_parquet(target)["a"].dtype == text
    assert pq.read_metadata(target).row_group(0).column(0).statistics is None


def test_text_with_mostly_distinct_values_is_read_as_text(tmp_path: Path) -> None:
    texts = [f"person number {i:09d}" for i in range(200_000)]
    pq.write_table(pa.table({"a": texts}), tmp_path / "a.parquet")

    assert read_table(tmp_path / "a.parquet").schema.field("a").type == pa.string()


def test_released_text_in_place_of_numbers_is_written_as_text(tmp_path: Path) -> None:
    source = pa.schema({"age": pa.int64()})
    released = pa.table({"age": pa.array(["20-30", "20-30"]).dictionary_encode()})

    write_table(released, tmp_path / "a.parquet", source=source)

    assert pq.read_schema(tmp_path / "a.parquet").field("age").type == pa.string()


def test_pandas_notes_are_dropped_where_they_no_longer_hold(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": pd.array([1, None, 3], dtype="Int64"), "b": [1, 2, 3]})
    frame.to_parquet(tmp_path / "a.parquet")
    schema = source_schema(read_table(tmp_path / "a.parquet"))
    released = pa.table({"age": ["1-3", "1-3"], "b": [1, 2]})

    write_table(released, tmp_path / "b.parquet", source=schema)

    again = pd.read_parquet(tmp_path / "b.parquet")
    assert again["age"].tolist() == ["1-3", "1-3"]
    assert again.index.tolist() == [0, 1]


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".csv"])
def test_files_hold_no_value_the_table_does_not_show(
    tmp_path: Path, suffix: str
) -> None:
    codes = pa.array([0, 0, None], pa.int32())
    texts = pa.array(["shown", CANARY, None])
    under_null = pa.StringArray.from_buffers(
        2,
        pa.py_buffer(b"\x00\x00\x00\x00\x0b\x00\x00\x00\x10\x00\x00\x00"),
        pa.py_buffer(CANARY.encode() + b"shown"),
        pa.py_buffer(b"\x02"),
    )
    shown = pa.array(["shown"])
    table = pa.table(
        {
            "coded": pa.DictionaryArray.from_arrays(codes, texts),
            "null": pa.chunked_array([under_null, shown]),
        },
        metadata={"note": CANARY},
    )
    target = tmp_path / f"a{suffix}"

    write_table(table, target, source=table.schema.with_metadata({"pandas": CANARY}))

    content = target.read_bytes()
    assert CANARY.encode() not in content
    assert read_table(target).to_pydict() == {
        "coded": ["shown", "shown", None],
        "null": [None, "shown", "shown"],
    }


def test_chunks_with_dictionaries_of_their_own_are_written(tmp_path: Path) -> None:
    first = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2]), pa.array(["x", None, "x"])
    )
    second = pa.array(["z", "y"]).dictionary_encode().cast(first.type)
    table = pa.table({"a": pa.chunked_array([first, second])})

    for suffix in (".parquet", ".arrow", ".csv"):
        write_table(table, tmp_path / f"a{suffix}")
        again = read_table(tmp_path / f"a{suffix}")
        assert again["a"].to_pylist() == ["x", None, "x", "z", "y"]


@pytest.mark.parametrize("suffix", [".arrow", ".feather"])
def test_more_text_than_one_arrow_array_holds_is_written_in_pieces(
    tmp_path: Path, suffix: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(write, "_MOST_TEXT", 11)
    cells = ["five5", None, "five5", "", "five5"]
    table = pa.table({"a": pa.array(cells).dictionary_encode()})
    target = tmp_path / f"a{suffix}"

    write_table(table, target, source=pa.schema({"a": pa.string()}))

    again = pa_feather.read_table(target)["a"]
    assert again.type == pa.string()
    assert again.to_pylist() == cells
    assert [len(chunk) for chunk in again.chunks] == [2, 2, 1]


def test_csv_is_quoted_only_where_needed(tmp_path: Path) -> None:
    texts = ["plain", "a,b", 'a"b', "a\nb", "", None]
    numbers = [1.5, float("nan"), None, 3.0, 1e300, 0.1]
    table = pa.table({"a b": pa.array(texts).dictionary_encode(), "n": numbers})

    write_table(table, tmp_path / "a.csv")

    written = (tmp_path / "a.csv").read_text()
    assert written.startswith('a b,n\nplain,1.5\n"a,b",\n"a""b",\n"a\nb",3')
    assert written.endswith('"",1e+300\n,0.1\n')


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\x00\ufeff"), min_size=1
)


@settings(deadline=None, max_examples=60)
@given(
    names=st.lists(NAMES, min_size=1, max_size=3, unique=True),
    cells=st.lists(st.text(st.characters(codec="utf-8")), min_size=1, max_size=6),
)
def test_any_text_survives_csv(
    names: list[str], cells: list[str], tmp_path_factory: Any
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    table = pa.table(dict.fromkeys(names, cells))

    write_table(table, path)

    again = read_table(path, typed=[])
    assert again.column_names == names
    expected = [cell or None for cell in cells]
    assert all(column.to_pylist() == expected for column in again.columns)
    reread = pd.read_csv(path, dtype=str, keep_default_na=False, lineterminator="\n")
    assert reread.shape == table.shape or any("\n" in n or "\r" in n for n in names)


def test_written_csv_is_read_alike_by_arrow(tmp_path: Path) -> None:
    table = pa.table({"a": ["x,y", 'q"', None], "b": [1, None, 3]})

    write_table(table, tmp_path / "a.csv")

    options = pa_csv.ConvertOptions(strings_can_be_null=True)
    content = io.BytesIO((tmp_path / "a.csv").read_bytes())
    assert pa_csv.read_csv(content, convert_options=options).equals(table)


def test_what_has_no_csv_form_is_refused_by_name(tmp_path: Path) -> None:
    table = pa.table({"a": [[CANARY]]})

    with pytest.raises(OutputError, match="column 'a' of type list") as caught:
        write_table(table, tmp_path / "a.csv")

    assert CANARY not in str(caught.value)
    assert leftovers(tmp_path) == []


# Writing is all or nothing


def failing(error: BaseException) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(b"half")
        raise error

    return write


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        pytest.param(
            OSError(errno.ENOSPC, "x"), OutputError, "the disk is full", id="disk full"
        ),
        pytest.param(
            pa.ArrowInvalid(f"{CANARY} [errno 28] x"), OutputError, "full", id="Arrow's"
        ),
        pytest.param(
            OSError(errno.EACCES, "x"), OutputError, "permission", id="permission"
        ),
        pytest.param(KeyboardInterrupt(), KeyboardInterrupt, "^$", id="interrupt"),
        pytest.param(ZeroDivisionError(), ZeroDivisionError, "^$", id="bug"),
    ],
)
@pytest.mark.parametrize("existing", ["old file", ""])
def test_a_failure_leaves_everything_as_it_was(
    tmp_path: Path,
    error: BaseException,
    raised: type[BaseException],
    message: str,
    existing: str,
) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "a.csv.manifest.json"
    if existing:
        first.write_bytes(b"old")

    with pytest.raises(raised, match=message) as caught:
        write_files({first: b"new", second: failing(error)}, overwrite=True)

    assert CANARY not in str(caught.value)
    assert leftovers(tmp_path) == (["a.csv"] if existing else [])
    assert not existing or first.read_bytes() == b"old"


@pytest.mark.parametrize("existing", ["old file", ""])
def test_a_failure_between_two_files_takes_the_first_back(
    tmp_path: Path, monkeypatch: Any, existing: str
) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.json"
    if existing:
        first.write_bytes(b"old")
    replace = Path.replace

    def refuse(path: Path, target: Path) -> Path:
        if Path(target).name == "b.json":
            raise KeyboardInterrupt
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)

    with pytest.raises(KeyboardInterrupt):
        write_files({first: b"new", second: b"new"}, overwrite=True)

    assert leftovers(tmp_path) == (["a.csv"] if existing else [])
    assert not existing or first.read_bytes() == b"old"


def test_old_files_are_kept_where_links_are_unknown(
    tmp_path: Path, monkeypatch: Any
) -> None:
    first = csv_file(tmp_path, "old", "a.csv")

    def refuse(*_paths: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(place, "flush", lambda _path: None)

    write_files({first: b"new"}, overwrite=True)

    assert first.read_bytes() == b"new"
    assert leftovers(tmp_path) == ["a.csv"]


def test_half_a_copy_is_never_put_back_where_links_are_unknown(
    tmp_path: Path, monkeypatch: Any
) -> None:
    first = csv_file(tmp_path, "old, and long", "a.csv")

    def refuse(*_paths: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    def copy_half(source: Path, target: Path) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:3])
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(shutil, "copy2", copy_half)

    with pytest.raises(OutputError, match="cannot be written"):
        write_files({first: b"new"}, overwrite=True)

    assert first.read_bytes() == b"old, and long"
    assert leftovers(tmp_path) == ["a.csv"]


def test_files_appear_together(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.json"
    table = pa.table({"a": [1]})

    write_files({first: table_writer(table, first), second: b"{}"})

    assert leftovers(tmp_path) == ["a.csv", "b.json"]
    assert first.read_text() == "a\n1\n"


def test_a_link_is_written_through(tmp_path: Path) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)

    write_table(pa.table({"a": [1]}), link, overwrite=True)

    assert link.is_symlink()
    assert real.read_text() == "a\n1\n"


def test_a_file_too_large_for_the_disk_is_told(tmp_path: Path) -> None:
    script = (
        "import resource, sys, pyarrow as pa\n"
        "from core_mondrian.tables.files.write import write_table\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "write_table(pa.table({'a': list(range(99999))}), sys.argv[1])\n"
    )
    for suffix in (".parquet", ".csv", ".arrow"):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", script, str(tmp_path / f"a{suffix}")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "OutputError" in done.stderr
        assert "File too large" in done.stderr
    assert leftovers(tmp_path) == []


def test_targets_are_checked_before_the_work(tmp_path: Path) -> None:
    source = csv_file(tmp_path, "a\n1\n")
    other = csv_file(tmp_path, "a\n1\n", "other.csv")
    (tmp_path / "folder.csv").mkdir()

    def refused(path: Path, **options: Any) -> MondrianError:
        with pytest.raises(MondrianError) as caught:
            check_target(path, **options)
        return caught.value

    check_target(tmp_path / "new.csv", source=source)
    check_target(other, overwrite=True, source=source)
    assert isinstance(refused(other), SpecError)
    assert "same file" in str(refused(source, overwrite=True, source=source))
    assert isinstance(refused(tmp_path / "folder.csv", overwrite=True), SpecError)
    assert isinstance(refused(Path("/dev/null"), overwrite=True), SpecError)
    assert isinstance(refused(tmp_path / "a.txt"), SpecError)
    assert isinstance(refused(tmp_path / "none" / "a.csv"), OutputError)
    check_target(tmp_path / "new.csv", source=tmp_path / "none.csv")


def test_an_existing_file_is_not_overwritten_unasked(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "old")

    with pytest.raises(SpecError, match="exists"):
        write_table(pa.table({"a": [1]}), path)
    with pytest.raises(SpecError, match="exists"):
        write_files({path: b"new"})

    assert path.read_text() == "old"


def test_a_folder_without_permission_is_refused(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)

    with pytest.raises(OutputError, match="permission"):
        check_target(tmp_path / "a.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_empty_lines_before_the_name_of_a_single_column_are_none(
    tmp_path: Path, end: str, mark: str
) -> None:
    path = tmp_path / "one.csv"
    path.write_text(mark + end * 2 + f"age{end}31{end}{end}32{end}", newline="")

    assert read_table(path).to_pydict() == {"age": [31, None, 32]}


def test_where_files_have_no_owners_folders_are_made_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, which opens no folders and has no owners of this kind."""
    monkeypatch.setattr("core_mondrian.tables.files.staging.HAS_OWNERS", False)
    monkeypatch.setattr("core_mondrian.tables.files.atomic_write.HAS_OWNERS", False)

    with draft_folder(tmp_path, private=True) as folder:
        (folder / "rows.csv").write_text("a\n1\n")
        assert [path.name for path in folder.iterdir()] == ["rows.csv"]
    assert list(tmp_path.iterdir()) == []

    with private_folder(tmp_path / "held") as held:
        assert held == tmp_path / "held"
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OutputError, match="not a folder"),
        private_folder(tmp_path / "file"),
    ):
        pass
