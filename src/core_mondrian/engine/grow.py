"""grow(): from distinct tuples to the partition tree.

roots (missing patterns) ─► queue ─► funnel per partition ─► tree
▲            │ children ≥ inline_below
└────────────┘
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedTable
from core_mondrian.engine import layout
from core_mondrian.engine.constraints import (
    Constraints,
    all_pass,
    check_feasible,
    check_measures,
    compile_measures,
    count_groups,
    count_groups_in_parts,
    first_constraints,
    released_constraints,
    seen_by,
)
from core_mondrian.engine.funnel_counts import Funnel
from core_mondrian.engine.inputs import (
    build_columns,
    build_models,
    build_policy,
    build_tuples,
    with_scratch,
)
from core_mondrian.engine.layout import (
    Codes,
    Columns,
    Fields,
    Floats,
    Models,
    Policy,
    Tuples,
    fields,
)
from core_mondrian.engine.missing_patterns import Roots, one_root, roots_by_pattern
from core_mondrian.engine.paper.growth import grow as grow_funnel
from core_mondrian.engine.paper.strategy import strategy_of
from core_mondrian.engine.paper.workspace import FunnelWorkspace, Strategy
from core_mondrian.engine.scheduler import (
    Nodes,
    Report,
    number_nodes,
    run_queue,
    useful_threads,
)
from core_mondrian.engine.search.best import BestSearch, Searched, open_search
from core_mondrian.engine.search.equity import (
    Balance,
    balance_groups,
    find_groups,
    losses_by_group,
)
from core_mondrian.engine.search.suppression_budget import at_least, search_with_budget
from core_mondrian.engine.split_tuples import SplitTuples, number_split_tuples
from core_mondrian.engine.tree import PartitionTree
from core_mondrian.errors import InternalError, SpecError
from core_mondrian.policies import BestPolicy, own_functions
from core_mondrian.spec import Spec
from core_mondrian.threads import started
from core_mondrian.threads import useful_threads as enough_for

if TYPE_CHECKING:  # loaded by runs that have one
    from core_mondrian.engine.executor import Context, PartitionExecutor
    from core_mondrian.engine.marginals import Projector

# How often the table is grown again because suppression changed what it is compared
# with; one time was enough wherever it was enough at all.
_MOST_RUNS = 4


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
    pieces: SplitTuples | None = None
    """How tuples were divided over classes; None: each is in one class."""
    beta: float | None = None
    """Policy `best`: the weight of impurity that was used."""
    losses: NDArray[np.float64] | None = None
    """Where groups should lose alike, what all rows of each group lose together."""
    balance: Balance | None = None
    """And what became of that."""


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

    def workspace(self) -> FunnelWorkspace:
        """Return what one thread works with."""
        return FunnelWorkspace(
            self.tuples, self.columns, self.models, self.policy, self.strategy
        )

    def grow(self, work: FunnelWorkspace, root: Nodes, ship_above: int) -> Nodes:
        """Grow what is below one queued partition; its own node comes first."""
        return grow_funnel(work, root, ship_above)


def grow(
    table: EncodedTable,
    spec: Spec,
    *,
    threads: int | None = None,
    report: Report = lambda _: None,
    executor: "PartitionExecutor | None" = None,
) -> Grown:
    """Cut the table as far as the models and the budget allow.

    ``executor`` does the work elsewhere, or with less memory; the tree is the same.

    Raises:
        InfeasibleError: no release satisfies the models within the budget.
    """
    if executor is not None:
        _check_executor(table, spec)
    compile_measures(spec)
    if own_functions(spec.policy):
        from core_mondrian.engine.own_hooks import compile_hooks

        compile_hooks(spec.policy)
    constraints = first_constraints(table, spec)
    check_feasible(table, spec, constraints)
    n_threads = useful_threads(threads, table.n_tuples)
    grown = _balance(_Run(table, spec, n_threads, report, executor), constraints)
    check_measures(spec)
    if grown.tree.n_suppressed > grown.budget:
        raise InternalError(
            f"{grown.tree.n_suppressed} rows suppressed, budget {grown.budget}"
        )
    return grown


def _check_executor(table: EncodedTable, spec: Spec) -> None:
    """Refuse what counts do not tell: people elsewhere, and what rows are worth."""
    if table.present is not None or spec.equity is not None:
        raise SpecError(
            "a population or equity needs all tuples in one place",
            hint="raise the number of tuples that may be there, or do without",
        )


def _balance(run: "_Run", constraints: Constraints) -> Grown:
    """Grow, where the spec asks for it until no group loses much more than others."""
    groups = find_groups(run.table, run.spec)
    if groups is None:
        return run.finish(constraints)

    def attempt(worth: Codes | None, done: float, part: float) -> tuple[Grown, Floats]:
        weighed = replace(run.table, worth=worth)
        tell: Report = lambda share: run.report(done + part * share)  # noqa: E731
        grown = replace(run, table=weighed, report=tell).finish(constraints)
        if grown.losses is None:
            raise InternalError("groups that were not looked at")
        return grown, grown.losses

    grown, balance = balance_groups(groups, _policy(run.spec).equity_bound, attempt)
    return replace(grown, balance=balance)


@dataclass(frozen=True, slots=True)
class _Run:
    """Grows the same table under one constraints after the other."""

    table: EncodedTable
    spec: Spec
    n_threads: int
    report: Report
    executor: "PartitionExecutor | None" = None

    def finish(self, constraints: Constraints) -> Grown:
        """Grow until every model is met."""
        grown = self.settle(constraints)
        return grown if self.holds(grown) else self.raise_rows(constraints)

    def settle(self, constraints: Constraints) -> Grown:
        """Grow until every class passes next to the *released* table.

        What is suppressed changes the table that classes are compared with, and is
        known only afterwards. So the released rows become the table, and the tree is
        grown again; if that does not settle, nothing is suppressed.
        """
        budget = self.spec.budget(self.table.n_rows)
        compares = any(type(model).measure is not None for model in self.spec.models)
        asked = constraints
        for _ in range(_MOST_RUNS):
            grown = self._grow(asked, budget)
            if not compares or (grown.tree.n_suppressed == 0 and asked is constraints):
                return grown
            table, group = self._classes(grown)
            asked = released_constraints(constraints, table, group)
            parts = count_groups_in_parts(table, group, grown.tree.n_classes)
            if all(all_pass(table, self.spec, part, asked) for part in parts):
                return grown
        return replace(self._grow(constraints, 0), budget=budget)

    def holds(self, grown: Grown) -> bool:
        """Tell whether the models are met that look at all classes at once."""
        wide = [model for model in self.spec.models if model.enough_rows is not None]
        if not wide:
            return True
        table, group = self._classes(grown)
        first = first_constraints(self.table, self.spec)
        constraints = released_constraints(first, table, group)
        counted = count_groups(table, group, grown.tree.n_classes)
        seen = [(m, seen_by(m, table, counted, constraints)) for m in wide]
        return all(model.holds(classes) for model, classes in seen)

    def raise_rows(self, constraints: Constraints) -> Grown:
        """Return the tree with the smallest classes, by bisection, that pass."""
        low = constraints.min_rows
        high = max(model.enough_rows or 1 for model in self.spec.models)
        most = self.table.n_rows
        if self.table.n_units is not None:
            most = np.unique(self.table.codes[:, -1]).size
        high = min(max(high, low), most)
        grown = self.settle(constraints._replace(min_rows=high))
        while high - low > 1:
            middle = (low + high) // 2
            tried = self.settle(constraints._replace(min_rows=middle))
            if self.holds(tried):
                grown, high = tried, middle
            else:
                low = middle
        return grown

    def _grow(self, constraints: Constraints, budget: int) -> Grown:
        describe = partial(build_columns, self.table, self.spec)
        with started(describe, enough_for(self.n_threads, self.table.n_tuples)) as made:
            if self.spec.missing_rule == "pattern":
                roots = roots_by_pattern(self.table, self.spec, constraints, budget)
            else:
                roots = one_root(self.table)
            columns = made()
        job = _Asked(
            *(self.table, self.spec, columns, constraints, budget, self.executor)
        )
        how = _search if isinstance(self.spec.policy, BestPolicy) else _grow
        return how(job, roots, self.n_threads, self.report)

    def _classes(self, grown: Grown) -> tuple[EncodedTable, NDArray[np.int64]]:
        """Return the tuples in the pieces they are released in, and each one's class.

        Those that are suppressed have class -1.
        """
        table = self.table
        if grown.pieces is not None:
            codes = table.codes[grown.pieces.tuple_of]
            table = replace(table, codes=codes, counts=grown.pieces.rows)
        leaves = grown.tree.leaf_of_tuple
        number = np.cumsum(grown.tree.kind == layout.CLASS) - 1
        number[grown.tree.kind != layout.CLASS] = -1
        return table, number[leaves].astype(np.int64)


class _Asked(NamedTuple):
    """What one run of the engine is asked."""

    table: EncodedTable
    spec: Spec
    columns: Columns
    constraints: Constraints
    budget: int
    executor: "PartitionExecutor | None"

    def context(self, columns: Columns, policy: Policy) -> "Context":
        """Return what an executor has to know."""
        from core_mondrian.engine.executor import Context, without_tuples

        table = without_tuples(self.table)
        return Context(table, self.spec, self.constraints, columns, policy)

    def projector(self, models: Models) -> "Projector":
        """Return what an executor has to count."""
        from core_mondrian.engine.marginals import projector_of

        return projector_of(self.table, has_rules=models.has_rules)


def _grow(asked: _Asked, roots: Roots, n_threads: int, report: Report) -> Grown:
    """Grow the tree by the cut funnel."""
    table, spec, budget = asked.table, asked.spec, asked.budget
    tuples, planted = _plant(table, roots, budget)
    policy = build_policy(table, spec)
    models = build_models(table, spec, asked.constraints)
    strategy = strategy_of(spec.policy, table)
    job = _FunnelJob(tuples, asked.columns, models, policy, strategy)
    works = [job.workspace() for _ in range(n_threads)]
    nodes = _run_funnel(asked, job, planted, works, report)
    tree = _freeze(number_nodes(nodes, planted.size), tuples, _names(table))
    funnel = _funnel(table, [work.funnel for work in works])
    return Grown(tree, funnel, budget, roots.n_blanked, tuples, asked.columns)


def _run_funnel(
    asked: _Asked,
    job: _FunnelJob,
    planted: Nodes,
    works: list[FunnelWorkspace],
    report: Report,
) -> Nodes:
    """Grow below the planted nodes, on threads or by an executor."""
    if asked.executor is None:
        return run_queue(job, planted, works, report)
    from core_mondrian.engine.executor import grow_with

    context = asked.context(job.columns, job.policy)
    projector = asked.projector(job.models)
    nodes, records, funnel = grow_with(
        asked.executor, context, projector, job.tuples.records, planted
    )
    job.tuples.records[:] = records
    works[0].funnel[:] = funnel
    return nodes


def _open_search(asked: _Asked, job: _FunnelJob, n_threads: int) -> BestSearch:
    """Open a search on the records of a job, which it reorders."""
    search = open_search(
        *(asked.table, asked.spec, _policy(asked.spec), job.models),
        *(job.tuples.records, n_threads),
    )
    if asked.executor is None:
        return search
    from core_mondrian.engine.search.executor import ExecutorSearch

    return ExecutorSearch(
        *(search.objective, search.models, search.workspaces, search.search),
        search.buffers,
        *(asked.executor, asked.context(job.columns, job.policy)),
        asked.projector(job.models),
    )


def _search(asked: _Asked, roots: Roots, n_threads: int, report: Report) -> Grown:
    """Search by the policy `best`; what the paper's funnel finds is never better.

    Unless a part of a failing class may pass: then the funnel goes back and forth for
    longer than the search, and was never seen to find anything better.
    """
    table, spec, budget = asked.table, asked.spec, asked.budget
    tuples, planted = _plant(table, roots, budget)
    policy = build_policy(table, spec)
    models = build_models(table, spec, asked.constraints)
    strategy = strategy_of(spec.policy, table)
    job = _FunnelJob(tuples, asked.columns, models, policy, strategy)
    search = _open_search(asked, job, n_threads)
    beta, price = search.search.beta, float(search.objective.info["weight"].sum())
    price *= _policy(spec).price
    found = search_with_budget(search, planted, price, budget, report)
    funnel = _funnel(table, [one.funnel for one in search.workspaces])
    if models.is_monotone:
        # Planted anew: the search has put the records in its own order.
        tuples, planted = _plant(table, roots, budget)
        job = job._replace(tuples=tuples)
        works = [job.workspace() for _ in range(n_threads)]
        nodes = _run_funnel(asked, job, planted, works, lambda _: None)
        other = Searched(nodes, tuples.records, 0.0)
        found, first = at_least(search, found, other, price), found
        if found is not first:  # the funnel's tree, and what was searched below it
            below = [one.funnel for one in search.workspaces]
            counts = [*(work.funnel for work in works), *below, -funnel.counts]
            funnel = _funnel(table, counts)
    groups = find_groups(table, spec)
    losses = None if groups is None else losses_by_group(search, found, groups)
    del search, job, tuples  # as long as the table, each of them
    # What is suppressed where is decided for the table as a whole.
    found.nodes["budget"] = budget
    tree, pieces, tuples = _freeze_split(table, roots, found)
    return Grown(
        *(tree, funnel, budget, roots.n_blanked, tuples, asked.columns),
        *(pieces, beta, losses),
    )


def _freeze_split(
    table: EncodedTable, roots: Roots, found: Searched
) -> tuple[PartitionTree, SplitTuples | None, Tuples]:
    """Return what was found as the read-only tree, over tuples in pieces."""
    pieces = number_split_tuples(found.records)
    tuples = with_scratch(found.records)
    nodes = number_nodes(found.nodes, roots.n_roots)
    return _freeze(nodes, tuples, _names(table)), pieces, tuples


def _policy(spec: Spec) -> BestPolicy:
    if not isinstance(spec.policy, BestPolicy):
        raise InternalError("the policy is not 'best'")
    return spec.policy


def _names(table: EncodedTable) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def _funnel(table: EncodedTable, counts: list[NDArray[np.int64]]) -> Funnel:
    kinds = tuple(column.kind for column in table.columns)
    return Funnel(_names(table), kinds, np.sum(counts, axis=0))


def _plant(table: EncodedTable, roots: Roots, budget: int) -> tuple[Tuples, Fields]:
    """Lay the tuples out root by root and give every root its share of the budget.

    Roots that are suppressed whole are paid for first.
    """
    # NumPy sorts so narrow numbers by counting them.
    narrow = np.int16 if roots.n_roots < 2**15 else np.int64
    order = np.argsort(roots.root.astype(narrow), kind="stable")
    tuples = build_tuples(roots.codes, table.counts, order)
    edges = np.searchsorted(roots.root[order], np.arange(roots.n_roots + 1))
    rows = np.add.reduceat(table.counts[order], edges[:-1])
    nodes = fields(roots.n_roots, layout.NODE)
    nodes["parent"] = nodes["first_child"] = nodes["column"] = nodes["at"] = -1
    nodes["low"] = nodes["high"] = -1
    gone = roots.suppressed
    nodes["kind"] = np.where(gone, layout.SUPPRESSED, layout.QUEUED)
    nodes["start"], nodes["stop"] = edges[:-1], edges[1:]
    nodes["rows"] = rows
    n_gone = int(rows[gone].sum())
    # Rounded down: the roots can never be given more than there is.
    shares = rows * (budget - n_gone) // (table.n_rows - n_gone)
    nodes["budget"] = np.where(gone, rows, shares)
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
