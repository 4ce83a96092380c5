"""The engine grows the tree that the oracle grows, node by node."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from oracle import (
    Closeness,
    DistinctDiversity,
    Infeasible,
    Node,
    Oracle,
    Sample,
    n_rows,
    paper_policies,
    samples,
    small_patterns,
)

from core_mondrian import InfeasibleError, KAnonymity, OriginalPolicy, Spec, Suppression
from core_mondrian.datasets import census
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.funnel_counts import STAGES
from core_mondrian.engine.grow import grow
from core_mondrian.engine.grown import Grown
from core_mondrian.engine.layout import CUT
from core_mondrian.engine.tree import KINDS, PartitionTree
from core_mondrian.models import EntropyLDiversity, TCloseness
from core_mondrian.models.base import PrivacyModel
from core_mondrian.spec.policies import BestPolicy, PaperPolicy
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.frames import open_frame


def encoded(table: pa.Table, spec: Spec) -> EncodedTable:
    return collapse(encode(open_frame(table), spec)).table


def engine_node(tree: PartitionTree, node: int) -> dict[str, Any]:
    """A node of the engine's tree with all below it, as plain values."""
    first, n = int(tree.first_child[node]), int(tree.n_children[node])
    numbers = tree.order[tree.start[node] : tree.stop[node]]
    return {
        "kind": KINDS[int(tree.kind[node])],
        "tuples": sorted(numbers.tolist()),
        **{
            name: int(getattr(tree, name)[node])
            for name in ("rows", "column", "cut_code", "low", "high", "budget", "spent")
        },
        "children": [engine_node(tree, child) for child in range(first, first + n)],
    }


def oracle_node(node: Node) -> dict[str, Any]:
    """The same of the oracle's tree."""
    return {
        "kind": node.kind,
        "tuples": sorted(row.number for row in node.part),
        "rows": n_rows(node.part),
        "column": node.column,
        "cut_code": node.at,
        "low": node.low,
        "high": node.high,
        "budget": node.budget,
        "spent": node.spent,
        "children": [oracle_node(child) for child in node.children],
    }


def check_same_tree(table: EncodedTable, spec: Spec) -> Grown | None:
    """Grow both trees and compare them; None: both refuse."""
    oracle = Oracle(table, spec)
    try:
        wanted = oracle.grow()
    except Infeasible:
        with pytest.raises(InfeasibleError):
            grow(table, spec, threads=1)
        return None

    grown = grow(table, spec, threads=1)

    tree = grown.tree
    roots = [i for i in range(tree.n_nodes) if tree.parent[i] < 0]
    found = [engine_node(tree, root) for root in roots]
    assert found == [oracle_node(node) for node in wanted]
    counted = {
        (stage, column): int(grown.funnel.counts[i, column])
        for i, stage in enumerate(STAGES)
        for column in range(len(table.columns))
    }
    assert {key: n for key, n in counted.items() if n} == +oracle.funnel
    assert grown.n_blanked == oracle.n_blanked
    assert tree.n_suppressed <= grown.budget
    return grown


def spec_for(
    sample: Sample, models: tuple[PrivacyModel, ...], **more: Any
) -> tuple[EncodedTable, Spec]:
    spec = Spec(sample.names, models, hierarchies=sample.hierarchies, **more)
    return encoded(sample.arrow(sensitive=bool(spec.sensitive)), spec), spec


