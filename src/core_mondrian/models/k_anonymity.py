"""k-anonymity: nobody stands in a group smaller than k."""

from dataclasses import dataclass

from core_mondrian.errors import SpecError
from core_mondrian.models.base import ClassCounts, Limits, PrivacyModel


@dataclass(frozen=True, slots=True)
class KAnonymity(PrivacyModel):
    """Every class holds at least ``k`` rows (Samarati and Sweeney 1998)."""

    k: int
    is_monotone = True

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int):
            raise SpecError(f"k must be a whole number, got {type(self.k).__name__}")
        if self.k < 2:
            raise SpecError(
                f"k-anonymity needs k >= 2, got k={self.k}",
                hint="with k = 1 every row may stand alone: nothing is protected",
            )

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
