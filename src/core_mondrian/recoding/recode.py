"""Leaves → released columns: ranges, representatives, labels, value sets, blanks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.encoder import Encoded
from core_mondrian.engine.boxes import find_boxes, find_nodes
from core_mondrian.engine.grown import Grown
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.recoding.intervals import label_ranges
from core_mondrian.recoding.labels import Labels, digest_classes, number_distinct
from core_mondrian.recoding.representatives import label_representatives, number_leaves
from core_mondrian.runtime.runs import run_members
from core_mondrian.runtime.threads import (
    map_columns,
    map_threads,
    spans,
    started,
    useful_threads,
)
from core_mondrian.spec.declaration import RANGES, Spec
from core_mondrian.tables.encoded import EncodedColumn, ReleasedClasses
from core_mondrian.tables.keys import Key


class Recoded(NamedTuple):
    """What the classes show, and which of the tree's leaves are which of them."""

    classes: ReleasedClasses
    labels: dict[str, Labels]
    """What each class shows, column by column."""
    class_of_leaf: NDArray[np.int64]

    @property
    def leaf_of_class(self) -> NDArray[np.int64]:
        """A leaf of each class; all of them show the same."""
        leaf = np.zeros(self.classes.n_classes, dtype=np.int64)
        leaf[self.class_of_leaf] = np.arange(self.class_of_leaf.size)
        return leaf


def broadcast_labels(
    recoded: Recoded, leaf: NDArray[np.int32], spec: Spec, threads: int | None = None
) -> dict[str, dict[str, pa.Array]]:
    """Return what stands in the place of each quasi-identifier, and the class's number.

    ``leaf`` is the class of each row; -1: a blank one.
    """
    columns = {}
    places = leaf.astype(np.intp)
    show = partial(_broadcast, leaf_of_row=places, has_blanks=bool((leaf < 0).any()))
    every = list(recoded.labels.values())
    arrays = map_columns(show, every, leaf.size, threads)
    for name, array in zip(recoded.labels, arrays, strict=True):
        columns[name] = as_released(name, array, spec)
    if spec.class_id is not None:
        numbers = _class_numbers(recoded, spec)[leaf]
        ids = pa.array(numbers, mask=numbers < 0 if (numbers < 0).any() else None)
        columns[spec.class_id] = {spec.class_id: ids}
    return columns


def as_released(name: str, array: pa.Array, spec: Spec) -> dict[str, pa.Array]:
    """Return the columns in which a release has what is shown of one."""
    if pa.types.is_struct(array.type) and spec.bounds_of(name):
        return dict(zip(spec.bounds_of(name), array.flatten(), strict=True))
    return {name: array}


def recode_classes(
    encoded: Encoded,
    grown: Grown,
    spec: Spec,
    key: Key,
    threads: int | None = None,
    used: Sequence[NDArray[np.bool_]] | None = None,
) -> Recoded:
    """Say what every class shows, without any row.

    ``used``: the codes of each column that are released, if these are not all classes.
    """
    n_threads = useful_threads(threads, len(grown.tuples.records))
    with started(partial(number_leaves, grown), n_threads) as leaf_of_tuple:
        labels = _label_columns(encoded, grown, spec, key, threads, used)
        class_of_leaf = number_classes(labels)
        classes = describe_classes(encoded, leaf_of_tuple(), class_of_leaf, labels)
    by_name = dict(zip(grown.tree.columns, labels, strict=True))
    return Recoded(classes, by_name, class_of_leaf)


def _label_columns(
    encoded: Encoded,
    grown: Grown,
    spec: Spec,
    key: Key,
    threads: int | None,
    used: Sequence[NDArray[np.bool_]] | None,
) -> list[Labels]:
    tree, table = grown.tree, encoded.table
    starts, stops = tree.start[tree.leaves], tree.stop[tree.leaves]
    low = np.empty((tree.n_classes, len(table.columns)), dtype=np.int32)
    high = np.empty_like(low)

    def find(span: tuple[int, int]) -> None:
        inside = slice(*span)
        find_boxes(
            grown.tuples, starts[inside], stops[inside], low[inside], high[inside]
        )

    n_spans = useful_threads(threads, len(grown.tuples.records))
    map_threads(find, spans(starts.size, n_spans))

    def label(i: int) -> Labels:
        column, values = table.columns[i], encoded.values[i]
        box = np.ascontiguousarray(low[:, i]), np.ascontiguousarray(high[:, i])
        if column.kind == "category":
            nodes = _lowest_nodes(column, grown, i, box)
            if spec.categories_of(column.name) == "set":
                return _label_sets(*_released_codes(grown, i), values, nodes, box)
            return label_nodes(column.tree, nodes)
        how = spec.format_of(column.name)
        if how in RANGES:

            def released() -> NDArray[np.bool_]:
                return _used_codes(grown, i, len(values)) if used is None else used[i]

            return label_ranges(column.name, values, box, released, spec)
        return label_representatives(encoded, grown, i, box, how, key)

    def label_own(i: int) -> Labels:
        return _label_own(label(i), encoded, grown, i, (low[:, i], high[:, i]), spec)

    decides_itself = getattr(type(spec.policy), "show", None) is not None
    places, n_rows = range(len(table.columns)), len(grown.tuples.records)
    return map_columns(label_own if decides_itself else label, places, n_rows, threads)


