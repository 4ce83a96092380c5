"""CSV as others write it: separated, quoted and encoded in their ways."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from core_mondrian import DataError, Spec, SpecError, anonymize, anonymize_files
from core_mondrian.cli.main import run
from core_mondrian.sources.files.source import open_source
from core_mondrian.tables.files.dialect import (
    WRITTEN,
    Dialect,
    find_dialect,
    read_dialect,
)
from core_mondrian.tables.files.read import read_table

NAMES = ["name", "age", "town"]
ROWS = [
    [f"Ü{i}, J. {'A;b|c' if i % 2 else 'x'}", f"{20 + i % 6}", f"Ort {i % 4}"]
    for i in range(60)
]


def written(delimiter: str = ",", quote: str = '"', end: str = "\n") -> str:
    """Return the rows as CSV, all texts quoted, a line break in one."""
    rows = [
        NAMES,
        *ROWS,
        [f"two{end}lines", "21", f"said {quote}{quote}so{quote}{quote}"],
    ]
    return "".join(
        delimiter.join(f"{quote}{cell}{quote}" for cell in row) + end for row in rows
    )


CASES: dict[str, tuple[bytes, Dialect]] = {
    "comma": (written().encode(), WRITTEN),
    "semicolon": (written(";").encode(), Dialect(";")),
    "tab": (written("\t").encode(), Dialect("\t")),
    "pipe": (written("|").encode(), Dialect("|")),
    "single quotes": (written(",", "'").encode(), Dialect(quote="'")),
    "both": (written(";", "'").encode(), Dialect(";", "'")),
    "mark": (written(";").encode("utf-8-sig"), Dialect(";")),
    "windows": (written(";", end="\r\n").encode(), Dialect(";")),
    "UTF-16": (written("\t").encode("utf-16"), Dialect("\t", encoding="utf-16")),
    "UTF-16 unmarked": (
        written(";", "'").encode("utf-16-le"),
        Dialect(";", "'", "utf-16-le"),
    ),
}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("name", list(CASES))
def test_all_ways_are_one_table(tmp_path: Path, name: str, suffix: str) -> None:
    content, dialect = CASES[name]
    path = tmp_path / f"people{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    assert find_dialect(path) == dialect
    table = read_table(path, typed=["age"])
    assert table.column_names == NAMES
    assert table["age"].to_pylist() == [int(row[1]) for row in ROWS] + [21]
    assert table["name"].to_pylist()[:-1] == [row[0] for row in ROWS]
    assert table["name"].to_pylist()[-1].splitlines() == ["two", "lines"]
    assert [part.dialect for part in open_source(path).parts] == [dialect]


@pytest.mark.parametrize("name", list(CASES))
def test_files_read_in_batches_are_released_the_same(tmp_path: Path, name: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(CASES[name][0])
    spec = Spec(["age", "town"], k=5, identifiers="name")
    key = b"0123456789abcdef"
    whole = anonymize(read_table(path, typed=["age", "town"]), spec, key=key)
    found = anonymize_files(path, tmp_path / "out.csv", spec, key=key)
    assert found.digest == whole.digest
    assert b";" not in (tmp_path / "out.csv").read_bytes()  # ours is the usual way


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a;b\n1,5;2\n1,6;3\n", ";"),  # commas in numbers
        ("a,b\nx;y,1\nz;w,2\n", ","),
        ("a\n1\n2\n", ","),
        ("a,b,c\n1,2\n3,4\n", ","),  # too short, and the error says so
        ("a;b\n1;2\n1;2;3\n4;5\n", ";"),
        ("a|b\n", "|"),
        ("", ","),
        ('"a;b"\n"1;2"\n', ","),
        ("a\n\n\n5\n", ","),
    ],
)
def test_the_delimiter_is_that_of_most_rows(
    tmp_path: Path, text: str, delimiter: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert find_dialect(path) == Dialect(delimiter)


def test_of_long_files_the_first_rows_count_and_all_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b\n" + "1;'x, y'\n" * 50_000 + "2;\n")
    table = read_table(path)
    assert table.column_names == ["a", "b"]
    assert len(table) == 50_001
    assert table["b"].null_count == 1


def test_what_is_said_counts_more_than_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a:b\nÄ:1\nß:2\n".encode("windows-1252"))
    with pytest.raises(DataError, match="no UTF-8") as refused:
        read_table(path)
    assert "--csv encoding=windows-1252" in str(refused.value.hint)
    asked = read_dialect(["delimiter=:", "encoding=windows-1252"])
    table = read_table(path, dialect=find_dialect(path, asked))
    assert table.to_pydict() == {"a": ["Ä", "ß"], "b": [1, 2]}


@pytest.mark.parametrize(
    "texts",
    [
        ["sep=;"],
        [";"],
        ["delimiter="],
        ["delimiter=;;"],
        ["delimiter=x"],
        ['delimiter="'],
        ["quote=x"],
        ["encoding=klingon"],
        ["encoding=rot13"],
        ["encoding=\0"],
    ],
)
def test_what_is_no_dialect_is_refused(texts: list[str]) -> None:
    with pytest.raises(SpecError, match="--csv"):
        read_dialect(texts)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("delimiter=semicolon", ";"),
        ("delimiter=tab", "\t"),
        (r"delimiter=\t", "\t"),
        ("delimiter=;", ";"),
    ],
)
def test_delimiters_have_names(said: str, kept: str) -> None:
    assert read_dialect([said]) == {"delimiter": kept}


COMMANDS: dict[str, list[str]] = {
    "inspect": ["inspect", "in.csv"],
    "init": ["init", "in.csv"],
    "anonymize": ["anonymize", "in.csv", "out.csv", "--qid", "age", "--k", "5"],
    "stream": ["anonymize", "in.csv", "o.csv", "--qid", "age", "--k", "5", "--stream"],
    "advise": ["advise", "in.csv", "--qid", "age", "--k", "5"],
    "hierarchy": ["hierarchy", "in.csv", "age", "--ranges", "5"],
    "verify": ["verify", "in.csv", "--qid", "age", "--k", "5"],
    "compare": ["compare", "in.csv", "--qid", "age", "--k", "5"],
}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_commands_say_how_a_file_is_written(
    tmp_path: Path, monkeypatch: Any, capsys: Any, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(CASES["semicolon"][0])
    with pytest.raises(SystemExit) as done:
        run(COMMANDS[name])
    said = capsys.readouterr().err
    assert done.value.code == 0, said
    if name != "verify":  # which reads releases, written here
        assert "note: in.csv: values separated by a semicolon" in said


def test_an_attack_finds_the_manifest_and_reads_the_original(
    tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(written(":").encode("windows-1252"))
    given = ["--csv", "delimiter=:", "--csv", "encoding=cp1252"]
    asked = ["anonymize", "in.csv", "out.csv", "--qid", "age", "--k", "5"]
    with pytest.raises(SystemExit) as done:
        run([*asked, "--identifier", "name", *given])
    assert done.value.code == 0, capsys.readouterr().err
    with pytest.raises(SystemExit) as done:
        run(["attack", "out.csv", "--with", "in.csv", *given])
    said = capsys.readouterr()
    assert done.value.code == 0
    assert "separated by a ':', encoded as cp1252" in said.err


def test_csv_is_for_csv(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.parquet").write_bytes(b"PAR1")
    with pytest.raises(SystemExit) as done:
        run(["inspect", "in.parquet", "--csv", "delimiter=;"])
    assert done.value.code == 2
    assert "is no CSV file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("csv", "told"),
    [
        pytest.param({"sep": ";"}, "takes delimiter", id="name"),
        pytest.param({"delimiter": ";;"}, "one sign", id="delimiter"),
        pytest.param({"quote": "x"}, "single or double", id="quote"),
        pytest.param({"encoding": "utf-5"}, "none that is known", id="encoding"),
    ],
)
def test_what_is_said_of_streamed_files_is_checked(
    tmp_path: Path, csv: dict[str, str], told: str
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("age;sex\n1;f\n2;m\n")

    with pytest.raises(SpecError, match=told):
        open_source(path, csv)


def test_delimiters_have_names_for_streamed_files_too(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("age|sex\n1|f\n2|m\n")

    assert open_source(path, {"delimiter": "pipe"}).schema.names == ["age", "sex"]
