"""Arrow tables to and from the cluster."""

from typing import TYPE_CHECKING, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


_BROADCAST: Final = 1_000_000
"""Tables of fewer rows are sent to every executor."""


def send(session: "SparkSession", table: pa.Table) -> "DataFrame":
    """Return a table as a Spark frame; moments without a time zone stay so."""
    plain = pa.table([_decoded(column) for column in table.columns], table.column_names)
    return session.createDataFrame(plain, schema=spark_schema(plain.schema))


def spark_schema(schema: pa.Schema) -> "StructType":
    """Return the types that Spark has for those of a table."""
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = [field.with_type(_plain(field.type)) for field in schema]
    return from_arrow_schema(pa.schema(fields), prefer_timestamp_ntz=True)


def sized(frame: "DataFrame", n_rows: int = 0) -> "DataFrame":
    """Say how a table is to be joined: sent to all executors, if it is small.

    Else as Spark sees fit: to hash a large one may take more memory than there is.
    """
    return frame.hint("broadcast") if n_rows < _BROADCAST else frame


def in_utc(table: pa.Table) -> pa.Table:
    """Return a table whose moments are as Spark takes them, whatever its zone is."""
    schema = pa.schema([(field.name, _utc(field.type)) for field in table.schema])
    return table if schema.equals(table.schema) else table.cast(schema)


def _utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_utc(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_utc(kind.value_type)))
    return kind


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(_plain(column.type))


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
