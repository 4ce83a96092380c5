"""grow(): from distinct tuples to the partition tree.

One tree is grown and judged; where it does not meet the models, it is grown again:

    grow                          compile what users wrote, refuse what cannot be met
    └ _grow_with_equity           again with other weights of the rows
      └ grow_until_consistent     again with other constraints
        └ _TreeGrower.grow_once   roots by missing pattern (§3.2), then one tree:
          ├ grow_by_funnel        by the paper's cuts (§3.3), on a queue (§3.5)
          └ grow_by_search        by policy `best`
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.best_tree import grow_by_search, policy_of
from core_mondrian.engine.consistency import grow_until_consistent
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
from core_mondrian.engine.funnel_tree import grow_by_funnel
from core_mondrian.engine.grown import Grown, TreeInputs
from core_mondrian.engine.inputs import build_columns
from core_mondrian.engine.layout import Codes, Floats
from core_mondrian.engine.missing_patterns import one_root, roots_by_pattern
from core_mondrian.engine.scheduler import Report, queue_threads
from core_mondrian.engine.search.equity import Groups, balance_groups, find_groups
from core_mondrian.errors import InternalError
from core_mondrian.models.base import PrivacyModel
from core_mondrian.runtime.threads import started, useful_threads
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy, own_functions
from core_mondrian.tables.encoded import EncodedTable


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
    n_threads = queue_threads(threads, table.n_tuples)

    def grow_table(weighed: EncodedTable, report: Report) -> Grown:
        grower = _TreeGrower(weighed, spec, n_threads, report)
        attempt = grow_until_consistent(grower.grow_once, weighed, spec, constraints)
        return attempt.grown

    groups = find_groups(table, spec)
    if groups is None:
        grown = grow_table(table, report)
    else:
        grown = _grow_with_equity(grow_table, groups, table, spec, report)
    grown = replace(grown, budget=spec.budget(table.n_rows))
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


def _grow_with_equity(
    grow_table: Callable[[EncodedTable, Report], Grown],
    groups: Groups,
    table: EncodedTable,
    spec: Spec,
    report: Report,
) -> Grown:
    """Grow again with other weights until no group loses much more than others."""

    def attempt(worth: Codes | None, done: float, part: float) -> tuple[Grown, Floats]:
        grown = grow_table(
            replace(table, worth=worth), lambda share: report(done + part * share)
        )
        if grown.losses is None:
            raise InternalError("groups that were not looked at")
        return grown, grown.losses

    grown, balance = balance_groups(groups, policy_of(spec).equity_bound, attempt)
    return replace(grown, balance=balance)


@dataclass(frozen=True, slots=True)
class _TreeGrower:
    """Grows the same table under one set of constraints after the other."""

    table: EncodedTable
    spec: Spec
    n_threads: int
    report: Report

    def grow_once(self, constraints: Constraints, budget: int) -> "_Attempt":
        """Grow one tree from its roots."""
        table, spec = self.table, self.spec
        describe = partial(build_columns, table, spec)
        n_threads = useful_threads(self.n_threads, table.n_tuples)
        with started(describe, n_threads) as described:
            if spec.missing_rule == "pattern":
                roots = roots_by_pattern(table, spec, constraints, budget)
            else:
                roots = one_root(table)
            columns = described()
        inputs = TreeInputs(
            table=table,
            spec=spec,
            columns=columns,
            constraints=constraints,
            roots=roots,
            budget=budget,
            n_threads=self.n_threads,
            report=self.report,
        )
        is_best = isinstance(spec.policy, BestPolicy)
        grown = grow_by_search(inputs) if is_best else grow_by_funnel(inputs)
        return _Attempt(table, spec, grown)


class _Attempt(NamedTuple):
    """A grown tree, judged by the models; see `consistency`."""

    table: EncodedTable
    spec: Spec
    grown: Grown

    @property
    def n_suppressed(self) -> int:
        return self.grown.tree.n_suppressed

    def released(self, constraints: Constraints) -> Constraints:
        table, group = self._classes()
        return released_constraints(constraints, table, group)

    def passes(self, constraints: Constraints) -> bool:
        table, group = self._classes()
        parts = count_groups_in_parts(table, group, self.grown.tree.n_classes)
        return all(all_pass(table, self.spec, part, constraints) for part in parts)

    def holds(self, models: Sequence[PrivacyModel]) -> bool:
        table, group = self._classes()
        first = first_constraints(self.table, self.spec)
        constraints = released_constraints(first, table, group)
        counts = count_groups(table, group, self.grown.tree.n_classes)
        return all(
            model.holds(seen_by(model, table, counts, constraints)) for model in models
        )

    def _classes(self) -> tuple[EncodedTable, NDArray[np.int64]]:
        """Return the tuples, or their fragments, and the class of each.

        Those that are suppressed have class -1.
        """
        table, tree, fragments = self.table, self.grown.tree, self.grown.split_tuples
        if fragments is not None:
            table = fragments.of_table(table)
        number = np.cumsum(tree.kind == layout.CLASS) - 1
        number[tree.kind != layout.CLASS] = -1
        return table, number[tree.leaf_of_tuple].astype(np.int64)
