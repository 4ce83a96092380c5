"""Leaves → released columns: ranges, representatives, labels, value sets, blanks."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.classes import ReleasedClasses
from core_mondrian.encode.columns import as_floats
from core_mondrian.encode.encoder import Encoded
from core_mondrian.encode.table import EncodedColumn
from core_mondrian.errors import InternalError
from core_mondrian.hierarchy import Hierarchy
from core_mondrian.kernels.boxes import (
    find_boxes,
    find_medians,
    find_nodes,
)
from core_mondrian.partition.engine import Grown
from core_mondrian.sets import find_sets, write_sets
from core_mondrian.spec import Numbers, Spec


@dataclass(frozen=True, slots=True)
class Labels:
    """What each class shows in one column: an index into ``shown``; -1: blank."""

    index: NDArray[np.int32]
    shown: pa.Array
    nodes: NDArray[np.int32] | None = None
    representatives: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Recoded:
    """The released quasi-identifiers, row by row, and the classes behind them."""

    columns: dict[str, pa.Array]
    suppressed: NDArray[np.bool_]
    """Rows that are left out, or blanked if the spec says so."""
    classes: ReleasedClasses
    labels: dict[str, Labels]
    """What each class shows, column by column."""
    class_of_leaf: NDArray[np.int64]


def recode(encoded: Encoded, grown: Grown, spec: Spec) -> Recoded:
    """Give every row the label of its class in every quasi-identifier."""
    recoded = recode_classes(encoded, grown, spec)
    leaf_of_row = _number_leaves(grown)[encoded.row_tuple]
    suppressed = leaf_of_row < 0
    if spec.suppressed == "drop":
        leaf_of_row = leaf_of_row[~suppressed]
    columns = {
        name: _spread(labels, leaf_of_row) for name, labels in recoded.labels.items()
    }
    return replace(recoded, columns=columns, suppressed=suppressed)


def recode_classes(encoded: Encoded, grown: Grown, spec: Spec) -> Recoded:
    """Say what every class shows, without any row."""
    labels = _label_columns(encoded, grown, spec)
    class_of_leaf = _number_classes(labels)
    classes = _describe(encoded, _number_leaves(grown), class_of_leaf, labels)
    by_name = dict(zip(grown.tree.columns, labels, strict=True))
    return Recoded({}, np.zeros(0, dtype=np.bool_), classes, by_name, class_of_leaf)


def _label_columns(encoded: Encoded, grown: Grown, spec: Spec) -> list[Labels]:
    tree, table = grown.tree, encoded.table
    starts, stops = tree.start[tree.leaves], tree.stop[tree.leaves]
    low = np.empty((tree.n_classes, len(table.columns)), dtype=np.int32)
    high = np.empty_like(low)
    find_boxes(grown.tuples, grown.work, starts, stops, low, high)
    labels = []
    for i, column in enumerate(table.columns):
        box = np.ascontiguousarray(low[:, i]), np.ascontiguousarray(high[:, i])
        values = encoded.values[i]
        if column.kind == "category":
            nodes = _lowest_nodes(column, grown, i, box)
            if spec.categories_of(column.name) == "set":
                labels.append(_label_sets(grown, i, values, nodes, box))
            else:
                labels.append(_label_nodes(_tree(column), nodes))
        elif spec.format_of(column.name) == "interval":
            labels.append(_label_intervals(column, values, box))
        else:
            how = spec.format_of(column.name)
            labels.append(_label_representatives(grown, i, values, box, how))
    return labels


def _lowest_nodes(
    column: EncodedColumn,
    grown: Grown,
    i: int,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> NDArray[np.int32]:
    """Return the lowest hierarchy node over each class; -1: missing or mixed."""
    nodes = np.empty(box[0].size, dtype=np.int32)
    find_nodes(grown.columns, i, *box, nodes)
    # The engine's tree has one more node, the leaf of missing values.
    place = 1 + int(_tree(column).n_children[0])
    return np.where(nodes > place, nodes - 1, nodes).astype(np.int32)


def _tree(column: EncodedColumn) -> Hierarchy:
    if column.hierarchy is None:
        raise InternalError("a category without a hierarchy")
    return column.hierarchy


def _label_nodes(tree: Hierarchy, nodes: NDArray[np.int32]) -> Labels:
    # Nodes of one label are one label: their classes look the same.
    plain = pa.array(tree.labels, pa.string()).dictionary_encode()
    first = plain.indices.to_numpy().astype(np.int32)
    index = np.where(nodes < 0, np.int32(-1), first[nodes])
    return _without_unused(Labels(index, plain.dictionary, nodes=nodes))


def _label_sets(
    grown: Grown,
    i: int,
    values: pa.Array,
    nodes: NDArray[np.int32],
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> Labels:
    leaf = _leaf_of_record(grown)
    inside = leaf >= 0
    codes = grown.tuples.records[:, i][inside]
    sets = find_sets(leaf[inside], codes, box[0].size)
    is_blank = box[0] == len(values)
    index = np.where(is_blank, np.int32(-1), sets.of_class)
    # A set that mixes missing and present is shown; only the root is over both.
    nodes = np.where(is_blank, np.int32(-1), np.maximum(nodes, 0))
    return _without_unused(Labels(index, write_sets(sets, values), nodes=nodes))


def _leaf_of_record(grown: Grown) -> NDArray[np.int32]:
    """Return the place among the tree's classes of each record; -1: suppressed."""
    tree = grown.tree
    starts = tree.start[tree.leaves]
    n = tree.stop[tree.leaves] - starts
    inside = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
    leaf = np.full(len(grown.tuples.records), -1, dtype=np.int32)
    leaf[np.repeat(starts, n) + inside] = np.repeat(np.arange(n.size), n)
    return leaf


