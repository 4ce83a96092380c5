"""The search of the policy `best`, by an executor."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.executor import (
    Context,
    Level,
    PartitionExecutor,
    Task,
    TaskResult,
    Top,
    cut_top,
    solve_queued,
)
from core_mondrian.engine.layout import Codes, Fields, Objective, Search, fields
from core_mondrian.engine.marginals import Counted, Projector, counted_buffers
from core_mondrian.engine.scheduler import Forest, Nodes, Report
from core_mondrian.engine.search.best import BestSearch, Part, chunks_of
from core_mondrian.engine.search.best_search import (
    SearchSettings,
    choose_scored,
    score_counted,
)
from core_mondrian.engine.search.workspace import RecordBuffers, SearchWorkspace

Integers = NDArray[np.int64]
_NEVER = 2**62


@dataclass(frozen=True, slots=True)
class SearchContext:
    """All that searching takes, but the records; what is compiled is built in place."""

    context: Context
    objective: Objective
    search: Search

    def open(self, records: Codes) -> BestSearch:
        """Return a search on some records, on one thread."""
        models = self.context.models()
        workspace = SearchWorkspace(self.objective, models)
        buffers = RecordBuffers(records)
        return BestSearch(self.objective, models, [workspace], self.search, buffers)


@dataclass(frozen=True, slots=True)
class CutTask:
    """Cuts a unit down to blocks."""

    search: SearchContext

    def __call__(self, unit: Task) -> TaskResult:
        search = self.search.open(unit.records.copy())
        root = unit.root.copy()
        root["start"], root["stop"] = 0, len(unit.records)
        workspace = search.workspaces[0]
        nodes = search.grow(workspace, root, _NEVER).copy()
        return TaskResult(nodes, search.buffers.array, workspace.funnel)


@dataclass(frozen=True, slots=True)
class BlocksTask:
    """Solves blocks, which are the nodes of the unit."""

    search: SearchContext

    def __call__(self, unit: Task) -> TaskResult:
        search = self.search.open(unit.records)
        workspace, spans = search.workspaces[0], search.spans(unit.root)
        nodes, records, edges = search.solve_chunk(workspace, spans)
        return TaskResult(nodes, records, workspace.funnel, edges)


@dataclass(frozen=True, slots=True)
class ExecutorSearch(BestSearch):
    """The search on a table of which no one has room for all scratch."""

    executor: PartitionExecutor
    context: Context
    projector: Projector

    @property
    def _elsewhere(self) -> SearchContext:
        return SearchContext(self.context, self.objective, self.search)

    def cut(self, roots: Nodes, report: Report) -> Nodes:
        """Return the tree down to its blocks; the records are put in its order."""
        cutter = _BestCutter(self)
        records = self.buffers.array
        nodes, ordered = cut_top(self.executor, self.projector, cutter, records, roots)
        records[:] = ordered
        del ordered
        forest, funnel = Forest(nodes), self.workspaces[0].funnel
        solve_queued(self.executor, CutTask(self._elsewhere), forest, records, funnel)
        report(1.0)
        return forest.joined()

    def solve_spans(self, spans: Integers, report: Report) -> list[Part]:
        """Solve blocks, a chunk of them in one place."""
        units = []
        # Blocks of a few classes are many: what is shipped at once is a unit's worth.
        n_chunks = 1 + self.n_tuples // self.executor.task_tuples
        for chunk in chunks_of(spans, n_chunks):
            first, last = int(chunk[0, 0]), int(chunk[-1, 1])
            blocks = fields(len(chunk), layout.NODE)
            blocks["start"], blocks["stop"] = chunk[:, 0] - first, chunk[:, 1] - first
            blocks["rows"] = chunk[:, 2]
            lost = chunk[:, 5] > 0
            blocks["kind"] = np.where(lost, layout.SUPPRESSED, layout.CLASS)
            units.append(Task(self.buffers.array[first:last], blocks))
        parts: list[Part] = []
        for solved in self.executor.solve(BlocksTask(self._elsewhere), units):
            self.workspaces[0].funnel[:] += solved.funnel
            if solved.edges is not None:
                parts.append((solved.nodes, solved.records, solved.edges))
        report(1.0)
        return parts


@dataclass(frozen=True, slots=True)
class _Scores:
    """The best cut of each column of a partition, and its box."""

    found: Fields
    totals: Fields


class _BestCutter:
    """Cuts where both sides lose least together."""

    def __init__(self, search: ExecutorSearch) -> None:
        self._search = search

    def cut(self, top: Top, level: Level, counted: Counted) -> list[int]:
        search, rows = self._search, top.nodes["rows"]
        least = max(search.search.block_rows, 2 * search.models.min_rows)
        large = [node for node in level.nodes if rows[node] >= least]
        scores = self._score(level.of(large), counted, rows)
        opened = []
        for node in level.nodes:
            column = self._choose(scores[node]) if node in scores else -1
            if column >= 0:
                opened += self._cut(top, counted, node, column)
            else:
                top.nodes["kind"][node] = layout.CLASS
        return opened

    def _score(
        self, level: Level, counted: Counted, rows: Integers
    ) -> dict[int, _Scores]:
        """Score the cuts of partitions, column by column."""
        search, n_columns = self._search, len(self._search.projector.widths)
        workspace, settings = search.workspaces[0], SearchSettings(search.search)
        totals = workspace.totals_array
        scores = {
            node: _Scores(fields(n_columns + 1, layout.FOUND), totals.copy())
            for node in level.nodes
        }
        for column in range(n_columns if level.nodes else 0):
            projector = search.projector.with_others(column)
            paired = level.count(projector)
            for node, score in scores.items():
                pairs = projector.lay_out_pairs(counted, paired, node)
                # Laid out anew: kept for all nodes, it is as long as the tuples.
                laid_out = projector.lay_out(counted, node)
                buffers, offsets = counted_buffers(*laid_out, pairs)
                workspace.set_column_offsets(offsets)
                score_counted(buffers, workspace, settings, int(rows[node]))
                score.found[column] = workspace.found_array[column]
                score.totals[:] = totals
        workspace.set_column_offsets(None)
        return scores

    def _choose(self, scores: _Scores) -> int:
        workspace = self._search.workspaces[0]
        workspace.found_array[:] = scores.found
        workspace.totals_array[:] = scores.totals
        return int(choose_scored(workspace))

    def _cut(self, top: Top, counted: Counted, node: int, column: int) -> list[int]:
        search = self._search
        rows = int(top.nodes["rows"][node])
        found = search.workspaces[0].found_array[column]
        codes, each = search.projector.marginal(counted, node, column)
        if found["by_rows"]:
            order = np.lexsort((codes, -each))
            codes = codes[order]
        is_left = np.zeros(codes.size, dtype=np.bool_)
        is_left[int(found["first"]) : int(found["last"])] = True
        sides = codes[is_left], codes[~is_left]
        children = _children(rows, int(found["rows"]))
        cut = top.nodes[node : node + 1]
        cut["kind"], cut["column"] = layout.CUT, column
        cut["first_child"], cut["n_children"] = top.n_nodes, 2
        if not found["by_rows"]:
            children["low"][0], children["high"][0] = sides[0].min(), sides[0].max()
        if search.objective.info[column]["kind"] == layout.RANGE:
            children["low"][1], children["high"][1] = sides[1].min(), sides[1].max()
            cut["at"] = children["high"][0]
        child = np.ones(search.projector.widths[column], dtype=np.int32)
        child[sides[0]] = 0
        first = top.cut(node, children, column, child)
        return [first, first + 1]


def _children(rows: int, left: int) -> Nodes:
    children = fields(2, layout.NODE)
    for name in ("first_child", "column", "at", "low", "high"):
        children[name] = -1
    children["kind"] = layout.QUEUED
    children["rows"] = left, rows - left
    return children
