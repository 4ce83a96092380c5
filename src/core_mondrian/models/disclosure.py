"""delta-disclosure privacy: a class reveals little that the table does not."""

from dataclasses import dataclass
from typing import Literal

from core_mondrian.models import measures
from core_mondrian.models.base import (
    Limits,
    MissingValues,
    PrivacyModel,
)
from core_mondrian.models.checks import ABOVE_0, choice, number, sensitive_column

Absent = Literal["fails", "allowed"]


@dataclass(frozen=True, slots=True)
class DeltaDisclosure(PrivacyModel):
    """|ln(q(s) / p(s))| < ``delta`` for every class and every value s of the table.

    q(s) is the share of s in the class, p(s) in the table (Brickell and Shmatikov, The
    Cost of Privacy, 2008). A value that a class does not have fails by this definition:
    its logarithm is infinite. With ``absent = "allowed"`` only the values that a class
    has are looked at, as in ARX and pycanon.
    """

    delta: float
    sensitive: str
    absent: Absent = "fails"
    missing: MissingValues = "value"

    def __post_init__(self) -> None:
        number("delta-disclosure", "delta", self.delta, ABOVE_0)
        sensitive_column("delta-disclosure", self.sensitive, self.missing)
        choice("absent", self.absent, ("fails", "allowed"))

    measure = measures.LOG_RATIO

    @property
    def name(self) -> str:
        which = "" if self.absent == "fails" else " (absent values allowed)"
        return f"{self.delta}-disclosure privacy of {self.sensitive}{which}"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.absent == "allowed"),)

    def limits(self) -> Limits:
        return Limits(below=self.delta)
