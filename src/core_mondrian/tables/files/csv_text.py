"""CSV as Arrow sees it: texts in, types inferred; columns out, quoted where needed."""

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from core_mondrian.errors import DataError
from core_mondrian.runtime.array_types import ArrowArray, ArrowType
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.dialect import WRITTEN, Dialect, find_dialect
from core_mondrian.tables.files.kinds import (
    BLOCK,
    check_names,
    compression_of,
    remember,
)
from core_mondrian.tables.readings import CODE

BOM: Final = b"\xef\xbb\xbf"
CODED_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
_FORMULA: Final = "[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]"
"""How text starts that spreadsheets take for a formula, after OWASP."""
_NUMBER: Final = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_WRITTEN_ROWS: Final = 1 << 16
_PIECE: Final = 1 << 16
_SMALL_FILE: Final = 1 << 20
"""Bytes of a file that is read on this thread. Arrow's threads may still hold Python's
objects when a command that had little to do ends, and then the process is aborted."""


def read_csv(  # noqa: PLR0913  # one parameter a property of the file
    path: Path,
    typed: Collection[str] | None,
    null_values: Sequence[str],
    *,
    infer: bool,
    guarded: bool = False,
    columns: Collection[str] | None = None,
    dialect: Dialect | None = None,
) -> pa.Table:
    """Read a CSV file; see `read_table` for what becomes of its columns."""
    dialect = dialect or find_dialect(path)
    header = _read_header(path, dialect)
    header_names = header.names
    names = unguarded_names(header_names) if guarded else header_names
    wanted = {name for name in names if typed is None or name in typed}
    types = {
        as_found: CODED_TEXT if name in wanted else pa.string()
        for as_found, name in zip(header_names, names, strict=True)
        if columns is None or name in columns
    }
    if header.has_rows:
        # Arrow takes an empty line for the name of a single column.
        n_blank = header.n_blank if len(names) == 1 else 0
        table = _Text(path, dialect, len(names)).parse(types, n_blank)
    else:
        table = pa.schema(types.items()).empty_table()
    _check_quotes(path, len(names), dialect)
    renamed = dict(zip(header_names, names, strict=True))
    table = table.rename_columns([renamed[name] for name in table.column_names])
    if guarded:
        table = unguarded(table)
    columns = {
        name: _to_typed(column, null_values, infer=infer)
        if name in wanted
        else empty_as_missing(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    table = pa.table(columns)
    plain = [
        field.with_type(field.type.value_type)
        if pa.types.is_dictionary(field.type)
        else field
        for field in table.schema
    ]
    return remember(table, pa.schema(plain))


def empty_as_missing(column: ArrowArray) -> ArrowArray:
    """Return a column of text in which nothing is a missing value."""
    is_empty = pc.equal(column, pa.scalar(""))
    return pc.if_else(is_empty, None, column) if pc.any(is_empty).as_py() else column


class _Header(NamedTuple):
    """The names of the columns, and what is around them."""

    names: list[str]
    n_blank: int
    """Empty lines before them."""
    has_rows: bool


def _read_header(path: Path, dialect: Dialect) -> _Header:
    with (
        dialect.open(path) as raw,
        io.TextIOWrapper(raw, "utf-8-sig", newline="") as file,
    ):
        text = file.read(_PIECE)
        while not _has_header(text, dialect) and (more := file.read(BLOCK - len(text))):
            text += more
        lines = io.StringIO(text, newline="")
        names = header_names(path, lines, dialect)
        rest = lines.read()
        if not rest and len(text) == BLOCK:
            raise too_long(path, 1)
        blank = "" if len(names) == 1 else "\r\n"  # else lines that nobody reads
        while rest and not rest.strip(blank):
            rest = file.read(_PIECE)
        # Columns that Arrow does not look at are to be UTF-8, too.
        n_letters = BLOCK - len(text)
        while n_letters > 0 and (piece := file.read(_PIECE)):
            n_letters -= len(piece)
    before = text[: len(text) - len(text.lstrip("\r\n"))]
    return _Header(names, len(before.splitlines()), bool(rest))


def _has_header(text: str, dialect: Dialect) -> bool:
    """Return whether a text begins with a row that is whole, and goes on after it."""
    lines = io.StringIO(text, newline="")
    try:
        is_there = any(dialect.rows(lines))
    except csv.Error:
        return False
    return is_there and bool(lines.read(1))


def too_long(path: Path, line: int | None = None) -> DataError:
    """Return the error about a row that no block holds."""
    where = path if line is None else f"{path}, line {line}"
    return DataError(
        f"{where}: a row of over {BLOCK >> 20} MiB, or a quote never closed",
        hint='close the quote; one inside a value is written twice: "say ""so"""',
    )


def bad_header(path: Path) -> DataError:
    """Return the error about a first row that is none."""
    return DataError(
        f"{path}: the header cannot be read",
        hint="the first line names the columns; close the quotes in it",
    )


def header_names(path: Path, lines: Iterable[str], dialect: Dialect) -> list[str]:
    """Return the values of the first row.

    Raises:
        DataError: there is none, or it cannot be read.
    """
    try:
        names = next((row for row in dialect.rows(lines) if row), [])
    except csv.Error:
        raise bad_header(path) from None
    if not names:
        raise DataError(f"{path}: the file is empty", hint="write it again")
    check_names(path, names)
    return names


def parse_options(
    n_columns: int,
    dialect: Dialect,
    refuse: Callable[[pa_csv.InvalidRow], str] | None = None,
) -> pa_csv.ParseOptions:
    """Return how CSV of so many columns is taken apart."""
    return pa_csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote,
        newlines_in_values=True,
        ignore_empty_lines=n_columns > 1,  # else a missing value
        invalid_row_handler=refuse,
    )


class _Text(NamedTuple):
    """A file that Arrow takes apart, decompresses and decodes."""

    path: Path
    dialect: Dialect
    n_columns: int

    def parse(self, types: dict[str, ArrowType], n_blank: int) -> pa.Table:
        """Return some columns; so many empty lines are before the header."""
        ragged: list[pa_csv.InvalidRow] = []

        def refuse(row: pa_csv.InvalidRow) -> Literal["error"]:
            ragged.append(row)
            return "error"

        def parse(*, use_threads: bool) -> pa.Table:
            return pa_csv.read_csv(
                self.path,
                pa_csv.ReadOptions(
                    use_threads=use_threads,
                    block_size=BLOCK,
                    skip_rows=n_blank,
                    encoding=self.dialect.encoding,
                ),
                parse_options(self.n_columns, self.dialect, refuse),
                pa_csv.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    strings_can_be_null=False,
                ),
            )

        try:
            is_small = self.path.stat().st_size <= _SMALL_FILE
            is_plain = compression_of(self.path) is None  # else it may hold much text
            return parse(use_threads=not (is_small and is_plain))
        except pa.ArrowInvalid:
            if not ragged:
                raise
        ragged.clear()
        with suppress(pa.ArrowInvalid):
            parse(use_threads=False)  # only so does Arrow number the rows
        raise self._ragged(ragged[0])

    def _ragged(self, row: pa_csv.InvalidRow) -> DataError:
        sign = self.dialect.delimiter
        name = "commas" if sign == WRITTEN.delimiter else repr(sign)
        return DataError(
            f"{self.path}, row {row.number}: expected {row.expected_columns} values, "
            f"found {row.actual_columns}",
            hint=f"the header counts as row 1; values with {name} need quotes",
        )


