"""Databases that fail, and runs that are stopped: causes, exit codes, nothing left."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from conftest import Command, files_in
from databases import PASSWORD, Place, empty, new_place

from core_mondrian import DataError, KAnonymity, OutputError, Spec
from core_mondrian.sources import interruptible as module
from core_mondrian.sources.interruptible import interruptible
from core_mondrian.sources.sql.anonymize import anonymize_sql

pytest_plugins = ("support.database_places",)

SPEC = Spec(("age",), (KAnonymity(5),))
PEOPLE = pa.table({"age": [20 + i % 9 for i in range(90)], "note": range(90)})
FLAGS = ("--qid", "age", "--k", "5", "--no-measures")

# Causes


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        pytest.param((PASSWORD, "wrong"), "the login failed", id="password"),
        pytest.param(("tester", "nobody"), "the login failed", id="user"),
        pytest.param(("/postgres", "/none"), "there is no such database", id="name"),
        pytest.param(
            ("@127.0.0.1", "@nowhere.invalid"), "cannot be reached", id="host"
        ),
        pytest.param(("127.0.0.1:", "127.0.0.1:1"), "", id="port"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(
    postgresql_server: str, change: tuple[str, str], cause: str
) -> None:
    with pytest.raises(DataError, match=f"failed to open the database.*{cause}"):
        anonymize_sql(postgresql_server.replace(*change), "people", "released", SPEC)


def test_a_schema_that_is_not_there_is_told_before_any_work(place: Place) -> None:
    place.load("people", PEOPLE)
    stages: list[str] = []

    with pytest.raises(OutputError, match="there is no such schema"):
        anonymize_sql(
            *(place.url, "people", "nowhere.released", SPEC),
            progress=lambda stage, _: stages.append(stage),
        )
    with pytest.raises(DataError, match=r'no table or view "nowhere"\."people"'):
        anonymize_sql(place.url, "nowhere.people", "released", SPEC)

    assert stages == []
    assert place.catalog() == ["people"]


def test_a_read_only_transaction_is_told_before_any_work(
    postgresql_server: str,
) -> None:
    place = Place("postgresql", postgresql_server)
    empty(place)
    place.load("people", PEOPLE)
    url = f"{postgresql_server}?options=-c%20default_transaction_read_only%3Don"

    with pytest.raises(OutputError, match=r"PostgreSQL.*: it is read-only"):
        anonymize_sql(url, "people", "released", SPEC)

    assert place.catalog() == ["people"]


AS_OTHER = """
import contextlib, os, sys
from core_mondrian.cli.main import run
user, first, second, *flags = sys.argv[1:]
with contextlib.suppress(SystemExit):  # loads all that nobody else may read
    run(["anonymize", "--database", first, "people", "released", *flags])
