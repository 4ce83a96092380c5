"""Cut policies as values: which cut is best here, and what may be asked of it."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from types import FunctionType
from typing import Any, ClassVar, Literal, get_args

from core_mondrian.errors import SpecError
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.metadata import SEARCH, TEXT, TRUTH, Flag, declare

CutPoints = Literal["median", "bin_edges", "lossless"]
Spend = Literal["last-resort", "as-written"]
SPENDING: tuple[Spend, ...] = ("last-resort", "as-written")
Effort = Literal["auto", "fast", "light", "strong", "thorough", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)


@dataclass(frozen=True, slots=True)
class BestPolicy:
    """Exact cuts: of all candidates the one whose sides lose least as released."""

    effort: Effort = declare(
        "How long to search; longer loses less.",
        "auto",
        kind=TEXT,
        choices=EFFORTS,
        docs='`"fast"`: cut and relax; `"light"`: also regroup classes, once, in '
        'larger blocks; `"strong"`: with more neighbours, and anneal small classes; '
        '`"thorough"`: the same, in the largest blocks and more often; `"max"`: '
        "classes are annealed much longer, which takes many times as long; "
        '`"auto"`: the most of these that the [size of the table](best.md#auto) allows',
        flag=Flag(
            "--effort",
            SEARCH,
            "LEVEL",
            "How long policy best searches: fast, light, strong, thorough, max; or by "
            "the size of the table.",
        ),
    )
    disjoint: bool = declare(
        "Keep the boxes of classes disjoint.",
        False,  # noqa: FBT003
        kind=TRUTH,
        docs="A new row then belongs to one class; loses a little more",
        flag=Flag(
            "--disjoint",
            SEARCH,
            help="Policy best: classes that do not overlap; loses more.",
        ),
    )
    beta: float | None = declare(
        "Weight of impurity relative to loss, 0 to 1000; else the data chooses.",
        None,
        shown_default="chosen by a sample of the tuples",
    )
    price: float = declare(
        "What a suppressed cell costs, where 1 is a cell that shows nothing.",
        1.0,
        docs="With a budget, a row is suppressed only if that is cheaper",
    )
    equity: str | None = declare(
        "Column whose groups should lose about as much as each other.",
        None,
        kind=TEXT,
        docs="The rows of [groups](equity.md) that lose most count more, in up to 6 "
        "searches",
        flag=Flag(
            "--equity",
            SEARCH,
            "COLUMN",
            "Policy best: groups that should lose about as much as each other.",
        ),
    )
    equity_bound: float | None = declare(
        "How much the worst group may lose, as a multiple of all.",
        None,
        docs="As a multiple of what all rows lose without `equity`; without it, equity "
        "goes on while the worst group gains at least the share that all rows lose",
    )

    name: ClassVar = "best"
    base: ClassVar = "best"

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
    """Return whether it is a number that a float holds; truth values are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 <= value <= 1  # type: ignore[operator]


def _is_count(value: object, least: int) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and value >= least  # type: ignore[operator]


HOOKS: dict[str, tuple[str, ...]] = {
    "cut_choices": ("rows", "low", "high", "rilm", "rank", "parameters"),
    "propose": ("column", "codes", "rows", "values", "cuts", "parameters"),
    "score": ("column", "codes", "rows", "values", "parts", "parameters"),
    "accept": ("column", "rows", "loss", "budget", "score", "parameters"),
    "release": ("rows", "budget", "low", "high", "rilm", "parameters"),
}
"""What a policy of your own may decide itself, and what it is given for that."""


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
        return [self._parameter(name, columns) for name in _own_fields(self)]

    def _parameter(self, name: str, columns: Sequence[str]) -> float:
        value = getattr(self, name)
        if isinstance(value, str) and value in columns:
            return float(columns.index(value))
        if isinstance(value, bool) or _is_number(value):
            return float(value)
        if isinstance(value, str):
            raise SpecError(
                f"{self.name}.{name} is {value!r}, which is not a quasi-identifier",
                hint=f"they are {list(columns)}",
            )
        raise SpecError(
            f"{self.name}.{name} is neither a number nor a column",
            hint="functions of a policy are given numbers; put the rest into the file",
        )


def _own_fields(policy: FunnelPolicy) -> list[str]:
    """Return the fields that a class of the user's adds to what it builds on."""
    base = OriginalPolicy if isinstance(policy, OriginalPolicy) else PaperPolicy
    ours = {item.name for item in fields(base)}
    return [item.name for item in fields(policy) if item.name not in ours]  # type: ignore[arg-type]


