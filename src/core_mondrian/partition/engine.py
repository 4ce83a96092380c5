"""grow(): from distinct tuples to the partition tree.

roots (missing patterns) ─► queue ─► funnel per partition ─► tree
▲            │ children ≥ inline_below
└────────────┘
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encode.table import EncodedTable
from core_mondrian.errors import InfeasibleError, InternalError
from core_mondrian.kernels import layout
from core_mondrian.kernels.layout import Columns, Fields, Tuples, Work, fields
from core_mondrian.models.base import admits
from core_mondrian.partition.arrays import (
    build_columns,
    build_models,
    build_policy,
    build_tuples,
    build_work,
)
from core_mondrian.partition.funnel import Funnel
from core_mondrian.partition.missing import (
    Roots,
    one_root,
    roots_by_pattern,
    table_counts,
)
from core_mondrian.partition.scheduler import Job, run_queue, useful_threads
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


def grow(
    table: EncodedTable,
    spec: Spec,
    *,
    threads: int | None = None,
    report: Callable[[float], None] = lambda _: None,
) -> Grown:
    """Cut the table as far as the models and the budget allow.

    Raises:
        InfeasibleError: no release satisfies the models within the budget.
    """
    _check_feasible(table, spec)
    budget = spec.budget(table.n_rows)
    if spec.missing == "pattern":
        roots = roots_by_pattern(table, spec.models)
    else:
        roots = one_root(table)
    tuples, planted = _plant(table, roots, budget)
    policy = build_policy(table, spec)
    job = Job(tuples, build_columns(table, spec), build_models(table, spec), policy)
    n_threads = useful_threads(threads, table.n_tuples)
    works = [build_work(table, policy) for _ in range(n_threads)]
    nodes = run_queue(job, planted, works, report)
    tree = _freeze(nodes, tuples, tuple(column.name for column in table.columns))
    if tree.n_suppressed > budget:
        raise InternalError(f"{tree.n_suppressed} rows suppressed, budget {budget}")
    funnel = Funnel(
        tree.columns,
        tuple(column.kind for column in table.columns),
        np.sum([work.funnel for work in works], axis=0),
    )
    return Grown(tree, funnel, budget, roots.n_blanked, tuples, job.columns, works[0])


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
