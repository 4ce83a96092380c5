"""Axis: the values of a column in a few bins, so that before and after compare.

A bin is named by round numbers or by what the release shows, and holds as many rows of
the original as a class needs; smaller ones are joined. Where a class shows a range, a
label or a set, its rows count evenly for all that this covers.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.report.plain import DASH
from core_mondrian.report.views import Bounds, Floats, Integers, View

BLANK = "blank"
OTHERS = "other values"
_MOST_BINS = 10
_NICE_STEPS = (1.0, 2.0, 5.0, 10.0)
_MOST_HIDDEN = 0.5
"""Share of rows that may show a label above those that are bins."""
_MIDNIGHT = re.compile(r" 00:00:00(\.0+)?Z?$")

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Axis:
    """The bins of a column; the last is for blanks."""

    texts: tuple[str, ...]
    of_code: NDArray[np.intp]
    """The bin of each code, that of missing values last."""
    weights: Floats
    """Of each class (axis 0), which share of its rows counts for each bin (axis 1)."""


def axis_of(view: View) -> Axis:
    """Return the bins of a quasi-identifier."""
    if view.cells.column.kind == "number":
        return _number_axis(view)
    return _category_axis(view)


def is_exact(view: View) -> Flags:
    """Tell which classes show the one value that their rows have."""
    cells, shown = view.cells, view.index >= 0
    if cells.column.kind == "number":
        bounds = view.bounds
        one = cells.low == cells.high
        same: Flags = shown & one & ~cells.has_missing & (bounds.low == bounds.high)
        return same
    alone = _set_sizes(view) == 1 if view.is_set else _is_leaf(cells.column.tree)
    exact: Flags = shown & (alone if view.is_set else alone[cells.nodes])
    return exact


def count_steps(view: View) -> Iterator[tuple[str, int]]:
    """Yield how far values were generalized, and the rows that were; least first."""
    exact, blank = is_exact(view), view.index < 0
    yield "as it was", int(view.rows[exact].sum())
    rest = ~exact & ~blank
    empty = blank & view.cells.is_empty
    if rows := int(view.rows[empty].sum()):
        yield "missing, as it was", rows
    level, texts = _levels(view)
    for i, text in enumerate(texts):
        if rows := int(view.rows[rest & (level == i)].sum()):
            yield text, rows
    if rows := int(view.rows[blank & ~empty].sum()):
        yield BLANK, rows


def _levels(view: View) -> tuple[NDArray[np.intp], list[str]]:
    """Return how far each class is generalized, and what that is called."""
    if view.cells.column.kind == "number":
        return _widths(view)
    if view.is_set:
        edges = np.array([3, 4, 6, 11])
        names = [
            "2 values",
            "3 values",
            f"4{DASH}5 values",
            f"6{DASH}10 values",
            "more values",
        ]
        return np.searchsorted(edges, _set_sizes(view), side="right"), names
    tree = view.cells.column.tree
    depth = np.concatenate(
        [np.full(nodes.stop - nodes.start, i) for i, nodes in enumerate(tree.levels)]
    )
    n = len(tree.levels) - 1
    names = [f"{up} level{'s' * (up > 1)} up" for up in range(n)] + ["as any value"]
    return (n - depth)[view.cells.nodes], names


def _widths(view: View) -> tuple[NDArray[np.intp], list[str]]:
    """Return how wide classes are, next to what is released of the whole column."""
    cells = view.cells
    halves = 0.5 * np.append(cells.column.values, np.nan)
    width = halves[cells.high] - halves[cells.low]
    shown = view.index >= 0
    ends = halves[np.concatenate([cells.low[shown], cells.high[shown]])]
    whole = float(ends.max() - ends.min()) if ends.size else 0.0
    share = width / whole if whole > 0.0 else np.zeros(width.size)
    edges = np.array([0.05, 0.2, 0.5])
    names = [*(f"in ranges up to {n} % wide" for n in (5, 20, 50)), "in wider ranges"]
    return np.searchsorted(edges, share, side="left"), names


# Numbers


def _number_axis(view: View) -> Axis:
    bounds, column = view.bounds, view.cells.column
    kind = view.values.type
    is_whole = pa.types.is_integer(kind)
    is_plain = is_whole or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    edges = _round_edges(bounds, is_whole) if is_plain else _shown_edges(bounds)
    edges = _joined(edges, column.values, view.before[:-1], view.least_rows)
    texts = _name_ranges(edges.tolist(), _edge_texts(edges, bounds, is_plain), is_whole)
    of_code = np.append(np.searchsorted(edges, column.values, side="right"), len(texts))
    unit = 1.0 if is_whole and view.cells.representatives is None else 0.0
    return Axis((*texts, BLANK), of_code, _spread_ranges(bounds, edges, unit))


def _edge_texts(edges: Floats, bounds: Bounds, is_plain: bool) -> list[str]:  # noqa: FBT001
    """Return the edges as text, days without the time that all of them have."""
    if is_plain:
        return [f"{edge:.12g}" for edge in edges.tolist()]
    words = [bounds.texts[edge] for edge in edges.tolist()]
    days = [_MIDNIGHT.sub("", word) for word in words]
    is_day = all(day != word for day, word in zip(days, words, strict=True))
    return days if is_day else words


def _round_edges(bounds: Bounds, is_whole: bool) -> Floats:  # noqa: FBT001
    """Return multiples of a round step between the ends of what is released."""
    low, high = _ends(bounds)
    span = high - low
    if not math.isfinite(span) or span <= 0.0:
        return np.zeros(0)
    power = 10.0 ** math.floor(math.log10(span / _MOST_BINS))
    step = next(s for s in _NICE_STEPS if s * power * _MOST_BINS >= span * 0.999)
    step = max(step * power, 1.0) if is_whole else step * power
    if step < 1e-300 or low + step == low or high + step == high:
        return np.zeros(0)  # no numbers in between that a float could tell apart
    first, last = math.floor(low / step) + 1, math.floor(high / step)
    # Division by a whole number keeps decimal steps exact.
    inverse = round(1 / step) if step < 1.0 else 0
    edges = [i / inverse if inverse else i * step for i in range(first, last + 1)]
    return np.array(edges, dtype=np.float64)


def _shown_edges(bounds: Bounds) -> Floats:
    """Return some of the released bounds, about evenly spread."""
    low, high = _ends(bounds)
    shown = np.unique(bounds.low[~np.isnan(bounds.low)])
    if shown.size < 2 or not math.isfinite(high - low):
        return np.zeros(0)
    targets = np.linspace(low, high, _MOST_BINS + 1)[1:-1]
    nearest = [shown[np.argmin(np.abs(shown - target))] for target in targets]
    edges: Floats = np.unique(nearest)
    return edges


def _ends(bounds: Bounds) -> tuple[float, float]:
    there = ~np.isnan(bounds.low)
    if not there.any():
        return 0.0, 0.0
    return float(bounds.low[there].min()), float(bounds.high[there].max())


def _joined(edges: Floats, values: Floats, rows: Integers, least: int) -> Floats:
    """Drop edges until every bin holds ``least`` rows of the original."""
    place = np.searchsorted(edges, values, side="right")
    counted = np.bincount(place, weights=rows, minlength=edges.size + 1)
    kept: list[float] = []
    inside = 0.0
    for edge, n in zip(edges.tolist(), counted.tolist(), strict=False):
        inside += n
        if inside >= least:
            kept.append(edge)
            inside = 0.0
    if kept and inside + counted[-1] < least:
        kept.pop()
    return np.array(kept, dtype=np.float64)


def _name_ranges(edges: list[float], words: list[str], is_whole: bool) -> list[str]:  # noqa: FBT001
    if not edges:
        return ["any value"]
    between = []
    for at in range(len(edges) - 1):
        last = words[at + 1]
        if is_whole:
            last = f"{edges[at + 1] - 1:.12g}"
        between.append(words[at] if last == words[at] else f"{words[at]} {DASH} {last}")
    return [f"< {words[0]}", *between, f"≥ {words[-1]}"]


def _spread_ranges(bounds: Bounds, edges: Floats, unit: float) -> Floats:
    """Return for which bins each range counts, by how much of it lies in each."""
    blank = np.isnan(bounds.low)
    low = np.where(blank, 0.0, bounds.low)
    with np.errstate(all="ignore"):
        width = np.where(blank, 0.0, bounds.high) + unit - low
        below = (edges[np.newaxis, :] - low[:, np.newaxis]) / width[:, np.newaxis]
    is_point = ~np.isfinite(width) | (width <= 0.0)
    below[is_point] = edges[np.newaxis, :] > low[is_point, np.newaxis]
    n = low.size
    covered = np.hstack([np.zeros((n, 1)), np.clip(below, 0.0, 1.0), np.ones((n, 1))])
    weights = np.hstack([np.diff(covered, axis=1), np.zeros((n, 1))])
    weights[blank] = 0.0
    weights[blank, -1] = 1.0
    return weights


# Categories


def _category_axis(view: View) -> Axis:
    tree = view.cells.column.tree
    n = view.cells.column.n_values
    frontier = _frontier(view, tree)
    names = [tree.labels[node] for node in frontier.tolist()]
    rows: dict[str, int] = {}
    for name, below in zip(names, _below(tree, frontier, view.before), strict=True):
        rows[name] = rows.get(name, 0) + below
    chosen = _choose_names(view, tree, names, rows)
    place = {name: i for i, name in enumerate(chosen)}
    bin_of = np.array([place.get(name, len(chosen)) for name in names], dtype=np.intp)
    has_others = len(chosen) < len(rows)
    last = len(chosen) + has_others
    of_code = np.full(n + 1, last, dtype=np.intp)
    for node, at in zip(frontier.tolist(), bin_of.tolist(), strict=True):
        of_code[tree.low[node] : min(tree.high[node] + 1, n)] = at
    texts = (*chosen, *([OTHERS] if has_others else []), BLANK)
    return Axis(texts, of_code, _spread_labels(view, tree, of_code, last + 1))


def _frontier(view: View, tree: Hierarchy) -> NDArray[np.intp]:
    """Return the lowest level that most rows of the release still tell apart.

    Leaves above that level belong to it as well.
    """
    size = tree.high - tree.low
    shown = view.index >= 0
    nodes = np.zeros(0, dtype=np.intp) if view.cells.nodes is None else view.cells.nodes
    whole = int(view.rows[shown].sum())
    leaves = tree.leaf_nodes
    if not leaves.size:
        return np.zeros(1, dtype=np.intp)
    for level in reversed(tree.levels[1:]):
        here = np.arange(level.start, level.stop)
        higher = leaves[leaves < level.start]
        frontier = np.concatenate([higher, here])
        cover = np.empty(tree.n_leaves, dtype=np.intp)
        for node in frontier.tolist():
            cover[tree.low[node] : tree.high[node] + 1] = node
        inside = size[nodes] <= size[cover[tree.low[nodes]]]
        if int(view.rows[shown & inside].sum()) >= (1 - _MOST_HIDDEN) * whole:
            break
    return frontier


def _below(tree: Hierarchy, nodes: NDArray[np.intp], before: Integers) -> list[int]:
    padded = np.zeros(tree.n_leaves + 1, dtype=np.int64)
    n = min(before.size - 1, tree.n_leaves)
    padded[1 : n + 1] = np.cumsum(before[:n])
    padded[n + 1 :] = padded[n]
    n_below: list[int] = (
        padded[tree.high[nodes] + 1] - padded[tree.low[nodes]]
    ).tolist()
    return n_below


def _choose_names(
    view: View, tree: Hierarchy, names: list[str], rows: dict[str, int]
) -> list[str]:
    """Return the labels that are bins: those of most rows that may be named."""
    allowed = _named(view, tree)
    large = [
        name
        for name in dict.fromkeys(names)
        if rows[name] >= view.least_rows and name in allowed
    ]
    large.sort(key=lambda name: -rows[name])
    most = _MOST_BINS if len(large) <= _MOST_BINS else _MOST_BINS - 1
    chosen = large[:most]
    whole = sum(rows.values())
    # What is left over is a bin as well, and must not be a few rows either.
    while chosen and 0 < whole - sum(rows[c] for c in chosen) < view.least_rows:
        chosen.pop()
    return chosen


def _named(view: View, tree: Hierarchy) -> set[str]:
    """Return the labels that may be named: released ones, and the user's own."""
    leaf_labels = {tree.labels[node] for node in tree.leaf_nodes.tolist()}
    allowed = set()
    if isinstance(view.spec.hierarchies.get(view.name), Hierarchy):
        allowed = set(tree.labels) - leaf_labels
    counted = np.bincount(
        view.index[view.index >= 0],
        weights=view.rows[view.index >= 0],
        minlength=len(view.labels.shown),
    )
    texts = view.labels.texts.to_pylist()
    enough = np.flatnonzero(counted >= view.least_rows)
    return allowed | {texts[i] for i in enough.tolist()}


