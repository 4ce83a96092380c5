"""A recoding as tables and plain values, and back."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from core_mondrian.errors import DataError, SpecError
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.release.manifests import rebuild_spec
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.series.fitted_columns import FittedColumn, FittedValues
from core_mondrian.series.recoding import Recoding, builder_of, fitting_spec
from core_mondrian.series.recoding_tree import Pooled, RecodingTree
from core_mondrian.spec.declaration import Spec

_NODES: Final = ("low", "high", "first_child", "n_children")
_PLAIN: Final = ("parent", "column", "cut", "first", "last")
_BOXES: Final = ("low", "high", "has_missing")


def recoding_parts(recoding: Recoding) -> JsonObject:
    """Return the recoding as tables and plain values."""
    parts: JsonObject = {
        "recoding": {
            "spec": recoding.spec.to_json(),
            "too_small": recoding.too_small,
            "columns": [column.name for column in recoding.columns],
        },
        "tree": _tree_table(recoding.tree),
        "pooled": pa.table(recoding.tree.pooled._asdict()),
    }
    for i, column in enumerate(recoding.columns):
        parts[f"values {i}"] = pa.table({"value": column.values})
        if column.hierarchy is not None:
            parts[f"hierarchy {i}"] = hierarchy_table(column.hierarchy)
    for i, known in enumerate(recoding.values):
        parts[f"sensitive {i}"] = pa.table({"value": known.labels})
        parts[f"sensitive rows {i}"] = pa.table({"rows": known.rows})
    return parts


def read_recoding(parts: JsonMapping, spec: Spec | None) -> Recoding:
    """Return the recoding of `recoding_parts`.

    Raises:
        SpecError: it was fitted for another spec, or its own is not told in full.
        DataError: something is missing.
    """
    try:
        return _read(parts, spec)
    except (KeyError, IndexError, TypeError, AttributeError, pa.ArrowException):
        raise DataError(
            "the file lacks parts of a recoding", hint="take a copy from a backup"
        ) from None


def _read(parts: JsonMapping, spec: Spec | None) -> Recoding:
    plain = parts["recoding"]
    names: list[str] = plain["columns"]
    trees = {
        name: read_hierarchy(parts[f"hierarchy {i}"])
        for i, name in enumerate(names)
        if f"hierarchy {i}" in parts
    }
    wanted = _same_spec(plain["spec"], spec, trees)
    columns = tuple(
        FittedColumn(
            name,
            _only(parts[f"values {i}"], "value"),
            trees.get(name),
            builder_of(wanted, name),
        )
        for i, name in enumerate(names)
    )
    values = tuple(
        FittedValues(
            name,
            _only(parts[f"sensitive {i}"], "value"),
            np.asarray(_only(parts[f"sensitive rows {i}"], "rows")),
        )
        for i, name in enumerate(wanted.sensitive)
    )
    tree = _read_tree(parts["tree"], parts["pooled"], len(names))
    return Recoding(wanted, columns, values, tree, plain["too_small"])


def _same_spec(
    plain: JsonMapping, spec: Spec | None, trees: Mapping[str, Hierarchy]
) -> Spec:
    """Return the spec of the fit; the one given, if it is the same."""
    if spec is None:
        return rebuild_spec(plain, trees)
    wanted = fitting_spec(spec)
    own = wanted.to_json()
    keys = sorted(key for key in {*own, *plain} if own.get(key) != plain.get(key))
    if keys:
        raise SpecError(
            f"fitted for another spec, which differs in {', '.join(keys)}",
            hint="give the spec of the fit, or fit anew",
        )
    return wanted


def _only(table: pa.Table, name: str) -> pa.Array:
    """Return a column as one array."""
    column = table.column(name)
    return pa.concat_arrays(column.chunks) if column.chunks else column.combine_chunks()


def hierarchy_table(tree: Hierarchy) -> pa.Table:
    """Return a hierarchy as a table, one row per node."""
    arrays = {name: getattr(tree, name) for name in _NODES}
    return pa.table({"label": pa.array(tree.labels, pa.string()), **arrays})


def read_hierarchy(table: pa.Table) -> Hierarchy:
    """Return the hierarchy of `hierarchy_table`."""
    arrays = (np.asarray(_only(table, name), dtype=np.int32) for name in _NODES)
    return Hierarchy(tuple(_only(table, "label").to_pylist()), *arrays)


def _tree_table(tree: RecodingTree) -> pa.Table:
    plain = {name: getattr(tree, name) for name in _PLAIN}
    boxes = {
        f"{name} {i}": np.ascontiguousarray(getattr(tree, name)[:, i])
        for name in _BOXES
        for i in range(tree.low.shape[1])
    }
    return pa.table({**plain, **boxes})


def _read_tree(table: pa.Table, pooled: pa.Table, n_columns: int) -> RecodingTree:
    parent, column, cut, first, last = (
        np.array(table.column(name), dtype=np.int64) for name in _PLAIN
    )
    low, high, has_missing = (
        np.stack(
            [table.column(f"{name} {i}").to_numpy() for i in range(n_columns)], axis=1
        )
        for name in _BOXES
    )
    return RecodingTree(
        parent=parent,
        column=column,
        cut=cut,
        first=first,
        last=last,
        low=low,
        high=high,
        has_missing=has_missing.astype(np.bool_),
        pooled=Pooled(*(np.array(pooled.column(name)) for name in Pooled._fields)),
    )
