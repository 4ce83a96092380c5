"""Panels of lines, points and bars that look the same in every figure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Any, Final, TypeAlias

from core_mondrian.report.charts import FAINT, INK, PALETTE, Chart, legend
from experiments.figure import Row
from experiments.lab import AS_PUBLISHED, AS_WRITTEN, FAIR

Channel: TypeAlias = Any
"""An Altair channel: its class depends on what it encodes."""

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE
WIDTH: Final = 290
NARROW: Final = 235
"""Of three panels next to each other."""
WIDE: Final = 480
"""Of a panel alone."""
HEIGHT: Final = 210
STATED: Final = "diamonds: stated in the paper"
_SHORT: Final = "~s"
_SHORT_WORDS: Final = "replace(replace(format(datum.value, '~s'), 'G', 'bn'), 'M', 'm')"
_K_TICKS: Final = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Look:
    """How one series is drawn: told apart by colour, by shape and by dashes."""

    colour: str
    shape: str = "circle"
    dash: tuple[int, ...] = (1, 0)


LOOKS: Final = {
    "paper": Look(BLUE),
    "best": Look(VERMILLION, "square"),
    FAIR: Look(GREEN, "triangle-up", (6, 3)),
    AS_PUBLISHED: Look(PURPLE, "triangle-down", (2, 2)),
    "paper, 1 thread": Look(SKY, "circle", (6, 3)),
    "paper, all threads": Look(BLUE),
    "best, 1 thread": Look(ORANGE, "square", (6, 3)),
    "best, all threads": Look(VERMILLION, "square"),
    "original, 1 thread": Look(GREEN, "triangle-up", (2, 2)),
    "paper, no budget": Look(SKY, "diamond", (6, 3)),
    AS_WRITTEN: Look(GREEN, "triangle-up", (6, 3)),
    "paper, cutting only": Look(SKY, "circle", (6, 3)),
    "best, cutting only": Look(ORANGE, "square", (6, 3)),
    "best, equity by race": Look(ORANGE, "diamond"),
    "best, strong": Look(GREEN, "triangle-up"),
    "best, strong, equity by race": Look(PURPLE, "triangle-down"),
    "original": Look(BLACK, "diamond"),
    "ideal": Look(FAINT, "stroke", (3, 3)),
    "linear": Look(FAINT, "stroke", (3, 3)),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: which name of the rows, and how it is labelled."""

    field: str
    title: str
    domain: tuple[float, float]
    format: str = "~g"
    ticks: tuple[float, ...] = ()
    is_log: bool = False

    def encode(self, channel: type[Channel]) -> Channel:
        """Return the axis for Altair's X or Y."""
        import altair as alt

        kind = "log" if self.is_log else "linear"
        scale = alt.Scale(type=kind, domain=list(self.domain), nice=False)  # type: ignore[arg-type]
        labels: dict[str, Any] = {"labelOverlap": "greedy", "format": self.format}
        if self.format == _SHORT:  # G and M mean little to readers of tables
            labels["labelExpr"] = _SHORT_WORDS
        labels |= {"values": list(self.ticks)} if self.ticks else {"tickCount": 5}
        axis = alt.Axis(**labels)
        return channel(f"{self.field}:Q", title=self.title, scale=scale, axis=axis)


def linear_axis(
    field: str, title: str, values: Sequence[float], format: str = "~g"
) -> Axis:
    """Return an axis from zero on, with room above."""
    return Axis(field, title, (0.0, 1.08 * max(*values, 1e-9)), format)


def share_axis(field: str, title: str, values: Sequence[float]) -> Axis:
    """Return an axis for what is at most 1, from the lowest value on."""
    lowest = min(values)
    room = (1 - lowest) * 0.08 or 0.01
    # Five ticks on less than this are not told apart by two digits.
    is_narrow = 1 - lowest < 0.05
    return Axis(field, title, (lowest - room, 1 + room), ".3f" if is_narrow else ".2f")


def log_axis(
    field: str, title: str, values: Sequence[float], format: str = _SHORT
) -> Axis:
    """Return a logarithmic axis with room at its ends and round ticks."""
    low, high = min(values) / 1.25, max(values) * 1.25
    steps = (1.0,) if high > 200 * low else (1.0, 2.0, 5.0)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    inside = tuple(tick for tick in ticks if low <= tick <= high)
    return Axis(field, title, (low, high), format, inside, is_log=True)


def k_axis(ks: Sequence[int]) -> Axis:
    """Return the axis of the ks from left to right, by their ratios."""
    axis = log_axis("k", "k", ks, "~g")
    return replace(axis, ticks=tuple(k for k in _K_TICKS if min(ks) <= k <= max(ks)))


def rilm_axis(rows: Sequence[Row]) -> Axis:
    """Return the axis that all panels of RILM have."""
    return share_axis("rilm", "RILM (higher is better)", [row["rilm"] for row in rows])


def seconds_axis(rows: Sequence[Row]) -> Axis:
    """Return the axis that all panels of seconds have."""
    values = [row["wall_seconds"] for row in rows]
    return linear_axis("wall_seconds", "seconds (wall clock)", values)


