"""grow(): from distinct tuples to the partition tree.

roots (missing patterns) ─► queue ─► funnel per partition ─► tree
▲            │ children ≥ inline_below
└────────────┘
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedTable
from core_mondrian.engine import layout
from core_mondrian.engine.consistency import grow_until_met
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
    Counts,
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
from core_mondrian.errors import InternalError
from core_mondrian.models.base import PrivacyModel
from core_mondrian.runtime.threads import started
from core_mondrian.runtime.threads import useful_threads as enough_for
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy, own_functions


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
) -> Grown:
    """Cut the table as far as the models and the budget allow.

    Raises:
        InfeasibleError: no release satisfies the models within the budget.
    """
    prepare(spec)
    constraints = first_constraints(table, spec)
    check_feasible(table, spec, constraints)
    n_threads = useful_threads(threads, table.n_tuples)
    grown = _grow_with_equity(_Run(table, spec, n_threads, report), constraints)
    check_measures(spec)
    check_budget(grown.tree.n_suppressed, grown.budget)
    return grown


def prepare(spec: Spec) -> None:
    """Compile what users have written themselves."""
    compile_measures(spec)
    if own_functions(spec.policy):
        from core_mondrian.engine.own_hooks import compile_hooks

        compile_hooks(spec.policy)


def check_budget(n_suppressed: int, budget: int) -> None:
    """Raise if more rows are suppressed than may be."""
    if n_suppressed > budget:
        raise InternalError(f"{n_suppressed} rows suppressed, budget {budget}")


def _grow_with_equity(run: "_Run", constraints: Constraints) -> Grown:
    """Grow, where the spec asks for it until no group loses much more than others."""
    groups = find_groups(run.table, run.spec)
    if groups is None:
        return run.grow(constraints)

    def attempt(worth: Codes | None, done: float, part: float) -> tuple[Grown, Floats]:
        weighed = replace(run.table, worth=worth)
        tell: Report = lambda share: run.report(done + part * share)  # noqa: E731
        grown = replace(run, table=weighed, report=tell).grow(constraints)
        if grown.losses is None:
            raise InternalError("groups that were not looked at")
        return grown, grown.losses

    grown, balance = balance_groups(groups, policy_of(run.spec).equity_bound, attempt)
    return replace(grown, balance=balance)


class _Attempt(NamedTuple):
    """A grown tree next to the models; see `consistency`."""

    table: EncodedTable
    spec: Spec
    grown: Grown

    @property
    def n_suppressed(self) -> int:
        return self.grown.tree.n_suppressed

    def released(self, constraints: Constraints) -> Constraints:
        return released_constraints(constraints, *self._classes())

    def passes(self, constraints: Constraints) -> bool:
        table, group = self._classes()
        parts = count_groups_in_parts(table, group, self.grown.tree.n_classes)
        return all(all_pass(table, self.spec, part, constraints) for part in parts)

    def holds(self, models: Sequence[PrivacyModel]) -> bool:
        table, group = self._classes()
        first = first_constraints(self.table, self.spec)
        constraints = released_constraints(first, table, group)
        counted = count_groups(table, group, self.grown.tree.n_classes)
        seen = [(m, seen_by(m, table, counted, constraints)) for m in models]
        return all(model.holds(classes) for model, classes in seen)

    def _classes(self) -> tuple[EncodedTable, NDArray[np.int64]]:
        """Return the tuples in the pieces they are released in, and each one's class.

        Those that are suppressed have class -1.
        """
        table, grown = self.table, self.grown
        if grown.pieces is not None:
            codes = table.codes[grown.pieces.tuple_of]
            table = replace(table, codes=codes, counts=grown.pieces.rows)
        leaves = grown.tree.leaf_of_tuple
        number = np.cumsum(grown.tree.kind == layout.CLASS) - 1
        number[grown.tree.kind != layout.CLASS] = -1
        return table, number[leaves].astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Run:
    """Grows the same table under one set of constraints after the other."""

    table: EncodedTable
    spec: Spec
    n_threads: int
    report: Report

    def grow(self, constraints: Constraints) -> Grown:
        """Grow until every model is met."""
        budget = self.spec.budget(self.table.n_rows)
        met = grow_until_met(self._attempt, self.table, self.spec, constraints)
        return replace(met.grown, budget=budget)

    def _attempt(self, constraints: Constraints, budget: int) -> _Attempt:
        describe = partial(build_columns, self.table, self.spec)
        with started(describe, enough_for(self.n_threads, self.table.n_tuples)) as made:
            if self.spec.missing_rule == "pattern":
                roots = roots_by_pattern(self.table, self.spec, constraints, budget)
            else:
                roots = one_root(self.table)
            columns = made()
        job = _Asked(self.table, self.spec, columns, constraints, budget)
        how = _search if isinstance(self.spec.policy, BestPolicy) else _grow
        grown = how(job, roots, self.n_threads, self.report)
        return _Attempt(self.table, self.spec, grown)


class _Asked(NamedTuple):
    """What one run of the engine is asked."""

    table: EncodedTable
    spec: Spec
    columns: Columns
    constraints: Constraints
    budget: int


def _grow(asked: _Asked, roots: Roots, n_threads: int, report: Report) -> Grown:
    """Grow the tree by the cut funnel."""
    table, spec, budget = asked.table, asked.spec, asked.budget
    tuples, planted = _plant(table, roots, budget)
    policy = build_policy(table, spec)
    models = build_models(table, spec, asked.constraints)
    strategy = strategy_of(spec.policy, table)
    job = _FunnelJob(tuples, asked.columns, models, policy, strategy)
    works = [job.workspace() for _ in range(n_threads)]
    nodes = run_queue(job, planted, works, report)
    tree = freeze(number_nodes(nodes, planted.size), tuples, _names(table))
    funnel = funnel_of(table, [work.funnel for work in works])
    return Grown(tree, funnel, budget, roots.n_blanked, tuples, asked.columns)


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
    search = open_search(
        table, spec, policy_of(spec), models, tuples.records, n_threads
    )
    beta, price = search.search.beta, row_price(search, spec)
    found = search_with_budget(search, planted, price, budget, report)
    funnel = funnel_of(table, [one.funnel for one in search.workspaces])
    if models.is_monotone:
        # Planted anew: the search has put the records in its own order.
        tuples, planted = _plant(table, roots, budget)
        job = job._replace(tuples=tuples)
        works = [job.workspace() for _ in range(n_threads)]
        nodes = run_queue(job, planted, works, lambda _: None)
        other = Searched(nodes, tuples.records, 0.0)
        found, first = at_least(search, found, other, price), found
        if found is not first:  # the funnel's tree, and what was searched below it
            below = [one.funnel for one in search.workspaces]
            counts = [*(work.funnel for work in works), *below, -funnel.counts]
            funnel = funnel_of(table, counts)
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
    return freeze(nodes, tuples, _names(table)), pieces, tuples


def row_price(search: BestSearch, spec: Spec) -> float:
    """Return what it costs to suppress a row."""
    return float(search.objective.info["weight"].sum()) * policy_of(spec).price


def policy_of(spec: Spec) -> BestPolicy:
    """Return the policy `best` of a spec that asks for it."""
    if not isinstance(spec.policy, BestPolicy):
        raise InternalError("the policy is not 'best'")
    return spec.policy


def _names(table: EncodedTable) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def funnel_of(table: EncodedTable, counts: list[NDArray[np.int64]]) -> Funnel:
    """Return what was counted by several, added up."""
    kinds = tuple(column.kind for column in table.columns)
    return Funnel(_names(table), kinds, np.sum(counts, axis=0))


def _plant(table: EncodedTable, roots: Roots, budget: int) -> tuple[Tuples, Fields]:
    """Lay the tuples out root by root, and return the roots."""
    # NumPy sorts so narrow numbers by counting them.
    narrow = np.int16 if roots.n_roots < 2**15 else np.int64
    order = np.argsort(roots.root.astype(narrow), kind="stable")
    tuples = build_tuples(roots.codes, table.counts, order)
    edges = np.searchsorted(roots.root[order], np.arange(roots.n_roots + 1))
    rows = np.add.reduceat(table.counts[order], edges[:-1])
    nodes = root_nodes(rows, roots.suppressed, budget)
    nodes["start"], nodes["stop"] = edges[:-1], edges[1:]
    return tuples, nodes


def root_nodes(rows: Counts, gone: NDArray[np.bool_], budget: int) -> Fields:
    """Return the roots, each with its share of the budget.

    Those that are ``gone``, suppressed whole, are paid for first.
    """
    nodes = fields(rows.size, layout.NODE)
    nodes["parent"] = nodes["first_child"] = nodes["column"] = nodes["at"] = -1
    nodes["low"] = nodes["high"] = -1
    nodes["kind"] = np.where(gone, layout.SUPPRESSED, layout.QUEUED)
    nodes["rows"] = rows
    n_gone = int(rows[gone].sum())
    # Rounded down: the roots can never be given more than there is.
    shares = rows * (budget - n_gone) // (int(rows.sum()) - n_gone)
    nodes["budget"] = np.where(gone, rows, shares)
    return nodes


def freeze(
    nodes: dict[str, NDArray[np.int64]], tuples: Tuples, columns: tuple[str, ...]
) -> PartitionTree:
    """Return numbered nodes as the read-only tree over the tuples."""
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
