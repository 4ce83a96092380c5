"""How results show themselves in a notebook: HTML that loads and runs nothing.

Colours are the page's own, or readable on light and on dark. It holds figures, column
names and names of models, and no cell.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from core_mondrian.analysis.advise import Sweep
    from core_mondrian.analysis.p_sensitize import Sensitized
    from core_mondrian.release.result import AnyRelease

# Both reach a contrast of 3 with white and with black.
_BLUE: Final = "#3388cc"
_ORANGE: Final = "#d5702a"
_BOX: Final = (
    "display:inline-block;max-width:100%;padding:.6em .9em;"
    "border:1px solid rgba(127,127,127,.5);border-radius:6px"
)
_SIDE: Final = "display:inline-block;vertical-align:top;margin:.5em 2em .2em 0"
_CELL: Final = (
    "padding:.1em .7em .1em 0;border:none;background:none;color:inherit;text-align:"
)
_BAR: Final = "display:inline-block;height:.8em;min-width:1px;background:"
_WIDEST: Final = 8
"""Length of a bar in letters."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A number that is shown as a bar, from 0 to 1."""

    share: float
    colour: str = _BLUE


class Figure(str):
    """A number as text: it stands on the right, in one line."""

    __slots__ = ()


Cell = str | Bar


def release_html(release: "AnyRelease") -> str:
    """Return what was released, reached and lost."""
    from core_mondrian.release.release_tree import size_bins

    before = release.risk_before()
    people = "rows" if release.spec.unit is None else "persons"
    verification, measures = release.verification, release.measures()
    n_released = release.n_rows - release.n_suppressed
    facts: list[tuple[str, str]] = [
        (
            "rows",
            f"{release.n_rows:,} in, {n_released:,} released, "
            f"{release.n_suppressed:,} suppressed (budget {release.budget:,})",
        ),
        (
            "unique",
            f"{before.n_unique:,} of {before.n_people:,} {people} were the only ones "
            f"of their kind in the original",
        ),
        (
            "classes",
            f"{verification.n_classes:,}, the smallest has {verification.smallest}",
        ),
        *(("verified", _reached(x.name, x.reached)) for x in verification.models),
        ("loss", _percent(measures.loss)),
        ("digest", release.digest),
        *(("warning", one.text) for one in release.warnings if not one.accepted),
    ]
    lost: list[list[Cell]] = [
        [one.name, one.kind, _percent(one.ncp), Bar(one.ncp or 0.0, _ORANGE)]
        for one in measures.columns
    ]
    bins = size_bins(release.class_sizes)
    counts = _bars([one.n_classes for one in bins], _BLUE)
    sizes: list[list[Cell]] = [
        [Figure(f"{one.low:,}-{one.high:,}"), Figure(f"{one.n_classes:,}"), length]
        for one, length in zip(bins, counts, strict=True)
    ]
    return _box(
        "Release",
        _facts(facts),
        _table("lost (NCP)", ("column", "kind", "", ""), lost),
        _table("class sizes", ("rows", "classes", ""), sizes),
    )


def sweep_html(sweep: "Sweep") -> str:
    """Return what each combination would cost and protect."""
    knees = sweep.knees
    names = tuple(sweep.points[0].parameters) if sweep.points else ()
    titles = (*names, "loss", "", "classes", "highest risk", "suppressed", "")
    known = [point.figures for point in sweep.points]
    losses = _bars([0.0 if one is None else one.loss or 0.0 for one in known], _ORANGE)
    rows: list[list[Cell]] = []
    for point, figures, length in zip(sweep.points, known, losses, strict=True):
        start = [Figure(f"{value:g}") for value in point.parameters.values()]
        none = Figure("-")
        if figures is None:
            rows.append([*start, none, "", none, none, none, str(point.problem)])
            continue
        rows.append(
            [
                *start,
                _percent(figures.loss),
                length,
                Figure(f"{figures.n_classes:,}"),
                _percent(figures.highest_risk),
                Figure(f"{figures.n_suppressed:,}"),
                "knee" if point in knees else "",
            ]
        )
    facts = [("rows", f"{sweep.n_rows:,}"), ("", "figures, not a release")]
    return _box("Sweep", _facts(facts), _table("", titles, rows))


def sensitized_html(done: "Sensitized[Any]") -> str:
    """Return how many values are false, and what that reached."""
    facts = [
        ("notice", done.summary),
        ("reached", f"{done.k:,} rows and {done.p:,} values a class"),
        ("drift", f"{done.drift:.6f} (total variation distance)"),
    ]
    rows: list[list[Cell]] = [
        [what, Figure(f"{n:,}"), f"of {of:,}", Bar(n / of if of else 0.0, _ORANGE)]
        for what, n, of in (
            ("values", done.n_changed, done.n_rows),
            ("classes", done.n_classes_changed, done.n_classes),
        )
    ]
    return _box("p-sensitized", _facts(facts), _table("changed", ("",) * 4, rows))


def _box(title: str, *parts: str) -> str:
    return f'<div style="{_BOX}"><b>{escape(title)}</b><br>{"".join(parts)}</div>'


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr style="background:none"><th style="{_CELL}left;font-weight:normal;'
        f'opacity:.7">{escape(name)}</th>'
        f'<td style="{_CELL}left;overflow-wrap:anywhere">{escape(text)}</td></tr>'
        for name, text in facts
    )
    return f'<table style="{_SIDE};border:none">{rows}</table>'


def _table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table; without rows, nothing."""
    if not rows:
        return ""
    head = "".join(
        f'<th style="{_CELL}{_side(cell)};font-weight:normal;opacity:.7">'
        f"{escape(title)}</th>"
        for title, cell in zip(titles, rows[0], strict=True)
    )
    body = "".join(
        f'<tr style="background:none">{"".join(map(_cell, row))}</tr>' for row in rows
    )
    return (
        f'<table style="{_SIDE};border:none"><caption style="text-align:left;'
        f'color:inherit">{escape(caption)}</caption><tr>{head}</tr>{body}</table>'
    )


def _cell(cell: Cell) -> str:
    if isinstance(cell, Bar):
        length = f"{_WIDEST * min(max(cell.share, 0.0), 1.0):.2f}em"
        inner = f'<span style="{_BAR}{cell.colour};width:{length}"></span>'
        inner = inner if cell.share > 0 else ""
    else:
        inner = escape(cell)
    return f'<td style="{_CELL}{_side(cell)}">{inner}</td>'


def _side(cell: Cell) -> str:
    return "right;white-space:nowrap" if isinstance(cell, Figure) else "left"


def _bars(values: Sequence[float], colour: str) -> list[Bar]:
    """Return a bar for each value, next to the highest."""
    most = max(values, default=0.0) or 1.0
    return [Bar(value / most, colour) for value in values]


def _reached(name: str, reached: float) -> str:
    figure = f"{reached:.9g}" if math.isfinite(reached) else "vacuously"
    return f"{name} (reached {figure})"


def _percent(share: float | None) -> Figure:
    return Figure("-" if share is None else f"{100 * share:.1f} %")
