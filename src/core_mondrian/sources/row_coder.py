"""Find the tuple of each row again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import TuplePacker
from core_mondrian.encoding.columns import comparable, distinct, look_up
from core_mondrian.encoding.row_groups import RowGroups
from core_mondrian.errors import DataError
from core_mondrian.sources.mapped_files import map_file
from core_mondrian.tables.arrow_types import holds_text
from core_mondrian.tables.cell_keys import cell_keys

Codes = NDArray[np.int32]
Words = NDArray[np.uint64]
BAD: Final = -3
"""In place of a tuple, or a leaf: the row is left out, as if it were unreadable."""
_MANY: Final = 1 << 16
"""Values that are found by sorted keys: Arrow would hash all of them for each batch."""
_HASHED: Final = 17
"""Bytes per tuple that a hash table takes besides the words."""


def number_values(column: Any) -> tuple[Codes, pa.Array]:  # noqa: ANN401
    """Return a code per row (0: missing) and the distinct values that codes 1 … mean.

    NaN is missing, and -0.0 is 0.0.
    """
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int32), pa.array([], pa.string())
    chunks, values = distinct(comparable(column))
    if pa.types.is_floating(values.type):
        known = pc.if_else(pc.is_nan(values), None, values)
        values = pc.add(known, pa.scalar(0.0, values.type))
    elif holds_text(values.type):
        values = values.cast(pa.string())
    coded = values.dictionary_encode()
    place = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False) + 1
    return look_up(np.append(place, 0).astype(np.int32), chunks), coded.dictionary


class _Numbers:
    """The number of each value of a column, from 1 on."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values
        self._keys: NDArray[np.uint64] | None = None
        if len(values) > _MANY:
            keys = cell_keys(values)
            order = np.argsort(keys, kind="stable")
            ordered = keys[order]
            if (ordered[1:] != ordered[:-1]).all():  # else two values share a key
                self._keys, self._order = ordered, order

    def find(self, values: pa.Array) -> Codes:
        """Return the numbers of some values; 0: unknown."""
        if self._keys is None or not len(values):
            if not len(self._values):
                return np.zeros(len(values), dtype=np.int32)
            found = pc.index_in(values, value_set=self._values).fill_null(-1)
            places: Codes = found.to_numpy(zero_copy_only=False).astype(np.int32)
            return places + np.int32(1)
        keys = cell_keys(values)
        at = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
        number = np.where(self._keys[at] == keys, self._order[at] + 1, 0)
        return number.astype(np.int32)


class TupleWords:
    """The packed tuples, and which of them a row is: found by a hash table."""

    def __init__(self, words: Words) -> None:
        self._rows = RowGroups(np.ascontiguousarray(words))
        self._rows.index()

    def find(self, wanted: Words) -> Codes:
        """Return the numbers of rows' tuples; -1: there is none such."""
        found = np.empty(len(wanted), dtype=np.int32)
        self._rows.find(wanted, found)
        return found


class TupleFile(TupleWords):
    """The same for tuples that lie sorted in a file, and are too many to be hashed."""

    def __init__(self, path: Path, width: int) -> None:
        """Open a file of words, the highest byte first, ``width`` to a tuple."""
        self._kind = np.dtype(f"S{8 * width}")
        self._known = map_file(path, self._kind)

    def find(self, wanted: Words) -> Codes:
        # Bytes compare as the numbers do. In the order of the tuples, so that the file
        # is read from its start to its end.
        flat = np.ascontiguousarray(wanted.astype(">u8")).view(self._kind).ravel()
        asked, back = np.unique(flat, return_inverse=True)
        place = np.searchsorted(self._known, asked)
        place = np.minimum(place, self._known.size - 1)
        number = np.where(self._known[place] == asked, place, -1).astype(np.int32)
        return number[back.ravel()]


def open_words(path: Path, width: int, room: int) -> TupleWords:
    """Return the tuples of a file, hashed if that takes no more than ``room`` bytes."""
    n_tuples = path.stat().st_size // (8 * width)
    if n_tuples * (_HASHED + 8 * width) > room:
        return TupleFile(path, width)
    words = np.fromfile(path, ">u8").astype(np.uint64)
    return TupleWords(words.reshape(-1, width))


class TupleIndex:
    """Says which tuple a row is, by the numbers of its values."""

    def __init__(
        self,
        bits: list[int],
        tuples: TupleWords,
        maps: Sequence[Codes] | None = None,
    ) -> None:
        """``maps`` say what a value's number is in the tuples, if it is another."""
        self._bits, self._tuples, self._maps = bits, tuples, maps

    def find(self, columns: Sequence[Codes]) -> Codes:
        """Return the tuples of rows; -1: there is none such."""
        packer = TuplePacker(self._bits, columns[0].size)
        for place, codes in enumerate(columns):
            packer.append(codes if self._maps is None else self._maps[place][codes])
        return self._tuples.find(packer.words)


class ValueCoder:
    """Numbers the cells of columns by the values that were counted."""

    def __init__(self, columns: Sequence[str], values: Sequence[pa.Array]) -> None:
        self.columns = tuple(columns)
        self._numbers = [_Numbers(one) for one in values]

    def codes(self, name: str, column: Any) -> Codes:  # noqa: ANN401
        """Return the number of each cell's value; 0: missing.

        Raises:
            DataError: a value was not there before.
        """
        place = self.columns.index(name)
        codes, values = number_values(column)
        number = np.append(0, self._numbers[place].find(values)).astype(np.int32)
        if (number[1:] == 0).any() and (number[codes][codes > 0] == 0).any():
            raise _changed()
        return number[codes]


class RowCoder(ValueCoder):
    """Says which of the counted tuples a row has."""

    def __init__(
        self,
        columns: Sequence[str],
        values: Sequence[pa.Array],
        index: TupleIndex,
        bad: Sequence[NDArray[np.bool_] | None] | None = None,
    ) -> None:
        """Code rows by the counted ``values`` of columns.

        ``bad`` has the numbers of values that make a row bad.
        """
        super().__init__(columns, values)
        self._index = index
        self._bad = [None] * len(values) if bad is None else list(bad)

    def find(self, table: pa.Table) -> Codes:
        """Return the number of each row's tuple; `BAD`: the row is left out.

        Raises:
            DataError: there is a tuple that was not counted.
        """
        columns = [self.codes(name, table.column(name)) for name in self.columns]
        found = self._index.find(columns)
        for bad, codes in zip(self._bad, columns, strict=True):
            if bad is not None:
                found[bad[codes]] = BAD
        if table.num_rows and (found == -1).any():
            raise _changed()
        return found


def _changed() -> DataError:
    return DataError(
        "the source has other rows than when they were counted",
        hint="run again when nobody writes to it",
    )
