"""The classes of a released table, read from its cells, and the digest they have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice, product
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.recoding.labels import Labels, digest_classes
from core_mondrian.release.release_tree import ReleasedTable
from core_mondrian.runtime.array_types import ArrowArray, ArrowType, Integers
from core_mondrian.tables.frames import OpenFrame, arrow_column
from core_mondrian.verification.counting import (
    class_sizes,
    code_column,
    code_series,
    combine,
    first_rows,
)

_MOST_READINGS: Final = 64
_COARSER: Final = {"ns": "us", "us": "ms", "ms": "s"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What the distinct cells of a column may have been: texts, from the smallest."""

    texts: tuple[str, ...]
    rank: Integers
    """The place among ``texts`` of each cell; that of a blank is after the last."""


@dataclass(frozen=True, slots=True)
class ShownClasses:
    """The classes of a table: rows that show the same."""

    columns: tuple[str, ...]
    cells: tuple[Integers, ...]
    """Per column, the number of what each class shows; the last one is a blank."""
    readings: tuple[tuple[Reading, ...], ...]
    """Per column, the likeliest reading first: a CSV file has no types."""
    rows: Integers

    @property
    def blank(self) -> NDArray[np.bool_]:
        """Which class shows nothing at all."""
        is_blank = np.ones(self.rows.size, dtype=np.bool_)
        for cells, readings in zip(self.cells, self.readings, strict=True):
            is_blank &= cells == len(readings[0].texts)
        return is_blank

    def without_blanks(self, n_rows: int) -> "ShownClasses":
        """Return the classes with so many blank rows left out."""
        rows = np.where(self.blank, self.rows - n_rows, self.rows)
        kept = rows > 0
        cells = tuple(cells[kept] for cells in self.cells)
        return ShownClasses(self.columns, cells, self.readings, rows[kept])

    def table(self) -> ReleasedTable:
        """Return the classes by their likeliest reading."""
        first = [readings[0] for readings in self.readings]
        ranks = [one.rank[cells] for one, cells in zip(first, self.cells, strict=True)]
        texts = tuple((*one.texts, None) for one in first)
        return ReleasedTable(self.columns, np.stack(ranks, axis=1), texts, self.rows)

    def digests(self) -> Iterator[str]:
        """Yield the digests that the cells may have, the likeliest first."""
        used = [
            [_without_unused(reading, cells) for reading in readings]
            for readings, cells in zip(self.readings, self.cells, strict=True)
        ]
        for chosen in islice(product(*used), _MOST_READINGS):
            ranks = [
                np.where(
                    reading.rank[cells] < len(reading.texts), reading.rank[cells], -1
                )
                for reading, cells in zip(chosen, self.cells, strict=True)
            ]
            shown = {
                name: one.texts for name, one in zip(self.columns, chosen, strict=True)
            }
            yield digest_classes(shown, np.stack(ranks), self.rows)


def read_classes(frame: OpenFrame, shown: Mapping[str, Sequence[str]]) -> ShownClasses:
    """Return the classes of a table, whose columns show ``shown``'s quasi-identifiers.

    A quasi-identifier is shown in the column of its name, or in two of bounds.
    """
    keys = combine(
        [code_series(frame[name]) for names in shown.values() for name in names]
    )
    rows = pa.array(first_rows(keys))
    cells, readings = [], []
    for names in shown.values():
        ends = [_plain(arrow_column(frame, name).take(rows)) for name in names]
        column = ends[0] if len(ends) == 1 else _as_struct(ends)
        coded = code_column(pa.chunked_array([column]))
        first = first_rows(coded)
        is_shown = coded.codes[first] < coded.n_codes - 1
        # Numbers without gaps: a dictionary may list values that no row has.
        number = np.full(coded.n_codes, np.count_nonzero(is_shown), dtype=np.int64)
        number[coded.codes[first[is_shown]]] = np.arange(np.count_nonzero(is_shown))
        cells.append(number[coded.codes])
        readings.append(tuple(_read(column.take(pa.array(first[is_shown])))))
    return ShownClasses(tuple(shown), tuple(cells), tuple(readings), class_sizes(keys))


