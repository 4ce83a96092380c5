"""EncodedTable: distinct tuples of codes with their counts; all the engine sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.hierarchy import Hierarchy

OUTSIDE, INSIDE = range(2)


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """One quasi-identifier: what its codes 0 … ``n_values - 1`` stand for.

    Code ``n_values`` is a missing value.
    """

    name: str
    kind: Literal["number", "category"]
    n_values: int
    values: NDArray[np.float64]
    """Numbers: the value of each code, rising. Categories: empty."""
    hierarchy: Hierarchy | None
    """Categories: the tree whose leaf numbers are the codes. Numbers: None."""

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return self.n_values


class SensitiveColumn(NamedTuple):
    """A column that tuples are also counted by, sensitive or of groups.

    Codes are ranks; code ``n_values - 1`` is missing.
    """

    name: str
    n_values: int
    labels: Sequence[object] = ()
    """What the codes stand for, without the missing one."""


@dataclass(frozen=True, slots=True)
class EncodedTable:
    """The table as a multiset: tuples in lexicographic order, and how many rows each.

    ``codes`` has one row per distinct tuple: the quasi-identifiers in spec order, then
    the sensitive columns, then the unit, if there is one.
    """

    columns: tuple[EncodedColumn, ...]
    sensitive: tuple[SensitiveColumn, ...]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    n_rows: int
    n_units: int | None = None
    """Persons, where rows belong to persons; None: a row is a person."""
    present: int | None = None
    """Which sensitive column says whether a tuple is of the table itself or of the
    rest of its population; None: there is no population."""
    worth: NDArray[np.int32] | None = None
    """How often the loss of one row of each tuple counts; None: once."""

    @property
    def n_tuples(self) -> int:
        return int(self.counts.size)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which tuples are of the table itself."""
        if self.present is None:
            return np.ones(self.n_tuples, dtype=np.bool_)
        flags: NDArray[np.bool_] = (
            self.codes[:, len(self.columns) + self.present] == INSIDE
        )
        return flags
