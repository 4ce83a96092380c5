"""The second pass: every row is looked up, recoded and written, in its order."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from core_mondrian.files.drafts import create_private
from core_mondrian.files.kinds import is_text
from core_mondrian.files.write import TableFile
from core_mondrian.measure.sights import Sight, join_sights
from core_mondrian.streams.batches import Batch, Sizes, Wanted, in_order, read_batches
from core_mondrian.streams.first_pass import share_done
from core_mondrian.streams.memory import Limit
from core_mondrian.streams.pace import Pace
from core_mondrian.streams.rows import Recoder, Released
from core_mondrian.streams.source import Source

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
        """Tell whether the release is written in parts."""
        return not self.release.suffix


@dataclass
class Written:
    """What was written."""

    n_rows: int = 0
    n_released: int = 0
    n_suppressed: int = 0
    n_bad: int = 0
    n_parts: int = 0
    sights: list[Sight] = field(default_factory=list)

    def see(self, sight: Sight) -> None:
        """Take one more, and no more memory than for a few of them."""
        self.sights.append(sight)
        n_new = sum(one.rows.size for one in self.sights[1:])
        if len(self.sights) > _MOST_SIGHTS or n_new > self.sights[0].rows.size:
            self.sights = [join_sights(self.sights)]


@dataclass(frozen=True)
class SecondPass:
    """What is written, and how."""

    source: Source
    recoder: Recoder
    sizes: Sizes
    limit: Limit

    def _batches(self) -> Iterator[tuple[int, Batch]]:
        wanted = Wanted(tuple(self.source.schema.names), coded=self.recoder.columns)
        yield from enumerate(read_batches(self.source, wanted, self.sizes))

    def deal(self, report: Callable[[float], None]) -> None:
        """Go through the rows of divided tuples and deal them out."""
        recoder, pace = self.recoder, Pace(report)

        def look(item: tuple[int, Batch]) -> tuple[Batch, int, Any, Any]:
            table = item[1].load()
            return item[1], table.num_rows, *recoder.keys(table)

        for batch, n_rows, tuples, keys in in_order(look, self._batches(), self.sizes):
            recoder.deal.add(tuples, keys)
            self.limit.check_now()
            pace.step(n_rows, share_done(self.source, batch))
        recoder.deal.deal()

    def write(self, drafts: Drafts, report: Callable[[float], None]) -> Written:
        """Write all rows to the drafts."""
        written, pace = Written(), Pace(report)
        with ExitStack() as stack:
            sink = stack.enter_context(self._open(drafts))

            def work(item: tuple[int, Batch]) -> tuple[Batch, Released, Any]:
                number, batch = item
                found = self.recoder.release(number, batch.load())
                return batch, found, sink.prepare(number, found.table)

            for batch, found, piece in in_order(work, self._batches(), self.sizes):
                sink.write(piece, found)
                _add(written, found)
                self.limit.check_now()
                pace.step(found.n_rows, share_done(self.source, batch))
            sink.finish(written)
        return written

    @contextmanager
    def _open(self, drafts: Drafts) -> Iterator["_Sink"]:
        empty = _as_wanted(self.source.no_rows(), self.recoder)
        template = self.recoder.release(0, empty)
        with ExitStack() as stack:
            yield _Sink(self, drafts, template, stack)


def _as_wanted(empty: pa.Table, recoder: Recoder) -> pa.Table:
    """Return no rows in the form that batches have."""
    source = recoder.source
    coded = {*source.repetitive, *(key for key, _ in source.parts[0].keys)}
    columns = [
        column.cast(pa.string()).dictionary_encode()
        if name in coded and is_text(column.type)
        else column
        for name, column in zip(empty.column_names, empty.columns, strict=True)
    ]
    return pa.table(columns, schema=None, names=empty.column_names)


def _add(written: Written, found: Released) -> None:
    written.n_rows += found.n_rows
    written.n_released += found.table.num_rows
    written.n_suppressed += found.n_suppressed
    written.n_bad += found.n_bad
    written.see(found.sight)


class _Sink:
    """The files that are written to."""

    def __init__(
        self, work: SecondPass, drafts: Drafts, template: Released, stack: ExitStack
    ) -> None:
        self._work = work
        self._drafts = drafts
        self._template = template.table
        self._file = self._apart = self._units = None
        schema = work.source.schema
        self._guard = guard = work.recoder.spec.guard_formulas
        if drafts.is_folder:
            drafts.release.mkdir()
        else:
            self._file = stack.enter_context(
                TableFile(drafts.release, template.table, schema, guard=guard)
            )
        if drafts.apart is not None and template.suppressed is not None:
            create_private(drafts.apart)
            self._apart = stack.enter_context(
                TableFile(drafts.apart, template.suppressed, schema, guard=guard)
            )
        if drafts.units is not None:
            create_private(drafts.units)
            self._units = stack.enter_context(drafts.units.open("wb"))

    def prepare(self, number: int, table: pa.Table) -> Any:  # noqa: ANN401
        """Do what a worker can do: make a piece, or write a part."""
        if self._file is not None:
            return self._file.prepare(table)
        if table.num_rows:
            self._write_part(number, table)
        return None

    def _write_part(self, number: int, table: pa.Table) -> None:
        path = self._drafts.release / f"part-{number:05d}{self._drafts.suffix}"
        schema = self._work.source.schema
        with TableFile(path, self._template, schema, guard=self._guard) as file:
            file.write(file.prepare(table))

    def write(self, piece: Any, found: Released) -> None:  # noqa: ANN401
        """Append what was prepared."""
        if self._file is not None:
            self._file.write(piece)
        if self._apart is not None and found.suppressed is not None:
            self._apart.write(self._apart.prepare(found.suppressed))
        if self._units is not None and found.units is not None:
            found.units.astype(np.int32).tofile(self._units)

    def finish(self, written: Written) -> None:
        """A folder has at least one part."""
        if self._file is None and not written.n_released:
            self._write_part(0, self._template)
