"""A PostgreSQL server, through its Arrow driver."""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import DataError, SpecError
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
    check_times,
)
from core_mondrian.sources.sql.names import Name, quoted

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
_BATCH: Final = 8 << 20
"""Bytes that the driver hands over at a time."""
_PATIENCE: Final = 20
"""Seconds until a server that does not answer is not there."""
_STATES: Final = {
    "25006": failures.READ_ONLY,
    "28000": failures.LOGIN,
    "28P01": failures.LOGIN,
    "2BP01": failures.DEPENDENTS,
    "3D000": failures.NO_DATABASE,
    "3F000": failures.NO_SCHEMA,
    "40001": failures.CONFLICT,
    "40P01": failures.CONFLICT,
    "42501": failures.RIGHTS,
    "42P07": failures.EXISTS,
    "53100": causes.DISK_FULL,
    "53200": causes.NO_MEMORY,
}
_SETTINGS: Final = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "xmlbinary": "base64",
}
"""Those that values are spelled by."""
_TEXTS: Final = (
    ("authentication failed", failures.LOGIN),
    ("no password supplied", failures.LOGIN),
    ("no pg_hba.conf entry", failures.LOGIN),
    ("role ", failures.LOGIN),
    ("database ", failures.NO_DATABASE),
    ("could not translate host name", causes.NO_SERVER),
    ("Connection refused", causes.NO_SERVER),
    ("timeout expired", causes.NO_SERVER),
    ("No such file or directory", causes.NO_SERVER),
    ("server closed the connection", causes.NO_SERVER),
)
"""Parts of what libpq says when it cannot connect, which has no SQLSTATE."""
_READ_BY: Final = """
WITH RECURSIVE read(oid) AS (
    SELECT {view}::regclass::oid
    UNION
    SELECT next.oid FROM read JOIN (
        SELECT r.ev_class AS reader, d.refobjid AS oid
        FROM pg_catalog.pg_rewrite AS r JOIN pg_catalog.pg_depend AS d
        ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
        AND d.refclassid = 'pg_catalog.pg_class'::regclass
        UNION ALL
        SELECT inhparent, inhrelid FROM pg_catalog.pg_inherits
    ) AS next ON next.reader = read.oid
)"""
"""All that a view reads: tables, views, what these read, and partitions."""
_MAY_READ: Final = """
SELECT (
    SELECT count(*) FROM read JOIN pg_catalog.pg_class AS c ON c.oid = read.oid
    WHERE c.oid IN ({targets}) OR c.relkind = 'f'
) + (
    SELECT count(*) FROM read
    JOIN pg_catalog.pg_rewrite AS r ON r.ev_class = read.oid
    JOIN pg_catalog.pg_depend AS d
    ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
    LEFT JOIN pg_catalog.pg_proc AS f
    ON d.refclassid = 'pg_catalog.pg_proc'::regclass AND f.oid = d.refobjid
    WHERE f.provolatile <> 'i' OR f.prokind = 'a'
    OR d.refclassid = 'pg_catalog.pg_operator'::regclass
) + (
    SELECT count(*) FROM read JOIN pg_catalog.pg_class AS c ON c.oid = read.oid
    WHERE c.relkind IN ('v', 'm')
    AND pg_catalog.pg_get_viewdef(c.oid) ~ '(query|table|cursor|schema|database)_to_xml'
) AS n"""
"""Those that are asked for; and what may read any table: tables of other servers,
functions and operators of users, but for those that promise not to, and queries in
texts. The server's own functions are no dependencies."""
_RIGHTS: Final = """
SELECT pg_catalog.quote_ident(r.rolname) AS who, a.privilege_type::text AS what,
    a.is_grantable AS may_grant, a.attname::text AS of
FROM (
    SELECT NULL AS attname, (pg_catalog.aclexplode(
        coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)))).*
    FROM pg_catalog.pg_class AS c WHERE c.oid = {table}::regclass
    UNION ALL
    SELECT attname, (pg_catalog.aclexplode(attacl)).* FROM pg_catalog.pg_attribute
    WHERE attrelid = {table}::regclass AND attnum > 0 AND NOT attisdropped
) AS a LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee
WHERE r.rolname IS NOT NULL OR a.grantee = 0"""


class Right(NamedTuple):
    """What a role may do with a table, or with one of its columns."""

    who: str | None
    """As SQL spells it; None: everybody."""
    what: str
    may_grant: bool
    of: str | None


