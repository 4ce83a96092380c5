"""Ranges of classes: as text, or with both bounds in the column's own type."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.columns import comparable
from core_mondrian.recoding.labels import BOUNDS, Labels, number_distinct
from core_mondrian.recoding.rounding import find_grid
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.moments import moment_texts


def label_ranges(
    name: str,
    values: pa.Array,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
    released: Callable[[], NDArray[np.bool_]],
    spec: Spec,
) -> Labels:
    """Return the range of each class between its smallest and its largest value.

    A class that mixes missing and present values shows neither. ``released`` returns
    which codes released rows have, by which the grid of nice bounds is chosen.
    """
    low, high = (codes.astype(np.int64) for codes in box)
    missing = len(values)
    pair = np.where(high == missing, -1, low * (missing + 1) + high)
    distinct, index = number_distinct(pair)
    is_blank = bool(distinct.size) and distinct[0] < 0
    distinct = distinct[1:] if is_blank else distinct
    index = index - is_blank
    places = distinct // (missing + 1), distinct % (missing + 1)
    is_nice = spec.is_nice(name)
    below, above = _find_grid(values, released()) if is_nice else (values, values)
    low_ends = below.take(pa.array(places[0]))
    high_ends = above.take(pa.array(places[1]))
    if is_nice:
        (low_ends, high_ends), index = _merge(low_ends, high_ends, index)
    ends = low_ends, high_ends
    if spec.format_of(name) == "interval":
        shown = _as_text(low_ends, high_ends)
    else:
        shown = pa.StructArray.from_arrays(ends, names=list(BOUNDS))
    return Labels(index.astype(np.int32), shown, ends=ends if is_nice else None)


def _find_grid(values: pa.Array, used: NDArray[np.bool_]) -> tuple[pa.Array, pa.Array]:
    """Return both ends of the cell of each value, by the values that are released."""
    # Values of suppressed rows alone have no place on the grid, and none asks for it.
    number = pa.array(np.cumsum(used[:-1]) - 1, mask=~used[:-1])
    below, above = (
        end.take(number) for end in find_grid(values.filter(pa.array(used[:-1])))
    )
    return below, above


def _merge(
    low: pa.Array, high: pa.Array, index: NDArray[np.int64]
) -> tuple[tuple[pa.Array, pa.Array], NDArray[np.int64]]:
    """Return ranges that look alike once, and where each class finds its own."""
    codes = [
        comparable(end).dictionary_encode().indices.to_numpy().astype(np.int64)
        for end in (low, high)
    ]
    pair = codes[0] * (len(low) + 1) + codes[1]
    _, first, place = np.unique(pair, return_index=True, return_inverse=True)
    moved = np.append(place.ravel(), -1)[index]
    return (low.take(pa.array(first)), high.take(pa.array(first))), moved


def _as_text(low: pa.Array, high: pa.Array) -> pa.Array:
    """Return ``[low, high]``, and a single value as itself."""
    bounds = moment_texts(low, high)
    ranges = pc.binary_join_element_wise("[", bounds[0], ", ", bounds[1], "]", "")
    return pc.if_else(pc.equal(*bounds), bounds[0], ranges)
