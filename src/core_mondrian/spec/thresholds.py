"""Thresholds: the quality that a release should reach."""

import dataclasses
from dataclasses import dataclass

from core_mondrian.errors import SpecError


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Quality a release should reach; None: not asked. Defaults of the reference."""

    pct_non_suppressed: float | None = 0.99
    rilm_categorical: float | None = 0.90
    rilm_numerical: float | None = None
    pearson: float | None = 0.90
    nmi: float | None = 0.80

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise SpecError(f"thresholds.{item.name} lies between 0 and 1")
