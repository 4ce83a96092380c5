"""The definition of each shipped privacy model, from the counts of a released table.

They are written after the pages in ``docs/models``, not after the engine's measures, of
which nothing is used here: a model is asked for its parameters, and for nothing else.
"""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from core_mondrian.runtime.array_types import Flags, Floats
from core_mondrian.tables.readings import spell
from core_mondrian.verification.counts import Classes
from core_mondrian.verification.distances import (
    equal_distance,
    hierarchical_distance,
    ordered_distance,
)

# A share of so much is rounding: sums of shares are not exact.
_ROUNDING: Final = 1e-11


class Judgement(NamedTuple):
    """What the classes of a table are by a model's definition."""

    passes: Flags
    """Of each class: whether it may be released."""
    reached: float
    """The strongest parameter that all classes satisfy; infinite if there is none."""
    holds: bool = True
    """Whether the table as a whole passes, where a model looks at more than classes."""


Model: TypeAlias = Any
"""A shipped model; only its parameters are read."""
Definition: TypeAlias = Callable[[Model, Classes], Judgement]


def definition_of(model: object) -> Definition | None:
    """Return the definition of a shipped model; None: it is somebody's own."""
    kind = type(model)
    is_ours = kind.__module__.startswith("core_mondrian.models.")
    return _DEFINITIONS.get(kind.__name__) if is_ours else None


def _at_least(measured: Floats, limit: float) -> tuple[Flags, float]:
    """Compare each class with a lower limit; those without a value (NaN) pass."""
    present = measured[~np.isnan(measured)]
    passes = np.isnan(measured) | (measured >= limit * (1 - _ROUNDING))
    return passes, float(present.min()) if present.size else math.inf


def _at_most(measured: Floats, limit: float) -> tuple[Flags, float]:
    """Compare each class with an upper limit, likewise."""
    present = measured[~np.isnan(measured)]
    passes = np.isnan(measured) | (measured <= limit * (1 + _ROUNDING))
    return passes, float(present.max()) if present.size else -math.inf


def _below(measured: Floats, limit: float) -> tuple[Flags, float]:
    """Compare each class with an upper limit that is not allowed itself."""
    _, reached = _at_most(measured, limit)
    return np.isnan(measured) | (measured < limit * (1 - _ROUNDING)), reached


def _counted(model: Model, classes: Classes) -> Classes:
    """Return the classes as the model counts them: with missing values or without."""
    return classes.without_missing() if model.missing == "ignored" else classes


def _fewest(share: float) -> int:
    """Return the fewest rows of which one is at most ``share``."""
    return math.ceil((1 - _ROUNDING) / share)


def k_anonymity(model: Model, classes: Classes) -> Judgement:
    """Every class has k persons."""
    return Judgement(*_at_least(classes.sizes.astype(np.float64), model.k))


def maximum_risk(model: Model, classes: Classes) -> Judgement:
    """Nobody is picked out of a class with more than this probability."""
    with np.errstate(divide="ignore"):
        return Judgement(*_at_most(1.0 / classes.sizes, model.risk))


def average_risk(model: Model, classes: Classes) -> Judgement:
    """Classes / persons is at most the risk; no class fails by itself."""
    persons = int(classes.sizes.sum())
    average = classes.sizes.size / persons if persons else -math.inf
    everybody = np.ones(classes.sizes.size, dtype=np.bool_)
    return Judgement(everybody, average, average <= model.risk * (1 + _ROUNDING))


def k_map(model: Model, classes: Classes) -> Judgement:
    """At least k persons of the population fit every class."""
    fitting = (classes.outside + classes.rows).astype(np.float64)
    return Judgement(*_at_least(fitting, model.k))


def delta_presence(model: Model, classes: Classes) -> Judgement:
    """Of the population that fits a class, a share of low to high is in it."""
    fitting = classes.outside + classes.rows
    share = np.full(fitting.size, math.inf)
    np.divide(classes.rows, fitting, out=share, where=fitting != 0)
    is_low, reached = _at_most(share, model.high)
    is_high, _ = _at_least(share, model.low)
    return Judgement(is_low & is_high, reached)


def distinct_diversity(model: Model, classes: Classes) -> Judgement:
    """Every class holds l values, and persons to have them."""
    return _different(model, classes, model.l, model.l)


def p_sensitivity(model: Model, classes: Classes) -> Judgement:
    """Every class holds p values, and k persons."""
    return _different(model, classes, model.p, model.k)


def _different(
    model: Model, classes: Classes, n_values: int, n_persons: int
) -> Judgement:
    counts = _counted(model, classes)
    values = counts.total(np.ones(counts.owner.size))
    passes, reached = _at_least(values, n_values)
    return Judgement(passes & (classes.sizes >= n_persons), reached)


