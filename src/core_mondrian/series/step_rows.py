"""The rows of one more release of a series, as they are shown."""

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.api import make_pseudonyms, release_rows
from core_mondrian.errors import DataError, InternalError
from core_mondrian.recoding.labels import Labels
from core_mondrian.recoding.recode import Recoded, number_classes
from core_mondrian.runtime.array_types import Frame
from core_mondrian.series.release_step import Step
from core_mondrian.series.row_hashes import find_places
from core_mondrian.series.shown_cells import labels_of
from core_mondrian.series.state import Shown, State
from core_mondrian.tables.cell_keys import cell_keys
from core_mondrian.tables.encoded import ReleasedClasses
from core_mondrian.tables.frames import OpenFrame


class StepRows(NamedTuple):
    """One more release."""

    shown: Shown
    """What has been shown by now, with the rows of this release."""
    recoded: Recoded
    n_blank: int
    """Rows without any cell, for those who have left."""

    @property
    def table(self) -> pa.Table:
        """The release, blank rows last: nothing says of whom one is, or since when."""
        return self._with_blank(self.shown.released)

    def counted(self, unit: str | None) -> pa.Table:
        """Return the rows with the person of each, to count persons by."""
        table = self.shown.released
        if unit is None or unit in table.column_names:
            return self._with_blank(table)
        person = pa.array(self.shown.records.hashes.person)
        return self._with_blank(table.append_column(unit, person))

    def _with_blank(self, table: pa.Table) -> pa.Table:
        if not self.n_blank:
            return table
        blank = [pa.nulls(self.n_blank, item.type) for item in table.schema]
        return pa.concat_tables([table, pa.table(blank, table.schema)])


def step_rows(
    state: State, step: Step, frame: OpenFrame, threads: int | None
) -> StepRows:
    """Return what is released, by cohorts; within them in an order drawn by lot.

    Rows that were shown are taken from the last release, cell by cell, be they in the
    table or not: so nothing sets those apart that are gone. Where releases are not
    remembered, all rows that are shown are in the table, and it gives them.
    """
    before = _remembered(state)
    cohorts, records = step.shown.cohorts, step.shown.records
    cohort = step.cohort
    if before is not None:
        cohort = np.full_like(step.cohort, -1)
        cohort[step.entered] = step.cohort[step.entered]
    names = (column.name for column in step.shown.recoding.columns)
    cells = dict(zip(names, cohorts.cells, strict=True))
    labels = {name: labels_of(x) for name, x in cells.items()}
    hidden = make_pseudonyms(frame, state.spec, state.key)
    place = pa.array(np.maximum(cohort, 0), mask=cohort < 0)
    hidden[state.rules.cohort] = cohorts.names.take(place)
    leaf = cohort.astype(np.int32)
    recoded = _recode(labels, cohort)
    spec = replace(state.spec, suppressed="drop")
    made = release_rows(frame, spec, recoded, leaf, hidden, threads)
    as_they_are = set(frame.columns) - set(state.spec.quasi_identifiers)
    table = _as_table(made, as_they_are)
    if state.spec.is_unit_removed:
        table = table.drop_columns(str(state.spec.unit))
    key = step.key[cohort >= 0]
    if before is not None:
        table = _joined(before.released.take(pa.array(step.kept)), table)
        key = np.append(before.records.hashes.key[step.kept], key)
    place_of = find_places(key, records.hashes.key)
    if key.size != place_of.size or (place_of < 0).any():
        raise InternalError("rows released are not those remembered")
    shown = step.shown._replace(released=table.take(pa.array(place_of)))
    n_blank = shown.withdrawn.size if state.spec.suppressed == "blank" else 0
    return StepRows(shown, _recode(labels, records.cohort), n_blank)


def as_frame(table: pa.Table, like: OpenFrame) -> Frame:
    """Return a table as the kind of frame that the caller has."""
    return nw.from_arrow(table, backend=like.implementation).to_native()


def _remembered(state: State) -> Shown | None:
    """Return the last release, if there is one whose rows are remembered."""
    before = state.shown
    if before is None or not before.released.num_columns:
        return None
    if len(before.released) != before.records.cohort.size:
        raise InternalError("rows of the last release are not those remembered")
    return before


def _as_table(released: Frame, as_they_are: Collection[str]) -> pa.Table:
    """Return a frame as a table: each value as it is, no dictionaries.

    In columns that are released as they are, a value has one spelling.
    """
    table = nw.from_native(released, eager_only=True).to_arrow()
    for place, item in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_dictionary(item.type):
            column = column.cast(item.type.value_type)
        if item.name in as_they_are and pa.types.is_floating(column.type):
            column = _spelled_alike(column)
        table = table.set_column(place, item.name, column)
    return table.replace_schema_metadata(None)


def _spelled_alike(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return null for NaN, and 0.0 for -0.0: hashes of rows do not tell them apart."""
    kind = column.type
    floats = (chunk.to_numpy(zero_copy_only=False) + 0.0 for chunk in column.chunks)
    arrays = [pa.array(numbers, kind, from_pandas=True) for numbers in floats]
    return pa.chunked_array(arrays, kind)


def _joined(before: pa.Table, after: pa.Table) -> pa.Table:
    """Return rows of the last release and of this one, in the columns of the last one.

    Raises:
        DataError: a new cell does not fit the type that its column had before.
    """
    if not len(after):
        return before
    columns = {}
    for item in before.schema:
        old, new = before[item.name], after[item.name]
        if pa.types.is_null(item.type):  # no row had a value so far
            old = old.cast(new.type)
        elif new.type != item.type:
            new = _cast(new, item)
        columns[item.name] = pa.chunked_array([*old.chunks, *new.chunks], old.type)
    return pa.table(columns)


def _cast(column: pa.ChunkedArray, item: pa.Field) -> pa.ChunkedArray:
    try:
        made = column.cast(item.type)
        is_same = np.array_equal(cell_keys(made), cell_keys(column))
    except (pa.ArrowException, TypeError):
        is_same = False
    if not is_same:
        raise DataError(
            f"column {item.name!r} was released as {item.type}, and new rows hold "
            f"{column.type} that does not fit",
            hint="convert it: rows of both are released together",
        )
    return made


def _recode(labels: dict[str, Labels], cohort: NDArray[np.int64]) -> Recoded:
    """Return what cohorts show; those that look alike are one class."""
    every = list(labels.values())
    class_of_cohort = number_classes(every)
    n_classes = int(class_of_cohort.max(initial=-1)) + 1
    rows = np.bincount(class_of_cohort[cohort[cohort >= 0]], minlength=n_classes)
    none = tuple(None for _ in every)
    classes = ReleasedClasses(cohort.astype(np.int32), rows, none, none)
    return Recoded(classes, labels, class_of_cohort)


def persons_of(shown: Shown) -> pa.Table:
    """Return which row of whom is shown in which cohort, with which values."""
    records = shown.records
    own = {
        "row": records.hashes.key,
        "person": records.hashes.person,
        "cohort": shown.cohorts.names.take(pa.array(records.cohort)),
    }
    columns = {f"core_mondrian:{name}": cells for name, cells in own.items()}
    for i, item in enumerate(shown.recoding.values):
        labels = pa.concat_arrays([item.labels, pa.nulls(1, item.labels.type)])
        columns[item.name] = labels.take(pa.array(records.values[:, i]))
    return pa.table(columns)
