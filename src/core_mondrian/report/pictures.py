"""The charts of a report, as SVG that a page can hold and its style can colour."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from itertools import accumulate

from core_mondrian.release.release_tree import SizeBin
from core_mondrian.report.charts import (
    FAINT,
    FONT,
    INK,
    PALETTE,
    compile_chart,
    fill_chart,
)
from core_mondrian.report.facts import ColumnFacts
from core_mondrian.report.plain import between, writable
from core_mondrian.runtime.plain_values import JsonObject

WIDTH = 220
"""Narrow, so that labels stay legible on a telephone and in two columns of print."""
_WIDE = 720
"""As wide as the page, for a chart that has no other beside it."""
GRID = "#e6e6e6"
BEFORE, EXACT, GENERAL = "#8c8c8c", PALETTE[0], PALETTE[5]
"""The original; released as it was; released as something more general."""
_SIDES = ("original", "release")
_OPENING = re.compile(r'<svg [^>]*viewBox="([^"]*)"[^>]*>')
# The chart is one picture with one name; its parts would be pictures without any.
_PARTS = re.compile(r'(<g class="[^"<>]*") role="[^"]*" aria-roledescription="[^"]*"')
_LONGEST_LABEL = 28.0
"""In letters of a usual width."""
_CAPITAL, _IDEOGRAPH = 1.3, 2.0


def draw_bins(column: ColumnFacts) -> str:
    """Return the shares of a column's values, before and after."""
    shares = [
        (one.text, {"before": one.before, "exact": one.exact, "general": one.general})
        for one in column.bins
    ]
    words = (
        f"Shares of rows by {column.name}, original and release; the table below the "
        "chart has the figures"
    )
    return _draw_sides(shares, words)


def draw_crowds(crowds: Sequence[tuple[str, float, float]], people: str) -> str:
    """Return the shares of people by how many look like them, before and after."""
    shares = [(name, {"before": old, "exact": new}) for name, old, new in crowds]
    words = (
        f"Shares of {people} by how many look alike, original and release; the table "
        "below the chart has the figures"
    )
    return _at_both_widths(lambda width: _draw_sides(shares, words, width))


def _at_both_widths(draw: Callable[[int], str]) -> str:
    """Return a chart twice: the style shows the one that fits the page."""
    return (
        f'<div class="roomy">{draw(_WIDE)}</div><div class="narrow">{draw(WIDTH)}</div>'
    )


def _draw_sides(
    shares: Sequence[tuple[str, dict[str, float]]], words: str, width: int = WIDTH
) -> str:
    """Return two bars for each name: the original, and above each other the release."""
    rows = [
        {"at": at, "side": _SIDES[part != "before"], "part": part, "share": share}
        for at, (_, parts) in enumerate(shares)
        for part, share in parts.items()
    ]
    return _embed(_compiled_bins(width), rows, [name for name, _ in shares], words)


def draw_sizes(sizes: tuple[SizeBin, ...]) -> str:
    """Return how many released rows are in classes of which size."""
    whole = max(sum(item.n_rows for item in sizes), 1)
    words = "Shares of released rows by the size of their class; the table has figures"
    shares = [(between(one.low, one.high), one.n_rows / whole) for one in sizes]
    return draw_shares(shares, words)


def draw_shares(shares: Sequence[tuple[str, float]], words: str) -> str:
    """Return a bar for each name; ``words`` say what they are."""
    rows = [{"at": at, "share": share} for at, (_, share) in enumerate(shares)]
    names = [name for name, _ in shares]
    return _at_both_widths(
        lambda width: _embed(_compiled_shares(width), rows, names, words)
    )


# Every column has the same chart but for its rows and names, and to compile one takes
# longer than to draw ten.
@cache
def _compiled_bins(width: int) -> JsonObject:
    bars = _bars(9, width)
    bars["encoding"]["yOffset"] = {"field": "side", "sort": list(_SIDES)}
    bars["encoding"]["color"] = {
        "field": "part",
        "legend": None,
        "scale": {
            "domain": ["before", "exact", "general"],
            "range": [BEFORE, EXACT, GENERAL],
        },
    }
    return compile_chart(bars)


@cache
def _compiled_shares(width: int) -> JsonObject:
    bars = _bars(17, width)
    bars["encoding"]["color"] = {"value": EXACT}
    return compile_chart(bars)


def _bars(step: int, width: int = WIDTH) -> JsonObject:
    """Return horizontal bars of shares without their rows; two may have one name."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        "padding": 4,
        "width": width,
        "height": {"step": step},
        "data": {"name": "rows", "values": []},
        "params": [{"name": "names", "value": []}],
        "mark": {"type": "bar", "height": {"band": 0.92}},
        "encoding": {
            "y": {
                "field": "at",
                "type": "ordinal",
                "scale": {"paddingInner": 0.25},
                "axis": {
                    "title": None,
                    "labelExpr": "names[datum.value]",
                    "labelPadding": 5,
                    "ticks": False,
                    "domain": False,
                },
            },
            "x": {
                "field": "share",
                "type": "quantitative",
                "axis": {"title": None, "format": ".0~%", "tickCount": 4},
            },
        },
        "config": _LOOK,
    }


_LOOK = {
    "aria": False,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 13,
        "labelLimit": 0,  # to measure letters takes long, and `_short` has cut them
        "labelColor": INK,
        "gridColor": GRID,
        "domainColor": FAINT,
        "tickColor": FAINT,
    },
}


def _short(name: str) -> str:
    """Return a label that fits beside its bar."""
    name = writable(name)
    ends = list(accumulate(_width(letter) for letter in name))
    if not ends or ends[-1] <= _LONGEST_LABEL:
        return name
    return f"{name[: bisect_right(ends, _LONGEST_LABEL - 1)]}…"


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in ("W", "F"):
        return _IDEOGRAPH
    return _CAPITAL if letter.isupper() else 1.0


def _embed(
    chart: JsonObject, rows: list[JsonObject], names: list[str], words: str
) -> str:
    """Return a chart that takes the width it is given, and says what it shows."""
    picture = fill_chart(chart, {"rows": rows}, {"names": [_short(n) for n in names]})
    label = escape(writable(words))

    def opening(box: re.Match[str]) -> str:
        width = box[1].split()[2]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box[1]}" '
            f'role="img" aria-label="{label}" style="max-width:{width}px">'
        )

    return _PARTS.sub(r"\1", _OPENING.sub(opening, picture, count=1))