def entropy_diversity(model: Model, classes: Classes) -> Judgement:
    """-Σ p(s) ln p(s) >= ln l; n persons have at most the entropy ln n."""
    counts = _counted(model, classes)
    share = counts.share()
    reaches = np.exp(counts.total(-share * np.log(share)))
    passes, reached = _at_least(reaches, model.l)
    is_large = classes.sizes >= model.l * (1 - _ROUNDING)
    return Judgement(passes & is_large, reached)


def recursive_diversity(model: Model, classes: Classes) -> Judgement:
    """r1 < c (r_l + … + r_m), where r1 >= r2 >= … are the rows of the class's values.

    Persons: l - 1 with the values before the l-th, and more than 1 / c with the rest.
    """
    counts = _counted(model, classes)
    order = np.lexsort((-counts.count, counts.owner))
    owner, count = counts.owner[order], counts.count[order]
    starts = np.searchsorted(owner, np.arange(counts.rows.size))
    nth = np.arange(owner.size) - starts[owner]
    tail = np.bincount(owner, count * (nth >= model.l - 1), counts.rows.size)
    most = counts.largest(counts.count)
    ratio = np.where(counts.rows > 0, math.inf, np.nan)
    np.divide(most, tail, out=ratio, where=(tail > 0) & (counts.rows > 0))
    passes, reached = _below(ratio, model.c)
    fewest = model.l + math.floor((1 + _ROUNDING) / model.c)
    return Judgement(passes & (classes.sizes >= fewest), reached)


def alpha_k_anonymity(model: Model, classes: Classes) -> Judgement:
    """Every class has k persons, and no sensitive value a larger share than alpha."""
    counts = _counted(model, classes)
    fewest, share = max(model.k, _fewest(model.alpha)), counts.share()
    if model.values:
        named = {None if one is None else spell(str(one)) for one in model.values}
        shown = [*(spell(str(label)) for label in counts.labels), None]
        is_sensitive = np.array([one in named for one in shown], dtype=np.bool_)
        fewest, share = model.k, share * is_sensitive[counts.value]
    passes, reached = _at_most(counts.largest(share), model.alpha)
    return Judgement(passes & (classes.sizes >= fewest), reached)


def t_closeness(model: Model, classes: Classes) -> Judgement:
    """The earth mover's distance of every class from the table is at most t."""
    counts = _counted(model, classes)
    if model.distance == "ordered":
        distance = ordered_distance(counts, model.sensitive)
    elif model.distance == "hierarchical":
        distance = hierarchical_distance(counts, model.hierarchy, model.sensitive)
    else:
        distance = equal_distance(counts)
    # Sums of shares are a little off even where nothing differs and t is 0.
    passes, reached = _at_most(np.maximum(distance - _ROUNDING, 0.0), model.t)
    if not math.isfinite(reached):
        return Judgement(passes, reached)
    return Judgement(passes, float(np.nanmax(distance)))


def delta_disclosure(model: Model, classes: Classes) -> Judgement:
    """|ln(q(s) / p(s))| < delta, for all values of the table or those of the class."""
    counts = _counted(model, classes)
    largest = counts.largest(np.abs(np.log(counts.share() / counts.table_share())))
    if model.absent == "fails":
        held = counts.total(np.ones(counts.owner.size))
        largest[held < np.count_nonzero(counts.table)] = math.inf
    return Judgement(*_below(largest, model.delta))


def beta_likeness(model: Model, classes: Classes) -> Judgement:
    """(q(s) - p(s)) / p(s) <= beta; enhanced: and <= -ln p(s)."""
    counts = _counted(model, classes)
    p = counts.table_share()
    gain = (counts.share() - p) / p
    if model.kind == "enhanced":
        too_much = gain > -np.log(p) * (1 + _ROUNDING) + _ROUNDING
        gain = np.where(too_much, math.inf, gain)
    return Judgement(*_at_most(counts.largest(gain), model.beta))


_DEFINITIONS: Final[dict[str, Definition]] = {
    "KAnonymity": k_anonymity,
    "MaximumRisk": maximum_risk,
    "AverageRisk": average_risk,
    "KMap": k_map,
    "DeltaPresence": delta_presence,
    "DistinctLDiversity": distinct_diversity,
    "PSensitiveKAnonymity": p_sensitivity,
    "EntropyLDiversity": entropy_diversity,
    "RecursiveCLDiversity": recursive_diversity,
    "AlphaKAnonymity": alpha_k_anonymity,
    "TCloseness": t_closeness,
    "DeltaDisclosure": delta_disclosure,
    "BetaLikeness": beta_likeness,
}
