"""Write a table as CSV, Parquet or Arrow IPC, and nothing but the table."""

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Self, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import OutputError, drops_context
from core_mondrian.runtime.array_types import (
    ArrowArray,
    ArrowField,
    ArrowType,
    Integers,
)
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.cleaning import clean_table
from core_mondrian.tables.files.atomic_write import Writer, check_target, write_files
from core_mondrian.tables.files.csv_text import csv_blocks, csv_column
from core_mondrian.tables.files.kinds import (
    compression_of,
    known_kind,
    source_schema,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Compression: TypeAlias = Literal["lz4"] | None
_PANDAS_TYPES: Final = {
    **{f"Int{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "Float32": "float32",
    "Float64": "float64",
    "boolean": "bool",
    "string": "unicode",
}
"""Types of pandas that Arrow's do not say, and what they are made of."""
_COMPRESSES_VIEWS = 25
"""Arrow before this version crashes when it compresses views of text."""
_MOST_TEXT = 2**31 - 1
"""Bytes that one Arrow array of text can hold; sets of values may be long."""
ROWS_TOGETHER: Final = 1 << 17
"""The most rows of a row group."""
BYTES_TOGETHER: Final = 16 << 20
"""Released cells of a row group: with the row that reaches that, it ends."""


@drops_context
def write_table(
    table: pa.Table,
    path: str | Path,
    *,
    source: pa.Schema | None = None,
    overwrite: bool = False,
    guard: bool = False,
) -> None:
    """Write ``table`` whole or not at all; see `table_writer` and `write_files`."""
    path = Path(path)
    check_target(path, overwrite=overwrite)
    writer = table_writer(table, path, source=source, guard=guard)
    write_files({path: writer}, overwrite=overwrite)


def table_writer(
    table: pa.Table,
    path: str | Path,
    *,
    source: pa.Schema | None = None,
    guard: bool = False,
) -> Writer:
    """Return what writes ``table`` in the form the suffix of ``path`` asks for.

    Text that is dictionary-encoded in memory only is plain text in the file. The file
    holds nothing the table does not show: no unused dictionary values, nothing under
    missing cells, no notes of the source beyond the types pandas reads.

    Args:
        table: What to write.
        path: Where it will stand.
        source: Schema of the table's origin; by default what `read_table` remembered.
        guard: CSV: let no text be a formula to a spreadsheet.
    """
    kind = known_kind(Path(path))
    origin = source_schema(table) if source is None else source
    table = clean_table(table, threads=None)
    schema = _wanted_schema(table, origin)
    if kind == "csv":
        return lambda file: _write_csv(table, file, guard=guard)
    if kind == "parquet":
        return lambda file: _write_parquet(table, schema, file)
    compression: Compression = (
        "lz4" if Path(path).suffix.lower() == ".feather" else None
    )
    return lambda file: _write_ipc(table, schema, file, compression)


class TableFile:
    """A CSV or Parquet file that is written piece by piece; see `table_writer`.

    `prepare` is most of the work, and any thread may do it.
    """

    def __init__(
        self,
        path: Path,
        template: pa.Table,
        source: pa.Schema,
        *,
        guard: bool = False,
    ) -> None:
        """Begin a file of rows such as those of ``template``."""
        self._guard = guard
        self._is_csv = known_kind(path) == "csv"
        template = clean_table(template)
        self._schema = _wanted_schema(template, source)
        self._file: BinaryIO | None = None
        self._parquet: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self._sizes = np.zeros(0, dtype=np.int64)
        """Bytes of each row that waits."""
        if self._is_csv:
            _check_csv(template, path)
            self._file = _open_csv(path)
            self._file.writelines(csv_blocks(template.slice(0, 0), guard=guard))
        else:
            encoded = _encoded(template, self._schema)
            self._parquet = _open_parquet(path, encoded.schema)

    def prepare(self, table: pa.Table) -> pa.Table | list[bytes]:
        """Return a piece as it is written."""
        table = clean_table(table)
        if self._is_csv:
            return list(csv_blocks(table, header=False, guard=self._guard))
        return _encoded(table, self._schema)

    def write(self, piece: pa.Table | list[bytes]) -> None:
        """Append what `prepare` returned."""
        if self._file is not None and isinstance(piece, list):
            self._file.writelines(piece)
        elif isinstance(piece, pa.Table) and len(piece):
            self._waiting.append(piece)
            self._sizes = np.append(self._sizes, _row_sizes(piece))
            while (n_rows := self._rows_of_group()) <= self._sizes.size:
                self._write_group(n_rows)

    def _rows_of_group(self) -> int:
        """Return after how many rows the next row group ends.

        Released rows alone decide: lengths of pieces, or the bytes of all rows that
        were read, would say something of those that were left out.
        """
        reached = np.searchsorted(np.cumsum(self._sizes), BYTES_TOGETHER)
        return min(int(reached) + 1, ROWS_TOGETHER)

    def _write_group(self, n_rows: int) -> None:
        waiting = pa.concat_tables(self._waiting)
        rest = waiting.slice(n_rows)
        self._waiting = [rest] if len(rest) else []
        self._sizes = self._sizes[n_rows:]
        if self._parquet is not None:
            group = clean_table(waiting.slice(0, n_rows))
            self._parquet.write_table(group, row_group_size=n_rows)

    def close(self, *, failed: bool = False) -> None:
        """End the file; ``failed``: without the rows that wait."""
        if self._file is not None:
            self._file.close()
        if self._parquet is None:
            return
        try:
            if self._waiting and not failed:
                self._write_group(self._sizes.size)
            self._parquet.add_key_value_metadata(_parquet_notes(self._schema))
        finally:
            self._waiting.clear()
            self._parquet.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_error: object) -> None:
        self.close(failed=kind is not None)


def _row_sizes(table: pa.Table) -> Integers:
    """Return about how many bytes each row takes: by its cells, not by how they lie."""
    sizes = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        sizes += np.concatenate([sizes[:0], *map(_cell_sizes, column.chunks)])
    return sizes


def _cell_sizes(cells: ArrowArray) -> Integers:
    kind, sizes = cells.type, np.full(len(cells), 8, dtype=np.int64)
    if pa.types.is_dictionary(kind):
        each = np.append(_cell_sizes(cells.dictionary), 8)
        codes = cells.indices.cast(pa.int64()).fill_null(each.size - 1)
        sizes = each[_numbers(codes)]
    elif isinstance(cells, pa.StructArray):
        for part in cells.flatten():
            sizes += _cell_sizes(part)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = _numbers(pc.list_value_length(cells).fill_null(0))
        ends = np.cumsum(lengths)
        total = np.append(0, np.cumsum(_cell_sizes(cells.flatten())))
        sizes += total[ends] - total[ends - lengths]
    elif is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        # Arrow does not count the bytes of views.
        is_view = pa.types.is_string_view(kind)
        plain = cells.cast(pa.large_string()) if is_view else cells
        sizes += _numbers(pc.binary_length(plain).fill_null(0))
    return sizes


def _numbers(counts: ArrowArray) -> Integers:
    numbers: Integers = counts.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _wanted_schema(table: pa.Table, source: pa.Schema) -> pa.Schema:
    """Return the types to be read back, and what pandas needs to know of them."""
    types = [_wanted_type(field.type, source, field.name) for field in table.schema]
    fields = [
        field.with_type(kind) for field, kind in zip(table.schema, types, strict=True)
    ]
    wanted = pa.schema(fields)
    notes = (source.metadata or {}).get(b"pandas")
    pandas = _pandas_notes(notes, wanted, source) if notes else None
    return wanted.with_metadata({b"pandas": pandas} if pandas else {})


def _wanted_type(kind: ArrowType, source: pa.Schema, name: str) -> ArrowType:
    if not pa.types.is_dictionary(kind):
        return kind
    places = source.get_all_field_indices(name)
    origin = source.field(places[0]).type if len(places) == 1 else None
    if origin is not None and pa.types.is_dictionary(origin):
        return kind
    if origin is not None and is_text(origin) and is_text(kind.value_type):
        return origin
    return kind.value_type


def _pandas_notes(notes: bytes, wanted: pa.Schema, source: pa.Schema) -> bytes | None:
    """Say which of pandas' own types the columns had, as far as they still do.

    All else that stands there would pass unseen: attributes may hold anything, numbers
    of categories count those of suppressed rows, and an index is a column.
    """
    same = {
        field.name for field in wanted if field.type == _type_in(source, field.name)
    }
    try:
        columns = [
            _pandas_column(note["field_name"], note["numpy_type"])
            for note in json.loads(notes)["columns"]
            if note["field_name"] in same and note["numpy_type"] in _PANDAS_TYPES
        ]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None  # not pandas' notes: anybody can write anything there
    if not columns:
        return None
    kept = {"columns": columns, "index_columns": [], "column_indexes": []}
    return json.dumps(kept).encode()


def _pandas_column(name: str, dtype: str) -> dict[str, str | None]:
    return {
        "name": name,
        "field_name": name,
        "metadata": None,
        "pandas_type": _PANDAS_TYPES[dtype],
        "numpy_type": dtype,
    }


def _type_in(schema: pa.Schema, name: str) -> ArrowType | None:
    place = schema.get_field_index(name)
    return schema.field(place).type if place >= 0 else None


def _write_parquet(table: pa.Table, schema: pa.Schema, path: Path) -> None:
    """Write dictionary codes as they are, with a schema that says what they mean.

    1M rows of census: .2 s of CPU time instead of .6 with decoding; statistics of
    dictionary columns would be another .15 s.
    """
    encoded = _encoded(table, schema)
    with _open_parquet(path, encoded.schema) as writer:
        writer.write_table(encoded)
        writer.add_key_value_metadata(_parquet_notes(schema))


def _encoded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    plain = [
        _encodable(column, field)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.table(plain, names=table.column_names)


def _open_parquet(path: Path, encoded: pa.Schema) -> "pq.ParquetWriter":
    import pyarrow.parquet as pq

    dictionaries = [pa.types.is_dictionary(kind) for kind in encoded.types]
    names = zip(encoded.names, dictionaries, strict=True)
    plain = [name for name, coded in names if not coded]
    return pq.ParquetWriter(
        path,
        encoded,
        store_schema=False,
        compression="snappy",
        write_statistics=plain or False,
    )


def _parquet_notes(schema: pa.Schema) -> dict[Any, Any]:
    """Return what the file says of its columns; a schema given to open it drops it."""
    return {
        **(schema.metadata or {}),
        b"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()),
    }


def _encodable(column: ArrowArray, field: ArrowField) -> ArrowArray:
    """Return the column as Parquet can take it: only text stays a dictionary."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or pa.types.is_string(kind.value_type):
        return column
    if is_text(kind.value_type):
        return column.cast(pa.dictionary(pa.int32(), pa.string()))
    return column.cast(field.type)


def _write_ipc(
    table: pa.Table, schema: pa.Schema, path: Path, compression: Compression
) -> None:
    columns = [
        _cast(column, field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    has_views = any("_view" in str(field.type) for field in schema)
    if has_views and int(pa.__version__.partition(".")[0]) < _COMPRESSES_VIEWS:
        compression = None
    options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
    released = pa.table(columns, schema=schema)
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, schema, options=options) as writer,
    ):
        writer.write_table(released)


def _cast(column: ArrowArray, kind: ArrowType) -> ArrowArray:
    """Cast a dictionary to text in pieces that hold no more than Arrow can count."""
    source: ArrowType = column.type
    if source == kind:  # Arrow has no cast of lists of text views, not even to itself.
        return column
    is_coded = pa.types.is_dictionary(source) and pa.types.is_string(source.value_type)
    if not is_coded or pa.types.is_dictionary(kind):
        return column.cast(kind)
    lengths = [pc.max(pc.binary_length(c.dictionary)).as_py() for c in column.chunks]
    step = _MOST_TEXT // max([length for length in lengths if length] or [1])
    plain = pa.string() if pa.types.is_string_view(kind) else kind  # a cast Arrow has
    pieces = [
        column.slice(at, step).cast(plain).cast(kind)
        for at in range(0, len(column), step)
    ]
    return pa.chunked_array([chunk for one in pieces for chunk in one.chunks], kind)


def _write_csv(table: pa.Table, path: Path, *, guard: bool) -> None:
    _check_csv(table, path)
    with _open_csv(path) as file:
        file.writelines(csv_blocks(table, guard=guard))


def _open_csv(path: Path) -> BinaryIO:
    """Open a file to write text to, compressed if its suffix says so."""
    compression = compression_of(path)
    if compression is None:
        return path.open("wb")
    return cast("BinaryIO", pa.output_stream(path, compression=compression))


def _check_csv(table: pa.Table, path: Path) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            csv_column(column.slice(0, 0).combine_chunks(), alone=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise OutputError(
                f"{path.name}: column {name!r} of type {column.type} has no CSV form",
                hint="write Parquet, or make it an identifier",
            ) from None
