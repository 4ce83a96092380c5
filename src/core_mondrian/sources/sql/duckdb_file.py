"""A DuckDB file."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from core_mondrian.sources import causes
from core_mondrian.sources.causes import Cause
from core_mondrian.sources.spill import literal, open_duckdb
from core_mondrian.sources.sql import failures
from core_mondrian.sources.sql.base import (
    TEMPORARY,
    Column,
    Database,
    Kind,
    Space,
    check_times,
)
from core_mondrian.sources.sql.names import Name

# Names of tables are never those of our own variables.
_PLACE: Final = f"{TEMPORARY}place"
_BATCH: Final = 1 << 17
_CAUSES: Final = (
    ("Could not set lock", failures.BUSY),
    ("different configuration", failures.BUSY),
    ("Permission denied", failures.READ_ONLY),
    ("Read-only file system", failures.READ_ONLY),
    ("read-only mode", failures.READ_ONLY),
    ("No space left", causes.DISK_FULL),
    ("Dependency Error", failures.DEPENDENTS),
    ("Out of Memory", causes.NO_MEMORY),
    ("TransactionContext Error: Conflict", failures.CONFLICT),
)
"""How messages begin or what is in them, which DuckDB does not translate."""


class DuckDBFile(Database):
    """See `Database`."""

    title = "DuckDB"
    has_structs = True
    has_views = True
    has_live_views = True
    ignores_case = True
    longest_name = 2**31
    join = "JOIN"
    shares_memory = True

    def __init__(self, path: Path) -> None:
        import duckdb

        self.errors = (duckdb.Error, OSError, pa.ArrowException)
        self.folder = path.resolve().parent
        self._path = path
        self._connection: Any = None

    def begin(self, space: Space) -> None:
        # A file may come from a stranger: its views and macros read nothing but the
        # file, load and download nothing, and change none of this.
        self._connection = open_duckdb(
            file=self._path,
            folder=space.folder,
            memory=space.memory,
            threads=space.threads,
            enable_external_access=False,
            explain_output="all",
        )
        self._connection.execute("SET lock_configuration = true")
        self._connection.execute("BEGIN")

    def execute(self, sql: str) -> None:
        self._connection.execute(sql)

    def stream(
        self, sql: str, kinds: Sequence[pa.DataType | None] | None = None
    ) -> Iterator[pa.Table]:
        del kinds
        reader = self.call(lambda: self._connection.sql(sql).to_arrow_reader(_BATCH))
        yield reader.schema.empty_table()
        while (batch := self.call(next, reader, None)) is not None:
            yield pa.Table.from_batches([batch])

    def upload(self, name: str, tables: Iterable[pa.Table]) -> None:
        """Make the table in one statement.

        After several inserts, the first of them empty, DuckDB 2.0 shows none of the
        rows to their own transaction.
        """
        rest = iter(tables)
        first, view = next(rest), f"{TEMPORARY}arrow"
        failed: list[BaseException] = []

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for table in chain([first], rest):
                    yield from table.to_batches()
            except BaseException as error:
                failed.append(error)  # DuckDB raises one of its own
                raise

        reader = pa.RecordBatchReader.from_batches(first.schema, batches())
        self._connection.register(view, reader)
        try:
            table = self.temporary(name).new_table
            self.run(f"CREATE {table} AS SELECT * FROM {view}")
        except self.errors:
            if failed:
                raise failed[0] from None
            raise
        self._connection.unregister(view)

    def cancel(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()

    def progress(self) -> float | None:
        done = -1.0 if self._connection is None else self._connection.query_progress()
        return None if done < 0 else min(done / 100, 1.0)

    def close(self) -> None:
        if self._connection is not None:
            with suppress(*self.errors):  # a call that was cancelled may still have it
                self._connection.close()

    def cause(self, error: Exception) -> Cause | None:
        text = str(error)
        return next((cause for known, cause in _CAUSES if known in text), None)

    def temporary(self, name: str) -> Name:
        return Name(("temp", "main", TEMPORARY + name), is_temporary=True)

    def qualified(self, name: Name) -> Name:
        found = self.fetch("SELECT current_database() AS a, current_schema() AS b")
        catalog, schema = (column[0].as_py() for column in found.columns)
        known = (catalog, schema) if len(name.parts) == 1 else (catalog,)
        return Name((*known, *name.parts)[-3:])

    def has_schema(self, name: Name) -> bool:
        catalog, schema, _ = name.parts
        return (
            self.number(
                "SELECT count(*) AS n FROM information_schema.schemata WHERE "
                f"lower(schema_name) = lower({literal(schema)}) AND "
                f"lower(catalog_name) = lower({literal(catalog)})"
            )
            > 0
        )

    def find(self, name: Name) -> Kind | None:
        catalog, schema, table = self.qualified(name).parts
        found = self.fetch(
            "SELECT table_type FROM information_schema.tables WHERE "
            f"lower(table_name) = lower({literal(table)}) AND "
            f"lower(table_schema) = lower({literal(schema)}) AND "
            f"lower(table_catalog) = lower({literal(catalog)})"
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

    def may_read(self, relation: str, names: Sequence[Name]) -> bool:
        """Compare how the relation is read with and without them.

        DuckDB looks tables, views and macros up by name, and knows no dependents.
        """
        kinds = [(name, self.find(name)) for name in names]
        sql = f"EXPLAIN (FORMAT JSON) SELECT * FROM {relation}"
        with self._connection.cursor() as other:  # a transaction of its own
            before = other.execute(sql).fetchall()[0]
            other.execute("BEGIN")
            for name, kind in kinds:
                other.execute(f"DROP {str(kind).upper()} {name.sql}")
            try:
                return bool(other.execute(sql).fetchall()[0] != before)
            except self.errors:
                return True

    def exact(self, cell: str, column: Column) -> str:
        return f'({cell} COLLATE "C")' if column.is_text else cell

    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        return " AND ".join(f"{a} IS NOT DISTINCT FROM {b}" for a, b in pairs)

    def ranked(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f'(CAST({cell} AS VARCHAR) COLLATE "C")'

    def present(self, cell: str, column: Column) -> str:
        is_float = column.kind in ("FLOAT", "DOUBLE")
        return f"{cell} IS NOT NULL" + (f" AND NOT isnan({cell})" * is_float)

    def as_arrow(
        self, cells: pa.ChunkedArray, column: Column, kind: pa.DataType | None
    ) -> pa.ChunkedArray:
        del kind
        return check_times(cells, column)

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
