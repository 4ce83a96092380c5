"""Keyed hashes of rows: which row of the last release is this, and has it changed?"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.keyed_hashing import keyed_hash
from core_mondrian.errors import DataError, list_names
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.arrow_types import holds_text
from core_mondrian.tables.cell_keys import cell_keys
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.frames import OpenFrame, arrow_column, column_keys
from core_mondrian.tables.keys import Key

Words = NDArray[np.uint64]
_CODE: Final = r"^[ \t]*[+-]?(?:0[0-9]|0[eE][+-]?0*[1-9]|[0-9.]+[eE]0[0-9])"
"""Numbers as no program writes them, such as 007 and, of hexadecimal digits, 0e52."""


class RowHashes(NamedTuple):
    """What is kept of each row; without the key nobody can tell of whom."""

    key: Words
    """Which row it is."""
    shown: Words
    """Its cells that are released as they are, or in sets."""
    generalized: Words
    """Its quasi-identifiers."""
    person: Words
    """Whose row it is: the unit, or the row itself."""

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> "RowHashes":
        """Return some of them."""
        return RowHashes(*(words[rows] for words in self))


def hash_rows(
    frame: OpenFrame,
    spec: Spec,
    row_key: Sequence[str],
    key: Key,
    fixed: Sequence[str] = (),
) -> RowHashes:
    """Return the hashes of every row.

    ``fixed`` are quasi-identifiers that are shown value by value: as sets.

    Raises:
        DataError: rows have no key, or the same as another.
    """
    names = [name for name in spec.carried(frame.columns) if name not in row_key]
    names = sorted({*names, *spec.sensitive, *fixed})
    own = keyed_hash(_key_words(frame, row_key), key.derive("row key"))
    _check_unique(own, row_key)
    person = own
    if spec.unit is not None:
        cells = unified_texts(arrow_column(frame, spec.unit), spec.null_values)
        person = keyed_hash([cell_keys(cells)], key.derive("person"))
    return RowHashes(
        own,
        _hash_cells(frame, names, key.derive("cells")),
        _hash_cells(frame, spec.quasi_identifiers, key.derive("quasi-identifiers")),
        person,
    )


def hash_key_values(frame: OpenFrame, row_key: Sequence[str], key: Key) -> Words:
    """Return hashes of keys in which texts that are one number, or one day, are alike.

    As texts, 7.0 and 7 are two keys. Programs that know the types of a CSV file write
    either, and all rows would be shown again as new ones.
    """
    columns = [_by_value(arrow_column(frame, name)) for name in row_key]
    return keyed_hash([cell_keys(cells) for cells in columns], key.derive("key value"))


def _by_value(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return one text for each value, but codes as they are: 007 is not 7."""
    if not holds_text(column.type):
        return column
    texts = column.cast(pa.string())
    unified = unified_texts(column, ()).cast(pa.string())
    return pc.if_else(pc.match_substring_regex(texts, _CODE), texts, unified)


def find_places(among: Words, wanted: Words) -> NDArray[np.int64]:
    """Return where each word stands among some, in any order; -1: nowhere."""
    if not among.size:
        return np.full(wanted.size, -1, dtype=np.int64)
    order = np.argsort(among)
    place = np.minimum(np.searchsorted(among[order], wanted), among.size - 1)
    return np.where(among[order[place]] == wanted, order[place], -1)


def _key_words(frame: OpenFrame, names: Sequence[str]) -> list[Words]:
    """Return a word per cell, by its value: 7 and 7.0 are one, whatever their type.

    Else a row would come again under another key, and both of its classes be compared.
    """
    columns = [arrow_column(frame, name) for name in names]
    for name, column in zip(names, columns, strict=True):
        n_missing = pc.sum(column.is_null(nan_is_null=True)).as_py() or 0
        if n_missing:
            raise DataError(
                f"{n_missing:,} rows have no row key: {name!r} is missing",
                hint="every row needs a key that stays the same over all releases",
            )
        _check_exact(column, name)
    return [cell_keys(column) for column in columns]


def _check_exact(column: pa.ChunkedArray, name: str) -> None:
    """Refuse keys that were whole numbers once, and are too large for floats now."""
    if not pa.types.is_floating(column.type):
        return
    numbers = column.to_numpy()
    if (np.abs(numbers) >= 2.0 ** (np.finfo(numbers.dtype).nmant + 1)).any():
        raise DataError(
            f"row keys in {name!r} are floats, and too large to be exact",
            hint="read them as whole numbers or as text, in every release",
        )


def _check_unique(key: Words, names: Sequence[str]) -> None:
    rising = np.sort(key)
    n_repeated = int(np.count_nonzero(rising[1:] == rising[:-1]))
    if n_repeated:
        raise DataError(
            f"{n_repeated:,} rows have the row key of another: {list_names(names)}",
            hint="name columns that are different in every row, such as the "
            "person's number and the visit's",
        )


def _hash_cells(frame: OpenFrame, names: Sequence[str], key: bytes) -> Words:
    if not names:
        return np.zeros(len(frame), dtype=np.uint64)
    return keyed_hash([column_keys(frame, name) for name in names], key)
