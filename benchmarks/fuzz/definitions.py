"""The privacy models by their definitions, on the values of each class.

Nothing is shared with the package but the models' parameters. All is counted in whole
numbers and compared as fractions; only logarithms are floats. The tests compare it with
a second version that moves the earth by hand.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from core_mondrian.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    MaximumRisk,
    PrivacyModel,
    PSensitiveKAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)

Value = Any
Values = Sequence[Value]
Paths = dict[str, tuple[str, ...]]
"""Of each leaf of a hierarchy its way up: ``leaf, parent, …, root``."""

NEAR = 1e-9


@cache
def decimal(limit: float) -> Fraction:
    """Return a limit as the number that was written, not as the float it became."""
    return Fraction(str(limit))


def holds(
    model: PrivacyModel,
    groups: Sequence[Values],
    sizes: Sequence[int],
    paths: Paths,
) -> bool:
    """Tell whether a table with these classes satisfies a model.

    ``groups`` are the sensitive values of each class, None a missing one, and ``sizes``
    its persons (rows, where every row is a person).
    """
    if isinstance(model, KAnonymity | MaximumRisk | AverageRisk):
        return _large_enough(model, sizes)
    if isinstance(model, AlphaKAnonymity | PSensitiveKAnonymity) and (
        min(sizes) < model.k
    ):
        return False
    kept = [Counter(group) for group in groups]
    if getattr(model, "missing", "value") == "ignored":
        for group in kept:
            group.pop(None, None)
        # Where there is nothing to disclose, a class has to be large all the same.
        bare = [n for n, group in zip(sizes, kept, strict=True) if not group]
        if min(bare, default=model.min_rows) < model.min_rows:
            return False
        kept = [group for group in kept if group]
    table: Counter[Value] = sum(kept, Counter())
    passes = _RULES[type(model)]
    return all(passes(model, group, table, paths) for group in kept)


def _large_enough(model: PrivacyModel, sizes: Sequence[int]) -> bool:
    """Tell whether the classes are as large as the models of sizes want them."""
    if isinstance(model, KAnonymity):
        return min(sizes) >= model.k
    if isinstance(model, MaximumRisk):
        return Fraction(1, min(sizes)) <= decimal(model.risk)
    if isinstance(model, AverageRisk):
        return Fraction(len(sizes), sum(sizes)) <= decimal(model.risk)
    raise NotImplementedError(model)


def fits_population(model: PrivacyModel, rows: int, fitting: int) -> bool:
    """Tell whether a class may be released that so many of the population fit."""
    if isinstance(model, KMap):
        return fitting >= model.k
    if isinstance(model, DeltaPresence):
        share = Fraction(rows, fitting)
        return decimal(model.low) <= share <= decimal(model.high)
    return True


Group = Counter[Value]


def _distinct(model: Any, group: Group, _table: Group, _paths: Paths) -> bool:
    return len(group) >= int(model.l)


def _p_sensitive(model: Any, group: Group, _table: Group, _paths: Paths) -> bool:
    return len(group) >= int(model.p)


def _entropy(model: Any, group: Group, _table: Group, _paths: Paths) -> bool:
    n = group.total()
    entropy = -sum(x / n * math.log(x / n) for x in group.values())
    return math.exp(entropy) >= float(model.l) - NEAR


def _recursive(model: Any, group: Group, _table: Group, _paths: Paths) -> bool:
    rows = sorted(group.values(), reverse=True)
    return rows[0] < decimal(model.c) * sum(rows[model.l - 1 :])


def _alpha(model: Any, group: Group, _table: Group, _paths: Paths) -> bool:
    asked = model.values or group
    most = max((group[value] for value in asked if value in group), default=0)
    return most <= decimal(model.alpha) * group.total()


def _t_closeness(model: Any, group: Group, table: Group, paths: Paths) -> bool:
    n, total = group.total(), table.total()
    # What is too much (or lacks) of each value, in parts of n * total.
    extra = {value: group[value] * total - rows * n for value, rows in table.items()}
    if model.hierarchy is not None:
        work, height = _work_in_tree(extra, paths)
    elif model.distance == "ordered":
        work, height = _work_in_order(extra)
    else:
        work, height = sum(max(0, x) for x in extra.values()), 1
    return work <= decimal(model.t) * n * total * height


def _work_in_order(extra: dict[Value, int]) -> tuple[int, int]:
    """Carry what is too much to the next value, again and again; missing comes last."""
    work = carried = 0
    ranked = sorted(value for value in extra if value is not None)
    for value in [*ranked, *([None] if None in extra else [])]:
        carried += extra[value]
        work += abs(carried)
    return work, max(1, len(extra) - 1)


def _work_in_tree(extra: dict[Value, int], paths: Paths) -> tuple[int, int]:
    """Move what is too much as low in the tree as it goes; missing is at the root."""
    height = len(next(iter(paths.values()))) - 1
    work = 0
    below: dict[tuple[str, ...], int] = {}
    for value, x in extra.items():
        apart = tuple(f"missing {level}" for level in range(height))
        below[(*apart, "*") if value is None else paths[value]] = x
    for level in range(1, height + 1):
        sides: dict[tuple[str, ...], list[int]] = {}
        for way, x in below.items():
            side = sides.setdefault(way[1:], [0, 0])
            side[x < 0] += abs(x)
        # What changes hands under a node, each of both halves of the way.
        work += level * sum(min(side) for side in sides.values())
        below = {way: more - less for way, (more, less) in sides.items()}
    return work, height


def _delta(model: Any, group: Group, table: Group, _paths: Paths) -> bool:
    n, total = group.total(), table.total()
    for value, rows in table.items():
        if not group[value]:
            if model.absent == "fails":
                return False
            continue
        # |ln(q / p)| < delta
        found = abs(math.log(Fraction(group[value] * total, n * rows)))
        if found >= model.delta + NEAR:
            return False
    return True


def _beta(model: Any, group: Group, table: Group, _paths: Paths) -> bool:
    n, total = group.total(), table.total()
    for value, count in group.items():
        rows = table[value]
        gain = Fraction(count * total - rows * n, rows * n)
        if gain > decimal(model.beta):
            return False
        if model.kind == "enhanced" and float(gain) > math.log(total / rows) + NEAR:
            return False
    return True


def _of_sizes(_model: Any, _group: Group, _table: Group, _paths: Paths) -> bool:
    return True  # what it asks of the population is asked elsewhere


_RULES: dict[type[PrivacyModel], Callable[[Any, Group, Group, Paths], bool]] = {
    DistinctLDiversity: _distinct,
    PSensitiveKAnonymity: _p_sensitive,
    EntropyLDiversity: _entropy,
    RecursiveCLDiversity: _recursive,
    AlphaKAnonymity: _alpha,
    TCloseness: _t_closeness,
    DeltaDisclosure: _delta,
    BetaLikeness: _beta,
    KMap: _of_sizes,
    DeltaPresence: _of_sizes,
}
