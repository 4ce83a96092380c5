"""Learned hierarchies: alike values side by side, the same in any row order."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Spec, SpecError, anonymize
from core_mondrian.hierarchies.learned import MOST_VALUES, Learned
from core_mondrian.hierarchies.tree import Hierarchy


def groups(tree: Hierarchy) -> set[frozenset[str]]:
    """What the nodes cover."""
    return {
        frozenset(tree.leaves[low : high + 1])
        for low, high in zip(tree.low.tolist(), tree.high.tolist(), strict=True)
    }


def test_values_with_the_same_company_are_joined() -> None:
    profile = np.array([[90, 10], [10, 90], [80, 20], [20, 80]])

    tree = Learned().build(["a", "b", "c", "d"], [profile])

    assert {frozenset("ac"), frozenset("bd")} <= groups(tree)
    assert "{a, c}" in tree.labels


def test_many_members_are_counted() -> None:
    tree = Learned().build([f"v{i:02d}" for i in range(40)])

    assert any(label.endswith("more") for label in tree.labels)
    assert len(set(tree.labels)) == len(tree.labels)


def test_members_that_look_like_sets_are_quoted() -> None:
    tree = Learned().build(["a, b", "null", "c", "d", "e"])

    assert '{"a, b", "null"}' in tree.labels


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=n, max_size=n
        )
    ),
    st.integers(2, 4),
)
def test_any_profile_gives_a_balanced_tree(rows: list[list[int]], most: int) -> None:
    texts = [f"{i:02d}" for i in range(len(rows))]

    tree = Learned(most).build(texts, [np.array(rows)])

    assert sorted(tree.leaves) == texts
    assert tree.n_children.max() <= most
    assert len(tree.levels) <= 2 + len(rows).bit_length()


def test_row_order_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "c": [f"v{i}" for i in rng.integers(0, 30, 600)],
            "n": rng.integers(0, 99, 600),
            "s": [f"s{i}" for i in rng.integers(0, 50, 600)],
        }
    )
    spec = Spec(("c", "n", "s"), (KAnonymity(5),), hierarchies={"c": Learned()})

    one = anonymize(table, spec)
    two = anonymize(table.take(pa.array(rng.permutation(600))), spec)

    assert one.hierarchies["c"].labels == two.hierarchies["c"].labels
    assert one.digest == two.digest
    assert one.manifest()["spec"]["hierarchies"]["c"]["kind"] == "learned"


def test_a_thousand_values_are_no_burden() -> None:
    rng = np.random.default_rng(5)
    profiles = [rng.integers(0, 50, (1000, 32)) for _ in range(4)]

    tree = Learned().build([f"{i:04d}" for i in range(1000)], profiles)

    assert tree.n_leaves == 1000


def test_too_many_values_are_refused() -> None:
    with pytest.raises(SpecError, match="at most"):
        Learned().build([str(i) for i in range(MOST_VALUES + 1)])


def test_columns_that_are_not_there_are_refused() -> None:
    table = pa.table({"c": ["a", "b"] * 5, "n": [1, 2] * 5})
    spec = Spec(
        ("c", "n"), (KAnonymity(2),), hierarchies={"c": Learned(columns=("x",))}
    )

    with pytest.raises(SpecError, match="cannot be learned from"):
        anonymize(table, spec)


def test_savings_are_those_of_the_same_classes() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 12, 400)
    table = pa.table({"c": [f"v{i:02d}" for i in codes], "n": codes % 4 * 5})

    release = anonymize(table, Spec(("c", "n"), (KAnonymity(45),)))
    (saving,) = release.savings()

    lost = release.measures().columns[0]
    assert saving.name == "c"
    assert saving.loss == lost.ncp
    assert saving.as_set == lost.ncp_set
    assert 0.0 < saving.learned < saving.loss
    treed = Spec(("c", "n"), (KAnonymity(45),), hierarchies={"c": Learned()})
    assert anonymize(table, treed).savings() == ()
