"""Charts in one style, as SVG, PNG or a page; Altair loads when one is drawn.

A chart shows figures of releases, such as losses and class sizes, and no cell; that
of a comparison names values that the release shows.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from core_mondrian.errors import SpecError
from core_mondrian.release.report_file import require_report
from core_mondrian.runtime.plain_values import JsonObject

if TYPE_CHECKING:
    from core_mondrian.analysis.advise import Point, Sweep
    from core_mondrian.analysis.analyst_statistics import Answer, Comparison

Chart: TypeAlias = Any
"""An Altair chart; its class depends on how it is composed."""
Row: TypeAlias = JsonObject

KINDS: Final = (".svg", ".png", ".html")
# Okabe and Ito's colours, which people with any colour vision can tell apart.
PALETTE: Final = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
    *("#e69f00", "#56b4e9", "#000000"),
)
INK: Final = "#222222"
FAINT: Final = "#767676"
# Narrow, so that it still reads on a telephone; a picture without bounds scales up.
WIDTH: Final = 400
HEIGHT: Final = 110
_ROOM: Final = 1.25  # room for labels above the highest point
_MOST_LABELS: Final = 8
_MOST_GROUPS: Final = 12
_STEP: Final = 22  # between two groups
_CROSS: Final = "\u00d7"
FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
_HEAD: Final = (
    '<meta name="viewport" content="width=device-width">'
    # Nothing may be loaded from anywhere, whatever the scripts below could do.
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'\">"
    "<style>body{margin:1rem;display:flex;justify-content:center}"
    "#vega-chart,#vega-chart svg{max-width:100%;height:auto}</style>"
)


def render(chart: Chart, kind: str) -> bytes:
    """Return a chart as a file of one of ``KINDS``; the same bytes every time."""
    return convert(chart.to_dict(), kind)


def convert(spec: JsonObject, kind: str) -> bytes:
    """Return a chart's Vega-Lite as a file; see `render`.

    A page (.html) holds all it needs and asks nobody for anything.
    """
    import vl_convert

    if kind == ".svg":
        return vl_convert.vegalite_to_svg(spec).encode()
    if kind == ".png":
        return vl_convert.vegalite_to_png(spec, scale=2)
    if kind != ".html":
        raise SpecError(f"a chart is one of {', '.join(KINDS)}, not {kind!r}")
    # No menu that offers to send the figures to a website, and no compiled expressions.
    spec = spec | {"usermeta": {"embedOptions": {"actions": False, "ast": True}}}
    page = vl_convert.vegalite_to_html(spec, bundle=True)
    return page.replace("<head>", f"<head>{_HEAD}", 1).encode()


def start_engine() -> None:
    """Start what draws charts, so that the first of them does not take longer.

    It stops every other thread of the process meanwhile, for half a second or more.
    """
    import vl_convert

    vl_convert.vega_to_svg({"$schema": "https://vega.github.io/schema/vega/v6.json"})


def compile_chart(spec: JsonObject) -> JsonObject:
    """Return a chart's Vega-Lite as Vega, which `fill_chart` draws many times over."""
    import vl_convert

    compiled: JsonObject = vl_convert.vegalite_to_vega(spec)
    return compiled


def fill_chart(
    compiled: JsonObject, rows: dict[str, list[Row]], values: JsonObject
) -> str:
    """Return a compiled chart as SVG, with these rows and values of its parameters."""
    import vl_convert

    data = [
        item | ({"values": rows[item["name"]]} if item["name"] in rows else {})
        for item in compiled["data"]
    ]
    signals = [
        item | ({"value": values[item["name"]]} if item["name"] in values else {})
        for item in compiled["signals"]
    ]
    return vl_convert.vega_to_svg(compiled | {"data": data, "signals": signals})


def styled(chart: Chart, title: str, notes: Sequence[str]) -> Chart:
    """Return a chart with its title and the look that all charts have."""
    import altair as alt

    heading = alt.TitleParams(
        title, subtitle=list(notes), anchor="start", subtitleColor=FAINT, offset=12
    )
    return (
        chart.properties(title=heading, padding=12, background="white")
        .configure(font=FONT)
        .configure_title(fontSize=16, subtitleFontSize=13, color=INK)
        .configure_axis(
            labelFontSize=13,
            titleFontSize=13,
            labelColor=INK,
            gridColor="#e6e6e6",
            domainColor=FAINT,
            tickColor=FAINT,
        )
        .configure_legend(labelFontSize=13, titleFontSize=13, orient="top", offset=10)
        .configure_view(stroke=None)
    )


