"""grow_parts(): the same tree where tuples are too many for one place.

    roots ─► top, cut by counts ─► parts, each solved in one place ─► summaries

The records never come here, only counts of the partitions at the top and a summary of
every part. See `grow` for the same in one place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.best_tree import policy_of, row_price
from core_mondrian.engine.consistency import grow_until_consistent
from core_mondrian.engine.constraints import (
    Constraints,
    check_feasible,
    check_measures,
    first_constraints,
)
from core_mondrian.engine.funnel_counts import Funnel
from core_mondrian.engine.funnel_tree import funnel_of
from core_mondrian.engine.grow import check_budget, prepare
from core_mondrian.engine.inputs import (
    build_columns,
    build_policy,
    with_scratch,
)
from core_mondrian.engine.layout import Counts, Models, Search
from core_mondrian.engine.missing_patterns import Repaired, repair_patterns
from core_mondrian.engine.parts import (
    CheckPart,
    Context,
    FindSuppressed,
    Offering,
    PartitionStore,
    PartRoots,
    PartSummary,
    SearchFurther,
    SearchRoughly,
    SearchWithout,
    SolveFunnel,
    SolveSearch,
    TakeOffers,
    bundle,
    bundle_units,
)
from core_mondrian.engine.roots import root_nodes
from core_mondrian.engine.scheduler import Nodes
from core_mondrian.engine.search.best import open_search, sample_numbers, sample_size
from core_mondrian.engine.search.suppression_budget import Offers, choose_offers
from core_mondrian.engine.top import BestCutter, FunnelCutter, cut_top
from core_mondrian.errors import SpecError
from core_mondrian.models.base import ClassCounts, PrivacyModel
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.encoded import EncodedTable


@dataclass(frozen=True, slots=True)
class GrownParts:
    """What was grown, part by part."""

    stage: str
    """What the parts are kept as in the store."""
    context: Context
    funnel: Funnel
    budget: int
    n_blanked: int
    """Cells blanked to repair small missing patterns, over all rows."""
    n_suppressed: int
    search: Search | None
    """Policy `best`: how it searched."""


def grow_parts(
    store: PartitionStore,
    table: EncodedTable,
    spec: Spec,
) -> GrownParts:
    """Cut the table as far as the models and the budget allow.

    ``table`` has no tuples, but their figures; the store has them.

    Raises:
        SpecError: the spec asks for what needs all tuples in one place.
        InfeasibleError: no release satisfies the models within the budget.
    """
    check_parts(spec)
    prepare(spec)
    constraints = first_constraints(table, spec)
    check_feasible(table, spec, constraints)
    grower = _TreeGrower(store, table, spec)
    attempt = grow_until_consistent(grower.grow_once, table, spec, constraints)
    check_measures(spec)
    grown = replace(attempt.grown, budget=spec.budget(table.n_rows))
    check_budget(grown.n_suppressed, grown.budget)
    return grown


def check_parts(spec: Spec, others: Sequence[str] = ()) -> None:
    """Refuse what takes all tuples in one place; ``others`` are asked for besides."""
    uses = {
        "equity": spec.equity is not None,
        "a population": spec.population is not None,
        "a weight": spec.weight is not None,
        "show of a policy of your own": getattr(type(spec.policy), "show", None),
    }
    if needs := [*(name for name, is_used in uses.items() if is_used), *others]:
        raise SpecError(
            f"{needs[0]} needs all distinct tuples in memory at once, and here they "
            "are too many",
            hint="allow more memory (--memory, --driver-tuples), or do without",
        )


class _Attempt(NamedTuple):
    """A tree in parts, judged by the models; see `consistency`."""

    store: PartitionStore
    grown: GrownParts
    summaries: list[PartSummary]

    @property
    def n_suppressed(self) -> int:
        return self.grown.n_suppressed

    def released(self, constraints: Constraints) -> Constraints:
        columns = zip(*(one.released for one in self.summaries), strict=True)
        whole = tuple(np.sum(counts, axis=0) for counts in columns)
        return constraints._replace(table=whole)

    def passes(self, constraints: Constraints) -> bool:
        check = CheckPart(self.grown.context, constraints)
        return all(self.store.run(check, self.grown.stage))

    def holds(self, models: Sequence[PrivacyModel]) -> bool:
        sizes = np.concatenate([one.sizes for one in self.summaries])
        none = np.zeros((sizes.size, 0), dtype=np.int64)
        classes = ClassCounts(sizes, none, persons=sizes)
        return all(model.holds(classes) for model in models)


class _Candidate(NamedTuple):
    """Parts that the policy `best` may choose, and what they cost."""

    stage: str
    summaries: list[PartSummary]
    price: float

    @property
    def n_suppressed(self) -> int:
        return sum(one.n_suppressed for one in self.summaries)

    @property
    def cost(self) -> float:
        loss = float(sum((one.loss for one in self.summaries), Fraction(0)))
        return loss + self.price * self.n_suppressed

    @property
    def funnel(self) -> Counts:
        counts: Counts = np.sum([one.funnel for one in self.summaries], axis=0)
        return counts


@dataclass(frozen=True)
class _TreeGrower:
    """Grows the same table under one set of constraints after the other."""

    store: PartitionStore
    table: EncodedTable
    spec: Spec

    def grow_once(self, constraints: Constraints, budget: int) -> _Attempt:
        """Grow the tree once, and let go of one that was grown before."""
        self.store.clear()
        repaired = None
        if self.spec.missing_rule == "pattern":
            repaired = repair_patterns(
                self.store, self.table, self.spec, constraints, budget
            )
        columns = build_columns(self.table, self.spec)
        policy = build_policy(self.table, self.spec)
        context = Context(self.table, self.spec, constraints, columns, policy)
        grower = _RootsGrower(
            self, context, _build_roots(self.table, repaired, budget), repaired
        )
        is_best = isinstance(self.spec.policy, BestPolicy)
        chosen, context, funnel = (
            grower.by_search(budget) if is_best else grower.by_funnel()
        )
        grown = GrownParts(
            stage=chosen.stage,
            context=context,
            funnel=funnel_of(self.table, [funnel]),
            budget=budget,
            n_blanked=0 if repaired is None else repaired.n_blanked,
            n_suppressed=chosen.n_suppressed,
            search=context.search,
        )
        return _Attempt(self.store, grown, chosen.summaries)

    @property
    def wants_sizes(self) -> bool:
        """Whether a model looks at all classes at once."""
        return any(model.enough_rows is not None for model in self.spec.models)


def _build_roots(table: EncodedTable, repaired: Repaired | None, budget: int) -> Nodes:
    if repaired is None:
        rows = np.array([table.n_rows])
        return root_nodes(rows, np.zeros(1, dtype=np.bool_), budget)
    return root_nodes(repaired.rows, repaired.suppressed, budget)


_Outcome = tuple[_Candidate, Context, Counts]


@dataclass(frozen=True)
class _RootsGrower:
    """Grows a tree below its roots."""

    run: _TreeGrower
    context: Context
    roots: Nodes
    repaired: Repaired | None

    @property
    def store(self) -> PartitionStore:
        return self.run.store

    def by_funnel(self) -> _Outcome:
        """Grow by the cut funnel."""
        solved, top = self._funnel(self.context)
        return solved, self.context, solved.funnel + top

    def _funnel(
        self, context: Context, price: float = 0.0
    ) -> tuple[_Candidate, Counts]:
        """Solve all parts by the funnel; return the counts of the top as well."""
        self.store.plant(self.repaired)
        models = context.models()
        none = with_scratch(np.zeros((0, self._width), dtype=np.int32))
        work = context.workspace(none)
        top = cut_top(self.store, FunnelCutter(self.store, work, models), self.roots)
        sizes = self.store.sizes(top.leaves())
        parts = bundle_units(
            top,
            sizes,
            self.store.task_tuples,
            shares_budget=context.policy.spends_inline,
        )
        self.store.hand_out(parts, "funnel tuples")
        task = SolveFunnel(context, parts, self.run.wants_sizes)
        solved = self.store.run(task, "funnel tuples", "funnel")
        self.store.drop("funnel tuples")
        return _Candidate("funnel", solved, price), work.funnel.copy()

    @property
    def _width(self) -> int:
        """Fields of a record."""
        table = self.context.table
        n_codes = len(table.columns) + len(table.sensitive)
        return n_codes + (0 if table.n_units is None else 1) + 2

    def by_search(self, budget: int) -> _Outcome:
        """Search by the policy `best`; what the paper's funnel finds is never better.

        See `best_tree`, which does the same.
        """
        spec, models = self.run.spec, self.context.models()
        self.store.plant(self.repaired)
        search = open_search(
            table=self.context.table,
            spec=spec,
            policy=policy_of(spec),
            models=models,
            records=self._sample(models),
            n_threads=1,
        )
        context = replace(
            self.context, objective=search.objective, search=search.search
        )
        price = row_price(search, spec)
        workspace = search.workspaces[0]
        workspace.funnel[:] = 0
        top = cut_top(self.store, BestCutter(self.store, search), self.roots)
        parts = bundle(top, self.store.sizes(top.leaves()), self.store.task_tuples)
        self.store.hand_out(parts, "tuples")
        searched, funnel = _Searcher(self, context, parts, price).run(budget)
        funnel = funnel + workspace.funnel
        self.store.drop("tuples")
        if not models.is_monotone:
            return searched, context, funnel
        other, counts = self._funnel(context, price)
        if other.cost >= searched.cost:
            self.store.drop(other.stage)
            return searched, context, funnel
        task = SearchFurther(context, parts, self.run.wants_sizes)
        further = _Candidate(
            "further", self.store.run(task, "funnel", "further"), price
        )
        self.store.drop(other.stage)
        if searched.cost <= further.cost:
            self.store.drop(further.stage)
            return searched, context, funnel
        self.store.drop(searched.stage)
        return further, context, counts + other.funnel + further.funnel

    def _sample(self, models: Models) -> NDArray[np.int32]:
        """Return the records that beta is chosen by."""
        policy = policy_of(self.run.spec)
        n = sample_size(policy, self.run.table, models)
        return self.store.sample(sample_numbers(self.run.table.n_tuples, n))


@dataclass(frozen=True)
class _Searcher:
    """Searches parts, and spends the budget; see `search_with_budget`."""

    grower: _RootsGrower
    context: Context
    parts: Sequence[PartRoots]
    price: float

    @property
    def _store(self) -> PartitionStore:
        return self.grower.store

    @property
    def _common(self) -> tuple[Context, Sequence[PartRoots], bool]:
        return self.context, self.parts, self.grower.run.wants_sizes

    def run(self, budget: int) -> tuple[_Candidate, Counts]:
        """Return what was found, and the counts of all that was tried."""
        roots = self.grower.roots
        n_gone = int(roots["rows"][roots["kind"] == layout.SUPPRESSED].sum())
        left = budget - n_gone
        if not left:
            solved = self._store.run(SolveSearch(*self._common), "tuples", "searched")
            searched = _Candidate("searched", solved, self.price)
            return searched, searched.funnel
        return self._spend(left, budget, n_gone)

    def _spend(self, left: int, budget: int, n_gone: int) -> tuple[_Candidate, Counts]:
        """Suppress records of finished classes, or of classes that are only cut."""
        thorough = self._offer("kept", left, is_rough=False)
        late = self._take(thorough, "kept", "late", left)
        rough = self._offer("rough", left, is_rough=True)
        chosen = self._take(rough, "rough", "chosen", left)
        counts = _sum_funnel(thorough) + _sum_funnel(rough)
        if chosen.n_suppressed == n_gone:
            self._store.drop("chosen")
            return late, counts
        suppressed = self._store.run(FindSuppressed(), "chosen")
        self._store.drop("chosen")
        task = SearchWithout(
            *self._common, price=self.price, budget=budget, suppressed=tuple(suppressed)
        )
        offered = self._store.run(task, "tuples", "without")
        lost = sum(one.summary.n_suppressed for one in offered)
        early = self._take(offered, "without", "early", budget - lost)
        counts = counts + _sum_funnel(offered)
        if late.cost <= early.cost:
            self._store.drop("early")
            return late, counts
        self._store.drop("late")
        return early, counts

    def _offer(self, stage: str, left: int, *, is_rough: bool) -> list[Offering]:
        task = SearchRoughly(
            *self._common, price=self.price, budget=left, is_rough=is_rough
        )
        return self._store.run(task, "tuples", stage)

    def _take(
        self, offered: Sequence[Offering], stage: str, target: str, left: int
    ) -> _Candidate:
        """Choose among the offers of all parts, and suppress what was chosen."""
        steps = choose_offers(Offers.joined([one.offers for one in offered]), left)
        edges = np.cumsum([one.offers.n_classes for one in offered])[:-1]
        own = tuple(np.split(steps, edges))
        task = TakeOffers(*self._common, price=self.price, steps=own)
        taken = self._store.run(task, stage, target)
        self._store.drop(stage)
        return _Candidate(target, taken, self.price)


def _sum_funnel(offered: Sequence[Offering]) -> Counts:
    counts: Counts = np.sum([one.summary.funnel for one in offered], axis=0)
    return counts
