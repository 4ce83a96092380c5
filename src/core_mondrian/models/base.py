"""What every privacy model is: a value with one rule on counts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Rule = Callable[[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]], bool]
"""``rule(rows, value_counts, table_counts, parameters)``: may this class be released?

``value_counts`` counts the class by sensitive value (a missing value is the last one),
``table_counts`` counts the whole table the same way. Plain Python that Numba can
compile: the engine compiles it once and keeps it on disk.
"""


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """All classes of a table as a model sees them."""

    rows: NDArray[np.int64]
    """Rows of each class."""
    by_value: NDArray[np.int64]
    """Rows of each class (axis 0) with each sensitive value (axis 1)."""

    @property
    def table(self) -> NDArray[np.int64]:
        """Rows of the whole table with each sensitive value."""
        totals: NDArray[np.int64] = self.by_value.sum(axis=0)
        return totals


@runtime_checkable
class PrivacyModel(Protocol):
    """May this class be released? A frozen value that sees counts, never rows."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def min_rows(self) -> int:
        """Rows below which no class can pass; the engine proposes none smaller."""

    @property
    def sensitive(self) -> str | None:
        """The column whose value counts the rule reads, if it reads any."""

    @property
    def is_monotone(self) -> bool:
        """Whether a class that fails has no part that passes."""

    @property
    def parameters(self) -> tuple[float, ...]:
        """What the rule is given as its last argument."""

    @property
    def rule(self) -> Rule | None:
        """The rule on counts; None if having ``min_rows`` rows is all there is."""

    def reached(self, classes: ClassCounts) -> float:
        """Return the strongest parameter these classes satisfy."""


def admits(
    model: PrivacyModel, rows: int, values: NDArray[np.int64], table: NDArray[np.int64]
) -> bool:
    """Tell, uncompiled, whether a class with these counts may be released."""
    if rows < model.min_rows:
        return False
    if model.rule is None:
        return True
    parameters = np.array(model.parameters, dtype=np.float64)
    return bool(model.rule(rows, values, table, parameters))