def own_functions(policy: object) -> dict[str, Callable[..., Any]]:
    """Return the functions by which a policy of the user's decides itself."""
    functions = {name: getattr(type(policy), name, None) for name in HOOKS}
    return {name: own for name, own in functions.items() if own is not None}


def describe_policy(policy: "Policy") -> JsonObject:
    """Return a policy as plain values: its name and its fields.

    One of the user's also says what it builds on, and what it decides itself.
    """
    described: JsonObject = {"name": policy.name}
    if policy.name != policy.base:
        own = [*own_functions(policy)]
        if getattr(type(policy), "show", None) is not None:
            own.append("show")
        described |= {"base": policy.base, "decides": own}
    return asdict(policy) | described


def check_policy(policy: object) -> None:
    """Refuse what is not a policy, and functions with other parameters."""
    if type(policy) is BestPolicy or type(policy) in _SHIPPED:
        return
    if not isinstance(policy, _SHIPPED):
        kind = policy if isinstance(policy, type) else type(policy)
        raise SpecError(
            f"{kind.__name__} is not a policy",
            hint="take BestPolicy(), PaperPolicy() or OriginalPolicy(), or a class of "
            "your own that inherits from one of the last two",
            key=("policy",),
        )
    if problem := _problem_of(policy):
        reason, hint = problem
        raise SpecError(f"{type(policy).__name__} {reason}", hint=hint, key=("policy",))
    for name, wanted in {**HOOKS, "show": ("column", "values")}.items():
        own = getattr(type(policy), name)
        if own is not None and not _takes(own, len(wanted)):
            raise SpecError(
                f"{type(policy).__name__}.{name} does not take ({', '.join(wanted)})",
                hint="write @staticmethod above it, and these parameters",
                key=("policy",),
            )


def _problem_of(policy: FunnelPolicy) -> tuple[str, str] | None:
    """Return what is wrong with a policy of the user's as a class, and what helps."""
    kind = type(policy)
    if "__dataclass_fields__" not in vars(kind):
        return "is not a dataclass", "write @dataclass(frozen=True) above the class"
    if taken := {"name", "base", "show", *HOOKS} & set(_own_fields(policy)):
        return f"has a field called {min(taken)!r}", "give the field another name"
    if kind.release is not None and getattr(policy, "spend", "") != "as-written":
        return (
            "may suppress classes (release), but nothing may be spent",
            "inherit from PaperPolicy, and say spend = 'as-written'",
        )
    is_alone = kind.score is not None and kind.propose is None
    if is_alone and isinstance(policy, OriginalPolicy):
        return (
            "scores cuts, of which OriginalPolicy has one a column",
            "inherit from PaperPolicy, or propose more of them",
        )
    return None


def _takes(function: Callable[..., Any], n: int) -> bool:
    """Return whether a function takes ``n`` arguments by position."""
    if not isinstance(function, FunctionType):
        return False
    code = function.__code__
    return code.co_argcount == n and not code.co_kwonlyargcount


@dataclass(frozen=True, slots=True)
class PaperPolicy(FunnelPolicy):
    """Core Mondrian's funnel (§3.3) and its parameters."""

    cut_points: tuple[CutPoints, ...] = declare(
        "Where numbers may be cut.",
        ("median", "lossless"),
        docs='At the `"median"`, at the `"bin_edges"` of a histogram, and at '
        '`"lossless"` cuts: rows tied at the median on the other side, and where no '
        "other keeps all rows the most even one that does; without it, small children "
        'of a category are not filled up either. `["median"]` alone is the classic',
    )
    spend: Spend = declare(
        "Whether partitions solved in place suppress rows, too.",
        "last-resort",
        docs='`"last-resort"`: partitions with fewer than `inline_below` rows suppress '
        'nothing; `"as-written"`: they spend their budget, [as the paper says]'
        "(paper.md#36-suppression-budget)",
    )
    bin_edges_above: float = declare("Bin edges from this share of all rows on.", 0.25)
    max_bin_edges: int = declare("Edges proposed per histogram.", 10)
    min_bin_values: int = declare("Distinct values a histogram needs.", 5)
    tails: tuple[float, ...] = declare(
        "Percent cut off both ends, in any order, 0 among them.",
        (10.0, 1.0, 0.1, 0.01, 0.001, 0.0),
        docs="For the percentile domains: the smallest domain that holds a partition "
        "counts",
    )
    rilm_epsilon: float | None = declare(
        'Columns this close in RILM compete; "always": all do.',
        0.0,
        docs='Competition is by score; `None` in Python is `"always"`; below 0: none '
        "do",
    )
    compete_above: float = declare(
        "Columns compete from this share of all rows on.", 0.0
    )
    breakout_multiplier: float | None = declare(
        "How far above its threshold a column is left alone.",
        None,
        shown_default="off",
        docs="Its RILM counts; 0 to 1",
    )
    breakout_thresholds: tuple[tuple[str, float], ...] = declare(
        "RILM threshold of single columns, 0 to 1.",
        (),
        docs="A table; other columns take the spec's thresholds. Needs a "
        "`breakout_multiplier`",
    )

    def __post_init__(self) -> None:
        if not _are_words(self.cut_points):
            raise SpecError("paper.cut_points is a list of words")
        cut_points = get_args(CutPoints)
        if not self.cut_points or set(self.cut_points) - set(cut_points):
            raise SpecError(f"paper.cut_points takes {', '.join(cut_points)}")
        if self.spend not in SPENDING:
            raise SpecError(f"paper.spend is one of {', '.join(SPENDING)}")
        _check_numbers(self)
        object.__setattr__(self, "tails", _tightest_first(self.tails))
        _check_breakout(self)


