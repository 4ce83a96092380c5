"""A connection through an Arrow driver (ADBC)."""

from typing import Any

import pyarrow as pa

from core_mondrian.sql.base import TEMPORARY



class ArrowConnection:
    """Statements and tables, to and fro."""

    def __init__(self, driver: Any, place: str) -> None:  # noqa: ANN401
        self._connection = driver.connect(place, autocommit=True)

    def run(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def fetch(self, sql: str, options: dict[str, str] | None = None) -> pa.Table:
        with self._connection.cursor() as cursor:
            if options:
                cursor.adbc_statement.set_options(**options)
            cursor.execute(sql)
            return cursor.fetch_arrow_table()

    def upload(self, name: str, table: pa.Table) -> None:
        with self._connection.cursor() as cursor:
            cursor.adbc_ingest(TEMPORARY + name, table, mode="create", temporary=True)

    def close(self) -> None:
        self._connection.close()