@dataclass(frozen=True, slots=True)
class _Panel:
    """One figure over the parameter."""

    title: str
    field: str
    format: str
    dashed: str | None = None
    """A second figure on the same axis."""


@dataclass(frozen=True, slots=True)
class _Across:
    """The parameter that is varied from left to right."""

    name: str
    values: tuple[float, ...]

    @property
    def is_log(self) -> bool:
        return self.name == "k" and self.values[0] > 0

    def encode(self, *, is_last: bool) -> Any:  # noqa: ANN401  # an Altair channel
        """Return the axis, with labels if it is that of the last panel."""
        import altair as alt

        kind: Any = (
            {"type": "log"} if self.is_log else {"type": "linear", "zero": False}
        )
        domain = [self.values[0], self.values[-1]]
        scale = alt.Scale(**kind, domain=domain, nice=False, padding=20)
        axis = alt.Axis(
            values=list(self.values),
            labels=is_last,
            format=".6~g",  # without digits Vega takes few, and writes 10 as 1e+1
            grid=False,
            labelOverlap="greedy",
        )
        title = self.name if is_last else None
        return alt.X("across:Q", scale=scale, axis=axis, title=title)


def draw_trade_off(sweep: "Sweep") -> Chart:
    """Return what a sweep found as small panels above one axis.

    The first varied parameter runs along the axis, on a logarithmic scale if it is k;
    the others have a line and a colour for each combination.

    Raises:
        MondrianError: no point has figures; see `Sweep.check_feasible`.
        SpecError: the extra `report` is not installed.
    """
    require_report("a chart")
    import altair as alt

    sweep.check_feasible()
    rows = list(_rows(sweep))
    values = sorted({row["across"] for row in rows})
    across = _Across(sweep.varied[0], tuple(values))
    panels = list(_choose_panels(rows))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    charts = [
        _draw_panel(panel, rows, groups, across.encode(is_last=panel is panels[-1]))
        for panel in panels
    ]
    stacked = alt.vconcat(*charts, spacing=14).resolve_scale(
        x="shared", color="shared", shape="shared"
    )
    named = alt.InlineData(values=rows, name="points")
    title = f"What {' and '.join(sweep.varied)} would cost"
    return styled(stacked.properties(data=named), title, list(_notes(sweep, rows)))


def _rows(sweep: "Sweep") -> Iterator[Row]:
    """Yield a plain row for each point that has a place on the axis."""
    first, *others = sweep.varied
    knees = sweep.knees
    for point in sweep.points:
        if point.problem is not None and not point.problem.is_infeasible:
            continue  # a value that means nothing, such as k 0
        yield {
            "across": point.parameters[first],
            "group": ", ".join(f"{name} {point.parameters[name]:g}" for name in others),
            "knee": point in knees,
            "feasible": point.figures is not None,
            **_figures(point, sweep.n_rows),
        }


def _figures(point: "Point", n_rows: int) -> Row:
    figures = point.figures
    if figures is None:
        return {}
    return {
        "loss": figures.loss,
        "classes": figures.n_classes,
        "suppressed": figures.n_suppressed / n_rows,
        "highest": figures.highest_risk,
        "average": figures.average_risk,
    }


def _choose_panels(rows: list[Row]) -> Iterator[_Panel]:
    yield _Panel("loss: what the release no longer shows", "loss", ".2~p")
    yield _Panel("classes", "classes", ",d")
    if any(row.get("suppressed") for row in rows):
        yield _Panel("rows suppressed", "suppressed", ".2~p")
    title = "re-identification risk: highest, and average (dashed)"
    yield _Panel(title, "highest", ".2~p", dashed="average")


