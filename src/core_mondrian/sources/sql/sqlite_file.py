"""An SQLite file."""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from core_mondrian.errors import DataError
from core_mondrian.sources import causes
from core_mondrian.sources.causes import Cause
from core_mondrian.sources.spill import literal
from core_mondrian.sources.sql import failures
from core_mondrian.sources.sql.base import (
    TEMPORARY,
    Column,
    Database,
    Kind,
    Reading,
    Space,
)
from core_mondrian.sources.sql.names import Name, quoted

_KIND: Final = re.compile(r"[A-Za-z_][\w ]*(\( *[+-]?\d+ *(, *[+-]?\d+ *)?\))?")
_TIMES: Final = (("DATETIME", "us"), ("TIMESTAMP", "us"), ("DATE", None))
_STORED: Final = (
    ("{}", pa.int64()),
    ("CAST({} AS REAL)", pa.float64()),
    ("CAST({} AS TEXT)", pa.string()),
    ("CAST({} AS BLOB)", pa.binary()),
)
"""How the cells of a column are read that holds integers, or other things as well."""
_GUARDS: Final = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0")
"""A file may come from a stranger: its views call only what cannot do harm, and damaged
pages are errors. Python loads no extension unless it is told to."""
_CACHE: Final = 64 << 10
"""KiB of pages in memory."""
_PATIENCE: Final = 5.0
"""Seconds to wait for whoever writes."""
_FETCHED: Final = 2048
"""Rows that are tuples of Python's at a time: more of them leave the caches."""
_BATCH: Final = 1 << 16
_CAUSES: Final = {
    sqlite3.SQLITE_BUSY: failures.BUSY,
    sqlite3.SQLITE_LOCKED: failures.BUSY,
    sqlite3.SQLITE_READONLY: failures.READ_ONLY,
    sqlite3.SQLITE_FULL: causes.DISK_FULL,
    sqlite3.SQLITE_CORRUPT: failures.DAMAGED,
    sqlite3.SQLITE_NOTADB: failures.DAMAGED,
}


