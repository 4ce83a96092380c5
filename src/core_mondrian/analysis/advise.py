"""sweep(): what k, and every other parameter of the models, would cost; no release."""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core_mondrian.api import check_threads, load_and_encode
from core_mondrian.encoding.encoder import Encoded
from core_mondrian.engine.constraints import (
    Constraints,
    CountedGroups,
    count_groups,
    first_constraints,
    released_constraints,
    seen_by,
)
from core_mondrian.engine.scheduler import queue_threads, run_tasks
from core_mondrian.errors import (
    InfeasibleError,
    MondrianError,
    PrivacyViolation,
    SpecError,
    drops_context,
)
from core_mondrian.measures.utility import measure
from core_mondrian.models.base import PrivacyModel
from core_mondrian.recoding.plan import build_plan
from core_mondrian.release.notebook import sweep_html
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.progress import Progress, watched
from core_mondrian.runtime.stages import Stages
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.keys import open_key
from core_mondrian.verification.verify import ModelResult

# Each point at work holds a few copies of the tuples; from so many on, points come one
# after the other, each on all threads.
_SIDE_BY_SIDE_BELOW: Final = 65_536
# Distances from the chord that differ by less are the same: sums are rounded.
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Figures:
    """What a release would be like; `anonymize` with the point's spec gives the same.

    None: not defined, because every row was suppressed.
    """

    n_classes: int
    n_suppressed: int
    n_blanked: int
    """Cells blanked: not covered by a hierarchy, or for a missing pattern too small."""
    loss: float | None
    """As `Measures.loss`: 0 if nothing is lost, 1 if everything is."""
    smallest_class: int | None
    """Rows (persons) of it."""
    average_class: float | None
    highest_risk: float | None
    """1 / rows (persons) of the smallest class: the chance to guess which is yours."""
    average_risk: float | None
    """Classes / rows (persons) in them: that chance, averaged."""
    models: tuple[ModelResult, ...]
    digest: str
    seconds: float = field(compare=False)
    """CPU seconds it took; everything else is the same in every run."""

    def to_json(self) -> JsonObject:
        """Return plain values; a model that nothing was asked of reaches None."""
        plain = dataclasses.asdict(self)
        plain["models"] = [
            {"name": name, "reached": reached if math.isfinite(reached) else None}
            for name, reached in ((one.name, one.reached) for one in self.models)
        ]
        return plain


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there are no figures."""

    message: str
    hint: str | None
    is_infeasible: bool
    """Whether no release satisfies the models; else they refuse the value itself."""

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of parameters: figures, or why there are none."""

    parameters: Mapping[str, float]
    spec: Spec | None = field(repr=False, compare=False)
    """What to give `anonymize` for this release; None: the models refuse it."""
    figures: Figures | None
    problem: Problem | None

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in self.parameters.items())

    def to_json(self) -> JsonObject:
        """Return plain values: parameters, and figures or a problem."""
        plain: JsonObject = {"parameters": dict(self.parameters)}
        if self.figures is not None:
            plain |= self.figures.to_json()
        if self.problem is not None:
            plain["problem"] = str(self.problem)
        return plain


