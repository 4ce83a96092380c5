"""Databases for tests: files, and a server that is started once and stopped again."""

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import pyarrow as pa
import pytest

PASSWORD = "CANARY-password"  # noqa: S105
_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


@dataclass(frozen=True)
class Place:
    """A database under test, looked at by other means than ours."""

    kind: str
    url: str

    def load(self, name: str, table: pa.Table) -> None:
        """Make a table of Arrow's."""
        if self.kind == "duckdb":
            with duckdb.connect(self.url) as connection:
                connection.register("loaded", table)
                quoted = name.replace('"', '""')
                connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM loaded')
            return
        if self.kind == "sqlite":
            self._load_sqlite(name, table)
            return
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
            connection.commit()

    def _load_sqlite(self, name: str, table: pa.Table) -> None:
        fields = (
            '"{}" {}'.format(field.name.replace('"', '""'), _sqlite_kind(field.type))
            for field in table.schema
        )
        quoted = '"' + name.replace('"', '""') + '"'
        marks = ", ".join("?" * table.num_columns)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        with closing(self.connect()) as connection:
            connection.execute(f"CREATE TABLE {quoted} ({', '.join(fields)})")
            connection.executemany(f"INSERT INTO {quoted} VALUES ({marks})", rows)
            connection.commit()

    def run(self, *statements: str) -> None:
        if self.kind == "duckdb":
            with duckdb.connect(self.url) as connection:
                for statement in statements:
                    connection.execute(statement)
            return
        with closing(self.connect()) as connection:
            with closing(connection.cursor()) as cursor:
                for statement in statements:
                    cursor.execute(statement)
            connection.commit()

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        if self.kind == "duckdb":
            with duckdb.connect(self.url) as connection:
                return connection.execute(query).fetchall()
        with (
            closing(self.connect()) as connection,
            closing(connection.cursor()) as cursor,
        ):
            cursor.execute(query)
            return list(cursor.fetchall())

    def catalog(self) -> list[str]:
        """Return the names of all tables, views and indexes."""
        queries = {
            "duckdb": "SELECT table_name FROM information_schema.tables "
            "UNION ALL SELECT index_name FROM duckdb_indexes()",
            "sqlite": "SELECT name FROM sqlite_master",
            "postgresql": "SELECT relname::text FROM pg_class WHERE relnamespace IN "
            "(SELECT oid FROM pg_namespace WHERE nspname !~ '^(pg_|information)') "
            "AND relkind <> 't'",
        }
        return sorted(name for (name,) in self.fetch(queries[self.kind]))

    def connect(self) -> Any:
        """Return a connection; not for DuckDB."""
        if self.kind == "sqlite":
            return sqlite3.connect(self.url)
        return adbc_driver_postgresql.dbapi.connect(self.url)


def _sqlite_kind(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"


def reason_without_postgres() -> str | None:
    """Say why no PostgreSQL server can be started here, if so."""
    if not _BINARIES:
        return "no PostgreSQL server in /usr/lib/postgresql"
    if os.getuid() != 0:
        return None
    with suppress(KeyError):
        pwd.getpwnam("postgres")
        return None if shutil.which("setpriv") else "setpriv is not there"
    return "the server does not run as root, and there is no user postgres"


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server on loopback, and give the address of an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    as_user: list[str] = []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    programs = _BINARIES[-1]
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    data = folder / "data"

    def call(*command: object) -> None:
        subprocess.run(  # noqa: S603
            [*as_user, *map(str, command)],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    try:
        call(
            *(programs / "initdb", "-D", data, "-U", "tester", "--no-sync"),
            *("--auth=scram-sha-256", f"--pwfile={secret}"),
            *("--encoding=UTF8", "--locale=C.UTF-8"),
        )
        port = _free_port()
        options = (
            f"-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories='' "
            "-c fsync=off"
        )
        call(
            *(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log"),
            *("-o", options, "start"),
        )
        try:
            yield f"postgresql://tester:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            call(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def empty(place: Place) -> None:
    """Leave nothing in a database of PostgreSQL's but an empty schema."""
    names = place.fetch(
        "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname !~ "
        "'^(pg_|information_schema$)'"
    )
    place.run(*(f"DROP SCHEMA {name} CASCADE" for (name,) in names))
    place.run("CREATE SCHEMA public")


def new_place(kind: str, folder: Path, request: pytest.FixtureRequest) -> Place:
    if kind == "duckdb":
        path = folder / "people.duckdb"
        duckdb.connect(path).close()
    elif kind == "sqlite":
        path = folder / "people.sqlite"
    else:
        place = Place(kind, request.getfixturevalue("postgresql_server"))
        empty(place)
        return place
    place = Place(kind, str(path))
    if kind == "sqlite":
        place.run("PRAGMA user_version = 1")
    return place
