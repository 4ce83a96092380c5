"""How well each quasi-identifier predicts the column that a model is made for.

An additive model, one effect for each bin of each column, is fitted to four fifths of
the rows and tested on the rest, in turns. A column counts by how much worse the
prediction gets without its effect: one that
adds nothing, or nothing beyond the others, counts least.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.columns import is_ordered, rank_column
from core_mondrian.encoding.encoder import Encoded
from core_mondrian.errors import SpecError
from core_mondrian.runtime.array_types import Floats
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.hashing import splitmix64

_FOLDS: Final = 5
_ROUNDS: Final = 6
"""How often the effects are fitted anew, each to what the others leave open."""
_BINS: Final = 32
"""Bins of a number, each with about as many rows."""
_SHRINKAGE: Final = 20
"""Rows without an effect that each bin is taken to have besides its own."""
_MOST_TUPLES: Final = 1 << 15
_MOST_CLASSES: Final = 8
"""The most frequent values of a target are predicted, and of the others that they are
none of these."""
_MOST_VALUES: Final = 100
_LEVELS: Final = 1 << 15
LEAST: Final = 1 / 16
"""Weights are 1, 1/2, 1/4, 1/8 or 1/16: too coarse to reveal much themselves."""


class Outcome(NamedTuple):
    """What is to be predicted of each tuple, fold by fold: sums over its rows."""

    rows: Floats
    """By fold and tuple: rows of which the target is known."""
    sums: Floats
    """By output, fold and tuple, in whole numbers."""


def read_outcome(array: pa.ChunkedArray, name: str, encoded: Encoded) -> Outcome:
    """Return the target as sums by tuple: numbers by their rank, values one by one.

    Raises:
        SpecError: it is neither a number nor a column of classes.
        DataError: its type has no order and no labels.
    """
    ranked = rank_column(array, name)
    n_values, n_tuples = len(ranked.values), encoded.table.n_tuples
    is_known = ranked.codes < n_values
    owner = encoded.row_tuple[is_known].astype(np.int64)
    cells, rows = np.unique(
        owner * n_values + ranked.codes[is_known], return_counts=True
    )
    owner, codes = np.divmod(cells, max(n_values, 1))
    by_value = np.bincount(codes, rows, n_values).astype(np.float64)
    levels = _levels(ranked.values, by_value, name)
    folds = _into_folds(
        rows, splitmix64(_lots(encoded.table)[owner] + codes.astype(np.uint64))
    )
    # Whole numbers below 2**53: sums do not depend on their order.
    sums = [
        [np.bincount(owner, level[codes] * own, n_tuples) for own in folds]
        for level in levels
    ]
    return Outcome(
        np.array([np.bincount(owner, own, n_tuples) for own in folds]),
        np.array(sums, dtype=np.float64).reshape(len(levels), _FOLDS, n_tuples),
    )


def _levels(values: pa.Array, rows: Floats, name: str) -> list[Floats]:
    """Return what each value counts in each output."""
    if _is_number(values):
        midpoints = np.cumsum(rows) - rows / 2
        return [np.rint(midpoints * (_LEVELS / max(rows.sum(), 1.0)))]
    if len(values) > _MOST_VALUES:
        raise SpecError(
            f"target: column {name!r} has more than {_MOST_VALUES} values that are "
            "not numbers",
            hint="name a number, or a column of classes, such as income",
            key=("target",),
        )
    frequent = np.argsort(-rows, kind="stable")[:_MOST_CLASSES]
    return [(np.arange(len(values)) == value).astype(np.float64) for value in frequent]


def _into_folds(
    rows: NDArray[np.int64], lots: NDArray[np.uint64]
) -> list[NDArray[np.int64]]:
    """Divide equal rows with equal outcomes over the folds, as evenly as possible.

    The lot says which fold is first, so that single rows come to all folds alike.
    """
    folds = np.uint64(_FOLDS)
    first = (lots % folds).astype(np.int64)
    return [
        rows // _FOLDS + ((fold - first) % _FOLDS < rows % _FOLDS)
        for fold in range(_FOLDS)
    ]


def _lots(table: EncodedTable) -> NDArray[np.uint64]:
    """Return a lot for each tuple, the same for the same quasi-identifiers."""
    lots = np.zeros(table.n_tuples, dtype=np.uint64)
    for i in range(len(table.columns)):
        lots = splitmix64(lots + table.codes[:, i].astype(np.uint64))
    return lots


def _is_number(values: pa.Array) -> bool:
    """Return whether values are numbers or moments; text is if all of it is numbers."""
    if pa.types.is_boolean(values.type) or not len(values):
        return False
    if is_ordered(values.type):
        return True
    try:
        values.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def weigh_columns(table: EncodedTable, outcome: Outcome) -> tuple[float, ...]:
    """Return a weight for each quasi-identifier: 1 for the one that predicts most.

    Nothing but the tuples and the outcome decides. If no column predicts anything, all
    weights are 1.
    """
    chosen = np.flatnonzero((outcome.rows.sum(axis=0) > 0) & _is_drawn(_lots(table)))
    bins = [_bins(table, i)[table.codes[chosen, i]] for i in range(len(table.columns))]
    gains = np.zeros(len(bins))
    for sums in outcome.sums:
        gains += gain_by_column(bins, outcome.rows[:, chosen], sums[:, chosen])
    return coarse_weights(gains)


def _is_drawn(lots: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which tuples are looked at: about as many as are affordable, at random."""
    if lots.size <= _MOST_TUPLES:
        return np.ones(lots.size, dtype=np.bool_)
    flags: NDArray[np.bool_] = lots <= np.partition(lots, _MOST_TUPLES)[_MOST_TUPLES]
    return flags


