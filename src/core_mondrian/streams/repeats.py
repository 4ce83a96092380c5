"""How often the values of a whole column occur, in little memory."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.cell_keys import cell_keys
from core_mondrian.measure.concerns import Repeats
from core_mondrian.streams.batches import Batch, Sizes, Wanted, in_order, read_batches
from core_mondrian.streams.source import Source

_BUCKETS: Final = 64
"""Files that keys are put into: each is counted by itself."""


def count_repeats(source: Source, name: str, sizes: Sizes, folder: Path) -> Repeats:
    """Read one column once more and count how often its values occur.

    Values are told apart by 64-bit keys, as if they were their hashes.
    """
    is_csv = source.kind == "csv"

    def look(batch: Batch) -> NDArray[np.uint64]:
        column = batch.load().column(0)
        if pa.types.is_nested(column.type):
            return np.zeros(0, dtype=np.uint64)
        keys = cell_keys(column)
        if is_csv:  # an empty text is a missing one
            keys = keys[keys != _empty_key()]
        return np.sort(keys[keys != 0])

    edges = np.arange(1, _BUCKETS, dtype=np.uint64) << np.uint64(58)
    totals: dict[int, int] = {}
    with ExitStack() as stack:
        files = [
            stack.enter_context(TemporaryFile(dir=folder)) for _ in range(_BUCKETS)
        ]
        for keys in in_order(look, read_batches(source, Wanted((name,)), sizes), sizes):
            pieces = np.split(keys, np.searchsorted(keys, edges))
            for file, own in zip(files, pieces, strict=True):
                own.tofile(file)
        for file in files:
            file.seek(0)
            _, counts = np.unique(np.fromfile(file, np.uint64), return_counts=True)
            for rows, n in zip(*np.unique(counts, return_counts=True), strict=True):
                totals[int(rows)] = totals.get(int(rows), 0) + int(n)
    rising = sorted(totals)
    return Repeats(
        np.array(rising, dtype=np.int64),
        np.array([totals[rows] for rows in rising], dtype=np.int64),
    )


def _empty_key() -> np.uint64:
    return np.uint64(cell_keys(pa.array([""]))[0])