def _without_unused(reading: Reading, cells: Integers) -> Reading:
    """Drop texts that no class shows; the blank one stays the last."""
    n = len(reading.texts)
    used = np.zeros(n + 1, dtype=np.bool_)
    used[reading.rank[cells]] = True
    used[n] = True
    texts = tuple(text for i, text in enumerate(reading.texts) if used[i])
    return Reading(texts, (np.cumsum(used) - 1)[reading.rank])


def _plain(column: ArrowArray) -> ArrowArray:
    """Return a column as one array, without a dictionary, text as plain text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        kind = pa.string()
    whole = column.cast(kind).combine_chunks()
    is_empty = isinstance(whole, pa.ChunkedArray)  # there was no chunk to combine
    return pa.array([], kind) if is_empty else whole


def _as_struct(ends: Sequence[ArrowArray]) -> ArrowArray:
    is_blank = np.logical_and.reduce(
        [end.is_null().to_numpy(zero_copy_only=False) for end in ends]
    )
    names = [str(i) for i in range(len(ends))]
    return pa.StructArray.from_arrays(ends, names, mask=pa.array(is_blank))


def _read(values: ArrowArray) -> Iterator[Reading]:
    """Yield what distinct cells may have been, by their type or by how they look."""
    try:
        parts = values.flatten() if pa.types.is_struct(values.type) else [values]
        if all(pa.types.is_string(part.type) for part in parts):
            yield from _read_texts([part.to_pylist() for part in parts])
            return
        for labels in _as_typed(values):
            texts = [text or "" for text in labels.texts.to_pylist()]
            yield _ordered(texts, labels.order)
    except (pa.ArrowException, TypeError, ValueError):
        texts = [str(value) for value in values.to_pylist()]
        yield _ordered(texts, sorted(range(len(texts)), key=texts.__getitem__))


def _as_typed(values: ArrowArray) -> Iterator[Labels]:
    """Yield the values, and as a coarser moment: Parquet has no whole seconds."""
    none = np.zeros(0, dtype=np.int32)
    yield Labels(none, values)
    is_struct = pa.types.is_struct(values.type)
    ends = values.flatten() if is_struct else [values]
    while (unit := _COARSER.get(getattr(ends[0].type, "unit", ""))) is not None:
        try:
            ends = [end.cast(_with_unit(end.type, unit)) for end in ends]
        except (pa.ArrowException, ValueError):  # would lose something
            return
        yield Labels(none, _as_struct(ends) if is_struct else ends[0])


def _with_unit(kind: ArrowType, unit: str) -> ArrowType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp(unit, kind.tz)
    if pa.types.is_time(kind):
        return pa.time32(unit) if unit in ("ms", "s") else pa.time64(unit)
    return pa.duration(unit)


def _read_texts(parts: Sequence[Sequence[str | None]]) -> Iterator[Reading]:
    """Yield texts in the order of the numbers that they are, and in that of texts."""
    cells = [tuple(text or "" for text in cell) for cell in zip(*parts, strict=True)]
    texts = [one[0] if len(one) == 1 else f"[{one[0]}, {one[1]}]" for one in cells]
    numbers = [[_number(text) for text in cell] for cell in cells]
    if all(number is not None for cell in numbers for number in cell):
        yield _ordered(texts, sorted(range(len(texts)), key=numbers.__getitem__))
    # As Arrow sorts, by bytes.
    words = [tuple(text.encode() for text in cell) for cell in cells]
    yield _ordered(texts, sorted(range(len(texts)), key=words.__getitem__))


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return None if number.is_nan() else number


def _ordered(texts: Sequence[str], order: Sequence[int] | NDArray[np.int64]) -> Reading:
    places = np.asarray(order, dtype=np.int64)
    rank = np.append(np.empty(places.size, dtype=np.int64), places.size)
    rank[places] = np.arange(places.size)
    return Reading(tuple(texts[i] for i in places.tolist()), rank)
