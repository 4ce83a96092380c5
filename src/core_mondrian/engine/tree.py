"""PartitionTree: the grown tree as flat, read-only arrays; its digest.

Nodes are numbered breadth first inside what one queued partition grew, and parents
before children throughout. The children of a node are consecutive; those that were
suppressed are nodes of their own, so that every row is in exactly one leaf.
"""

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import CLASS, CUT, SUPPRESSED, Tuples
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.runs import run_members

Kind = Literal["cut", "class", "suppressed"]
KINDS: tuple[Kind, ...] = ("cut", "class", "suppressed")


@dataclass(frozen=True)
class PartitionTree:
    """One entry per node; -1 where something does not apply."""

    parent: NDArray[np.int64]
    kind: NDArray[np.int64]
    """Index into ``KINDS``."""
    column: NDArray[np.int64]
    """Quasi-identifier that was cut, by position in the spec."""
    cut_code: NDArray[np.int64]
    """Number cuts: the last code on the left."""
    first_child: NDArray[np.int64]
    n_children: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    """The node's tuples are ``order[start:stop]``."""
    rows: NDArray[np.int64]
    budget: NDArray[np.int64]
    """Rows the partition might suppress when it was given out."""
    spent: NDArray[np.int64]
    """Rows suppressed in and below it."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """Codes of the parent's column that lead here; -1: the pool of small children."""
    order: NDArray[np.int32]
    """Tuple numbers, permuted so that each node's are consecutive."""
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def n_nodes(self) -> int:
        return int(self.parent.size)

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """Nodes that are classes, in node order."""
        return np.flatnonzero(self.kind == CLASS)

    @property
    def n_classes(self) -> int:
        return int(self.leaves.size)

    @property
    def n_suppressed(self) -> int:
        return int(self.rows[self.kind == SUPPRESSED].sum())

    @cached_property
    def depth(self) -> NDArray[np.int64]:
        """Cuts between each node and its root."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        level = np.flatnonzero(self.parent < 0)
        reached = 0
        while level.size:
            depth[level] = reached
            reached += 1
            level = self._children_of(level)
        return depth

    def _children_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return all children of ``nodes``, parent by parent."""
        return run_members(self.first_child[nodes], self.n_children[nodes])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the shape, the cuts and what is in each leaf."""
        digest = hashlib.sha256("\0".join(self.columns).encode())
        for name in _STRUCTURE:
            digest.update(getattr(self, name).astype("<i8").tobytes())
        digest.update(self.leaf_of_tuple.astype("<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def leaf_of_tuple(self) -> NDArray[np.int64]:
        """The leaf node, class or suppressed, of each tuple."""
        leaf = np.empty(self.order.size, dtype=np.int64)
        ends = np.flatnonzero(self.kind != CUT)
        ends = ends[np.argsort(self.start[ends], kind="stable")]
        leaf[self.order] = np.repeat(ends, self.stop[ends] - self.start[ends])
        return leaf

    def to_json(self) -> JsonObject:
        """Return the nodes as plain lists, one per field."""
        plain: JsonObject = {name: getattr(self, name).tolist() for name in _EXPORTED}
        plain["kind"] = [KINDS[kind] for kind in self.kind.tolist()]
        return {"columns": list(self.columns), "digest": self.digest, "nodes": plain}


def freeze(
    nodes: dict[str, NDArray[np.int64]], tuples: Tuples, columns: tuple[str, ...]
) -> PartitionTree:
    """Return numbered nodes as the read-only tree over the tuples."""
    ends = np.flatnonzero(nodes["kind"] == SUPPRESSED)
    lost = np.zeros(tuples.keys.size + 1, dtype=np.int64)
    lost[nodes["start"][ends] + 1] = nodes["rows"][ends]
    lost = np.cumsum(lost)
    return PartitionTree(
        **nodes,
        spent=lost[nodes["stop"]] - lost[nodes["start"]],
        order=tuples.records[:, -1].copy(),
        columns=columns,
    )


_STRUCTURE = (
    "parent", "kind", "column", "cut_code", "first_child", "n_children", "rows",
    "budget", "spent", "low", "high",
)  # fmt: skip
_EXPORTED = tuple(name for name in _STRUCTURE if name != "kind")