def _check_quotes(path: Path, n_columns: int, dialect: Dialect) -> None:
    """Refuse a file that ends inside a quoted value, which Arrow accepts."""
    quote = dialect.quote.encode()
    with dialect.open(path) as file:
        head = file.read(len(BOM))
        pieces = iter(lambda: file.read(1 << 20), b"")
        quotes = head.count(quote) + sum(piece.count(quote) for piece in pieces)
    if quotes % 2 == 0:
        return
    # Compiled, and the verifier reads tables too: it loads nothing of the kind.
    from core_mondrian.tables.files.csv_rows import IN_QUOTES, scan_rows

    text = _scanned(path, len(BOM) if head == BOM else 0, dialect)
    ragged = np.empty((1, 4), dtype=np.int64)  # there is none: Arrow would have said
    how = (n_columns, True, False)
    state = scan_rows(text, *how, ragged, dialect.signs)[-1]
    if state == IN_QUOTES:
        raise DataError(f"{path}: ends inside a quoted value", hint="it may be cut off")


def _scanned(path: Path, start: int, dialect: Dialect) -> NDArray[np.uint8]:
    """Return all of a text from a byte on."""
    if compression_of(path) is None and dialect.encoding == WRITTEN.encoding:
        return np.memmap(path, np.uint8, "r", start)
    with dialect.open(path) as file:
        return np.frombuffer(file.read(), np.uint8)[start:]


def _to_typed(
    column: ArrowArray, null_values: Sequence[str], *, infer: bool
) -> ArrowArray:
    """Give a dictionary of texts missing values and the type its values have."""
    chunk: ArrowArray = column.unify_dictionaries().combine_chunks()
    codes, values = type_texts(chunk.dictionary, null_values, infer=infer)
    # A null code takes a null value.
    moved: ArrowArray = codes.take(chunk.indices)
    if pa.types.is_string(values.type):
        coded: ArrowArray = pa.DictionaryArray.from_arrays(moved, values)
        return pa.chunked_array([coded])
    return pa.chunked_array([values.take(moved)])


