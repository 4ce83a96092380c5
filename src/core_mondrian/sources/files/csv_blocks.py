"""CSV files, also compressed, as blocks of whole rows; rows that are bad left out."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from core_mondrian.errors import DataError
from core_mondrian.tables.files.csv_rows import IN_QUOTES, scan_rows
from core_mondrian.tables.files.csv_text import (
    BOM,
    bad_header,
    header_names,
    parse_options,
    too_long,
)
from core_mondrian.tables.files.dialect import Dialect
from core_mondrian.tables.files.kinds import BLOCK, compression_of

_MOST_FOUND: Final = 1 << 12
"""Bad rows that one scan can note."""


@dataclass
class BadRows:
    """Rows that cannot be read, and how many of them may be left out."""

    most: int = 0
    n: int = 0
    first: str = ""
    """Where the first one is, and what is wrong with it."""

    def note(self, path: Path, line: int, what: str) -> None:
        """Count one more.

        Raises:
            DataError: that is one too many.
        """
        self.n += 1
        place = f"{path}, line {line}: {what}"
        self.first = self.first or place
        self.check(place)

    def check(self, place: str) -> None:
        """Raise DataError if there are too many."""
        if self.n <= self.most:
            return
        if not self.most:
            raise DataError(
                place, hint="mend it, or leave out up to N such rows: --bad-rows N"
            )
        raise DataError(
            f"more than {self.most} bad rows; the first is in {self.first}",
            hint="mend them, or allow more: --bad-rows N",
        )


@dataclass(frozen=True, slots=True)
class Block:
    """Whole rows of a CSV file."""

    text: pa.Buffer
    n_rows: int
    done: float
    """How much of the file has been read, from 0 to 1."""
    first_line: int
    """The line where it starts."""


@dataclass
class _Reader:
    """A file's bytes that no row has been made of yet."""

    path: Path
    dialect: Dialect
    file: Any
    """As it lies on the disk."""
    stream: Any
    """Decompressed, as UTF-8."""
    line: int = 1
    is_done: bool = False
    rest: bytes = field(default=b"")

    def fill(self, size: int) -> None:
        """Have at least ``size`` bytes, if there are so many."""
        pieces, n = [self.rest], len(self.rest)
        while n < size and not self.is_done:
            more = self.stream.read(size - n)
            self.is_done = not more
            pieces.append(more)
            n += len(more)
        self.rest = b"".join(pieces) if len(pieces) > 1 else self.rest

    def take(self, size: int, lines: int) -> None:
        """Go on behind some bytes."""
        self.rest = self.rest[size:]
        self.line += lines


class Scanned(NamedTuple):
    """Whole rows that were found; see `scan_rows`."""

    end: int
    n_rows: int
    n_lines: int
    n_found: int
    state: int


def scan(
    text: NDArray[np.uint8],
    n_fields: int,
    found: NDArray[np.int64],
    *,
    dialect: Dialect,
    is_last: bool,
    all_rows: bool = False,
) -> Scanned:
    """Find whole rows, and those among them that have not ``n_fields`` values."""
    how = (n_fields, is_last, all_rows)
    return Scanned(*scan_rows(text, *how, found, dialect.signs))


@contextmanager
def _open_text(path: Path, dialect: Dialect) -> Iterator[_Reader]:
    """Open the bytes of a text file, decompressed, as UTF-8."""
    compression = compression_of(path)
    with pa.OSFile(str(path), "rb") as file:
        if compression is None:
            yield _Reader(path, dialect, file, dialect.decoded(file))
        else:
            with pa.CompressedInputStream(file, compression) as stream:
                yield _Reader(path, dialect, file, dialect.decoded(stream))


def read_names(path: Path, dialect: Dialect) -> list[str]:
    """Return the names in the header of a CSV file."""
    with _open_text(path, dialect) as reader:
        return _skip_header(reader)


def _skip_header(reader: _Reader) -> list[str]:
    reader.fill(len(BOM))
    if reader.rest.startswith(BOM):
        reader.take(len(BOM), 0)
    size = 1 << 16
    while True:
        reader.fill(size)
        first = np.zeros((1, 4), dtype=np.int64)
        text = np.frombuffer(reader.rest, np.uint8)
        whole = {"is_last": reader.is_done, "all_rows": True}
        found = scan(text, 2, first, dialect=reader.dialect, **whole)
        n_found = found.n_found
        if n_found or reader.is_done:
            break
        size *= 4
        _check_length(reader)
    if not n_found and found.state == IN_QUOTES:
        raise bad_header(reader.path)
    start, stop, line, _ = (int(x) for x in first[0])
    header = reader.rest[start:stop].decode()
    lines = io.StringIO(header, newline="")
    names = header_names(reader.path, lines, reader.dialect)
    more = header.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    reader.take(stop, line + more)
    return names


