"""Models that know the population the table was drawn from.

Their counts are not of sensitive values. For each class they are: rows of the
population outside the table, rows of it inside the table, and 0.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from core_mondrian.errors import SpecError
from core_mondrian.models import measures
from core_mondrian.models.base import (
    ClassCounts,
    Limits,
    PrivacyModel,
)
from core_mondrian.models.checks import (
    SHARE,
    number,
    population_table,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class KMap(PrivacyModel):
    """Every class fits at least ``k`` persons of the population.

    A class may be smaller in the table itself: who is looked for does not know whom
    the table holds (Sweeney, k-Anonymity: a Model for Protecting Privacy, 2002).
    """

    k: int
    population: object = field(compare=False, repr=False)

    # Fewer rows of the population fit a part of a class than the class.
    is_monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        hint = "with k = 1 nothing is asked of the population"
        whole_number("k-map", "k", self.k, 2, hint)
        population_table("k-map", self.population)

    measure = measures.FITTING_PERSONS

    @property
    def name(self) -> str:
        return f"{self.k}-map"

    def limits(self) -> Limits:
        return Limits(at_least=self.k)


@dataclass(frozen=True, slots=True)
class DeltaPresence(PrivacyModel):
    """Of the population that fits a class, a share of ``low`` to ``high`` is in it.

    So whoever knows that a person belongs to the population learns neither that the
    table holds the person, nor that it does not (Nergiz, Atzori and Clifton, Hiding the
    Presence of Individuals from Shared Databases, 2007). Persons who fit no class at
    all are not counted here, and are known not to be in the table.
    """

    low: float
    high: float
    population: object = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        model = "delta-presence"
        number(model, "low", self.low, SHARE)
        number(model, "high", self.high, SHARE)
        if self.high < self.low or self.high == 0:
            raise SpecError(
                f"{model} needs low <= high and high > 0,"
                f" got low={self.low} and high={self.high}"
            )
        if (self.low, self.high) == (0, 1):
            raise SpecError(
                f"{model} with low=0 and high=1 asks for nothing",
                hint="high < 1 hides who is in the table, low > 0 who is not",
            )
        population_table(model, self.population)

    measure = measures.SHARE_PRESENT

    @property
    def name(self) -> str:
        return f"({self.low}, {self.high})-presence"

    def limits(self) -> Limits:
        return Limits(at_least=self.low or -math.inf, at_most=self.high)

    def reached(self, classes: ClassCounts) -> float:
        """Return the highest share: how sure one can be that a person is in it."""
        shares = self.measured(classes)
        return float(shares.max()) if shares.size else -math.inf
