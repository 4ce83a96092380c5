"""Lookup and Grouping: groups that the user names, over the values a column has."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.base import Builder, as_text, texts_of
from core_mondrian.hierarchies.read import read_rows, tree_from_nested
from core_mondrian.hierarchies.tree import ROOT, Hierarchy, flat, from_paths, lay_out
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject


@dataclass(frozen=True)
class Lookup(Builder):
    """A table of value and group, and the group's group, and so on.

    >>> Lookup({"cat": "beast", "hen": "bird", "dog": "beast"}).build(["hen"]).labels
    ('*', 'bird', 'hen')
    """

    kind: ClassVar[str] = "lookup"
    groups: Mapping[str, str | Sequence[str]]
    """The group of each value; several levels: a list, the finest first."""

    def __post_init__(self) -> None:
        if not isinstance(self.groups, Mapping) or not self.groups:
            raise SpecError("lookup: groups map each value to its group")
        _ = self.tree  # refuses what is no tree

    @cached_property
    def tree(self) -> Hierarchy:
        """The tree over all values of the table."""
        rows = [
            (as_text(value), *((over,) if isinstance(over, str) else over), ROOT)
            for value, over in self.groups.items()
        ]
        return from_paths(rows, "lookup")

    @classmethod
    def read(cls, path: Path) -> "Lookup":
        """Read rows ``value;group;…``, of one length, with commas or semicolons.

        Raises:
            DataError: the file cannot be read, or a value has two groups.
        """
        rows, lines = read_rows(path)
        # Once more as a tree, whose messages name the line.
        from_paths([(*row, ROOT) for row in rows], f"lookup {path}", lines)
        return cls({row[0].strip(): tuple(row[1:]) for row in rows})

    def build(self, values: Iterable[object]) -> Hierarchy:
        return trim(self.tree, texts_of(values))

    def to_json(self) -> JsonObject:
        """Return a digest: the groups name values."""
        return {"kind": self.kind, **_digest(self.tree)}


@dataclass(frozen=True)
class Grouping(Builder):
    """Groups within groups: tables within tables, with lists of values at the end.

    >>> Grouping({"beast": ["cat", "dog"], "bird": ["hen"]}).build(["cat"]).labels
    ('*', 'beast', 'cat')
    """

    kind: ClassVar[str] = "grouping"
    groups: JsonMapping

    def __post_init__(self) -> None:
        _ = self.tree  # refuses what is no tree

    @cached_property
    def tree(self) -> Hierarchy:
        """The tree over all values named."""
        return tree_from_nested({ROOT: self.groups}, "grouping")

    def build(self, values: Iterable[object]) -> Hierarchy:
        return trim(self.tree, texts_of(values))

    def to_json(self) -> JsonObject:
        """Return a digest: the groups name values."""
        return {"kind": self.kind, **_digest(self.tree)}


def trim(tree: Hierarchy, values: Iterable[str]) -> Hierarchy:
    """Return the part of a tree that is over some of its leaves; others are ignored."""
    number = {label: leaf for leaf, label in enumerate(tree.leaves)}
    is_kept = np.zeros(tree.n_leaves + 1, dtype=np.int64)
    kept = [1 + number[value] for value in values if value in number]
    is_kept[np.array(kept, dtype=np.int64)] = 1
    before = np.cumsum(is_kept)
    nodes = np.flatnonzero(before[tree.high + 1] > before[tree.low])
    if not nodes.size:
        return flat([])
    place = np.full(len(tree.labels) + 1, -1)
    place[nodes] = np.arange(nodes.size)
    labels = [tree.labels[node] for node in nodes.tolist()]
    return lay_out(labels, place[tree.parents[nodes]])


def _digest(tree: Hierarchy) -> JsonObject:
    content = "\0".join(tree.labels) + "\0" + str(tree.n_children.tolist())
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return {"n_values": tree.n_leaves, "digest": digest}
