"""Count the files that were written, by the verifier's own means."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.counted import CountedPlan
from core_mondrian.errors import InternalError, PrivacyViolation
from core_mondrian.files.cells import without_nulls
from core_mondrian.measure.counting import (
    Codes,
    class_sizes,
    code_column,
    combine,
    compress,
    first_rows,
)
from core_mondrian.measure.verify import (
    SHOWS_PSEUDONYM,
    Verification,
    are_pseudonyms,
    beside,
)
from core_mondrian.spec import Spec
from core_mondrian.streams.batches import Batch, Sizes, Wanted, in_order, read_batches
from core_mondrian.streams.first_pass import share_done
from core_mondrian.streams.memory import Limit
from core_mondrian.streams.pace import Pace
from core_mondrian.streams.rows import decoded
from core_mondrian.streams.source import Source, open_source
from core_mondrian.tables.cleaning import take_arrow

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
        source = open_source(self.draft, guarded=self.spec.guard_formulas)
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
        divided = beside(spec, names)
        wanted = list(dict.fromkeys((*shown, *divided, *spec.sensitive, *unit)))
        if absent := sorted(set(wanted).difference(names)):
            raise InternalError(f"columns are not in what was written: {absent}")
        return wanted

    def _count(
        self, source: Source, report: Callable[[float], None]
    ) -> tuple[pa.Table, Codes]:
        columns = self._columns(source)
        hidden = [name for name in self.spec.pseudonyms if name in source.schema.names]
        wanted = tuple(dict.fromkeys((*columns, *hidden)))
        units = None if self.units is None else read_units(self.units)
        marked = bool(hidden) and self.spec.suppressed == "blank"

        def count(item: tuple[Batch, int]) -> tuple[Batch, tuple[pa.Table, Codes]]:
            batch, start = item
            table = batch.load()
            for name in hidden:
                _check_pseudonyms(name, table.column(name))
            marks = [_marks([table.column(name) for name in hidden])] if marked else []
            table = table.select(columns)
            for mark in marks:
                table = table.append_column(SHOWS_PSEUDONYM, mark)
            if units is not None and self.spec.unit is not None:
                persons = pa.array(np.asarray(units[start : start + batch.n_rows]))
                table = table.append_column(self.spec.unit, persons)
            different, rows = _distinct(table, None)
            return batch, (self._typed(different), rows)

        asked = Wanted(wanted, coded=wanted, tells_empty=True)
        batches = numbered(read_batches(source, asked, self.sizes))
        nothing = self._nothing(source, columns, is_marked=marked)
        whole = nothing, np.zeros(0, dtype=np.int64)
        rest: list[tuple[pa.Table, Codes]] = []
        pace = Pace(report)
        for batch, counted in in_order(count, batches, self.sizes):
            rest.append(counted)
            if sum(len(table) for table, _ in rest) > max(_FEWEST, len(whole[0])):
                whole, rest = _added([whole, *rest]), []
            self.limit.check_now()
            pace.step(batch.n_rows, share_done(source, batch))
        return _added([whole, *rest])

    def _nothing(
        self, source: Source, columns: list[str], *, is_marked: bool
    ) -> pa.Table:
        empty = self._typed(source.no_rows().select(columns))
        if is_marked:
            empty = empty.append_column(SHOWS_PSEUDONYM, pa.array([], pa.bool_()))
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


def _marks(hidden: Sequence[Any]) -> pa.Array:
    """Return a mark for each row that shows a pseudonym; the others have none."""
    is_shown = np.logical_or.reduce(
        [without_nulls(column, ()).is_valid().to_numpy() for column in hidden]
    )
    return pa.array(is_shown, mask=~is_shown)


def numbered(batches: Iterable[Batch]) -> Iterator[tuple[Batch, int]]:
    """Yield batches, and how many rows are before them."""
    n_rows = 0
    for batch in batches:
        yield batch, n_rows
        n_rows += batch.n_rows


def read_units(path: Path) -> NDArray[np.int32]:
    """Return the number of each row's person."""
    if not path.stat().st_size:
        return np.zeros(0, dtype=np.int32)
    return np.memmap(path, np.int32, "r")


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
