"""Recursive (c, l)-diversity: the most frequent value is not too frequent."""

from dataclasses import dataclass

from core_mondrian.models import measures
from core_mondrian.models.base import (
    Limits,
    MissingValues,
    PrivacyModel,
)
from core_mondrian.models.checks import (
    ABOVE_0,
    fewest_rows,
    number,
    sensitive_column,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class RecursiveCLDiversity(PrivacyModel):
    """In every class, r1 < ``c`` (r_l + r_l+1 + … + r_m).

    r1 >= r2 >= … >= r_m are the rows of the m values that the class holds. Whoever
    can rule out l - 2 of the values still cannot infer that the most frequent of the
    others is the right one. Measured is r1 / (r_l + … + r_m), infinite where there
    are fewer than l values (Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam,
    l-Diversity, 2007).
    """

    c: float
    l: int  # noqa: E741
    sensitive: str
    missing: MissingValues = "value"

    def __post_init__(self) -> None:
        model = "recursive (c, l)-diversity"
        number(model, "c", self.c, ABOVE_0)
        whole_number(model, "l", self.l, 2, "with l = 1 one value may be alone")
        sensitive_column(model, self.sensitive, self.missing)

    measure = measures.RECURSIVE_RATIO

    @property
    def name(self) -> str:
        return f"recursive ({self.c}, {self.l})-diversity of {self.sensitive}"

    @property
    def min_rows(self) -> int:
        # r1 >= 1, so r_l + … + r_m > 1 / c; the l - 1 values before have a row each.
        return self.l - 1 + fewest_rows(self.limits().edges[1])

    def limits(self) -> Limits:
        return Limits(below=self.c)