def _bins(table: EncodedTable, column: int) -> NDArray[np.int64]:
    """Return the bin of each code: numbers by quantiles, missing values apart.

    codes   0 1 2 | 3 4 | 5 … | missing
    bin       0      1    2      32
    """
    rows = table.code_rows(column)
    one = table.columns[column]
    if one.kind != "number":
        return np.arange(rows.size)
    present = rows[: one.n_values]
    midpoints = np.cumsum(present) - present / 2
    bins = (midpoints * (_BINS / max(int(present.sum()), 1))).astype(np.int64)
    return np.append(bins, _BINS)


def gain_by_column(
    bins: Sequence[NDArray[np.int64]], rows: Floats, sums: Floats
) -> Floats:
    """Return how much the squared error grows without each column's effect.

    0 where leaving it out helps.
    """
    if not rows.any():
        return np.zeros(len(bins))
    whole = math.fsum(sums.sum(axis=0)) / math.fsum(rows.sum(axis=0))
    residuals = sums - whole * rows
    grown: list[list[float]] = [[] for _ in bins]
    for own, left in zip(rows, residuals, strict=True):
        effects = _fit(bins, rows.sum(axis=0) - own, residuals.sum(axis=0) - left)
        errors = left - own * effects.sum(axis=0)
        for effect, gains in zip(effects, grown, strict=True):
            # With errors e and an effect f: sum (e + f)² - sum e², over rows.
            gains.append(math.fsum(effect * (2.0 * errors + own * effect)))
    return np.maximum([math.fsum(gains) for gains in grown], 0.0)


def _fit(bins: Sequence[NDArray[np.int64]], rows: Floats, left: Floats) -> Floats:
    """Return each column's effect on each tuple, by column and tuple."""
    sizes = [int(one.max()) + 1 for one in bins]
    held = [
        np.bincount(one, rows, size) + _SHRINKAGE
        for one, size in zip(bins, sizes, strict=True)
    ]
    effects = np.zeros((len(bins), rows.size))
    for _ in range(_ROUNDS):
        for i, one in enumerate(bins):
            left = left + rows * effects[i]
            effects[i] = (np.bincount(one, left, sizes[i]) / held[i])[one]
            left = left - rows * effects[i]
    return effects


def coarse_weights(gains: Floats) -> tuple[float, ...]:
    """Return powers of two in proportion, from 1 for the largest down to `LEAST`."""
    if not gains.size or not 0.0 < gains.max() < math.inf:
        return (1.0,) * gains.size
    shares = np.maximum(gains / gains.max(), LEAST)
    return tuple((2.0 ** np.rint(np.log2(shares))).tolist())
