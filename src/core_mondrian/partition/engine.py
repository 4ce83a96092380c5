"""grow(): from distinct tuples to the partition tree.

roots (missing patterns) ─► queue ─► funnel per partition ─► tree
▲            │ children ≥ inline_below
└────────────┘
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import InfeasibleError, InternalError
from core_mondrian.kernels import layout
from core_mondrian.kernels.grow import grow_below
from core_mondrian.kernels.layout import (
    Columns,
    Fields,
    Models,
    Policy,
    Tuples,
    Work,
    fields,
    raw_fields,
)
from core_mondrian.models.base import admits
from core_mondrian.partition.arrays import (
    build_columns,
    build_models,
    build_policy,
    build_tuples,
    build_work,
)
from core_mondrian.partition.best import Searched, open_search
from core_mondrian.partition.funnel import Funnel
from core_mondrian.partition.missing import (
    Roots,
    one_root,
    roots_by_pattern,
    table_counts,
)
from core_mondrian.partition.pieces import Pieces, find_pieces
from core_mondrian.partition.scheduler import (
    Nodes,
    Report,
    number_nodes,
    run_queue,
    useful_threads,
)
from core_mondrian.partition.suppress import at_least, search_with_budget
from core_mondrian.policies import BestPolicy
from core_mondrian.spec import Spec
from core_mondrian.tree import PartitionTree


@dataclass(frozen=True, slots=True)
class Grown:
    """The tree, and the engine's arrays that recoding reads."""

    tree: PartitionTree
    funnel: Funnel
    budget: int
    n_blanked: int
    """Cells blanked to repair small missing patterns, over all rows."""
    tuples: Tuples
    columns: Columns
    work: Work
    pieces: Pieces | None = None
    """How tuples were divided over classes; None: each is in one class."""
    beta: float | None = None
    """Policy `best`: the weight of impurity that was used."""


@dataclass(frozen=True, slots=True)
class _FunnelJob:
    """Cuts a queued partition by the funnel, as far as it goes."""

    tuples: Tuples
    columns: Columns
    models: Models
    policy: Policy

    @property
    def n_tuples(self) -> int:
        return int(self.tuples.keys.size)

    @property
    def least_rows(self) -> int:
        return self.policy.inline_below

    def grow(self, work: Work, root: Nodes, ship_above: int) -> Nodes:
        """Grow what is below one queued partition; its own node comes first."""
        n = int(root.stop[0] - root.start[0])
        nodes = raw_fields(2 * n, layout.NODE)
        nodes[0] = root[0]
        nodes.parent[0] = -1
        n_nodes = grow_below(
            *(self.tuples, self.columns, self.models, self.policy, work),
            *(nodes, np.empty(2 * n, dtype=np.int32)),
            *(raw_fields(n, layout.FRAME), ship_above),
        )
        return nodes[:n_nodes]


def grow(
    table: EncodedTable,
    spec: Spec,
    *,
    threads: int | None = None,
    report: Report = lambda _: None,
) -> Grown:
    """Cut the table as far as the models and the budget allow.

    Raises:
        InfeasibleError: no release satisfies the models within the budget.
    """
    _check_feasible(table, spec)
    if spec.missing_rule == "pattern":
        roots = roots_by_pattern(table, spec.models)
    else:
        roots = one_root(table)
    n_threads = useful_threads(threads, table.n_tuples)
    how = _search if isinstance(spec.policy, BestPolicy) else _grow
    grown = how(table, spec, roots, n_threads, report)
    if grown.tree.n_suppressed > grown.budget:
        raise InternalError(
            f"{grown.tree.n_suppressed} rows suppressed, budget {grown.budget}"
        )
    return grown


def _grow(
    table: EncodedTable, spec: Spec, roots: Roots, n_threads: int, report: Report
) -> Grown:
    """Grow the tree by the cut funnel."""
    budget = spec.budget(table.n_rows)
    tuples, planted = _plant(table, roots, budget)
    policy = build_policy(table, spec)
    columns, models = build_columns(table, spec), build_models(table, spec)
    works = [build_work(table, policy) for _ in range(n_threads)]
    job = _FunnelJob(tuples, columns, models, policy)
    nodes = run_queue(job, planted, works, report)
    tree = _freeze(number_nodes(nodes, planted.size), tuples, _names(table))
    funnel = _funnel(table, [work.funnel for work in works])
    return Grown(tree, funnel, budget, roots.n_blanked, tuples, columns, works[0])


