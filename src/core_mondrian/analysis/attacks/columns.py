"""Columns that both tables have: which released cell fits which person's value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.errors import MemoryLimitError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.recoding.rounding import find_grid
from core_mondrian.runtime.array_types import ArrowArray, Flags, Integers
from core_mondrian.spec.declaration import RANGES, Spec
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.frames import OpenFrame, arrow_column
from core_mondrian.verification.counting import Coded, code_column
from core_mondrian.verification.matches import (
    column_tree,
    fitting,
    plain_column,
    read_cells,
    read_ends,
    split_interval,
)

_MOST_FITS: Final = 1 << 31


class EndParts(NamedTuple):
    """Both bounds of ranges: each is the value of a row, if they are tight."""

    ends: Integers
    """The values that are a cell's two bounds; -1: it has none, -2: nobody's value, or
    one of several that the grid of nice bounds leaves open."""

    @property
    def n_parts(self) -> Integers:
        """How many each cell names; nobody is in one that is nobody's value."""
        return np.where((self.ends != -1).all(axis=1), 2, 0)

    def part_of(self, cells: Integers, values: Integers) -> Integers:
        """Return the part that each value is in, of the cell next to it; 0: none."""
        low, high = self.ends[cells].T
        return np.where(values == low, 1, np.where(values == high, 2, 0))


class LabelParts(NamedTuple):
    """Parts of categories, each of which has a row in a class that shows the cell."""

    number: NDArray[np.int16]
    """Cells by values: the part that a value is in, from 1 on; 0: in none."""
    n_parts: Integers
    """How many each cell names, even if nobody has a value of it."""

    def part_of(self, cells: Integers, values: Integers) -> Integers:
        """Return the part that each value is in, of the cell next to it; 0: none."""
        return self.number[cells, values].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as an attacker matches it."""

    name: str
    cells: Integers
    """Number of what each class shows."""
    values: Integers
    """Number of each person's value; missing is the last."""
    fits: Flags | None
    """Cells by values; None: a cell fits the value of its number."""
    parts: EndParts | LabelParts | None = None
    """What must be in a class for it to show a cell; None: cells do not say."""

    def fit(self, values: Integers, cells: Integers) -> Flags:
        """Return which values (axis 0) fit which cells (axis 1)."""
        if self.fits is None:
            return np.asarray(values[:, np.newaxis] == cells[np.newaxis, :])
        distinct, place = np.unique(values, return_inverse=True)
        chosen: Flags = self.fits[:, distinct][cells]
        return np.ascontiguousarray(chosen.T)[place]

    def fit_each(self, persons: Integers, classes: Integers) -> Flags:
        """Return which people fit the classes next to them."""
        values, cells = self.values[persons], self.cells[classes]
        if self.fits is None:
            return np.asarray(values == cells)
        fits: Flags = self.fits[cells, values]
        return fits

    def regroup(self, classes: Integers) -> "Column":
        """Return the column with what these classes show."""
        return replace(self, cells=self.cells[classes])


def read_quasi_identifier(
    tables: "tuple[OpenFrame, OpenFrame]",
    shown: tuple[str, Sequence[str]],
    rows: Integers,
    spec: Spec,
) -> Column:
    """Return a quasi-identifier of the release and the original.

    ``shown`` is its name, and the columns it is released in; ``rows`` has a row of
    each class.
    """
    released, original = tables
    name, columns = shown
    texts = read_cells(released, columns, rows)
    distinct = [*sorted({text for text in texts if text is not None}), None]
    number = {text: i for i, text in enumerate(distinct)}
    cells = np.array([number[text] for text in texts], dtype=np.int64)
    column = _as_read(plain_column(arrow_column(original, name)))
    coded = code_column(column, ordered=True)
    if len(distinct) * coded.n_codes > _MOST_FITS:
        raise MemoryLimitError(
            f"column {name!r} has too many different values for this",
            hint="attack a part of the rows",
        )
    known = pa.array(coded.labels, column.type)
    tree = column_tree(name, known, spec)
    is_number = tree is None and not is_text(column.type)
    if is_number and spec.format_of(name) not in RANGES:
        fits = np.ones((len(distinct), coded.n_codes), dtype=np.bool_)
        return Column(name, cells, coded.codes, fits)
    has_sets = spec.categories_of(name) == "set"
    fits = fitting(distinct, known, tree, has_sets=has_sets)
    if is_number:
        ends = _ends(distinct, known, is_nice=spec.is_nice(name))
        return Column(name, cells, coded.codes, fits, EndParts(ends))
    parts = _label_parts(distinct, fits, known, tree, has_sets=has_sets)
    return Column(name, cells, coded.codes, fits, parts)


def is_matched(original: OpenFrame, name: str, spec: Spec) -> bool:
    """Return whether cells of a quasi-identifier say what fits: means do not."""
    kind = _as_read(plain_column(arrow_column(original, name))).type
    is_range = spec.format_of(name) in RANGES
    return is_range or name in spec.hierarchies or is_text(kind)


