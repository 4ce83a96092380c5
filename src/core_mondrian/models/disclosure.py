"""delta-disclosure privacy: a class tells little that the table does not."""

import math
from dataclasses import dataclass
from typing import Literal

from core_mondrian.models.base import (
    Counts,
    Floats,
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

    @staticmethod
    def measure(rows: int, counts: Counts, table: Counts, parameters: Floats) -> float:
        """Return the largest |ln(q / p)|; absent values count if parameters[0] is 0."""
        total = 0
        for i in range(table.size):
            total += table[i]
        largest = 0.0
        for i in range(counts.size):
            if counts[i] > 0:
                if table[i] == 0:  # only suppressed rows have it
                    return math.inf
                ratio = (counts[i] * total) / (table[i] * rows)
                largest = max(largest, abs(math.log(ratio)))
            elif table[i] > 0 and parameters[0] == 0.0:
                return math.inf
        return float(largest)

    @property
    def name(self) -> str:
        which = "" if self.absent == "fails" else " (absent values allowed)"
        return f"{self.delta}-disclosure privacy of {self.sensitive}{which}"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.absent == "allowed"),)

    def limits(self) -> Limits:
        return Limits(below=self.delta)
