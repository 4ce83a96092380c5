"""Cells: what the columns of a table come to in each class, and what is lost there."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.runtime.array_types import Flags, Floats, Integers
from core_mondrian.runtime.runs import run_starts
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable, ReleasedClasses

_FREE_KEYS = 16
"""Pairs of a class and a value, by tuple, that are marked rather than sorted."""


class Grouping(NamedTuple):
    """The released tuples, those of one class in a row."""

    order: NDArray[np.intp]
    owner: NDArray[np.intp]
    """Class of each."""
    starts: NDArray[np.intp]
    """Where each class begins."""
    counts: Integers
    rows: Integers
    """Rows of each class."""
    n_released: int
    n_rows: int
    """Rows of the whole table."""
    weights: Floats | None = None
    """Weight of each class, and at the end that of the whole table."""


class Cells(NamedTuple):
    """One column's original codes, and what they come to in each class."""

    column: EncodedColumn
    codes: NDArray[np.int32]
    """Of the released tuples, class by class."""
    low: NDArray[np.int32]
    """Lowest code of each class; the missing code where no value is present."""
    high: NDArray[np.int32]
    """Highest code of each class, likewise."""
    has_missing: Flags
    domain: NDArray[np.int32]
    """Distinct codes of the whole table, rising; missing, if any, is the last."""
    ends: NDArray[np.int32]
    """Codes of released rows, the lowest and highest of them among others."""
    nodes: NDArray[np.int32] | None
    representatives: Floats | None

    @property
    def is_empty(self) -> Flags:
        empty: Flags = self.low == self.column.missing
        return empty

    @property
    def is_mixed(self) -> Flags:
        return self.has_missing & ~self.is_empty


def group_tuples(
    table: EncodedTable, classes: ReleasedClasses, weights: Floats | None
) -> Grouping:
    """Return the released tuples class by class."""
    order = np.argsort(classes.of_tuple, kind="stable")
    order = order[np.count_nonzero(classes.of_tuple < 0) :]
    owner = classes.of_tuple[order].astype(np.intp)
    counts = table.counts[order]
    n_tuples = np.bincount(owner, minlength=classes.n_classes)
    rows = total_by(owner, counts, classes.n_classes)
    if not n_tuples.all() or not np.array_equal(rows, classes.rows):
        raise InternalError("the rows of the classes are not those of the table")
    if weights is not None:
        weighed = total_by(owner, weights[order], classes.n_classes)
        suppressed = math.fsum(weights[classes.of_tuple < 0].tolist())
        whole = math.fsum(weighed.tolist()) + suppressed
        weights = np.append(weighed, whole)
    return Grouping(
        order=order,
        owner=owner,
        starts=np.cumsum(n_tuples) - n_tuples,
        counts=counts,
        rows=classes.rows,
        n_released=int(classes.rows.sum()),
        n_rows=table.n_rows,
        weights=weights,
    )


def cells_of(
    table: EncodedTable, classes: ReleasedClasses, grouping: Grouping
) -> Iterator[Cells]:
    """Return the cells of each quasi-identifier."""
    for q, column in enumerate(table.columns):
        everywhere = np.bincount(table.codes[:, q], minlength=column.n_values + 1)
        codes = table.codes[grouping.order, q]
        low = np.minimum.reduceat(codes, grouping.starts)
        high = np.maximum.reduceat(codes, grouping.starts)
        has_missing = high == column.missing
        if has_missing.any():
            present = np.where(codes == column.missing, np.int32(-1), codes)
            high = np.maximum.reduceat(present, grouping.starts)
            high[high < 0] = column.missing
        yield Cells(
            column=column,
            codes=codes,
            low=low,
            high=high,
            has_missing=has_missing,
            domain=np.flatnonzero(everywhere).astype(np.int32),
            ends=np.concatenate((low, high)),
            nodes=classes.nodes[q],
            representatives=classes.representatives[q],
        )


def penalties(cells: Cells, grouping: Grouping) -> tuple[Floats, Floats, Floats]:
    """Return what each class loses: by any difference, by its node, by its values."""
    if cells.column.kind == "number":
        penalty = relative_spans(cells, cells.domain)
        penalty[cells.is_empty] = 0.0
        penalty[cells.is_mixed] = 1.0
        return penalty, penalty, penalty
    others = _count_values(cells, grouping) - 1.0
    flat = (others > 0).astype(float)
    tax = np.where(others > 0, _covered(cells), 0.0)
    return flat, tax, others / max(cells.domain.size - 1, 1)


def own_penalty(
    cells: Cells, penalties: tuple[Floats, Floats, Floats], spec: Spec
) -> Floats:
    """Return what each class loses by the format the column is released in."""
    is_set = spec.categories_of(cells.column.name) == "set"
    return penalties[2 if is_set else 1]  # of numbers, all are the same


def charge(penalties: Floats, grouping: Grouping) -> float | None:
    """Return the mean penalty of all rows; a suppressed row has lost everything."""
    lost = float((grouping.rows * penalties).sum())
    return divide(lost + (grouping.n_rows - grouping.n_released), grouping.n_rows)


def divide(part: float, whole: float) -> float | None:
    """Return a share; None: of nothing."""
    return part / whole if whole else None


def values_of(column: EncodedColumn) -> Floats:
    """Return the value of each code; of the missing code, NaN."""
    return np.append(column.values, np.nan)


def relative_spans(cells: Cells, ends: NDArray[np.int32]) -> Floats:
    """Return each class's range as a share of that of ``ends``; NaN: no value."""
    # Halves, because the width itself may lie beyond the largest float.
    halves = 0.5 * values_of(cells.column)
    spans: Floats = halves[cells.high] - halves[cells.low]
    present = ends[ends < cells.column.missing]
    if present.size == 0:
        return spans
    whole = float(halves[present.max()] - halves[present.min()])
    return spans / whole if whole > 0.0 else 0.0 * spans


def _count_values(cells: Cells, grouping: Grouping) -> Integers:
    """Count the different values of each class, missing as one of them."""
    n, width = grouping.rows.size, cells.column.n_values + 1
    keys = grouping.owner * width + cells.codes
    if n * width <= _FREE_KEYS * keys.size:
        is_there = np.zeros(n * width, dtype=np.bool_)
        is_there[keys] = True
        n_values: Integers = is_there.reshape(n, width).sum(axis=1)
        return n_values
    keys.sort()
    return np.bincount(keys[run_starts(keys)] // width, minlength=n).astype(np.int64)


def _covered(cells: Cells) -> Floats:
    """Return the share of leaves under the lowest node over each class's values."""
    tree = cells.column.tree
    plain = ~cells.has_missing
    high = cells.high[plain]
    nodes = tree.leaf_nodes[cells.low[plain]]
    while (outside := tree.high[nodes] < high).any():
        nodes = np.where(outside, tree.parents[nodes], nodes)
    covered = np.ones(plain.size)
    covered[plain] = (tree.high[nodes] - tree.low[nodes] + 1) / tree.n_leaves
    return covered


def total_by(
    places: NDArray[np.intp], amounts: Integers | Floats, n: int = 0
) -> Floats:
    """Add up ``amounts`` place by place, in the order they are given."""
    totals: Floats = np.bincount(places, weights=amounts, minlength=n).astype(float)
    return totals
