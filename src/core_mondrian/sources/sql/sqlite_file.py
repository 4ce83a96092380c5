"""An SQLite file, through its Arrow driver."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from core_mondrian.errors import DataError
from core_mondrian.sources.sql.adbc import ArrowConnection
from core_mondrian.sources.sql.base import TEMPORARY, Column, Database, Kind
from core_mondrian.sources.sql.names import Name, literal, quoted

_KIND: Final = re.compile(r"[A-Za-z_][\w ]*(\( *[+-]?\d+ *(, *[+-]?\d+ *)?\))?")
_TIMES: Final = (("DATETIME", "us"), ("TIMESTAMP", "us"), ("DATE", None))
_MOST_COLUMNS: Final = 2000
"""Of a table."""
_GUARDS: Final = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0")
"""A file may come from a stranger: its views call only what cannot do harm, and damaged
pages are errors. The driver loads no extension unless it is told to."""
_PATIENCE: Final = 5000
"""Milliseconds to wait for whoever writes."""


class SQLiteFile(Database):
    """See `Database`."""

    title = "SQLite"
    has_structs = False
    has_views = True
    ignores_case = True
    longest_name = 2**31
    # Of a plain join it may take the small table first, and the large one for each row.
    join = "CROSS JOIN"

    def __init__(self, path: Path) -> None:
        self._arrow = ArrowConnection("adbc_driver_sqlite", str(path))
        self.errors = self._arrow.errors

    def begin(self) -> None:
        self.fetch(f"PRAGMA busy_timeout = {_PATIENCE}")
        for guard in _GUARDS:
            self.run(f"PRAGMA {guard}")
        self.run("BEGIN IMMEDIATE")

    def run(self, sql: str) -> None:
        self._arrow.run(sql)

    def fetch(self, sql: str, n_rows: int = 1) -> pa.Table:
        # The driver takes a column's type from the first batch: there is to be but one.
        options = {"adbc.sqlite.query.batch_rows": str(n_rows + 1)}
        return self._arrow.fetch(sql, options)

    def upload(self, name: str, table: pa.Table) -> None:
        self._arrow.upload(name, table)

    def temporary(self, name: str) -> Name:
        return Name(("temp", TEMPORARY + name), is_temporary=True)

    def find(self, name: Name) -> Kind | None:
        schema = quoted(name.parts[-2]) if len(name.parts) > 1 else "main"
        found = self.fetch(
            f"SELECT type FROM {schema}.sqlite_master WHERE type IN ('table', 'view') "
            f"AND name = {literal(name.last)} COLLATE NOCASE"
        )
        kind: Kind | None = found[0][0].as_py() if len(found) else None
        return kind

    def columns(self, relation: str) -> tuple[Column, ...]:
        view = self.temporary("columns")
        self.run(f"CREATE TEMP VIEW {view.last} AS SELECT * FROM {relation}")
        found = self.fetch(f"PRAGMA temp.table_info({view.last})", _MOST_COLUMNS)
        self.run(f"DROP VIEW {view.sql}")
        return tuple(
            Column(one["name"], kind if _KIND.fullmatch(kind) else "", is_text=True)
            for one in found.to_pylist()
            for kind in [one["type"]]
        )

    def exact(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f"({cell} COLLATE BINARY)"

    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        return " AND ".join(f"{b} IS {a}" for a, b in pairs)

    def ranked(self, cell: str, column: Column) -> str:
        return self.exact(cell, column)

    def index(
        self,
        table: Name,
        columns: Sequence[str],
        *,
        matched: bool = False,  # noqa: ARG002
    ) -> None:
        index = table.beside("_index").sql
        self.run(f"CREATE INDEX {index} ON {quoted(table.last)} ({', '.join(columns)})")

    def present(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f"{cell} IS NOT NULL"

    def readable(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return cell

    def as_arrow(self, cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
        """Read texts in columns that are declared to hold dates or times."""
        asked = column.kind.upper()
        units = [unit for word, unit in _TIMES if asked.startswith(word)]
        if not units or not pa.types.is_string(cells.type):
            return cells
        kind = pa.date32() if units[0] is None else pa.timestamp(units[0])
        try:
            return cells.cast(kind)
        except pa.ArrowException:  # which quotes the cell
            raise DataError(
                f"column {column.name!r} is declared {asked} and holds other texts",
                hint="dates are YYYY-MM-DD; else cast it in a query: "
                "SELECT CAST(… AS TEXT) …",
            ) from None

    def mixed(self, query: str) -> str:
        # Its generator is a stream cipher that the system seeds.
        return f"SELECT * FROM ({query}) AS rows ORDER BY random()"

    def as_sql(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        return cells.cast(pa.string()) if pa.types.is_temporal(cells.type) else cells

    def cast(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return cell

    def kind_of(self, kind: pa.DataType) -> str:
        if pa.types.is_integer(kind):
            return "INTEGER"
        return "REAL" if pa.types.is_floating(kind) else "TEXT"

    def create(self, name: Name, columns: Sequence[Column], query: str) -> None:
        # Made of a query, it would forget the types.
        told = ", ".join(f"{quoted(item.name)} {item.kind}" for item in columns)
        self.run(f"CREATE {name.new_table} ({told})")
        self.run(f"INSERT INTO {name.sql} {query}")

    def close(self) -> None:
        self._arrow.close()
