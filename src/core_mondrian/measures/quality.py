"""Thresholds: whether a release is good enough, and which of several is best."""

import dataclasses
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from core_mondrian.errors import SpecError
from core_mondrian.measures.utility import ColumnMeasures, Measures
from core_mondrian.spec.thresholds import Thresholds

# Steepness of the score below and above a threshold, by powers of the threshold.
_BELOW = (-3.45, 158.0, -989.0, 2948.0, -4426.0, 3229.0, -906.0)
_ABOVE = (11.2, -54.2, 293.0, -546.0, 369.0)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A threshold that is not reached."""

    metric: str
    """The name of the threshold."""
    threshold: float
    value: float | None
    """What was reached; None: it is not defined for this release."""

    def __str__(self) -> str:
        reached = "undefined" if self.value is None else f"{self.value:.4g}"
        return f"{self.metric} is {reached}, asked for at least {self.threshold:.4g}"


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    value: float | None
    threshold: float


def check(
    measures: Measures, thresholds: Thresholds, exclude: Collection[str] = ()
) -> tuple[Shortfall, ...]:
    """Return the thresholds that are missed; none: all are met.

    The columns in ``exclude`` take no part in a minimum. A minimum over no column is
    met; one that is undefined is missed.
    """
    return tuple(
        Shortfall(metric.name, metric.threshold, metric.value)
        for metric in _asked(measures, thresholds, exclude)
        if metric.value is None or metric.value < metric.threshold
    )


def score(
    measures: Measures, thresholds: Thresholds, exclude: Collection[str] = ()
) -> float:
    """Return how far the thresholds are passed, less how far they are missed."""
    metrics = _asked(measures, thresholds, exclude)
    return math.fsum(score_one(metric.value, metric.threshold) for metric in metrics)


def score_one(value: float | None, threshold: float | None) -> float:
    """Return one threshold's part of the score: steep near it, flat far from it.

    Raises:
        SpecError: the value or the threshold does not lie between 0 and 1.
    """
    if threshold is None:
        return 0.0
    _check_share(threshold, "threshold")
    if value is None:
        return -2.0 * threshold
    _check_share(value, "value")
    ahead = value - threshold
    if ahead > 0.0:
        steepness = _polynomial(_ABOVE, threshold)
        return (1.0 - threshold) * (2.0 * _logistic(steepness * ahead) - 1.0)
    if threshold == 0.0:
        return ahead
    steepness = _polynomial(_BELOW, threshold)
    return threshold * (2.0 * _logistic(steepness * (ahead / threshold + 1.0)) - 2.0)


def select_best(
    runs: Sequence[Measures], thresholds: Thresholds, exclude: Collection[str] = ()
) -> tuple[int, bool]:
    """Return the position of the best run and whether it meets the thresholds.

    If none does, thresholds on what no run defines are dropped and all are tried again.

    Raises:
        SpecError: there are no runs.
    """
    if not runs:
        raise SpecError("no runs to select from")
    passing = _passing(runs, thresholds, exclude)
    if not passing:
        thresholds = _relax(runs, thresholds, exclude)
        passing = _passing(runs, thresholds, exclude)
    candidates = passing or list(range(len(runs)))
    scores = [score(runs[position], thresholds, exclude) for position in candidates]
    return candidates[scores.index(max(scores))], bool(passing)


def _check_share(share: float, what: str) -> None:
    if not 0.0 <= share <= 1.0:
        raise SpecError(f"a {what} lies between 0 and 1")


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    result = 0.0
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _passing(
    runs: Sequence[Measures], thresholds: Thresholds, exclude: Collection[str]
) -> list[int]:
    return [
        position
        for position, run in enumerate(runs)
        if not check(run, thresholds, exclude)
    ]


def _relax(
    runs: Sequence[Measures], thresholds: Thresholds, exclude: Collection[str]
) -> Thresholds:
    """Return the thresholds without those that no run has a value for."""
    defined = {
        metric.name
        for run in runs
        for metric in _asked(run, thresholds, exclude)
        if metric.value is not None
    }
    names = {item.name for item in dataclasses.fields(thresholds)}
    return dataclasses.replace(thresholds, **dict.fromkeys(names - defined))


def _asked(
    measures: Measures, thresholds: Thresholds, exclude: Collection[str]
) -> tuple[_Metric, ...]:
    """Return the metrics that are present and have a threshold."""
    columns = [column for column in measures.columns if column.name not in exclude]
    numbers = [column for column in columns if column.kind == "number"]
    categories = [column for column in columns if column.kind == "category"]
    # An all-missing number has no range to lose: as if there were no such column.
    ranged = [c for c in numbers if c.rilm is not None or measures.n_released == 0]
    limits = (
        (
            "pct_non_suppressed",
            [measures.share_released],
            thresholds.pct_non_suppressed,
        ),
        ("rilm_categorical", _each(categories, _rilm), thresholds.rilm_categorical),
        ("rilm_numerical", _each(ranged, _rilm), thresholds.rilm_numerical),
        ("pearson", _each(numbers, _pearson), thresholds.pearson),
        ("nmi", _each(numbers, _nmi), thresholds.nmi),
    )
    return tuple(
        _Metric(name, _minimum(values), threshold)
        for name, values, threshold in limits
        if values and threshold is not None
    )


def _each(
    columns: list[ColumnMeasures], read: Callable[[ColumnMeasures], float | None]
) -> list[float | None]:
    return [read(column) for column in columns]


def _minimum(values: list[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _rilm(column: ColumnMeasures) -> float | None:
    return column.rilm


def _pearson(column: ColumnMeasures) -> float | None:
    return column.pearson


def _nmi(column: ColumnMeasures) -> float | None:
    return column.nmi_scaled_v1
