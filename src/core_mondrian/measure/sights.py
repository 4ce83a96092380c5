"""The rows that are looked at for what they give away, in as little as that takes.

Of a cell it is enough to know which others are the same. So rows become numbers, rows
that are the same become one, and of very many different ones some are enough.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.cell_keys import Keys, cell_keys, scatter
from core_mondrian.errors import DataError
from core_mondrian.frames import arrow_column
from core_mondrian.measure.counting import (
    Coded,
    class_sizes,
    code_column,
    code_series,
    first_rows,
)
from core_mondrian.recognize import some_values

Array: TypeAlias = Any
"""An Arrow array, chunked or not; Arrow itself has no types to check."""
Integers: TypeAlias = NDArray[np.int64]

_MOST_ROWS: Final = 1 << 16
MOST_CELLS: Final = 1 << 22
"""Different rows, and cells of them, that are enough: 32 MB."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Different rows, as numbers made from their cells."""

    rows: Keys
    """Rising: a number of each row and its piece."""
    counts: Integers
    """How many rows of the table each stands for."""
    piece: NDArray[np.int32]
    """Its tuple, as the classes have them."""
    cells: Mapping[str, Keys]
    """By column; 0: missing. Columns of lists, and the like, are not there."""
    values: Mapping[str, Array]
    """By column: some of its values, as `some_values` picks them."""

    def coded(self, name: str) -> Coded | None:
        """Number the values of a column; None: it is one of lists, and the like."""
        if name not in self.cells:
            return None
        keys = self.cells[name]
        return code_column(pa.chunked_array([pa.array(keys, mask=keys == 0)]))


def look_at_frame(
    frame: nw.DataFrame[Any], names: Sequence[str], piece: NDArray[np.int32]
) -> Sight:
    """Look at some columns of all rows; values of several types by their number."""
    columns: dict[str, Array] = {}
    for name in names:
        try:
            columns[name] = arrow_column(frame, name)
        except DataError:
            coded = code_series(frame[name])
            columns[name] = pa.array(coded.codes, mask=coded.missing)
    return look_at(columns, piece)


def look_at(columns: Mapping[str, Array], piece: NDArray[np.int32]) -> Sight:
    """Look at columns of rows, each of them in a piece."""
    flat = {k: v for k, v in columns.items() if not pa.types.is_nested(v.type)}
    rows = scatter(piece.astype(np.uint64))
    for column in flat.values():
        with suppress(pa.ArrowException):
            rows = scatter(rows + cell_keys(column))
    at, counts = _lowest(rows, None, len(flat))
    cells = {}
    for name, column in flat.items():
        with suppress(pa.ArrowException):
            cells[name] = cell_keys(column)[at]
    values = {name: some_values(column) for name, column in columns.items()}
    return Sight(rows[at], counts, piece[at], cells, values)


def join_sights(sights: Sequence[Sight]) -> Sight:
    """Return all that was seen; the same in whatever order it was."""
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
    return Sight(rows[at], counts, piece, cells, values)


def _lowest(
    rows: Keys, counts: Integers | None, n_columns: int
) -> tuple[Integers, Integers]:
    """Return where the different rows are, and how often they occur; or enough of them.

    Those with the lowest numbers are the same ones whatever was seen first.
    """
    most = min(_MOST_ROWS, max(MOST_CELLS // max(n_columns, 1), 1))
    found = pa.array(rows).dictionary_encode()
    numbered = Coded(
        found.indices.to_numpy().astype(np.int64), max(len(found.dictionary), 1)
    )
    order = np.argsort(found.dictionary.to_numpy())[:most]
    return first_rows(numbered)[order], class_sizes(numbered, counts)[order]
