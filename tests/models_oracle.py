"""The definitions of the privacy models, on plain lists of values.

Slow and obvious; nothing is shared with the package but the form of what a model sees
(``counted``). A class and the table it is part
of are lists of sensitive values; None is a missing one. Where a definition has sums
of shares, they are fractions; logarithms are the only floats.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from core_mondrian.models.base import ClassCounts

Value = str | int | None
Values = Sequence[Value]


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
