"""beta-likeness: no sensitive value is much likelier in a class than in the table."""

from dataclasses import dataclass
from typing import Literal

from core_mondrian.models import measures
from core_mondrian.models.base import (
    Limits,
    MissingValues,
    PrivacyModel,
)
from core_mondrian.models.checks import ABOVE_0, choice, number, sensitive_column

Kind = Literal["basic", "enhanced"]


@dataclass(frozen=True, slots=True)
class BetaLikeness(PrivacyModel):
    """(q(s) - p(s)) / p(s) <= ``beta`` for every class and every value s it holds.

    q(s) is the share of s in the class, p(s) in the table; only what becomes likelier
    is limited. ``kind = "enhanced"`` asks for <= min(beta, -ln p(s)), a limit for
    frequent values, too: measured is infinity where -ln p(s) is passed (Cao and Karras,
    Publishing Microdata with a Robust Privacy Guarantee, 2012).
    """

    beta: float
    sensitive: str
    kind: Kind = "basic"
    missing: MissingValues = "value"

    def __post_init__(self) -> None:
        number("beta-likeness", "beta", self.beta, ABOVE_0)
        sensitive_column("beta-likeness", self.sensitive, self.missing)
        choice("kind", self.kind, ("basic", "enhanced"))

    measure = measures.RELATIVE_GAIN

    @property
    def name(self) -> str:
        return f"{self.beta}-likeness of {self.sensitive} ({self.kind})"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.kind == "enhanced"),)

    def limits(self) -> Limits:
        return Limits(at_most=self.beta)
