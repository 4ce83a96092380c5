"""Put the distinct tuples of a table into a tree of boxes."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.bounds.tuples import TupleTree
from core_mondrian.engine.layout import Codes
from core_mondrian.tables.encoded import EncodedTable

_TUPLES_PER_LEAF = 24


def build_tree(table: EncodedTable) -> TupleTree:
    """Return the distinct tuples of the quasi-identifiers alone."""
    codes = table.codes[:, : len(table.columns)]
    order = np.lexsort(codes.T[::-1])
    ordered = codes[order]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    starts, owner = np.flatnonzero(is_new), np.cumsum(is_new) - 1
    counts = table.counts[order]
    rows = np.add.reduceat(np.where(table.inside[order], counts, 0), starts)
    persons = np.add.reduceat(counts, starts)
    if table.n_units is not None:
        pairs = np.unique(owner * np.int64(table.n_units) + table.codes[order, -1])
        persons = np.bincount(pairs // table.n_units, minlength=starts.size)
    distinct = ordered[starts]
    boxes = _Boxes(distinct)
    tree = TupleTree(
        np.ascontiguousarray(distinct[boxes.order]),
        rows[boxes.order].astype(np.int64),
        persons[boxes.order].astype(np.int64),
    )
    tree.take_boxes(
        np.array(boxes.spans, dtype=np.int32), np.array(boxes.low), np.array(boxes.high)
    )
    return tree


class _Boxes:
    """Tuples divided at the median of their widest column, again and again."""

    def __init__(self, codes: Codes) -> None:
        self.order = np.arange(len(codes))
        self._codes = codes
        self._widths = np.maximum(codes.max(axis=0), 1)
        self.spans: list[list[int]] = []
        """First and last tuple of each node, and its first side; -1: it has none."""
        self.low: list[NDArray[np.int32]] = []
        self.high: list[NDArray[np.int32]] = []
        self._add(0, len(codes))
        node = 0
        while node < len(self.spans):
            self._divide(node)
            node += 1

    def _add(self, first: int, last: int) -> None:
        inside = self._codes[self.order[first:last]]
        self.spans.append([first, last, -1])
        self.low.append(inside.min(axis=0))
        self.high.append(inside.max(axis=0))

    def _divide(self, node: int) -> None:
        first, last, _ = self.spans[node]
        widths = (self.high[node] - self.low[node]) / self._widths
        column = int(np.argmax(widths))
        if last - first <= _TUPLES_PER_LEAF or widths[column] == 0.0:
            return
        own = self.order[first:last]
        codes = self._codes[own, column]
        # Codes up to the median go left, unless that is all of them.
        edge = min(int(np.sort(codes)[codes.size // 2]), int(codes.max()) - 1)
        is_left = codes <= edge
        self.order[first:last] = np.concatenate([own[is_left], own[~is_left]])
        middle = first + int(np.count_nonzero(is_left))
        self.spans[node][2] = len(self.spans)
        self._add(first, middle)
        self._add(middle, last)
