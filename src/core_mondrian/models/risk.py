"""Limits to the risk of being picked out, for one person and on average."""

import math
from dataclasses import dataclass
from typing import ClassVar

from core_mondrian.models.base import ClassCounts, Limits, PrivacyModel
from core_mondrian.models.checks import BETWEEN_0_AND_1, fewest_rows, number

_CERTAIN = "a risk of 1 is certainty: nothing is protected"


@dataclass(frozen=True, slots=True)
class MaximumRisk(PrivacyModel):
    """Nobody is picked out of a class with a higher probability than ``risk``.

    That is 1 / size of the class, the prosecutor's risk: k-anonymity with the smallest
    k for which 1 / k <= risk (Dankar and El Emam 2010).
    """

    risk: float

    is_monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number("maximum risk", "risk", self.risk, BETWEEN_0_AND_1, _CERTAIN)

    @property
    def name(self) -> str:
        return f"maximum risk {self.risk}"

    @property
    def min_rows(self) -> int:
        return fewest_rows(self.limits().edges[1])

    def limits(self) -> Limits:
        return Limits(at_most=self.risk)

    def reached(self, classes: ClassCounts) -> float:
        if not classes.sizes.size:
            return -math.inf
        smallest = int(classes.sizes.min())
        return 1.0 / smallest if smallest else math.inf  # a table without any row


@dataclass(frozen=True, slots=True)
class AverageRisk(PrivacyModel):
    """The risk of a person to be picked out is at most ``risk`` on average.

    Each person's is 1 / size of the class, so the average over all persons is classes /
    persons. It limits the table, not a class: a small class passes if others make up
    for it (the prosecutor's average risk of El Emam and Dankar).
    """

    risk: float

    is_monotone: ClassVar[bool] = True  # no class fails by itself

    def __post_init__(self) -> None:
        number("average risk", "risk", self.risk, BETWEEN_0_AND_1, _CERTAIN)

    @property
    def name(self) -> str:
        return f"average risk {self.risk}"

    @property
    def enough_rows(self) -> int:
        return fewest_rows(self.limits().edges[1])

    def limits(self) -> Limits:
        return Limits(at_most=self.risk)

    def reached(self, classes: ClassCounts) -> float:
        persons = int(classes.sizes.sum())
        return classes.sizes.size / persons if persons else -math.inf
