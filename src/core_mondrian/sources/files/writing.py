"""Every row is looked up, recoded and written, in its order."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from core_mondrian.measures.row_sample import DistinctRows, join_distinct_rows
from core_mondrian.runtime.progress import Throughput
from core_mondrian.sources.files.batches import (
    Batch,
    Wanted,
    in_order,
    read_batches,
)
from core_mondrian.sources.files.counting import share_done
from core_mondrian.sources.files.row_routing import RowPlaces
from core_mondrian.sources.files.rows import Recoder, Released
from core_mondrian.sources.memory import Limit, Sizes
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.staging import create_private
from core_mondrian.tables.files.write import ROWS_TOGETHER, TableFile

Report = Callable[[float], None]
_MOST_SIGHTS: Final = 32
"""Batches of which what was seen is kept before it is joined."""


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
        self._waiting: list[pa.Table] = []
        self._n_parts = 0
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
        path = self._drafts.release / f"part-{number:05d}{self._drafts.suffix}"
        with self._new(path, self._template) as file:
            file.write(file.prepare(table))

    def write(self, piece: Any, found: Released) -> None:  # noqa: ANN401
        """Append what was prepared."""
        if self._file is not None:
            self._file.write(piece)
        elif piece is not None:
            self._waiting.append(piece)
            while sum(map(len, self._waiting)) >= ROWS_TOGETHER:
                self._write_next_part()
        if self._apart is not None and found.suppressed is not None:
            self._apart.write(self._apart.prepare(found.suppressed))
        if self._units is not None and found.units is not None:
            found.units.astype(np.int32).tofile(self._units)

    def _write_next_part(self) -> None:
        waiting = pa.concat_tables(self._waiting)
        self._waiting = [waiting.slice(ROWS_TOGETHER)]
        self._write_part(self._n_parts, waiting.slice(0, ROWS_TOGETHER))
        self._n_parts += 1

    def finish(self, written: Written) -> None:
        """A folder has at least one part."""
        if any(map(len, self._waiting)):
            self._write_next_part()
        if self._file is None and not written.n_released:
            self._write_part(0, self._template)
