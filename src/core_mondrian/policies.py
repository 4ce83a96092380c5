"""Cut policies as values: which cut is best here, and what may be asked of it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args

from core_mondrian.errors import SpecError

CutPoints = Literal["median", "bin_edges", "lossless"]
Spend = Literal["last-resort", "as-written"]
SPENDING: tuple[Spend, ...] = ("last-resort", "as-written")
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

    @property
    def base(self) -> str:
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


HOOKS: dict[str, tuple[str, ...]] = {
    "cut_choices": ("rows", "low", "high", "rilm", "rank", "parameters"),
    "propose": ("column", "codes", "rows", "values", "cuts", "parameters"),
    "score": ("column", "codes", "rows", "values", "parts", "parameters"),
    "accept": ("column", "rows", "loss", "budget", "score", "parameters"),
    "release": ("rows", "budget", "low", "high", "rilm", "parameters"),
}
"""What a policy of your own may decide itself, and what it is told for that."""


class FunnelPolicy:
    """Base of `paper`, `original` and policies of your own (§3.4).

    A subclass overrides any of these as a ``@staticmethod``. Each sees codes and counts
    of one partition; models, budget and verifier stay as strict as they are, so that a
    bad decision costs utility and never privacy.
    """

    __slots__ = ()

    cut_choices: ClassVar[Callable[..., None] | None] = None
    """Which columns are tried, and in what order: write into ``rank``, by column; the
    lowest is tried first, one of ``inf`` not at all. It holds the base's ranks."""
    propose: ClassVar[Callable[..., None] | None] = None
    """Where a number could be cut: set ``cuts[i]`` to cut after ``codes[i]``; those
    that the base would propose are set."""
    score: ClassVar[Callable[..., float] | None] = None
    """How good a cut is, the lowest the best: ``parts[i]`` is the part that
    ``codes[i]`` goes to, from 0 on; -1: it is suppressed."""
    accept: ClassVar[Callable[..., bool] | None] = None
    """Whether a cut is taken that suppresses ``loss`` rows of ``budget``."""
    release: ClassVar[Callable[..., bool] | None] = None
    """Whether a partition that is not cut any more is released, or suppressed; asked
    only where the budget allows that."""
    show: ClassVar[Callable[..., str] | None] = None
    """What a class shows in a column: ``show(column, values)`` returns a text for the
    column's name and the class's different values, rising, or None for the usual."""

    @property
    def base(self) -> str:
        """Which of ours it is, or builds on."""
        return "original" if isinstance(self, OriginalPolicy) else "paper"

    @property
    def name(self) -> str:
        """What the policy is called: ours by our names, yours by its class."""
        return self.base if type(self) in _SHIPPED else type(self).__name__

    def bind(self, columns: Sequence[str]) -> list[float]:
        """Return ``parameters``: the fields of your own, in order, as numbers.

        A text is the name of a quasi-identifier, and stands for its number.
        """
        ours = {item.name for kind in _SHIPPED for item in fields(kind)}
        own = [item.name for item in fields(self) if item.name not in ours]  # type: ignore[arg-type]
        found = []
        for name in own:
            value = getattr(self, name)
            if isinstance(value, str) and value not in columns:
                raise SpecError(
                    f"{self.name}.{name} is {value!r}, which is no quasi-identifier",
                    hint=f"they are {list(columns)}",
                )
            if isinstance(value, str):
                found.append(float(columns.index(value)))
            elif isinstance(value, int | float):
                found.append(float(value))
        return found


def own_functions(policy: object) -> dict[str, Callable[..., Any]]:
    """Return the functions by which a policy of the user's decides itself."""
    found = {name: getattr(type(policy), name, None) for name in HOOKS}
    return {name: own for name, own in found.items() if own is not None}


def describe_policy(policy: "Policy") -> dict[str, Any]:
    """Return a policy as plain values: its name, what it builds on, its fields."""
    told = {"name": policy.name}
    if policy.name != policy.base:
        told["base"] = policy.base
    return told | asdict(policy)


def check_policy(policy: object) -> None:
    """Refuse what is no policy, and functions that do not take what they are given."""
    if type(policy) is BestPolicy:
        return
    if not isinstance(policy, _SHIPPED):
        told = policy.__name__ if isinstance(policy, type) else type(policy).__name__
        raise SpecError(
            f"{told} is not a policy",
            hint="take BestPolicy(), PaperPolicy() or OriginalPolicy(), or a class of "
            "your own that inherits from one of the last two",
            key=("policy",),
        )
    for name, wanted in {**HOOKS, "show": ("column", "values")}.items():
        own = getattr(type(policy), name)
        code = getattr(own, "__code__", None)
        if own is not None and (code is None or code.co_argcount != len(wanted)):
            raise SpecError(
                f"{policy.name}.{name} does not take ({', '.join(wanted)})",
                hint="write @staticmethod above it, and these parameters",
                key=("policy",),
            )


@dataclass(frozen=True, slots=True)
class PaperPolicy(FunnelPolicy):
    """Core Mondrian's funnel (§3.3) and its parameters."""

    cut_points: tuple[CutPoints, ...] = ("median", "lossless")
    """Where a number may be cut: at its median, at the edges of its histogram, and,
    where none of these keeps all rows, at the most even cut that does."""
    spend: Spend = "last-resort"
    """Whether partitions that are solved in place spend their budget (§3.6)
    `as-written`, or only those that are queued: rows are the `last-resort`."""
    bin_edges_above: float = 0.25
    """Bin edges are proposed in partitions of at least this share of all rows."""
    max_bin_edges: int = 10
    min_bin_values: int = 5
    """Distinct values a partition needs before its histogram is looked at."""
    tails: tuple[float, ...] = (10.0, 1.0, 0.1, 0.01, 0.001, 0.0)
    """Percent cut off both ends of a number for its domains, tightest first."""
    rilm_epsilon: float | None = 0.0
    """Columns this close in RILM compete by score; None: all do; < 0: none do."""
    compete_above: float = 0.0
    """Columns compete in partitions of at least this share of all rows."""
    breakout_multiplier: float | None = None
    """How far above its threshold a column's RILM leaves it alone; None: never."""
    breakout_thresholds: tuple[tuple[str, float], ...] = ()
    """RILM threshold of a single column; others take the spec's thresholds."""

    def __post_init__(self) -> None:
        known = get_args(CutPoints)
        if not self.cut_points or set(self.cut_points) - set(known):
            raise SpecError(f"paper.cut_points takes {', '.join(known)}")
        if self.spend not in SPENDING:
            raise SpecError(f"paper.spend is one of {', '.join(SPENDING)}")
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
class OriginalPolicy(FunnelPolicy):
    """LeFevre's Mondrian: widest normalized range, strict median, no suppression."""

    variant: Literal["fair", "as_published"] = "fair"
    """`as_published` never tries the next-widest column, as the paper's baseline."""

    def __post_init__(self) -> None:
        if self.variant not in ("fair", "as_published"):
            raise SpecError("original.variant is 'fair' or 'as_published'")


_SHIPPED = (PaperPolicy, OriginalPolicy)
Policy = BestPolicy | PaperPolicy | OriginalPolicy
POLICIES: dict[str, type[Policy]] = {
    "best": BestPolicy,
    "paper": PaperPolicy,
    "original": OriginalPolicy,
}
