"""Linear and logistic regressions, before and after."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from core_mondrian.analysis.analyst_statistics.answers import (
    NOISE,
    Answer,
    Row,
    unanswered,
)
from core_mondrian.analysis.analyst_statistics.cells import Tables
from core_mondrian.analysis.analyst_statistics.design import (
    Side,
    find_features,
    lay_out,
)
from core_mondrian.analysis.analyst_statistics.groups import Outcome, find_outcome
from core_mondrian.analysis.analyst_statistics.questions import Question
from core_mondrian.runtime.array_types import Floats

_STEEP: Final = 30.0
"""Scaled coefficients and errors beyond this mean that there is no finite estimate."""
_FLAT: Final = 0.01
"""A predictor that varies less in the release, next to the original, says nothing."""


@dataclass(frozen=True, slots=True)
class _Fit:
    coefficients: Floats
    errors: Floats
    quality: float
    """R² or the mean log-loss."""


@dataclass(frozen=True, slots=True)
class _Data:
    """Weighted rows without blanks; features are scaled alike in both tables."""

    features: Floats
    outcome: Floats
    weights: Floats


class _NoFitError(Exception):
    """There is no finite estimate; the message says why."""


def answer_regression(question: Question, tables: Tables) -> Answer:
    """Compare coefficients, their standard errors and how well the model fits."""
    outcome = find_outcome(tables, question)
    columns = [tables.column(name) for name in question.by]
    features = find_features(columns, tables)
    sides = [
        lay_out(features, [getattr(c, side) for c in columns], cells)
        for side, cells in (
            ("before", outcome.column.before),
            ("after", outcome.column.after),
        )
    ]
    before, after = (
        _data(outcome, side, cells)
        for side, cells in zip(
            sides, (outcome.column.before, outcome.column.after), strict=True
        )
    )
    if before.weights.sum() < (k := tables.spec.min_rows):
        return unanswered(question, f"fewer than {k} have all its columns")
    deviations = _deviations(before), _deviations(after)
    varies = (deviations[0] > 0.0) & (deviations[1] > _FLAT * deviations[0])
    names = [one.name for one, kept in zip(features, varies, strict=True) if kept]
    if not names:
        return unanswered(question, "no predictor varies in both tables")
    scale = deviations[0][varies]
    fits = []
    for data, what in ((before, "original"), (after, "release")):
        kept = _Data(data.features[:, varies] / scale, data.outcome, data.weights)
        try:
            fits.append(_fit(kept, is_logistic=question.kind == "logistic"))
        except _NoFitError as error:
            return unanswered(question, f"in the {what} {error}")
    left_out = tables.left_out(before.weights, after.weights)
    rows = _rows(names, scale, *fits)
    n_dropped = int((~varies).sum())
    answer = _answer(question, rows, (fits[0], fits[1], n_dropped), left_out)
    against = {
        f"{question.by[one.column]} {one.against}": None
        for one in features
        if one.against
    }
    next_to = f", relative to {', '.join(against)}" if against else ""
    return replace(answer, what=f"coefficients for the {outcome.what}{next_to}")


def _data(outcome: Outcome, side: Side, cells: Any) -> _Data:  # noqa: ANN401
    values, known = outcome.values(cells)
    weights = side.counts * side.known * known[side.outcome]
    kept = weights > 0
    return _Data(side.features[kept], values[side.outcome][kept], weights[kept])


def _deviations(data: _Data) -> Floats:
    """Return the standard deviation of each feature; 0 where there are no rows."""
    if not len(data.features):
        return np.zeros(data.features.shape[1])
    mean = np.average(data.features, axis=0, weights=data.weights)
    squares = np.average((data.features - mean) ** 2, axis=0, weights=data.weights)
    deviations: Floats = np.sqrt(squares)
    # What remains of a constant after rounding.
    return np.where(deviations > 1e-9 * np.abs(mean), deviations, 0.0)


def _fit(data: _Data, *, is_logistic: bool) -> _Fit:
    """Fit a model to weighted rows, centred: dates could not be told from 1 else.

    A weight is a number of rows, of which there may be a part: the degrees of freedom
    are counted by it, and an outcome that is a value in part counts as much of it.
    """
    from statsmodels.genmod.families import Binomial, Gaussian
    from statsmodels.genmod.generalized_linear_model import GLM

    if np.ptp(data.outcome) == 0.0:
        raise _NoFitError("the outcome has one value only")
    centre = np.average(data.features, axis=0, weights=data.weights)
    design = np.column_stack([np.ones(len(data.features)), data.features - centre])
    _check_predictors(design, data.weights)
    model = GLM(
        data.outcome,
        design,
        family=Binomial() if is_logistic else Gaussian(),
        freq_weights=data.weights,
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what they warn of is looked for in the result
        fitted = model.fit(maxiter=200, tol=1e-12)
        fit = _Fit(
            fitted.params[1:],
            fitted.bse[1:],
            _quality(fitted, data, is_logistic=is_logistic),
        )
    if is_logistic and not (fitted.converged and _is_estimate(fit)):
        raise _NoFitError(
            "the predictors separate the outcomes of some rows completely, so that "
            "the coefficients have no finite estimate"
        )
    return fit


def _quality(fitted: Any, data: _Data, *, is_logistic: bool) -> float:  # noqa: ANN401  # of statsmodels
    """Return R² of a linear model, and of a logistic one the mean log-loss."""
    if not is_logistic:
        return float(1.0 - fitted.deviance / fitted.null_deviance)
    line = np.asarray(fitted.predict(which="linear"))
    # Written so that neither logarithm is of 0.
    losses = np.logaddexp(0.0, line) - data.outcome * line
    return float(np.average(losses, weights=data.weights))


def _is_estimate(fit: _Fit) -> bool:
    """Tell whether a fit has an estimate, and is not on its way to infinity."""
    steepest = np.abs([fit.coefficients, fit.errors]).max()  # not a number, if any is
    return bool(steepest <= _STEEP and fit.errors.all())


def _check_predictors(design: Floats, weights: Floats) -> None:
    """Refuse predictors that statsmodels would share the effect out among."""
    n_columns = design.shape[1]
    gram = design.T @ (design * weights[:, np.newaxis])
    if np.linalg.matrix_rank(gram / weights.sum(), hermitian=True) < n_columns:
        raise _NoFitError("some predictors follow from the others")
    if weights.sum() <= n_columns:
        raise _NoFitError("there are not more rows than predictors")


def _rows(names: list[str], scale: Floats, before: _Fit, after: _Fit) -> list[Row]:
    return [
        Row(
            name,
            float(before.coefficients[i] / scale[i]),
            float(after.coefficients[i] / scale[i]),
            error_before=float(before.errors[i] / scale[i]),
            error_after=float(after.errors[i] / scale[i]),
            overlap=_overlap(before, after, i),
        )
        for i, name in enumerate(names)
    ]


def _overlap(before: _Fit, after: _Fit, i: int) -> float:
    """Return how much two 95 % intervals have in common, of each and averaged."""
    (low, high), (least, most) = (
        (
            fit.coefficients[i] - NOISE * fit.errors[i],
            fit.coefficients[i] + NOISE * fit.errors[i],
        )
        for fit in (before, after)
    )
    common = min(high, most) - max(low, least)
    if common <= 0.0:
        return 1.0 if high == low == least == most else 0.0
    return float(common / (high - low) + common / (most - least)) / 2


def _answer(
    question: Question,
    rows: list[Row],
    fits: tuple[_Fit, _Fit, int],
    left_out: tuple[int, float],
) -> Answer:
    before, after, n_dropped = fits
    overlaps = [row.overlap or 0.0 for row in rows]
    same = sum((row.before or 0.0) * (row.after or 0.0) >= 0.0 for row in rows)
    worst = min(rows, key=lambda row: row.overlap or 0.0)
    measure = "R2" if question.kind == "linear" else "log-loss"
    figures = {
        "same_sign": same,
        "coefficients": len(rows),
        "average_overlap": float(np.mean(overlaps)),
        f"{measure.lower().replace('-', '_')}_before": before.quality,
        f"{measure.lower().replace('-', '_')}_after": after.quality,
        "left_out_predictors": n_dropped,
    }
    sentence = (
        f"{same} of {len(rows)} coefficients have the same sign in both tables; their "
        f"95 % intervals have {100 * figures['average_overlap']:.0f} % in common on "
        f"average, least for {worst.name} ({100 * (worst.overlap or 0):.0f} %). The "
        f"{measure} is {before.quality:.3f} in the original and {after.quality:.3f} in "
        "the release."
    )
    if n_dropped:
        sentence += f" {n_dropped} that hardly vary there are left out."
    return Answer(
        question,
        "coefficients",
        tuple(rows),
        figures["average_overlap"],
        sentence,
        figures,
        left_out,
    )
