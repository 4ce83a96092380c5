"""The command line in a database: what it makes, writes, says and never shows."""

import errno
import json
import os
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from conftest import CANARY, Command, files_in
from databases import PASSWORD, Place

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.sources.memory import Limit
from core_mondrian.tables.files.write import write_table

FLAGS = ("--qid", "age", "--qid", "sex", "--k", 5, "--identifier", "name")
TABLE = pa.table(
    {
        "name": [f"{CANARY} {i}" for i in range(200)],
        "age": [20 + (i * i) % 37 for i in range(200)],
        "sex": ["mf"[i % 2] for i in range(200)],
        "path": ["a//b" if i % 4 else "a/b" for i in range(200)],
    }
)
SPEC = Spec(
    quasi_identifiers=("age", "sex"), models=(KAnonymity(5),), identifiers=("name",)
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    duckdb.connect(tmp_path / "db.duckdb").close()
    place = Place("duckdb", str(tmp_path / "db.duckdb"))
    place.load("people", TABLE)
    return place


def test_a_table_is_made_and_its_manifest_written(
    cli: Command, place: Place, tmp_path: Path
) -> None:
    arguments = ("anonymize", "--database", "db.duckdb", "people", "released", *FLAGS)

    done = cli(*arguments, "--json", "--report", "report.html")

    known = anonymize(TABLE, SPEC)
    assert done.code == 0, done.err
    assert "made table released in" in done.err
    told = json.loads(done.out)
    assert told["digests"]["release"] == known.digest
    text = Path("released.manifest.json").read_text()
    assert json.loads(text) == known.manifest()
    assert CANARY not in text + Path("report.html").read_text()
    assert files_in(tmp_path) == [
        *("db.duckdb", "released.manifest.json", "released.owner.json"),
        "report.html",
    ]
    assert place.catalog() == ["people", "released"]
    # A second time, both are in the way.
    again = cli(*arguments)
    assert again.code == 2
    assert "exists" in again.err
    assert cli(*arguments, "--overwrite").code == 0


def test_a_query_reaches_the_database_as_it_was_typed(
    cli: Command, place: Place
) -> None:
    query = "SELECT * FROM people WHERE path = 'a//b' -- not a/b"

    done = cli(
        *("anonymize", "--database", "db.duckdb", query, "main.released", *FLAGS),
        *("--manifest", "m.json", "--view", "--by", "sex"),
    )

    assert done.code == 0, done.err
    assert "made view main.released in" in done.err
    assert json.loads(Path("m.json").read_text())["rows"]["released"] == 150
    assert len(place.fetch("SELECT * FROM released WHERE path = 'a//b'")) == 150


def test_suppressed_rows_are_a_table_of_their_own(cli: Command, place: Place) -> None:
    flags = (*FLAGS, "--suppress", "1%", "--suppressed", "separate")

    done = cli("anonymize", "--database", "db.duckdb", "people", "released", *flags)

    assert done.code == 0, done.err
    assert "made table released_suppressed: original rows, NOT anonymized" in done.err
    assert place.catalog() == ["people", "released", "released_suppressed"]


CASES = [
    pytest.param(("nowhere.duckdb", "people", "t"), 3, "no such file", id="file"),
    pytest.param(("db.duckdb", "nobody", "t"), 3, "no table or view", id="source"),
    pytest.param(("db.duckdb", "people", "people"), 2, "exists", id="target"),
    pytest.param(("db.duckdb", "people", "t", "--k", 300), 4, "", id="infeasible"),
    pytest.param(("db.duckdb", "people", "t", "--shuffle", 1), 2, "", id="shuffle"),
    pytest.param(
        ("db.duckdb", "people", "t", "--suppressed-file", "f.csv"),
        *(2, "TARGET_suppressed"),
        id="file of suppressed rows",
    ),
    pytest.param(
        ("db.duckdb", "SELECT CAST(name AS int) AS age FROM people", "t"),
        *(3, "failed to read the source (ConversionException)"),
        id="cells in the database's message",
    ),
    pytest.param(
        (f"postgresql://tester:{PASSWORD}@127.0.0.1:1/none", "people", "t"),
        *(3, "failed to open the database"),
        id="server",
    ),
    pytest.param(
        ("db.duckdb", "people", "t", "--manifest", "none/m.json"), 6, "", id="folder"
    ),
]


@pytest.mark.parametrize(("arguments", "code", "told"), CASES)
def test_failures_have_a_code_and_leave_nothing(
    cli: Command,
    place: Place,
    tmp_path: Path,
    arguments: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    database, source, target, *more = arguments

    done = cli("anonymize", "--database", database, source, target, *FLAGS, *more)

    assert done.code == code, done.err
    assert told in done.err
    assert PASSWORD not in done.err + done.out
    assert files_in(tmp_path) == ["db.duckdb"]
    assert place.catalog() == ["people"]


def test_options_of_databases_mean_nothing_for_files(cli: Command) -> None:
    done = cli("anonymize", "a.csv", "b.csv", *FLAGS, "--view")

    assert done.code == 2
    assert "--view and --manifest are for --database" in done.err


# Next to the table


def test_a_table_is_signed_as_a_file_is(cli: Command, place: Place) -> None:
    pytest.importorskip("cryptography", reason="not installed: the extra 'sign'")
    assert cli("keygen", "key").code == 0
    arguments = ("anonymize", "--database", "db.duckdb", "people", "released", *FLAGS)

    done = cli(*arguments, "--sign-key", "key")

    assert done.code == 0, done.err
    assert "wrote released.manifest.json.sig" in done.err
    assert "signed      by key sha256:" in done.err
    place.run("COPY released TO 'exported.parquet'")
    check = ("verify", "exported.parquet", "--manifest", "released.manifest.json")
    fits = cli(*check, "--public-key", "key.pub")
    assert fits.code == 0, fits.err
    # A signature of another manifest goes.
    again = cli(*arguments, "--overwrite")
    assert again.code == 0, again.err
    assert not Path("released.manifest.json.sig").exists()


def test_a_key_that_cannot_sign_is_refused_before_any_work(
    cli: Command, place: Place
) -> None:
    pytest.importorskip("cryptography", reason="not installed: the extra 'sign'")
    Path("key").write_text("no key")
    arguments = ("anonymize", "--database", "db.duckdb", "people", "released", *FLAGS)

    done = cli(*arguments, "--sign-key", "key")

    assert done.code == 2
    assert place.catalog() == ["people"]


def test_files_that_cannot_be_written_leave_no_table(
    cli: Command, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table was committed first, and stood there without its manifest."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("core_mondrian.tables.files.atomic_write._write_one", full)

    done = cli("anonymize", "--database", "db.duckdb", "people", "released", *FLAGS)

    assert done.code == 6
    assert "No space left on device" in done.err
    assert place.catalog() == ["people"]
    assert files_in(tmp_path) == ["db.duckdb"]


def test_a_table_that_cannot_be_committed_leaves_no_files(
    cli: Command, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("anonymize", "--database", "db.duckdb", "people", "released", *FLAGS)
    assert cli(*arguments).code == 0
    before = Path("released.manifest.json").read_bytes()

    def fail(_: object) -> None:
        raise duckdb.TransactionException("TransactionContext Error: Conflict on …")

    monkeypatch.setattr("core_mondrian.sources.sql.duckdb_file.DuckDBFile.commit", fail)

    done = cli(*arguments, "--overwrite", "--k", "9")

    assert done.code == 6
    assert "another transaction was in the way" in done.err
    assert Path("released.manifest.json").read_bytes() == before
    assert len(place.fetch("SELECT * FROM released")) == 200
    assert files_in(tmp_path) == [
        *("db.duckdb", "released.manifest.json", "released.owner.json")
    ]


def test_json_says_of_a_table_what_it_says_of_a_file(
    cli: Command, place: Place
) -> None:
    write_table(TABLE, Path("people.parquet"))
    asked = (*FLAGS, "--json", "--by", "sex")

    table = cli("anonymize", "--database", place.url, "people", "released", *asked)
    file = cli("anonymize", "people.parquet", "out.parquet", *asked)

    assert table.code == file.code == 0, table.err
    ours, theirs = json.loads(table.out), json.loads(file.out)
    assert ours.keys() == theirs.keys()
    for name in sorted(ours.keys() - {"seconds", "megabytes", "stages"}):
        assert ours[name] == theirs[name], name


def test_memory_is_kept_and_a_report_refused_where_tuples_do_not_fit(
    cli: Command, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("anonymize", "--database", "db.duckdb", "people", "released", *FLAGS)
    assert cli(*arguments, "--memory", "1MB").code == 2
    monkeypatch.setattr(Limit, "tuples_in_memory", lambda *_: 5)

    refused = cli(*arguments, "--memory", "4GB", "--report", "report.html")
    done = cli(*arguments, "--memory", "4GB", "--json")

    assert refused.code == 2
    assert "a report needs all distinct tuples in memory" in refused.err
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["digests"]["release"] == anonymize(TABLE, SPEC).digest
    assert told["disk_bytes"] > 0
    assert place.catalog() == ["people", "released"]


# Causes of errors, in the same words on each engine


def test_a_missing_driver_is_named(
    cli: Command, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ("people", "released", *FLAGS)
    cases = {
        "adbc_driver_postgresql": "postgresql://nobody@127.0.0.1:1/none",
        "duckdb": place.url,
    }
    for package, url in cases.items():
        with monkeypatch.context() as patch:
            for name in (package, f"{package}.dbapi"):
                patch.setitem(sys.modules, name, None)
            done = cli("anonymize", "--database", url, *rows)
        assert done.code == 2
        assert f"databases need the package {package}" in done.err
        assert "core-mondrian[sql]" in done.err