def budgets(n: int) -> st.SearchStrategy[Suppression]:
    return st.one_of(
        st.just(Suppression()),
        st.integers(0, max(n // 5, 1)).map(lambda rows: Suppression(rows=rows)),
        st.integers(0, n).map(lambda rows: Suppression(rows=rows)),
    )


MISSING = st.sampled_from(["pattern", "value"])
INLINE = st.sampled_from([0, 1, 5, 10, 20, 30, 100])


def draw_k(data: st.DataObject, sample: Sample) -> KAnonymity:
    small = st.integers(2, max(2, sample.n_rows // 6))
    return KAnonymity(data.draw(small | st.integers(2, max(2, sample.n_rows))))


@given(samples(), st.data())
def test_paper_policy_grows_the_oracles_tree(
    sample: Sample, data: st.DataObject
) -> None:
    missing = data.draw(MISSING)
    table, spec = spec_for(
        sample,
        (draw_k(data, sample),),
        policy=data.draw(paper_policies(sample.names)),
        suppress=data.draw(budgets(sample.n_rows)),
        inline_below=data.draw(INLINE),
        missing=missing,
        small_patterns=data.draw(small_patterns(missing)),
        exclude=data.draw(st.sampled_from([(), sample.names[:1]])),
    )

    check_same_tree(table, spec)


@given(samples(), st.data(), st.sampled_from(["fair", "as_published"]), MISSING)
def test_original_policy_grows_the_oracles_tree(
    sample: Sample, data: st.DataObject, variant: Any, missing: Any
) -> None:
    how = data.draw(small_patterns(missing))
    table, spec = spec_for(
        sample,
        (draw_k(data, sample),),
        policy=OriginalPolicy(variant),
        suppress=data.draw(budgets(sample.n_rows)) if how == "suppress" else None,
        inline_below=data.draw(INLINE),
        missing=missing,
        small_patterns=how,
    )

    check_same_tree(table, spec)


@given(samples(), st.data())
def test_diverse_classes_grow_the_oracles_tree(
    sample: Sample, data: st.DataObject
) -> None:
    missing = data.draw(MISSING)
    how = data.draw(small_patterns(missing))
    table, spec = spec_for(
        sample,
        (KAnonymity(data.draw(st.integers(2, 4))), DistinctDiversity(2)),
        policy=data.draw(paper_policies() | st.sampled_from([OriginalPolicy()])),
        suppress=data.draw(budgets(sample.n_rows)) if how == "suppress" else None,
        inline_below=data.draw(INLINE),
        missing=missing,
        small_patterns=how,
    )

    check_same_tree(table, spec)


@given(samples(), st.data())
def test_close_classes_grow_the_oracles_tree(
    sample: Sample, data: st.DataObject
) -> None:
    missing = data.draw(MISSING)
    table, spec = spec_for(
        sample,
        (KAnonymity(2), Closeness(data.draw(st.sampled_from([0.1, 0.2, 0.3, 0.5])))),
        policy=data.draw(st.just(PaperPolicy()) | paper_policies()),
        suppress=data.draw(budgets(sample.n_rows)),
        inline_below=data.draw(st.sampled_from([0, 10, 30, 100])),
        missing=missing,
        small_patterns=data.draw(small_patterns(missing)),
    )

    check_same_tree(table, spec)


BACKTRACKING = [
    pytest.param(
        {"a": [1, 2, 2, 0, 3, 3, 4, 3], "s": list("xyyyxxxy")},
        *("last-resort", 0, 0.2),
        (1, 0, 2),
        id="another cut of the same column",
    ),
    pytest.param(
        {
            "a": [2, 3, 3, 2, 3, 1, 3, 0],
            "b": [3, 2, 1, 1, 0, 2, 2, 2],
            "s": list("xyxxyxxx"),
        },
        *("as-written", 2, 0.2),
        (1, 1, 2),
        id="a cut that spends the budget",
    ),
    pytest.param(
        {
            "a": [1, 1, 1, 1, 1, 1, 0, 4],
            "b": [1, 2, 0, 3, 1, 4, 0, 2],
            "s": list("xxxxyxxx"),
        },
        *("last-resort", 1, 0.1),
        (1, 0, 1),
        id="no cut at all is left",
    ),
]


@pytest.mark.parametrize(
    ("columns", "spend", "budget", "t", "wanted"),
    BACKTRACKING,
)
def test_a_cut_whose_parts_overrun_the_budget_is_abandoned(
    columns: dict[str, list[Any]],
    spend: Any,
    budget: int,
    t: float,
    wanted: tuple[int, int, int],
) -> None:
    names = tuple(name for name in columns if name != "s")
    spec = Spec(
        names,
        (KAnonymity(2), Closeness(t)),
        policy=PaperPolicy(spend=spend),
        suppress=Suppression(rows=budget),
    )

    grown = check_same_tree(encoded(pa.table(columns), spec), spec)

    assert grown is not None
    n_abandoned = int(grown.funnel.counts[STAGES.index("abandoned")].sum())
    assert (n_abandoned, grown.tree.n_suppressed, grown.tree.n_classes) == wanted


def test_partitions_of_one_tuple_may_all_be_queued() -> None:
    table = pa.table({"a": [1, 2, 3] * 50})
    spec = Spec(("a",), (KAnonymity(2),), policy=PaperPolicy(), inline_below=0)

    grown = check_same_tree(encoded(table, spec), spec)

    assert grown is not None
    assert grown.tree.n_classes == 3


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_a_partition_closed_after_backtracking_leaves_no_trace(threads: int) -> None:
    dice = random.Random(0)  # noqa: S311
    n = dice.randint(30, 60)
    columns: dict[str, list[Any]] = {
        name: [dice.randint(0, 9) for _ in range(n)] for name in "ab"
    }
    columns["s"] = [dice.choice("xxy") for _ in range(n)]
    spec = Spec(
        ("a", "b"),
        (KAnonymity(2), Closeness(0.1)),
        policy=PaperPolicy(),
        suppress=Suppression(rows=0),
        inline_below=16,
    )
    table = encoded(pa.table(columns), spec)

    grown = grow(table, spec, threads=threads)

    ends = grown.tree.kind != CUT
    assert grown.funnel.counts[STAGES.index("abandoned")].sum() > 0
    assert (grown.tree.first_child[ends] == -1).all()
    assert (grown.tree.column[ends] == -1).all()
    assert grown.tree.digest == grow(table, spec, threads=1).tree.digest


def test_far_outlier_makes_more_bins_than_an_integer_holds() -> None:
    table = pa.table({"a": [*[float(i) for i in range(12)], 1e25]})
    spec = Spec(
        ("a",),
        (KAnonymity(3),),
        policy=PaperPolicy(cut_points=("bin_edges",)),
        suppress=Suppression(rows=3),
        inline_below=0,
    )

    check_same_tree(encoded(table, spec), spec)


MODELS = st.sampled_from(
    [
        (KAnonymity(2),),
        (KAnonymity(3), DistinctDiversity(2)),
        (KAnonymity(2), Closeness(0.2)),
        (KAnonymity(2), Closeness(0.4)),
    ]
)


@given(samples(), st.data())
def test_the_funnel_narrows_and_ends_in_the_cuts_of_the_tree(
    sample: Sample, data: st.DataObject
) -> None:
    others = [OriginalPolicy(), OriginalPolicy("as_published")]
    # Its other releases are no tree of cuts: rows of a tuple are in several classes.
    others += [BestPolicy(disjoint=True), BestPolicy("strong", disjoint=True)]
    policy = data.draw(paper_policies() | st.sampled_from(others))
    may_suppress = isinstance(policy, PaperPolicy)
    table, spec = spec_for(
        sample,
        data.draw(MODELS),
        policy=policy,
        suppress=data.draw(budgets(sample.n_rows)) if may_suppress else None,
        inline_below=data.draw(INLINE),
        missing=data.draw(MISSING),
    )
    try:
        grown = grow(table, spec)
    except InfeasibleError:
        reject()

    stages = grown.funnel.counts[: STAGES.index("accepted") + 1]
    accepted, abandoned = grown.funnel.counts[-2:]
    cuts = grown.tree.column[grown.tree.kind == CUT]
    assert (stages[:-1] >= stages[1:]).all()
    assert (accepted - abandoned).tolist() == np.bincount(
        cuts, minlength=len(table.columns)
    ).tolist()
    assert set(grown.funnel.to_json()["kinds"]) <= {"number", "category"}


@pytest.mark.parametrize(
    "model",
    [EntropyLDiversity(3, "occupation"), TCloseness(0.3, "income")],
    ids=lambda model: model.title,
)
def test_suppression_does_not_rise_with_the_cutoff_where_cuts_are_undone(
    model: PrivacyModel,
) -> None:
    people = census(3_000)
    found = []
    for inline_below in (50, 200, 1000, 5000):
        spec = Spec(
            ("age", "sex", "race", "education", "workclass"),
            (KAnonymity(5), model),
            policy=PaperPolicy(),
            suppress=Suppression(share=Fraction(2, 100)),
            inline_below=inline_below,
        )
        found.append(grow(encoded(people, spec), spec))

    suppressed = [grown.tree.n_suppressed for grown in found]
    assert suppressed == sorted(suppressed, reverse=True)
    assert suppressed[0] > suppressed[-1] == 0
    assert found[-1].funnel.counts[STAGES.index("abandoned")].sum() > 0


def test_model_of_a_user_needs_nothing_from_this_package() -> None:
    columns = {"a": [1, 1, 2, 2, 3, 3, 4, 4], "s": list("xxxyxyyy")}
    spec = Spec(("a",), (DistinctDiversity(2),), policy=PaperPolicy())

    grown = grow(encoded(pa.table(columns), spec), spec)

    leaf = grown.tree.leaf_of_tuple
    assert isinstance(spec.models[0], PrivacyModel)
    assert grown.tree.n_classes == 2
    assert len(set(leaf.tolist())) == 2