class SQLiteFile(Database):
    """See `Database`."""

    title = "SQLite"
    has_structs = False
    has_views = True
    has_live_views = False
    ignores_case = True
    longest_name = 2**31
    # Of a plain join it may take the small table first, and the large one for each row.
    join = "CROSS JOIN"

    def __init__(self, path: Path) -> None:
        # Texts that are no UTF-8 are errors of Python's.
        self.errors = (sqlite3.Error, OSError, pa.ArrowException, UnicodeError)
        self.folder = path.resolve().parent
        self._path = path
        self._connection: sqlite3.Connection | None = None

    @property
    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                self._path,
                timeout=_PATIENCE,
                isolation_level=None,  # transactions are begun by statements of ours
                check_same_thread=False,  # one thread at a time, see `call`
            )
        return self._connection

    def begin(self, space: Space) -> None:
        del space
        if not os.access(self._path, os.W_OK):  # SQLite would read it all the same
            raise failures.read_only(self)
        for guard in (*_GUARDS, f"cache_size = -{_CACHE}"):
            self._opened.execute(f"PRAGMA {guard}")
        self.run("BEGIN IMMEDIATE")

    def execute(self, sql: str) -> None:
        self._opened.execute(sql)

    def stream(
        self, sql: str, kinds: Sequence[pa.DataType | None] | None = None
    ) -> Iterator[pa.Table]:
        cursor = self.call(self._opened.execute, sql)
        names = [str(one[0]) for one in cursor.description]
        wanted = [None] * len(names) if kinds is None else kinds

        def read() -> pa.Table:
            """Read a batch, in pieces that stay in the processor's caches."""
            chunks: list[list[pa.Array]] = [[] for _ in names]
            for _ in range(0, _BATCH, _FETCHED):
                rows = cursor.fetchmany(_FETCHED)
                columns = zip(*rows, strict=True) if rows else ((),) * len(names)
                for held, column, kind in zip(chunks, columns, wanted, strict=True):
                    held.append(pa.array(column, kind))
                if not rows:
                    break
            return pa.table([_joined(x) for x in chunks], names=names)

        try:
            table = self.call(read)
            yield table
            while (table := self.call(read)).num_rows:
                yield table
        finally:
            cursor.close()

    def upload(self, name: str, tables: Iterable[pa.Table]) -> None:
        table = self.temporary(name)
        for i, some in enumerate(tables):
            if not i:
                self.run(f"CREATE {table.new_table} ({', '.join(some.column_names)})")
            marks = ", ".join("?" * some.num_columns)
            sql = f"INSERT INTO {table.sql} VALUES ({marks})"
            for batch in some.to_batches(_BATCH):
                cells = [column.to_pylist() for column in batch.columns]
                rows = zip(*cells, strict=True)
                self.call(self._opened.executemany, sql, rows)

    def cancel(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def cause(self, error: Exception) -> Cause | None:
        # The lowest byte is the kind of error, the others say more.
        return _CAUSES.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)

    def temporary(self, name: str) -> Name:
        return Name(("temp", TEMPORARY + name), is_temporary=True)

    def qualified(self, name: Name) -> Name:
        return Name(("main", *name.parts)[-2:]) if len(name.parts) < 2 else name

    def has_schema(self, name: Name) -> bool:
        found = self.fetch("SELECT name FROM pragma_database_list")
        return name.parts[-2].lower() in (x.as_py().lower() for x in found[0])

    def find(self, name: Name) -> Kind | None:
        whole = self.qualified(name)
        if not self.has_schema(whole):
            return None
        found = self.fetch(
            f"SELECT type FROM {quoted(whole.parts[-2])}.sqlite_master WHERE "
            f"type IN ('table', 'view') AND name = {literal(name.last)} COLLATE NOCASE"
        )
        kind: Kind | None = found[0][0].as_py() if len(found) else None
        return kind

    def columns(self, relation: str) -> tuple[Column, ...]:
        view = self.temporary("columns")
        self.run(f"CREATE TEMP VIEW {view.last} AS SELECT * FROM {relation}")
        found = self.fetch(f"PRAGMA temp.table_info({view.last})").to_pylist()
        self.run(f"DROP VIEW {view.sql}")
        return tuple(
            Column(one["name"], kind if _KIND.fullmatch(kind) else "", is_text=True)
            for one in found
            for kind in [one["type"]]
        )

    def may_read(self, relation: str, names: Sequence[Name]) -> bool:
        """Try whether it can be read in a copy of the schema that lacks them.

        Virtual tables are not there, either: their modules may read any table.
        """
        gone = {name.last.lower() for name in names}
        found = self.fetch(
            "SELECT type, lower(name) AS name, sql FROM main.sqlite_master WHERE "
            "sql IS NOT NULL AND (rootpage > 0 OR type = 'view') ORDER BY "
            "CASE type WHEN 'table' THEN 0 WHEN 'view' THEN 1 ELSE 2 END"
        )
        with closing(sqlite3.connect(":memory:")) as copy:
            for one in found.to_pylist():
                if one["name"] not in gone:
                    with suppress(sqlite3.Error):  # then it cannot be read
                        copy.execute(one["sql"])
            try:
                copy.execute(f"EXPLAIN SELECT * FROM {relation}")
            except sqlite3.Error:
                return True
        return False

    def exact(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f"({cell} COLLATE BINARY)"

    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        return " AND ".join(f"{b} IS {a}" for a, b in pairs)

    def ranked(self, cell: str, column: Column) -> str:
        return self.exact(cell, column)

    def present(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f"{cell} IS NOT NULL"

    def readings(
        self, table: Name, cells: Sequence[str], columns: Sequence[Column]
    ) -> list[Reading]:
        """Look at all cells: each may be of another type, whatever is declared."""
        del columns
        ranks = "WHEN 'integer' THEN 0 WHEN 'real' THEN 1 WHEN 'text' THEN 2"
        found = self.fetch(
            "SELECT 0 AS x"
            + "".join(
                f", max(CASE typeof({cell}) {ranks} WHEN 'blob' THEN 3 END) AS {cell}"
                for cell in cells
            )
            + f" FROM {table.sql}"
        )
        stored = [_STORED[column[0].as_py() or 0] for column in found.columns[1:]]
        return [
            Reading(sql.format(cell), kind)
            for cell, (sql, kind) in zip(cells, stored, strict=True)
        ]

    def as_arrow(
        self, cells: pa.ChunkedArray, column: Column, kind: pa.DataType | None
    ) -> pa.ChunkedArray:
        """Read texts in columns that are declared to hold dates or times."""
        del kind
        asked = column.kind.upper()
        units = [unit for word, unit in _TIMES if asked.startswith(word)]
        if not units or not pa.types.is_string(cells.type):
            return cells
        wanted = pa.date32() if units[0] is None else pa.timestamp(units[0])
        try:
            return cells.cast(wanted)
        except pa.ArrowException:  # which quotes the cell
            raise DataError(
                f"column {column.name!r} is declared {asked} and holds other texts",
                hint="dates are YYYY-MM-DD; else cast it in a query: "
                "SELECT CAST(… AS TEXT) …",
            ) from None

    def as_sql(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        return cells.cast(pa.string()) if pa.types.is_temporal(cells.type) else cells

    def cast(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return cell

    def kind_of(self, kind: pa.DataType) -> str:
        if pa.types.is_integer(kind):
            return "INTEGER"
        return "REAL" if pa.types.is_floating(kind) else "TEXT"

    def index(
        self,
        table: Name,
        columns: Sequence[str],
        *,
        matched: bool = False,  # noqa: ARG002
    ) -> None:
        index = table.beside(f"_by_{columns[0]}").sql
        self.run(f"CREATE INDEX {index} ON {quoted(table.last)} ({', '.join(columns)})")

    def create(
        self,
        name: Name,
        columns: Sequence[Column],
        query: str,
        report: Callable[[float], None] | None = None,
    ) -> None:
        # Made of a query, it would forget the types.
        fields = ", ".join(f"{quoted(item.name)} {item.kind}" for item in columns)
        self.run(f"CREATE {name.new_table} ({fields})")
        self.run(f"INSERT INTO {name.sql} {query}", report)

    def mixed(self, query: str) -> str:
        # Its generator is a stream cipher that the system seeds.
        return f"SELECT * FROM ({query}) AS rows ORDER BY random()"


def _joined(chunks: Sequence[pa.Array]) -> Any:  # noqa: ANN401  # Arrow has no types
    """Join the chunks of a column; where no type was given, those without rows go."""
    known = [x for x in chunks if len(x)] or list(chunks[:1])
    if len({x.type for x in known}) > 1:
        return pa.array(list(chain.from_iterable(x.to_pylist() for x in known)))
    return pa.concat_arrays(known)
