"""Trees over the values of a column, as the page shows and edits them."""

from typing import Final

import pyarrow as pa

from core_mondrian.encoding.columns import encode_ranked, is_ordered, rank_column
from core_mondrian.encoding.trees import build_tree, learn_tree, texts_of
from core_mondrian.errors import DataError, SpecError
from core_mondrian.hierarchies.learned import Learned
from core_mondrian.hierarchies.load import parse_short
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.studio.actions import OpenedTable, read_as
from core_mondrian.studio.draft import Draft
from core_mondrian.tables.frames import arrow_column, open_frame

MOST_DRAGGED: Final = 200
"""Values that can be put into groups by hand."""
MOST_SHOWN: Final = 300
_FEW_GROUPS: Final = 6
Groups = list[tuple[str, list[str]]]
"""The name and the values of each group."""


def is_number(opened: OpenedTable, name: str) -> bool:
    """Tell whether a column is a number or a date, unless it is said to be names."""
    kind = opened.table.schema.field(name).type
    return is_ordered(kind.value_type if pa.types.is_dictionary(kind) else kind)


def find_tree(opened: OpenedTable, draft: Draft, name: str) -> Hierarchy:
    """Return the tree that a release would use for a column.

    Raises:
        SpecError: the column has none, or it cannot be built.
        DataError: it lacks values of the column, and is not to.
    """
    spec = draft.to_spec()
    frame = open_frame(read_as(opened, spec))
    is_learned = isinstance(spec.hierarchies.get(name), Learned)
    needed = spec.quasi_identifiers if is_learned else (name,)
    ranked = {one: rank_column(arrow_column(frame, one), one) for one in needed}
    tree = build_tree(name, ranked, spec)
    if tree is None:
        raise SpecError(f"{name} has no groups", hint="choose how values are grouped")
    coded = encode_ranked(ranked[name], name, tree, spec.uncovered_of(name))
    return coded.column.hierarchy or tree


def first_groups(opened: OpenedTable, draft: Draft, name: str) -> Groups:
    """Return a few groups of alike values to begin with.

    Raises:
        DataError: the column has too many values for that.
    """
    spec = draft.to_spec()
    frame = open_frame(read_as(opened, spec))
    names = spec.quasi_identifiers
    ranked = {one: rank_column(arrow_column(frame, one), one) for one in names}
    n = len(texts_of(ranked[name]))
    if n > MOST_DRAGGED:
        raise DataError(
            f"{name} has {n} values, too many to be moved by hand",
            hint=f"up to {MOST_DRAGGED} can be; take prefix, ranges or learned",
        )
    tree = learn_tree(Learned(), name, ranked)
    small = [level for level in tree.levels if level.stop - level.start <= _FEW_GROUPS]
    groups: dict[int, list[str]] = {}
    for leaf, text in zip(tree.leaf_nodes.tolist(), tree.leaves, strict=True):
        node = leaf
        while node >= small[-1].stop:
            node = int(tree.parents[node])
        groups.setdefault(node, []).append(text)
    return [(f"group {i + 1}", values) for i, values in enumerate(groups.values())]


def as_entry(groups: Groups) -> JsonObject:
    """Return groups as a spec file has them; those without values are left out."""
    return {
        "kind": "grouping",
        "groups": {name: list(values) for name, values in groups if values},
    }


def groups_in(entry: JsonMapping) -> Groups | None:
    """Return the groups that a spec file's entry names; None: some are in others."""
    groups = entry["groups"]
    if not all(isinstance(values, list | tuple) for values in groups.values()):
        return None
    return [(name, list(values)) for name, values in groups.items()]


def move(groups: Groups, value: str, target: str, place: int | None = None) -> Groups:
    """Return the groups with a value in another of them, or elsewhere in its own."""
    moved: Groups = []
    for name, values in groups:
        rest = [one for one in values if one != value]
        if name == target:
            rest.insert(len(rest) if place is None else place, value)
        moved.append((name, rest))
    return moved


def rename(groups: Groups, old: str, new: str) -> Groups:
    """Return the groups with one under another name.

    Raises:
        SpecError: the name is empty, a value's, or another group's.
    """
    taken = {name for name, _ in groups if name != old}
    taken |= {value for _, values in groups for value in values} | {"*"}
    if not new.strip() or new in taken:
        raise SpecError("a group has a name of its own", hint="take another name")
    return [(new if name == old else name, values) for name, values in groups]


def add_group(groups: Groups) -> Groups:
    """Return the groups and an empty one more, under a name that is free."""
    taken = {name for name, _ in groups} | {v for _, values in groups for v in values}
    number = len(groups) + 1
    while f"group {number}" in taken:
        number += 1
    return [*groups, (f"group {number}", [])]


def parse_entry(kind: str, text: str) -> JsonObject:
    """Return a builder as a spec file has it, from its kind and what was typed.

    Raises:
        SpecError: what was typed cannot be read.
    """
    typed = text.replace(" ", "")
    return parse_short(f"{kind}:{typed}" if typed else kind) or {"kind": kind}


def typed_of(entry: JsonMapping) -> str | None:
    """Return what is typed to get a builder; None: that does not say all of it."""
    rest = [value for key, value in entry.items() if key != "kind"]
    parts = rest[0] if rest and isinstance(rest[0], list | tuple) else rest[:1]
    text = ", ".join(map(str, parts))
    try:
        is_all = parse_entry(str(entry.get("kind")), text) == entry
    except SpecError:
        is_all = False
    return text if is_all else None


def draw_nodes(tree: Hierarchy) -> list[JsonObject]:
    """Return the upper nodes as nested plain values."""
    shown = min(MOST_SHOWN, len(tree.labels))
    nodes: list[JsonObject] = [
        {"id": str(i), "label": _node_text(tree, i), "children": []}
        for i in range(shown)
    ]
    for i in range(1, shown):
        nodes[int(tree.parents[i])]["children"].append(nodes[i])
    for i in range(shown):
        lacking = int(tree.n_children[i]) - len(nodes[i]["children"])
        if lacking:
            more = {"id": f"more {i}", "label": f"… {lacking} more"}
            nodes[i]["children"].append(more)
    return nodes[:1]


def _node_text(tree: Hierarchy, node: int) -> str:
    n = int(tree.high[node] - tree.low[node] + 1)
    below = f" ({n} value{'s' * (n != 1)})" if tree.n_children[node] else ""
    return f"{tree.labels[node]}{below}"
