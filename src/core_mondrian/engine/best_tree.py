"""The tree of the policy `best`: the search, unless the paper's funnel does better.

Both begin with the same roots, and share what the search works with:

    roots ─► search within the budget ──┐
    roots ─► funnel ─► search further ──┴─► the cheaper one ─► tree
"""

from core_mondrian.engine.funnel_tree import funnel_of, run_funnel
from core_mondrian.engine.grown import (
    Grown,
    SplitTuples,
    TreeInputs,
    number_split_tuples,
)
from core_mondrian.engine.inputs import build_models, with_scratch
from core_mondrian.engine.layout import Tuples
from core_mondrian.engine.missing_patterns import Roots
from core_mondrian.engine.roots import build_roots
from core_mondrian.engine.scheduler import number_nodes
from core_mondrian.engine.search.best import BestSearch, Searched, open_search
from core_mondrian.engine.search.equity import find_groups, losses_by_group
from core_mondrian.engine.search.suppression_budget import (
    keep_better,
    search_with_budget,
)
from core_mondrian.engine.tree import PartitionTree, freeze
from core_mondrian.errors import InternalError
from core_mondrian.spec.declaration import Spec
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.encoded import EncodedTable


def grow_by_search(inputs: TreeInputs) -> Grown:
    """Search by the policy `best`; what the paper's funnel finds is never better.

    Unless a part of a failing class may pass: then the funnel goes back and forth for
    longer than the search, and was never seen to find anything better.
    """
    table, spec, budget = inputs.table, inputs.spec, inputs.budget
    tuples, roots = build_roots(table, inputs.roots, budget)
    models = build_models(table, spec, inputs.constraints)
    search = open_search(
        table, spec, policy_of(spec), models, tuples.records, inputs.n_threads
    )
    price = row_price(search, spec)
    result = search_with_budget(search, roots, price, budget, inputs.report)
    counts = [one.funnel.copy() for one in search.workspaces]
    if models.is_monotone:
        del tuples  # the search has put the records in its own order
        other = run_funnel(inputs._replace(report=lambda _: None))
        by_funnel = Searched(other.nodes, other.tuples.records, 0.0)  # not yet measured
        better = keep_better(search, result, by_funnel, price)
        if better is not result:
            # The funnel's cuts, and those of the search below it alone.
            below = [
                one.funnel - n for one, n in zip(search.workspaces, counts, strict=True)
            ]
            result, counts = better, [*other.counts, *below]
    groups = find_groups(table, spec)
    losses = None if groups is None else losses_by_group(search, result, groups)
    settings = search.search
    del search  # as long as the table
    # What is suppressed where is decided for the table as a whole.
    result.nodes["budget"] = budget
    tree, split_tuples, tuples = _freeze_split(table, inputs.roots, result)
    return Grown(
        tree=tree,
        funnel=funnel_of(table, counts),
        budget=budget,
        n_blanked=inputs.roots.n_blanked,
        tuples=tuples,
        columns=inputs.columns,
        split_tuples=split_tuples,
        search=settings,
        losses=losses,
    )


def _freeze_split(
    table: EncodedTable, roots: Roots, result: Searched
) -> tuple[PartitionTree, SplitTuples | None, Tuples]:
    """Return what was found as the read-only tree, over fragments of tuples."""
    split_tuples = number_split_tuples(result.records)
    tuples = with_scratch(result.records)
    nodes = number_nodes(result.nodes, roots.n_roots)
    return freeze(nodes, tuples, table.names), split_tuples, tuples


def row_price(search: BestSearch, spec: Spec) -> float:
    """Return what it costs to suppress a row."""
    return float(search.objective.info["weight"].sum()) * policy_of(spec).price


def policy_of(spec: Spec) -> BestPolicy:
    """Return the policy `best` of a spec that asks for it."""
    if not isinstance(spec.policy, BestPolicy):
        raise InternalError("the policy is not 'best'")
    return spec.policy
