"""Read a hierarchy: ARX's CSV form, the reference's JSON, or nested TOML and JSON."""

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core_mondrian.errors import CHECK_PATH, DataError, drops_context, not_there
from core_mondrian.hierarchies.base import as_text
from core_mondrian.hierarchies.tree import Hierarchy, from_paths, lay_out
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.runtime.toml_positions import read_toml

Rows = tuple[list[list[str]], list[int]]
"""The cells of each row, and the line it ends on."""
_HINT = 'write {"*": {"group": ["value", "value"]}}'
_AGAIN = "write it again, or as CSV with a row per value"


@drops_context
def read_hierarchy(path: str | os.PathLike[str]) -> Hierarchy:
    """Read a hierarchy; ``.json`` and ``.toml`` are what they say, all others CSV.

    CSV has a row ``leaf;parent;…;*`` per value, with semicolons as ARX writes them or
    with commas; fields may be quoted. JSON is either the reference's, a list of nodes,
    or nested as TOML is: the root, in it groups, in the last of them lists of values.

    Raises:
        DataError: the file cannot be read or is not such a tree.
    """
    path = Path(path)
    where = f"hierarchy {path}"
    if path.suffix.lower() not in (".json", ".toml"):
        rows, lines = read_rows(path, has_root=True)
        return from_paths(rows, where, lines)
    data = _parse(path, where)
    if isinstance(data, Mapping) and {"root_nid", "nodes"} <= data.keys():
        return _tree_from_nodes(data, where)
    return tree_from_nested(data, where)


def read_rows(path: Path, *, has_root: bool = False) -> Rows:
    """Read rows of text, separated by semicolons or commas, and where they stand.

    Semicolons, unless only commas make rows of one length, under one root if asked.

    Raises:
        DataError: the file cannot be read, or a quote is never closed.
    """
    text = _read_text(path, f"hierarchy {path}")
    problem = None
    signs = [sign for sign in ";," if sign in text] or [";"]
    for sign in signs:
        try:
            rows = _split(text, sign, f"hierarchy {path}")
        except DataError as error:
            problem = problem or error
            continue
        widths = {len(row) for row in rows[0]}
        is_tree = not has_root or len({row[-1].strip() for row in rows[0]}) == 1
        if sign == signs[-1] or (len(widths) == 1 and min(widths) > 1 and is_tree):
            return rows
    if problem is None:
        return _split(text, signs[0], f"hierarchy {path}")
    raise problem


def _split(text: str, sign: str, where: str) -> Rows:
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=sign,
        strict=True,
        skipinitialspace=True,
    )
    rows, lines = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error:
        raise DataError(
            f"{where}, line {reader.line_num}: a quote is not closed, or not alone",
            hint='write a field with quotes in it as "say ""so"""',
        ) from None
    return rows, lines


def _hint_of(path: Path) -> str:
    return not_there(path).hint or CHECK_PATH


