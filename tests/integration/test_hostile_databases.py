"""Database files of strangers: views and macros that reach for other files."""

import sqlite3
import stat
from pathlib import Path

import duckdb
import pytest
from conftest import CANARY, Command, files_in

from core_mondrian import DataError, KAnonymity, Spec
from core_mondrian.sources.sql.anonymize import anonymize_sql
from core_mondrian.sources.sql.base import Space
from core_mondrian.sources.sql.open import open_database
from core_mondrian.tables.files import staging as drafts

FLAGS = ("--qid", "age", "--k", "2", "--no-measures")
PEOPLE = "SELECT 20 + i % 3 AS age, {cell} AS note FROM range(12) AS t(i)"
SECRET = f"{CANARY}-secret"

# What a view or a macro in a DuckDB file may try; {folder} holds a secret file.
REACHES = {
    "CSV": "(SELECT min(secret) FROM read_csv('{folder}/secret.csv'))",
    "name": "(SELECT min(secret) FROM '{folder}/secret.csv')",
    "text": "(SELECT content FROM read_text('{folder}/secret.csv'))",
    "blob": "(SELECT content::VARCHAR FROM read_blob('{folder}/secret.csv'))",
    "parquet": "(SELECT min(secret) FROM '{folder}/secret.parquet')",
    "JSON": "(SELECT min(secret) FROM read_json('{folder}/secret.json'))",
    "names of files": "(SELECT min(file) FROM glob('{folder}/secret*'))",
    "a query": (
        "(SELECT min(secret) FROM query('SELECT * FROM ''{folder}/secret.csv'''))"
    ),
    "a sniffer": "(SELECT Columns::VARCHAR FROM sniff_csv('{folder}/secret.csv'))",
    "metadata": (
        "(SELECT min(path_in_schema) FROM parquet_metadata('{folder}/secret.parquet'))"
    ),
    "a macro": "reach()",
}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    with duckdb.connect() as connection:
        for suffix in ("csv", "parquet", "json"):
            connection.execute(
                f"COPY (SELECT '{SECRET}' AS secret) TO '{folder}/secret.{suffix}'"
            )
    return folder


@pytest.mark.parametrize("name", REACHES)
def test_a_view_in_a_duckdb_file_reads_no_other_file(
    name: str, secret: Path, tmp_path: Path, cli: Command
) -> None:
    view = PEOPLE.format(cell=REACHES[name].format(folder=secret))
    with duckdb.connect(tmp_path / "gift.duckdb") as connection:
        cell = REACHES["text"].format(folder=secret)
        connection.execute(f"CREATE MACRO reach() AS {cell}")
        connection.execute(f"CREATE VIEW people AS {view}")
        rows = connection.execute("FROM people").fetchall()
    assert "secret" in str(rows), "the trap works for whoever opens the file trustingly"

    done = cli("anonymize", "--database", "gift.duckdb", "people", "released", *FLAGS)

    assert done.code == 3
    assert "secret" not in done.err
    with duckdb.connect(tmp_path / "gift.duckdb") as connection:
        tables = connection.execute("SHOW TABLES").fetchall()
    assert tables == [("people",)]
    assert files_in(tmp_path) == ["gift.duckdb", "private"]


@pytest.mark.parametrize(
    "statement",
    [
        "SET enable_external_access = true",
        "SET temp_directory = '/tmp'",
        "LOAD json_extra",
        "INSTALL httpfs",
        "ATTACH 'other.duckdb'",
        "COPY (SELECT 1) TO 'written.csv'",
    ],
)
def test_nothing_opens_a_duckdb_file_up_again(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    duckdb.connect("gift.duckdb").close()
    opened = open_database("gift.duckdb")
    opened.begin(Space(tmp_path, 256 << 20, 1))

    with pytest.raises(opened.errors):
        opened.run(statement)

    opened.close()
    assert files_in(tmp_path) == ["gift.duckdb"]


def test_what_databases_put_on_disk_here_is_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "db.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE people AS {PEOPLE.format(cell=1)}")
    seen = []

    def look(_stage: str, _done: float) -> None:
        folders = [x for x in tmp_path.iterdir() if x != path and x.is_dir()]
        seen.extend(stat.S_IMODE(folder.stat().st_mode) for folder in folders)
        drafts.tidy(tmp_path)  # as other runs in this folder do
        assert all(folder.exists() for folder in folders)

    spec = Spec(("age",), (KAnonymity(2),))
    anonymize_sql(path, "people", "released", spec, progress=look)

    assert set(seen) == {0o700}
    assert files_in(tmp_path) == ["db.duckdb"]


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("load_extension('./gift')", id="an extension"),
        pytest.param("(SELECT file FROM pragma_database_list)", id="where it lies"),
        pytest.param("readfile('/etc/passwd')", id="another file"),
        pytest.param("(SELECT count(*) FROM dbstat)", id="unsafe tables"),
    ],
)
def test_a_view_in_an_sqlite_file_calls_nothing_unsafe(
    cell: str, tmp_path: Path
) -> None:
    path = tmp_path / "gift.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE ages (age INTEGER)")
        rows = [(20 + i % 3,) for i in range(12)]
        connection.executemany("INSERT INTO ages VALUES (?)", rows)
        connection.execute(
            f"CREATE VIEW people AS SELECT age, {cell} AS note FROM ages"
        )
    connection.close()
    spec = Spec(("age",), (KAnonymity(2),))

    with pytest.raises(DataError):
        anonymize_sql(path, "people", "released", spec)

    release = anonymize_sql(path, "ages", "released", spec)
    assert release.data == "released"
