"""What the policy `best` minimizes, as compiled code takes it."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import (
    AIM,
    AIM_NODE,
    ANY,
    NODE_SHARE,
    RANGE,
    VALUE_SET,
    Fields,
    Objective,
    fields,
    join_fields,
)
from core_mondrian.errors import InternalError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable

# Steps that a number's range is divided into for its standard deviation: whole numbers
# whose squares add up exactly, for as many rows as a table may have.
_LEVELS = 2**15 - 1
# The losses of all pairs of codes are tabled up to this many.
_LARGEST_TABLE = 2**16
_BITS = 63


class _ObjectiveBuilder:
    """Collects what the columns lose, one after the other."""

    def __init__(self, table: EncodedTable, spec: Spec) -> None:
        self._table, self._spec = table, spec
        self.info = fields(len(table.columns), AIM)
        self.positions: list[NDArray[np.float64]] = [np.zeros(1)]
        self.levels: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
        self.shares: list[NDArray[np.float64]] = [np.zeros(1)]
        self.nodes: list[Fields] = [fields(1, AIM_NODE)]
        self._n_counts = self._n_words = 0
        # Only their proportions matter; so none is too large or too small to add up.
        own = table.column_weights or (1.0,) * len(table.columns)
        self._weights = [
            spec.weight_of(column.name) * weight
            for column, weight in zip(table.columns, own, strict=True)
        ]
        self._heaviest = max(self._weights)

    def add(self, i: int, column: EncodedColumn) -> None:
        aim = self.info[i]
        weight = self._weights[i] / self._heaviest
        aim["weight"] = aim["impurity"] = weight
        aim["n_codes"] = column.n_values + 1
        aim["share_offset"] = -1
        if column.kind == "number":
            self._add_number(aim, column)
            return
        aim["count_offset"] = self._n_counts
        self._n_counts += column.n_values + 1
        tree = _tree(column)
        if self._spec.categories_of(column.name) == "set":
            n_present = np.count_nonzero(self._table.code_rows(i))
            aim["kind"] = VALUE_SET
            aim["unit"] = aim["impurity"] = aim["weight"] / max(int(n_present) - 1, 1)
            aim["word"] = self._n_words
            self._n_words += -(-(column.n_values + 1) // _BITS)
        elif int(tree.n_children[0]) == tree.n_leaves:
            aim["kind"] = ANY
        else:
            self._add_tree(aim, tree)

    def _add_number(self, aim: Fields, column: EncodedColumn) -> None:
        aim["kind"], aim["impurity"] = RANGE, 0.5 * aim["weight"] / _LEVELS
        aim["value_offset"] = sum(part.size for part in self.positions)
        places = _places(column.values)
        self.positions.append(np.append(aim["weight"] * places, aim["weight"]))
        self.levels.append(number_levels(column))

    def _add_tree(self, aim: Fields, tree: Hierarchy) -> None:
        aim["kind"] = NODE_SHARE
        aim["node_offset"] = sum(part.size for part in self.nodes)
        nodes = _share_nodes(tree, float(aim["weight"]))
        self.nodes.append(nodes)
        if int(aim["n_codes"]) ** 2 <= _LARGEST_TABLE:
            aim["share_offset"] = sum(part.size for part in self.shares)
            self.shares.append(_share_table(nodes, int(aim["n_codes"])))


def build_objective(table: EncodedTable, spec: Spec) -> Objective:
    """Return the loss of each column, in the format it will be released in."""
    builder = _ObjectiveBuilder(table, spec)
    for i, column in enumerate(table.columns):
        builder.add(i, column)
    return Objective(
        info=builder.info,
        positions=np.concatenate(builder.positions),
        levels=np.concatenate(builder.levels),
        shares=np.concatenate(builder.shares),
        nodes=join_fields(builder.nodes),
        worth=np.empty(0, dtype=np.int32) if table.worth is None else table.worth,
    )


def number_levels(column: EncodedColumn) -> NDArray[np.int64]:
    """Return the place of each code of a number in its range, as a whole number.

    A missing value is as far from all others as they are from each other.
    """
    levels = np.append(np.rint(_places(column.values) * _LEVELS), 2 * _LEVELS)
    return levels.astype(np.int64)


def _places(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where each value lies between the first (0) and the last (1)."""
    if not values.size:
        return values
    halves = 0.5 * values  # the range itself may lie beyond the largest float
    width = halves[-1] - halves[0]
    if width == 0.0:
        return np.zeros(values.size)
    places: NDArray[np.float64] = (halves - halves[0]) / width
    return places


def _tree(column: EncodedColumn) -> Hierarchy:
    if column.hierarchy is None:
        raise InternalError("a category without a hierarchy")
    return column.hierarchy


def _share_nodes(tree: Hierarchy, weight: float) -> Fields:
    """Return a hierarchy's nodes, with one more leaf for missing values."""
    whole = tree.with_missing()
    nodes = fields(len(whole.labels), AIM_NODE)
    nodes["low"], nodes["high"] = whole.low, whole.high
    nodes["first"], nodes["n_children"] = whole.first_child, whole.n_children
    leaves = (whole.high - whole.low + 1) / tree.n_leaves
    nodes["share"] = weight * np.minimum(leaves, 1.0)
    return nodes


def _share_table(nodes: Fields, n_codes: int) -> NDArray[np.float64]:
    """Return the share of the lowest node over each pair of codes."""
    table = np.zeros((n_codes, n_codes))
    for node in np.argsort(nodes["low"] - nodes["high"], kind="stable"):  # widest first
        inside = slice(nodes["low"][node], nodes["high"][node] + 1)
        table[inside, inside] = nodes["share"][node]
    return table.ravel()