def _read_text(path: Path, where: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{where}: no such file", hint=_hint_of(path)) from None
    except OSError as error:
        kind = type(error).__name__
        raise DataError(f"{where}: cannot be read ({kind})", hint=CHECK_PATH) from None
    except UnicodeDecodeError:
        raise DataError(f"{where}: not UTF-8 text", hint="save it as UTF-8") from None


def _parse(path: Path, where: str) -> Any:  # noqa: ANN401
    """Return what JSON or TOML says; their own messages quote the file."""
    import tomllib

    text = _read_text(path, where)
    try:
        if path.suffix.lower() == ".toml":
            return read_toml(text)
        return json.loads(text, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{where}, line {error.lineno}: not JSON", hint="was it cut off?"
        ) from None
    except tomllib.TOMLDecodeError as error:
        place = str(error).rpartition("(")[2].rstrip(")")
        raise DataError(
            f"{where}: not TOML ({place})",
            hint='put texts in quotes: group = ["value"]',
        ) from None
    except (RecursionError, ValueError):
        raise DataError(
            f"{where}: nested too deeply, or a number of too many digits",
            hint="write it as CSV, a row per value",
        ) from None
    except _RepeatedKeyError:
        raise DataError(
            f"{where}: a label twice under one parent",
            hint="write what is below both in one place",
        ) from None


class _RepeatedKeyError(Exception):
    """JSON lets a key stand twice, and the first one is lost."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> JsonObject:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _RepeatedKeyError
    return values


class _Nodes:
    """Nodes in the order they are met, parents before children."""

    def __init__(self, where: str) -> None:
        self._where = where
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.places: list[str] = []
        self._depths: list[int] = []
        self._seen: set[tuple[int, str]] = set()

    def add(self, label: object, parent: int, place: str, *, is_leaf: bool) -> int:
        """Append a node; leaves differ from each other, groups from those beside."""
        if not isinstance(label, str | int | float):
            raise DataError(
                f"{self._where}, {place}: a label is a text or a number",
                hint="put it in quotes",
            )
        text = as_text(label)
        if not text.strip():
            raise DataError(
                f"{self._where}, {place}: an empty label",
                hint="every value and group has a name",
            )
        depth = 0 if parent < 0 else self._depths[parent] + 1
        key = (-1 if is_leaf else depth, text)
        if key in self._seen:
            what = "the same leaf a second time" if is_leaf else "with two parents"
            raise DataError(
                f"{self._where}, {place}: {what}",
                hint="write each value once; groups beside each other differ in name",
            )
        self._seen.add(key)
        self.labels.append(text)
        self.parents.append(parent)
        self.places.append(place)
        self._depths.append(depth)
        return len(self.labels) - 1

    def tree(self) -> Hierarchy:
        return lay_out(self.labels, np.array(self.parents, dtype=np.int64))


def tree_from_nested(data: object, where: str) -> Hierarchy:
    """Build a hierarchy from mappings within mappings, lists of values at the end.

    Places in messages are the numbers of the items on the way down, from 1 on.

    Raises:
        DataError: there is not one root, or a label is empty or stands twice.
    """
    if not isinstance(data, Mapping) or len(data) != 1:
        raise DataError(f"{where}: not one root with groups below it", hint=_HINT)
    nodes = _Nodes(where)
    queue: list[tuple[object, int]] = []
    for label, below, place in _items(data, "", where):
        queue.append((below, nodes.add(label, -1, place, is_leaf=False)))
    for content, node in queue:  # it grows on the way
        items = list(_items(content, nodes.places[node], where))
        if not items:
            raise DataError(
                f"{where}, {nodes.places[node]}: nothing below it",
                hint="list the values of the group, or leave it out",
            )
        for label, below, place in items:
            child = nodes.add(label, node, place, is_leaf=below is None)
            if below is not None:
                queue.append((below, child))
    return nodes.tree()


def _items(
    content: object, place: str, where: str
) -> Iterator[tuple[object, object, str]]:
    """Return label, what is below (None: it is a leaf) and place of each child."""
    if isinstance(content, Mapping):
        parts: Sequence[object] = [{label: x} for label, x in content.items()]
    elif isinstance(content, list | tuple):
        parts = content
    else:
        raise DataError(
            f"{where}, {place or 'top'}: neither groups nor a list of values",
            hint=_HINT,
        )
    for i, part in enumerate(parts, start=1):
        at = f"{place}.{i}" if place else f"item {i}"
        if not isinstance(part, Mapping):
            yield part, None, at
            continue
        for label, below in part.items():
            yield label, () if below is None else below, at


def _tree_from_nodes(data: JsonMapping, where: str) -> Hierarchy:
    """Build a hierarchy from nodes ``[value, parent, size, children]`` by id."""
    by_id = data["nodes"]
    places = _places_of_nodes(by_id, where)
    nodes = _Nodes(where)
    queue: list[tuple[str, int, str]] = [(str(data["root_nid"]), -1, "None")]
    numbers: dict[str, int] = {}
    for key, parent, over in queue:  # it grows on the way
        if key not in by_id:
            raise DataError(f"{where}: a node that is named but not there", hint=_AGAIN)
        if key in numbers:
            raise DataError(
                f"{where}, {places[key]}: a node with two parents", hint=_AGAIN
            )
        value, named, _, children = by_id[key]
        if str(named) != over:
            raise DataError(
                f"{where}, {places[key]}: names another parent", hint=_AGAIN
            )
        at = nodes.add(value, parent, places[key], is_leaf=not children)
        numbers[key] = at
        queue.extend((str(child), at, key) for child in children)
    if lost := len(by_id) - len(numbers):
        raise DataError(
            f"{where}: {lost} nodes in a circle, or under another root", hint=_AGAIN
        )
    return _with_default_sizes(nodes, [by_id[key][2] for key in numbers], where)


def _places_of_nodes(by_id: object, where: str) -> dict[str, str]:
    """Return how messages name each node, if it is one."""
    if not isinstance(by_id, Mapping):
        raise DataError(f"{where}: its nodes are not listed by id", hint=_AGAIN)
    places = {key: f"node {i}" for i, key in enumerate(by_id, start=1)}
    for key, node in by_id.items():
        is_node = isinstance(node, list) and len(node) == 4
        if not is_node or not isinstance(node[3], list):
            raise DataError(
                f"{where}, {places[key]}: not [value, parent, size, children]",
                hint=_AGAIN,
            )
    return places


def _with_default_sizes(nodes: _Nodes, sizes: list[Any], where: str) -> Hierarchy:
    """Refuse sizes that are not the default: RILM is measured with it."""
    tree = nodes.tree()  # level by level, as the nodes were met
    numbers = [x if isinstance(x, int | float) else np.nan for x in sizes]
    given = np.array(numbers, dtype=np.float64)
    wrong = np.flatnonzero(np.isfinite(given) & ~np.isclose(given, tree.sizes))
    if wrong.size:
        raise DataError(
            f"{where}, {nodes.places[wrong[0]]}: a size that is not 10**level - 1",
            hint="other sizes are not supported; leave them out (null)",
        )
    return tree
