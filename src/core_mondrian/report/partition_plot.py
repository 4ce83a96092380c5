"""paint(): two quasi-identifiers of a release as a Mondrian painting, in SVG.

`Painter` paints several pairs of the same release, and lays each column out once.

It shows the boxes and the sizes of the released classes, which anyone can read off the
release, and nothing of the rows that went in.
"""

import re
from dataclasses import dataclass
from html import escape

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.columns import as_floats, comparable, rank_column
from core_mondrian.errors import SpecError, list_names
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.release.result import AnyRelease

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Box = tuple[float, float, float, float]
"""Left, top, width and height."""

_RED_SHARE = 0.2
_ROOM = 1 / 80
_BLANK = 0.92
"""Where values end, if a band is needed for classes that show a blank."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 128, 40, 20, 76
_MOST_TICKS = 8, 16
"""Labels along the bottom, and up the side."""
_LONGEST = 11, 15
"""Letters of them."""
_APART = 0.13, 0.05
"""From one to the next, where the axis is 1 long."""
_COLOURS = {"red": "#d42a1e", "blue": "#1f5aa6", "yellow": "#f5c400"}
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.t{font-size:15px;font-weight:600}"
    ".m{text-anchor:middle}.e{text-anchor:end}rect{stroke:#111;fill:#fbf9f2}"
    ".p{stroke:none}.q{stroke:none;fill:#e6e0d0}.o{fill-opacity:.6}"
    + "".join(f".{name}{{fill:{code}}}" for name, code in _COLOURS.items())
)
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Slots:
    """The places of an axis, from 0 to 1, and which of them each class takes."""

    first: Floats
    last: Floats
    """Where each slot begins and ends."""
    texts: list[str]
    """Its label; empty: it has none."""
    low: Codes
    high: Codes
    """First and last slot of each class; -1: it shows a blank."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Where the classes lie along one column, from 0 to 1."""

    name: str
    low: Floats
    high: Floats
    is_single: NDArray[np.bool_]
    """Classes that show one value."""
    shown: list[str]
    """What each class shows."""
    places: Floats
    """The middle of each slot."""
    texts: list[str]
    """Its label; empty: it has none."""
    has_blank: bool
    """Whether a band at the end is for classes that show a blank."""

    def ticks(self, most: int, apart: float) -> list[tuple[float, str]]:
        """Return some labels and where they stand, ``separate`` from each other."""
        chosen = _spaced(self.places, self.texts, most, apart)
        ticks = [(float(self.places[i]), self.texts[i]) for i in chosen]
        if not self.has_blank:
            return ticks
        band = _BLANK / 2 + 0.51
        ticks = [(at, text) for at, text in ticks if band - _BLANK * at > apart / 2]
        return [*((_BLANK * at, text) for at, text in ticks), (band, "blank")]


def paint(
    release: AnyRelease,
    x: str,
    y: str,
    *,
    width: int = 640,
    title: str | None = None,
    most: int | None = None,
) -> str:
    """Return the classes of a release as rectangles over two quasi-identifiers.

    A number reaches from the class's smallest to its largest value, a category over
    the values under its label or, for a set, from the first to the last of its values.
    Boxes that overlap, because of other columns or because the policy lets them, shine
    through each other. Of more than ``most`` classes, as many
    are painted, evenly from the largest to the smallest.

    Raises:
        SpecError: a column is not a quasi-identifier, or the width is below 320.
    """
    return Painter(release).paint(x, y, width=width, title=title, most=most)


