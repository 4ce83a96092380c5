"""k-anonymity: nobody stands in a group smaller than k."""

from dataclasses import dataclass
from typing import ClassVar

from core_mondrian.models.base import ClassCounts, Limits, PrivacyModel
from core_mondrian.models.checks import whole_number


@dataclass(frozen=True, slots=True)
class KAnonymity(PrivacyModel):
    """Every class holds at least ``k`` rows (Samarati and Sweeney 1998)."""

    k: int

    is_monotone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        hint = "with k = 1 every row may stand alone: nothing is protected"
        whole_number("k-anonymity", "k", self.k, 2, hint)

    @property
    def name(self) -> str:
        return f"{self.k}-anonymity"

    @property
    def min_rows(self) -> int:
        return self.k

    def limits(self) -> Limits:
        return Limits(at_least=self.k)

    def reached(self, classes: ClassCounts) -> float:
        return float(classes.sizes.min()) if classes.sizes.size else float("inf")
