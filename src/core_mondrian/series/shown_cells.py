"""What a cohort shows: the box of its node, joined with that of its own rows."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.encoder import Encoded
from core_mondrian.errors import InternalError
from core_mondrian.recoding.intervals import label_ranges
from core_mondrian.recoding.labels import Labels, number_distinct, stable_order
from core_mondrian.recoding.recode import (
    Recoded,
    describe_classes,
    label_nodes,
    number_classes,
)
from core_mondrian.recoding.representatives import label_midpoints
from core_mondrian.recoding.value_sets import find_sets, write_sets
from core_mondrian.series.cohorts import Formed
from core_mondrian.series.fitted_columns import lowest_over
from core_mondrian.spec.declaration import RANGES, Spec
from core_mondrian.tables.encoded import EncodedColumn

Codes = NDArray[np.int32]


class Box(NamedTuple):
    """Smallest and largest codes; the largest one is missing if both are there."""

    low: Codes
    high: Codes

    def joined(self, other: "Box") -> "Box":
        """Return what holds both."""
        return Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def show_cohorts(encoded: Encoded, formed: Formed, nodes: Box, spec: Spec) -> Recoded:
    """Say what each cohort shows; ``nodes`` has the box of each node, by column."""
    owner = formed.of_tuple
    codes = encoded.table.codes[:, : len(encoded.table.columns)]
    is_shown = owner >= 0
    if not is_shown.all():
        owner, codes = owner[is_shown], codes[is_shown]
    own = own_boxes(owner, codes, formed.n_cohorts)
    box = own.joined(Box(nodes.low[formed.node], nodes.high[formed.node]))
    labels = label_cohorts(encoded, box, owner, codes, spec)
    return _recoded(encoded, formed, labels)


def show_nodes(encoded: Encoded, formed: Formed, nodes: Box, spec: Spec) -> Recoded:
    """Say what each node shows that some tuples stop at, whatever their values."""
    box = Box(nodes.low[formed.node], nodes.high[formed.node])
    codes = encoded.table.codes[:, : len(encoded.table.columns)]
    labels = label_cohorts(encoded, box, formed.of_tuple, codes, spec)
    return _recoded(encoded, formed, labels)


def _recoded(encoded: Encoded, formed: Formed, labels: list[Labels]) -> Recoded:
    class_of_cohort = number_classes(labels)
    leaf = formed.of_tuple.astype(np.int32)
    classes = describe_classes(encoded, leaf, class_of_cohort, labels)
    names = [column.name for column in encoded.table.columns]
    return Recoded(classes, dict(zip(names, labels, strict=True)), class_of_cohort)


def label_cohorts(
    encoded: Encoded, box: Box, owner: NDArray[np.int64], codes: Codes, spec: Spec
) -> list[Labels]:
    """Return what cohorts show by column, given their boxes and their members."""
    return [
        _label(encoded, i, Box(box.low[:, i], box.high[:, i]), owner, codes[:, i], spec)
        for i in range(len(encoded.table.columns))
    ]


def own_boxes(owner: NDArray[np.int64], codes: Codes, n_cohorts: int) -> Box:
    """Return the box of the members of each cohort."""
    if not n_cohorts:
        return Box(codes[:0], codes[:0])
    order = stable_order(owner)
    starts = np.cumsum(np.bincount(owner, minlength=n_cohorts)[:-1])
    starts = np.append(0, starts)
    rising = codes[order]
    return Box(np.minimum.reduceat(rising, starts), np.maximum.reduceat(rising, starts))


def cells_of(labels: Labels) -> pa.Array:
    """Return what each cohort shows, cell by cell."""
    is_blank = labels.index < 0
    return labels.shown.take(pa.array(np.maximum(labels.index, 0), mask=is_blank))


def label_ranks(labels: Labels) -> NDArray[np.int64]:
    """Return the rank of what each cohort shows; -1: blank."""
    order = labels.order
    rank = np.full(order.size + 1, -1, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return rank[labels.index]


def labels_of(cells: pa.Array) -> Labels:
    """Return cells as labels, each text, number or range once."""
    parts = cells.flatten() if pa.types.is_struct(cells.type) else [cells]
    key = np.zeros(len(cells), dtype=np.int64)
    for part in parts:
        plain = part.dictionary_encode()
        codes = plain.indices.fill_null(len(plain.dictionary)).to_numpy()
        key = key * (len(plain.dictionary) + 1) + codes
    is_blank = np.asarray(cells.is_null())
    distinct, number = number_distinct(np.where(is_blank, -1, key))
    first = np.zeros(distinct.size, dtype=np.int64)
    first[number[::-1]] = np.arange(number.size)[::-1]
    has_blank = int(bool(distinct.size) and distinct[0] < 0)
    shown = cells.take(pa.array(first[has_blank:]))
    return Labels((number - has_blank).astype(np.int32), shown)


def _label(
    encoded: Encoded,
    i: int,
    box: Box,
    owner: NDArray[np.int64],
    codes: Codes,
    spec: Spec,
) -> Labels:
    """Return what the cohorts show in one column."""
    column, values = encoded.table.columns[i], encoded.values[i]
    if column.kind == "category":
        if spec.categories_of(column.name) == "set":
            return _label_sets(owner.astype(np.int32), codes, values, box.low.size)
        return _label_category(column, box)
    if spec.format_of(column.name) in RANGES:
        return label_ranges(column.name, values, box, _no_grid, spec)
    return label_midpoints(values, box)


def _no_grid() -> NDArray[np.bool_]:
    raise InternalError("bounds on a grid, which no recoding has")


def _label_category(column: EncodedColumn, box: Box) -> Labels:
    tree = column.hierarchy
    if tree is None:
        raise InternalError("a category without a hierarchy")
    is_blank = box.high == column.missing
    low, high = (np.where(is_blank, np.int32(0), end) for end in box)
    if is_blank.all():  # and the tree may have no leaf
        nodes = np.full(is_blank.size, -1, dtype=np.int32)
    else:
        nodes = np.where(is_blank, -1, lowest_over(tree, low, high)).astype(np.int32)
    return label_nodes(tree, nodes)


def _label_sets(
    owner: NDArray[np.int32], codes: Codes, values: pa.Array, n_cohorts: int
) -> Labels:
    """Show the cohort's own values: those of its node may be of other rows."""
    sets = find_sets(owner, codes, n_cohorts)
    texts = write_sets(sets, values)
    is_blank = texts.is_null().to_numpy(zero_copy_only=False)
    index = np.where(is_blank[sets.of_class], np.int32(-1), sets.of_class)
    nodes = np.where(index < 0, np.int32(-1), np.int32(0))
    return Labels(index, texts, nodes=nodes).without_unused()
