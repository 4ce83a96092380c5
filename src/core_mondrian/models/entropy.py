"""Entropy l-diversity: sensitive values spread as evenly as over l of them."""

import math
from dataclasses import dataclass

from core_mondrian.models import measures
from core_mondrian.models.base import (
    Limits,
    MissingValues,
    PrivacyModel,
)
from core_mondrian.models.checks import ABOVE_1, number, sensitive_column


@dataclass(frozen=True, slots=True)
class EntropyLDiversity(PrivacyModel):
    """The entropy of the sensitive values of every class is at least ln ``l``.

    With p(s) the share of value s in the class: -Σ p(s) ln p(s) >= ln l. Measured is e
    to the entropy, so that what is reached compares with ``l``, which need not be whole
    (Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, l-Diversity, 2007).
    """

    l: float  # noqa: E741
    sensitive: str
    missing: MissingValues = "value"

    def __post_init__(self) -> None:
        hint = "every class reaches 1; 2 equally frequent values reach 2"
        number("entropy l-diversity", "l", self.l, ABOVE_1, hint)
        sensitive_column("entropy l-diversity", self.sensitive, self.missing)

    measure = measures.ENTROPY

    @property
    def name(self) -> str:
        return f"entropy {self.l}-diversity of {self.sensitive}"

    @property
    def min_rows(self) -> int:
        # n rows hold at most n values, and n values have at most the entropy ln n.
        return math.ceil(self.limits().edges[0])

    def limits(self) -> Limits:
        return Limits(at_least=self.l)
