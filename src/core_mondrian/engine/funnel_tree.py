"""The tree that the paper's cut funnel grows: §3.3 on the queue of §3.5.

Partitions wait in a queue, until a thread is free to cut them:

    roots ─► queue ─► funnel per partition ─► nodes ─► tree
              ▲        │ children ≥ inline_below
              └────────┘
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.funnel_counts import Funnel
from core_mondrian.engine.grown import Grown, TreeInputs
from core_mondrian.engine.inputs import build_models, build_policy
from core_mondrian.engine.layout import Columns, Counts, Models, Policy, Tuples
from core_mondrian.engine.paper.growth import cut_partition
from core_mondrian.engine.paper.strategy import strategy_of
from core_mondrian.engine.paper.workspace import FunnelWorkspace, Strategy
from core_mondrian.engine.roots import build_roots
from core_mondrian.engine.scheduler import Nodes, number_nodes, run_queue
from core_mondrian.engine.tree import freeze
from core_mondrian.tables.encoded import EncodedTable


class _FunnelJob(NamedTuple):
    """Cuts a queued partition by the funnel, as far as it goes."""

    tuples: Tuples
    columns: Columns
    models: Models
    policy: Policy
    strategy: Strategy

    @property
    def n_tuples(self) -> int:
        return int(self.tuples.keys.size)

    @property
    def least_rows(self) -> int:
        return self.policy.inline_below

    def cut_partition(
        self, work: FunnelWorkspace, root: Nodes, ship_above: int
    ) -> Nodes:
        """Return what grows below one queued partition; its own node comes first."""
        return cut_partition(work, root, ship_above)


class FunnelNodes(NamedTuple):
    """What the funnel grew: nodes over the tuples, and the cuts that it looked at."""

    nodes: Nodes
    n_roots: int
    tuples: Tuples
    counts: list[Counts]
    """By thread."""


def grow_by_funnel(inputs: TreeInputs) -> Grown:
    """Grow the tree by the cut funnel."""
    grown = run_funnel(inputs)
    names = inputs.table.names
    return Grown(
        tree=freeze(number_nodes(grown.nodes, grown.n_roots), grown.tuples, names),
        funnel=funnel_of(inputs.table, grown.counts),
        budget=inputs.budget,
        n_blanked=inputs.roots.n_blanked,
        tuples=grown.tuples,
        columns=inputs.columns,
    )


def run_funnel(inputs: TreeInputs) -> FunnelNodes:
    """Cut every root by the funnel, on a queue and its threads."""
    table, spec = inputs.table, inputs.spec
    tuples, roots = build_roots(table, inputs.roots, inputs.budget)
    job = _FunnelJob(
        tuples=tuples,
        columns=inputs.columns,
        models=build_models(table, spec, inputs.constraints),
        policy=build_policy(table, spec),
        strategy=strategy_of(spec.policy, table),
    )
    works = [FunnelWorkspace(*job) for _ in range(inputs.n_threads)]
    nodes = run_queue(job, roots, works, inputs.report)
    return FunnelNodes(nodes, roots.size, tuples, [work.funnel for work in works])


def funnel_of(table: EncodedTable, counts: list[NDArray[np.int64]]) -> Funnel:
    """Return what was counted by several, added up."""
    kinds = tuple(column.kind for column in table.columns)
    return Funnel(table.names, kinds, np.sum(counts, axis=0))
