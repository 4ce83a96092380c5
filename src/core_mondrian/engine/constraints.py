"""Privacy constraints of a run, evaluated in NumPy."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import InfeasibleError, SlowModelWarning
from core_mondrian.models.base import ClassCounts, PrivacyModel, measure_fault
from core_mondrian.models.foreign_functions import PlainFunction
from core_mondrian.models.own_measures import plain_measure
from core_mondrian.runtime.array_types import Counts
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable

# Counts by value that are laid out at a time: 128 MiB.
_MOST_CELLS = 1 << 24


class Constraints(NamedTuple):
    """What every class is held to in one run of the engine."""

    min_rows: int
    table: tuple[Counts, ...]
    """Rows by value, per sensitive column, of the table that classes are compared
    with: the one that came in, or, once rows are suppressed, the released one."""


class CountedGroups(NamedTuple):
    """Sets of tuples, counted the way the models see them."""

    rows: Counts
    by_value: tuple[Counts, ...]
    """Per sensitive column: rows of each set (axis 0) by value (axis 1)."""
    persons: Counts | None


def table_counts(table: EncodedTable, sensitive: int) -> Counts:
    """Return the rows of the whole table by value of one sensitive column."""
    n_values = table.sensitive[sensitive].n_values
    # Without those outside the table.
    return table.code_rows(len(table.columns) + sensitive)[:n_values]


def first_constraints(table: EncodedTable, spec: Spec) -> Constraints:
    """Return what the spec asks for, with the source as the table to compare with."""
    whole = tuple(table_counts(table, i) for i in range(len(table.sensitive)))
    return Constraints(spec.min_rows, whole)


def count_groups(
    table: EncodedTable, group: NDArray[np.int64], n_groups: int
) -> CountedGroups:
    """Count tuples by group, from 0 on; those of group -1 are in none.

    group   0  1  0     code   2  0  1     n_values   3
    cells   2  3  1     a table of groups and values, row by row
    """
    kept = (group >= 0) & table.inside
    numbers, rows = group, table.counts
    if not kept.all():
        numbers, rows = group[kept], table.counts[kept]
    n_columns = len(table.columns)
    by_value = []
    for i, column in enumerate(table.sensitive):
        of = group >= 0 if i == table.present else kept
        codes = table.codes[of, n_columns + i].astype(np.int64)
        cells = group[of] * column.n_values + codes
        size = n_groups * column.n_values
        in_cells = np.bincount(cells, weights=table.counts[of], minlength=size)
        by_value.append(in_cells.astype(np.int64).reshape(n_groups, column.n_values))
    persons = None
    if table.n_units is not None:
        pairs = np.unique(numbers * table.n_units + table.codes[kept, -1])
        persons = np.bincount(pairs // table.n_units, minlength=n_groups)
    counts = np.bincount(numbers, weights=rows, minlength=n_groups)
    return CountedGroups(counts.astype(np.int64), tuple(by_value), persons)


def count_groups_in_parts(
    table: EncodedTable, group: NDArray[np.int64], n_groups: int
) -> Iterator[CountedGroups]:
    """Count tuples by group, so many groups at a time as fit: values may be many."""
    widest = max((column.n_values for column in table.sensitive), default=1)
    step = max(1, _MOST_CELLS // widest)
    for start in range(0, n_groups, step):
        stop = min(start + step, n_groups)
        chosen = (group >= start) & (group < stop)
        part = replace(table, codes=table.codes[chosen], counts=table.counts[chosen])
        yield count_groups(part, group[chosen] - start, stop - start)


def column_of(model: PrivacyModel, table: EncodedTable) -> int | None:
    """Return which of the sensitive columns a model looks at."""
    if getattr(model, "population", None) is not None:
        return table.present
    if model.column is None:
        return None
    return [column.name for column in table.sensitive].index(model.column)


def seen_by(
    model: PrivacyModel,
    table: EncodedTable,
    groups: CountedGroups,
    constraints: Constraints,
) -> ClassCounts:
    """Return what one model sees of the sets."""
    at = column_of(model, table)
    if at is None:
        none = np.zeros((groups.rows.size, 0), dtype=np.int64)
        return ClassCounts(groups.rows, none, persons=groups.persons)
    labels = table.sensitive[at].labels
    by_value, whole = groups.by_value[at], constraints.table[at]
    return ClassCounts(groups.rows, by_value, labels, groups.persons, whole)


def all_pass(
    table: EncodedTable, spec: Spec, groups: CountedGroups, constraints: Constraints
) -> bool:
    """Return whether each set could be a class."""
    return all(
        model.passes(seen_by(model, table, groups, constraints)).all()
        for model in spec.models
    )


def check_feasible(table: EncodedTable, spec: Spec, constraints: Constraints) -> None:
    """Raise unless the whole table could be one class; say what would be possible."""
    one = _whole(table)
    for model in spec.models:
        classes = seen_by(model, table, one, constraints)
        if model.holds(classes):
            continue
        size = int(classes.sizes[0])
        who = "rows" if classes.persons is None else "persons"
        if size < model.min_rows:
            why = f"the table has {size} {who}, but one class needs {model.min_rows}"
        else:
            reached = model.reached(classes)
            why = f"the whole table as one class reaches {reached:.6g}"
        raise InfeasibleError(
            f"{model.name} cannot be met: {why}",
            hint=_hint(model, classes),
        )


def _whole(table: EncodedTable) -> CountedGroups:
    """Count the whole table as one set."""
    if table.figures is None:
        return count_groups(table, np.zeros(table.n_tuples, dtype=np.int64), 1)
    by_value = (table_counts(table, i) for i in range(len(table.sensitive)))
    persons = None if table.n_persons is None else np.array([table.n_persons])
    rows = np.array([table.n_rows])
    return CountedGroups(rows, tuple(x[np.newaxis] for x in by_value), persons)


def _hint(model: PrivacyModel, classes: ClassCounts) -> str:
    nearest = model.nearest(classes)
    if nearest is None:
        return "bring more rows, or ask for less"
    field, value = nearest
    return f"{field} = {value:.12g} is the nearest that can be met"


def _plain_measures(spec: Spec) -> Iterator[tuple[PrivacyModel, PlainFunction]]:
    """Yield the models whose measure runs as Python."""
    for model in spec.models:
        measure = type(model).measure
        plain = None if measure is None else plain_measure(measure)
        if plain is not None:
            yield model, plain


def compile_measures(spec: Spec) -> None:
    """Compile what the models measure; say which of them is not compiled, and why."""
    for model, plain in _plain_measures(spec):
        warnings.warn(
            f"{model.name}: the measure is not compiled, so it will be slow; "
            f"{plain.reason}",
            SlowModelWarning,
            stacklevel=4,
        )


def check_measures(spec: Spec) -> None:
    """Raise if a measure that runs as Python has failed."""
    for model, plain in _plain_measures(spec):
        error = plain.take_error()
        if isinstance(error, Exception):
            raise measure_fault(model, error)


def released_constraints(
    constraints: Constraints, table: EncodedTable, group: NDArray[np.int64]
) -> Constraints:
    """Return the constraints with the rows of all groups as the table."""
    released = replace(table, counts=np.where(group >= 0, table.counts, 0))
    whole = tuple(table_counts(released, i) for i in range(len(table.sensitive)))
    return constraints._replace(table=whole)