def draw_lines(
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    *,
    names: Sequence[str],
    stated: Sequence[tuple[float, float]] = (),
    title: str = "",
) -> Chart:
    """Return one panel: a line through the rows of each series.

    ``stated`` are points that the paper's text gives.
    """
    import altair as alt

    kept = [{f: row[f] for f in (x.field, y.field, "series")} for row in rows]
    base = alt.Chart().encode(x=x.encode(alt.X), y=y.encode(alt.Y))
    channels = _channels(names)
    layers = []
    # Not a scale of dashes: the symbols of the legend would be dashed, too.
    for dash in dict.fromkeys(LOOKS[name].dash for name in names):
        alike = [name for name in names if LOOKS[name].dash == dash]
        mine = base.transform_filter(alt.FieldOneOfPredicate("series", alike))
        line = mine.mark_line(strokeWidth=2, strokeDash=list(dash))
        layers.append(line.encode(color=channels["color"]))
    points = base.mark_point(filled=True, size=55, opacity=1)
    layers.append(points.encode(**channels))
    if stated:
        layers.append(_draw_stated(stated, x, y))
    return panel(alt.layer(*layers, data=alt.InlineData(values=kept)), title)


def panel(chart: Chart, title: str = "") -> Chart:
    """Return a chart in the size of a panel, its title above it."""
    import altair as alt

    sized = chart.properties(width=WIDTH, height=HEIGHT)
    if not title:
        return sized
    heading = alt.TitleParams(title, anchor="start", frame="group", fontSize=13)
    return sized.properties(title=heading)


def _channels(names: Sequence[str]) -> dict[str, Any]:
    import altair as alt

    chosen = [LOOKS[name] for name in names]

    def scale(values: list[Any]) -> Any:  # noqa: ANN401  # an Altair scale
        return alt.Scale(domain=list(names), range=values)

    shown = {"legend": legend(), "title": None}
    return {
        "color": alt.Color(
            "series:N", scale=scale([k.colour for k in chosen]), **shown
        ),
        "shape": alt.Shape("series:N", scale=scale([k.shape for k in chosen]), **shown),
    }


def _draw_stated(stated: Sequence[tuple[float, float]], x: Axis, y: Axis) -> Chart:
    import altair as alt

    values = [{x.field: one, y.field: other} for one, other in stated]
    base = alt.Chart(alt.InlineData(values=values))
    mark = base.mark_point(
        shape="diamond", size=130, color=INK, opacity=1, filled=False
    )
    return mark.encode(x=x.encode(alt.X), y=y.encode(alt.Y))


def draw_scatter(
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    *,
    colour: Channel,
    shape: Channel,
    title: str,
) -> Chart:
    """Return one panel: points, and the line on which both axes are equal."""
    import altair as alt

    # Hundreds of points need no words of their own in the file.
    points = alt.Chart(alt.InlineData(values=list(rows))).mark_point(
        size=45, opacity=0.8, strokeWidth=1.4, aria=False
    )
    ends = [{x.field: at, y.field: at} for at in x.domain]
    line = alt.Chart(alt.InlineData(values=ends)).mark_line(
        color=FAINT, strokeDash=[3, 3], strokeWidth=1.5
    )
    places = {"x": x.encode(alt.X), "y": y.encode(alt.Y)}
    layers = (line.encode(**places), points.encode(**places, color=colour, shape=shape))
    return panel(alt.layer(*layers), title)


def draw_dots(
    rows: Sequence[Row], x: Axis, *, names: Sequence[str], title: str
) -> Chart:
    """Return one panel: a line for each ``name``, a point on it for each series."""
    import altair as alt

    kept = [{f: row[f] for f in (x.field, "name", "series")} for row in rows]
    lines = list(dict.fromkeys(row["name"] for row in rows))
    base = alt.Chart(alt.InlineData(values=kept)).encode(
        x=x.encode(alt.X),
        y=alt.Y(
            "name:N",
            sort=lines,
            title=None,
            axis=alt.Axis(grid=True, labelLimit=260),
        ),
    )
    points = base.mark_point(filled=True, size=75, opacity=0.9)
    sized = panel(points.encode(**_channels(names)), title)
    return sized.properties(width=WIDE, height=alt.Step(26))


def draw_bars(rows: Sequence[Row], *, colour: str, title: str, highest: float) -> Chart:
    """Return one panel: a bar for each row's ``count``, named by its ``stage``."""
    import altair as alt

    kept = [{name: row[name] for name in ("stage", "count")} for row in rows]
    base = alt.Chart(alt.InlineData(values=kept)).encode(
        x=alt.X("stage:N", sort=None, title=None, axis=alt.Axis(labelAngle=-30)),
        y=alt.Y(
            "count:Q",
            title="cuts",
            scale=alt.Scale(domain=[0, 1.12 * highest], nice=False),
            axis=alt.Axis(format=",d", tickCount=5),
        ),
    )
    bars = base.mark_bar(color=colour)
    figures = base.mark_text(dy=-8, fontSize=12, color=INK).encode(
        text=alt.Text("count:Q", format=",d")
    )
    return panel(alt.layer(bars, figures), title)


def beside(*panels: Chart) -> Chart:
    """Return panels next to each other, with one legend."""
    import altair as alt

    return alt.hconcat(*panels, spacing=28)


def below(*panels: Chart) -> Chart:
    """Return panels below each other, with one legend."""
    import altair as alt

    return alt.vconcat(*panels, spacing=18)
