"""One number for a class: its mean, median, midpoint, or a value drawn from it."""

import hashlib
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.columns import as_floats
from core_mondrian.encoding.encoder import Encoded
from core_mondrian.encoding.keyed_hashing import keyed_hash
from core_mondrian.engine.boxes import find_medians
from core_mondrian.engine.grown import Grown
from core_mondrian.errors import InternalError
from core_mondrian.recoding.labels import Labels
from core_mondrian.tables.hashing import splitmix64
from core_mondrian.tables.keys import Key

Box = tuple[NDArray[np.int32], NDArray[np.int32]]
Exact: TypeAlias = NDArray[Any]
"""Whole numbers, as Python's own where they are long, or floats."""
_NANOSECONDS = {"D": 86400 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def label_representatives(
    encoded: Encoded, grown: Grown, i: int, box: Box, how: str, key: Key
) -> Labels:
    """Return the number each class shows in column ``i``.

    A class that mixes missing and present values shows none.
    """
    values = encoded.values[i]
    if how == "mean":
        return _label_means(grown, i, values, box)
    if how == "midpoint":
        return label_midpoints(values, box)
    if how == "median":
        codes = _medians(grown, i, box)
    elif how == "sample":
        codes = _samples(encoded, grown, i, key)
    else:
        raise InternalError(f"no class shows {how} of its numbers")
    index = np.where(box[1] == len(values), np.int32(-1), codes)
    numbers = np.append(encoded.table.columns[i].values, np.nan)
    return Labels(index, values, representatives=numbers[index]).without_unused()


def number_leaves(grown: Grown) -> NDArray[np.int32]:
    """Return the place among the tree's classes of each tuple; -1: suppressed."""
    place = np.full(grown.tree.n_nodes, -1, dtype=np.int32)
    place[grown.tree.leaves] = np.arange(grown.tree.n_classes)
    return place[grown.tree.leaf_of_tuple]


def _medians(grown: Grown, i: int, box: Box) -> NDArray[np.int32]:
    tree = grown.tree
    codes = np.empty(box[0].size, dtype=np.int32)
    start, stop = tree.start[tree.leaves], tree.stop[tree.leaves]
    find_medians(grown.tuples, i, start, stop, codes)
    return codes


def _label_means(grown: Grown, i: int, values: pa.Array, box: Box) -> Labels:
    """Show class means: exact smallest value plus mean distance from it.

    The distances of dates and long numbers are taken before they become floats, which
    could not distinguish neighbours.
    """
    low, high = box
    present = np.flatnonzero(high < len(values))
    exact = _exact(values)
    leaf = number_leaves(grown)[grown.tree.order]
    records = grown.tuples.records
    codes, rows = records[:, i], records[:, -2]
    inside = np.zeros(low.size + 1, dtype=bool)
    inside[present] = True
    inside = inside[leaf]
    leaf, codes, rows = leaf[inside], codes[inside], rows[inside]
    distance = (exact[codes] - exact[low[leaf]]).astype(np.float64)
    total = np.bincount(leaf, weights=distance * rows, minlength=low.size)[present]
    n_rows = np.bincount(leaf, weights=rows, minlength=low.size)[present]
    return _label_offsets(values, low, present, total / n_rows)


def label_midpoints(values: pa.Array, box: Box) -> Labels:
    """Show the midpoint between the smallest and the largest value."""
    low, high = box
    present = np.flatnonzero(high < len(values))
    exact = _exact(values)
    width = (exact[high[present]] - exact[low[present]]).astype(np.float64)
    return _label_offsets(values, low, present, width / 2)


def _label_offsets(
    values: pa.Array,
    low: NDArray[np.int32],
    present: NDArray[np.intp],
    offset: Exact,
) -> Labels:
    """Show, in the classes ``present``, the smallest value plus an offset."""
    exact = _exact(values)
    origin = exact[low[present]]
    if _stays_whole(values, exact):
        offset = np.floor(offset)
        if exact.dtype == np.int64:
            offset = offset.astype(np.int64)
        else:
            offset = np.array([int(x) for x in offset], dtype=object)
    distinct, index = np.unique(origin + offset, return_inverse=True)
    representatives = np.full(low.size, np.nan)
    representatives[present] = origin + offset
    every = np.full(low.size, -1, dtype=np.int32)
    every[present] = index.ravel()
    return Labels(every, _typed(distinct, values.type), representatives=representatives)


def _samples(encoded: Encoded, grown: Grown, i: int, key: Key) -> NDArray[np.int32]:
    """Draw a code for each class, a code of many rows more likely.

    A keyed hash of the class's own rows, as a multiset, decides: a reader without the
    key cannot try which rows would have drawn the value shown. Every column draws for
    itself, so that no person's row is put together again.

        order   [ class 0, by code | class 1, by code ]
        ends      2  3  7            8  10               rows up to each record
        place           ▲            ▲                   one row of each, at random
    """
    leaf = number_leaves(grown)[grown.tree.order]
    records = grown.tuples.records[leaf >= 0]
    leaf = leaf[leaf >= 0]
    rows = records[:, -2].astype(np.uint64)
    n_classes = grown.tree.n_classes
    content = np.zeros(n_classes, dtype=np.uint64)
    np.add.at(content, leaf, _record_hashes(encoded, records) * rows)
    name = encoded.table.columns[i].name
    lots = keyed_hash([content], key.derive("sample", name))
    order = np.lexsort((records[:, i], leaf))
    ends = np.cumsum(rows[order])
    total = np.zeros(n_classes, dtype=np.uint64)
    np.add.at(total, leaf, rows)
    place = np.cumsum(total) - total + lots % total
    drawn = np.searchsorted(ends, place, side="right")
    codes: NDArray[np.int32] = records[order[drawn], i].astype(np.int32)
    return codes


def _record_hashes(encoded: Encoded, records: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a hash of each record's quasi-identifiers, by value and not by code."""
    hashes = np.zeros(len(records), dtype=np.uint64)
    for i, values in enumerate(encoded.values):
        if encoded.table.columns[i].kind == "number":
            words = _number_words(values)
        else:
            texts = values.to_pylist()
            words = np.array([_hash_text(text) for text in texts], dtype=np.uint64)
        words = np.append(splitmix64(words), np.uint64(0))
        hashes = splitmix64(hashes + words[records[:, i]])
    return hashes


def _number_words(values: pa.Array) -> NDArray[np.uint64]:
    """Return 64 bits per number, the same whatever type or unit holds it."""
    kind = values.type
    if not pa.types.is_temporal(kind):
        return as_floats(values).view(np.uint64)
    wide = pa.int32() if kind.bit_width == 32 else pa.int64()
    counts = np.asarray(values.view(wide)).astype(np.int64).view(np.uint64)
    unit = "D" if pa.types.is_date32(kind) else getattr(kind, "unit", "ms")
    # Unsigned numbers wrap around alike, however a moment is counted.
    return counts * np.uint64(_NANOSECONDS[unit])


def _hash_text(text: str) -> np.uint64:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _stays_whole(values: pa.Array, exact: Exact) -> bool:
    """Return whether means are whole: of dates, and of what a float cannot count."""
    if pa.types.is_temporal(values.type):
        return True
    is_whole = exact.size > 0 and exact.dtype.kind in "iO"
    return is_whole and max(-int(exact[0]), int(exact[-1])) > 2**53


def _exact(values: pa.Array) -> Exact:
    """Return numbers as whole numbers where they are, else as floats."""
    kind = values.type
    if pa.types.is_temporal(kind):
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not pa.types.is_integer(kind):
        return as_floats(values)
    numbers: Exact = values.to_numpy(zero_copy_only=False)
    if numbers.size:
        low, high = int(numbers[0]), int(numbers[-1])
        if high - low >= 2**62 or high >= 2**63:
            return numbers.astype(object)  # Python's whole numbers have no end
    return numbers.astype(np.int64)


def _typed(means: Exact, kind: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(kind):
        wide = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(means, pa.int64()).cast(wide).view(kind)
    if means.dtype.kind in "iO":
        return pa.array(means, kind)
    return pa.array(means, pa.float64())
