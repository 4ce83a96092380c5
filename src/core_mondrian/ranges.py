"""Ranges of classes: as text, or with both bounds in the column's own type."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encode.columns import comparable
from core_mondrian.labels import BOUNDS, Labels
from core_mondrian.rounding import round_outward
from core_mondrian.spec import Spec


def label_ranges(
    name: str,
    values: pa.Array,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
    spec: Spec,
) -> Labels:
    """Return the range of each class between its smallest and its largest value.

    A class that mixes missing and present values shows neither.
    """
    low, high = (codes.astype(np.int64) for codes in box)
    missing = len(values)
    pair = np.where(high == missing, -1, low * (missing + 1) + high)
    distinct, index = np.unique(pair, return_inverse=True)
    is_blank = bool(distinct.size) and distinct[0] < 0
    distinct = distinct[1:] if is_blank else distinct
    index = index.ravel() - is_blank
    ends = (
        values.take(pa.array(distinct // (missing + 1))),
        values.take(pa.array(distinct % (missing + 1))),
    )
    is_nice = spec.is_nice(name)
    if is_nice:
        ends, index = _merge(*round_outward(*ends), index)
    if spec.format_of(name) == "interval":
        shown = _as_text(*ends)
    else:
        shown = pa.StructArray.from_arrays(ends, names=list(BOUNDS))
    return Labels(index.astype(np.int32), shown, ends=ends if is_nice else None)


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
    bounds = low.cast(pa.string()), high.cast(pa.string())
    ranges = pc.binary_join_element_wise("[", bounds[0], ", ", bounds[1], "]", "")
    return pc.if_else(pc.equal(*bounds), bounds[0], ranges)
