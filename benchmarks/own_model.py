"""A model of a user's own, which measures what t-closeness does by equal distance."""

from dataclasses import dataclass
from typing import Any

from core_mondrian import Limits, PrivacyModel


@dataclass(frozen=True)
class Closeness(PrivacyModel):
    """The shares of every class are within ``t`` of those of the table."""

    t: float
    sensitive: str

    @staticmethod
    def measure(rows: int, counts: Any, table: Any, parameters: Any) -> float:  # noqa: ARG004
        """Return by how much the shares of some values are above the table's."""
        total = table.sum()
        gained = 0
        for i in range(counts.size):
            gained += max(0, counts[i] * total - table[i] * rows)
        return float(gained / (float(rows) * float(total)))

    def limits(self) -> Limits:
        return Limits(at_most=self.t)
