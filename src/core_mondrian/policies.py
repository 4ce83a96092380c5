"""Cut policies as values: which cut is best here, and what may be asked of it."""

import math
from dataclasses import dataclass
from typing import Literal

from core_mondrian.errors import SpecError

CutPoints = Literal["median", "bin_edges"]
Effort = Literal["fast", "strong", "max"]
EFFORTS: tuple[Effort, ...] = ("fast", "strong", "max")


@dataclass(frozen=True, slots=True)
class BestPolicy:
    """Exact cuts: of all candidates the one whose sides lose least as released."""

    effort: Effort = "fast"
    """`strong` and `max` also regroup the classes of each block."""
    disjoint: bool = False
    """Keep the boxes of classes disjoint: no tuple in two of them."""
    beta: float | None = None
    """Weight of impurity next to loss; None: chosen by a sample of the tuples."""
    price: float = 1.0
    """What a suppressed cell costs, where 1 is a cell that shows nothing. A row is
    suppressed, within the budget, only if that is cheaper than to release it."""
    equity: str | None = None
    """The column whose groups should lose about as much as each other."""
    equity_bound: float | None = None
    """How much the worst of them may lose, as a multiple of what all rows lose without
    ``equity``; None: as long as it gains more than the others lose."""

    @property
    def name(self) -> str:
        return "best"

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise SpecError(f"best.effort is one of {', '.join(EFFORTS)}")
        if not isinstance(self.disjoint, bool):
            raise SpecError("best.disjoint is true or false")
        beta = self.beta
        if beta is not None and not (_is_number(beta) and 0 <= beta <= 1000):
            raise SpecError("best.beta lies between 0 and 1000")
        if not (_is_number(self.price) and 0 < self.price <= 1000):
            raise SpecError("best.price lies above 0, up to 1000")
        if self.equity is not None and not isinstance(self.equity, str):
            raise SpecError("best.equity is the name of a column")
        bound = self.equity_bound
        if bound is not None and not (_is_number(bound) and bound > 0):
            raise SpecError("best.equity_bound lies above 0")
        if bound is not None and self.equity is None:
            raise SpecError("best.equity_bound needs best.equity, a column")


def _is_number(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class PaperPolicy:
    """Core Mondrian's funnel (§3.3) and its parameters, with the published defaults."""

    cut_points: tuple[CutPoints, ...] = ("median",)
    """Where a number may be cut: its median, and the edges of its histogram."""
    bin_edges_above: float = 0.25
    """Bin edges are proposed in partitions of at least this share of all rows."""
    max_bin_edges: int = 10
    min_bin_values: int = 5
    """Distinct values a partition needs before its histogram is looked at."""
    tails: tuple[float, ...] = (10.0, 1.0, 0.1, 0.01, 0.001, 0.0)
    """Percent cut off both ends of a number for its domains, tightest first."""
    rilm_epsilon: float | None = 0.05
    """Candidates this close in RILM compete by score; None: all do; < 0: none do."""
    compete_above: float = 0.90
    """Candidates compete in partitions of at least this share of all rows."""
    breakout_multiplier: float | None = None
    """How far above its threshold a column's RILM leaves it alone; None: never."""
    breakout_thresholds: tuple[tuple[str, float], ...] = ()
    """RILM threshold of a single column; others take the spec's thresholds."""

    @property
    def name(self) -> str:
        return "paper"

    def __post_init__(self) -> None:
        if not self.cut_points or set(self.cut_points) - {"median", "bin_edges"}:
            raise SpecError("paper.cut_points takes 'median' and 'bin_edges'")
        for key in ("bin_edges_above", "compete_above"):
            if not 0.0 <= getattr(self, key) <= 1.0:
                raise SpecError(f"paper.{key} is a share between 0 and 1")
        if self.max_bin_edges < 1 or self.min_bin_values < 2:
            raise SpecError("paper.max_bin_edges is >= 1 and min_bin_values >= 2")
        _check_tails(self.tails)
        multiplier = self.breakout_multiplier
        if multiplier is not None and not 0.0 <= multiplier <= 1.0:
            raise SpecError("paper.breakout_multiplier lies between 0 and 1")


def _check_tails(tails: tuple[float, ...]) -> None:
    if not tails or tails[-1] != 0.0 or any(not 0.0 <= tail < 50.0 for tail in tails):
        raise SpecError(
            "paper.tails are percentages below 50, the last of them 0",
            hint="the last domain has to hold every value",
        )


@dataclass(frozen=True, slots=True)
class OriginalPolicy:
    """LeFevre's Mondrian: widest normalized range, strict median, no suppression."""

    variant: Literal["fair", "as_published"] = "fair"
    """`as_published` never tries the next-widest column, as the paper's baseline."""

    @property
    def name(self) -> str:
        return "original"

    def __post_init__(self) -> None:
        if self.variant not in ("fair", "as_published"):
            raise SpecError("original.variant is 'fair' or 'as_published'")


Policy = BestPolicy | PaperPolicy | OriginalPolicy
POLICIES: dict[str, type[Policy]] = {
    "best": BestPolicy,
    "paper": PaperPolicy,
    "original": OriginalPolicy,
}
