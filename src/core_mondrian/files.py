"""Tables in files: CSV, Parquet and Arrow IPC, read as asked and written atomically."""

import base64
import csv
import errno
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from core_mondrian.errors import (
    DataError,
    MondrianError,
    OutputError,
    SpecError,
    list_names,
)

Array: TypeAlias = Any
"""An Arrow array, chunked or not; Arrow itself has no types to check."""
Field: TypeAlias = Any
Type: TypeAlias = Any
Compression: TypeAlias = Literal["lz4"] | None
Writer: TypeAlias = Callable[[Path], None]
"""Writes one whole file to the path it is given."""

_FORMATS: Final = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
_SUFFIXES: Final = ", ".join(_FORMATS)
_SOURCE_SCHEMA: Final = b"core_mondrian:source_schema"
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_BLOCK: Final = 1 << 23
"""Bytes of CSV that Arrow parses at a time; no row may be longer."""
_WRITTEN_ROWS: Final = 1 << 16
_CODE_LIKE: Final = r"^[+-]?(0[0-9]+|0[xX].*|[0-9]{19,})$"
"""Digits that are a code, not a quantity: 01234, 0x1F, more than 64 bits hold."""


def read_table(
    path: str | Path,
    *,
    typed: Collection[str] | None = None,
    null_values: Sequence[str] = ("",),
    infer: bool = True,
) -> pa.Table:
    """Read a table; text may come back dictionary-encoded, see `source_schema`.

    A CSV file has no types. Columns in ``typed`` (None: all) get those Arrow infers,
    but whole numbers with leading zeros stay text, and ``null_values`` are missing
    there. Other columns are text as it stands, and missing only where empty.

    Args:
        path: The file; its suffix says what it is.
        typed: Columns of a CSV file to be read as more than text.
        null_values: What a missing value looks like in those columns.
        infer: False: those columns stay text, only missing values are recognized.

    Raises:
        DataError: there is no such file, or it is not what its suffix says.
    """
    path = Path(path)
    _check_source(path)
    kind = _FORMATS[path.suffix.lower()]
    with _reading(path, kind):
        if kind == "csv":
            table = _read_csv(path, typed, null_values, infer=infer)
        elif kind == "parquet":
            table = _read_parquet(path)
        else:
            table = _read_ipc(path)
        _check_names(path, table.column_names)
        # 20 ms for a million rows: Arrow trusts offsets and text in these files.
        table.validate(full=True)
    return table


def source_schema(table: pa.Table) -> pa.Schema:
    """Return the types ``table`` has in the file it was read from."""
    kept = (table.schema.metadata or {}).get(_SOURCE_SCHEMA)
    if kept is None:
        return table.schema
    return pa.ipc.read_schema(pa.py_buffer(kept))


def _remember(table: pa.Table, schema: pa.Schema) -> pa.Table:
    metadata = table.schema.metadata or {}
    kept = {**metadata, _SOURCE_SCHEMA: schema.serialize().to_pybytes()}
    return table.replace_schema_metadata(kept)


def _check_source(path: Path) -> None:
    if not path.exists():
        raise DataError(f"{path}: no such file", hint="check the path")
    if path.is_dir():
        raise DataError(f"{path}: a folder, not a file", hint="name one file in it")
    if path.suffix.lower() not in _FORMATS:
        raise DataError(
            f"{path}: unknown kind of file", hint=f"the suffix is one of {_SUFFIXES}"
        )
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({_reason(error)})", hint="check its permissions"
        ) from None
    if is_empty:
        raise DataError(f"{path}: the file is empty", hint="write it again")


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Turn Arrow's errors, which quote cells, into ours, which do not."""
    try:
        yield
    except MondrianError:
        raise
    except pa.ArrowMemoryError:
        raise DataError(f"{path}: does not fit into memory") from None
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or re.search("(?i)utf-?8", str(error)):
            hint = "save it as UTF-8"
            raise DataError(
                f"{path}: holds bytes that are no UTF-8", hint=hint
            ) from None
        raise DataError(*_unreadable(path, kind, str(error))) from None
    except OSError as error:
        if error.errno is not None:
            raise DataError(f"{path}: cannot be read ({_reason(error)})") from None
        raise DataError(*_unreadable(path, kind, "")) from None
    except pa.ArrowException as error:
        raise DataError(f"{path}: cannot be read ({type(error).__name__})") from None


