"""The policy `best`: choose beta, cut down to blocks, solve them, put them together.

root ─► exact cuts ─► blocks ─► classes, tuples in pieces where that pays
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.exact_sums import exact_sum
from core_mondrian.engine.layout import (
    Codes,
    Fields,
    Models,
    Objective,
    Search,
    blank_nodes,
    fields,
    join_fields,
    raw_fields,
)
from core_mondrian.engine.nodes import graft_blocks
from core_mondrian.engine.scheduler import Nodes, Report, run_queue, run_tasks
from core_mondrian.engine.search.best_search import (
    SearchSettings,
    choose_scored,
    cut_chosen,
    cut_to_blocks,
    score_columns,
    solve_blocks,
)
from core_mondrian.engine.search.class_loss import class_losses
from core_mondrian.engine.search.lanes import build_lanes
from core_mondrian.engine.search.loss_weights import build_objective
from core_mondrian.engine.search.workspace import (
    Block,
    ClassSet,
    RecordBuffers,
    SearchWorkspace,
    SolvedBlocks,
)
from core_mondrian.runtime.threads import map_threads, spans
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.encoded import EncodedTable

_FIRST_BETA = 2.0
# Sets are measured in fractions of their domain, and so is their impurity.
_FIRST_BETA_OF_SETS = 8.0
_BETAS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
# Blocks hold so many classes at least that cutting them well matters.
_CLASSES_PER_BLOCK = 100
_TASKS_PER_THREAD = 16
# Fewer are done before anybody could press a key.
_TUPLES_PER_TASK = 8192
_NODES_PER_TASK = 8192
# Whole searches of fewer are done before other threads have begun.
_TUPLES_PER_TRIAL = 1024
# A cut of fewer is done before other threads have begun.
_TUPLES_PER_TOP_CUT = 1 << 16
_TUPLES_PER_DRAW = 1 << 20


Part = tuple[Nodes, Codes, NDArray[np.int64]]
"""Nodes and records of some blocks, and where each one's begin."""


class _Effort(NamedTuple):
    """What an effort level buys."""

    blocks: int
    """Rows of a block, in multiples of ``inline_below``."""
    neighbours: int
    """Classes that a class is cut anew with; 0: classes are not regrouped."""
    passes: int
    sample: int
    """Tuples that beta is chosen by."""
    sweeps: int = 0
    """How often each class is annealed."""


_EFFORTS = {
    "fast": _Effort(blocks=1, neighbours=0, passes=0, sample=3072),
    "light": _Effort(blocks=4, neighbours=3, passes=1, sample=3072),
    "strong": _Effort(blocks=4, neighbours=5, passes=2, sample=8192, sweeps=200),
    "thorough": _Effort(blocks=10, neighbours=10, passes=12, sample=8192, sweeps=1000),
    "max": _Effort(blocks=10, neighbours=10, passes=12, sample=8192, sweeps=15000),
}
# Where a class that fails may have parts that pass, cuts alone get stuck early, and a
# little regrouping gains more than all else: t = 0.2 on Adult .234 -> .172.
_FAST_IF_NOT_MONOTONE = _Effort(blocks=10, neighbours=2, passes=1, sample=3072)
# Annealing pays where classes need few rows. Adult, 10 columns: k = 5 .0767 -> .0755,
# k = 10 .1144 -> .1148, k = 500 .416 -> .427. Only `max` tries it for larger ones.
_FEW_ROWS = 8
_UNANNEALED = {
    "strong": _EFFORTS["strong"]._replace(passes=4, sweeps=0),
    "thorough": _EFFORTS["thorough"]._replace(sweeps=0),
}
# With more columns blocks are divided into clusters as well, if tuples hardly collapse.
_FEW_COLUMNS = 10
_FEW_ROWS_PER_TUPLE = 4
# A cluster looks for its rows one by one: with more of them that takes too long.
_MOST_ROWS_OF_CLUSTERS = 256
_WIDE = {
    "light": _Effort(blocks=8, neighbours=1, passes=0, sample=3072),
    "strong": _Effort(blocks=8, neighbours=3, passes=1, sample=3072, sweeps=300),
    "thorough": _Effort(blocks=8, neighbours=5, passes=4, sample=8192, sweeps=2000),
    "max": _Effort(blocks=32, neighbours=10, passes=12, sample=8192, sweeps=15000),
}
# What `auto` takes while distinct tuples times the square of the columns are no more:
# cuts are scored for every pair of columns. A million of them costs about a fifth of a
# second at `light`, and about one at `strong`.
_LARGEST = {"thorough": 250_000, "strong": 8_000_000, "light": 32_000_000}
_LARGEST_WIDE = {"thorough": 4_000_000, "strong": 64_000_000, "light": 512_000_000}