class Painter:
    """Paints pairs of columns of one release."""

    def __init__(self, release: AnyRelease) -> None:
        self._release = release
        self._axes: dict[str, _Axis] = {}

    def paint(
        self,
        x: str,
        y: str,
        *,
        width: int = 640,
        title: str | None = None,
        most: int | None = None,
    ) -> str:
        """Return the classes as rectangles over two quasi-identifiers; see `paint`."""
        if width < 320:
            raise SpecError(f"a painting is at least 320 wide, got {width}")
        across, up = self._axis(x), self._axis(y)
        rows = self._release._recoded.classes.rows  # noqa: SLF001
        k = self._release.spec.min_rows
        right, base = width - _RIGHT, int(0.8 * width) - _BOTTOM
        lefts, rights = (_LEFT + a * (right - _LEFT) for a in (across.low, across.high))
        bottoms, tops = (base - at * (base - _TOP) for at in (up.low, up.high))
        boxes = np.stack([lefts, tops, rights - lefts, bottoms - tops], axis=1)
        colours = _choose_colours(across, up, rows, k)
        painted = _choose_classes(rows, most)
        words = [
            f"{x}: {across.shown[i]}; {y}: {up.shown[i]}; {rows[i]} rows"
            for i in painted.tolist()
        ]
        shapes = _rectangles(boxes[painted], colours[painted].tolist(), words)
        if title is None:
            part = "" if painted.size == rows.size else f"{painted.size} of "
            title = f"{part}{rows.size} classes over {x} and {y}"
        legend = {
            "red": f"{_RED_SHARE:.0%} of the loss, in the fewest classes",
            "blue": "single values",
            "yellow": f"{2 * k} rows or more",
        }
        return _frame((across, up), shapes, (right, base), title, legend)

    def _axis(self, name: str) -> _Axis:
        if name not in self._axes:
            self._axes[name] = _lay_out(self._release, name)
        return self._axes[name]


def _choose_classes(rows: Codes, most: int | None) -> Codes:
    order = np.argsort(-rows, kind="stable")
    if most is None or rows.size <= most:
        return order
    return order[np.linspace(0, rows.size - 1, most).astype(np.int64)]


def _lay_out(release: AnyRelease, name: str) -> _Axis:
    """Return where the classes lie along a column."""
    names = release.spec.quasi_identifiers
    if name not in names:
        raise SpecError(
            f"{name!r} is not a quasi-identifier of the release",
            hint=f"it has {list_names(names)}",
        )
    recoded = release._recoded  # noqa: SLF001
    labels = recoded.labels[name]
    index = labels.index[recoded.leaf_of_class]
    texts = [*labels.texts.to_pylist(), "blank"]
    shown = [texts[at] for at in index.tolist()]
    slots = _slots(release, names.index(name), index, shown)
    is_blank = index < 0
    low = np.append(slots.first, 0.0)[slots.low]
    high = np.append(slots.last, 0.0)[slots.high]
    if is_blank.any():
        low = np.where(is_blank, _BLANK + 0.02, _BLANK * low)
        high = np.where(is_blank, 1.0, _BLANK * high)
    return _Axis(
        name=name,
        low=low,
        high=high,
        is_single=(slots.low == slots.high) & ~is_blank,
        shown=shown,
        places=(slots.first + slots.last) / 2,
        texts=slots.texts,
        has_blank=bool(is_blank.any()),
    )


def _slots(
    release: AnyRelease, i: int, index: NDArray[np.int32], shown: list[str]
) -> _Slots:
    """Lay out what the classes show in column ``i``, blanks aside."""
    column, points = (
        release._pieces.columns[i],  # noqa: SLF001
        release._recoded.classes.representatives[i],  # noqa: SLF001
    )
    if (ends := release._recoded.labels[column.name].ends) is not None:  # noqa: SLF001
        return _range_slots(ends, index)
    if points is not None:  # nothing is known of the range
        numbers, place = np.unique(points[index >= 0], return_inverse=True)
        slot = np.full(index.size, -1)
        slot[index >= 0] = place
        text = dict(zip(points.tolist(), shown, strict=True))
        texts = [text[number] for number in numbers.tolist()]
        return _Slots(*_number_cells(numbers), texts, slot, slot)
    low, high, codes = _codes(release, i, index)
    values = release._encoded.values[i]  # noqa: SLF001
    words = [*values.cast(pa.string()).to_pylist(), "null"]
    is_named = np.zeros(len(words) + 1, dtype=bool)
    if column.kind == "number":
        is_named[low] = is_named[high] = True
        used = np.flatnonzero(is_named[:-1])
        first, last = np.zeros((2, len(words)))
        first[used], last[used] = _number_cells(column.values[used])
    else:
        # A value has a place only if it is released, or the user named it in a tree;
        # of a tree that was made of the values, each class shows a place.
        is_set = release.spec.categories_of(column.name) == "set"
        is_named[codes if is_set else low[low == high]] = True
        is_placed = is_named[:-1].copy()
        entry = release.spec.hierarchies.get(column.name)
        if release.spec.uncovered_of(column.name) != "own branch":
            is_placed[:-1] |= isinstance(entry, Hierarchy)
        if not release.spec.is_flat(column.name):
            is_placed[low[low >= 0]] = True
        first, last = _category_cells(is_placed)
    texts = [
        word if named else "" for word, named in zip(words, is_named, strict=False)
    ]
    return _Slots(first, last, texts, low, high)