@dataclass(frozen=True, slots=True)
class Sweep:
    """Figures of every combination, in the order of their values; no release."""

    n_rows: int
    points: tuple[Point, ...]
    limits: Mapping[str, float]
    """Per parameter, what all rows as one class reach; no release reaches more."""

    @property
    def varied(self) -> tuple[str, ...]:
        """The parameters that have several values; the first one if none has."""
        names = tuple(self.points[0].parameters)
        several = [n for n in names if len({p.parameters[n] for p in self.points}) > 1]
        return tuple(several) or names[:1]

    @property
    def knees(self) -> tuple[Point, ...]:
        """The knee of the loss over the risk, for each combination besides k.

        Both are scaled to 0 … 1, and the knee lies farthest below the straight line
        between the curve's ends: up to it protection is cheap, after it dear. A curve
        of fewer than three points, or with none below the line, has no knee. Only k is
        looked at, because the risk sees class sizes and not what a class discloses.
        """
        curves: dict[tuple[object, ...], list[Point]] = {}
        for point in self.points:
            if "k" in point.parameters:
                others = {**point.parameters, "k": None}
                curves.setdefault(tuple(others.items()), []).append(point)
        at_knees = (_find_knee(curve) for curve in curves.values())
        return tuple(point for point in at_knees if point is not None)

    def to_rows(self) -> list[JsonObject]:
        """Return the points as plain values, and of each whether it is a knee."""
        knees = self.knees
        return [{**point.to_json(), "knee": point in knees} for point in self.points]

    def to_json(self) -> JsonObject:
        """Return plain values."""
        limits = {
            name: value if math.isfinite(value) else None
            for name, value in self.limits.items()
        }
        return {"n_rows": self.n_rows, "limits": limits, "points": self.to_rows()}

    def check_feasible(self) -> None:
        """Raise what stands in the way if no point has figures.

        Raises:
            InfeasibleError: no combination has a release; the hint says what would.
            SpecError: the models refuse every combination.
        """
        problems = [point.problem for point in self.points if point.problem is not None]
        if len(problems) < len(self.points):
            return
        infeasible = [problem for problem in problems if problem.is_infeasible]
        if not infeasible:
            raise SpecError(problems[0].message, hint=problems[0].hint)
        limits = ", ".join(f"{name} {value:g}" for name, value in self.limits.items())
        raise InfeasibleError(
            f"none of {len(self.points)} points is feasible: {infeasible[0].message}",
            hint=f"all rows as one class reach {limits}; no release reaches more"
            if limits
            else infeasible[0].hint,
        )

    def __repr__(self) -> str:
        names = ", ".join(self.points[0].parameters) if self.points else "nothing"
        return f"Sweep({len(self.points)} points of {names}, {self.n_rows:,} rows)"

    def _repr_html_(self) -> str:
        """Show itself in a notebook."""
        return sweep_html(self)


@dataclass(frozen=True, slots=True)
class _Task:
    """A combination, and how to measure the time it takes."""

    parameters: Mapping[str, float]
    threads: int | None
    clock: Callable[[], float]


