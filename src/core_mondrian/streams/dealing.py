"""Which rows of a tuple go to which of its classes, if it is divided."""

from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import InternalError, MemoryLimitError
from core_mondrian.plan import Plan
from core_mondrian.streams.memory import Limit, show_size

_DEALT: Final = 120
"""Bytes per row that dealing takes."""
_ROW: Final = np.dtype([("tuple", "<i4"), ("content", "<u8")])


class Deal:
    """Collects the rows of divided tuples, deals them out, and tells their leaves.

    Rows are kept by bucket: all rows of a tuple are in one. Buckets beyond the first
    are in files without a name, which no interrupt leaves behind.
    """

    def __init__(self, plan: Plan, limit: Limit, folder: Path) -> None:
        shares = self._shares = plan.shares
        self.n_rows = shares.n_rows
        self._tuple_of = plan.tuple_of
        self._key = plan.allocation_key
        room = max(limit.free // 3, 1 << 20)
        self._n_buckets = max(1, -(-self.n_rows * _DEALT // room))
        largest = np.bincount(shares.tuple_of, shares.rows).max(initial=0) * _DEALT
        if largest > 2 * room:
            raise MemoryLimitError(
                f"one tuple is divided and has so many rows that dealing them out "
                f"needs {show_size(largest)}",
                hint="allow more: --memory SIZE; or --disjoint, which divides none",
            )
        self._files = [self._open(folder) for _ in range(self._n_buckets)]
        self._leaves: list[NDArray[np.int32]] = []
        self._starts: list[NDArray[np.int64]] = [self._no_rows()]

    @property
    def is_needed(self) -> bool:
        """Tell whether any tuple is divided."""
        return self.n_rows > 0

    def _open(self, folder: Path) -> IO[bytes] | list[NDArray[Any]]:
        return TemporaryFile(dir=folder) if self._n_buckets > 1 else []

    def _no_rows(self) -> NDArray[np.int64]:
        return np.zeros(self._n_buckets, dtype=np.int64)

    def add(self, tuples: NDArray[np.int32], contents: NDArray[np.uint64]) -> None:
        """Take the divided rows of the next batch."""
        owners = self._tuple_of[tuples]
        order, counts = self._by_bucket(owners)
        rows = np.empty(owners.size, dtype=_ROW)
        rows["tuple"], rows["content"] = owners[order], contents[order]
        stops = np.cumsum(counts)
        for bucket, file in enumerate(self._files):
            own = rows[stops[bucket] - counts[bucket] : stops[bucket]]
            if isinstance(file, list):
                file.append(own)
            else:
                own.tofile(file)
        self._starts.append(self._starts[-1] + counts)

    def _by_bucket(
        self, owners: NDArray[np.int32]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        bucket = owners % self._n_buckets
        counts = np.bincount(bucket, minlength=self._n_buckets).astype(np.int64)
        return np.argsort(bucket, kind="stable"), counts

    def deal(self) -> None:
        """Deal all rows out."""
        if int(self._starts[-1].sum()) != self.n_rows:
            raise InternalError("divided tuples have other rows than were counted")
        for bucket, file in enumerate(self._files):
            if isinstance(file, list):
                rows = np.concatenate(file) if file else np.empty(0, _ROW)
                file.clear()
            else:
                file.seek(0)
                rows = np.fromfile(file, _ROW)
            place = self._shares.allocate(
                np.ascontiguousarray(rows["tuple"]),
                np.ascontiguousarray(rows["content"]),
                self._key,
            )
            self._keep(bucket, file, self._shares.leaf[place])

    def _keep(self, bucket: int, file: Any, leaves: NDArray[np.int32]) -> None:  # noqa: ANN401
        if isinstance(file, list):
            self._leaves.append(leaves)
            return
        file.seek(0)
        file.truncate()
        leaves.tofile(file)
        file.flush()
        if bucket + 1 == self._n_buckets:
            self._leaves = [self._mapped(one) for one in self._files]

    def _mapped(self, file: Any) -> NDArray[np.int32]:  # noqa: ANN401
        size = file.seek(0, 2)
        if not size:
            return np.empty(0, dtype=np.int32)
        return np.memmap(file, dtype=np.int32, mode="r")

    def leaves(self, batch: int, tuples: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the leaves of the divided rows of a batch."""
        order, counts = self._by_bucket(self._tuple_of[tuples])
        start = self._starts[batch]
        pieces = [
            np.asarray(leaves[start[i] : start[i] + counts[i]])
            for i, leaves in enumerate(self._leaves)
        ]
        found = np.empty(tuples.size, dtype=np.int32)
        found[order] = np.concatenate(pieces) if pieces else found
        return found

    def close(self) -> None:
        """Let the files go."""
        for file in self._files:
            if not isinstance(file, list):
                file.close()