class PostgreSQL(Database):
    """See `Database`."""

    title = "PostgreSQL"
    has_structs = False
    has_views = False
    has_live_views = True
    ignores_case = False
    longest_name = 63
    join = "JOIN"

    def __init__(self, uri: str) -> None:
        self._driver: Any = import_module("adbc_driver_postgresql.dbapi")
        self.errors = (self._driver.Error, OSError, pa.ArrowException)
        self.folder = Path(tempfile.gettempdir())
        self._uri = _with_timeout(uri)
        self._connection: Any = None
        self._cursor: Any = None

    def begin(self, space: Space) -> None:
        del space
        # Transactions are begun by statements of ours: the driver begins others.
        self._connection = self.call(self._driver.connect, self._uri, autocommit=True)
        self.run("SET standard_conforming_strings = on")
        self.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        found = self.fetch("SELECT current_setting('transaction_read_only') AS x")
        if found[0][0].as_py() == "on":
            raise failures.read_only(self)

    def execute(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            self._cursor = cursor
            cursor.execute(sql)

    def stream(
        self, sql: str, kinds: Sequence[pa.DataType | None] | None = None
    ) -> Iterator[pa.Table]:
        del kinds
        with self._connection.cursor() as cursor:
            self._cursor = cursor
            size = {"adbc.postgresql.batch_size_hint_bytes": str(_BATCH)}
            cursor.adbc_statement.set_options(**size)
            self.call(cursor.execute, sql)
            reader = cursor.fetch_record_batch()
            yield reader.schema.empty_table()
            while (batch := self.call(next, reader, None)) is not None:
                yield pa.Table.from_batches([batch])

    def upload(self, name: str, tables: Iterable[pa.Table]) -> None:
        for i, some in enumerate(tables):
            self.call(self._ingest, name, some, "append" if i else "create")

    def _ingest(self, name: str, table: pa.Table, mode: str) -> None:
        with self._connection.cursor() as cursor:
            self._cursor = cursor
            cursor.adbc_ingest(TEMPORARY + name, table, mode=mode, temporary=True)

    def cancel(self) -> None:
        if self._cursor is not None:
            self._cursor.adbc_cancel()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def cause(self, error: Exception) -> Cause | None:
        state = getattr(error, "sqlstate", None)
        if state is not None or self._connection is not None:
            return _STATES.get(str(state))
        text = str(error)
        return next((cause for known, cause in _TEXTS if known in text), None)

    def temporary(self, name: str) -> Name:
        return Name(("pg_temp", TEMPORARY + name), is_temporary=True)

    def qualified(self, name: Name) -> Name:
        if len(name.parts) > 1:
            return name
        schema = self.fetch("SELECT current_schema()::text AS x")[0][0].as_py()
        return Name((schema or "public", name.last))

    def has_schema(self, name: Name) -> bool:
        return bool(
            self.number(
                "SELECT count(*) AS n FROM pg_catalog.pg_namespace "
                f"WHERE nspname = {literal(name.parts[-2])}"
            )
        )

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

    def may_read(self, relation: str, names: Sequence[Name]) -> bool:
        """Make a view of it, and ask what this depends on."""
        view = self.temporary("reader").sql
        self.run(f"CREATE TEMP VIEW {view} AS SELECT * FROM {relation}")
        targets = ", ".join(f"to_regclass({literal(name.sql)})" for name in names)
        read = _READ_BY.format(view=literal(view))
        found = self.number(f"{read} {_MAY_READ.format(targets=targets)}")
        self.run(f"DROP VIEW {view}")
        return found > 0

    def exact(self, cell: str, column: Column) -> str:
        return f'({cell} COLLATE "C")' if column.is_text else cell

    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        # The hash is for the planner: of the rest, nothing can be looked up.
        left, right = (_hashed(cells) for cells in zip(*pairs, strict=True))
        same = (f"{a} IS NOT DISTINCT FROM {b}" for a, b in pairs)
        return " AND ".join([f"{left} = {right}", *same])

    def ranked(self, cell: str, column: Column) -> str:  # noqa: ARG002
        return f'({cell}::text COLLATE "C")'

    def present(self, cell: str, column: Column) -> str:
        has_nan = _SIZE.sub("", column.kind) in _FLOATS
        return f"{cell} IS NOT NULL" + (f" AND {cell} <> 'NaN'" * has_nan)

    def is_countable(self, column: Column) -> bool:
        return _SIZE.sub("", column.kind) in _READ

    def readings(
        self, table: Name, cells: Sequence[str], columns: Sequence[Column]
    ) -> list[Reading]:
        return [
            self._reading(table, cell, column)
            for cell, column in zip(cells, columns, strict=True)
        ]

    def _reading(self, table: Name, cell: str, column: Column) -> Reading:
        if not self.is_countable(column):
            return Reading(f"{cell}::text")
        plain = f"{cell}::{column.kind}"
        if _SIZE.sub("", column.kind) != "numeric":
            return Reading(plain)
        size = _SIZE.search(column.kind)
        if size and int(size[2] or 0) >= 0:
            return Reading(plain, _decimals(column, int(size[1]), int(size[2] or 0)))
        found = self.fetch(
            f"SELECT max(scale({cell})) AS scale, "
            f"max(length(trunc(abs({cell}))::text)) AS whole FROM {table.sql} "
            f"WHERE {cell} NOT IN ('NaN', 'Infinity', '-Infinity')"
        )
        scale, whole = (column[0].as_py() or 0 for column in found.columns)
        return Reading(plain, _decimals(column, max(whole, 1) + scale, scale))

    def spell_alike(self) -> None:
        for name, value in _SETTINGS.items():
            self.run(f"SET {name} = {literal(value)}")

    def steady(self, column: Column) -> Column:
        # Numbers without a scale are read with that of all of them together.
        return replace(column, kind="text") if column.kind == "numeric" else column

    def as_arrow(
        self, cells: pa.ChunkedArray, column: Column, kind: pa.DataType | None
    ) -> pa.ChunkedArray:
        if not isinstance(cells.type, pa.BaseExtensionType):
            return check_times(cells, column)
        # Numbers of any length come as texts.
        texts = pa.chunked_array([chunk.storage for chunk in cells.chunks], pa.string())
        texts = pc.utf8_lower(texts)  # versions of the driver differ in that
        texts = pc.if_else(pc.equal(texts, "nan"), None, texts)
        if pc.any(pc.match_substring(texts, "inf"), min_count=0).as_py():
            raise _odd_numbers(column)
        return texts if kind is None else texts.cast(kind)

    def index(
        self, table: Name, columns: Sequence[str], *, matched: bool = False
    ) -> None:
        # The planner expects few rows of `matches`, and would read all for each.
        keys = f"({_hashed(columns)})" if matched else ", ".join(columns)
        self.run(f"CREATE INDEX ON {table.sql} ({keys})")
        self.run(f"ANALYZE {table.sql}")

    def mixed(self, query: str) -> str:
        # Unlike random(), it cannot be seeded by whoever reads.
        return f"SELECT * FROM ({query}) AS rows ORDER BY gen_random_uuid()"

    def protect(self, name: Name) -> None:
        """Take back what default privileges of the schema gave away."""
        self._revoke("ALL", name)

    def let_read_only(self, name: Name) -> None:
        # Whoever may change rows may lock them, and so finds those that others delete.
        self._revoke("INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER", name)

    def _revoke(self, rights: str, name: Name) -> None:
        table = literal(name.sql)
        self.run(
            "DO $$ DECLARE one record; BEGIN FOR one IN "
            "SELECT DISTINCT a.grantee, pg_get_userbyid(a.grantee) AS who "
            "FROM pg_class AS c, aclexplode(c.relacl) AS a "
            f"WHERE c.oid = to_regclass({table}) AND a.grantee <> c.relowner LOOP "
            "IF one.grantee = 0 THEN "
            f"EXECUTE format('REVOKE {rights} ON %s FROM PUBLIC', {table}); ELSE "
            f"EXECUTE format('REVOKE {rights} ON %s FROM %I', {table}, one.who); "
            "END IF; END LOOP; END $$"
        )

    def rights(self, name: Name) -> tuple[Right, ...]:
        table = literal(name.sql)
        has_rules = self.number(
            "SELECT (relrowsecurity OR relforcerowsecurity)::int AS n "
            f"FROM pg_catalog.pg_class WHERE oid = {table}::regclass"
        )
        if has_rules:
            raise SpecError(
                f"{name.sql} has row-level security, which its successor would not "
                "have: more people could read more",
                hint="drop it yourself, or take another name",
            )
        found = self.fetch(_RIGHTS.format(table=table))
        return tuple(Right(**one) for one in found.to_pylist())

    def grant(self, name: Name, rights: Any) -> None:  # noqa: ANN401
        self.protect(name)
        known = {column.name for column in self.columns(name.sql)}
        for who, what, may_grant, of in rights:
            if of is None or of in known:
                which = "" if of is None else f" ({quoted(of)})"
                more = " WITH GRANT OPTION" * may_grant
                self.run(
                    f"GRANT {what}{which} ON {name.sql} TO {who or 'PUBLIC'}{more}"
                )


def _with_timeout(uri: str) -> str:
    """Let libpq wait for a server no longer than we do, unless it is told how long."""
    if "connect_timeout=" in uri or "PGCONNECT_TIMEOUT" in os.environ:
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}connect_timeout={_PATIENCE}"


def _hashed(cells: Sequence[str]) -> str:
    return f"hash_record_extended(ROW({', '.join(cells)}), 0)"


def _decimals(column: Column, digits: int, scale: int) -> pa.DataType:
    """Return the type of numbers of so many digits."""
    if digits > _DIGITS:
        raise _odd_numbers(column)
    is_wide = digits > _NARROW
    return (pa.decimal256 if is_wide else pa.decimal128)(digits, scale)


def _odd_numbers(column: Column) -> DataError:
    return DataError(
        f"column {column.name!r} holds infinite or very long numbers",
        hint="cast it in a query, such as to double precision or text",
    )
