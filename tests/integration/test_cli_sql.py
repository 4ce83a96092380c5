"""The command line in a database: what it makes, writes, says and never shows."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from conftest import CANARY, Command, files_in
from databases import PASSWORD, Place

from core_mondrian import KAnonymity, Spec, anonymize

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
    flags = (*FLAGS, "--suppress", "1%", "--suppressed", "apart")

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
