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
    schema = pa.schema([(field.name, _utc(field.type)) for field in table.schema])
    return table if schema.equals(table.schema) else table.cast(schema)


def _utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_utc(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_utc(kind.value_type)))
    return kind


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