def _notes(sweep: "Sweep", rows: list[Row]) -> Iterator[str]:
    none = "" if any(row.get("suppressed") for row in rows) else ", none suppressed"
    yield f"{sweep.n_rows:,} rows{none}; figures, not a release"
    if any(row["knee"] for row in rows):
        yield "○ the knee: a suggestion, not a decision"
    if not all(row["feasible"] for row in rows):
        yield f"{_CROSS} no release satisfies this"


def _draw_panel(panel: _Panel, rows: list[Row], groups: list[str], x: Any) -> Chart:  # noqa: ANN401
    import altair as alt

    fields = [panel.field] + ([panel.dashed] if panel.dashed else [])
    highest = max((row.get(name) or 0.0 for row in rows for name in fields), default=0)
    scale = alt.Scale(domain=[0, _ROOM * highest or 1], nice=False)
    axis = alt.Axis(format=panel.format, tickCount=4, title=None)
    base = alt.Chart().encode(
        x=x, y=alt.Y(f"{panel.field}:Q", scale=scale, axis=axis), color=alt.value(INK)
    )
    feasible = base.transform_filter("datum.feasible")
    layers = list(_draw_lines(feasible, panel, groups))
    ring = base.transform_filter("datum.knee")
    layers.append(ring.mark_point(size=220, filled=False, opacity=1))
    if len(rows) <= _MOST_LABELS and len(groups) == 1:
        layers += _draw_labels(feasible, panel)
    if panel.field == "loss":
        layers.append(_draw_crosses(base, groups))
    title = alt.TitleParams(panel.title, anchor="start", frame="group", fontSize=13)
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title)


def _draw_crosses(base: Chart, groups: list[str]) -> Chart:
    import altair as alt

    bare = base.transform_filter("!datum.feasible")
    mark = bare.mark_text(text=_CROSS, fontSize=20, font=FONT)
    return mark.encode(y=alt.datum(0), color=_colour(groups))


def _draw_lines(feasible: Chart, panel: _Panel, groups: list[str]) -> Iterator[Chart]:
    """Yield the lines and points, told apart by colour and by shape."""
    import altair as alt

    colour, shapes = _colour(groups), {}
    if len(groups) > 1:
        scale = alt.Scale(domain=groups)
        shapes = {"shape": alt.Shape("group:N", scale=scale, legend=legend())}
    if panel.dashed is not None:
        dashed = feasible.mark_line(strokeDash=[4, 3], strokeWidth=1.5)
        yield dashed.encode(y=f"{panel.dashed}:Q", color=colour)
    yield feasible.mark_line().encode(color=colour)
    points = feasible.mark_point(filled=True, size=50, opacity=1)
    tooltip = _tooltip(has_groups=len(groups) > 1)
    yield points.encode(color=colour, tooltip=tooltip, **shapes)


def _colour(groups: list[str]) -> Any:  # noqa: ANN401  # an Altair channel
    import altair as alt

    if len(groups) == 1:
        return alt.value(PALETTE[0])
    cycled = [PALETTE[i % len(PALETTE)] for i in range(len(groups))]
    scale = alt.Scale(domain=groups, range=cycled)
    return alt.Color("group:N", scale=scale, legend=legend())


def legend() -> Any:  # noqa: ANN401  # an Altair legend
    """Return the legend that all charts have: symbols and words, no title."""
    import altair as alt

    return alt.Legend(title=None, symbolOpacity=1, symbolSize=60)


def _tooltip(*, has_groups: bool) -> list[Any]:
    import altair as alt

    texts = [alt.Tooltip("group:N", title="with")] if has_groups else []
    shares = ("loss", "suppressed", "highest", "average")
    titles = ("loss", "suppressed", "highest risk", "average risk")
    return [
        *(alt.Tooltip("across:Q", title="at", format="~g"), *texts),
        alt.Tooltip("classes:Q", title="classes", format=",d"),
        *(
            alt.Tooltip(f"{name}:Q", title=title, format=".3~p")
            for name, title in zip(shares, titles, strict=True)
        ),
    ]


