"""EncodedTable: distinct tuples of codes with their counts; all the engine sees.

And the classes that these tuples end up in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import InternalError

if TYPE_CHECKING:
    from core_mondrian.hierarchies.tree import Hierarchy

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
    hierarchy: "Hierarchy | None"
    """Categories: the tree whose leaf numbers are the codes. Numbers: None."""

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return self.n_values

    @property
    def tree(self) -> "Hierarchy":
        """The hierarchy of a category."""
        if self.hierarchy is None:
            raise InternalError(f"category column {self.name!r} without a hierarchy")
        return self.hierarchy


class SensitiveColumn(NamedTuple):
    """A column that tuples are also counted by, sensitive or of groups.

    Codes are ranks; code ``n_values - 1`` is missing.
    """

    name: str
    n_values: int
    labels: Sequence[object] = ()
    """What the codes stand for, without the missing one."""


class TableFigures(NamedTuple):
    """The figures of a table whose tuples are elsewhere."""

    n_tuples: int
    code_rows: tuple[NDArray[np.int64], ...]
    """Rows by code of each quasi-identifier, then of each sensitive column."""
    n_persons: int | None
    """Persons that have rows; None: they are not counted."""


@dataclass(frozen=True, slots=True)
class EncodedTable:
    """The table as a multiset: tuples in lexicographic order, and how many rows each.

    ``codes`` has one row per distinct tuple: the quasi-identifiers in spec order, then
    the sensitive columns, then the unit, if there is one. There is none where
    ``figures`` describes tuples that are elsewhere.
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
    column_weights: tuple[float, ...] | None = None
    """How much the search counts each quasi-identifier, besides the spec's weights;
    None: all alike. What is lost is measured without them."""

    figures: TableFigures | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers."""
        return tuple(column.name for column in self.columns)

    @property
    def n_tuples(self) -> int:
        return self.counts.size if self.figures is None else self.figures.n_tuples

    @property
    def n_persons(self) -> int | None:
        """Persons that have rows; None: they are not counted."""
        if self.n_units is None:
            return None
        if self.figures is not None:
            return self.figures.n_persons
        return int(np.unique(self.codes[:, -1]).size)

    def code_rows(self, column: int) -> NDArray[np.int64]:
        """Return the rows of each code of a column, the missing one last.

        Columns are quasi-identifiers, then sensitive ones; a sensitive column has one
        more code where a population is counted as well.
        """
        if self.figures is not None:
            return self.figures.code_rows[column]
        n_columns = len(self.columns)
        if column < n_columns:
            n_codes = self.columns[column].n_values + 1
        else:
            n_codes = self.sensitive[column - n_columns].n_values
        rows = np.bincount(self.codes[:, column], self.counts, n_codes)
        return rows.astype(np.int64)

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which tuples are of the table itself."""
        if self.present is None:
            return np.ones(self.n_tuples, dtype=np.bool_)
        flags: NDArray[np.bool_] = (
            self.codes[:, len(self.columns) + self.present] == INSIDE
        )
        return flags


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
