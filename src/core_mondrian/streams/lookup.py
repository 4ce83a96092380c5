"""Find the tuple of each row again."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import TuplePacker
from core_mondrian.encoding.row_groups import RowGroups
from core_mondrian.errors import DataError
from core_mondrian.streams.tally import Codes, Tally, number_values
from core_mondrian.tables.cell_keys import cell_keys

_MANY: Final = 1 << 16
"""Values that are found by sorted keys: Arrow would hash all of them for each batch."""


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


class TupleIndex:
    """Says which of the counted tuples a row has."""

    def __init__(self, tally: Tally) -> None:
        self._bits = tally.bits
        self._numbers = [_Numbers(values) for values in tally.values]
        packer = TuplePacker(self._bits, tally.n_tuples)
        for place in range(len(self._bits)):
            packer.append(np.ascontiguousarray(tally.codes[:, place]))
        self._rows = RowGroups(packer.words)
        self._rows.index()

    def codes(self, place: int, column: Any) -> Codes:  # noqa: ANN401
        """Return the code that each cell of a column has in the tally; 0: missing.

        Raises:
            DataError: a value was not there before.
        """
        codes, values = number_values(column)
        number = np.append(0, self._numbers[place].find(values)).astype(np.int32)
        if (number[1:] == 0).any() and (number[codes][codes > 0] == 0).any():
            raise _changed()
        return number[codes]

    def find(self, columns: Sequence[Codes], n_rows: int) -> Codes:
        """Return the number of each row's tuple, given its codes.

        Raises:
            DataError: there is a tuple that was not counted.
        """
        packer = TuplePacker(self._bits, n_rows)
        for codes in columns:
            packer.append(codes)
        found = np.empty(n_rows, dtype=np.int32)
        self._rows.find(packer.words, found)
        if n_rows and found.min() < 0:
            raise _changed()
        return found


def _changed() -> DataError:
    return DataError(
        "the source has other rows than when they were counted",
        hint="run again when nobody writes to it",
    )
