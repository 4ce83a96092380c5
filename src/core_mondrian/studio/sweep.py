"""Which numbers a curve can be drawn over, its points, and what each means."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from core_mondrian.analysis.advise import Point, Sweep, sweep
from core_mondrian.report.wording import count
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.studio.actions import OpenedTable, read_as
from core_mondrian.studio.draft import Draft
from core_mondrian.studio.jobs import Progress

K: Final = "k"
_SIZES: Final = (2, 3, 5, 10, 20, 50, 100)
_WHOLE: Final = {"l": (2, 3, 4, 5, 6, 8, 10), "p": (2, 3, 4, 5, 6, 8, 10)}
_SHARES: Final = {
    "l": (1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0),
    "c": (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0),
    "t": (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5),
    "alpha": (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "beta": (0.5, 1.0, 1.5, 2.0, 3.0, 4.0),
    "delta": (0.5, 1.0, 1.5, 2.0, 3.0, 4.0),
    "risk": (0.01, 0.02, 0.05, 0.09, 0.15, 0.2, 0.33),
    "low": (0.0, 0.05, 0.1, 0.2),
    "high": (0.2, 0.3, 0.4, 0.5, 0.6, 0.8),
}
_TIMES: Final = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Points of a number that is not known here, next to what it is now."""


def find_varied(draft: Draft) -> dict[str, str]:
    """Return the numbers that can be varied, each with what it is called here."""
    owners: dict[str, list[str]] = {}
    for model in draft.models():
        for name, _ in _numbers(model):
            owners.setdefault(name, []).append(str(model.get("sensitive", "")))
    owners.pop(K, None)
    titles = {K: "k: rows that look alike"}
    for name, columns in owners.items():
        of = ", ".join(dict.fromkeys(column for column in columns if column))
        titles[name] = f"{name} of {of}" if of else name
    return titles


def take_value(draft: Draft, name: str, value: float) -> None:
    """Set a number wherever it is asked for, as a sweep does."""
    if name == K:
        draft.k = int(value)
    for given in draft.given():
        if _is_number(given.get(name)):
            given[name] = value


def present_value(draft: Draft, name: str) -> float | None:
    """Return what a number is now; None: no model has it, or they differ."""
    numbers = {value for one in draft.models() for key, value in _numbers(one, name)}
    if name == K:
        numbers.add(draft.k)
    return numbers.pop() if len(numbers) == 1 else None


def everything_but(draft: Draft, name: str) -> str:
    """Return the spec without a number: equal texts have the same curve over it."""
    plain = copy.deepcopy(draft)
    take_value(plain, name, 1)
    return plain.to_toml()


def find_points(draft: Draft, name: str, n_rows: int) -> list[float]:
    """Return the values to try: usual ones, and those that are asked for now."""
    now = [value for one in draft.models() for _, value in _numbers(one, name)]
    if name == K:
        fitting: Sequence[float] = [k for k in _SIZES if k <= n_rows]
        now.append(max(draft.k, 2))  # 1 asks for nothing
    elif all(isinstance(value, int) for value in now):
        fitting = _WHOLE.get(name) or [max(1, round(now[0] * x)) for x in _TIMES]
    else:
        fitting = _SHARES.get(name) or [now[0] * x for x in _TIMES]
    return sorted({*fitting, *now})


def _numbers(model: JsonObject, only: str | None = None) -> Iterator[Any]:
    for name, value in model.items():
        if _is_number(value) and only in (None, name):
            yield name, value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Curve:
    """What every value of a number would cost."""

    name: str
    found: Sweep = field(repr=False)

    def point_at(self, value: float | None) -> Point | None:
        """Return the point of a value; None: it is not on the curve."""
        points = [
            one for one in self.found.points if one.parameters[self.name] == value
        ]
        return points[0] if points else None


def find_curve(
    opened: OpenedTable, draft: Draft, name: str, progress: Progress
) -> Curve:
    """Return what each value of a number would cost, all else as drafted.

    Raises:
        MondrianError: the draft is refused, or no value can be reached.
    """
    points = find_points(draft, name, opened.table.num_rows)
    if name == K:
        draft.k = max(draft.k, 2)  # so that it is asked for at all
    spec = draft.to_spec()
    curves = sweep(read_as(opened, spec), spec, {name: points}, progress=progress)
    return Curve(name, curves)


def point_text(curve: Curve, value: float | None) -> str:
    """Return in plain words what a value would make of these data."""
    point = curve.point_at(value)
    if point is None:
        return ""
    asked, figures = f"With {curve.name} = {value:g}", point.figures
    if figures is None or figures.loss is None or figures.smallest_class is None:
        return f"{asked} there is no release of these data."
    n, smallest = curve.found.n_rows - figures.n_suppressed, figures.smallest_class
    words = [
        f"{asked}, {n:,} of your {curve.found.n_rows:,} rows are released in "
        f"{count(figures.n_classes, 'group')} that look alike.",
        f"The smallest has {smallest:,}: whoever looks for a person in it guesses "
        f"right in 1 of {smallest:,} cases.",
        f"{figures.loss:.1%} of the detail is lost{_compared(curve, point)}.",
    ]
    return " ".join(words)


def _compared(curve: Curve, point: Point) -> str:
    """Return how much more is lost than at the next smaller value on the curve."""
    reached = [
        (one.parameters[curve.name], one.figures.loss)
        for one in curve.found.points
        if one.figures is not None and one.figures.loss is not None
    ]
    at = [value for value, _ in reached].index(point.parameters[curve.name])
    if not at:
        return ""
    (before, old), (_, new) = reached[at - 1 : at + 1]
    points = 100 * (new - old)
    change = f"{abs(points):.1f} points {'more' if points >= 0 else 'less'}"
    return f", {change} than with {curve.name} = {before:g}"
