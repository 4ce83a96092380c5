"""Thresholds: the quality that a release should reach."""

import dataclasses
from dataclasses import dataclass

from core_mondrian.errors import SpecError
from core_mondrian.spec.metadata import declare


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Quality a release should reach; None: not asked. Defaults of the reference."""

    pct_non_suppressed: float | None = declare(
        "Share of rows released.",
        0.99,
        docs="Without `suppress` it also sets the budget of policy `paper`",
    )
    rilm_categorical: float | None = declare("Smallest RILM of a category.", 0.90)
    rilm_numerical: float | None = declare(
        "Smallest RILM of a number.", None, shown_default="not asked"
    )
    pearson: float | None = declare(
        "Smallest correlation of a number with its original.", 0.90
    )
    nmi: float | None = declare("Smallest scaled mutual information of a number.", 0.80)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise SpecError(f"thresholds.{item.name} lies between 0 and 1")