def _label_own(
    usual: Labels,
    encoded: Encoded,
    grown: Grown,
    i: int,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
    spec: Spec,
) -> Labels:
    """Return what a policy of the user's shows, and what is usual where it does not."""
    from core_mondrian.recoding.own_labels import show_own
    from core_mondrian.recoding.value_sets import find_sets

    show: Any = type(spec.policy).show  # type: ignore[union-attr]
    column = encoded.table.columns[i]
    sets = find_sets(*_released_codes(grown, i), box[0].size)
    own = show_own(usual, sets, encoded.values[i], partial(show, column.name))
    if own.nodes is None:
        return own
    nodes = _lowest_nodes(column, grown, i, _box_of_texts(own, box))
    return replace(own, nodes=nodes)


def _box_of_texts(
    labels: Labels, box: tuple[NDArray[np.int32], NDArray[np.int32]]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the codes of all classes that show what each class shows.

    A text of the user's stands for all of them, whatever the class.
    """
    low, high = box
    lowest = np.full(len(labels.shown) + 1, np.iinfo(np.int32).max, dtype=np.int32)
    highest = np.zeros(len(labels.shown) + 1, dtype=np.int32)
    np.minimum.at(lowest, labels.index, low)
    np.maximum.at(highest, labels.index, high)
    is_blank = labels.index < 0
    return (
        np.where(is_blank, low, lowest[labels.index]),
        np.where(is_blank, high, highest[labels.index]),
    )


def _lowest_nodes(
    column: EncodedColumn,
    grown: Grown,
    i: int,
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> NDArray[np.int32]:
    """Return the lowest hierarchy node over each class; -1: missing or mixed."""
    low, high = box
    nodes = np.empty(low.size, dtype=np.int32)
    find_nodes(grown.columns, i, low, high, nodes)
    # The engine's tree has one more node, the leaf of missing values.
    place = 1 + int(column.tree.n_children[0])
    return np.where(nodes > place, nodes - 1, nodes).astype(np.int32)


def label_nodes(tree: Hierarchy, nodes: NDArray[np.int32]) -> Labels:
    """Return the labels of a hierarchy's nodes; -1: blank."""
    # Nodes of one label are one label: their classes look the same.
    plain = pa.array(tree.labels, pa.string()).dictionary_encode()
    first = plain.indices.to_numpy().astype(np.int32)
    index = np.where(nodes < 0, np.int32(-1), first[nodes])
    return Labels(index, plain.dictionary, nodes=nodes).without_unused()


def _label_sets(
    leaf: NDArray[np.int32],
    codes: NDArray[np.int32],
    values: pa.Array,
    nodes: NDArray[np.int32],
    box: tuple[NDArray[np.int32], NDArray[np.int32]],
) -> Labels:
    from core_mondrian.recoding.value_sets import find_sets, write_sets

    sets = find_sets(leaf, codes, box[0].size)
    is_blank = box[0] == len(values)
    index = np.where(is_blank, np.int32(-1), sets.of_class)
    # A set that mixes missing and present is shown; only the root is over both.
    nodes = np.where(is_blank, np.int32(-1), np.maximum(nodes, 0))
    return Labels(index, write_sets(sets, values), nodes=nodes).without_unused()


def _released_codes(
    grown: Grown, i: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the place among the tree's classes of each released record, and its code.

    The code is that of column ``i``.

        records   [ leaf 0 | suppressed | leaf 1 ]
        leaf        0  0  0  -1  -1       1  1
    """
    tree = grown.tree
    starts = tree.start[tree.leaves]
    n = tree.stop[tree.leaves] - starts
    leaf = np.full(len(grown.tuples.records), -1, dtype=np.int32)
    leaf[run_members(starts, n)] = np.repeat(np.arange(n.size), n)
    is_released = leaf >= 0
    return leaf[is_released], grown.tuples.records[:, i][is_released]


def _used_codes(grown: Grown, i: int, missing: int) -> NDArray[np.bool_]:
    """Return which codes of column ``i``, the missing one last, are released."""
    used = np.zeros(missing + 1, dtype=np.bool_)
    used[_released_codes(grown, i)[1]] = True
    return used


def number_classes(labels: list[Labels]) -> NDArray[np.int64]:
    """Number the leaves so that those which look alike are one class."""
    number = np.zeros(labels[0].index.size, dtype=np.int64)
    n = 1
    for item in labels:
        width = len(item.shown) + 1
        if n > (2**62) // width:
            distinct, number = number_distinct(number)
            n = distinct.size
        number = number * width + item.index + 1
        n *= width
    return number_distinct(number)[1]


def describe_classes(
    encoded: Encoded,
    leaf_of_tuple: NDArray[np.int32],
    class_of_leaf: NDArray[np.int64],
    labels: list[Labels],
) -> ReleasedClasses:
    """Return the classes, given the leaf of each tuple and the class of each leaf."""
    first = np.zeros(int(class_of_leaf.max(initial=-1)) + 1, dtype=np.int64)
    first[class_of_leaf[::-1]] = np.arange(class_of_leaf.size)[::-1]
    of_tuple = np.append(class_of_leaf, -1)[leaf_of_tuple].astype(np.int32)
    # The first place is that of suppressed tuples.
    class_rows = np.bincount(of_tuple + 1, encoded.table.counts, first.size + 1)[1:]
    return ReleasedClasses(
        of_tuple,
        class_rows.astype(np.int64),
        tuple(None if x.nodes is None else x.nodes[first] for x in labels),
        tuple(
            None if x.representatives is None else x.representatives[first]
            for x in labels
        ),
    )


def _broadcast(
    labels: Labels, leaf_of_row: NDArray[np.intp], *, has_blanks: bool
) -> pa.Array:
    """Return one column of the release; suppressed rows (leaf -1) are blank."""
    is_text = pa.types.is_string(labels.shown.type)
    labels = labels.sorted() if is_text else labels
    index = np.append(labels.index, np.int32(-1)).take(leaf_of_row, mode="wrap")
    # A validity bitmap, not a null in the dictionary: Arrow cannot write the latter.
    mask = None
    if has_blanks or (labels.index < 0).any():
        mask = index < 0
        index[mask] = 0
    indices = pa.array(index, mask=mask)
    if is_text:
        return pa.DictionaryArray.from_arrays(indices, labels.shown, safe=False)
    return labels.shown.take(indices)


def _class_numbers(recoded: Recoded, spec: Spec) -> NDArray[np.int64]:
    """Return the number of each leaf's class, from 1 on by what it shows; last: -1.

    Where suppressed rows are blank, a class that is blank all over has no number
    either: it would distinguish the two.
    """
    ranks = _rank_cells(recoded)
    numbers = np.empty(ranks.shape[1], dtype=np.int64)
    numbers[np.lexsort(ranks[::-1])] = np.arange(1, numbers.size + 1)
    if not spec.leaves_out:
        numbers[(ranks < 0).all(axis=0)] = -1
    return np.append(numbers[recoded.class_of_leaf], -1)


def _rank_cells(recoded: Recoded) -> NDArray[np.int64]:
    """Return the rank of what each class (axis 1) shows per column; -1: blank."""
    leaf = recoded.leaf_of_class
    ranks = np.empty((len(recoded.labels), leaf.size), dtype=np.int64)
    for row, item in zip(ranks, recoded.labels.values(), strict=True):
        order = item.order
        rank = np.full(order.size + 1, -1, dtype=np.int64)
        rank[order] = np.arange(order.size)
        row[:] = rank[item.index][leaf]
    return ranks


def release_digest(recoded: Recoded, spec: Spec) -> str:
    """Return a SHA-256 of the distinct released tuples with their rows, sorted.

    Where suppressed rows are blank, a reader cannot distinguish them from a class that
    shows nothing: neither is in it.
    """
    texts = {
        name: item.texts.take(pa.array(item.order)).to_pylist()
        for name, item in recoded.labels.items()
    }
    ranks, seen = _rank_cells(recoded), is_seen(recoded, spec)
    return digest_classes(texts, ranks[:, seen], recoded.classes.rows[seen])


def is_seen(recoded: Recoded, spec: Spec) -> NDArray[np.bool_]:
    """Return by class whether it differs from blank rows, or there are none."""
    if spec.leaves_out:
        return np.ones(recoded.leaf_of_class.size, dtype=np.bool_)
    return np.asarray((_rank_cells(recoded) >= 0).any(axis=0), dtype=np.bool_)
