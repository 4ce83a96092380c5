"""A release that was written stays written, whatever becomes of what is printed."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core_mondrian.datasets import census
from core_mondrian.tables.files.write import write_table

FULL = Path("/dev/full")
ASKED = ("--k", "5", "--qid", "age", "--qid", "sex", "--overwrite")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(census(400), tmp_path / "in.csv")
    return tmp_path


def run(folder: Path, redirections: str, *arguments: str) -> int:
    """Run a command in a shell, which closes or redirects its streams."""
    command = f'"$0" -m core_mondrian.cli.main "$@" {redirections}'
    words = ["sh", "-c", command, sys.executable, *arguments]
    done = subprocess.run(words, cwd=folder, check=False, timeout=60)  # noqa: S603
    return done.returncode


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "redirections",
    [
        *("2>/dev/full", "2>&-", ">/dev/full", ">&-", ">&- 2>&-", "<&- >&- 2>&-"),
        *(">/dev/full 2>/dev/full", "2>/dev/null | head -c 0"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--memory", "1GB")], ids=["memory", "batches"])
def test_release_is_written_whatever_becomes_of_the_output(
    redirections: str, more: tuple[str, ...], folder: Path
) -> None:
    code = run(
        folder, redirections, "anonymize", "in.csv", "out.csv", *ASKED, "--json", *more
    )

    assert code == 0
    asked = ("out.csv", "--k", "5", "--qid", "age", "--qid", "sex")
    assert run(folder, "2>/dev/null", "verify", *asked) == 0
    header = (folder / "out.csv").read_text().partition("\n")[0]
    assert header == (folder / "in.csv").read_text().partition("\n")[0]


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("redirections", [">/dev/full 2>/dev/full", ">&- 2>&-"])
def test_table_is_made_whatever_becomes_of_the_output(
    redirections: str, folder: Path
) -> None:
    with closing(sqlite3.connect(folder / "a.db")) as database:
        database.execute("CREATE TABLE people (age INTEGER, sex TEXT)")
        rows = [(20 + i % 7, "mf"[i % 2]) for i in range(200)]
        database.executemany("INSERT INTO people VALUES (?, ?)", rows)
        database.commit()
    asked = ("--database", "a.db", "people", "released", *ASKED, "--json")

    code = run(folder, redirections, "anonymize", *asked)

    assert code == 0
    assert (folder / "released.manifest.json").exists()
    with closing(sqlite3.connect(folder / "a.db")) as database:
        counted = database.execute("SELECT count(*) FROM released").fetchone()
    assert counted == (200,)


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_command_that_only_prints_fails_if_that_is_lost(folder: Path) -> None:
    assert run(folder, ">/dev/full 2>/dev/null", "inspect", "in.csv") == 6


def test_error_is_an_error_if_nobody_hears_of_it(folder: Path) -> None:
    assert run(folder, "2>&-", "verify", "in.csv", "--k", "5", "--qid", "age") == 5