def _check_numbers(policy: PaperPolicy) -> None:
    for key in ("bin_edges_above", "compete_above"):
        if not _is_share(getattr(policy, key)):
            raise SpecError(f"paper.{key} is a share between 0 and 1")
    for key, least in (("max_bin_edges", 1), ("min_bin_values", 2)):
        if not _is_count(getattr(policy, key), least):
            raise SpecError(f"paper.{key} is a whole number >= {least}")
    if policy.rilm_epsilon is not None and not _is_number(policy.rilm_epsilon):
        raise SpecError("paper.rilm_epsilon is a number, or None: all compete")
    multiplier = policy.breakout_multiplier
    if multiplier is not None and not _is_share(multiplier):
        raise SpecError("paper.breakout_multiplier lies between 0 and 1")


def _are_words(values: object) -> bool:
    is_list = isinstance(values, tuple | list)
    return is_list and all(isinstance(value, str) for value in values)  # type: ignore[attr-defined]


def _tightest_first(tails: Sequence[float]) -> tuple[float, ...]:
    """Return the tails falling, each once: the first domain that fits is smallest."""
    limits = tails if isinstance(tails, tuple | list) else ()
    if (
        not all(_is_number(tail) and 0 <= tail < 50 for tail in limits)
        or 0 not in limits
    ):
        raise SpecError(
            "paper.tails are percentages below 50, one of them 0",
            hint="the widest domain has to hold every value",
        )
    return tuple(sorted({float(tail) for tail in limits}, reverse=True))


def _check_breakout(policy: PaperPolicy) -> None:
    """Check the thresholds; the spec knows whether there are such columns."""
    thresholds: object = policy.breakout_thresholds
    pairs = thresholds if isinstance(thresholds, tuple) else (None,)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise SpecError(
            "paper.breakout_thresholds are columns with a RILM each",
            hint='such as { age = 0.8 }, or in Python (("age", 0.8),)',
        )
    columns = [column for column, _ in pairs]
    if not _are_words(columns):
        raise SpecError("paper.breakout_thresholds are for columns, by their names")
    for column, threshold in pairs:
        _check_threshold(column, threshold, columns.count(column))
    if columns and policy.breakout_multiplier is None:
        raise SpecError(
            "paper.breakout_thresholds without paper.breakout_multiplier",
            hint="thresholds count with a multiplier: breakout_multiplier = 0 "
            "leaves columns alone from the threshold itself on",
        )


def _check_threshold(column: str, threshold: object, n_times: int) -> None:
    key = ("paper", "breakout_thresholds", column)
    if not _is_share(threshold):
        problem = f"paper.breakout_thresholds of {column!r} lies between 0 and 1"
        raise SpecError(problem, key=key)
    if n_times > 1:
        problem = f"paper.breakout_thresholds has {column!r} more than once"
        raise SpecError(problem, key=key)


@dataclass(frozen=True, slots=True)
class OriginalPolicy(FunnelPolicy):
    """LeFevre's Mondrian: widest normalized range, strict median, no suppression."""

    variant: Literal["fair", "as_published"] = declare(
        "Whether the next-widest column is tried.",
        "fair",
        docs='`"as_published"` gives up, as the paper\'s baseline does',
    )

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
