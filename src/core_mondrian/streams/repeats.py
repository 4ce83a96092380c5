"""How far the values of a whole column repeat, in little memory."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.measure.concerns import Repeats
from core_mondrian.streams.batches import Batch, Sizes, Wanted, in_order, read_batches
from core_mondrian.streams.recount import numbered, read_units
from core_mondrian.streams.source import Source
from core_mondrian.tables.cell_keys import cell_keys

Array: TypeAlias = Any
"""An Arrow array, chunked or not; Arrow itself has no types to check."""
Keys: TypeAlias = NDArray[np.uint64]

_BUCKETS: Final = 64
"""Files that keys are put into: each is counted by itself."""


def count_repeats(
    source: Source, asked: tuple[str, str | Path | None], sizes: Sizes, folder: Path
) -> Repeats:
    """Read one column once more and count how far its values repeat.

    ``asked`` is its name, and what says whose row it is: another column, or a file with
    the number of each row's person. Values are told apart by 64-bit keys, as if they
    were their hashes.
    """
    name, unit = asked
    wanted = dict.fromkeys((name, unit) if isinstance(unit, str) else (name,))
    units = read_units(unit) if isinstance(unit, Path) else None
    is_csv = source.kind == "csv"

    def look(item: tuple[Batch, int]) -> Keys:
        batch, start = item
        table = batch.load()
        if units is None:
            persons = table.column(unit) if isinstance(unit, str) else None
        else:
            persons = pa.array(np.asarray(units[start : start + batch.n_rows]))
        return _key_pairs(table.column(name), persons, is_csv=is_csv)

    edges = np.arange(1, _BUCKETS, dtype=np.uint64) << np.uint64(58)
    batches = numbered(read_batches(source, Wanted(tuple(wanted)), sizes))
    with ExitStack() as stack:
        files = [
            stack.enter_context(TemporaryFile(dir=folder)) for _ in range(_BUCKETS)
        ]
        for pairs in in_order(look, batches, sizes):
            parts = np.split(pairs, np.searchsorted(pairs[:, 0], edges))
            for file, own in zip(files, parts, strict=True):
                own.tofile(file)
        counted = _Counted(has_units=unit is not None)
        for file in files:
            file.seek(0)
            counted.add(np.fromfile(file, np.uint64).reshape(-1, 2))
    return counted.repeats()


def _key_pairs(column: Array, persons: Array | None, *, is_csv: bool) -> Keys:
    """Return the keys of values that are not missing, rising, and of their persons."""
    if pa.types.is_nested(column.type):
        return np.zeros((0, 2), dtype=np.uint64)
    keys = cell_keys(column)
    of_persons = np.zeros_like(keys) if persons is None else cell_keys(persons)
    is_filled = keys != 0
    if is_csv:  # an empty text is a missing one
        is_filled &= keys != _empty_key()
    pairs = np.stack([keys, of_persons], axis=1)[is_filled]
    return np.ascontiguousarray(pairs[np.argsort(pairs[:, 0], kind="stable")])


class _Counted:
    """What the files hold, one after the other; a value is in one of them only."""

    def __init__(self, *, has_units: bool) -> None:
        self._has_units = has_units
        self._n_values = self._n_filled = self._n_alone = 0
        self._filled = self._alone = np.zeros(0, dtype=np.uint64)

    def add(self, pairs: Keys) -> None:
        """Add values (first column) and their persons, row by row."""
        if not self._has_units:
            found, counts = np.unique(pairs[:, 0], return_counts=True)
            self._n_filled += len(pairs)
            self._n_alone += int(np.count_nonzero(counts == 1))
        else:
            pairs = np.unique(pairs, axis=0)
            found, place, counts = np.unique(
                pairs[:, 0], return_inverse=True, return_counts=True
            )
            self._filled = np.union1d(self._filled, pairs[:, 1])
            is_alone = counts[place.ravel()] == 1
            self._alone = np.union1d(self._alone, pairs[is_alone, 1])
        self._n_values += found.size

    def repeats(self) -> Repeats:
        """Return what all of them hold."""
        if not self._has_units:
            return Repeats(self._n_filled, self._n_values, self._n_alone)
        return Repeats(self._filled.size, self._n_values, self._alone.size)


def _empty_key() -> np.uint64:
    return np.uint64(cell_keys(pa.array([""]))[0])
