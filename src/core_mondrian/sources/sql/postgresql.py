"""A PostgreSQL server, through its Arrow driver."""

import re
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import DataError
from core_mondrian.sources.sql.adbc import ArrowConnection
from core_mondrian.sources.sql.base import (
    TEMPORARY,
    Column,
    Database,
    Kind,
    check_times,
)
from core_mondrian.sources.sql.names import Name, literal

_SIZE: Final = re.compile(r"\((\d+)(?:,(-?\d+))?\)")
_FLOATS: Final = ("real", "double precision", "numeric")
_READ: Final = {
    *("smallint", "integer", "bigint", "real", "double precision", "numeric"),
    *("boolean", "date", "timestamp without time zone", "timestamp with time zone"),
    *("time without time zone", "text", "character varying", "character", "name"),
}
"""Types that the driver hands over as what they are."""
_NARROW: Final = 38
_DIGITS: Final = 76
"""Digits of Arrow's decimals of 128 bits, and of its largest."""


class PostgreSQL(Database):
    """See `Database`."""

    title = "PostgreSQL"
    has_structs = False
    has_views = False
    ignores_case = False
    longest_name = 63
    join = "JOIN"

    def __init__(self, uri: str) -> None:
        self._arrow = ArrowConnection("adbc_driver_postgresql", uri)
        self.errors = self._arrow.errors

    def begin(self) -> None:
        self.run("SET standard_conforming_strings = on")
        self.run("BEGIN ISOLATION LEVEL REPEATABLE READ")

    def run(self, sql: str) -> None:
        self._arrow.run(sql)

    def fetch(self, sql: str, n_rows: int = 1) -> pa.Table:  # noqa: ARG002
        return self._arrow.fetch(sql)

    def upload(self, name: str, table: pa.Table) -> None:
        self._arrow.upload(name, table)

    def temporary(self, name: str) -> Name:
        return Name(("pg_temp", TEMPORARY + name), is_temporary=True)

    def find(self, name: Name) -> Kind | None:
        found = self.fetch(
            "SELECT relkind::text FROM pg_catalog.pg_class "
            f"WHERE oid = to_regclass({literal(name.sql)})"
        )
        if not len(found):
            return None
        return "view" if found[0][0].as_py() == "v" else "table"

    def columns(self, relation: str) -> tuple[Column, ...]:
        view = self.temporary("columns").sql
        self.run(f"CREATE TEMP VIEW {view} AS SELECT * FROM {relation}")
        found = self.fetch(
            "SELECT attname::text AS name, attcollation <> 0 AS is_text, "
            "CASE WHEN typtype = 'd' THEN format_type(typbasetype, typtypmod) "
            "ELSE format_type(atttypid, atttypmod) END AS kind "
            "FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_type "
            f"ON pg_type.oid = atttypid WHERE attrelid = {literal(view)}::regclass "
            "AND attnum > 0 ORDER BY attnum"
        )
        self.run(f"DROP VIEW {view}")
        return tuple(Column(**one) for one in found.to_pylist())

    def exact(self, cell: str, column: Column) -> str:
        return f'({cell} COLLATE "C")' if column.is_text else cell

    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        # The hash is for the planner: of the rest, nothing can be looked up.
        left, right = (_hashed(cells) for cells in zip(*pairs, strict=True))
        same = (f"{a} IS NOT DISTINCT FROM {b}" for a, b in pairs)
        return " AND ".join([f"{left} = {right}", *same])

    def ranked(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f'({cell}::text COLLATE "C")'

    def index(
        self, table: Name, columns: Sequence[str], *, matched: bool = False
    ) -> None:
        # The planner expects few rows of `matches`, and would read all for each.
        keys = f"({_hashed(columns)})" if matched else ", ".join(columns)
        self.run(f"CREATE INDEX ON {table.sql} ({keys})")
        self.run(f"ANALYZE {table.sql}")

    def present(self, cell: str, column: Column) -> str:
        has_nan = _SIZE.sub("", column.kind) in _FLOATS
        return f"{cell} IS NOT NULL" + (f" AND {cell} <> 'NaN'" * has_nan)

    def mixed(self, query: str) -> str:
        # Unlike random(), it cannot be seeded by whoever reads.
        return f"SELECT * FROM ({query}) AS rows ORDER BY gen_random_uuid()"

    def protect(self, name: Name) -> None:
        """Take back what default privileges of the schema gave away."""
        table = literal(name.sql)
        self.run(
            "DO $$ DECLARE one record; BEGIN FOR one IN "
            "SELECT DISTINCT a.grantee, pg_get_userbyid(a.grantee) AS who "
            "FROM pg_class AS c, aclexplode(c.relacl) AS a "
            f"WHERE c.oid = to_regclass({table}) AND a.grantee <> c.relowner LOOP "
            "IF one.grantee = 0 THEN "
            f"EXECUTE 'REVOKE ALL ON ' || {table} || ' FROM PUBLIC'; ELSE "
            f"EXECUTE format('REVOKE ALL ON ' || {table} || ' FROM %I', one.who); "
            "END IF; END LOOP; END $$"
        )

    def is_countable(self, column: Column) -> bool:
        return _SIZE.sub("", column.kind) in _READ

    def readable(self, cell: str, column: Column) -> str:
        if _SIZE.sub("", column.kind) in _READ:
            return f"{cell}::{column.kind}"
        return f"{cell}::text"

    def as_arrow(self, cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
        if isinstance(cells.type, pa.BaseExtensionType):
            return _as_decimals(cells, column)
        return check_times(cells, column)

    def close(self) -> None:
        self._arrow.close()


def _hashed(cells: Sequence[str]) -> str:
    return f"hash_record_extended(ROW({', '.join(cells)}), 0)"


def _as_decimals(cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Return numbers of any length, which come as texts, as decimals."""
    texts = pa.chunked_array([chunk.storage for chunk in cells.chunks], pa.string())
    texts = pc.if_else(pc.equal(texts, "NaN"), None, texts)
    length, point = pc.utf8_length(texts), pc.find_substring(texts, ".")
    has_point = pc.greater_equal(point, 0)
    after = pc.if_else(has_point, pc.subtract(pc.subtract(length, point), 1), 0)
    scale = pc.max(after).as_py() or 0
    whole = pc.max(pc.if_else(has_point, point, length)).as_py() or 1
    if (size := _SIZE.search(column.kind)) and int(size[2] or 0) >= scale:
        digits, scale = max(int(size[1]), scale), int(size[2] or 0)
    else:
        digits = whole + scale
    has_infinite = pc.any(pc.match_substring(texts, "Inf"), min_count=0).as_py()
    if digits > _DIGITS or has_infinite:
        raise DataError(
            f"column {column.name!r} holds infinite or very long numbers",
            hint="cast it in a query, such as to double precision or text",
        )
    is_wide = digits > _NARROW
    return texts.cast((pa.decimal256 if is_wide else pa.decimal128)(digits, scale))