def _unreadable(path: Path, kind: str, message: str) -> tuple[str]:
    if "straddling" in message:
        return (f"{path}: a row of over {_BLOCK >> 20} MiB, or a quote never closed",)
    names = {"csv": "a CSV", "parquet": "a Parquet", "ipc": "an Arrow"}
    return (f"{path}: not {names[kind]} file, or cut off or damaged",)


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else type(error).__name__


def _check_names(path: Path, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(
            f"{path}: column names occur more than once: {list_names(twice)}",
            hint="give each column a name of its own",
        )


# Parquet and Arrow IPC


def _read_parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
    _check_names(path, schema.names)
    names = [name for name in schema.names if _is_text(schema.field(name).type)]
    repetitive = [name for name in names if _is_repetitive(metadata, name)]
    # 1M rows of census: .09 s of CPU time instead of .45.
    with pq.ParquetFile(path, read_dictionary=repetitive) as file:
        return _remember(file.read(), schema)


def _is_text(kind: Type) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def _is_repetitive(metadata: pq.FileMetaData, name: str) -> bool:
    """Tell whether the file stores a text column as dictionary codes throughout.

    One that is mostly distinct values would take longer to read as a dictionary.
    """
    if not metadata.num_row_groups:
        return True
    group = metadata.row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    found = [chunk for chunk in chunks if chunk.path_in_schema == name]
    most = 4 * group.num_rows + (1 << 20)
    return len(found) == 1 and bool(found[0].total_uncompressed_size <= most)


def _read_ipc(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)  # written as a stream
            return pa.ipc.open_stream(file).read_all()


# CSV


def _read_csv(
    path: Path,
    typed: Collection[str] | None,
    null_values: Sequence[str],
    *,
    infer: bool,
) -> pa.Table:
    names, has_rows = _read_header(path)
    _check_names(path, names)
    wanted = [name for name in names if typed is None or name in typed]
    types = {name: _TEXT if name in wanted else pa.string() for name in names}
    if has_rows:
        table = _parse_csv(path, types)
    else:
        table = pa.schema(types.items()).empty_table()
    _check_quotes(path)
    columns = {
        name: _to_typed(column, null_values, infer=infer)
        if name in wanted
        else _empty_as_missing(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    table = pa.table(columns)
    return _remember(table, pa.schema([_decoded(field) for field in table.schema]))


def _empty_as_missing(column: Array) -> Array:
    is_empty = pc.equal(column, pa.scalar(""))
    return pc.if_else(is_empty, None, column) if pc.any(is_empty).as_py() else column


def _decoded(field: Field) -> Field:
    kind = field.type
    return field.with_type(kind.value_type) if pa.types.is_dictionary(kind) else field


def _read_header(path: Path) -> tuple[list[str], bool]:
    """Return the column names and whether any row follows."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            names = next((row for row in csv.reader(file) if row), [])
        except csv.Error:
            raise DataError(f"{path}: the header cannot be read") from None
        rest = (line for line in file if line.strip("\r\n") or len(names) == 1)
        has_rows = next(rest, None) is not None
    if not names:
        raise DataError(f"{path}: the file is empty", hint="write it again")
    return names, has_rows


def _parse_csv(path: Path, types: dict[str, Type]) -> pa.Table:
    ragged: list[pa_csv.InvalidRow] = []

    def refuse(row: pa_csv.InvalidRow) -> Literal["error"]:
        ragged.append(row)
        return "error"

    def parse(*, use_threads: bool) -> pa.Table:
        return pa_csv.read_csv(
            path,
            pa_csv.ReadOptions(use_threads=use_threads, block_size=_BLOCK),
            pa_csv.ParseOptions(
                newlines_in_values=True,
                ignore_empty_lines=len(types) > 1,  # else a missing value
                invalid_row_handler=refuse,
            ),
            pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        )

    try:
        return parse(use_threads=True)
    except pa.ArrowInvalid:
        if not ragged:
            raise
    ragged.clear()
    with suppress(pa.ArrowInvalid):
        parse(use_threads=False)  # only so does Arrow number the rows
    row = ragged[0]
    raise DataError(
        f"{path}, row {row.number}: expected {row.expected_columns} values, "
        f"found {row.actual_columns}",
        hint="the header counts as row 1; values with commas need quotes",
    )


def _check_quotes(path: Path) -> None:
    """Refuse a file that ends inside a quoted value, which Arrow accepts."""
    with path.open("rb") as file:
        quotes = sum(
            block.count(b'"') for block in iter(lambda: file.read(_BLOCK), b"")
        )
    if quotes % 2 == 0:
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)
        try:
            for _ in rows:
                pass
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise DataError(
                    f"{path}: ends inside a quoted value", hint="it may be cut off"
                ) from None


def _to_typed(column: Array, null_values: Sequence[str], *, infer: bool) -> Array:
    """Give a dictionary of texts missing values and the type its values have."""
    chunk: Array = column.unify_dictionaries().combine_chunks()
    texts = chunk.dictionary
    is_null = pc.is_in(texts, value_set=pa.array(null_values, pa.string()))
    present = texts.filter(pc.invert(is_null))
    values = _infer(present) if infer and len(present) else present
    # A null code takes a null value.
    places = np.cumsum(~is_null.to_numpy(zero_copy_only=False)) - 1
    codes = pa.array(
        places.astype(np.int32), mask=is_null.to_numpy(zero_copy_only=False)
    )
    moved: Array = codes.take(chunk.indices)
    if pa.types.is_string(values.type):
        coded: Array = pa.DictionaryArray.from_arrays(moved, values)
        return pa.chunked_array([coded])
    return pa.chunked_array([values.take(moved)])


def _infer(texts: Array) -> Array:
    """Let Arrow infer a type from distinct texts; codes such as 01234 stay text."""
    if pc.any(pc.match_substring_regex(texts, _CODE_LIKE)).as_py():
        return texts
    buffer = io.BytesIO(b"".join(_csv_blocks(pa.table({"value": texts}))))
    table = pa_csv.read_csv(
        buffer,
        pa_csv.ReadOptions(block_size=max(1 << 20, buffer.getbuffer().nbytes + 1)),
        pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pa_csv.ConvertOptions(null_values=[]),
    )
    values = table.column(0).combine_chunks()
    return texts if _is_text(values.type) or values.null_count else values


def _csv_blocks(table: pa.Table) -> Iterator[bytes]:
    header = [pa.array([name]) for name in table.column_names]
    yield _csv_lines([_quoted(cell, alone=False) for cell in header])
    alone = table.num_columns == 1
    for batch in table.to_batches(_WRITTEN_ROWS):
        yield _csv_lines([_csv_column(column, alone=alone) for column in batch.columns])


def _csv_lines(columns: Sequence[Array]) -> bytes:
    lines = pc.binary_join_element_wise(
        *columns, ",", null_handling="replace", null_replacement=""
    )
    ended = pc.binary_join_element_wise(lines, "", "\n")
    # The texts of an array lie one after the other: they are the block.
    offsets = np.frombuffer(ended.buffers()[1], np.int32)
    first, last = offsets[ended.offset], offsets[ended.offset + len(ended)]
    return bytes(ended.buffers()[2][int(first) : int(last)])


def _csv_column(column: Array, *, alone: bool) -> Array:
    if pa.types.is_dictionary(column.type):
        return _csv_column(column.dictionary, alone=alone).take(column.indices)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    return _quoted(column.cast(pa.string()), alone=alone)


def _quoted(texts: Array, *, alone: bool) -> Array:
    """Quote the texts that would otherwise be read back as something else."""
    if alone:  # a missing value on a line of its own would be an empty line
        texts = texts.fill_null("")
    special = pc.match_substring_regex(texts, '[,"\r\n]|^$|^\ufeff')
    if not pc.any(special).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(
        special, pc.binary_join_element_wise('"', doubled, '"', ""), texts
    )


# Writing


def check_target(
    path: str | Path, *, overwrite: bool = False, source: str | Path | None = None
) -> None:
    """Refuse a target that cannot be written, before the long work.

    Raises:
        SpecError: it exists, is the source, or has an unknown suffix.
        OutputError: its folder is missing or not writable.
    """
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise SpecError(
            f"{path}: unknown kind of file", hint=f"the suffix is one of {_SUFFIXES}"
        )
    same = source is not None and path.exists() and Path(source).exists()
    if same and path.samefile(str(source)):
        raise SpecError(
            f"{path}: target and source are the same file", hint="take another name"
        )
    check_place(path, overwrite=overwrite)


def check_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no file can be put; see `check_target`."""
    if path.exists() and not path.is_file():
        raise SpecError(f"{path}: not an ordinary file", hint="name a new file")
    if path.exists() and not overwrite:
        raise SpecError(
            f"{path}: the file exists", hint="take another name, or --overwrite"
        )
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder does not exist", hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"{path}: no permission to write in its folder",
            hint="take another folder, or change its permissions",
        )


def write_table(
    table: pa.Table,
    path: str | Path,
    *,
    source: pa.Schema | None = None,
    overwrite: bool = False,
) -> None:
    """Write ``table`` whole or not at all; see `table_writer` and `write_files`."""
    path = Path(path)
    check_target(path, overwrite=overwrite)
    write_files({path: table_writer(table, path, source=source)}, overwrite=overwrite)


def table_writer(
    table: pa.Table, path: str | Path, *, source: pa.Schema | None = None
) -> Writer:
    """Return what writes ``table`` in the form the suffix of ``path`` asks for.

    Text that is dictionary-encoded in memory only is plain text in the file. The file
    holds nothing the table does not show: no unused dictionary values, nothing under
    missing cells, no notes of the source beyond the types pandas reads.

    Args:
        table: What to write.
        path: Where it will stand.
        source: Schema of the table's origin; by default what `read_table` remembered.
    """
    kind = _FORMATS[Path(path).suffix.lower()]
    origin = source_schema(table) if source is None else source
    schema = _wanted_schema(table, origin)
    columns = [_compact(column) for column in table.columns]
    table = pa.table(columns, names=table.column_names)
    if kind == "csv":
        return lambda file: _write_csv(table, file)
    if kind == "parquet":
        return lambda file: _write_parquet(table, schema, file)
    compression: Compression = (
        "lz4" if Path(path).suffix.lower() == ".feather" else None
    )
    return lambda file: _write_ipc(table, schema, file, compression)


def _wanted_schema(table: pa.Table, source: pa.Schema) -> pa.Schema:
    """Return the types to be read back, and the metadata that is safe to keep."""
    fields = [
        pa.field(
            field.name,
            _wanted_type(field.type, source, field.name),
            nullable=field.nullable,
            metadata=_extension(field.metadata or {}),
        )
        for field in table.schema
    ]
    wanted = pa.schema(fields)
    notes = (source.metadata or {}).get(b"pandas")
    pandas = _pandas_notes(notes, wanted, source, table.num_rows) if notes else None
    return wanted.with_metadata({b"pandas": pandas} if pandas else {})


def _wanted_type(kind: Type, source: pa.Schema, name: str) -> Type:
    if not pa.types.is_dictionary(kind):
        return kind
    places = source.get_all_field_indices(name)
    origin = source.field(places[0]).type if len(places) == 1 else None
    if origin is not None and pa.types.is_dictionary(origin):
        return kind
    if origin is not None and _is_text(origin) and _is_text(kind.value_type):
        return origin
    return kind.value_type


def _extension(metadata: Mapping[bytes, bytes]) -> dict[bytes, bytes] | None:
    prefix = b"ARROW:extension:"
    kept = {key: value for key, value in metadata.items() if key.startswith(prefix)}
    return kept or None


def _pandas_notes(
    notes: bytes, wanted: pa.Schema, source: pa.Schema, n_rows: int
) -> bytes | None:
    """Keep what pandas noted on index and columns, as far as it still holds."""
    try:
        kept: dict[str, Any] = json.loads(notes)
    except ValueError:
        return None
    if not isinstance(kept, dict):
        return None
    kept.pop("attributes", None)  # may hold anything
    same = {
        field.name for field in wanted if field.type == _type_in(source, field.name)
    }
    columns = kept.get("columns", [])
    kept["columns"] = [note for note in columns if note.get("field_name") in same]
    kept["index_columns"] = [
        index
        for index in kept.get("index_columns", [])
        if (_range_rows(index) == n_rows if isinstance(index, dict) else index in same)
    ]
    return json.dumps(kept).encode()


def _type_in(schema: pa.Schema, name: str) -> Type | None:
    return schema.field(name).type if name in schema.names else None


def _range_rows(index: dict[str, Any]) -> int:
    return len(range(index["start"], index["stop"], index["step"]))


def _compact(column: Array) -> Array:
    """Rid a dictionary of values no cell shows: they may be a suppressed row's."""
    if not pa.types.is_dictionary(column.type):
        return column
    chunks = [_clean_chunk(chunk) for chunk in column.chunks]
    kind: Type = column.type
    cleaned = pa.chunked_array(chunks, kind).unify_dictionaries()
    if cleaned.num_chunks < 2:
        return cleaned
    return cleaned.combine_chunks() if _differ(cleaned) else cleaned


def _differ(column: Array) -> bool:
    first = column.chunk(0).dictionary
    return any(not chunk.dictionary.equals(first) for chunk in column.chunks)


def _clean_chunk(chunk: Array) -> Array:
    values, codes = chunk.dictionary, chunk.indices
    used = np.zeros(len(values), dtype=np.bool_)
    present = codes.drop_null().to_numpy() if codes.null_count else codes.to_numpy()
    used[present] = True
    if used.all() and not values.null_count:
        return chunk
    places = np.flatnonzero(used & values.is_valid().to_numpy(zero_copy_only=False))
    moved = np.full(len(values), -1)
    moved[places] = np.arange(places.size)
    mapping = pa.array(moved, mask=moved < 0).cast(codes.type)
    return pa.DictionaryArray.from_arrays(
        mapping.take(codes), values.take(pa.array(places)), ordered=chunk.type.ordered
    )


def _write_parquet(table: pa.Table, schema: pa.Schema, path: Path) -> None:
    """Write dictionary codes as they are, with a schema that says what they mean.

    1M rows of census: .2 s of CPU time instead of .6 with decoding; statistics of
    dictionary columns would be another .15 s.
    """
    plain = [
        _encodable(column, field)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    names = table.column_names
    encoded = pa.table(plain, names=names)
    notes: dict[Any, Any] = {
        **(schema.metadata or {}),
        b"ARROW:schema": base64.b64encode(schema.serialize().to_pybytes()),
    }
    dictionaries = [pa.types.is_dictionary(kind) for kind in encoded.schema.types]
    counted = [n for n, coded in zip(names, dictionaries, strict=True) if not coded]
    with pq.ParquetWriter(
        path,
        encoded.schema,
        store_schema=False,
        compression="snappy",
        write_statistics=counted or False,
    ) as writer:
        writer.write_table(encoded)
        writer.add_key_value_metadata(notes)  # a schema given above would drop them


def _encodable(column: Array, field: Field) -> Array:
    """Return the column as Parquet can take it: only text stays a dictionary."""
    kind = column.type
    if not pa.types.is_dictionary(kind) or pa.types.is_string(kind.value_type):
        return column
    if _is_text(kind.value_type):
        return column.cast(pa.dictionary(pa.int32(), pa.string()))
    return column.cast(field.type)


def _write_ipc(
    table: pa.Table, schema: pa.Schema, path: Path, compression: Compression
) -> None:
    columns = [
        _blanked(column).cast(field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
    released = pa.table(columns, schema=schema)
    with (
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, schema, options=options) as writer,
    ):
        writer.write_table(released)


def _blanked(column: Array) -> Array:
    """Clear what is not shown but still in memory: this format would write it."""
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # Views share buffers with values long gone; a cast copies what is seen.
        plain = pa.string() if pa.types.is_string_view(kind) else pa.binary()
        return _blanked(column.cast(plain)).cast(kind)
    if not column.null_count:
        return column
    is_missing = column.is_null().to_numpy()
    return column.take(pa.array(np.arange(len(column)), mask=is_missing))


def _write_csv(table: pa.Table, path: Path) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            _csv_column(column.slice(0, 0).combine_chunks(), alone=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise OutputError(
                f"{path.name}: column {name!r} of type {column.type} has no CSV form",
                hint="write Parquet, or make it an identifier",
            ) from None
    with path.open("wb") as file:
        file.writelines(_csv_blocks(table))


def write_files(
    files: Mapping[Path, Writer | bytes], *, overwrite: bool = False
) -> None:
    """Write all files or none, whatever happens in between.

    Each is written next to its target under another name, flushed to the disk, and
    only when all are complete are they renamed. A failure or an interrupt takes back
    what was done.

    Raises:
        SpecError: a target exists and is not to be overwritten.
        OutputError: the system refuses; the hint says what to do.
    """
    drafts = {_real(path): content for path, content in files.items()}
    temporary = {path: _temporary(path) for path in drafts}
    backups = {path: _temporary(path) for path in drafts}
    done: list[Path] = []
    current = next(iter(drafts), Path())
    try:
        for current, content in drafts.items():
            check_place(current, overwrite=overwrite)
            _write_one(temporary[current], content)
        for current in drafts:
            check_place(current, overwrite=overwrite)
            _back_up(current, backups[current])
            done.append(current)
            temporary[current].replace(current)
        for folder in {path.parent for path in done}:
            with suppress(OSError):  # not every file system can
                _flush(folder)
    except BaseException as error:
        _take_back(done, backups)
        if isinstance(error, OSError | pa.ArrowException):
            raise _output_error(current, error) from None
        raise
    finally:
        for leftover in (*temporary.values(), *backups.values()):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def _real(path: Path) -> Path:
    return Path(path).resolve()


def _temporary(path: Path) -> Path:
    return path.with_name(f".core-mondrian-{secrets.token_hex(8)}{path.suffix}.tmp")


def _write_one(path: Path, content: Writer | bytes) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    _flush(path)


def _back_up(path: Path, backup: Path) -> None:
    if not path.exists():
        return
    try:
        os.link(path, backup)
    except OSError:  # no links on this file system
        shutil.copy2(path, backup)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_back(done: Sequence[Path], backups: Mapping[Path, Path]) -> None:
    for path in done:
        with suppress(OSError):
            if backups[path].exists():
                backups[path].replace(path)
            else:
                path.unlink(missing_ok=True)


_HINTS: Final = {
    errno.ENOSPC: "the disk is full: make room, or write elsewhere",
    errno.EDQUOT: "the disk quota is used up: make room, or write elsewhere",
    errno.EFBIG: "the file would be larger than allowed here",
    errno.EACCES: "no permission: take another folder, or change its permissions",
    errno.EROFS: "the disk is read-only: write elsewhere",
}


def _output_error(path: Path, error: BaseException) -> OutputError:
    number = error.errno if isinstance(error, OSError) else None
    if number is None:  # Arrow names some system errors in its message only
        found = re.search(r"errno (\d+)", str(error))
        number = int(found[1]) if found else None
    reason = os.strerror(number) if number else type(error).__name__
    hint = _HINTS.get(number or 0, "nothing was written")
    return OutputError(f"{path}: cannot be written ({reason})", hint=hint)
