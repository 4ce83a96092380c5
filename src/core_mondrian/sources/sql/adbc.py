"""A connection through an Arrow driver (ADBC)."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pyarrow as pa

from core_mondrian.sources.sql.base import TEMPORARY


class ArrowConnection:
    """Statements and tables, to and fro; connected by the first statement."""

    def __init__(self, driver: str, place: str) -> None:
        self._driver: Any = import_module(f"{driver}.dbapi")
        self.errors: tuple[type[Exception], ...] = (
            *(self._driver.Error, OSError),
            pa.ArrowException,
        )
        self._place = place
        self._connection: Any = None

    def run(self, sql: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(sql)

    def fetch(self, sql: str, options: Mapping[str, str] | None = None) -> pa.Table:
        with self._cursor() as cursor:
            cursor.adbc_statement.set_options(**options or {})
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def upload(self, name: str, table: pa.Table) -> None:
        with self._cursor() as cursor:
            cursor.adbc_ingest(TEMPORARY + name, table, mode="create", temporary=True)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _cursor(self) -> Any:  # noqa: ANN401
        if self._connection is None:
            # Transactions are begun by statements of ours: drivers begin others.
            self._connection = self._driver.connect(self._place, autocommit=True)
        return self._connection.cursor()