@drops_context
@watched
def sweep(
    data: object,
    spec: Spec,
    vary: Mapping[str, Sequence[float]],
    *,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Sweep:
    """Return what each combination of ``vary`` would cost, without releasing a row.

    ``vary`` maps parameters of the models, such as "k", to values; every model of
    ``spec`` that has the parameter gets the value. The table is read and counted once.
    A combination without a release does not stop the others. ``threads`` changes
    nothing but speed; ``progress`` is as in `anonymize`.

    Raises:
        SpecError: no model has a parameter, or the table has not all columns.
        DataError: a column cannot be encoded.
    """
    check_threads(threads)
    _check_vary(spec, vary)
    stages = Stages(progress)
    _, encoded = load_and_encode(data, spec, stages, threads)
    encoded = replace(encoded, row_tuple=encoded.row_tuple[:0].copy())
    report = stages.report("points")
    tasks, n_workers = _plan(encoded.table, vary, threads)
    points = run_tasks(
        do=lambda _, task: _try_point(encoded, spec, task),
        tasks=tasks,
        works=[None] * n_workers,
        report=report,
    )
    stages.end("points")
    limits = _limits(encoded.table, spec, vary)
    return Sweep(encoded.table.n_rows, tuple(points), limits)


def _check_vary(spec: Spec, vary: Mapping[str, Sequence[float]]) -> None:
    known = sorted({name for model in spec.models for name in parameters_of(model)})
    if not vary:
        raise SpecError("nothing to vary", hint=f"the models have {known}")
    for name, values in vary.items():
        if name not in known:
            raise SpecError(
                f"no model has a parameter {name!r}", hint=f"the models have {known}"
            )
        if not values:
            raise SpecError(f"no value for {name!r}", hint="give at least one")


def parameters_of(model: PrivacyModel) -> list[str]:
    """Return the names of the numbers that a model is given."""
    if not dataclasses.is_dataclass(model):
        return []
    values = {
        item.name: getattr(model, item.name) for item in dataclasses.fields(model)
    }
    return [
        name
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _plan(
    table: EncodedTable, vary: Mapping[str, Sequence[float]], threads: int | None
) -> tuple[list[_Task], int]:
    """Return a task for each combination, and how many are done side by side."""
    combinations = [
        dict(zip(vary, values, strict=True)) for values in product(*vary.values())
    ]
    n_points = len(combinations)
    n_workers = min(n_points, queue_threads(threads, table.n_tuples * n_points))
    if n_workers == 1 or table.n_tuples >= _SIDE_BY_SIDE_BELOW:
        return [_Task(one, threads, time.process_time) for one in combinations], 1
    # Here a point is its thread's own work from beginning to end.
    return [_Task(one, 1, time.thread_time) for one in combinations], n_workers


def _try_point(encoded: Encoded, spec: Spec, task: _Task) -> Point:
    asked: Spec | None = None
    try:
        asked = _with_parameters(spec, task.parameters)
        figures = _find_figures(encoded, asked, task)
    except (InfeasibleError, PrivacyViolation, SpecError) as error:
        return Point(task.parameters, asked, None, _problem(error))
    return Point(task.parameters, asked, figures, None)


def _problem(error: MondrianError) -> Problem:
    return Problem(error.message, error.hint, not isinstance(error, SpecError))


def _with_parameters(spec: Spec, parameters: Mapping[str, float]) -> Spec:
    models = []
    for model in spec.models:
        given = {n: parameters[n] for n in parameters_of(model) if n in parameters}
        models.append(replace(model, **given))  # type: ignore[type-var]
    return replace(spec, models=tuple(models))


def _find_figures(encoded: Encoded, spec: Spec, task: _Task) -> Figures:
    since = task.clock()
    plan = build_plan(encoded, spec, open_key(None), threads=task.threads)
    pieces = plan.grown.split_tuples
    pieced = encoded.table  # with the population, which models look at
    if pieces is not None:
        pieced = pieces.of_table(pieced)
    classes = plan.recoded.classes
    measures = measure(plan.pieces, classes, spec)
    group = classes.of_tuple.astype(np.int64)
    counted = count_groups(pieced, group, classes.n_classes)
    standard = released_constraints(first_constraints(pieced, spec), pieced, group)
    sizes = counted.rows if counted.persons is None else counted.persons
    return Figures(
        n_classes=measures.n_classes,
        n_suppressed=measures.n_suppressed,
        n_blanked=encoded.n_blanked + plan.grown.n_blanked,
        loss=measures.loss,
        smallest_class=int(sizes.min()) if sizes.size else None,
        average_class=measures.average_class,
        highest_risk=1.0 / float(sizes.min()) if sizes.size else None,
        average_risk=sizes.size / int(sizes.sum()) if sizes.size else None,
        models=_reached(spec, pieced, counted, standard),
        digest=plan.digest,
        seconds=task.clock() - since,
    )


def _reached(
    spec: Spec, table: EncodedTable, counted: CountedGroups, standard: Constraints
) -> tuple[ModelResult, ...]:
    """Return what each model finds in the classes, as the verifier will.

    Raises:
        PrivacyViolation: a class fails; `anonymize` would not give such a release.
    """
    results = []
    for model in spec.models:
        classes = seen_by(model, table, counted, standard)
        if not model.holds(classes):
            raise PrivacyViolation(
                f"{model.title} fails for what would be released", hint="ask for less"
            )
        results.append(ModelResult(model.title, float(model.reached(classes))))
    return tuple(results)


def _limits(
    table: EncodedTable, spec: Spec, vary: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """Return, per parameter, what the whole table reaches as one class.

    What a model with several parameters reaches may be any of them: it has no limit.
    """
    everyone = count_groups(table, np.zeros(table.n_tuples, dtype=np.int64), 1)
    standard = first_constraints(table, spec)
    limits: dict[str, float] = {}
    for model in spec.models:
        names = parameters_of(model)
        if len(names) == 1 and names[0] in vary:
            reached = model.reached(seen_by(model, table, everyone, standard))
            limits.setdefault(names[0], float(reached))
    return limits


def _find_knee(curve: Sequence[Point]) -> Point | None:
    """Return the point farthest below the line between the ends of the curve."""
    known = [
        (point.figures.highest_risk, point.figures.loss, point)
        for point in curve
        if point.figures is not None
        and point.figures.highest_risk is not None
        and point.figures.loss is not None
    ]
    known.sort(key=lambda one: one[:2])  # of equal distances the lowest risk is first
    if len(known) < 3:
        return None
    risks = _scaled([risk for risk, _, _ in known])
    losses = _scaled([loss for _, loss, _ in known])
    # Straight down or at a right angle to the line: the farthest point is the same.
    slope = losses[-1] - losses[0]
    below = np.round(losses[0] + slope * risks - losses, _DIGITS)
    farthest = int(below.argmax())
    return known[farthest][2] if below[farthest] > 0.0 else None


def _scaled(values: list[float]) -> NDArray[np.float64]:
    """Return the values from 0 for the lowest to 1 for the highest."""
    lowest, highest = min(values), max(values)
    width = highest - lowest
    return (np.array(values) - lowest) / width if width else np.zeros(len(values))