def _spread_labels(
    view: View, tree: Hierarchy, of_code: NDArray[np.intp], n_bins: int
) -> Floats:
    """Return for which bins each label or set counts, evenly over its values."""
    cells, blank = view.cells, view.index < 0
    if view.is_set:
        owner, codes = _set_members(view)
        weights = np.zeros((view.rows.size, n_bins))
        np.add.at(weights, (owner, of_code[codes]), 1.0)
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
    else:
        leaves = np.zeros((tree.n_leaves + 1, n_bins))
        n = min(of_code.size - 1, tree.n_leaves)
        leaves[np.arange(1, n + 1), of_code[:n]] = 1.0
        covered = np.cumsum(leaves, axis=0)
        nodes = np.zeros(0, dtype=np.intp) if cells.nodes is None else cells.nodes
        weights = covered[tree.high[nodes] + 1] - covered[tree.low[nodes]]
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
    weights[blank] = 0.0
    weights[blank, -1] = 1.0
    return weights


def _is_leaf(tree: Hierarchy) -> Flags:
    """Tell which nodes show what the one leaf under them does."""
    alone: Flags = tree.high == tree.low
    if tree.leaf_nodes.size:
        labels = np.array(tree.labels, dtype=object)
        alone &= labels == labels[tree.leaf_nodes[tree.low]]
    return alone


def _set_members(view: View) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct codes of each class, as pairs of class and code."""
    width = view.cells.column.n_values + 1
    pairs = np.unique(view.owner * np.int64(width) + view.cells.codes)
    owner, codes = np.divmod(pairs, width)
    return owner, codes


def _set_sizes(view: View) -> NDArray[np.intp]:
    return np.bincount(_set_members(view)[0], minlength=view.rows.size)
