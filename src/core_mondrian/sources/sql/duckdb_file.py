"""A DuckDB file."""

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from core_mondrian.files.drafts import draft_folder
from core_mondrian.sources.sql.base import (
    TEMPORARY,
    Column,
    Database,
    Kind,
    check_times,
)
from core_mondrian.sources.sql.names import Name, literal

# A file may come from a stranger: its views and macros read nothing but the file, load
# and download nothing, and change none of this. Names of tables are never those of our
# own variables.
_PLACE = f"{TEMPORARY}place"
_CONFIG = {
    "enable_external_access": False,
    "lock_configuration": True,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}


class DuckDBFile(Database):
    """See `Database`."""

    title = "DuckDB"
    has_structs = True
    has_views = True
    ignores_case = True
    longest_name = 2**31
    join = "JOIN"

    def __init__(self, path: Path, threads: int | None) -> None:
        import duckdb

        self.errors: tuple[type[Exception], ...] = (
            *(duckdb.Error, OSError),
            pa.ArrowException,
        )
        config = _CONFIG if threads is None else {**_CONFIG, "threads": threads}
        self._stack = ExitStack()
        self._path = path
        self._config: dict[str, Any] = config
        self._connection: Any = None

    def begin(self) -> None:
        import duckdb

        # Rows that do not fit into memory go to a folder that only we can open.
        beside = self._path.resolve().parent
        spill = self._stack.enter_context(draft_folder(beside, private=True))
        config = {**self._config, "temp_directory": str(spill)}
        self._connection = duckdb.connect(self._path, config=config)
        self._connection.execute("BEGIN")

    def run(self, sql: str) -> None:
        self._connection.execute(sql)

    def fetch(self, sql: str, n_rows: int = 1) -> pa.Table:  # noqa: ARG002
        return self._connection.sql(sql).to_arrow_table()

    def upload(self, name: str, table: pa.Table) -> None:
        view = f"{TEMPORARY}arrow"
        self._connection.register(view, table)
        self.run(f"CREATE TEMP TABLE {TEMPORARY}{name} AS SELECT * FROM {view}")
        self._connection.unregister(view)

    def temporary(self, name: str) -> Name:
        return Name(("temp", "main", TEMPORARY + name), is_temporary=True)

    def find(self, name: Name) -> Kind | None:
        schema, catalog = "current_schema()", "current_database()"
        if len(name.parts) > 1:
            schema = literal(name.parts[-2])
        if len(name.parts) > 2:
            catalog = literal(name.parts[-3])
        found = self.fetch(
            "SELECT table_type FROM information_schema.tables WHERE "
            f"lower(table_name) = lower({literal(name.last)}) AND "
            f"lower(table_schema) = lower({schema}) AND table_catalog = {catalog}"
        )
        if not len(found):
            return None
        return "view" if found[0][0].as_py() == "VIEW" else "table"

    def columns(self, relation: str) -> tuple[Column, ...]:
        found = self.fetch(f"DESCRIBE SELECT * FROM {relation}").to_pylist()
        return tuple(
            Column(one["column_name"], kind, kind.startswith("VARCHAR"))
            for one in found
            for kind in [one["column_type"]]
        )

    def exact(self, cell: str, column: Column) -> str:
        return f'({cell} COLLATE "C")' if column.is_text else cell

    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        return " AND ".join(f"{a} IS NOT DISTINCT FROM {b}" for a, b in pairs)

    def ranked(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f'(CAST({cell} AS VARCHAR) COLLATE "C")'

    def index(
        self, table: Name, columns: Sequence[str], *, matched: bool = False
    ) -> None:
        """Do nothing: joins are hashed."""

    def mixed(self, query: str) -> str:
        # Its random() has few bits of state; a hash under a secret has none to find.
        secret = literal(secrets.token_hex(32))
        place = f"sha256({secret} || CAST(row_number() OVER () AS VARCHAR))"
        ordered = f"SELECT *, {place} AS {_PLACE} FROM ({query}) AS rows"
        return (
            f"SELECT * EXCLUDE ({_PLACE}) FROM ({ordered}) AS placed ORDER BY {_PLACE}"
        )

    def present(self, cell: str, column: Column) -> str:
        is_float = column.kind in ("FLOAT", "DOUBLE")
        return f"{cell} IS NOT NULL" + (f" AND NOT isnan({cell})" * is_float)

    def readable(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return cell

    def as_arrow(self, cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
        return check_times(cells, column)

    def close(self) -> None:
        with self._stack:
            if self._connection is not None:
                self._connection.close()
