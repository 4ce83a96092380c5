"""Arrow tables to and from the cluster."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def send(session: "SparkSession", table: pa.Table) -> "DataFrame":
    """Return a table as a Spark frame; moments without a time zone stay so."""
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = pa.table([_decoded(column) for column in table.columns], table.column_names)
    schema = from_arrow_schema(plain.schema, prefer_timestamp_ntz=True)
    return session.createDataFrame(plain, schema=schema)


def in_utc(table: pa.Table) -> pa.Table:
    """Return a table whose moments are told in UTC, whatever the session's zone is."""
    columns = []
    for column in table.columns:
        kind = column.type
        is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None
        columns.append(
            column.cast(pa.timestamp(kind.unit, "UTC")) if is_zoned else column
        )
    return pa.table(columns, table.column_names)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
