"""The definitions of the privacy models, on plain lists of values.

Slow and obvious; nothing is shared with the package but the form of what a model sees
(``counted``) and the models' parameters. A class and the table it is part of are lists
of sensitive values; None is a missing one. Where a definition has sums of shares, they
are fractions; logarithms are the only floats.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    ClassCounts,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    MaximumRisk,
    PrivacyModel,
    PSensitiveKAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)

Value = str | int | None
Values = Sequence[Value]

PATHS = [
    ("a", "ab", "abc", "*"),
    ("b", "ab", "abc", "*"),
    ("c", "c", "abc", "*"),
    ("d", "de", "de", "*"),
    ("e", "de", "de", "*"),
    ("z", "z", "z", "*"),
]
"""A hierarchy of sensitive values, ``leaf, parent, …, root``."""
TREE = from_paths(PATHS)


def share(values: Values, value: Value) -> Fraction:
    """Return which part of ``values`` is ``value``."""
    return Fraction(sum(other == value for other in values), len(values))


def without_missing(values: Values) -> list[Value]:
    return [value for value in values if value is not None]


def in_order(values: Values) -> list[Value]:
    """Return the different values, rising, the missing one last."""
    return sorted(set(values), key=lambda value: (value is None, str(value)))


def distinct_values(group: Values) -> int:
    return len(set(group))


def entropy_diversity(group: Values) -> float:
    """Return e to the entropy: the product of (1 / p) ** p."""
    shares = [float(share(group, value)) for value in set(group)]
    return math.prod((1 / p) ** p for p in shares)


def recursive_ratio(group: Values, l: int) -> float:  # noqa: E741
    """Return r1 / (r_l + … + r_m)."""
    rows = sorted(Counter(group).values(), reverse=True)
    rest = sum(rows[l - 1 :])
    return rows[0] / rest if rest else math.inf


def largest_share(group: Values, among: Values = ()) -> Fraction:
    return max(
        (share(group, value) for value in set(group) if not among or value in among),
        default=Fraction(0),
    )


def equal_distance(group: Values, table: Values) -> Fraction:
    """Return what has to change hands, by moving it."""
    return earth_movers_distance(group, table, lambda *_: Fraction(1))


def ordered_distance(group: Values, table: Values) -> Fraction:
    ranks = {value: rank for rank, value in enumerate(in_order(table))}
    longest = max(1, len(ranks) - 1)

    return earth_movers_distance(
        group,
        table,
        lambda one, other: Fraction(abs(ranks[one] - ranks[other]), longest),
    )


def hierarchical_distance(
    group: Values, table: Values, paths: Sequence[Sequence[str]]
) -> Fraction:
    """Return the distance by a tree given as rows ``leaf, parent, …, root``."""
    way_up = {path[0]: path for path in paths}
    height = len(paths[0]) - 1

    def apart(one: Value, other: Value) -> Fraction:
        if one is None or other is None:
            return Fraction(1)
        up, other_up = way_up[str(one)], way_up[str(other)]
        meet = next(h for h in range(height + 1) if up[h:] == other_up[h:])
        return Fraction(meet, height)

    return earth_movers_distance(group, table, apart)


def earth_movers_distance(
    group: Values, table: Values, apart: Callable[[Value, Value], Fraction]
) -> Fraction:
    """Return the least work that turns one distribution into the other.

    Each value of the class stands for as much earth as there are rows in the table,
    and the other way round; what stays where it is costs nothing. The cheapest way is
    found by taking the shortest detour again and again (a transport problem).
    """
    values = in_order([*group, *table])
    supply = [list(group).count(value) * len(table) for value in values]
    demand = [list(table).count(value) * len(group) for value in values]
    cost = [
        [Fraction(0) if one == other else apart(one, other) for other in values]
        for one in values
    ]
    work = least_work(supply, demand, cost)
    return work / (len(group) * len(table))


def least_work(
    supply: list[int], demand: list[int], cost: list[list[Fraction]]
) -> Fraction:
    """Solve a transport problem by successive shortest paths."""
    n = len(supply)
    flow = [[0] * n for _ in range(n)]
    left, lacking = list(supply), list(demand)
    while any(left):
        steps = cheapest_way(left, lacking, cost, flow)
        taken_back = [flow[i][j] for i, j, sign in steps if sign < 0]
        end, start = steps[0][1], steps[-1][0]
        amount = min([left[start], lacking[end], *taken_back])
        for i, j, sign in steps:
            flow[i][j] += sign * amount
        left[start] -= amount
        lacking[end] -= amount
    return sum(
        (flow[i][j] * cost[i][j] for i in range(n) for j in range(n)), Fraction(0)
    )


def cheapest_way(
    left: list[int],
    lacking: list[int],
    cost: list[list[Fraction]],
    flow: list[list[int]],
) -> list[tuple[int, int, int]]:
    """Return the steps from one with earth left to one who lacks some, last first.

    A step brings earth from i to j (1), or takes back what was brought there (-1), for
    which the cost is returned (Bellman and Ford).
    """
    n = len(left)
    far = Fraction(10**9)
    at_source = [Fraction(0) if earth else far for earth in left]
    at_sink = [far] * n
    before_source: list[int | None] = [None] * n
    before_sink = [0] * n
    for _, i, j in itertools.product(range(2 * n), range(n), range(n)):
        if at_source[i] + cost[i][j] < at_sink[j]:
            at_sink[j] = at_source[i] + cost[i][j]
            before_sink[j] = i
        if flow[i][j] and at_sink[j] - cost[i][j] < at_source[i]:
            at_source[i] = at_sink[j] - cost[i][j]
            before_source[i] = j
    sink: int | None = min((j for j in range(n) if lacking[j]), key=at_sink.__getitem__)
    steps: list[tuple[int, int, int]] = []
    while sink is not None:
        source = before_sink[sink]
        steps.append((source, sink, 1))
        sink = before_source[source]
        if sink is not None:
            steps.append((source, sink, -1))
    return steps


def largest_disclosure(group: Values, table: Values, *, absent_fails: bool) -> float:
    """Return the largest |ln(q / p)| over the values of the table."""
    found = [0.0]
    for value in set(table):
        ratio = share(group, value) / share(table, value)
        if ratio:
            found.append(abs(math.log(ratio)))
        elif absent_fails:
            found.append(math.inf)
    return max(found)


def largest_gain(group: Values, table: Values) -> Fraction:
    """Return the largest (q - p) / p."""
    return max(
        (share(group, value) - share(table, value)) / share(table, value)
        for value in set(table)
    )


def is_enhanced_like(group: Values, table: Values) -> bool:
    """Tell whether every gain is at most -ln p."""
    return all(
        float(gain_of(group, table, value)) <= -math.log(share(table, value)) + 1e-12
        for value in set(table)
    )


def gain_of(group: Values, table: Values, value: Value) -> Fraction:
    p = share(table, value)
    return (share(group, value) - p) / p


def counted(groups: Sequence[Values], never: Values = ()) -> ClassCounts:
    """Return classes as the package sees them; no row has the values of ``never``."""
    present = without_missing([value for group in groups for value in group])
    labels = without_missing(in_order([*present, *never]))
    rows = [[list(group).count(value) for value in labels] for group in groups]
    missing = [list(group).count(None) for group in groups]
    return ClassCounts(
        rows=np.array([len(group) for group in groups], dtype=np.int64),
        by_value=np.column_stack(
            [np.array(rows, dtype=np.int64).reshape(len(groups), -1), missing]
        ).astype(np.int64),
        labels=tuple(labels),
    )


def ranked(model: PrivacyModel, classes: ClassCounts) -> ClassCounts:
    """Return classes as a model sees them: the order of letters is their rank."""
    if getattr(model, "distance", "") != "ordered":
        return classes
    return replace(classes, labels=tuple(range(len(classes.labels))))


# --- the models themselves, on classes given as lists --------------------------------


def decimal(limit: float) -> Fraction:
    """Return a limit as the number that was written, not as the float it became."""
    return Fraction(str(limit))


def accepts(
    model: PrivacyModel,
    groups: Sequence[Values],
    persons: Sequence[int] | None = None,
) -> bool:
    """Tell whether a table with these classes satisfies a model of ours.

    ``groups`` are the sensitive values of each class, which together are the table;
    ``persons`` says how many persons each class has, if that is not its rows.
    """
    sizes = [len(group) for group in groups] if persons is None else list(persons)
    if isinstance(model, KAnonymity):
        return min(sizes) >= model.k
    if isinstance(model, MaximumRisk):
        return max(Fraction(1, n) for n in sizes) <= decimal(model.risk)
    if isinstance(model, AverageRisk):
        return Fraction(len(sizes), sum(sizes)) <= decimal(model.risk)
    if (
        isinstance(model, PSensitiveKAnonymity | AlphaKAnonymity)
        and min(sizes) < model.k
    ):
        return False
    kept = [list(group) for group in groups]
    if model.skips_missing:
        kept = [without_missing(group) for group in groups]
        # Where there is nothing to disclose, a class has to be large all the same.
        bare = [n for n, group in zip(sizes, kept, strict=True) if not group]
        if min(bare, default=model.min_rows) < model.min_rows:
            return False
    table = [value for group in kept for value in group]
    return all(accepts_class(model, group, table) for group in kept if group)


def accepts_class(  # noqa: C901, PLR0911, PLR0912
    model: PrivacyModel, group: Values, table: Values
) -> bool:
    """Tell whether the values of one class are as the definition wants them."""
    match model:
        case DistinctLDiversity():
            return distinct_values(group) >= model.l
        case PSensitiveKAnonymity():
            return distinct_values(group) >= model.p
        case EntropyLDiversity():
            return entropy_diversity(group) >= model.l - 1e-9
        case RecursiveCLDiversity():
            rows = sorted(Counter(group).values(), reverse=True)
            return rows[0] < decimal(model.c) * sum(rows[model.l - 1 :])
        case AlphaKAnonymity():
            return largest_share(group, model.values) <= decimal(model.alpha)
        case TCloseness():
            return distance_by(model, group, table) <= decimal(model.t)
        case DeltaDisclosure():
            fails = model.absent == "fails"
            found = largest_disclosure(group, table, absent_fails=fails)
            return found < model.delta + 1e-9
        case BetaLikeness():
            enhanced = model.kind == "enhanced"
            if enhanced and not is_enhanced_like(group, table):
                return False
            return largest_gain(group, table) <= decimal(model.beta)
    raise NotImplementedError(model)


def distance_by(model: TCloseness, group: Values, table: Values) -> Fraction:
    if model.hierarchy is not None:
        return hierarchical_distance(group, table, PATHS)
    by = ordered_distance if model.distance == "ordered" else equal_distance
    return by(group, table)


# --- models to try --------------------------------------------------------------------


@st.composite
def sized_models(draw: Any, most: int) -> PrivacyModel:
    """Models that look at sizes; few of them ask for more than ``most`` rows."""
    if draw(st.booleans()):
        return KAnonymity(draw(st.integers(2, max(2, most))))
    risks = st.sampled_from([0.6, 0.5, 0.34, 0.3, 0.2, 0.1])
    kind = draw(st.sampled_from([MaximumRisk, AverageRisk]))
    return kind(draw(risks))


@st.composite
def sensitive_models(
    draw: Any, column: str, *, has_tree: bool, has_order: bool = True
) -> PrivacyModel:
    """Every model of a sensitive column, rather weak so that many tables meet it."""
    missing = draw(st.sampled_from(["value", "ignored"]))
    small = st.integers(2, 3)
    tenths = st.integers(1, 9).map(lambda n: n / 10)
    p = draw(small)
    some = ("a", None) if has_tree else (1, 2)
    # Kind, and what comes before the column and after it.
    kinds: list[tuple[type[Any], tuple[Any, ...], tuple[Any, ...]]] = [
        (DistinctLDiversity, (small,), ()),
        (PSensitiveKAnonymity, (p, p + draw(st.integers(0, 2))), ()),
        (EntropyLDiversity, (st.sampled_from([1.01, 1.3, 1.7, 2.0, 2.5]),), ()),
        (RecursiveCLDiversity, (st.sampled_from([0.5, 1.0, 1.5, 3.0, 9.0]), small), ()),
        (AlphaKAnonymity, (st.sampled_from([0.4, 0.5, 0.6, 0.75]), small), ((),)),
        (AlphaKAnonymity, (tenths, small), (some,)),
        (TCloseness, (tenths | st.just(0),), ("equal", None)),
        (TCloseness, (tenths,), ("ordered", None)),
        (TCloseness, (tenths,), ("hierarchical", TREE)),
        (DeltaDisclosure, (st.sampled_from([0.2, 0.7, 1.5, 3.0]),), ("fails",)),
        (DeltaDisclosure, (st.sampled_from([0.2, 0.7, 1.5, 3.0]),), ("allowed",)),
        (BetaLikeness, (st.sampled_from([0.1, 0.5, 1.0, 3.0]),), ("basic",)),
        (BetaLikeness, (st.sampled_from([0.1, 0.5, 1.0, 3.0]),), ("enhanced",)),
    ]
    # Letters have a tree and no order, numbers may have an order and have no tree.
    others = {"ordered"} if has_tree or not has_order else set()
    others |= set() if has_tree else {"hierarchical"}
    possible = [one for one in kinds if not others.intersection(one[2][:1])]
    kind, before, after = draw(st.sampled_from(possible))
    drawn = [draw(x) if isinstance(x, st.SearchStrategy) else x for x in before]
    model: PrivacyModel = kind(*drawn, column, *after, missing=missing)
    return model
