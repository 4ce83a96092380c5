"""ReleasedClasses: which tuples share one released row, and what that row shows."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ReleasedClasses(NamedTuple):
    """The classes of a release: distinct released tuples, numbered from 0."""

    of_tuple: NDArray[np.int32]
    """Class of each tuple of the encoded table; -1: suppressed."""
    rows: NDArray[np.int64]
    """Rows of each class."""
    nodes: tuple[NDArray[np.int32] | None, ...]
    """Per category column, the released hierarchy node of each class (-1: blank)."""
    representatives: tuple[NDArray[np.float64] | None, ...]
    """Per number column released as mean or median, its value in each class."""

    @property
    def n_classes(self) -> int:
        return int(self.rows.size)
