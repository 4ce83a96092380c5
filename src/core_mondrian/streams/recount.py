"""Count the files that were written, by the verifier's own means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np
import pyarrow as pa

from core_mondrian.counted import CountedPlan
from core_mondrian.errors import InternalError, PrivacyViolation
from core_mondrian.frames import take_arrow
from core_mondrian.measure.counting import (
    Codes,
    class_sizes,
    code_column,
    combine,
    compress,
    first_rows,
)
from core_mondrian.measure.verify import Verification, are_pseudonyms
from core_mondrian.spec import Spec
from core_mondrian.streams.batches import Batch, Sizes, Wanted, in_order, read_batches
from core_mondrian.streams.memory import Limit
from core_mondrian.streams.pace import Pace
from core_mondrian.streams.rows import decoded
from core_mondrian.streams.source import Source, open_source

_FEWEST: Final = 1 << 19
"""Different rows of batches that are worth being added up."""


@dataclass(frozen=True)
class Recount:
    """A release that was written, and what is to be checked in it."""

    draft: Path
    spec: Spec
    types: Mapping[str, Any]
    """What the sensitive columns are: a CSV file does not say."""
    units: Path | None
    """The number of each row's person, if the release does not have it."""
    sizes: Sizes
    limit: Limit

    def run(
        self, planned: CountedPlan, report: Callable[[float], None]
    ) -> Verification:
        """Check every model on what the files say.

        Raises:
            PrivacyViolation: a class fails, or something is there that should not be.
        """
        source = open_source(self.draft)
        values, rows = self._count(source, report)
        return planned.verify(values, rows, source.schema.names)

    def _columns(self, source: Source) -> list[str]:
        """Return the columns that models look at, as the release has them."""
        spec, names = self.spec, source.schema.names
        shown = [
            one
            for name in spec.quasi_identifiers
            for one in ((name,) if name in names else spec.bounds_of(name) or (name,))
        ]
        unit = [] if spec.unit is None or self.units is not None else [spec.unit]
        wanted = list(dict.fromkeys((*shown, *spec.sensitive, *unit)))
        if absent := sorted(set(wanted).difference(names)):
            raise InternalError(f"columns are not in what was written: {absent}")
        return wanted

    def _count(
        self, source: Source, report: Callable[[float], None]
    ) -> tuple[pa.Table, Codes]:
        columns = self._columns(source)
        hidden = [name for name in self.spec.pseudonyms if name in source.schema.names]
        wanted = tuple(dict.fromkeys((*columns, *hidden)))
        units = None if self.units is None else _read_units(self.units)
        pace, done = Pace(report), 0
        counted: list[tuple[pa.Table, Codes]] = []

        def look(batch: Batch) -> tuple[Batch, int, pa.Table, Codes]:
            table = batch.load()
            for name in hidden:
                _check_pseudonyms(name, table.column(name))
            table = table.select(columns)
            sizes = np.ones(table.num_rows, dtype=np.int64)
            n_rows = table.num_rows
            if units is None:
                table, sizes = _distinct(table, None)
            return batch, n_rows, self._typed(table), sizes

        asked = Wanted(wanted, coded=wanted, tells_empty=True)
        batches = read_batches(source, asked, self.sizes)
        for batch, n_rows, table, sizes in in_order(look, batches, self.sizes):
            if units is not None and self.spec.unit is not None:
                persons = pa.array(np.asarray(units[done : done + n_rows]))
                table, sizes = _distinct(
                    table.append_column(self.spec.unit, persons), sizes
                )
            done += n_rows
            counted.append((table, sizes))
            if sum(one.num_rows for one, _ in counted[1:]) > max(
                _FEWEST, counted[0][0].num_rows
            ):
                counted = [_added(counted)]
            self.limit.check_now()
            parts = len(source.parts)
            pace.step(n_rows, min((batch.stop.part + batch.done) / parts, 1.0))
        if not counted:
            counted = [(self._nothing(source, columns), np.zeros(0, dtype=np.int64))]
        return _added(counted)

    def _nothing(self, source: Source, columns: list[str]) -> pa.Table:
        empty = self._typed(source.schema.empty_table().select(columns))
        if self.units is None or self.spec.unit is None:
            return empty
        return empty.append_column(self.spec.unit, pa.array([], pa.int32()))

    def _typed(self, table: pa.Table) -> pa.Table:
        """Return a table of plain values, of the types that were written."""
        table = decoded(table)
        columns = [
            column.cast(self.types.get(name, column.type))
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        return pa.table(columns, names=table.column_names)


def _read_units(path: Path) -> Codes:
    if not path.stat().st_size:
        return np.zeros(0, dtype=np.int64)
    return np.memmap(path, np.int32, "r")  # type: ignore[return-value]


def _distinct(table: pa.Table, counts: Codes | None) -> tuple[pa.Table, Codes]:
    """Return the different rows, and how often each of them occurs."""
    keys = compress(combine([code_column(column) for column in table.columns]))
    at = pa.array(first_rows(keys))
    columns = [take_arrow(column, at) for column in table.columns]
    return pa.table(columns, names=table.column_names), class_sizes(keys, counts)


def _added(counted: list[tuple[pa.Table, Codes]]) -> tuple[pa.Table, Codes]:
    if len(counted) == 1:
        return counted[0]
    tables = pa.concat_tables([table for table, _ in counted])
    return _distinct(tables, np.concatenate([sizes for _, sizes in counted]))


def _check_pseudonyms(name: str, column: Any) -> None:  # noqa: ANN401
    if not are_pseudonyms(nw.from_native(column, series_only=True)):
        raise PrivacyViolation(f"column {name!r} holds other things than pseudonyms")
