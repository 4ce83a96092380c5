"""The rows that are looked at for what they reveal, in as little as that takes.

Of a cell it is enough to know which others are the same. So rows become numbers, rows
that are the same become one, and of very many different ones some are enough. Rows of
a frame that are few enough are looked at one by one, without numbers of their own.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import DataError
from core_mondrian.runtime.array_types import ArrowArray, ArrowType, Integers
from core_mondrian.runtime.threads import map_columns
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.cell_keys import Keys, cell_keys
from core_mondrian.tables.cleaning import take_arrow
from core_mondrian.tables.frames import OpenFrame, arrow_column, open_frame, take_rows
from core_mondrian.tables.hashing import splitmix64
from core_mondrian.verification.counting import (
    Coded,
    class_sizes,
    code_column,
    code_series,
    first_rows,
)

_MOST_ROWS: Final = 1 << 16
MOST_CELLS: Final = 1 << 22
"""Different rows, and cells of them, that are enough: 32 MB."""


class DistinctRows(NamedTuple):
    """Different rows, as numbers made from their cells."""

    rows: Keys
    """Rising: a number of each row and its piece."""
    counts: Integers
    """How many rows of the table each stands for."""
    piece: NDArray[np.int32]
    """Its tuple, as the classes have them."""
    cells: Mapping[str, Keys]
    """By column; 0: missing. Columns of lists, and the like, are not there."""
    values: Mapping[str, ArrowArray]
    """By column: some of its values, as `some_values` picks them."""

    def coded(self, name: str) -> Coded | None:
        """Number the values of a column; None: it is one of lists, and the like."""
        keys = self.cells.get(name)
        return None if keys is None else _code_keys(keys)

    def some_values(self, name: str) -> ArrowArray | None:
        """Return some values of a column, as `some_values` picks them."""
        return self.values.get(name)


class EveryRow(NamedTuple):
    """All rows of a frame, each for itself, by the numbers of their values."""

    piece: NDArray[np.int32]
    """Their tuples, as the classes have them."""
    columns: Mapping[str, ArrowArray]
    """By name, text as a dictionary."""

    @property
    def counts(self) -> None:
        """Each row stands for itself."""

    def coded(self, name: str) -> Coded | None:
        """Number the values of a column; None: it is one of lists, and the like."""
        column = self.columns.get(name)
        if column is None or pa.types.is_nested(column.type):
            return None
        if _is_plain(column.type):
            return code_column(column)
        with suppress(pa.ArrowException):
            return _code_keys(cell_keys(column))
        return None

    def some_values(self, name: str) -> ArrowArray | None:
        """Return some values of a column, as `some_values` picks them."""
        from core_mondrian.spec.identifier_detection import some_values

        column = self.columns.get(name)
        return None if column is None else some_values(column)


def distinct_rows_of_frame(
    frame: OpenFrame,
    names: Sequence[str],
    piece: NDArray[np.int32],
    rows: Integers | None = None,
    threads: int | None = None,
) -> DistinctRows | EveryRow:
    """Look at some columns of all rows, or of those at the places ``rows``.

    ``piece`` has the tuples of those that are looked at. Values of several types count
    by their number.
    """
    is_every = piece.size <= _most_rows(len(names))
    if names and rows is not None and not (is_every and 2 * rows.size > len(frame)):
        frame, rows = _with_rows(frame, names, rows), None
    read = partial(_read_column, frame, rows=rows, is_coded=is_every)
    columns = dict(
        zip(names, map_columns(read, names, piece.size, threads), strict=True)
    )
    return EveryRow(piece, columns) if is_every else distinct_rows(columns, piece)


def _with_rows(frame: OpenFrame, names: Sequence[str], rows: Integers) -> OpenFrame:
    return open_frame(take_rows(frame.select(names), rows))


def _read_column(
    frame: OpenFrame, name: str, rows: Integers | None, *, is_coded: bool
) -> ArrowArray:
    try:
        column = arrow_column(frame, name)
    except DataError:
        if rows is not None:  # which may be of one type
            some = _with_rows(frame, [name], rows)
            return _read_column(some, name, None, is_coded=is_coded)
        coded = code_series(frame[name])
        return pa.chunked_array([pa.array(coded.codes, mask=coded.missing)])
    if is_coded and _is_takeable_text(column.type):
        column = column.dictionary_encode()
    return column if rows is None else take_arrow(column, pa.array(rows))


def _is_takeable_text(kind: ArrowType) -> bool:
    """Return whether a type is text that Arrow can take from: it cannot from views."""
    return is_text(kind) and not pa.types.is_string_view(kind)


def _is_plain(kind: ArrowType) -> bool:
    """Return whether Arrow finds the same cells equal as `cell_keys` does."""
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return bool(
        _is_takeable_text(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
    )


def _code_keys(keys: Keys) -> Coded:
    return code_column(pa.chunked_array([pa.array(keys, mask=keys == 0)]))


def distinct_rows(
    columns: Mapping[str, ArrowArray], piece: NDArray[np.int32]
) -> DistinctRows:
    """Look at columns of rows, each of them in a piece."""
    from core_mondrian.spec.identifier_detection import some_values

    flat = {k: v for k, v in columns.items() if not pa.types.is_nested(v.type)}
    rows = splitmix64(piece.astype(np.uint64))
    for column in flat.values():
        with suppress(pa.ArrowException):
            rows = splitmix64(rows + cell_keys(column))
    at, counts = _lowest(rows, None, len(flat))
    cells = {}
    for name, column in flat.items():
        with suppress(pa.ArrowException):
            cells[name] = cell_keys(column)[at]
    values = {name: some_values(column) for name, column in columns.items()}
    return DistinctRows(rows[at], counts, piece[at], cells, values)


def join_distinct_rows(sights: Sequence[DistinctRows]) -> DistinctRows:
    """Return all that was seen; the same in whatever order it was."""
    from core_mondrian.spec.identifier_detection import some_values

    first = sights[0]
    rows = np.concatenate([one.rows for one in sights])
    counts = np.concatenate([one.counts for one in sights])
    at, counts = _lowest(rows, counts, len(first.cells))
    cells = {
        name: np.concatenate([one.cells[name] for one in sights])[at]
        for name in first.cells
    }
    values = {
        name: some_values(pa.chunked_array([one.values[name] for one in sights]))
        for name in first.values
    }
    piece = np.concatenate([one.piece for one in sights])[at]
    return DistinctRows(rows[at], counts, piece, cells, values)


def _lowest(
    rows: Keys, counts: Integers | None, n_columns: int
) -> tuple[Integers, Integers]:
    """Return where the different rows are, and how often they occur; or enough of them.

    Those with the lowest numbers are the same ones whatever was seen first.
    """
    most = _most_rows(n_columns)
    coded = pa.array(rows).dictionary_encode()
    numbered = Coded(
        coded.indices.to_numpy().astype(np.int64), max(len(coded.dictionary), 1)
    )
    order = np.argsort(coded.dictionary.to_numpy())[:most]
    return first_rows(numbered)[order], class_sizes(numbered, counts)[order]


def _most_rows(n_columns: int) -> int:
    return min(_MOST_ROWS, max(MOST_CELLS // max(n_columns, 1), 1))
