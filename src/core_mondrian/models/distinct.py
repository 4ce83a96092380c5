"""Distinct l-diversity and p-sensitivity: enough different sensitive values."""

from dataclasses import dataclass

from core_mondrian.errors import SpecError
from core_mondrian.models import measures
from core_mondrian.models.base import (
    Limits,
    MissingValues,
    PrivacyModel,
)
from core_mondrian.models.checks import sensitive_column, whole_number

_ONE_VALUE = "a single value is everybody's: at least 2 are needed"


@dataclass(frozen=True, slots=True)
class DistinctLDiversity(PrivacyModel):
    """Every class holds at least ``l`` different sensitive values.

    The weakest reading of "well-represented" in Machanavajjhala, Kifer, Gehrke and
    Venkitasubramaniam, l-Diversity (2007); named in Li, Li and Venkatasubramanian 2007.
    """

    l: int  # noqa: E741
    sensitive: str
    missing: MissingValues = "value"

    measure = measures.DISTINCT_VALUES

    def __post_init__(self) -> None:
        whole_number("distinct l-diversity", "l", self.l, 2, _ONE_VALUE)
        sensitive_column("distinct l-diversity", self.sensitive, self.missing)

    @property
    def name(self) -> str:
        return f"distinct {self.l}-diversity of {self.sensitive}"

    @property
    def is_monotone(self) -> bool:  # type: ignore[override]
        # A part has no more values than the whole; but where missing ones are ignored,
        # a part that has no others discloses nothing, and passes.
        return not self.skips_missing

    @property
    def min_rows(self) -> int:
        return self.l

    def limits(self) -> Limits:
        return Limits(at_least=self.l)


@dataclass(frozen=True, slots=True)
class PSensitiveKAnonymity(PrivacyModel):
    """Every class holds ``k`` rows with ``p`` different sensitive values, or more.

    Truta and Vinay, Privacy Protection: p-Sensitive k-Anonymity Property (2006).
    """

    p: int
    k: int
    sensitive: str
    missing: MissingValues = "value"

    measure = measures.DISTINCT_VALUES

    def __post_init__(self) -> None:
        model = "p-sensitive k-anonymity"
        whole_number(model, "p", self.p, 2, _ONE_VALUE)
        whole_number(model, "k", self.k, 2)
        if self.k < self.p:
            raise SpecError(
                f"{model} needs k >= p, got p={self.p} and k={self.k}",
                hint="fewer than p rows cannot hold p values",
            )
        sensitive_column(model, self.sensitive, self.missing)

    @property
    def name(self) -> str:
        return f"{self.p}-sensitive {self.k}-anonymity of {self.sensitive}"

    @property
    def is_monotone(self) -> bool:  # type: ignore[override]
        # As for distinct l-diversity; and no part is larger than the whole.
        return not self.skips_missing

    @property
    def min_rows(self) -> int:
        return self.k

    def limits(self) -> Limits:
        return Limits(at_least=self.p)