def _search(
    table: EncodedTable, spec: Spec, roots: Roots, n_threads: int, report: Report
) -> Grown:
    """Search by the policy `best`; what the paper's funnel finds is never better."""
    budget = spec.budget(table.n_rows)
    tuples, planted = _plant(table, roots, budget)
    policy = build_policy(table, spec)
    columns, models = build_columns(table, spec), build_models(table, spec)
    work = build_work(table, policy)
    records = tuples.records.copy()
    best = _policy(spec)
    search = open_search(table, spec, best, models, records, n_threads)
    price = best.price * float(search.aims.info.weight.sum())
    found = search_with_budget(search, planted.copy(), price, budget, report)
    funnel = _funnel(table, [finder.funnel for finder in search.finders])
    nodes = run_queue(
        _FunnelJob(tuples, columns, models, policy), planted, [work], lambda _: None
    )
    found = at_least(search, found, Searched(nodes, tuples.records, 0.0), price)
    # What is suppressed where is decided for the table as a whole.
    found.nodes.budget = budget
    pieces, numbers = find_pieces(found.records)
    codes, counts = roots.codes, table.counts
    if pieces is not None:
        codes, counts = codes[pieces.tuple_of], pieces.rows
    tuples = build_tuples(codes, counts, numbers)
    tree = _freeze(number_nodes(found.nodes, planted.size), tuples, _names(table))
    return Grown(
        *(tree, funnel, budget, roots.n_blanked, tuples, columns, work),
        *(pieces, search.search.beta),
    )


def _policy(spec: Spec) -> BestPolicy:
    if not isinstance(spec.policy, BestPolicy):
        raise InternalError("the policy is not 'best'")
    return spec.policy


def _names(table: EncodedTable) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def _funnel(table: EncodedTable, counts: list[NDArray[np.int64]]) -> Funnel:
    kinds = tuple(column.kind for column in table.columns)
    return Funnel(_names(table), kinds, np.sum(counts, axis=0))


def _check_feasible(table: EncodedTable, spec: Spec) -> None:
    """Raise unless the whole table could be one class."""
    if table.n_rows < spec.min_rows:
        raise InfeasibleError(
            f"{table.n_rows} rows, but one class needs {spec.min_rows}",
            hint="lower k, or bring more rows",
        )
    names = [column.name for column in table.sensitive]
    none = np.zeros(0, dtype=np.int64)
    for model in spec.models:
        whole = none
        if model.sensitive is not None:
            whole = table_counts(table, names.index(model.sensitive))
        if not admits(model, table.n_rows, whole, whole):
            raise InfeasibleError(
                f"{model.name}: not even the whole table as one class satisfies it",
                hint="ask for less",
            )


def _plant(table: EncodedTable, roots: Roots, budget: int) -> tuple[Tuples, Fields]:
    """Lay the tuples out root by root and give every root its share of the budget."""
    order = np.argsort(roots.root, kind="stable")
    tuples = build_tuples(roots.codes, table.counts, order)
    edges = np.searchsorted(roots.root[order], np.arange(roots.n_roots + 1))
    rows = np.add.reduceat(table.counts[order], edges[:-1])
    nodes = fields(roots.n_roots, layout.NODE)
    nodes.parent = nodes.first_child = nodes.column = nodes.at = -1
    nodes.low = nodes.high = -1
    nodes.kind = layout.QUEUED
    nodes.start, nodes.stop = edges[:-1], edges[1:]
    nodes.rows = rows
    # Rounded down: the roots can never be given more than there is.
    nodes.budget = rows * budget // table.n_rows
    return tuples, nodes


def _freeze(
    nodes: dict[str, NDArray[np.int64]], tuples: Tuples, columns: tuple[str, ...]
) -> PartitionTree:
    """Return the grown nodes as the read-only tree."""
    ends = np.flatnonzero(nodes["kind"] == layout.SUPPRESSED)
    lost = np.zeros(tuples.keys.size + 1, dtype=np.int64)
    lost[nodes["start"][ends] + 1] = nodes["rows"][ends]
    lost = np.cumsum(lost)
    return PartitionTree(
        **nodes,
        spent=lost[nodes["stop"]] - lost[nodes["start"]],
        order=tuples.records[:, -1].copy(),
        columns=columns,
    )