def _check_length(reader: _Reader) -> None:
    if len(reader.rest) >= BLOCK:
        raise too_long(reader.path, reader.line)


def read_blocks(
    path: Path,
    dialect: Dialect,
    bad: BadRows,
    *,
    size: int = BLOCK,
) -> Iterator[Block]:
    """Yield a file's rows block by block."""
    with _open_text(path, dialect) as reader:
        n_fields = len(_skip_header(reader))
        wanted = size
        while True:
            reader.fill(wanted)
            block = _cut(reader, n_fields, bad, wanted)
            if block is None:
                if reader.is_done and wanted >= len(reader.rest):
                    return
                wanted = min(2 * max(wanted, 1 << 10), BLOCK)
                _check_length(reader)
                continue
            wanted = size
            yield block


def _cut(reader: _Reader, n_fields: int, bad: BadRows, most: int) -> Block | None:
    """Take the whole rows of the next ``most`` bytes; None: there is none."""
    text = np.frombuffer(reader.rest, np.uint8)[:most]
    is_last = reader.is_done and most >= len(reader.rest)
    ragged = np.empty((_MOST_FOUND, 4), dtype=np.int64)
    found = scan(text, n_fields, ragged, dialect=reader.dialect, is_last=is_last)
    if not found.end:
        if is_last and found.state == IN_QUOTES:
            raise DataError(
                f"{reader.path}: ends inside a quoted value, which starts in the row "
                f"of line {reader.line}",
                hint="it may be cut off",
            )
        return None
    whole = pa.py_buffer(reader.rest).slice(0, found.end)
    wrong = {
        start: (stop, line, f"expected {n_fields} values, found {n}")
        for start, stop, line, n in ragged[: found.n_found].tolist()
    }
    if not _is_utf8(whole):
        wrong |= _undecodable(reader, text[: found.end], found.n_rows, n_fields)
    for _, line, what in (wrong[key] for key in sorted(wrong)):
        bad.note(reader.path, reader.line + line, what)
    gone = [(start, wrong[start][0]) for start in sorted(wrong)]
    first_line = reader.line
    reader.take(found.end, found.n_lines)
    kept = _without(whole, gone, n_fields) if gone else whole
    done = reader.file.tell() / max(reader.file.size(), 1)
    n_kept = found.n_rows - len(gone)
    return Block(kept, n_kept, done, first_line)


def _is_utf8(text: pa.Buffer) -> bool:
    offsets = pa.py_buffer(np.array([0, text.size], dtype=np.int32))
    try:
        pa.Array.from_buffers(pa.string(), 1, [None, offsets, text]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _undecodable(
    reader: _Reader, text: NDArray[np.uint8], n_rows: int, n_fields: int
) -> dict[int, tuple[int, int, str]]:
    """Return the rows of a block that are no UTF-8."""
    rows = np.empty((n_rows + 1, 4), dtype=np.int64)
    whole = {"is_last": True, "all_rows": True}
    found = scan(text, n_fields, rows, dialect=reader.dialect, **whole)
    wrong = {}
    for start, stop, line, _ in rows[: found.n_found].tolist():
        try:
            text[start:stop].tobytes().decode()
        except UnicodeDecodeError:
            wrong[start] = (stop, line, "holds bytes that are not UTF-8")
    return wrong


def _without(
    text: pa.Buffer, gone: Sequence[tuple[int, int]], n_fields: int
) -> pa.Buffer:
    """Leave out some rows; their lines stay, empty, and nobody reads those."""
    pieces, at = [], 0
    for start, stop in gone:
        pieces.append(text.slice(at, start - at))
        if n_fields > 1:
            row = text.slice(start, stop - start).to_pybytes()
            ends = row.count(b"\n") + row.count(b"\r") - row.count(b"\r\n")
            pieces.append(pa.py_buffer(b"\n" * ends))
        at = stop
    pieces.append(text.slice(at))
    return pa.py_buffer(b"".join(pieces))


def parse_block(
    text: pa.Buffer,
    names: Sequence[str],
    types: dict[str, Any],
    dialect: Dialect,
    *,
    tells_empty: bool = False,
) -> pa.Table:
    """Return the columns of ``types`` of a block; all cells are text.

    ``tells_empty``: a value that is not there is missing, one that is quoted is not.
    """
    if not text.size or not types:
        return pa.schema(types.items()).empty_table()
    return pa_csv.read_csv(
        pa.BufferReader(text),
        pa_csv.ReadOptions(
            column_names=list(names), use_threads=False, block_size=text.size + 1
        ),
        parse_options(len(names), dialect),
        pa_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            strings_can_be_null=tells_empty,
            quoted_strings_can_be_null=False,
            null_values=[""] if tells_empty else [],
        ),
    )
