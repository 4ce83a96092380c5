"""The paper's queue across machines: cut by counts, then solve part by part.

    top     one count per level of all partitions too large to be in one place
    units   each smaller queued partition is solved whole, wherever there is room

What is cut where depends on exact counts alone, and budgets are fixed before a
partition is queued, so that the tree is the same as on one machine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedTable
from core_mondrian.engine import layout
from core_mondrian.engine.constraints import Constraints
from core_mondrian.engine.inputs import build_models, build_tuples
from core_mondrian.engine.layout import Codes, Columns, Models, Policy, Tuples
from core_mondrian.engine.marginals import (
    Counted,
    Projector,
    add_up,
    counted_tuples,
)
from core_mondrian.engine.paper.growth import cut_counted, grow
from core_mondrian.engine.paper.strategy import strategy_of
from core_mondrian.engine.paper.workspace import FunnelWorkspace
from core_mondrian.engine.scheduler import NEVER, Forest, Nodes
from core_mondrian.spec import Spec

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Task:
    """Records that are solved in one place, and the node they are below."""

    records: Codes
    root: Nodes


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of a unit: its tree, its records in the order of the leaves."""

    nodes: Nodes
    records: Codes
    funnel: Integers
    edges: Integers | None = None
    """Of several blocks: where the nodes and records of each begin."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Which node each record belongs to, by its codes: the top of the tree so far."""

    column: NDArray[np.int32]
    """Column each node is cut in; -1: it is not cut."""
    offset: Integers
    child: NDArray[np.int32]
    """Of every cut node: the child for each code, from ``offset`` on."""

    def follow(self, records: Codes, root: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the node of each record, given its root."""
        node = root.astype(np.int32)
        while True:
            inner = np.flatnonzero(self.column[node] >= 0)
            if not inner.size:
                return node
            at = node[inner]
            codes = records[inner, self.column[at]]
            node[inner] = self.child[self.offset[at] + codes]


class PartitionExecutor(Protocol):
    """Those who hold the records, or parts of them, and work on them."""

    task_tuples: int
    """Tuples that can be solved in one place."""

    def load(self, records: Codes, root: NDArray[np.int32]) -> None:
        """Take the records, each below one of the roots."""

    def count(
        self, projector: Projector, descent: Descent, wanted: Integers
    ) -> Counted:
        """Count the records of the wanted nodes."""

    def close(self) -> None:
        """Let go of the records."""

    def solve(
        self, solve: Callable[[Task], TaskResult], units: Sequence[Task]
    ) -> Iterator[TaskResult]:
        """Solve units, and say what became of them in the same order."""


class LocalExecutor:
    """A executor of one: parts come one after the other, and only one needs scratch."""

    def __init__(self, task_tuples: int, part_tuples: int | None = None) -> None:
        self.task_tuples = task_tuples
        self._part_tuples = part_tuples or task_tuples
        self._records: Codes = np.zeros((0, 0), dtype=np.int32)
        self._root: NDArray[np.int32] = np.zeros(0, dtype=np.int32)

    def load(self, records: Codes, root: NDArray[np.int32]) -> None:
        self._records, self._root = records, root

    def close(self) -> None:
        self._records, self._root = self._records[:0].copy(), self._root[:0].copy()

    def count(
        self, projector: Projector, descent: Descent, wanted: Integers
    ) -> Counted:
        found: list[Counted] = []
        for start in range(0, len(self._records), self._part_tuples):
            part = slice(start, start + self._part_tuples)
            found.append(
                count_part(
                    *(projector, descent, wanted),
                    *(self._records[part], self._root[part]),
                )
            )
            # Sums are few next to what is added to them; as often as they double.
            if sum(one.size for one in found[1:]) > found[0].size:
                found = [add_up(found)]
        return add_up(found)

    def solve(
        self, solve: Callable[[Task], TaskResult], units: Sequence[Task]
    ) -> Iterator[TaskResult]:
        return map(solve, units)


def count_part(
    projector: Projector,
    descent: Descent,
    wanted: Integers,
    records: Codes,
    root: NDArray[np.int32],
) -> Counted:
    """Count those of some records that are in a wanted node."""
    node = descent.follow(records, root)
    inside = np.isin(node, wanted)
    return projector.project(records[inside], node[inside])


class Top:
    """The top of the tree while it is cut by counts."""

    def __init__(self, roots: Nodes) -> None:
        self._nodes = [roots]
        self.n_nodes = int(roots.size)
        self._child: dict[int, tuple[int, NDArray[np.int32]]] = {}

    @property
    def nodes(self) -> Nodes:
        """All nodes so far; the roots come first."""
        if len(self._nodes) > 1:
            self._nodes = [layout.join_fields(self._nodes)]
        return self._nodes[0]

    def cut(self, node: int, children: Nodes, column: int, child: Codes) -> int:
        """Add a cut; ``child`` says which child each code belongs to, from 0 on."""
        first = self.n_nodes
        children["parent"] = node
        self._nodes.append(children)
        self._child[node] = column, (first + child).astype(np.int32)
        self.n_nodes += int(children.size)
        return first

    def descent(self) -> Descent:
        """Return the cuts so far as a table of codes."""
        column = np.full(self.n_nodes, -1, dtype=np.int32)
        offset = np.zeros(self.n_nodes, dtype=np.int64)
        tables, at = [np.zeros(0, dtype=np.int32)], 0
        for node, (where, child) in self._child.items():
            column[node], offset[node] = where, at
            tables.append(child)
            at += child.size
        return Descent(column, offset, np.concatenate(tables))

    def place(self, records: Codes, root: NDArray[np.int32]) -> Codes:
        """Say where the records of each node are; return the records in that order."""
        nodes = self.nodes
        node = self.descent().follow(records, root)
        n = np.bincount(node, minlength=self.n_nodes)
        rank = np.empty(self.n_nodes, dtype=np.int64)
        start, place = 0, 0
        pending = list(range(int(np.count_nonzero(nodes["parent"] < 0))))[::-1]
        seen = []
        while pending:
            one = pending.pop()
            seen.append(one)
            nodes["start"][one] = start
            if one in self._child:
                first = int(nodes["first_child"][one])
                last = first + int(nodes["n_children"][one])
                pending += range(last - 1, first - 1, -1)
                continue
            rank[one] = place
            place += 1
            start += int(n[one])
            nodes["stop"][one] = start
        for one in reversed(seen):
            if one in self._child:
                last = int(nodes["first_child"][one] + nodes["n_children"][one] - 1)
                nodes["stop"][one] = nodes["stop"][last]
        sorted_records: Codes = records[np.argsort(rank[node], kind="stable")]
        return sorted_records


@dataclass(frozen=True, slots=True)
class Context:
    """All that solving takes, but the records; what is compiled is built in place."""

    table: EncodedTable
    """Without its tuples."""
    spec: Spec
    constraints: Constraints
    columns: Columns
    policy: Policy

    def models(self) -> Models:
        return build_models(self.table, self.spec, self.constraints)

    def workspace(self, tuples: Tuples) -> FunnelWorkspace:
        strategy = strategy_of(self.spec.policy, self.table)
        models = self.models()
        return FunnelWorkspace(tuples, self.columns, models, self.policy, strategy)


def without_tuples(table: EncodedTable) -> EncodedTable:
    """Return what is known of a table without its tuples."""
    return replace(table, codes=table.codes[:0].copy(), counts=table.counts[:0].copy())


@dataclass(frozen=True, slots=True)
class FunnelTask:
    """Solves a unit by the funnel, to its end."""

    context: Context

    def __call__(self, unit: Task) -> TaskResult:
        n = len(unit.records)
        counts = unit.records[:, -2].astype(np.int64)
        codes = np.ascontiguousarray(unit.records[:, :-2])
        tuples = build_tuples(codes, counts, np.arange(n))
        tuples.records[:, -1] = unit.records[:, -1]
        work = self.context.workspace(tuples)
        root = unit.root.copy()
        root["start"][0], root["stop"][0] = 0, n
        nodes = grow(work, root, NEVER)
        return TaskResult(nodes.copy(), tuples.records, work.funnel)


@dataclass(frozen=True, slots=True)
class Level:
    """Partitions of the top that are too large, and those who count them."""

    executor: PartitionExecutor
    descent: Descent
    nodes: list[int]

    def count(self, projector: Projector) -> Counted:
        """Count the partitions."""
        return self.executor.count(projector, self.descent, np.array(self.nodes))

    def of(self, nodes: list[int]) -> "Level":
        """Return some of the partitions."""
        return replace(self, nodes=nodes)


class Cutter(Protocol):
    """Cuts partitions of the top by their counts."""

    def cut(self, top: Top, level: Level, counted: Counted) -> list[int]:
        """Cut nodes of the top, or leave them; return the children to look at next."""


def cut_top(
    executor: PartitionExecutor,
    projector: Projector,
    cutter: Cutter,
    records: Codes,
    roots: Nodes,
) -> tuple[Nodes, Codes]:
    """Cut what is too large for one place; return the nodes, and records in order.

    ``records`` lie root by root, as the roots say. Nodes that are left queued are
    units.
    """
    root = _roots_of(roots)
    executor.load(records, root)
    top = Top(roots.copy())
    opened = np.flatnonzero(roots["kind"] == layout.QUEUED).tolist()
    while True:
        # So many rows may be as many tuples.
        large = [n for n in opened if int(top.nodes["rows"][n]) > executor.task_tuples]
        if not large:
            executor.close()
            return top.nodes, top.place(records, root)
        level = Level(executor, top.descent(), large)
        counted = level.count(projector)
        large = [n for n in large if counted.n_tuples(n) > executor.task_tuples]
        opened = cutter.cut(top, level.of(large), counted)


class FunnelCutter:
    """Cuts by the funnel, and notes which children are solved in place."""

    def __init__(self, context: Context, projector: Projector) -> None:
        self._models, self._projector = context.models(), projector
        none = build_tuples(context.table.codes, context.table.counts, np.arange(0))
        self.work = context.workspace(none)
        self.inline: list[tuple[list[int], int]] = []

    def cut(self, top: Top, level: Level, counted: Counted) -> list[int]:
        cut = [self._cut(top, counted, node) for node in level.nodes]
        return [child for children in cut for child in children]

    def _cut(self, top: Top, counted: Counted, node: int) -> list[int]:
        records, edges = self._projector.lay_out(counted, node)
        self.work.take_counted(counted_tuples(records), edges)
        below = cut_counted(self.work, top.nodes[node : node + 1])
        if below.size == 1:
            top.nodes[node] = below[0]
            return []
        first = _add_cut(top, node, below, self._projector)
        least = 2 * self._models.min_rows
        if self.work.strategy.asks_before_release:
            least = 0
        chosen = _inline_children(below, least, first)
        self.inline.append((chosen, self.work.spendable - _given(below)))
        queued = np.flatnonzero(below["kind"][1:] == layout.QUEUED)
        return [int(first + i) for i in queued]


def grow_with(
    executor: PartitionExecutor,
    context: Context,
    projector: Projector,
    records: Codes,
    roots: Nodes,
) -> tuple[Nodes, Codes, Integers]:
    """Grow below the roots by the funnel; return nodes, records and the funnel."""
    cutter = FunnelCutter(context, projector)
    nodes, records = cut_top(executor, projector, cutter, records, roots)
    forest = Forest(nodes)
    solve = FunnelTask(context)
    funnel = cutter.work.funnel.copy()
    solve_queued(executor, solve, forest, records, funnel)
    for turns, budget in cutter.inline:
        left = budget
        for number in turns:
            node = forest.node(number).copy()
            node["budget"][0] = left
            solved = solve(Task(_slice(records, node).copy(), node))
            left -= int(
                solved.nodes["rows"][solved.nodes["kind"] == layout.SUPPRESSED].sum()
            )
            graft(forest, number, node, solved, records)
            funnel += solved.funnel
    return forest.joined(), records, funnel


def solve_queued(
    executor: PartitionExecutor,
    solve: Callable[[Task], TaskResult],
    forest: Forest,
    records: Codes,
    funnel: Integers,
) -> None:
    """Solve every queued node of a forest, and put its tree in its place."""
    targets = [(number, node.copy()) for number, node in forest.queued(0)]
    units = [Task(_slice(records, node), node) for _, node in targets]
    done = executor.solve(solve, units)
    for (number, node), solved in zip(targets, done, strict=True):
        graft(forest, number, node, solved, records)
        funnel += solved.funnel


def _slice(records: Codes, node: Nodes) -> Codes:
    inside: Codes = records[int(node["start"][0]) : int(node["stop"][0])]
    return inside


def _roots_of(roots: Nodes) -> NDArray[np.int32]:
    n = roots["stop"] - roots["start"]
    return np.repeat(np.arange(roots.size, dtype=np.int32), n)


def graft(
    forest: Forest, number: int, node: Nodes, solved: TaskResult, records: Codes
) -> None:
    """Put what became of a unit in its place."""
    start = int(node["start"][0])
    records[start : start + len(solved.records)] = solved.records
    nodes = solved.nodes.copy()
    nodes["start"] += start
    nodes["stop"] += start
    forest.graft(nodes, number)


def _add_cut(top: Top, node: int, below: Nodes, projector: Projector) -> int:
    """Add a cut of the funnel; a child without codes of its own gets the others."""
    column = int(below["column"][0])
    children = below[1:].copy()
    child = np.full(projector.widths[column], children.size - 1, dtype=np.int32)
    for i, (low, high) in enumerate(
        zip(children["low"], children["high"], strict=True)
    ):
        if low >= 0:
            child[low : high + 1] = i
    cut = top.nodes[node : node + 1]
    cut["kind"], cut["column"], cut["at"] = layout.CUT, column, below["at"][0]
    cut["first_child"], cut["n_children"] = top.n_nodes, children.size
    return top.cut(node, children, column, child)


def _inline_children(below: Nodes, least: int, first: int) -> list[int]:
    """Return the children that are solved in place, in turn.

    Those with fewer than ``least`` rows are classes already.

    They pass the models, so that none has to spend more than there is.
    """
    children = below[1:]
    turns = [int(turn) - 1 for turn in children["visit_order"]]
    return [
        first + i
        for i in turns
        if children["kind"][i] == layout.CLASS and children["rows"][i] >= least
    ]


def _given(below: Nodes) -> int:
    """Return the rows that a cut has suppressed, or promised to queued children."""
    children = below[1:]
    given = int(children["budget"][children["kind"] == layout.QUEUED].sum())
    lost = int(children["rows"][children["kind"] == layout.SUPPRESSED].sum())
    return given + lost
