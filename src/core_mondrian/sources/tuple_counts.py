"""TupleCounts: all that a source of rows has to tell the engine."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import InternalError
from core_mondrian.spec.declaration import Spec


def counted_columns(spec: Spec) -> tuple[str, ...]:
    """Return the columns that rows are counted by."""
    more = [name for name in (spec.unit, spec.weight) if name is not None]
    return tuple(
        dict.fromkeys((*spec.quasi_identifiers, *spec.sensitive_and_equity, *more))
    )


@dataclass(frozen=True, slots=True)
class TupleCounts:
    """How many rows have each tuple of values.

    ``values`` has the counted columns, in the types they have in the source. A tuple
    may be there more than once: what counts is the sum.
    """

    values: pa.Table
    rows: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.values.num_rows != self.rows.size:
            raise InternalError("tuples and counts differ in number")

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum())
