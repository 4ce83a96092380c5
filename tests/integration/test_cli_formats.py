"""Release formats from the command line, with tables of every type."""

import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command

ROWS = range(60)


def everything() -> pa.Table:
    """Twenty columns of twenty types, with a missing cell here and there."""
    steps = [None if i % 12 == 11 else i // 6 for i in ROWS]

    def made(convert: Callable[[int], Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if i is None else convert(i) for i in steps], kind)

    coded = made(lambda i: f"d{i}", pa.string()).dictionary_encode()
    noon = datetime(2024, 3, 1, 12)
    return pa.table(
        {
            "i8": made(int, pa.int8()),
            "i16": made(int, pa.int16()),
            "i32": made(int, pa.int32()),
            "i64": made(lambda i: 2**53 + 1 + i, pa.int64()),
            "u8": made(int, pa.uint8()),
            "u64": made(int, pa.uint64()),
            "f32": made(lambda i: i / 4, pa.float32()),
            "f64": made(lambda i: i / 10, pa.float64()),
            "decimal": made(lambda i: Decimal(i) / 4, pa.decimal128(9, 2)),
            "flag": made(lambda i: i > 4, pa.bool_()),
            "text": made(lambda i: f"t{i}", pa.string()),
            "large": made(lambda i: f"l{i}", pa.large_string()),
            "coded": coded,
            "day": made(lambda i: date(2020, 1 + i, 3), pa.date32()),
            "moment": made(lambda i: noon + timedelta(i), pa.timestamp("us")),
            "zoned": made(
                lambda i: noon + timedelta(i), pa.timestamp("ms", "Asia/Tokyo")
            ),
            "clock": made(lambda i: time(i, 30), pa.time64("us")),
            "length": made(lambda i: timedelta(hours=i), pa.duration("s")),
            "note": pa.array([f"{CANARY} {i}" for i in ROWS]),
            "number": pa.array(ROWS, pa.int32()),
        }
    )


CARRIED = ("note", "number")


def qids(table: pa.Table) -> list[str]:
    names = [name for name in table.column_names if name not in CARRIED]
    return [word for name in names for word in ("--qid", name)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    pq.write_table(everything(), path)
    return path


@pytest.mark.parametrize("numbers", ["bounds", "struct", "median", "sample"])
def test_parquet_keeps_every_type(cli: Command, source: Path, numbers: str) -> None:
    table = pq.read_table(source)
    asked = [*qids(table), "--k", "5", "--numbers", numbers]

    done = cli("anonymize", source, "out.parquet", *asked, "--class-id", "class")
    checked = cli("verify", "out.parquet", *asked)

    assert done.code == 0, done.err
    assert checked.code == 0, checked.err
    released = pq.read_table("out.parquet")
    for field in table.schema:
        kind = field.type
        is_text = field.name in ("text", "large", "coded")
        if field.name in CARRIED:
            assert released[field.name].equals(table[field.name])
        elif numbers == "bounds" and not is_text:
            found = [
                released.schema.field(f"{field.name}_{end}").type
                for end in ("min", "max")
            ]
            assert found == [kind, kind]
        elif numbers == "struct" and not is_text:
            fields = {"min": kind, "max": kind}
            assert released.schema.field(field.name).type == pa.struct(fields)
        else:
            assert released.schema.field(field.name).type == kind
    assert released.schema.field("class").type == pa.int64()


@pytest.mark.parametrize("numbers", ["interval", "bounds", "mean", "midpoint"])
def test_csv_in_csv_out(cli: Command, source: Path, numbers: str) -> None:
    table = pq.read_table(source)
    texts = [
        column.cast(pa.int64()) if pa.types.is_duration(column.type) else column
        for column in table.columns
    ]
    pa_csv.write_csv(pa.table(texts, names=table.column_names), "in.csv")
    asked = [*qids(table), "--k", "5", "--numbers", numbers]

    done = cli("anonymize", "in.csv", "out.csv", *asked, "--nice")
    checked = cli("verify", "out.csv", *asked)

    assert done.code == 0, done.err
    assert checked.code == 0, checked.err
    released = pa_csv.read_csv("out.csv")
    assert released["number"].to_pylist() == list(ROWS)
    if numbers == "bounds":
        assert released.schema.field("i64_min").type == pa.int64()
        assert released.schema.field("day_max").type == pa.date32()


def test_a_csv_file_holds_no_structs(cli: Command, source: Path) -> None:
    done = cli(
        "anonymize", source, "out.csv", "--qid", "i8", "--k", 5, "--numbers", "struct"
    )

    assert done.code == 2
    assert "bounds" in done.err
    assert not Path("out.csv").exists()


def losing(target: str, *more: object) -> list[object]:
    """Arguments that suppress one row, the only one of its kind."""
    table = pa.table(
        {"town": ["x"] * 9 + [CANARY], "name": [f"{CANARY} {i}" for i in range(10)]}
    )
    pq.write_table(table, "lone.parquet")
    return [
        *("anonymize", "lone.parquet", target, "--qid", "town", "--k", 3),
        *("--identifier", "name", "--policy", "paper", "--suppress", 1, *more),
        *("--inline-below", 0),
    ]


def test_suppressed_rows_go_to_a_file_of_their_own(cli: Command) -> None:
    done = cli(*losing("out.parquet", "--suppressed-file", "rest.csv"))

    assert done.code == 0, done.err
    assert "rest.csv: original rows, NOT anonymized" in done.err
    assert pq.read_table("out.parquet").column_names == ["town"]
    rest = Path("rest.csv").read_text().splitlines()
    assert rest == ["town,name", f"{CANARY},{CANARY} 9"]
    manifest = json.loads(Path("out.parquet.manifest.json").read_text())
    assert manifest["spec"]["suppressed"] == "separate"
    assert CANARY not in json.dumps(manifest)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(("--suppressed", "separate"), id="no file"),
        pytest.param(
            ("--suppressed", "drop", "--suppressed-file", "rest.csv"), id="no need"
        ),
        pytest.param(("--suppressed-file", "out.parquet"), id="the same file"),
        pytest.param(("--suppressed-file", "lone.parquet"), id="the source"),
        pytest.param(("--suppressed-file", "rest.txt"), id="unknown kind"),
    ],
)
def test_suppressed_rows_need_a_file_of_their_own(
    cli: Command, more: tuple[str, ...]
) -> None:
    done = cli(*losing("out.parquet", *more))

    assert done.code == 2
    assert not Path("out.parquet").exists()


