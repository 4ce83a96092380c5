"""Where every row goes, decided before any is written, where tuples are split.

Rows of one tuple may be in several classes, and lots drawn by what is in their other
cells decide; so all of them have to be seen first. What is found is kept in files:

    tuples   the tuple of each row       leaves   its leaf
    lots     row, tuple and content of rows of split tuples, by bucket
"""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.recoding.plan import DIVIDED, Shares
from core_mondrian.sources.memory import rows_at_once
from core_mondrian.tables.files.staging import create_private

Codes = NDArray[np.int32]
_ROW: Final = np.dtype([("row", "<i8"), ("tuple", "<i4"), ("content", "<u8")])


class RowPlaces:
    """The tuple and the leaf of every row, in files."""

    def __init__(self, shares: Shares, key: bytes, folder: Path, room: int) -> None:
        """Allocate rows of split tuples in ``room`` bytes, bucket by bucket."""
        self._shares, self._key = shares, key
        self._stack = ExitStack()
        self._n_buckets = max(1, -(-shares.n_rows // rows_at_once(shares, room)))
        self._paths = [folder / name for name in ("tuples", "leaves")]
        for path in self._paths:
            create_private(path)
        self._files = [self._stack.enter_context(x.open("r+b")) for x in self._paths]
        temporary = (TemporaryFile(dir=folder) for _ in range(self._n_buckets))  # noqa: SIM115
        self._lots = [self._stack.enter_context(file) for file in temporary]
        self._n_rows = self._n_split = 0
        self._arrays: list[Codes] = []

    def __enter__(self) -> "RowPlaces":
        return self

    def __exit__(self, *error: object) -> None:
        self._arrays.clear()
        self._stack.close()

    def add(self, owners: Codes, leaf: Codes, contents: NDArray[np.uint64]) -> None:
        """Take the tuples and leaves of the next rows.

        Those of split tuples are `DIVIDED`; ``contents`` are theirs.
        """
        for file, numbers in zip(self._files, (owners, leaf), strict=True):
            numbers.astype(np.int32).tofile(file)
        split = np.flatnonzero(leaf == DIVIDED)
        rows = np.empty(split.size, dtype=_ROW)
        rows["row"], rows["tuple"] = self._n_rows + split, owners[split]
        rows["content"] = contents
        bucket = rows["tuple"] % self._n_buckets
        order = np.argsort(bucket, kind="stable")
        edges = np.searchsorted(bucket[order], np.arange(self._n_buckets + 1))
        for i, lots in enumerate(self._lots):
            rows[order[edges[i] : edges[i + 1]]].tofile(lots)
        self._n_rows += leaf.size
        self._n_split += split.size

    def allocate(self) -> None:
        """Say which of the rows of split tuples go where, when all are there."""
        if self._n_split != self._shares.n_rows:
            raise InternalError("split tuples have other rows than were counted")
        for file in self._files:
            file.flush()
        leaves = self._mapped(1, "r+")
        for lots in self._lots:
            lots.seek(0)
            rows = np.fromfile(lots, _ROW)
            if not rows.size:
                continue
            tuples = np.ascontiguousarray(rows["tuple"])
            contents = np.ascontiguousarray(rows["content"])
            place = self._shares.allocate(tuples, contents, self._key)
            leaves[rows["row"]] = self._shares.leaf[place]
        del leaves
        self._arrays = [self._mapped(i, "r") for i in range(2)]

    def _mapped(self, place: int, mode: Any) -> Codes:  # noqa: ANN401
        if not self._n_rows:
            return np.zeros(0, dtype=np.int32)
        return np.memmap(self._paths[place], np.int32, mode)

    def of(self, start: int, n: int) -> tuple[Codes, Codes]:
        """Return tuples and leaves of some rows."""
        tuples, leaves = (np.array(array[start : start + n]) for array in self._arrays)
        return tuples, leaves