class Searched(NamedTuple):
    """What the search found."""

    nodes: Nodes
    records: Codes
    """Class after class; a tuple may be there more than once, in pieces."""
    loss: float
    """Sum over rows of the weighted losses of their cells, by what the rows are worth.
    """


@dataclass(frozen=True, slots=True)
class BestSearch:
    """The search on one table; a job for the scheduler while it cuts down to blocks."""

    objective: Objective
    models: Models
    workspaces: list[SearchWorkspace]
    search: Search
    buffers: RecordBuffers

    @property
    def n_tuples(self) -> int:
        return len(self.buffers.array)

    @property
    def least_rows(self) -> int:
        return self.search.block_rows

    def cut_partition(
        self, work: SearchWorkspace, root: Nodes, ship_above: int
    ) -> Nodes:
        """Cut one queued partition down to blocks; its own node comes first."""
        n = int(root["stop"][0] - root["start"][0])
        nodes = raw_fields(2 * n, layout.NODE)
        nodes[0] = root[0]
        nodes["parent"][0] = -1
        queue = np.empty(2 * n, dtype=np.int32)
        settings = SearchSettings(self.search)
        n_nodes = cut_to_blocks(self.buffers, work, settings, nodes, queue, ship_above)
        return nodes[:n_nodes]

    def roughly(self) -> "BestSearch":
        """Return a search that cuts, and improves nothing."""
        plain = self.search._replace(
            relaxes=False, rolls_out=False, width=0, clusters=False
        )
        return replace(self, search=plain)

    def run(self, roots: Nodes, report: Report) -> Searched:
        """Search below ``roots``; the records of ``buffers`` are reordered."""
        nodes = self.cut(roots, lambda done: report(done / 2))
        return self.solve(nodes, lambda done: report(0.5 + done / 2))

    def cut(self, roots: Nodes, report: Report) -> Nodes:
        """Return the tree down to its blocks."""
        top = self._cut_top(roots)
        return run_queue(self, top, self.workspaces, report)

    def _cut_top(self, roots: Nodes) -> Nodes:
        """Cut partitions that would keep other threads waiting, on all threads at once.

        Each thread looks for the cuts of some columns, in scratch of its own:

            columns   0  1  2  3  4  5        thread 0: 0 2 4, thread 1: 1 3 5
            found     a  b  c  d  e  f        the best of them is carried out
        """
        n_threads = len(self.workspaces)
        share = int(roots["rows"].sum()) // n_threads
        if n_threads < 2 or self.n_tuples < _TUPLES_PER_TOP_CUT:
            return roots
        others = [RecordBuffers(self.buffers.array) for _ in self.workspaces[1:]]
        sides = list(zip([self.buffers, *others], self.workspaces, strict=True))
        nodes, settings = roots.copy(), SearchSettings(self.search)
        while True:
            queued = np.flatnonzero(nodes["kind"] == layout.QUEUED)
            node = int(queued[np.argmax(nodes["rows"][queued])]) if queued.size else -1
            least = max(share, self.search.block_rows, 2 * self.models.min_rows)
            if node < 0 or nodes["rows"][node] <= least:
                break
            grown = join_fields([nodes, fields(2, layout.NODE)])
            column = self._choose_on_threads(sides, settings, grown, node)
            if column < 0:
                nodes["kind"][node] = layout.CLASS
                continue
            cut_chosen(*sides[0], grown, node, nodes.size, column)
            grown["kind"][-2:] = layout.QUEUED
            nodes = grown
        return nodes

    def _choose_on_threads(
        self,
        sides: list[tuple[RecordBuffers, SearchWorkspace]],
        settings: SearchSettings,
        nodes: Nodes,
        node: int,
    ) -> int:
        """Return the column whose best cut is best, or -1."""
        # Fine columns take longest: they are dealt out first.
        order = np.argsort(-self.objective.info["n_codes"], kind="stable").tolist()
        dealt = [order[i :: len(sides)] for i in range(len(sides))]

        def score(i: int) -> None:
            sides[i][1].set_wanted(dealt[i])
            score_columns(*sides[i], settings, nodes, node)
            sides[i][1].set_wanted(None)

        map_threads(score, range(len(sides)))
        found = self.workspaces[0].found_array
        for i, columns in enumerate(dealt):
            found[columns] = self.workspaces[i].found_array[columns]
        return int(choose_scored(self.workspaces[0]))

    def solve(self, nodes: Nodes, report: Report) -> Searched:
        """Solve every leaf of ``nodes`` as a block, and put its tree in its place."""
        leaves = np.flatnonzero(nodes["kind"] != layout.CUT)
        leaves = leaves[np.argsort(nodes["start"][leaves], kind="stable")]
        blocks = self.spans(nodes.take(leaves))
        parts = self.solve_spans(blocks, report)
        loss = self._loss(parts)
        return Searched(*self._join(nodes, leaves, blocks, parts), loss)

    def solve_spans(self, spans: NDArray[np.int64], report: Report) -> list[Part]:
        """Return the nodes and records of all blocks, some blocks at a time."""
        n_tasks = len(self.workspaces) * _TASKS_PER_THREAD
        tasks = chunks_of(spans, n_tasks)
        return run_tasks(self.solve_chunk, tasks, self.workspaces, report)

    def loss_below(self, roots: Nodes) -> float:
        """Return what is lost below ``roots``, on one thread."""
        nodes = self.cut(roots, lambda _: None)
        spans = self.spans(nodes[nodes["kind"] == layout.CLASS])
        return self._loss([self.solve_chunk(self.workspaces[0], spans)])

    def _loss(self, parts: list[Part]) -> float:
        def lost(workspace: SearchWorkspace, part: Part) -> NDArray[np.float64]:
            return lost_by_class(self, part[1], part[0], workspace)

        return _add_up(run_tasks(lost, parts, self.workspaces, lambda _: None))

    def spans(self, blocks: Nodes) -> NDArray[np.int64]:
        """Return start, stop, rows and room of each block, and if it is suppressed.

        Relaxing adds a record per class at most, and rarely that many; regrouping may
        add as many again. The room depends on nothing but the block.
        """
        n = (blocks["stop"] - blocks["start"]).astype(np.int64)
        n_classes = blocks["rows"] // self.models.min_rows
        room = n + np.minimum(n_classes, 4 * n + 64) + 2
        pool = np.minimum(blocks["rows"], 2 * room) + 8
        lost = blocks["kind"] == layout.SUPPRESSED
        fields_of = (blocks["start"], blocks["stop"], blocks["rows"], room, pool, lost)
        return np.stack(fields_of, axis=1)

    def solve_chunk(self, workspace: SearchWorkspace, spans: NDArray[np.int64]) -> Part:
        """Return the nodes and records of some blocks, and where each one's begin."""
        width, n_columns = self.buffers.array.shape[1], self.objective.info.size
        block = Block(int(spans[:, 3].max()), width, n_columns)
        regroups = self.search.width > 0
        most = np.minimum(spans[:, 2] // self.models.min_rows, spans[:, 4]) + 1
        pool = ClassSet(
            room=int(spans[:, 4].max()) if regroups else 1,
            n_classes=int(most.max()) if regroups else 1,
            width=width,
            objective=self.objective,
            anneals=regroups and self.search.sweeps > 0,
            lanes=build_lanes(self.objective) if self.search.clusters else None,
        )
        room = int((spans[:, 4] if regroups else spans[:, 3]).sum())
        solved = SolvedBlocks(spans, room, width)
        settings = SearchSettings(self.search)
        solve_blocks(self.buffers, workspace, settings, block, pool, solved)
        return solved.finish()

    def _join(
        self,
        nodes: Nodes,
        leaves: NDArray[np.intp],
        blocks: NDArray[np.int64],
        parts: list[Part],
    ) -> tuple[Nodes, Codes]:
        """Put the blocks' trees in the place of the leaves they were solved for."""
        firsts = [
            np.cumsum([0, *(len(part[i]) for part in parts)]).tolist() for i in (0, 1)
        ]
        first_block = np.cumsum([0, *(len(part[2]) - 1 for part in parts)]).tolist()
        begins = [x[2][:-1, 1] + at for x, at in zip(parts, firsts[1], strict=False)]
        ends = np.append(np.concatenate(begins), firsts[1][-1])
        joined = raw_fields(nodes.size + firsts[0][-1] - leaves.size, layout.NODE)
        joined[: nodes.size] = nodes
        # What the cuts above the blocks hold, in places of the finished records.
        top = joined[: nodes.size]
        top["start"] = ends[np.searchsorted(blocks[:, 0], nodes["start"])]
        top["stop"] = ends[np.searchsorted(blocks[:, 0], nodes["stop"])]
        records = np.empty((firsts[1][-1], parts[0][1].shape[1]), dtype=np.int32)

        def join(_: SearchWorkspace, i: int) -> None:
            records[firsts[1][i] : firsts[1][i + 1]] = parts[i][1]
            own = leaves[first_block[i] : first_block[i + 1]]
            place = nodes.size + firsts[0][i] - first_block[i]
            graft_blocks(parts[i][0], parts[i][2], own, joined, place, firsts[1][i])

        run_tasks(join, [*range(len(parts))], self.workspaces, lambda _: None)
        return joined, records


def loss_of(search: BestSearch, records: Codes, nodes: Nodes) -> float:
    """Return what all rows of the classes among ``nodes`` lose together."""
    n_parts = min(len(search.workspaces), 1 + nodes.size // _NODES_PER_TASK)
    parts = [nodes[slice(*span)] for span in spans(nodes.size, n_parts)]

    def lost(workspace: SearchWorkspace, part: Nodes) -> NDArray[np.float64]:
        return lost_by_class(search, records, part, workspace)

    return _add_up(run_tasks(lost, parts, search.workspaces, lambda _: None))


def _add_up(losses: list[NDArray[np.float64]]) -> float:
    """Return the sum, rounded once: in which order classes come depends on who cut."""
    return float(exact_sum(np.concatenate(losses)))


def lost_by_class(
    search: BestSearch,
    records: Codes,
    nodes: Nodes,
    workspace: SearchWorkspace | None = None,
) -> NDArray[np.float64]:
    """Return what all rows of each class among ``nodes`` lose."""
    classes = nodes.take(np.flatnonzero(nodes["kind"] == layout.CLASS))
    losses = losses_of(search, records, classes, workspace)
    return losses * worth_of_nodes(search, records, classes)


def losses_of(
    search: BestSearch,
    records: Codes,
    classes: Nodes,
    workspace: SearchWorkspace | None = None,
) -> NDArray[np.float64]:
    """Return what each row of each class loses."""
    workspace = workspace or search.workspaces[0]
    losses = np.empty(classes.size)
    starts, stops = classes["start"].astype(np.int64), classes["stop"].astype(np.int64)
    class_losses(RecordBuffers(records), workspace, starts, stops, losses)
    return losses


def worth_of_nodes(
    search: BestSearch, records: Codes, nodes: Nodes
) -> NDArray[np.int64]:
    """Return how often the loss of each node's rows counts."""
    worth = search.objective.worth
    if not worth.size:
        rows: NDArray[np.int64] = nodes["rows"]
        return rows
    each = records[:, -2].astype(np.int64) * worth[records[:, -1]]
    total = np.concatenate([[0], np.cumsum(each)])
    sums: NDArray[np.int64] = total[nodes["stop"]] - total[nodes["start"]]
    return sums


def chunks_of(spans: NDArray[np.int64], n_tasks: int) -> list[NDArray[np.int64]]:
    """Divide the blocks into tasks of about as many records each."""
    done = np.cumsum(spans[:, 1] - spans[:, 0])
    n_tasks = min(len(spans), n_tasks, 1 + done[-1] // _TUPLES_PER_TASK)
    edges = np.searchsorted(done, done[-1] * np.arange(1, n_tasks) / n_tasks)
    return [chunk for chunk in np.split(spans, np.unique(edges)) if len(chunk)]


def resolve_effort(policy: BestPolicy, table: EncodedTable, models: Models) -> str:
    """Return the effort that `auto` stands for, or what was asked for.

    Decided by figures that are known wherever the tuples are, and by no clock.
    """
    if policy.effort != "auto":
        return policy.effort
    work = table.n_tuples * len(table.columns) ** 2
    largest = _LARGEST_WIDE if is_wide(policy, table, models) else _LARGEST
    affordable = (effort for effort, most in largest.items() if work <= most)
    return next(affordable, "fast")


def is_wide(policy: BestPolicy, table: EncodedTable, models: Models) -> bool:
    """Return whether blocks of so many columns are divided into clusters as well."""
    if policy.disjoint or not models.is_monotone or len(table.columns) <= _FEW_COLUMNS:
        return False
    if models.min_rows > _MOST_ROWS_OF_CLUSTERS:
        return False
    return table.n_rows <= _FEW_ROWS_PER_TUPLE * table.n_tuples


def _steps(effort: str, models: Models, *, is_wide: bool) -> _Effort:
    if effort == "fast" and not models.is_monotone:
        return _FAST_IF_NOT_MONOTONE
    if is_wide:
        steps = _WIDE.get(effort, _EFFORTS[effort])
        if models.min_rows > _FEW_ROWS and effort != "max":
            return steps._replace(sweeps=0)
        return steps
    steps = _EFFORTS[effort]
    if models.min_rows > _FEW_ROWS or not models.is_monotone:
        steps = _UNANNEALED.get(effort, steps)
    if models.is_monotone:
        return steps
    return steps._replace(blocks=max(steps.blocks, _FAST_IF_NOT_MONOTONE.blocks))


def open_search(
    table: EncodedTable,
    spec: Spec,
    policy: BestPolicy,
    models: Models,
    records: Codes,
    n_threads: int,
) -> BestSearch:
    """Return the search as the spec asks for it, beta chosen if it is not given."""
    taken = resolve_effort(policy, table, models)
    wide = is_wide(policy, table, models)
    effort = _steps(taken, models, is_wide=wide)
    regroups = effort.neighbours > 0 and not policy.disjoint
    objective = build_objective(table, spec)
    workspaces = [SearchWorkspace(objective, models) for _ in range(n_threads)]
    search = Search(
        effort=taken,
        beta=_FIRST_BETA if policy.beta is None else float(policy.beta),
        block_rows=max(
            effort.blocks * spec.inline_below, _CLASSES_PER_BLOCK * models.min_rows
        ),
        # With regrouping, cuts are tried out where classes are cut anew.
        rolls_out=policy.disjoint and effort.passes > 1,
        relaxes=not policy.disjoint,
        width=effort.neighbours if regroups else 0,
        passes=effort.passes,
        sweeps=effort.sweeps,
        clusters=wide and regroups,
    )
    buffers = RecordBuffers(records)
    opened = BestSearch(objective, models, workspaces, search, buffers)
    if policy.beta is None:
        opened = _with_beta(opened, choose_beta(opened, effort.sample))
    for workspace in workspaces:
        workspace.funnel[:] = 0
    return opened


def _with_beta(search: BestSearch, beta: float) -> BestSearch:
    return replace(search, search=search.search._replace(beta=beta))


def choose_beta(search: BestSearch, n_tuples: int) -> float:
    """Return the beta that loses least on a sample of the tuples, greedily searched.

    The loss falls and rises again with beta, so that looking stops where it rises.
    """
    records = _sample(search.buffers.array, n_tuples)
    quick = search.search._replace(
        width=0,
        rolls_out=False,
        clusters=False,
        block_rows=max(1000, 100 * search.models.min_rows),
    )

    def lost(beta: float, thread: int = 0) -> float:
        trial = replace(
            search,
            workspaces=search.workspaces[thread : thread + 1],
            search=quick._replace(beta=beta),
            buffers=RecordBuffers(records.copy()),
        )
        return trial.loss_below(one_node(records))

    has_sets = (search.objective.info["kind"] == layout.VALUE_SET).any()
    start = _BETAS.index(_FIRST_BETA_OF_SETS if has_sets else _FIRST_BETA)
    # The first one and its neighbours are looked at anyway, or most often.
    n_threads = len(search.workspaces) if len(records) > _TUPLES_PER_TRIAL else 1
    first = (start, start + 1, start - 1)[:n_threads]
    losses = map_threads(lambda i: lost(_BETAS[first[i]], i), range(len(first)))
    known = {_BETAS[at]: loss for at, loss in zip(first, losses, strict=True)}
    return _lowest(
        lambda beta: known[beta] if beta in known else lost(beta), _BETAS, start
    )


def _lowest(
    lost: Callable[[float], float], values: tuple[float, ...], start: int
) -> float:
    """Walk downhill from ``values[start]``; a tie stays where it is."""
    best = lost(values[start])
    for step in (1, -1):
        at = start
        while 0 <= at + step < len(values) and (loss := lost(values[at + step])) < best:
            at, best = at + step, loss
        if at != start:
            return values[at]
    return values[start]


def one_node(records: Codes) -> Fields:
    """Return all records as one queued partition."""
    root = blank_nodes(1)
    root["kind"] = layout.QUEUED
    root["stop"] = records.shape[0]
    root["rows"] = records[:, -2].sum(dtype=np.int64)
    return root


def sample_size(policy: BestPolicy, table: EncodedTable, models: Models) -> int:
    """Return how many tuples beta is chosen by."""
    effort = resolve_effort(policy, table, models)
    return _steps(effort, models, is_wide=is_wide(policy, table, models)).sample


def sample_numbers(n_tuples: int, n: int) -> NDArray[np.int64]:
    """Return the numbers of ``n`` of the tuples, rising; the same for as many tuples.

    Block by block, as numbers may be more than fit into memory.
    """
    chosen = np.zeros(0, dtype=np.int64)
    for start in range(0, n_tuples, _TUPLES_PER_DRAW):
        stop = min(start + _TUPLES_PER_DRAW, n_tuples)
        chosen = np.concatenate([chosen, np.arange(start, stop)])
        if chosen.size > n:
            lots = _lots(chosen)
            chosen = chosen[np.sort(np.argpartition(lots, n)[:n])]
    return chosen


def _sample(records: Codes, n_tuples: int) -> Codes:
    """Return some of the records, the same ones for the same table."""
    n = records.shape[0]
    if n <= n_tuples:
        return records
    chosen = np.sort(np.argpartition(_lots(records[:, -1]), n_tuples)[:n_tuples])
    sample: Codes = np.ascontiguousarray(records[chosen])
    return sample


def _lots(numbers: NDArray[np.int64] | Codes) -> NDArray[np.uint64]:
    """Return a lot for each tuple by its number: neighbours have different ones.

    Different numbers draw different lots: each step can be undone.
    """
    key = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    key ^= key >> np.uint64(29)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(32)
    return key
