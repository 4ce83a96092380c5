"""Every row is looked up, recoded and written, in its order.

Rows of one tuple may be in several classes, and lots drawn by what is in their other
cells decide; so where there are such tuples, all rows are looked up before any is
written. What is found is kept in files:

    tuples   the tuple of each row       leaves   its leaf
    lots     row, tuple and content of rows of split tuples, by bucket
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.measures.row_sample import DistinctRows, join_distinct_rows
from core_mondrian.recoding.plan import DIVIDED, Shares
from core_mondrian.runtime.progress import Throughput
from core_mondrian.sources.files.batches import (
    Batch,
    Wanted,
    in_order,
    read_batches,
)
from core_mondrian.sources.files.counting import share_done
from core_mondrian.sources.files.rows import Codes, Recoder, Released
from core_mondrian.sources.memory import Limit, Sizes, rows_at_once
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.staging import create_private
from core_mondrian.tables.files.write import ROWS_TOGETHER, TableFile

Report = Callable[[float], None]
_MOST_SIGHTS: Final = 32
"""Batches of which what was seen is kept before it is joined."""
_LOT: Final = np.dtype([("row", "<i8"), ("tuple", "<i4"), ("content", "<u8")])


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
        rows = np.empty(split.size, dtype=_LOT)
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
            rows = np.fromfile(lots, _LOT)
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


@dataclass(frozen=True)
class Drafts:
    """Where files are written before they are verified."""

    release: Path
    """A file, or a folder of parts."""
    suffix: str
    """What kind of file a part is."""
    apart: Path | None
    units: Path | None

    @property
    def is_folder(self) -> bool:
        """Return whether the release is written in parts."""
        return not self.release.suffix


@dataclass
class Written:
    """What was written."""

    n_rows: int = 0
    n_released: int = 0
    n_suppressed: int = 0
    n_bad: int = 0
    sights: list[DistinctRows] = field(default_factory=list)

    def add(self, found: Released) -> None:
        """Count one more batch."""
        self.n_rows += found.n_rows
        self.n_released += found.table.num_rows
        self.n_suppressed += found.n_suppressed
        self.n_bad += found.n_bad
        self.see(found.sight)

    def see(self, sight: DistinctRows) -> None:
        """Take one more, and no more memory than for a few of them."""
        self.sights.append(sight)
        n_new = sum(one.rows.size for one in self.sights[1:])
        if len(self.sights) > _MOST_SIGHTS or n_new > self.sights[0].rows.size:
            self.sights = [join_distinct_rows(self.sights)]


@dataclass(frozen=True)
class Writing:
    """What is written, and how."""

    recoder: Recoder
    sizes: Sizes
    limit: Limit

    def _batches(self, names: tuple[str, ...]) -> Iterator[tuple[int, int, Batch]]:
        """Yield batches with their number, and how many rows are before them."""
        source, before = self.recoder.source, 0
        wanted = Wanted(names, coded=self.recoder.coder.columns)
        for number, batch in enumerate(read_batches(source, wanted, self.sizes)):
            yield number, before, batch
            before += batch.n_rows

    def place(self, places: RowPlaces, report: Report) -> None:
        """Find the leaf of every row; those of split tuples by lot."""
        recoder, throughput = self.recoder, Throughput(report, self.recoder.source.size)
        names = recoder.source.schema.names
        others = {*recoder.coder.columns, *recoder.spec.carried(names)}

        def look(item: tuple[int, int, Batch]) -> tuple[Batch, Any, Any, Any]:
            table = item[2].load()
            owners, leaf = recoder.find(table)
            return item[2], owners, leaf, recoder.contents(table, leaf)

        batches = self._batches(tuple(name for name in names if name in others))
        for batch, *found in in_order(look, batches, self.sizes):
            places.add(*found)
            self.limit.check_now()
            throughput.step(batch.n_rows, share_done(recoder.source, batch))
        places.allocate()

    def write(
        self, drafts: Drafts, places: RowPlaces | None, report: Report
    ) -> Written:
        """Write all rows to the drafts; ``places`` has their leaves, if it is known."""
        recoder, written = self.recoder, Written()
        throughput = Throughput(report, recoder.source.size)
        names = tuple(recoder.source.schema.names)
        with self._open(drafts) as sink:

            def work(item: tuple[int, int, Batch]) -> tuple[Batch, Released, Any]:
                number, before, batch = item
                table = batch.load()
                if places is None:
                    found = recoder.find(table)
                else:
                    found = places.of(before, batch.n_rows)
                released = recoder.release(table, *found)
                return batch, released, sink.prepare(number, released.table)

            batches = self._batches(names if places is None else recoder.needed)
            for batch, released, piece in in_order(work, batches, self.sizes):
                sink.write(piece, released)
                written.add(released)
                self.limit.check_now()
                throughput.step(released.n_rows, share_done(recoder.source, batch))
            sink.finish(written)
        return written

    @contextmanager
    def _open(self, drafts: Drafts) -> Iterator["_Sink"]:
        none = np.zeros(0, dtype=np.int32)
        template = self.recoder.release(_as_wanted(self.recoder), none, none)
        with ExitStack() as stack:
            yield _Sink(self.recoder, drafts, template, stack)


def _as_wanted(recoder: Recoder) -> pa.Table:
    """Return no rows in the form that batches have."""
    source, empty = recoder.source, recoder.source.no_rows()
    coded = {*source.repetitive, *(key for key, _ in source.parts[0].keys)}
    columns = [
        column.cast(pa.string()).dictionary_encode()
        if name in coded and is_text(column.type)
        else column
        for name, column in zip(empty.column_names, empty.columns, strict=True)
    ]
    return pa.table(columns, schema=None, names=empty.column_names)


class _Sink:
    """The files that are written to."""

    def __init__(
        self, recoder: Recoder, drafts: Drafts, template: Released, stack: ExitStack
    ) -> None:
        self._schema, self._drafts = recoder.source.schema, drafts
        self._template = template.table
        self._guard = recoder.spec.guard_formulas
        self._file = self._apart = self._units = None
        # Where rows may be left out, batches as parts would say how many of each are.
        spec, n_rows = recoder.spec, recoder.plan.n_rows
        self._divides_anew = spec.leaves_out and spec.budget(n_rows) > 0
        self._part: TableFile | None = None
        self._n_parts = self._n_in_part = 0
        stack.push(self._end_part)
        if drafts.is_folder:
            drafts.release.mkdir()
        else:
            own = self._new(drafts.release, template.table)
            self._file = stack.enter_context(own)
        if drafts.apart is not None and template.suppressed is not None:
            create_private(drafts.apart)
            own = self._new(drafts.apart, template.suppressed)
            self._apart = stack.enter_context(own)
        if drafts.units is not None:
            create_private(drafts.units)
            self._units = stack.enter_context(drafts.units.open("wb"))

    def _new(self, path: Path, template: pa.Table) -> TableFile:
        return TableFile(path, template, self._schema, guard=self._guard)

    def prepare(self, number: int, table: pa.Table) -> Any:  # noqa: ANN401
        """Do what a worker can do: make a piece, or write a part."""
        if self._file is not None:
            return self._file.prepare(table)
        if self._divides_anew:
            return table
        if table.num_rows:
            self._write_part(number, table)
        return None

    def _write_part(self, number: int, table: pa.Table) -> None:
        with self._new_part(number) as file:
            file.write(file.prepare(table))

    def _new_part(self, number: int) -> TableFile:
        path = self._drafts.release / f"part-{number:05d}{self._drafts.suffix}"
        return self._new(path, self._template)

    def write(self, piece: Any, found: Released) -> None:  # noqa: ANN401
        """Append what was prepared."""
        if self._file is not None:
            self._file.write(piece)
        elif piece is not None:
            self._append(piece)
        if self._apart is not None and found.suppressed is not None:
            self._apart.write(self._apart.prepare(found.suppressed))
        if self._units is not None and found.units is not None:
            found.units.astype(np.int32).tofile(self._units)

    def _append(self, table: pa.Table) -> None:
        """Go on with the part that is being written, and where it is full the next."""
        while len(table):
            if self._part is None:
                self._part = self._new_part(self._n_parts)
            some = table.slice(0, ROWS_TOGETHER - self._n_in_part)
            self._part.write(self._part.prepare(some))
            self._n_in_part += len(some)
            table = table.slice(len(some))
            if self._n_in_part == ROWS_TOGETHER:
                self._end_part()

    def _end_part(self, kind: object = None, *_error: object) -> None:
        """End it, or leave it as an error has left it."""
        if self._part is not None:
            part, self._part = self._part, None
            self._n_parts, self._n_in_part = self._n_parts + 1, 0
            part.close(failed=kind is not None)

    def finish(self, written: Written) -> None:
        """A folder has at least one part."""
        self._end_part()
        if self._file is None and not written.n_released:
            self._write_part(0, self._template)