def test_help_warns_of_the_suppressed_file(cli: Command, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    assert "NOT anonymized" in cli("anonymize", "--help").out


def test_shuffled_files_do_not_depend_on_row_order(cli: Command, source: Path) -> None:
    table = pq.read_table(source)
    pq.write_table(table.take(list(ROWS)[::-1]), "flipped.parquet")
    asked = ["--qid", "i8", "--qid", "text", "--k", 5, "--shuffle", 3]

    for name in ("in", "flipped"):
        done = cli("anonymize", f"{name}.parquet", f"{name}.csv", *asked)
        assert done.code == 0, done.err

    first, second = (Path(f"{name}.csv").read_text() for name in ("in", "flipped"))
    assert first == second
    assert [line.rsplit(",", 1)[1] for line in first.splitlines()[1:]] != [
        str(i) for i in ROWS
    ]


def test_a_name_that_is_taken_is_refused_before_the_work(
    cli: Command, source: Path
) -> None:
    done = cli(
        *("anonymize", source, "out.csv", "--qid", "i8", "--k", 5),
        *("--class-id", "note"),
    )

    assert done.code == 2
    assert "note" in done.err


def test_advise_understands_formats(cli: Command, source: Path) -> None:
    done = cli("advise", source, "--qid", "i8", "--numbers", "bounds", "--nice")

    assert done.code == 0, done.err


def test_losses_by_group_are_shown_and_rare_groups_are_not_named(
    cli: Command, tmp_path: Path
) -> None:
    rows = range(120)
    group = [CANARY if i < 2 else "ab"[i % 3 == 0] for i in rows]
    table = pa.table({"age": [i % 40 for i in rows], "group": group})
    pa_csv.write_csv(table, tmp_path / "in.csv")
    asked = ("in.csv", "out.csv", "--qid", "age", "--k", 3)

    shown = cli("anonymize", *asked, "--by", "group")
    fair = cli("anonymize", *asked, "--equity", "group", "--json", "--overwrite")

    assert shown.code == fair.code == 0
    assert "others" in shown.err
    assert "times all" in shown.err
    assert "the worst group loses" in fair.err
    told = json.loads(fair.out)
    assert {one["group"] for one in told["groups"]["group"]} == {"a", "b", "others"}
    assert told["equity"]["column"] == "group"
    refused = cli("anonymize", *asked, "--by", "group", "--no-measures", "--overwrite")
    assert (refused.code, "leave out one" in refused.err) == (2, True)
    refused = cli("anonymize", *asked, "--by", "nobody", "--overwrite")
    assert refused.code == 2