def missing_texts(texts: ArrowArray, null_values: Sequence[str]) -> ArrowArray:
    """Return which texts are missing values; an empty one always is.

    That is how CSV writes a missing value, so that nothing else can be taken for it.
    """
    return pc.is_in(texts, value_set=pa.array(["", *null_values], pa.string()))


def type_texts(
    texts: ArrowArray, null_values: Sequence[str], *, infer: bool
) -> tuple[ArrowArray, ArrowArray]:
    """Return the values that distinct texts stand for, and which is whose.

    The first array has the place of each text among the values; null: it is missing.
    """
    is_null = missing_texts(texts, null_values)
    present = texts.filter(pc.invert(is_null))
    values = infer_type(present) if infer and len(present) else present
    places = np.cumsum(~is_null.to_numpy(zero_copy_only=False)) - 1
    codes = pa.array(
        places.astype(np.int32), mask=is_null.to_numpy(zero_copy_only=False)
    )
    return codes, values


def infer_type(texts: ArrowArray) -> ArrowArray:
    """Let Arrow infer a type from distinct texts; codes such as 01234 stay text."""
    if pc.any(pc.match_substring_regex(texts, CODE)).as_py():
        return texts
    buffer = io.BytesIO(b"".join(csv_blocks(pa.table({"value": texts}))))
    size = buffer.getbuffer().nbytes
    table = pa_csv.read_csv(
        buffer,
        pa_csv.ReadOptions(use_threads=False, block_size=max(1 << 20, size + 1)),
        pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        pa_csv.ConvertOptions(null_values=[]),
    )
    values = table.column(0).combine_chunks()
    return texts if is_text(values.type) or values.null_count else values


def csv_blocks(
    table: pa.Table, *, header: bool = True, guard: bool = False
) -> Iterator[bytes]:
    """Yield a table as CSV, header first, in blocks of bytes.

    ``guard``: no text in it is a formula to a spreadsheet, see `unguarded`.
    """
    if header:
        names = [pa.array([name]) for name in table.column_names]
        yield _csv_lines([csv_column(x, alone=False, guard=guard) for x in names])
    alone = table.num_columns == 1
    for batch in table.to_batches(_WRITTEN_ROWS):
        yield _csv_lines(
            [csv_column(x, alone=alone, guard=guard) for x in batch.columns]
        )


def _csv_lines(columns: Sequence[ArrowArray]) -> bytes:
    lines = pc.binary_join_element_wise(
        *columns, ",", null_handling="replace", null_replacement=""
    )
    ended = pc.binary_join_element_wise(lines, "", "\n")
    # The texts of an array lie one after the other: they are the block.
    offsets = np.frombuffer(ended.buffers()[1], np.int32)
    first, last = offsets[ended.offset], offsets[ended.offset + len(ended)]
    return bytes(ended.buffers()[2][int(first) : int(last)])


def csv_column(column: ArrowArray, *, alone: bool, guard: bool = False) -> ArrowArray:
    """Return a column's cells as CSV; ``alone``: it is the only one of its table."""
    if pa.types.is_dictionary(column.type):
        values = csv_column(column.dictionary, alone=alone, guard=guard)
        return values.take(column.indices)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    texts = column.cast(pa.string())
    if guard and is_text(column.type):
        texts = _guarded(texts)
    return _quoted(texts, alone=alone)


def _guarded(texts: ArrowArray) -> ArrowArray:
    """Put an apostrophe before what may be a formula; numbers are none.

    Before what looks as if it had one already too, so that all can be taken away.
    """
    is_formula = pc.and_not(
        pc.match_substring_regex(texts, f"^'*{_FORMULA}"),
        pc.match_substring_regex(texts, _NUMBER),
    )
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", texts, ""), texts)


def unguarded(table: pa.Table) -> pa.Table:
    """Return a table of texts without the apostrophes that guard formulas."""
    columns = [
        pa.chunked_array([_unguarded(chunk) for chunk in column.chunks], column.type)
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def unguarded_names(names: Sequence[str]) -> list[str]:
    """Return names without the apostrophes that guard formulas."""
    plain: list[str] = _unguarded(pa.array(names, pa.string())).to_pylist()
    return plain


def _unguarded(texts: ArrowArray) -> ArrowArray:
    if pa.types.is_dictionary(texts.type):
        values = _unguarded(texts.dictionary)
        return pa.DictionaryArray.from_arrays(texts.indices, values)
    return pc.replace_substring_regex(texts, f"^'('*{_FORMULA})", r"\1")


def _quoted(texts: ArrowArray, *, alone: bool) -> ArrowArray:
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


def typed_texts(column: ArrowArray, null_values: Sequence[str]) -> ArrowArray:
    """Return texts as the type that all of them have; see `read_table`."""
    if not len(column):
        return column
    return _to_typed(column.cast(CODED_TEXT), null_values, infer=True)