def _range_slots(ends: tuple[pa.Array, pa.Array], index: NDArray[np.int32]) -> _Slots:
    """Lay out bounds as they are shown, which the values need not reach."""
    both = rank_column(pa.chunked_array(list(ends)), "")
    codes = np.append(both.codes, -1).astype(np.int64)
    n = len(ends[0])
    low = np.where(index < 0, -1, codes[index])
    high = np.where(index < 0, -1, codes[index + n])
    texts = comparable(both.values).cast(pa.string()).to_pylist()
    return _Slots(*_number_cells(as_floats(both.values)), texts, low, high)


def _codes(
    release: AnyRelease, i: int, index: NDArray[np.int32]
) -> tuple[Codes, Codes, Codes]:
    """Return first and last code of each class (-1: blank), and all that is shown."""
    classes, table = release._recoded.classes, release._pieces  # noqa: SLF001
    column, nodes = table.columns[i], classes.nodes[i]
    order = np.argsort(classes.of_tuple, kind="stable")
    order = order[np.count_nonzero(classes.of_tuple < 0) :]
    owner, codes = classes.of_tuple[order], table.codes[order, i].astype(np.int64)
    is_label = release.spec.categories_of(column.name) == "label"
    if column.hierarchy is not None and nodes is not None and is_label:
        low, high = column.hierarchy.low[nodes], column.hierarchy.high[nodes]
    else:
        edges = np.searchsorted(owner, np.arange(index.size))
        low, high = (f.reduceat(codes, edges) for f in (np.minimum, np.maximum))
    ends = np.where(index < 0, -1, np.stack([low, high])).astype(np.int64)
    return ends[0], ends[1], codes[index[owner] >= 0]


def _number_cells(numbers: Floats) -> tuple[Floats, Floats]:
    """Give each number some room, up to the middle to the next one.

    So boxes next to each other touch, and one value has a width; but where nothing is
    for long, the canvas stays empty.
    """
    if numbers.size < 2:
        return np.zeros(numbers.size), np.ones(numbers.size)
    room = np.minimum(np.diff(numbers) / 2, _ROOM * (numbers[-1] - numbers[0]))
    room = np.concatenate([room[:1], room, room[-1:]])
    first, last = numbers - room[:-1], numbers + room[1:]
    whole = last[-1] - first[0] or 1.0  # large integers may be one and the same float
    return (first - first[0]) / whole, (last - first[0]) / whole


