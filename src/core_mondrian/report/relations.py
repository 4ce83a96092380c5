"""Relations: how two columns go together, in the original and in the release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from core_mondrian.measures.association import correlation, cramers_v, moved_share
from core_mondrian.release.result import AnyRelease
from core_mondrian.report.axes import Axis
from core_mondrian.report.views import Floats, View
from core_mondrian.tables.encoded import EncodedTable

MOST_COLUMNS = 12
"""Quasi-identifiers that are looked at in pairs: the first ones."""
_MOST_VALUES = 10


@dataclass(frozen=True, slots=True)
class Relation:
    """How two columns go together; None: it cannot be told."""

    columns: tuple[str, str]
    before: float | None
    after: float | None
    """Cramér's V, from 0 to 1; None: one of them is constant."""
    moved: float | None
    """Share of rows that count for another cell of the table of the two."""
    r_before: float | None = None
    r_after: float | None = None
    """Pearson's r of two numbers, from -1 to 1; of a range its middle counts."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A column of the table, binned."""

    name: str
    n_bins: int
    bins: NDArray[np.int16]
    """The bin of each tuple."""
    weights: Floats
    """Of each class, the share of its rows that counts for each bin; see `Axis`."""
    rows: Floats
    """The same in rows."""
    values: Floats | None = None
    """The number of each tuple; None: it is a category."""
    shown: Floats | None = None
    """The middle of what each class shows of it."""


def find_relations(
    release: AnyRelease, views: Sequence[View], axes: dict[str, Axis]
) -> tuple[Relation, ...]:
    """Relate the quasi-identifiers to each other and to the sensitive columns.

    Of the release, rows count evenly for all that their range, label or set covers.
    """
    table = release._pieces  # noqa: SLF001
    sides = [
        _with_numbers(_side(release, view.name, i, axes[view.name]), view, table, i)
        for i, view in enumerate(views)
        if view.name in axes
    ]
    others = list(_sensitive_sides(release))
    counts = table.counts.astype(np.float64)
    rows = release._recoded.classes.rows.astype(np.float64)  # noqa: SLF001
    pairs = [*combinations(sides, 2), *((a, b) for a in sides for b in others)]
    return tuple(_relate(counts, rows, a, b) for a, b in pairs)


def _side(release: AnyRelease, name: str, place: int, axis: Axis) -> _Side:
    rows = release._recoded.classes.rows  # noqa: SLF001
    codes = release._pieces.codes[:, place]  # noqa: SLF001
    bins = axis.of_code.astype(np.int16)[codes]
    weighted = rows[:, np.newaxis] * axis.weights
    return _Side(name, len(axis.texts), bins, axis.weights, weighted)


def _with_numbers(side: _Side, view: View, table: EncodedTable, place: int) -> _Side:
    """Return the side of a number with its values and what is shown of them."""
    column = view.cells.column
    if column.kind != "number":
        return side
    values = np.append(column.values, np.nan)[table.codes[:, place]]
    bounds = view.bounds
    return replace(side, values=values, shown=0.5 * bounds.low + 0.5 * bounds.high)


def _relate(counts: Floats, rows: Floats, a: _Side, b: _Side) -> Relation:
    shape = a.n_bins, b.n_bins
    pairs = a.bins * np.int16(b.n_bins) + b.bins
    counted = np.bincount(pairs, weights=counts, minlength=a.n_bins * b.n_bins)
    before, after = counted.reshape(shape).astype(np.float64), a.weights.T @ b.rows
    figures = [cramers_v(before), cramers_v(after), moved_share(before, after)]
    if a.values is not None and b.values is not None:
        figures.append(correlation(a.values, b.values, counts))
    if a.shown is not None and b.shown is not None:
        figures.append(correlation(a.shown, b.shown, rows))
    return Relation((a.name, b.name), *map(_rounded, figures))


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 3)


def _sensitive_sides(release: AnyRelease) -> Iterator[_Side]:
    """Yield the sensitive columns; they are released as they are."""
    table, classes = release._pieces, release._recoded.classes  # noqa: SLF001
    released = classes.of_tuple >= 0
    owner = classes.of_tuple[released].astype(np.int64)
    for i, column in enumerate(table.sensitive):
        if column.name not in release.spec.sensitive or i == table.present:
            continue
        codes = table.codes[:, len(table.columns) + i]
        counts = np.bincount(codes, weights=table.counts, minlength=column.n_values)
        bins = np.full(column.n_values, _MOST_VALUES)
        most = np.argsort(-counts, kind="stable")[:_MOST_VALUES]
        bins[most] = np.arange(most.size)
        n_bins = _MOST_VALUES + 1
        pairs = owner * n_bins + bins[codes[released]]
        inside = np.bincount(
            pairs, weights=table.counts[released], minlength=classes.n_classes * n_bins
        ).reshape(classes.n_classes, n_bins)
        weights = inside / np.maximum(classes.rows, 1)[:, np.newaxis]
        texts = tuple(str(n) for n in range(n_bins))
        place = len(table.columns) + i
        yield _side(release, column.name, place, Axis(texts, bins, weights))