def _without_unused(labels: Labels) -> Labels:
    """Drop what no class shows: a dictionary must not list values that are gone."""
    used = np.zeros(len(labels.shown), dtype=bool)
    used[labels.index[labels.index >= 0]] = True
    number = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    return Labels(
        number[labels.index],
        labels.shown.filter(pa.array(used)),
        labels.nodes,
        labels.representatives,
    )


def _label_intervals(
    column: EncodedColumn,
    values: pa.Array,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> Labels:
    low, high = (codes.astype(np.int64) for codes in box)
    missing = column.missing
    # A class that mixes missing and present values shows neither.
    pair = np.where(high == missing, -1, low * (missing + 1) + high)
    distinct, index = np.unique(pair, return_inverse=True)
    is_blank = bool(distinct.size) and distinct[0] < 0
    distinct = distinct[1:] if is_blank else distinct
    smallest = values.take(pa.array(distinct // (missing + 1)))
    largest = values.take(pa.array(distinct % (missing + 1)))
    bounds = smallest.cast(pa.string()), largest.cast(pa.string())
    ranges = pc.binary_join_element_wise("[", bounds[0], ", ", bounds[1], "]", "")
    single = distinct // (missing + 1) == distinct % (missing + 1)
    shown = pc.if_else(pa.array(single), bounds[0], ranges)
    return Labels((index - is_blank).astype(np.int32).ravel(), shown)


def _label_representatives(
    grown: Grown,
    i: int,
    values: pa.Array,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
    how: Numbers,
) -> Labels:
    tree = grown.tree
    bounds = tree.start[tree.leaves], tree.stop[tree.leaves]
    missing = len(values)
    if how == "median":
        codes = np.empty(box[0].size, dtype=np.int32)
        find_medians(grown.tuples, grown.work, i, *bounds, codes)
        index = np.where(box[1] == missing, np.int32(-1), codes)
        offset = int(grown.columns.info.value_offset[i])
        numbers = np.append(grown.columns.values[offset : offset + missing], np.nan)
        return _without_unused(Labels(index, values, representatives=numbers[index]))
    return _label_means(grown, i, values, box)


def _label_means(
    grown: Grown,
    i: int,
    values: pa.Array,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> Labels:
    """Show class means: exact smallest value plus mean distance from it.

    The distances of dates and long numbers are taken before they become floats, which
    could not tell neighbours apart.
    """
    low, high = box
    shown = np.flatnonzero(high < len(values))
    exact = _exact(values)
    leaf = _number_leaves(grown)[grown.tree.order]
    records = grown.tuples.records
    codes, rows = records[:, i], records[:, -2]
    inside = np.zeros(low.size + 1, dtype=bool)
    inside[shown] = True
    inside = inside[leaf]
    leaf, codes, rows = leaf[inside], codes[inside], rows[inside]
    distance = (exact[codes] - exact[low[leaf]]).astype(np.float64)
    total = np.bincount(leaf, weights=distance * rows, minlength=low.size)[shown]
    counted = np.bincount(leaf, weights=rows, minlength=low.size)[shown]
    origin = exact[low[shown]]
    offset = total / counted
    if _stays_whole(values, exact):
        offset = np.floor(offset).astype(np.int64)
    distinct, index = np.unique(origin + offset, return_inverse=True)
    means = np.full(low.size, np.nan)
    means[shown] = origin + offset
    every = np.full(low.size, -1, dtype=np.int32)
    every[shown] = index.ravel()
    return Labels(every, _typed(distinct, values.type), representatives=means)


def _stays_whole(values: pa.Array, exact: NDArray[Any]) -> bool:
    """Tell whether means are whole: of dates, and of what a float cannot count."""
    if pa.types.is_temporal(values.type):
        return True
    is_whole = exact.size > 0 and exact.dtype == np.int64
    return is_whole and max(-int(exact[0]), int(exact[-1])) > 2**53


def _exact(values: pa.Array) -> NDArray[Any]:
    """Return numbers as whole numbers where they are, else as floats."""
    kind = values.type
    if pa.types.is_temporal(kind):
        values = values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    elif not pa.types.is_integer(kind) or pa.types.is_uint64(kind):
        return as_floats(values)
    numbers = np.array(values.to_numpy(zero_copy_only=False), dtype=np.int64)
    if numbers.size and int(numbers[-1]) - int(numbers[0]) >= 2**62:
        return as_floats(values)
    return numbers


def _typed(means: NDArray[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(kind):
        wide = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(means, pa.int64()).cast(wide).view(kind)
    if means.dtype == np.int64:
        return pa.array(means, kind)
    return pa.array(means, pa.float64())


def _number_leaves(grown: Grown) -> NDArray[np.int32]:
    """Return the place among the tree's classes of each tuple; -1: suppressed."""
    place = np.full(grown.tree.n_nodes, -1, dtype=np.int32)
    place[grown.tree.leaves] = np.arange(grown.tree.n_classes)
    return place[grown.tree.leaf_of_tuple]


def _number_classes(labels: list[Labels]) -> NDArray[np.int64]:
    """Number the leaves so that those which look alike are one class."""
    number = np.zeros(labels[0].index.size, dtype=np.int64)
    n = 1
    for item in labels:
        width = len(item.shown) + 1
        if n > (2**62) // width:
            distinct, number = np.unique(number, return_inverse=True)
            n = distinct.size
        number = number * width + item.index + 1
        n *= width
    _, number = np.unique(number, return_inverse=True)
    return number.astype(np.int64)


def _describe(
    encoded: Encoded,
    leaf_of_tuple: NDArray[np.int32],
    class_of_leaf: NDArray[np.int64],
    labels: list[Labels],
) -> ReleasedClasses:
    first = np.zeros(int(class_of_leaf.max(initial=-1)) + 1, dtype=np.int64)
    first[class_of_leaf[::-1]] = np.arange(class_of_leaf.size)[::-1]
    of_tuple = np.append(class_of_leaf, -1)[leaf_of_tuple].astype(np.int32)
    counted = np.bincount(
        of_tuple[of_tuple >= 0],
        weights=encoded.table.counts[of_tuple >= 0],
        minlength=first.size,
    )
    return ReleasedClasses(
        of_tuple,
        counted.astype(np.int64),
        tuple(None if x.nodes is None else x.nodes[first] for x in labels),
        tuple(
            None if x.representatives is None else x.representatives[first]
            for x in labels
        ),
    )


def _spread(labels: Labels, leaf_of_row: NDArray[np.int32]) -> pa.Array:
    """Return one column of the release; suppressed rows (leaf -1) are blank."""
    index = np.append(labels.index, np.int32(-1))[leaf_of_row]
    # A validity bitmap, not a null in the dictionary: Arrow cannot write the latter.
    mask = index < 0
    indices = pa.array(index, mask=mask if mask.any() else None)
    if pa.types.is_string(labels.shown.type):
        return pa.DictionaryArray.from_arrays(indices, labels.shown)
    return labels.shown.take(indices)


def release_digest(recoded: Recoded) -> str:
    """Return a SHA-256 of the distinct released tuples with their rows, sorted."""
    digest = hashlib.sha256()
    ranks = []
    for name, item in recoded.labels.items():
        order = pc.sort_indices(item.shown).to_numpy()
        rank = np.full(len(item.shown) + 1, -1, dtype=np.int64)
        rank[order] = np.arange(order.size)
        ranks.append(rank[item.index])
        texts = item.shown.take(pa.array(order)).cast(pa.string()).to_pylist()
        digest.update("\0".join([name, *texts]).encode() + b"\1")
    leaf = np.zeros(recoded.classes.n_classes, dtype=np.int64)
    leaf[recoded.class_of_leaf] = np.arange(recoded.class_of_leaf.size)
    table = np.array([rank[leaf] for rank in ranks] + [recoded.classes.rows])
    table = table[:, np.lexsort(table[:-1][::-1])]
    digest.update(np.ascontiguousarray(table).astype("<i8").tobytes())
    return digest.hexdigest()