def _as_read(column: ArrowArray) -> ArrowArray:
    """Return truth values as the texts they are released as."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string())
    return column.cast(pa.string()) if pa.types.is_null(kind) else column


def _ends(
    cells: Sequence[str | None], values: ArrowArray, *, is_nice: bool
) -> Integers:
    """Return the numbers of both bounds of each cell; one value has none.

    Of nice bounds, those that are on the grid leave several values open: which of them
    is in the class, they do not say.
    """
    ends = np.full((len(cells), 2), -1, dtype=np.int64)
    ranges = {
        i: read_ends(cell, values.type)
        for i, cell in enumerate(cells)
        if cell is not None and not cell.startswith("{") and _is_range(cell)
    }
    for i, shown in ranges.items():
        places = pc.index_in(shown, values)
        ends[i] = places.fill_null(-1).to_numpy(zero_copy_only=False)
        ends[i, ends[i] < 0] = -2  # a bound, but nobody's value
    if is_nice and ranges:
        grid = find_grid(values)
        is_on = [_is_on(grid, shown) for shown in ranges.values()]
        if _leave_open(list(ranges.values()), values):
            is_on = [True] * len(is_on)  # the grid of those who are released
        ends[[i for i, on in zip(ranges, is_on, strict=True) if on]] = -2
    return ends


def _is_range(cell: str) -> bool:
    low, high = split_interval(cell)
    return low != high


def _is_on(grid: tuple[ArrowArray, ArrowArray], ends: ArrowArray) -> bool:
    """Return whether both ends of a range are ends of cells of a grid."""
    return all(
        bool(pc.is_in(ends[side : side + 1], grid[side])[0].as_py()) for side in (0, 1)
    )


def _leave_open(ranges: Sequence[ArrowArray], values: ArrowArray) -> bool:
    """Return whether two values lie between each end and the next one that is shown."""
    shown = pa.concat_arrays([*ranges, _one(values)])
    ranks = code_column(pa.chunked_array([shown]), ordered=True).codes
    known, pairs = np.sort(ranks[-len(values) :]), ranks[: -len(values)].reshape(-1, 2)
    # Values below each end that is shown, from the lowest on.
    places = np.unique(pairs)
    below = np.searchsorted(known, places)
    low, high = (np.searchsorted(places, end) for end in pairs.T)
    after, before = below[low + 1] - below[low], below[high] - below[high - 1]
    return bool((np.minimum(after, before) >= 2).all())


def _one(column: ArrowArray) -> ArrowArray:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _label_parts(
    cells: Sequence[str | None],
    fits: Flags,
    values: ArrowArray,
    tree: Hierarchy | None,
    *,
    has_sets: bool,
) -> LabelParts:
    """Return what must be below each cell: all of a set, both of two branches."""
    parts = LabelParts(np.zeros(fits.shape, np.int16), np.zeros(len(cells), np.int64))
    texts = np.array(values.cast(pa.string()).to_pylist(), dtype=object)
    for i, cell in enumerate(cells):
        members = np.flatnonzero(fits[i])
        if cell is None or members.size < 2:
            continue
        is_set = has_sets and cell.startswith("{") and cell.endswith("}")
        if is_set or (tree is None and members.size == 2):
            parts.number[i, members] = np.arange(1, members.size + 1)
            parts.n_parts[i] = members.size
        elif tree is not None:
            for number, leaves in enumerate(_branches(cell, tree), start=1):
                parts.number[i, :-1][np.isin(texts, leaves)] = number
                parts.n_parts[i] = number
    return parts


def _branches(label: str, tree: Hierarchy) -> list[list[str]]:
    """Return the leaves of both children of a node that has two."""
    nodes = [node for node, text in enumerate(tree.labels) if text == label]
    if len(nodes) != 1 or tree.n_children[nodes[0]] != 2:
        return []
    first = int(tree.first_child[nodes[0]])
    return [
        list(tree.leaves[tree.low[child] : tree.high[child] + 1])
        for child in (first, first + 1)
    ]


def read_carried(
    tables: "tuple[OpenFrame, OpenFrame]", name: str, rows: Integers
) -> Column:
    """Return a column that is released as it is."""
    released, original = (
        _as_read(plain_column(arrow_column(frame, name))) for frame in tables
    )
    released = released.take(pa.array(rows))
    joined = join_columns(released, original)
    codes = code_column(joined).codes
    return Column(name, codes[: len(rows)], codes[len(rows) :], None)


def code_together(
    frames: Sequence[OpenFrame],
    name: str,
    read: Callable[[ArrowArray], ArrowArray] = lambda column: column,
) -> Coded:
    """Return the values of a column in several tables, one after the other."""
    columns = (plain_column(read(arrow_column(frame, name))) for frame in frames)
    return code_column(reduce(join_columns, columns))


def join_columns(first: ArrowArray, second: ArrowArray) -> ArrowArray:
    """Return the cells of one column after those of another, as one type."""
    if first.type != second.type:
        try:
            first = first.cast(second.type)
        except pa.ArrowException:
            first, second = first.cast(pa.string()), second.cast(pa.string())
    chunks = [
        chunk
        for one in (first, second)
        for chunk in (one.chunks if isinstance(one, pa.ChunkedArray) else [one])
    ]
    return pa.chunked_array(chunks, second.type)
