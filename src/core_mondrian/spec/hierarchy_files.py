"""Write a hierarchy to a file that a spec can name, and others read."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from core_mondrian.errors import DataError, SpecError
from core_mondrian.hierarchies.tree import Hierarchy, from_paths
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.tables.files.atomic_write import write_files


def write_hierarchy(tree: Hierarchy, path: Path, *, overwrite: bool = False) -> None:
    """Write ``.csv`` as ARX does, ``.json`` as the reference does, or nested ``.toml``.

    The file is there whole or not at all. In CSV, values right under a high root are
    repeated to fill their row, which adds no level.

    Raises:
        SpecError: the file exists, its suffix is none of these, or its form cannot
            hold the tree.
        OutputError: the system refuses.
    """
    write_files({path: render(tree, path)}, overwrite=overwrite)


def render(tree: Hierarchy, path: Path) -> bytes:
    """Return what the file will hold; see `write_hierarchy`."""
    form = _FORMS.get(path.suffix.lower())
    if form is None:
        raise SpecError(
            f"{path}: unknown kind of file", hint=f"the suffix is one of {[*_FORMS]}"
        )
    if not tree.n_leaves or any(not label.strip() for label in tree.labels):
        raise SpecError("a hierarchy without values, or with an empty one, has no file")
    try:
        return form(tree).encode()
    except RecursionError:
        raise SpecError(
            f"{path}: the tree is too high for this form", hint="write .csv or .json"
        ) from None
    except UnicodeEncodeError:
        raise SpecError(
            f"{path}: a label is no text that can be written",
            hint="is the table in UTF-8?",
        ) from None


def paths_of(tree: Hierarchy) -> Iterator[tuple[str, ...]]:
    """Return a row ``leaf, parent, …, root`` for each leaf, all of one length."""
    depth = np.zeros(len(tree.labels), dtype=np.int64)
    for i, nodes in enumerate(tree.levels):
        depth[nodes] = i
    at = tree.leaf_nodes
    columns = []
    for level in range(len(tree.levels) - 1, -1, -1):
        columns.append([tree.labels[node] for node in at.tolist()])
        at = np.where(depth[at] == level, tree.parents[at], at)
    return zip(*columns, strict=True)


def _as_csv(tree: Hierarchy) -> str:
    rows = list(paths_of(tree))
    try:
        from_paths(rows)
    except DataError:
        raise SpecError(
            "rows of a table cannot hold this tree: a value is called as a group is",
            hint="write .json or .toml",
        ) from None
    if any(label != label.strip() for label in tree.labels):
        raise SpecError(
            "labels that begin or end with a space cannot be kept in rows",
            hint="write .json or .toml",
        )
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def _as_nodes(tree: Hierarchy) -> str:
    nodes = {}
    columns = (tree.parents, tree.sizes, tree.first_child, tree.n_children)
    for i, (parent, size, first, n) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        over = None if parent < 0 else str(parent)
        below = [str(child) for child in range(first, first + n)]
        nodes[str(i)] = [tree.labels[i], over, size, below]
    # Tables that the reference makes when it needs them.
    hints = ("value_to_highest_node_nid", "nid_to_descendant_leaf_values")
    empty: JsonObject = {name: {} for name in (*hints, "value_to_leaf_node_nid")}
    whole = {"root_nid": "0", "nodes": nodes, **empty}
    return json.dumps(whole, ensure_ascii=False) + "\n"


def _as_toml(tree: Hierarchy) -> str:
    """Return a table per group of groups, if all values are equally far down."""
    levels = tree.levels
    is_even = levels[-1].stop - levels[-1].start == tree.n_leaves
    if len(levels) < 3 or not is_even:
        return f"{_quote(tree.labels[0])} = {_list(tree, _children(tree, 0), '')}\n"
    lines = []
    for table in range(levels[-3].start, levels[-3].stop):
        path, over = [], table
        while over >= 0:
            path.append(_quote(tree.labels[over]))
            over = int(tree.parents[over])
        lines.append(f"[{'.'.join(reversed(path))}]")
        for group in _children(tree, table):
            values = _list(tree, _children(tree, group), "")
            lines.append(f"{_quote(tree.labels[group])} = {values}")
    return "\n".join(lines) + "\n"


def _children(tree: Hierarchy, node: int) -> range:
    first = int(tree.first_child[node])
    return range(first, first + int(tree.n_children[node]))


def _is_group(tree: Hierarchy, node: int) -> bool:
    return bool(tree.n_children[node])


def _list(tree: Hierarchy, nodes: range, indent: str) -> str:
    """Return an array of values, and of groups as tables of one key."""
    if not any(_is_group(tree, node) for node in nodes):
        return f"[{', '.join(_quote(tree.labels[node]) for node in nodes)}]"
    inner = indent + "  "
    items = []
    for node in nodes:
        label = _quote(tree.labels[node])
        if _is_group(tree, node):
            label = f"{{ {label} = {_list(tree, _children(tree, node), inner)} }}"
        items.append(f"{inner}{label},\n")
    return f"[\n{''.join(items)}{indent}]"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_FORMS: Final[dict[str, Callable[[Hierarchy], str]]] = {
    ".csv": _as_csv,
    ".json": _as_nodes,
    ".toml": _as_toml,
}
