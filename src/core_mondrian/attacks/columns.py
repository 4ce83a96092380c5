"""Columns that both tables have: which released cell fits which person's value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import MemoryLimitError
from core_mondrian.frames import arrow_column
from core_mondrian.measure.counting import Array, Codes, Flags, code_column
from core_mondrian.measure.matches import (
    column_tree,
    fitting,
    plain_column,
    read_cells,
    read_ends,
    split_interval,
)
from core_mondrian.spec import Spec

_MOST_FITS: Final = 1 << 31
_RANGES: Final = ("interval", "bounds", "struct")


@dataclass(frozen=True, slots=True)
class Column:
    """A column as an attacker matches it."""

    name: str
    cells: Codes
    """Number of what each class shows."""
    values: Codes
    """Number of each person's value; missing is the last."""
    fits: Flags | None
    """Cells by values; None: a cell fits the value of its number."""
    ends: Codes | None = None
    """Of numbers, the values that are a cell's two bounds; -1: it has none, -2: it
    is nobody's value."""

    def fit(self, values: Codes, cells: Codes) -> Flags:
        """Tell which values (axis 0) fit which cells (axis 1)."""
        if self.fits is None:
            return np.asarray(values[:, np.newaxis] == cells[np.newaxis, :])
        distinct, place = np.unique(values, return_inverse=True)
        chosen: Flags = self.fits[:, distinct][cells]
        return np.ascontiguousarray(chosen.T)[place]

    def regroup(self, classes: Codes) -> "Column":
        """Return the column with what these classes show."""
        return replace(self, cells=self.cells[classes])


def read_quasi_identifier(
    tables: "tuple[nw.DataFrame[Any], nw.DataFrame[Any]]",
    shown: tuple[str, Sequence[str]],
    rows: Codes,
    spec: Spec,
) -> Column:
    """Return a quasi-identifier of the release and the original.

    ``shown`` is its name, and the columns it is released in; ``rows`` has a row of
    each class.
    """
    released, original = tables
    name, columns = shown
    texts = read_cells(released, columns, rows)
    distinct = [*sorted({text for text in texts if text is not None}), None]
    number = {text: i for i, text in enumerate(distinct)}
    cells = np.array([number[text] for text in texts], dtype=np.int64)
    column = _as_read(plain_column(arrow_column(original, name)))
    coded = code_column(column, ordered=True)
    if len(distinct) * coded.n_codes > _MOST_FITS:
        raise MemoryLimitError(
            f"column {name!r} has too many different values for this",
            hint="attack a part of the rows",
        )
    known = pa.array(coded.labels, column.type)
    tree = column_tree(name, known, spec)
    is_number = tree is None and not _is_text(column.type)
    if is_number and spec.format_of(name) not in _RANGES:
        fits = np.ones((len(distinct), coded.n_codes), dtype=np.bool_)
        return Column(name, cells, coded.codes, fits)
    has_sets = spec.categories_of(name) == "set"
    fits = fitting(distinct, known, tree, has_sets=has_sets)
    ends = _ends(distinct, known) if is_number else None
    return Column(name, cells, coded.codes, fits, ends)


def is_matched(original: nw.DataFrame[Any], name: str, spec: Spec) -> bool:
    """Tell whether cells of a quasi-identifier say what fits: means do not."""
    kind = _as_read(plain_column(arrow_column(original, name))).type
    is_range = spec.format_of(name) in _RANGES
    return is_range or name in spec.hierarchies or _is_text(kind)


def _as_read(column: Array) -> Array:
    """Return truth values as the texts they are released as."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    return column.cast(pa.string()) if pa.types.is_null(kind) else column


def _is_text(kind: Any) -> bool:  # noqa: ANN401  # an Arrow type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _ends(cells: Sequence[str | None], values: Array) -> Codes:
    """Return the numbers of both bounds of each cell; one value has none."""
    ends = np.full((len(cells), 2), -1, dtype=np.int64)
    for i, cell in enumerate(cells):
        if cell is None or cell.startswith("{"):
            continue
        low, high = split_interval(cell)
        if low != high:
            found = pc.index_in(read_ends(cell, values.type), values)
            ends[i] = found.fill_null(-1).to_numpy(zero_copy_only=False)
            ends[i, ends[i] < 0] = -2  # a bound, but nobody's value
    return ends


def read_carried(
    tables: "tuple[nw.DataFrame[Any], nw.DataFrame[Any]]", name: str, rows: Codes
) -> Column:
    """Return a column that is released as it is."""
    released, original = (
        _as_read(plain_column(arrow_column(frame, name))) for frame in tables
    )
    released = released.take(pa.array(rows))
    joined = join_columns(released, original)
    codes = code_column(joined).codes
    return Column(name, codes[: len(rows)], codes[len(rows) :], None)


def join_columns(first: Array, second: Array) -> Array:
    """Return the cells of one column after those of another, as one type."""
    if first.type != second.type:
        try:
            first = first.cast(second.type)
        except pa.ArrowException:
            first, second = first.cast(pa.string()), second.cast(pa.string())
    chunks = [
        chunk
        for one in (first, second)
        for chunk in (one.chunks if isinstance(one, pa.ChunkedArray) else [one])
    ]
    return pa.chunked_array(chunks, second.type)
