"""A bound as plain values, so that anyone can prove it; see `check`."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.bounds.bound import Bound
from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable


def certify(bound: Bound, table: EncodedTable, spec: Spec) -> JsonObject:
    """Return the distinct tuples with their prices, and how columns lose.

    It has the values of the table in it, and stays with whoever has that.

    Raises:
        SpecError: the bound is from a sample, which proves nothing by itself.
    """
    prices = bound.prices
    if prices is None:
        raise SpecError(
            "a bound from a sample has no certificate",
            hint="it holds with the confidence that it states",
        )
    heaviest = max(spec.weight_of(column.name) for column in table.columns)
    columns = []
    for i, column in enumerate(table.columns):
        weight = spec.weight_of(column.name) / heaviest
        is_set = spec.categories_of(column.name) == "set"
        described = _describe(column, prices.codes[:, i], is_set=is_set)
        columns.append({"name": column.name, "weight": weight, **described})
    return {
        "loss": bound.loss,
        "least": bound.least,
        "columns": columns,
        "rows": prices.rows.tolist(),
        "persons": prices.persons.tolist(),
        "prices": prices.price.tolist(),
    }


def _describe(
    column: EncodedColumn, codes: NDArray[np.int32], *, is_set: bool
) -> JsonObject:
    """Return a column's cells, and what is needed to say what they lose together."""
    if column.hierarchy is None:
        values = [*column.values.tolist(), None]
        return {"kind": "number", "cells": [values[code] for code in codes.tolist()]}
    if is_set:
        return {"kind": "set", "cells": codes.tolist()}
    paths = [*_paths(column.hierarchy)[: column.n_values], None]
    return {
        "kind": "label",
        "cells": [paths[code] for code in codes.tolist()],
        "leaves": column.hierarchy.n_leaves,
    }


def _paths(tree: Hierarchy) -> list[list[tuple[int, int]]]:
    """Return, for every leaf, its nodes from itself to the root: number, leaves."""
    parent = np.full(len(tree.labels), -1)
    for node in np.flatnonzero(tree.n_children).tolist():
        first = int(tree.first_child[node])
        parent[first : first + int(tree.n_children[node])] = node
    paths = []
    for leaf in tree.leaf_nodes.tolist():
        path, node = [], leaf
        while node >= 0:
            path.append((node, int(tree.high[node] - tree.low[node] + 1)))
            node = int(parent[node])
        paths.append(path)
    return paths
