"""Counts that stand apart: a partition known by what was counted of it.

A partition too large for one machine is counted by many, column by column: a record is
then a code of one column (with sensitive codes) and how many rows have it, and the
records of one column follow those of another. The same kernels choose its cut: each
column's records start and stop so much later than the partition itself. In a partition
that is at hand, all of these shifts are 0.
"""

from core_mondrian.kernels.jit import kernel
from core_mondrian.kernels.layout import Counts, Finder, Space


@kernel
def first_of(apart: Counts, column: int, start: int) -> int:
    """Return where the records of a column start."""
    return start + apart[2 * column]


@kernel
def last_of(apart: Counts, column: int, stop: int) -> int:
    """Return where the records of a column stop."""
    return stop + apart[2 * column + 1]


@kernel
def has_pairs(finder: Finder) -> bool:
    """Tell whether the pairs of two columns were counted elsewhere."""
    return finder.apart.size > 2 * finder.active.size


@kernel
def is_elsewhere(finder: Finder, column: int) -> bool:
    """Tell whether pairs were counted elsewhere, but not those of this column."""
    if not has_pairs(finder):
        return False
    n_columns = finder.active.size
    # A column that was counted has pairs with itself.
    edges = 2 * n_columns + column * n_columns + column
    return finder.apart[edges] == finder.apart[edges + 1]


@kernel
def load_counted_pairs(
    space: Space, finder: Finder, column: int, other: int, start: int, n_groups: int
) -> None:
    """Find the codes of ``other`` in each group of ``column`` among counted pairs.

    ``space.codes`` and ``space.worth`` hold the pairs, by rising codes.
    """
    n_columns = finder.active.size
    edges = 2 * n_columns + column * n_columns + other
    codes = 2 * n_columns + n_columns * n_columns + 1
    first = finder.apart[edges]
    stop = finder.apart[edges + 1]
    for group in range(start, start + n_groups):
        code = space.groups[group].code
        low = first
        high = stop
        while low < high:
            middle = (low + high) // 2
            if finder.apart[codes + middle] < code:
                low = middle + 1
            else:
                high = middle
        space.groups[group].begin = low
        while low < stop and finder.apart[codes + low] == code:
            low += 1
        space.groups[group].end = low
