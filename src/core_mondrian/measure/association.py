"""Association of two columns: how much of what one tells about the other is kept."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def cramers_v(table: Floats) -> float | None:
    """Return Cramér's V of a table of counts: 0 unrelated, 1 one follows the other.

    None: one of the two is constant, so that there is nothing to tell.
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return None
    n = float(table.sum())
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    squared = float(((table - expected) ** 2 / expected).sum())
    return min(math.sqrt(squared / (n * (min(table.shape) - 1))), 1.0)
