"""What cannot be streamed is refused, bad rows are told, and nothing is left behind."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core_mondrian import (
    DataError,
    KAnonymity,
    MemoryLimitError,
    MondrianError,
    OutputError,
    PaperPolicy,
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    anonymize_files,
    count_files,
)
from core_mondrian.datasets import census
from core_mondrian.runtime.progress import Throughput
from core_mondrian.sources.files import counting
from core_mondrian.sources.files import file_run as making
from core_mondrian.sources.memory import Limit, Sizes, parse_size
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.staging import workspace_of
from core_mondrian.tables.files.write import write_table

SPEC = Spec(("age", "sex"), (KAnonymity(2),), policy=PaperPolicy())
NUMBERS = Spec(
    ("age", "sex"),
    (KAnonymity(2),),
    policy=PaperPolicy(),
    numbers_by_column={"age": "interval"},
)


@pytest.fixture(autouse=True)
def tiny_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = Sizes(rows=50, text=500, in_flight=3, threads=2)
    monkeypatch.setattr(Limit, "sizes", lambda *_: sizes)


def people(n: int = 400) -> list[bytes]:
    return [b"%d,%s,cell-%d" % (20 + i % 9, b"fm"[i % 2 :][:1], i) for i in range(n)]


def write_csv(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"age,sex,note\n" + b"\n".join(lines) + b"\n")
    return path


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


BAD = {
    "too few values": (b"33,f", "line 302: expected 3 values, found 2"),
    "too many values": (b"33,f,secret,x", "line 302: expected 3 values, found 4"),
    "no UTF-8": (b"33,f,secret\xff\xfe", "line 302: holds bytes that are not UTF-8"),
    "a word": (b"secret,f,x", "line 302: column 'age' holds no number"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_row_is_an_error_with_file_and_line(case: str, tmp_path: Path) -> None:
    row, message = BAD[case]
    lines = people()
    lines[300:300] = [row]
    source = write_csv(tmp_path / "people.csv", lines)

    with pytest.raises(DataError) as error:
        anonymize_files(source, tmp_path / "out.csv", NUMBERS)

    assert f"{source}, {message}" in str(error.value)
    assert "secret" not in str(error.value)
    assert left_in(tmp_path) == {"people.csv"}


@pytest.mark.parametrize("case", BAD)
def test_line_counts_lines_in_quotes(case: str, tmp_path: Path) -> None:
    row, message = BAD[case]
    lines = people()
    lines[5] = b'33,f,"three\r\n\nlines"'
    lines[298:298] = [row]
    source = write_csv(tmp_path / "people.csv", lines)

    with pytest.raises(DataError, match=message.replace("302", "302")):
        anonymize_files(source, tmp_path / "out.csv", NUMBERS)


def test_bad_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = people()
    good = write_csv(tmp_path / "good.csv", lines)
    for at, (row, _) in zip((17, 100, 250, 390), BAD.values(), strict=True):
        lines[at:at] = [row]
    bad = write_csv(tmp_path / "bad.csv", lines)
    whole = read_table(good, typed=NUMBERS.quasi_identifiers)
    expected = anonymize(whole, NUMBERS)

    found = anonymize_files(bad, tmp_path / "out.csv", NUMBERS, bad_rows=4)

    assert found.digest == expected.digest
    assert found.n_bad == 4
    rows = found.figures()["rows"]
    assert rows["in"] == 404
    assert rows["in"] == rows["released"] + rows["suppressed"] + rows["bad"]
    write_table(expected.data, tmp_path / "expected.csv")
    assert (tmp_path / "out.csv").read_bytes() == (
        tmp_path / "expected.csv"
    ).read_bytes()


@pytest.mark.parametrize("most", [1, 2, 3])
def test_more_bad_rows_than_allowed_are_an_error(most: int, tmp_path: Path) -> None:
    lines = people()
    for at, (row, _) in zip((17, 100, 250, 390), BAD.values(), strict=True):
        lines[at:at] = [row]
    source = write_csv(tmp_path / "bad.csv", lines)

    with pytest.raises(DataError, match=rf"more than {most} bad rows.*line 19: exp"):
        anonymize_files(source, tmp_path / "out.csv", NUMBERS, bad_rows=most)

    assert left_in(tmp_path) == {"bad.csv"}


def test_word_in_a_column_of_no_format_makes_it_text_as_in_memory(
    tmp_path: Path,
) -> None:
    source = write_csv(tmp_path / "a.csv", [*people(), b"old,f,x", b"old,f,y"])
    whole = read_table(source, typed=SPEC.quasi_identifiers)

    found = anonymize_files(source, tmp_path / "out.csv", SPEC, bad_rows=9)

    in_memory = anonymize(whole, SPEC)
    assert found.digest == in_memory.digest
    assert found.n_bad == 0
    told = "'age' is text, but all but 2 of 402 rows hold a number"
    for release in (found, in_memory):
        assert [one.text for one in release.warnings if told in one.text]
        assert told in str(release.record())


def test_column_without_any_number_is_told(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "a.csv", [b"x,f,1", b"y,f,1"])

    with pytest.raises(DataError, match="column 'age' is text"):
        anonymize_files(source, tmp_path / "out.csv", NUMBERS, bad_rows=9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty"),
        (b"age,age\n1,2\n", "column names occur more than once"),
        (b'age,sex,note\n1,f,"open\n2,m,x\n', "ends inside a quoted value"),
        (b"age,s\xffx,note\n1,f,x\n", "no UTF-8"),
    ],
)
def test_unreadable_file_is_told(text: bytes, message: str, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_bytes(text)

    with pytest.raises(DataError, match=message):
        anonymize_files(source, tmp_path / "out.csv", SPEC)

    assert left_in(tmp_path) == {"a.csv"}


def test_cut_off_archives_are_told(tmp_path: Path) -> None:
    whole = write_csv(tmp_path / "a.csv", people(5000))
    source = tmp_path / "b.csv.gz"
    with pa.output_stream(source) as stream:
        stream.write(whole.read_bytes())
    source.write_bytes(source.read_bytes()[:-2000])

    with pytest.raises(DataError, match=r"b\.csv\.gz"):
        anonymize_files(source, tmp_path / "out.csv", SPEC)


def test_damaged_parquet_is_told(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(census(5000), source)
    text = bytearray(source.read_bytes())
    text[4:200] = b"\xff" * 196
    source.write_bytes(text)

    with pytest.raises(DataError, match=r"a\.parquet"):
        anonymize_files(source, tmp_path / "out.parquet", SPEC)

    assert left_in(tmp_path) == {"a.parquet"}


def test_texts_that_are_none_are_told_in_row_groups_larger_than_a_batch(
    tmp_path: Path,
) -> None:
    source = tmp_path / "a.parquet"
    table = census(5000).select(["age", "sex"])
    notes = pa.array([f"CANARY {i:05}" for i in range(5000)])
    pq.write_table(
        *(table.append_column("note", notes), source),
        compression="none",
        use_dictionary=False,
        write_statistics=False,
    )
    source.write_bytes(source.read_bytes().replace(b"CANARY 00777", b"CANARY \xff0777"))

    with pytest.raises(DataError, match=r"a\.parquet") as told:
        anonymize_files(source, tmp_path / "out.parquet", SPEC)

    assert "CANARY" not in str(told.value)
    assert left_in(tmp_path) == {"a.parquet"}


def folder_of(tmp_path: Path, *tables: pa.Table) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def test_parts_of_other_columns_or_types_are_refused(tmp_path: Path) -> None:
    first = pa.table({"age": [1, 2], "sex": ["f", "m"]})

    folder = folder_of(tmp_path, first, first.rename_columns(["age", "gender"]))
    with pytest.raises(DataError, match=r"1\.parquet: not the columns of .*'gender'"):
        anonymize_files(folder, tmp_path / "out.parquet", SPEC)

    texts = first.set_column(0, "age", pa.array(["1", "2"]))
    pq.write_table(texts, folder / "1.parquet")
    with pytest.raises(DataError, match="'age' is of type string, and of type int64"):
        anonymize_files(folder, tmp_path / "out.parquet", SPEC)


def test_kinds_are_not_mixed_and_folders_have_the_same_keys(tmp_path: Path) -> None:
    table = pa.table({"age": [1, 2], "sex": ["f", "m"]})
    folder = folder_of(tmp_path, table)
    write_table(table, folder / "x.csv")
    with pytest.raises(DataError, match="CSV and Parquet"):
        anonymize_files(folder, tmp_path / "out.parquet", SPEC)
    (folder / "x.csv").rename(folder / "x.txt")
    with pytest.raises(DataError, match="unknown kind of file"):
        anonymize_files(folder, tmp_path / "out.parquet", SPEC)
    (folder / "x.txt").unlink()
    (folder / "year=1").mkdir()
    pq.write_table(table, folder / "year=1" / "x.parquet")
    with pytest.raises(DataError, match="do not have the keys of"):
        anonymize_files(folder, tmp_path / "out.parquet", SPEC)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "shuffle": (
        lambda tmp: anonymize_files(
            tmp / "a.csv",
            tmp / "out.csv",
            Spec(("age",), (KAnonymity(2),), shuffle=1),
        ),
        "shuffle needs all rows",
    ),
    "no such column": (
        lambda tmp: anonymize_files(
            tmp / "a.csv", tmp / "out.csv", Spec(("agee",), (KAnonymity(2),))
        ),
        "not in the data",
    ),
    "arrow target": (
        lambda tmp: anonymize_files(tmp / "a.csv", tmp / "out.arrow", SPEC),
        "streams write CSV and Parquet",
    ),
    "the source itself": (
        lambda tmp: anonymize_files(tmp / "a.csv", tmp / "a.csv", SPEC, overwrite=True),
        "same",
    ),
    "apart without a file": (
        lambda tmp: anonymize_files(
            tmp / "a.csv",
            tmp / "out.csv",
            Spec(("age",), (KAnonymity(2),), suppressed="separate"),
        ),
        "go together",
    ),
    "too little memory": (
        lambda tmp: anonymize_files(tmp / "a.csv", tmp / "o.csv", SPEC, memory="9MB"),
        "no run takes less",
    ),
    "no size": (
        lambda tmp: anonymize_files(tmp / "a.csv", tmp / "o.csv", SPEC, memory="much"),
        "memory is a size",
    ),
    "structs in CSV": (
        lambda tmp: anonymize_files(
            tmp / "a.csv",
            tmp / "out.csv",
            Spec(("age",), (KAnonymity(2),), numbers="struct"),
        ),
        "has no structs",
    ),
    "a folder of other things": (
        lambda tmp: anonymize_files(tmp / "a.csv", tmp, SPEC, overwrite=True),
        "holds other things",
    ),
    "bad rows": (
        lambda tmp: anonymize_files(tmp / "a.csv", tmp / "o.csv", SPEC, bad_rows=-1),
        "bad_rows is a number",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_streamed_is_refused_before_any_work(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(tmp_path / "a.csv", people())
    monkeypatch.delattr(counting.Counting, "run")
    call, message = REFUSED[case]

    with pytest.raises(SpecError, match=message):
        call(tmp_path)

    assert left_in(tmp_path) == {"a.csv"}


def test_target_below_the_source_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, pa.table({"age": [1, 2], "sex": ["f", "m"]}))

    with pytest.raises(SpecError, match="lies in the folder that is read"):
        anonymize_files(folder, folder / "out.parquet", SPEC)


def test_existing_target_stays_unless_overwritten(tmp_path: Path) -> None:
    spec = replace(SPEC, suppress=Suppression())  # parts are those of the source
    source = write_csv(tmp_path / "a.csv", people())
    anonymize_files(source, tmp_path / "out", spec)
    before = sorted(path.name for path in (tmp_path / "out").iterdir())
    with pytest.raises(SpecError, match="not empty"):
        anonymize_files(source, tmp_path / "out", spec)

    write_csv(tmp_path / "a.csv", people(40))
    anonymize_files(source, tmp_path / "out", spec, overwrite=True)

    after = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(after) < len(before)
    assert sum(len(read_table(p)) for p in (tmp_path / "out").iterdir()) == 40


def test_failed_verification_leaves_the_old_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    target = tmp_path / "out.csv"
    target.write_text("old")

    def spoil(self: making.Run, *arguments: object) -> object:
        written = write(self, *arguments)
        draft = workspace_of(target) / "draft-release.csv"
        lines = draft.read_text().splitlines()
        lines[7] = lines[7].replace(lines[7].split(",")[0], "unique")
        draft.write_text("\n".join(lines) + "\n")
        return written

    write = making.Run.write
    monkeypatch.setattr(making.Run, "write", spoil)

    with pytest.raises(PrivacyViolation):
        anonymize_files(source, target, SPEC, overwrite=True)

    assert target.read_text() == "old"
    assert left_in(tmp_path) == {"a.csv", "out.csv"}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_source_that_changes_between_the_passes_is_an_error(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / f"a{suffix}"
    table = pa.table({"age": [1, 2, 3] * 50, "sex": ["f", "m", "f"] * 50})
    write_table(table, source)

    def change(self: making.Run, *arguments: object) -> object:
        planned = plan(self, *arguments)
        moved = table.take(pa.array(list(range(150))[::-1]))
        write_table(moved, source, overwrite=True)
        return planned

    plan = making.Run.type
    monkeypatch.setattr(making.Run, "type", change)

    with pytest.raises(DataError, match=r"changed while|other rows"):
        anonymize_files(source, tmp_path / f"out{suffix}", SPEC)

    assert left_in(tmp_path) == {source.name}


def test_files_on_another_disk_are_copied_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    monkeypatch.setattr(
        "core_mondrian.tables.files.atomic_write._is_near", lambda *_: False
    )

    anonymize_files(source, tmp_path / "out", SPEC, save_counts=tmp_path / "k.arrow")

    made = {"out", "out.manifest.json", "out.owner.json", "k.arrow"}
    assert left_in(tmp_path) == {"a.csv", *made}
    assert stat.S_IMODE((tmp_path / "k.arrow").stat().st_mode) == 0o600


def test_full_disk_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core_mondrian.sources.files.writing._Sink.write", fail)

    with pytest.raises(OutputError, match="No space left"):
        anonymize_files(source, tmp_path / "out.csv", SPEC)

    assert left_in(tmp_path) == {"a.csv"}


def test_a_part_that_an_error_ends_gets_no_more_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(census(400, seed=1), source)
    spec = replace(SPEC, suppress=Suppression(rows=1))
    written: list[int] = []

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    def write(_: pq.ParquetWriter, table: pa.Table, **_options: object) -> None:
        written.append(len(table))

    monkeypatch.setattr("core_mondrian.sources.files.writing._Sink.finish", fail)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", write)
    with pytest.raises(OutputError, match="No space left"):
        anonymize_files(source, tmp_path / "out", spec)

    assert written == []
    assert left_in(tmp_path) == {"a.parquet"}


def rows_counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the rows of each batch that is counted from now on."""
    read: list[int] = []
    tally: Any = vars(counting)["tally_columns"]

    def counted(columns: Any, n_rows: int) -> Any:
        read.append(n_rows)
        return tally(columns, n_rows)

    monkeypatch.setattr(counting, "tally_columns", counted)
    return read


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("stage", ["type", "write", "verify", "find_concerns"])
def test_interrupted_run_goes_on_with_what_it_has_counted(
    suffix: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, target = tmp_path / "parts", tmp_path / f"out{suffix}"
    folder.mkdir()
    table = census(450).select(["age", "sex", "zip_code"])
    for number in range(3):
        write_table(table.slice(150 * number, 150), folder / f"{number}{suffix}")
    expected = anonymize_files(folder, tmp_path / f"expected{suffix}", SPEC)
    with monkeypatch.context() as patch:
        patch.setattr(making.Run, stage, interrupt)
        with pytest.raises(KeyboardInterrupt):
            anonymize_files(folder, target, SPEC)
    state = workspace_of(target)
    assert left_in(state) == {"counts.arrow", "lock"}
    assert stat.S_IMODE((state / "counts.arrow").stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    read = rows_counted(monkeypatch)

    found = anonymize_files(folder, target, SPEC, resume=True)

    assert sum(read) == 0
    assert found.digest == expected.digest
    assert (found.manifest(), found.figures()) == (
        expected.manifest(),
        expected.figures(),
    )
    assert target.read_bytes() == (tmp_path / f"expected{suffix}").read_bytes()
    assert not state.exists()


def test_run_interrupted_while_it_counts_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    monkeypatch.setattr(Throughput, "step", interrupt)

    with pytest.raises(KeyboardInterrupt):
        anonymize_files(source, tmp_path / "out.csv", SPEC)

    assert left_in(tmp_path) == {"a.csv"}


def test_resuming_says_why_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    target = tmp_path / "out.csv"

    def leave_behind() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(making.Run, "type", interrupt)
            with pytest.raises(KeyboardInterrupt):
                anonymize_files(source, target, SPEC)

    leave_behind()
    counts = workspace_of(target) / "counts.arrow"
    other = Spec(("age",), (KAnonymity(2),))
    with pytest.raises(SpecError, match="of the interrupted run are of the columns"):
        anonymize_files(source, target, other, resume=True)
    assert counts.exists()
    os.utime(source, ns=(1, 1))
    with pytest.raises(SpecError, match=r"part that has changed: a\.csv"):
        anonymize_files(source, target, SPEC, resume=True)
    counts.write_bytes(b"nonsense")
    with pytest.raises(DataError, match="not a file of counts"):
        anonymize_files(source, target, SPEC, resume=True)

    with pytest.warns(UserWarning, match="is dropped"):
        anonymize_files(source, target, SPEC)
    endings = ("", ".manifest.json", ".owner.json")
    assert left_in(tmp_path) == {"a.csv", *(f"out.csv{x}" for x in endings)}
    with pytest.warns(UserWarning, match="no interrupted run"):
        anonymize_files(source, target, SPEC, resume=True, overwrite=True)


def test_counts_of_yesterday_are_not_counted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    table = census(600).select(["age", "sex", "zip_code"])
    write_table(table.slice(0, 300), folder / "2.csv")
    kept, more = tmp_path / "kept.arrow", tmp_path / "more.arrow"
    anonymize_files(folder, tmp_path / "1.csv", SPEC, save_counts=kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    write_table(table.slice(300, 100), folder / "1.csv")
    write_table(table.slice(400), folder / "3.csv")
    expected = anonymize_files(folder, tmp_path / "2.csv", SPEC)
    read = rows_counted(monkeypatch)

    found = anonymize_files(
        folder, tmp_path / "3.csv", SPEC, add_counts=kept, save_counts=more
    )

    assert sum(read) == 300
    assert found.digest == expected.digest
    assert (tmp_path / "3.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    read.clear()
    counts = count_files(folder, SPEC, add_counts=more)
    assert sum(read) == 0
    assert counts.n_rows == 600


def test_counts_of_other_parts_are_refused(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    other = write_csv(tmp_path / "b.csv", people())
    kept = tmp_path / "kept.arrow"
    count_files(source, SPEC, save_counts=kept)

    with pytest.raises(SpecError, match=r"part that is not in the source: a\.csv"):
        anonymize_files(other, tmp_path / "out.csv", SPEC, add_counts=kept)
    with pytest.raises(SpecError, match="the file exists"):
        count_files(source, SPEC, save_counts=kept)


def test_counts_are_those_of_the_rows(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    table = census(500)
    pq.write_table(table, source)

    kept = tmp_path / "kept.arrow"
    counts = count_files(source, SPEC, save_counts=kept)

    expected = table.group_by(["age", "sex"]).aggregate([([], "count_all")])
    again = count_files(source, SPEC, add_counts=kept)
    for one in (counts, again):
        rows = one.values.append_column("n", pa.array(one.rows)).to_pylist()
        assert {(row["age"], row["sex"], row["n"]) for row in rows} == {
            (row["age"], row["sex"], row["count_all"]) for row in expected.to_pylist()
        }


def test_counts_that_do_not_fit_are_refused_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    monkeypatch.setattr(Limit, "tuples_in_memory", lambda *_: 4)

    # More than the process has, which ran other tests before.
    with pytest.raises(MemoryLimitError, match=r"(?s)distinct tuples .*allow more"):
        count_files(source, SPEC, memory="64GB")

    assert MemoryLimitError.exit_code == 7
    assert left_in(tmp_path) == {"a.csv"}


def test_run_that_takes_more_than_allowed_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    monkeypatch.setattr("core_mondrian.sources.memory.used_memory", lambda: 5 << 30)

    with pytest.raises(MemoryLimitError, match=r"takes 5\.0 GB, and the limit is 1\.0"):
        anonymize_files(source, tmp_path / "out.csv", SPEC, memory="1GB")


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 << 30), ("2 gib", 2 << 30), ("700M", 700 << 20), ("1.5g", 3 << 29)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_another_run_on_the_same_target_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_csv(tmp_path / "a.csv", people())
    errors: list[MondrianError] = []
    plan = making.Run.type

    def meanwhile(self: making.Run, *arguments: object) -> object:
        monkeypatch.setattr(making.Run, "type", plan)
        with pytest.raises(SpecError) as error:
            anonymize_files(source, tmp_path / "out.csv", SPEC)
        errors.append(error.value)
        return plan(self, *arguments)

    monkeypatch.setattr(making.Run, "type", meanwhile)

    anonymize_files(source, tmp_path / "out.csv", SPEC)

    assert "another run is writing it" in str(errors[0])