os.setgid(int(user))
os.setuid(int(user))
run(["anonymize", "--database", second, "people", "again", *flags])
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_read_only_file_is_told_before_any_work(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place(kind, tmp_path, request)
    place.load("people", PEOPLE)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "people"
        shutil.copy(place.url, file)
        file.chmod(0o444)
        Path(folder).chmod(0o777)
        user = str(pwd.getpwnam("nobody").pw_uid)
        command = [sys.executable, "-c", AS_OTHER, user, place.url, str(file)]
        done = subprocess.run(  # noqa: S603
            [*command, *FLAGS], capture_output=True, cwd=folder, text=True, check=False
        )
        left = files_in(Path(folder))

    assert done.returncode == 6, done.stderr
    assert "failed to open the database: it is read-only" in done.stderr
    assert left == ["people", "released.manifest.json", "released.owner.json"]


HOLD = """
import sys, duckdb, sqlite3
if sys.argv[1] == "duckdb":
    held = duckdb.connect(sys.argv[2])
else:
    held = sqlite3.connect(sys.argv[2], isolation_level=None)
    held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_file_that_another_program_has_is_told(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: Any
) -> None:
    monkeypatch.setattr("core_mondrian.sources.sql.sqlite_file._PATIENCE", 0.05)
    place = new_place(kind, tmp_path, request)
    place.load("people", PEOPLE)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLD, kind, place.url]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:  # noqa: S603
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"

        with pytest.raises(DataError, match="another program is using it"):
            anonymize_sql(place.url, "people", "released", SPEC)
        other.communicate("")

    assert place.catalog() == ["people"]


def test_a_damaged_file_is_told(tmp_path: Path, request: Any) -> None:
    place = new_place("sqlite", tmp_path, request)
    place.load("people", PEOPLE)
    raw = bytearray(Path(place.url).read_bytes())
    raw[100:] = b"\7" * (len(raw) - 100)
    Path(place.url).write_bytes(raw)

    with pytest.raises(DataError, match="the file is damaged"):
        anonymize_sql(place.url, "people", "released", SPEC)


def test_codes_of_causes(cli: Command, postgresql_server: str, tmp_path: Path) -> None:
    place = Place("postgresql", postgresql_server)
    empty(place)
    place.load("people", PEOPLE)
    cases = {
        3: (postgresql_server.replace(PASSWORD, "wrong"), "people", "released"),
        6: (postgresql_server, "people", "nowhere.released"),
        2: (postgresql_server, "people", "people", "--overwrite"),
    }

    for code, (database, *words) in cases.items():
        done = cli("anonymize", "--database", database, *words, *FLAGS)
        assert done.code == code, done.err
        assert PASSWORD not in done.err
    assert files_in(tmp_path) == []


# Signals


CHILD = """
import sys
from core_mondrian.sources.sql.base import Database
run = Database.run
def noted(self, sql, report=None):
    if "slow" in sql:
        print("computing", flush=True)
    run(self, sql, report)
Database.run = noted
from core_mondrian.cli.main import run as main
main()
"""
SLOW = {
    "duckdb": "SELECT count(*) AS age FROM range(10000000) AS slow(i), "
    "range(10000000) AS t(j) WHERE hash(i, j) = 1",
    "sqlite": "WITH RECURSIVE slow(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM slow "
    "WHERE x < 1e15) SELECT max(x) AS age FROM slow",
    "postgresql": "SELECT count(*) AS age FROM generate_series(1, 1e6::int) AS slow, "
    "generate_series(1, 1e6::int) AS t WHERE hashint4(slow + t) = 1",
}


@pytest.mark.parametrize(
    ("kind", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
def test_a_signal_ends_a_statement_that_computes(
    kind: signal.Signals, code: int, place: Place, tmp_path: Path
) -> None:
    place.load("people", PEOPLE)
    place.run("CREATE TABLE released AS SELECT 1 AS one")
    before = files_in(tmp_path)
    flags = (*FLAGS, "--overwrite", "--manifest", "m.json")
    command = [sys.executable, "-c", CHILD, "anonymize", "--database", place.url]
    child = subprocess.Popen(  # noqa: S603
        [*command, SLOW[place.kind], "released", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "computing\n"
    time.sleep(0.5)
    assert child.poll() is None

    child.send_signal(kind)
    sent = time.monotonic()
    _, err = child.communicate(timeout=60)

    assert child.returncode == code, err
    assert err == "interrupted; nothing was written\n"
    assert time.monotonic() - sent < 20
    assert files_in(tmp_path) == before
    assert place.fetch("SELECT * FROM released") == [(1,)]
    assert place.catalog() == ["people", "released"]
    if place.kind == "postgresql":
        running = (
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query "
            "LIKE '%slow%' AND pid <> pg_backend_pid()"
        )
        assert place.fetch(running) == [(0,)]


def test_a_call_is_cancelled_before_an_interrupt_goes_on() -> None:
    steps: list[str] = []
    stop = False

    def work() -> None:
        while not stop:
            time.sleep(0.01)
        steps.append("ended")

    def cancel() -> None:
        nonlocal stop
        steps.append("cancelled")
        stop = True

    def look() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interruptible(work, cancel, look)

    assert steps == ["cancelled", "ended"]


def test_a_call_is_cancelled_if_an_interrupt_comes_while_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_begun, is_over, steps = Event(), Event(), list[str]()

    class Interrupted(Thread):
        def start(self) -> None:
            super().start()
            assert has_begun.wait(30)
            raise KeyboardInterrupt

    def work() -> None:
        has_begun.set()
        assert is_over.wait(30)
        steps.append("ended")

    monkeypatch.setattr(module, "Thread", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, is_over.set)

    assert steps == ["ended"]


def test_what_a_call_raises_is_raised_here() -> None:
    def fail() -> None:
        raise DataError("told")

    with pytest.raises(DataError, match="told"):
        interruptible(fail, lambda: None)


def test_a_view_takes_time_in_proportion_to_its_rows(file_place: Place) -> None:
    """A join without an index would take the square of it."""

    def seconds(n: int) -> float:
        rows = [(i * 7919) % n for i in range(n)]
        file_place.load(f"people{n}", pa.table({"age": rows, "note": range(n)}))
        spec = Spec(("age", "note"), (KAnonymity(5),))
        anonymize_sql(file_place.url, f"people{n}", f"released{n}", spec, view=True)
        begun = time.process_time()
        assert file_place.fetch(f"SELECT count(*) FROM released{n}") == [(n,)]
        return time.process_time() - begun

    small, large = seconds(4_000), seconds(16_000)

    assert large < 10 * small + 0.2
