"""Vary: which numbers a curve can be drawn over, its points, and where they are."""

import copy
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from core_mondrian.analysis.advise import Point, Sweep, sweep
from core_mondrian.report.charts import HEIGHT, draw_trade_off, render
from core_mondrian.studio.actions import Opened, read_as
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
_MOVE: Final = re.compile(r"translate\(([-\d.e]+)[ ,]([-\d.e]+)\)")
_CROSS: Final = "\u00d7"


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
    found = {value for one in draft.models() for key, value in _numbers(one, name)}
    if name == K:
        found.add(draft.k)
    return found.pop() if len(found) == 1 else None


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


def _numbers(model: dict[str, Any], only: str | None = None) -> Iterator[Any]:
    for name, value in model.items():
        if _is_number(value) and only in (None, name):
            yield name, value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Band:
    """Where a point of the picture can be pressed; all in percent of the picture."""

    left: float
    width: float
    top: float
    height: float
    x: float
    y: float
    """The point itself, in percent of the band."""


@dataclass(frozen=True)
class Curve:
    """What every value of a number would cost, and the picture of it."""

    name: str
    found: Sweep = field(repr=False)
    picture: bytes = field(repr=False)

    @property
    def bands(self) -> dict[int, Band]:
        """Where each point is, by its place among the points."""
        return find_bands(self.picture.decode(), self.found.points)


def find_curve(opened: Opened, draft: Draft, name: str, progress: Progress) -> Curve:
    """Return what each value of a number would cost, all else as drafted.

    Raises:
        MondrianError: the draft is refused, or no value can be reached.
    """
    points = find_points(draft, name, opened.table.num_rows)
    if name == K:
        draft.k = max(draft.k, 2)  # so that it is asked for at all
    spec = draft.to_spec()
    found = sweep(read_as(opened, spec), spec, {name: points}, progress=progress)
    progress("draw", 0.0)
    return Curve(name, found, render(draw_trade_off(found), ".svg"))


def find_bands(picture: str, points: Sequence[Point]) -> dict[int, Band]:
    """Return where the points of a trade-off's picture are, those without one aside.

    Vega draws the points of a panel in the order of the data, and a cross for each
    that cannot be reached. A picture that has others is not understood: no bands.
    """
    root = ET.fromstring(picture)  # noqa: S314  # drawn by ourselves a moment ago
    marks = _Marks()
    marks.look(root, 0.0, 0.0)
    reached = [i for i, one in enumerate(points) if _has_loss(one)]
    refused = [i for i, one in enumerate(points) if _is_crossed(one)]
    if (len(reached), len(refused)) != (len(marks.points), len(marks.crosses)):
        return {}
    places = dict(zip(reached, marks.points, strict=True))
    places |= dict(zip(refused, marks.crosses, strict=True))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    return dict(_share(places, marks, width, height))


def _has_loss(point: Point) -> bool:
    return point.figures is not None and point.figures.loss is not None


def _is_crossed(point: Point) -> bool:
    return point.problem is not None and point.problem.is_infeasible


def _share(
    places: dict[int, tuple[float, float]], marks: "_Marks", width: float, height: float
) -> Iterator[tuple[int, Band]]:
    """Yield a band around each point, up to the middle between it and the next."""
    ordered = sorted(places, key=lambda i: places[i])
    xs = [places[i][0] for i in ordered]
    middles = [(a + b) / 2 for a, b in pairwise(xs)]
    edges = [2 * xs[0] - middles[0] if middles else xs[0] - 20, *middles]
    edges.append(2 * xs[-1] - middles[-1] if middles else xs[-1] + 20)
    edges = [min(max(edge, 0.0), width) for edge in edges]
    top, bottom = min(marks.panels), max(marks.panels) + HEIGHT
    for i, (left, right) in zip(ordered, pairwise(edges), strict=True):
        x, y = places[i]
        yield (
            i,
            Band(
                left=100 * left / width,
                width=100 * (right - left) / width,
                top=100 * top / height,
                height=100 * (bottom - top) / height,
                x=100 * (x - left) / (right - left) if right > left else 50.0,
                y=100 * (y - top) / (bottom - top),
            ),
        )


@dataclass
class _Marks:
    """What is looked for in a picture, in the order it was drawn."""

    points: list[tuple[float, float]] = field(default_factory=list)
    """Of the first panel, which is that of the loss."""
    crosses: list[tuple[float, float]] = field(default_factory=list)
    panels: list[float] = field(default_factory=list)
    """The upper edges of all panels."""

    def look(self, element: ET.Element, x: float, y: float) -> None:
        """Go through an element that stands in a group at ``x``, ``y``."""
        kinds = element.get("class", "").split()
        is_points = {"mark-symbol", "role-mark"} <= {*kinds} and not self.points
        is_panel = "role-scope" in kinds
        for child in element:
            dx, dy = _moved(child)
            at = (x + dx, y + dy)
            if is_points:
                self.points.append(at)
            if is_panel:
                self.panels.append(at[1])
            if child.text == _CROSS:
                self.crosses.append(at)
            self.look(child, *at)


def _moved(element: ET.Element) -> tuple[float, float]:
    found = _MOVE.search(element.get("transform", ""))
    return (float(found[1]), float(found[2])) if found else (0.0, 0.0)
