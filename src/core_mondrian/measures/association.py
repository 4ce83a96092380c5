"""Association of two columns: how far one predicts the other, and how it changed."""

import math

import numpy as np

from core_mondrian.runtime.array_types import Floats


def cramers_v(table: Floats) -> float | None:
    """Return Cramér's V of a table of counts: 0 unrelated, 1 one follows the other.

    None: one of the two is constant, so that there is nothing to measure.
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return None
    n = float(table.sum())
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    squared = float(((table - expected) ** 2 / expected).sum())
    return min(math.sqrt(squared / (n * (min(table.shape) - 1))), 1.0)


def moved_share(before: Floats, after: Floats) -> float | None:
    """Return the share of rows that would have to change cells of the table.

    Both are shares first, so that rows that are left out do not count as moved. None:
    one of the tables is empty.
    """
    totals = float(before.sum()), float(after.sum())
    if min(totals) <= 0.0:
        return None
    return float(np.abs(before / totals[0] - after / totals[1]).sum()) / 2


def correlation(x: Floats, y: Floats, rows: Floats) -> float | None:
    """Return Pearson's r of two columns whose values stand for so many rows each.

    What is missing (NaN) in one of them is left out. None: one of the two is constant,
    or too large for floats.
    """
    there = ~(np.isnan(x) | np.isnan(y)) & (rows > 0)
    with np.errstate(all="ignore"):
        a, b = (_deviations(values[there], rows[there]) for values in (x, y))
        spread = math.sqrt(float((rows[there] * a * a).sum()))
        spread *= math.sqrt(float((rows[there] * b * b).sum()))
        if not 0.0 < spread < math.inf:
            return None
        r = float((rows[there] * a * b).sum()) / spread
    return max(-1.0, min(r, 1.0)) if math.isfinite(r) else None


def _deviations(values: Floats, rows: Floats) -> Floats:
    """Return how far values are from their mean, relative to the largest of them."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    scaled = values / largest
    mean = float((scaled * rows).sum()) / max(float(rows.sum()), 1.0)
    deviations: Floats = scaled - mean
    # What is left of a constant is rounding.
    deviations[np.abs(deviations) < 1e-12] = 0.0
    return deviations
