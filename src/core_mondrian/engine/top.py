"""The top of a tree, cut by counts as long as partitions are too large for one place.

    top     one count per level of all partitions that are too large
    parts   partitions that are small enough, some of them together; see `parts`

What is cut where depends on exact counts alone, and budgets are fixed before a
partition is queued, so that the tree is the same as in one place.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from core_mondrian.engine import layout
from core_mondrian.engine.inputs import with_scratch
from core_mondrian.engine.layout import Codes, Fields, Models, blank_nodes, fields
from core_mondrian.engine.marginals import Marginal, PartitionCounter, stand_in
from core_mondrian.engine.paper.growth import cut_once
from core_mondrian.engine.paper.workspace import FunnelWorkspace
from core_mondrian.engine.search.best import BestSearch
from core_mondrian.engine.search.counted_cuts import (
    CountedColumn,
    CountedCuts,
    left_codes,
)

Nodes = Fields


class NodeCut(NamedTuple):
    """A cut of the top: to which child the records of a node go, by their code."""

    node: int
    column: int
    first: int
    """The number of the first child."""
    cut_code: int
    """Of a number: codes up to this one go to the first child, others to the second."""
    child: Codes | None = None
    """Else, of each code: its child, from 0 on."""


class Divider(PartitionCounter, Protocol):
    """Whoever has the records, counts them, and says which node each belongs to."""

    task_tuples: int
    """Tuples that can be solved in one place."""

    def sizes(self, nodes: Sequence[int]) -> dict[int, int]:
        """Count the tuples of nodes that are not cut."""

    def divide(self, cuts: Sequence[NodeCut]) -> None:
        """Give the records of nodes to their children."""


class Inline(NamedTuple):
    """Children of one cut that are solved in place, in turn, and what they may spend.

    Those that are classes already are among them, but have no turn.
    """

    nodes: list[int]
    turns: list[int]
    budget: int


class Top:
    """The nodes that were cut by counts, and their children; the roots come first."""

    def __init__(self, roots: Nodes) -> None:
        self.nodes = roots.copy()
        self.inline: list[Inline] = []

    def add(self, node: int, cut: Fields, children: Nodes) -> int:
        """Put a cut in the place of a node; return the number of its first child."""
        first = int(self.nodes.size)
        place = self.nodes[node : node + 1]
        place["kind"], place["column"], place["cut_code"] = (
            layout.CUT,
            cut["column"],
            cut["cut_code"],
        )
        place["first_child"], place["n_children"] = first, children.size
        children["parent"] = node
        self.nodes = layout.join_fields([self.nodes, children])
        return first

    def leaves(self) -> list[int]:
        """Return the nodes that are not cut, in the order their records would have."""
        nodes, leaves = self.nodes, []
        pending = np.flatnonzero(nodes["parent"] < 0).tolist()[::-1]
        while pending:
            node = pending.pop()
            if nodes["kind"][node] != layout.CUT:
                leaves.append(node)
                continue
            first = int(nodes["first_child"][node])
            last = first + int(nodes["n_children"][node])
            pending += range(last - 1, first - 1, -1)
        return leaves


class Cutter(Protocol):
    """Cuts partitions of the top by their counts."""

    def cut(self, top: Top, nodes: Sequence[int]) -> tuple[list[NodeCut], list[int]]:
        """Cut nodes, or leave them; return the cuts, and the children to look at."""


def cut_top(divider: Divider, cutter: Cutter, roots: Nodes) -> Top:
    """Cut what is too large for one place, level by level."""
    top = Top(roots)
    opened = np.flatnonzero(roots["kind"] == layout.QUEUED).tolist()
    while True:
        # So many rows may be as many tuples.
        most = divider.task_tuples
        large = [node for node in opened if int(top.nodes["rows"][node]) > most]
        sizes = divider.sizes(large) if large else {}
        large = [node for node in large if sizes[node] > most]
        if not large:
            return top
        cuts, opened = cutter.cut(top, large)
        if cuts:
            divider.divide(cuts)


def stand_ins(counter: PartitionCounter, nodes: Sequence[int], n: int) -> "StandIns":
    """Count ``n`` columns of some partitions."""
    return StandIns(counter.marginals(nodes, range(n)))


class StandIns(NamedTuple):
    """Counts of partitions, column by column."""

    marginals: list[Marginal]

    def records(self, node: int) -> Codes:
        """Return records that stand in for those of one partition."""
        return stand_in([marginal.of(node) for marginal in self.marginals])


class FunnelCutter:
    """Cuts by the funnel, and notes which children are solved in place."""

    def __init__(
        self, counter: PartitionCounter, work: FunnelWorkspace, models: Models
    ) -> None:
        self._counter, self._work, self._models = counter, work, models

    def cut(self, top: Top, nodes: Sequence[int]) -> tuple[list[NodeCut], list[int]]:
        counts = stand_ins(self._counter, nodes, self._work.n_columns)
        cuts: list[NodeCut] = []
        opened: list[int] = []
        for node in nodes:
            records = counts.records(node)
            self._work.take_tuples(with_scratch(records))
            below = cut_once(self._work, top.nodes[node : node + 1])
            if below.size == 1:
                top.nodes[node] = below[0]
                continue
            cut, queued = self._add(top, node, below, records)
            cuts.append(cut)
            opened += queued
        return cuts, opened

    def _add(
        self, top: Top, node: int, below: Nodes, records: Codes
    ) -> tuple[NodeCut, list[int]]:
        children = below[1:].copy()
        first = top.add(node, below[0], children)
        column, at = int(below["column"][0]), int(below["cut_code"][0])
        is_queued = children["kind"] == layout.QUEUED
        queued = (first + np.flatnonzero(is_queued)).tolist()
        others = (first + np.flatnonzero(~is_queued)).tolist()
        if others:
            left = self._work.spendable - _given(children)
            top.inline.append(Inline(others, self._turns(children, first), left))
        if at >= 0:
            return NodeCut(node, column, first, at), queued
        # A child without codes of its own is the pool: it gets the others.
        width = int(records[:, column].max()) + 1
        child = np.full(width, children.size - 1, dtype=np.int32)
        bounds = zip(children["low"].tolist(), children["high"].tolist(), strict=True)
        for i, (low, high) in enumerate(bounds):
            if low >= 0:
                child[low : high + 1] = i
        return NodeCut(node, column, first, at, child), queued

    def _turns(self, children: Nodes, first: int) -> list[int]:
        """Return the children that are solved in place, in turn.

        Those with too few rows to be cut are classes already.
        """
        least = 2 * self._models.min_rows
        if self._work.strategy.asks_before_release:
            least = 0
        turns = [int(turn) - 1 for turn in children["visit_order"]]
        return [
            first + i
            for i in turns
            if children["kind"][i] == layout.CLASS and children["rows"][i] >= least
        ]


def _given(children: Nodes) -> int:
    """Return the rows that a cut has suppressed, or promised to queued children."""
    given = int(children["budget"][children["kind"] == layout.QUEUED].sum())
    lost = int(children["rows"][children["kind"] == layout.SUPPRESSED].sum())
    return given + lost


class BestCutter:
    """Cuts where both sides lose least together."""

    def __init__(self, counter: PartitionCounter, search: BestSearch) -> None:
        self._counter, self._search = counter, search

    def cut(self, top: Top, nodes: Sequence[int]) -> tuple[list[NodeCut], list[int]]:
        search, rows = self._search, top.nodes["rows"]
        least = max(search.search.block_rows, 2 * search.models.min_rows)
        large = [node for node in nodes if rows[node] >= least]
        for node in set(nodes) - set(large):
            top.nodes["kind"][node] = layout.CLASS
        if not large:
            return [], []
        counts = stand_ins(self._counter, large, search.objective.info.size)
        records = {node: counts.records(node) for node in large}
        scores = self._score(records)
        cuts, opened = [], []
        for node in large:
            column, best = scores[node].choose()
            if column < 0:
                top.nodes["kind"][node] = layout.CLASS
                continue
            cut = self._add(top, node, column, best, records[node])
            cuts.append(cut)
            opened += [cut.first, cut.first + 1]
        return cuts, opened

    def _score(self, records: dict[int, Codes]) -> dict[int, CountedCuts]:
        """Score the cuts of partitions, column by column."""
        info, nodes = self._search.objective.info, list(records)
        cuts = {node: CountedCuts(self._search, records[node]) for node in nodes}
        categories = np.flatnonzero(info["kind"] != layout.RANGE).tolist()
        for column in range(info.size):
            moments = self._counter.moments(nodes, column)
            others = [other for other in categories if other != column]
            counts = self._counter.pairs(nodes, column, others) if others else []
            pairs = dict(zip(others, counts, strict=True))
            for node in nodes:
                own = {other: rows.of(node) for other, rows in pairs.items()}
                cuts[node].score(column, CountedColumn(moments.of(node), own))
        return cuts

    def _add(
        self, top: Top, node: int, column: int, best: Fields, records: Codes
    ) -> NodeCut:
        is_left = left_codes(records, column, best)
        used = np.unique(records[:, column])
        sides = used[is_left[used]], used[~is_left[used]]
        left = int(best["rows"])
        children = _children(int(top.nodes["rows"][node]), left)
        cut = fields(1, layout.NODE)[0]
        cut["column"], cut["cut_code"] = column, -1
        if not best["by_rows"]:
            children["low"][0], children["high"][0] = sides[0][0], sides[0][-1]
        is_range = self._search.objective.info[column]["kind"] == layout.RANGE
        if is_range:
            children["low"][1], children["high"][1] = sides[1][0], sides[1][-1]
            cut["cut_code"] = sides[0][-1]
        first = top.add(node, cut, children)
        if is_range:
            return NodeCut(node, column, first, int(cut["cut_code"]))
        child = (~is_left).astype(np.int32)
        return NodeCut(node, column, first, -1, child)


def _children(rows: int, left: int) -> Nodes:
    children = blank_nodes(2)
    children["kind"] = layout.QUEUED
    children["rows"] = left, rows - left
    return children