def _category_cells(is_placed: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    if not is_placed.any():
        return np.zeros(is_placed.size), np.ones(is_placed.size)
    at = np.concatenate([[0], np.cumsum(is_placed)]) / np.count_nonzero(is_placed)
    return at[:-1], at[1:]


def _spaced(places: Floats, texts: list[str], most: int, apart: float) -> list[int]:
    """Return a few places that have a text, evenly spread."""
    named = np.flatnonzero([bool(text) for text in texts])
    chosen: list[int] = []
    for target in np.linspace(0, 1, most) if named.size else ():
        i = int(named[np.argmin(np.abs(places[named] - target))])
        if not chosen or places[i] - places[chosen[-1]] > apart:
            chosen.append(i)
    return chosen


def _choose_colours(across: _Axis, up: _Axis, rows: Codes, k: int) -> NDArray[np.str_]:
    widths = [np.where(a.is_single, 0.0, a.high - a.low) for a in (across, up)]
    costs = (widths[0] + widths[1]) * rows
    colours = np.where(rows >= 2 * k, "yellow", "white")
    colours[across.is_single & up.is_single] = "blue"
    order = np.argsort(-costs, kind="stable")
    before = np.cumsum(costs[order]) - costs[order]
    is_red = (before < _RED_SHARE * costs.sum()) & (costs[order] > 0)
    colours[order[is_red]] = "red"
    return colours


def _rectangles(boxes: Floats, colours: list[str], words: list[str]) -> list[str]:
    """Return one rectangle per class, large ones first."""
    lines = min(3.0, 30 / max(len(boxes), 1) ** 0.5)
    order = sorted(
        range(len(boxes)),
        key=lambda i: (-boxes[i, 2] * boxes[i, 3], *boxes[i].tolist(), words[i]),
    )
    rectangles = []
    for i in order:
        x, y, w, h = boxes[i].tolist()
        shines = " o" if _overlaps(boxes, i) else ""
        line = max(0.3, min(lines, w / 5, h / 5))
        rectangles.append(
            f'<rect class="{colours[i]}{shines}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{w:.1f}" height="{h:.1f}" stroke-width="{line:.1f}">'
            f"<title>{_text(words[i])}</title></rect>"
        )
    return rectangles


def _overlaps(boxes: Floats, i: int) -> bool:
    """Tell whether a box shares more than an edge with another one."""
    ends = boxes[:, :2] + boxes[:, 2:]
    shared = np.minimum(ends, ends[i]) - np.maximum(boxes[:, :2], boxes[i, :2])
    return bool(np.count_nonzero((shared > 0.05).all(axis=1)) > 1)


def _frame(
    axes: tuple[_Axis, _Axis],
    shapes: list[str],
    corner: tuple[int, int],
    title: str,
    legend: dict[str, str],
) -> str:
    """Return the whole picture: canvas, classes, axes, title and legend."""
    right, base = corner
    width, height = right + _RIGHT, base + _BOTTOM
    wide, high = right - _LEFT, base - _TOP
    parts = [
        f'<tspan style="fill:{_COLOURS[name]}">■</tspan> {_text(words)}'
        for name, words in legend.items()
    ]
    words = "; ".join(f"{name}: {words}" for name, words in legend.items())
    across, up = axes
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-labelledby="t d">',
            f'<title id="t">{_text(title)}</title>',
            f'<desc id="d">{len(shapes)} classes as boxes. {_text(words)}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="p" width="{width}" height="{height}" rx="6"/>',
            f'<rect class="q" x="{_LEFT}" y="{_TOP}" width="{wide}" height="{high}"/>',
            *shapes,
            _label("t", _LEFT, 26, title),
            *(
                _label("m", _LEFT + at * wide, base + 18, _short(word, _LONGEST[0]))
                for at, word in across.ticks(_MOST_TICKS[0], _APART[0])
            ),
            *(
                _label("e", _LEFT - 8, base + 4 - at * high, _short(word, _LONGEST[1]))
                for at, word in up.ticks(_MOST_TICKS[1], _APART[1])
            ),
            _label("m", _LEFT + wide / 2, base + 38, across.name),
            f'<g transform="translate(16 {_TOP + high / 2:.1f}) rotate(-90)">'
            f"{_label('m', 0, 0, up.name)}</g>",
            f'<text class="m" x="{width / 2:.1f}" y="{height - 12}">'
            f"{' &#160; '.join(parts)}</text>",
            "</svg>\n",
        ]
    )


def _label(kind: str, x: float, y: float, words: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{_text(words)}</text>'


def _short(words: str, longest: int) -> str:
    return words if len(words) <= longest else f"{words[: longest - 2]}…"


def _text(words: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", words))