def _draw_labels(feasible: Chart, panel: _Panel) -> list[Chart]:
    """Return the figures above their points, on white where they cross a line."""
    import altair as alt

    text = alt.Text(f"{panel.field}:Q", format=panel.format)
    look = {"dy": -15, "fontSize": 13, "font": FONT}
    halo = feasible.mark_text(**look, stroke="white", strokeWidth=4)
    white = alt.value("white")
    return [
        halo.encode(text=text, color=white),
        feasible.mark_text(**look).encode(text=text),
    ]


def draw_comparison(comparison: "Comparison") -> Chart:
    """Return both tables' statistics as dots, a panel for each question.

    Raises:
        SpecError: no question has an answer, or the extra `report` is not installed.
    """
    require_report("a chart")
    import altair as alt

    answers = [answer for answer in comparison.answers if answer.rows]
    if not answers:
        raise SpecError("no question has an answer, so there is nothing to draw")
    charts = [_draw_answer(answer) for answer in answers]
    stacked = alt.vconcat(*charts, spacing=24).resolve_scale(
        x="independent", y="independent"
    )
    rows = f"{comparison.n_original:,} rows, {comparison.n_released:,} released"
    notes = [f"{rows}, k = {comparison.k}"]
    if comparison.score is not None:
        notes.append(f"score {comparison.sentence}")
    return styled(stacked, "The original and its release", _wrapped(notes))


def _wrapped(texts: Sequence[str], width: int = 90) -> list[str]:
    return [line for text in texts for line in textwrap.wrap(text, width)]


def _draw_answer(answer: "Answer") -> Chart:
    import altair as alt

    rows = [row for row in _dots(answer) if row["original"] is not None]
    names = list(dict.fromkeys(row["name"] for row in rows))
    is_share = answer.is_share or answer.question.kind == "classifier"
    format_ = ".3~%" if is_share else ".4~r"
    axis = alt.Axis(title=None, grid=False, labelLimit=300, ticks=False)
    y = alt.Y("name:N", sort=names, axis=axis)
    scale = alt.Scale(zero=answer.is_share, nice=True)
    across = alt.Axis(title=None, format=format_, tickCount=5)
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=y)
    line = base.mark_rule(color=FAINT, strokeWidth=2).encode(
        x=alt.X("original:Q", scale=scale, axis=across), x2="release:Q"
    )
    sides = base.transform_fold(["original", "release"], as_=["table", "value"])
    domain = ["original", "release"]
    points = sides.mark_point(size=70, opacity=1, strokeWidth=2).encode(
        x=alt.X("value:Q", scale=scale, axis=across),
        color=alt.Color(
            "table:N",
            scale=alt.Scale(domain=domain, range=list(PALETTE[:2])),
            legend=legend(),
        ),
        shape=alt.Shape(
            "table:N", scale=alt.Scale(domain=domain, range=["circle", "cross"])
        ),
    )
    off = base.mark_text(align="left", fontSize=12, font=FONT, color=INK).encode(
        x=alt.value(WIDTH + 12), text="off:N"
    )
    hidden = len(answer.rows) - len(rows)
    title = answer.title
    if answer.question.kind in ("linear", "logistic"):
        title += "; in standard errors of the original"
    if hidden:
        title += f"; the {len(rows)} most off of {len(answer.rows)}"
    heading = alt.TitleParams(
        _wrapped([title], 80), anchor="start", frame="group", fontSize=13
    )
    layers = alt.layer(line, points, off)
    return layers.properties(width=WIDTH, height=_STEP * len(names), title=heading)


def _dots(answer: "Answer") -> Iterator[Row]:
    """Yield a plain row for each number, those that are most off if there are many."""
    from core_mondrian.analysis.analyst_statistics.answers import (
        difference_text,
        most_off,
    )

    is_fitted = answer.question.kind in ("linear", "logistic")
    is_share = answer.is_share or answer.question.kind == "classifier"
    for row in most_off(answer.rows, _MOST_GROUPS):
        unit = (row.error_before or 1.0) if is_fitted else 1.0
        before, after = row.before, row.after
        off = difference_text(row.difference, is_share=is_share)
        if is_fitted and row.difference is not None:
            off = f"{round(row.difference / unit, 1) or 0.0:+.1f}"
        yield {
            "name": row.name,
            "original": None if before is None else before / unit,
            "release": None if after is None else after / unit,
            "off": off,
        }
