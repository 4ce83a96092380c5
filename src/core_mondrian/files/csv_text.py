"""CSV as Arrow sees it: texts in, types inferred; columns out, quoted where needed."""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from core_mondrian.errors import DataError
from core_mondrian.files.kinds import (
    BLOCK,
    Array,
    Field,
    Type,
    check_names,
    is_text,
    remember,
)

CODED_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_WRITTEN_ROWS: Final = 1 << 16
_CODE_LIKE: Final = r"^[+-]?(0[0-9]+|0[xX].*|[0-9]{19,})$"
"""Digits that are a code, not a quantity: 01234, 0x1F, more than 64 bits hold."""


def read_csv(
    path: Path,
    typed: Collection[str] | None,
    null_values: Sequence[str],
    *,
    infer: bool,
) -> pa.Table:
    """Read a CSV file; see `read_table` for what becomes of its columns."""
    names, has_rows = _read_header(path)
    wanted = [name for name in names if typed is None or name in typed]
    types = {name: CODED_TEXT if name in wanted else pa.string() for name in names}
    if has_rows:
        table = _parse_csv(path, types)
    else:
        table = pa.schema(types.items()).empty_table()
    _check_quotes(path)
    columns = {
        name: _to_typed(column, null_values, infer=infer)
        if name in wanted
        else empty_as_missing(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    table = pa.table(columns)
    return remember(table, pa.schema([_decoded(field) for field in table.schema]))


def empty_as_missing(column: Array) -> Array:
    """Return a column of text in which nothing is a missing value."""
    is_empty = pc.equal(column, pa.scalar(""))
    return pc.if_else(is_empty, None, column) if pc.any(is_empty).as_py() else column


def _decoded(field: Field) -> Field:
    kind = field.type
    return field.with_type(kind.value_type) if pa.types.is_dictionary(kind) else field


def _read_header(path: Path) -> tuple[list[str], bool]:
    """Return the column names and whether any row follows."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        names = header_names(path, file)
        rest = (line for line in file if line.strip("\r\n") or len(names) == 1)
        has_rows = next(rest, None) is not None
    return names, has_rows


def header_names(path: Path, lines: Iterable[str]) -> list[str]:
    """Return the values of the first row.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    try:
        names = next((row for row in csv.reader(lines) if row), [])
    except csv.Error:
        raise DataError(f"{path}: the header cannot be read") from None
    if not names:
        raise DataError(f"{path}: the file is empty", hint="write it again")
    check_names(path, names)
    return names


def parse_options(
    n_columns: int, refuse: Callable[[pa_csv.InvalidRow], str] | None = None
) -> pa_csv.ParseOptions:
    """Return how CSV of so many columns is taken apart."""
    return pa_csv.ParseOptions(
        newlines_in_values=True,
        ignore_empty_lines=n_columns > 1,  # else a missing value
        invalid_row_handler=refuse,
    )


def _parse_csv(path: Path, types: dict[str, Type]) -> pa.Table:
    ragged: list[pa_csv.InvalidRow] = []

    def refuse(row: pa_csv.InvalidRow) -> Literal["error"]:
        ragged.append(row)
        return "error"

    def parse(*, use_threads: bool) -> pa.Table:
        return pa_csv.read_csv(
            path,
            pa_csv.ReadOptions(use_threads=use_threads, block_size=BLOCK),
            parse_options(len(types), refuse),
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
        quotes = sum(block.count(b'"') for block in iter(lambda: file.read(BLOCK), b""))
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
    codes, values = type_texts(chunk.dictionary, null_values, infer=infer)
    # A null code takes a null value.
    moved: Array = codes.take(chunk.indices)
    if pa.types.is_string(values.type):
        coded: Array = pa.DictionaryArray.from_arrays(moved, values)
        return pa.chunked_array([coded])
    return pa.chunked_array([values.take(moved)])


def type_texts(
    texts: Array, null_values: Sequence[str], *, infer: bool
) -> tuple[Array, Array]:
    """Return the values that distinct texts stand for, and which is whose.

    The first array has the place of each text among the values; null: it is missing.
    """
    is_null = pc.is_in(texts, value_set=pa.array(null_values, pa.string()))
    present = texts.filter(pc.invert(is_null))
    values = infer_type(present) if infer and len(present) else present
    places = np.cumsum(~is_null.to_numpy(zero_copy_only=False)) - 1
    codes = pa.array(
        places.astype(np.int32), mask=is_null.to_numpy(zero_copy_only=False)
    )
    return codes, values


def infer_type(texts: Array) -> Array:
    """Let Arrow infer a type from distinct texts; codes such as 01234 stay text."""
    if pc.any(pc.match_substring_regex(texts, _CODE_LIKE)).as_py():
        return texts
    buffer = io.BytesIO(b"".join(csv_blocks(pa.table({"value": texts}))))
    table = pa_csv.read_csv(
        buffer,
        pa_csv.ReadOptions(block_size=max(1 << 20, buffer.getbuffer().nbytes + 1)),
        pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pa_csv.ConvertOptions(null_values=[]),
    )
    values = table.column(0).combine_chunks()
    return texts if is_text(values.type) or values.null_count else values


def csv_blocks(table: pa.Table, *, header: bool = True) -> Iterator[bytes]:
    """Yield a table as CSV, header first, in blocks of bytes."""
    if header:
        names = [pa.array([name]) for name in table.column_names]
        yield _csv_lines([_quoted(cell, alone=False) for cell in names])
    alone = table.num_columns == 1
    for batch in table.to_batches(_WRITTEN_ROWS):
        yield _csv_lines([csv_column(column, alone=alone) for column in batch.columns])


def _csv_lines(columns: Sequence[Array]) -> bytes:
    lines = pc.binary_join_element_wise(
        *columns, ",", null_handling="replace", null_replacement=""
    )
    ended = pc.binary_join_element_wise(lines, "", "\n")
    # The texts of an array lie one after the other: they are the block.
    offsets = np.frombuffer(ended.buffers()[1], np.int32)
    first, last = offsets[ended.offset], offsets[ended.offset + len(ended)]
    return bytes(ended.buffers()[2][int(first) : int(last)])


def csv_column(column: Array, *, alone: bool) -> Array:
    """Return a column's cells as CSV; ``alone``: it is the only one of its table."""
    if pa.types.is_dictionary(column.type):
        return csv_column(column.dictionary, alone=alone).take(column.indices)
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


def typed_texts(column: Array, null_values: Sequence[str]) -> Array:
    """Return texts as the type that all of them have; see `read_table`."""
    if not len(column):
        return column
    return _to_typed(column.cast(CODED_TEXT), null_values, infer=True)
