"""The policy `best` on tables small enough to say what must come out."""

import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from best_oracle import (
    EFFORTS,
    NEAR,
    cells,
    classes_of,
    keys,
    released_loss,
    usual_efforts,
    with_ids,
)
from conftest import IS_PLAIN
from oracle import Closeness
from support.keys import KEY

from core_mondrian import (
    InfeasibleError,
    KAnonymity,
    PaperPolicy,
    Release,
    Spec,
    Suppression,
    anonymize,
)
from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census
from core_mondrian.engine.layout import CLASS
from core_mondrian.engine.search import best
from core_mondrian.engine.search.best import resolve_effort
from core_mondrian.errors import InternalError, SpecError
from core_mondrian.models import DistinctLDiversity
from core_mondrian.recoding.plan import Shares
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.frames import open_frame, row_keys

USUAL = usual_efforts(is_plain=IS_PLAIN)


def spec_of(names: Any, k: int, policy: BestPolicy, **more: Any) -> Spec:
    return Spec(tuple(names), (KAnonymity(k),), policy=policy, **more)


def sizes(release: Release[Any]) -> Counter[Any]:
    return Counter(keys(release.data, release.spec.quasi_identifiers))


# --- the smallest tables ------------------------------------------------------------


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize(
    ("cells_in", "k", "expected"),
    [
        pytest.param(["a"] * 5, 5, {"a": 5}, id="k is n, one value"),
        pytest.param([*"abcde"], 5, {"*": 5}, id="k is n"),
        pytest.param([*"aaabbb"], 3, {"a": 3, "b": 3}, id="n is 2k"),
        pytest.param([*"aaabbc"], 3, {"a": 3, "*": 3}, id="n is 2k, three values"),
        pytest.param([None] * 4, 2, {None: 4}, id="all missing"),
        pytest.param([None, None, "a", "a"], 2, {None: 2, "a": 2}, id="missing apart"),
        pytest.param([7] * 6, 2, {"7": 6}, id="a constant"),
        pytest.param([1, 1, 2, 2], 2, {"1": 2, "2": 2}, id="two ties"),
        pytest.param([1, 2, 9, 10], 2, {"[1, 2]": 2, "[9, 10]": 2}, id="a gap"),
        pytest.param([1, 1, 1, 2], 2, {"1": 2, "[1, 2]": 2}, id="divided ties"),
    ],
)
def test_the_only_sensible_classes_are_found(
    cells_in: list[Any], k: int, expected: dict[Any, int], effort: Any
) -> None:
    table = pa.table({"q": cells_in})

    release = anonymize(table, spec_of("q", k, BestPolicy(effort)))

    assert sizes(release) == {(shown,): n for shown, n in expected.items()}


@pytest.mark.parametrize("effort", EFFORTS)
def test_one_row_is_too_few(effort: Any) -> None:
    table = pa.table({"q": [1]})

    with pytest.raises(InfeasibleError):
        anonymize(table, spec_of("q", 2, BestPolicy(effort)))


FIVE_LETTERS = """
import pyarrow as pa
from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.spec.policies import BestPolicy

spec = Spec(("q",), (KAnonymity(2),), policy=BestPolicy(beta=1.0))
print(anonymize(pa.table({"q": [*"abcde"]}), spec).n_suppressed)
"""


def test_a_class_that_cannot_be_cut_is_left_alone() -> None:
    # A kernel's -1 was read as 64 bits of which it had written 32: a segmentation
    # fault, so this has a process of its own.
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", FIVE_LETTERS],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout == "0\n"


# --- tuples in pieces ---------------------------------------------------------------


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_frequent_value_fills_up_the_class_of_a_rare_one(effort: Any) -> None:
    table = with_ids(pa.table({"q": ["A"] * 100 + ["B"] * 2}))

    release = anonymize(table, spec_of("q", 5, BestPolicy(effort)), key=KEY)

    assert sizes(release) == {("A",): 97, ("*",): 5}
    assert release.measures().loss == pytest.approx(5 / 102)
    # The rows that are taken depend on the rest of their cells, not on their places.
    order = list(range(102))
    random.Random(1).shuffle(order)  # noqa: S311
    again = anonymize(table.take(order), release.spec, key=KEY)
    found = {key: sorted(ids) for key, ids in classes_of(again).items()}
    assert found == {key: sorted(ids) for key, ids in classes_of(release).items()}


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_disjoint_release_divides_no_value(effort: Any) -> None:
    table = pa.table({"q": ["A"] * 100 + ["B"] * 2})

    release = anonymize(table, spec_of("q", 5, BestPolicy(effort, disjoint=True)))

    assert sizes(release) == {("*",): 102}


@pytest.mark.parametrize("disjoint", [False, True], ids=["divided", "disjoint"])
@pytest.mark.parametrize("effort", USUAL)
def test_leaves_of_the_tree_are_the_released_classes(
    effort: Any, *, disjoint: bool
) -> None:
    names = CENSUS_QUASI_IDENTIFIERS
    table = census(80 if IS_PLAIN else 2000, seed=5)
    policy = BestPolicy(effort, disjoint=disjoint, beta=1.0)

    release = anonymize(table, spec_of(names, 3, policy, inline_below=20))

    tree = release.tree
    assert tree.rows[tree.kind == CLASS].sum() == table.num_rows
    assert sorted(tree.order.tolist()) == list(range(tree.order.size))
    leaves = tree.leaves[np.argsort(tree.start[tree.leaves])]
    assert tree.stop[leaves[-1]] == tree.order.size
    assert (tree.start[leaves][1:] == tree.stop[leaves][:-1]).all()
    children = tree.n_children.nonzero()[0]
    for node in children.tolist():
        first, n = int(tree.first_child[node]), int(tree.n_children[node])
        assert (tree.parent[first : first + n] == node).all()
        assert tree.rows[first : first + n].sum() == tree.rows[node]
        assert tree.start[first : first + n].min() == tree.start[node]
        assert tree.stop[first : first + n].max() == tree.stop[node]
    # Leaves that look alike are one class, so that classes are sums of leaves.
    assert release.verification.n_classes <= tree.n_classes
    assert sum(sizes(release).values()) == table.num_rows


def shares_of(tuple_of: list[int], rows: list[int]) -> Shares:
    n = len(rows)
    return Shares(
        np.array(tuple_of, dtype=np.int32),
        np.arange(n, dtype=np.int32),
        np.array(rows, dtype=np.int64),
        np.arange(n, dtype=np.int32),
        np.array(tuple_of, dtype=np.uint64),
    )


def test_rows_are_allocated_whatever_their_order() -> None:
    shares = shares_of([0, 0, 3, 3], [3, 1, 1, 1])
    tuples = np.array([0, 3, 0, 0, 3, 0], dtype=np.int32)
    keys = np.array([5, 0, 1, 3, 7, 2], dtype=np.uint64)
    order = np.array([3, 5, 1, 0, 4, 2])

    found = shares.allocate(tuples, keys, KEY)

    assert sorted(found[tuples == 0]) == [0, 0, 0, 1]
    assert sorted(found[tuples == 3]) == [2, 3]
    assert (
        shares.allocate(tuples[order], keys[order], KEY).tolist()
        == found[order].tolist()
    )


def test_rows_that_were_not_counted_are_not_allocated() -> None:
    shares = shares_of([0, 0], [2, 1])

    with pytest.raises(InternalError, match="counted"):
        shares.allocate(np.zeros(4, np.int32), np.zeros(4, np.uint64), KEY)


def test_equal_rows_are_allocated_too() -> None:
    shares = shares_of([0, 0], [2, 3])

    found = shares.allocate(np.zeros(5, np.int32), np.zeros(5, np.uint64), KEY)

    assert sorted(found.tolist()) == [0, 0, 1, 1, 1]


def frame_of(**columns: Any) -> nw.DataFrame[Any]:
    return open_frame(pa.table(columns))


def test_row_keys_are_equal_for_equal_cells_alone() -> None:
    frame = frame_of(
        a=[1, 1, 2, None, None, 1], b=["x", "x", "x", "x", "x", None], c=[0.0] * 6
    )

    found = row_keys(frame, ["a", "b", "c"], np.arange(6)).tolist()

    assert found[0] == found[1]
    assert found[3] == found[4]
    assert len(set(found)) == 4


def test_row_keys_follow_their_rows() -> None:
    frame = frame_of(a=[5, 3, 9, 3], b=["u", "v", None, "w"])
    rows = np.array([2, 0, 3, 1])

    found = row_keys(frame, ["a", "b"], rows)

    assert found.tolist() == row_keys(frame, ["a", "b"], np.arange(4))[rows].tolist()


def test_row_keys_read_through_dictionaries() -> None:
    text = pa.array(["q", "p", None, "p"])
    # The same cells under dictionaries in another order.
    coded = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 1]), pa.array(["q", "p"])
    )
    rows = np.arange(4)

    plain = row_keys(frame_of(a=text), ["a"], rows)

    assert row_keys(frame_of(a=coded), ["a"], rows).tolist() == plain.tolist()
    assert len(set(plain.tolist())) == 3


def test_row_keys_tell_lists_apart() -> None:
    lists = pa.array([[1], [2], None, [1], [1, 2]])

    found = row_keys(frame_of(l=lists), ["l"], np.arange(5)).tolist()

    assert found[0] == found[3]
    assert len(set(found)) == 4


def test_row_keys_without_columns_are_all_the_same() -> None:
    frame = frame_of(a=[1, 2, 3])

    assert row_keys(frame, [], np.arange(3)).tolist() == [0, 0, 0]
    assert row_keys(frame, ["a"], np.arange(0)).tolist() == []


@pytest.mark.parametrize("effort", EFFORTS)
def test_tuples_are_divided_without_other_columns_too(effort: Any) -> None:
    table = pa.table({"q": ["A"] * 9 + ["B"]})

    release = anonymize(table, spec_of("q", 4, BestPolicy(effort)))

    assert sizes(release) == {("A",): 6, ("*",): 4}


# --- the budget ---------------------------------------------------------------------

AGES = [age for age in range(20, 30) for _ in range(2)] + [90]


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("budget", [1, 21])
def test_an_outlier_is_suppressed_if_that_is_cheaper(budget: int, effort: Any) -> None:
    # Its class is at best 29 and 90, which lose 2 * 61/70; suppressed it costs 1.
    spec = spec_of(["age"], 2, BestPolicy(effort), suppress=Suppression(rows=budget))

    release = anonymize(with_ids(pa.table({"age": AGES})), spec)

    assert release.n_suppressed == 1
    assert 20 not in cells(release.data, "id")
    assert release.measures().loss == pytest.approx(1 / 21)


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize(
    ("budget", "price"),
    [pytest.param(0, 0.1, id="no budget"), pytest.param(21, 3.0, id="too dear")],
)
def test_an_outlier_stays_if_that_is_cheaper(
    budget: int, price: float, effort: Any
) -> None:
    # At a price of 3 even the three rows of its class, 29, 29 and 90, lose less.
    policy = BestPolicy(effort, price=price)
    spec = spec_of(["age"], 2, policy, suppress=Suppression(rows=budget))

    release = anonymize(pa.table({"age": AGES}), spec)

    assert release.n_suppressed == 0
    assert sum(sizes(release).values()) == 21


def test_a_suppressed_row_does_not_make_another_class_fail() -> None:
    table = pa.table({"q": [3, 2, 50, 1, 1, 1, 3], "s": [*"xxxxyyx"]})
    spec = Spec(
        ("q",),
        (KAnonymity(2), Closeness(0.3)),
        policy=BestPolicy(beta=0.0, price=0.1),
        suppress=Suppression(rows=1),
    )

    release = anonymize(table, spec)

    assert release.n_suppressed <= 1


@pytest.mark.parametrize("effort", USUAL)
def test_a_lower_price_suppresses_more(effort: Any) -> None:
    table = census(80 if IS_PLAIN else 600, seed=2)
    names = CENSUS_QUASI_IDENTIFIERS[:4]
    n_budget = 40
    found = []
    for price in (1000.0, 1.0, 0.5, 0.1, 0.01):
        policy = BestPolicy(effort, beta=1.0, price=price)
        spec = spec_of(names, 5, policy, suppress=Suppression(rows=n_budget))
        release = anonymize(table, spec)
        assert sum(sizes(release).values()) == table.num_rows - release.n_suppressed
        assert release.n_suppressed <= n_budget == release.budget
        found.append(release.n_suppressed)

    assert found[0] == 0
    assert found == sorted(found)
    assert found[-1] > 0


@pytest.mark.parametrize("effort", USUAL)
def test_a_budget_never_raises_the_loss(effort: Any) -> None:
    table = census(80 if IS_PLAIN else 600, seed=4)
    names = CENSUS_QUASI_IDENTIFIERS[:4]
    spec = spec_of(names, 8, BestPolicy(effort, beta=1.0))
    whole = anonymize(table, spec).measures().loss

    found = [
        anonymize(table, replace(spec, suppress=Suppression(rows=n))).measures().loss
        for n in (1, 5, 20)
    ]

    assert all(loss <= whole + NEAR for loss in found)


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5])
def test_a_tuple_of_several_rows_stays_within_the_budget(
    budget: int, effort: Any
) -> None:
    ages = [1] * 6 + [2] * 6 + [90] * 3
    policy = BestPolicy(effort, price=0.01)
    spec = spec_of(["age"], 5, policy, suppress=Suppression(rows=budget))

    release = anonymize(pa.table({"age": ages}), spec)

    assert release.n_suppressed <= budget
    assert sum(sizes(release).values()) == 15 - release.n_suppressed
    assert all(n >= 5 for n in sizes(release).values())


def test_suppressed_rows_are_leaves_of_the_tree() -> None:
    spec = spec_of(["age"], 2, BestPolicy(), suppress=Suppression(rows=1))

    release = anonymize(pa.table({"age": AGES}), spec)

    assert release.tree.n_suppressed == 1
    roots = release.tree.parent < 0
    assert release.tree.rows[roots].sum() == 21
    assert release.tree.spent[roots].sum() == 1


# --- classes that look alike --------------------------------------------------------


@pytest.mark.xfail(
    reason="a class of missing numbers and one that mixes them both show a blank: "
    "alike otherwise, they are one class as released, but two to the search"
)
def test_classes_that_look_alike_are_counted_as_one() -> None:
    table = pa.table(
        {
            "n": [None, 5, None, None, None, 5, None, 5, None, None],
            "m": [2, 2, 2, 1, 2, 1, 1, 1, 2, 2],
            "c": [*"ababbbbaab"],
        }
    )
    weights = {"n": 5.0, "m": 0.3, "c": 0.3}
    spec = spec_of("nmc", 4, BestPolicy("strong", beta=1.0), weights=weights)
    paper = replace(
        spec, policy=PaperPolicy(), missing="value", suppress=Suppression(rows=0)
    )

    found = anonymize(table, spec).measures().loss

    assert found <= anonymize(table, paper).measures().loss + NEAR


# --- weights ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3][: 1 if IS_PLAIN else 3])
@pytest.mark.parametrize("effort", USUAL[:2])
def test_a_heavier_column_loses_no_more(effort: Any, seed: int) -> None:
    names = CENSUS_QUASI_IDENTIFIERS
    table = with_ids(census(80 if IS_PLAIN else 1000, seed=seed))
    spec = spec_of(names, 5, BestPolicy(effort, beta=1.0))
    plain = {c.name: c.ncp for c in anonymize(table, spec).measures().columns}

    for name in names[:1] if IS_PLAIN else names:
        heavy = anonymize(table, replace(spec, weights={name: 20.0}))

        column = {c.name: c for c in heavy.measures().columns}[name]
        assert column.weight == 20.0
        assert column.ncp <= plain[name] + NEAR
        originals = {name: cells(table, name) for name in names}
        found = released_loss(originals, heavy, table.num_rows)
        assert heavy.measures().loss == pytest.approx(found, abs=NEAR)


# --- many values, many columns ------------------------------------------------------


@pytest.mark.skipif(IS_PLAIN, reason="minutes without the compiler")
@pytest.mark.parametrize("categories", ["label", "set"])
def test_a_category_may_have_many_values(categories: Any) -> None:
    rng = random.Random(1)  # noqa: S311
    n = 2000
    table = pa.table(
        {
            "c": [f"v{rng.randint(0, 499)}" for _ in range(n)],
            "n": [rng.randint(0, 50) for _ in range(n)],
        }
    )
    spec = spec_of(["c", "n"], 4, BestPolicy(), categories=categories)

    release = anonymize(table, spec)

    assert min(sizes(release).values()) >= 4
    assert sum(sizes(release).values()) == n


@pytest.mark.skipif(IS_PLAIN, reason="minutes without the compiler")
def test_a_table_may_have_many_columns() -> None:
    rng = random.Random(2)  # noqa: S311
    names = [f"q{i}" for i in range(30)]
    columns: dict[str, Any] = {
        name: [rng.randint(0, 20) for _ in range(300)]
        if i % 2
        else [rng.choice("abcdef") for _ in range(300)]
        for i, name in enumerate(names)
    }
    table = pa.table(columns)
    paper = Spec(tuple(names), (KAnonymity(5),), suppress=Suppression(rows=0))

    release = anonymize(table, spec_of(names, 5, BestPolicy()))

    assert min(sizes(release).values()) >= 5
    assert sum(sizes(release).values()) == 300
    base = anonymize(table, replace(paper, policy=PaperPolicy(), missing="value"))
    assert release.measures().loss <= base.measures().loss + NEAR


# --- beta ---------------------------------------------------------------------------


def test_a_given_beta_is_used_and_said() -> None:
    table = census(80 if IS_PLAIN else 800, seed=6)
    found = {}
    for beta in (0.0, 4.0):
        release = anonymize(
            table, spec_of(CENSUS_QUASI_IDENTIFIERS, 5, BestPolicy(beta=beta))
        )
        effort = "fast" if IS_PLAIN else "thorough"
        assert release.figures()["search"] == {"effort": effort, "beta": beta}
        assert release.beta == beta
        found[beta] = release.digest

    assert found[0.0] != found[4.0]


def test_a_chosen_beta_is_one_that_can_be_given() -> None:
    table = census(80 if IS_PLAIN else 800, seed=6)
    spec = spec_of(CENSUS_QUASI_IDENTIFIERS, 5, BestPolicy())

    chosen = anonymize(table, spec)

    assert chosen.beta is not None
    given = anonymize(table, replace(spec, policy=BestPolicy(beta=chosen.beta)))
    assert given.digest == chosen.digest
    assert given.tree.digest == chosen.tree.digest


@pytest.mark.parametrize(
    ("n_tuples", "n_columns", "expected"),
    [
        (1, 1, "thorough"),
        (2500, 10, "thorough"),
        (2501, 10, "strong"),
        (80_000, 10, "strong"),
        (80_001, 10, "light"),
        (8_000_000, 2, "light"),
        (8_000_001, 2, "fast"),
        (10_000, 20, "thorough"),
        (50_000, 30, "strong"),
        (500_000, 30, "light"),
        (600_000, 30, "fast"),
    ],
)
def test_auto_is_decided_by_tuples_and_columns(
    n_tuples: int, n_columns: int, expected: str
) -> None:
    table: Any = SimpleNamespace(
        n_tuples=n_tuples, n_rows=n_tuples, columns=(None,) * n_columns
    )

    models: Any = SimpleNamespace(is_monotone=True, min_rows=5)

    assert resolve_effort(BestPolicy(), table, models) == expected
    assert resolve_effort(BestPolicy("light"), table, models) == "light"


def test_auto_finds_no_table_wide_where_there_can_be_no_clusters() -> None:
    table: Any = SimpleNamespace(n_tuples=50_000, n_rows=50_000, columns=(None,) * 30)
    monotone: Any = SimpleNamespace(is_monotone=True, min_rows=5)
    other: Any = SimpleNamespace(is_monotone=False, min_rows=5)
    large: Any = SimpleNamespace(is_monotone=True, min_rows=257)

    assert resolve_effort(BestPolicy(), table, monotone) == "strong"
    assert resolve_effort(BestPolicy(), table, other) == "fast"
    assert resolve_effort(BestPolicy(), table, large) == "fast"
    assert resolve_effort(BestPolicy(disjoint=True), table, monotone) == "fast"
    table.n_rows = 250_000
    assert resolve_effort(BestPolicy(), table, monotone) == "fast"


def test_a_weight_that_vanishes_beside_others_costs_no_warning() -> None:
    names = [f"c{i}" for i in range(12)]
    drawn = np.random.default_rng(0).integers(0, 50, (12, 60))
    table = pa.table(dict(zip(names, drawn, strict=True)))
    weights = {"c0": 1e-300, "c1": 1e300}
    policy = BestPolicy("strong", beta=2.0)
    spec = Spec(names, (KAnonymity(5),), policy=policy, weights=weights)

    assert anonymize(table, spec).n_suppressed == 0


@pytest.mark.skipif(IS_PLAIN, reason="takes minutes uncompiled")
@pytest.mark.parametrize("categories", ["label", "set"])
def test_annealing_lowers_the_loss_and_keeps_the_models(categories: Any) -> None:
    table = census(600, seed=3)
    models = (KAnonymity(5), DistinctLDiversity(2, "income"))
    losses, kept = {}, {}
    for effort in ("thorough", "max"):
        policy = BestPolicy(effort, beta=2.0)  # type: ignore[arg-type]
        spec = Spec(
            CENSUS_QUASI_IDENTIFIERS, models, policy=policy, categories=categories
        )
        one, two = (anonymize(table, spec, threads=n) for n in (1, 2))
        assert one.digest == two.digest
        losses[effort], kept[effort] = one.measures().loss, one.n_suppressed

    assert kept["max"] == 0
    assert losses["max"] < losses["thorough"]


def test_auto_is_the_effort_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    table = census(60 if IS_PLAIN else 600, seed=8)
    efforts = USUAL if IS_PLAIN else EFFORTS
    found = set()
    for effort in efforts:
        monkeypatch.setattr(best, "_LARGEST", {effort: 2**62})
        spec = spec_of(CENSUS_QUASI_IDENTIFIERS, 5, BestPolicy())
        release = anonymize(table, spec)
        given = anonymize(table, replace(spec, policy=BestPolicy(effort)))  # type: ignore[arg-type]
        assert release.effort == given.effort == effort
        assert release.digest == given.digest
        found.add(release.digest)

    assert len(found) >= min(3, len(efforts))


def test_other_policies_have_no_search() -> None:
    spec = Spec(("age",), (KAnonymity(5),), policy=PaperPolicy())
    release = anonymize(census(50), spec)

    assert release.beta is release.effort is None
    assert release.figures()["search"] is None


def test_every_row_of_a_divided_tuple_is_in_one_class() -> None:
    table = with_ids(pa.table({"q": ["A"] * 30 + ["B"] * 3 + ["C"] * 30}))

    release = anonymize(table, spec_of("q", 7, BestPolicy("strong")))

    owner = defaultdict(list)
    for key, ids in classes_of(release).items():
        for i in ids:
            owner[i].append(key)
    assert sorted(owner) == list(range(63))
    assert all(len(found) == 1 for found in owner.values())


def test_equal_rows_of_a_divided_tuple_do_not_stay_together() -> None:
    # By their hash alone, the few rows of A beside B would all have one income.
    incomes = ["low", "high"] * 200
    table = pa.table({"q": ["A"] * 400 + ["B"] * 2, "income": [*incomes, "low", "low"]})
    spec = spec_of(["q"], 40, BestPolicy())

    released = anonymize(table, spec, key=KEY).data
    backwards = table.take(pa.array(range(401, -1, -1)))
    shuffled = anonymize(backwards, spec, key=KEY).data

    beside = [
        income
        for shown, income in zip(
            cells(released, "q"), cells(released, "income"), strict=True
        )
        if shown == "*"
    ]
    assert 10 <= beside.count("high") <= 30
    assert sorted(
        zip(cells(released, "q"), cells(released, "income"), strict=False)
    ) == sorted(zip(cells(shuffled, "q"), cells(shuffled, "income"), strict=False))


def test_a_carried_column_may_hold_anything() -> None:
    # Dividing A's rows looks at their other cells; these cannot become one Arrow type.
    rows = [1, "x", {"a": 1}] * 34
    table = pd.DataFrame({"q": ["A"] * 100 + ["B"] * 2, "other": rows})

    release = anonymize(table, spec_of(["q"], 5, BestPolicy()))

    assert sorted(sizes(release).values()) == [5, 97]
    assert release.data["other"].tolist() == rows


@pytest.mark.parametrize("effort", EFFORTS)
def test_one_outlier_does_not_keep_the_others_together(effort: Any) -> None:
    # Next to it, all other differences are a hundred-billionth of the range.
    table = pa.table({"n": [*range(100), 10**13]})

    release = anonymize(table, spec_of(["n"], 2, BestPolicy(effort)))

    assert max(sizes(release).values()) == 3


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_only_the_proportions_of_weights_matter(weight: float) -> None:
    table = census(200, seed=3)
    names = CENSUS_QUASI_IDENTIFIERS[:3]
    plain = anonymize(table, spec_of(names, 5, BestPolicy()))

    weights = dict.fromkeys(names, weight)
    scaled = anonymize(table, spec_of(names, 5, BestPolicy(), weights=weights))

    assert scaled.digest == plain.digest


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize(
    ("models", "how"),
    [
        pytest.param((KAnonymity(4),), {}, id="labels"),
        pytest.param((KAnonymity(4),), {"categories": "set"}, id="sets"),
        pytest.param((KAnonymity(3), DistinctLDiversity(2, "income")), {}, id="l"),
        pytest.param((KAnonymity(4),), {"unit": "person_id"}, id="persons"),
    ],
)
def test_large_partitions_are_cut_alike_by_one_thread_and_by_all(
    monkeypatch: pytest.MonkeyPatch, models: Any, how: dict[str, Any], threads: int
) -> None:
    monkeypatch.setattr("core_mondrian.engine.search.best._TUPLES_PER_TOP_CUT", 1)
    table = census(80 if IS_PLAIN else 3000, seed=8)
    names = ("age", "sex", "occupation", "marital_status", "hours_per_week")
    spec = Spec(names, models=models, policy=BestPolicy("fast"), inline_below=50, **how)

    one = anonymize(table, spec, threads=1)
    several = anonymize(table, spec, threads=threads)

    assert several.tree.digest == one.tree.digest
    assert several.digest == one.digest
    assert several.funnel.counts.tolist() == one.funnel.counts.tolist()
    assert several.beta == one.beta


def test_more_models_than_there_is_room_for_are_refused_in_words() -> None:
    models = tuple(DistinctLDiversity(2, "income") for _ in range(65))

    with pytest.raises(SpecError, match="65 models have a measure; there can be at"):
        anonymize(census(200), Spec(("age",), models=models))


def distinct_numbers(n: int) -> pa.Table:
    draw = np.random.default_rng(1)
    return pa.table({name: draw.permutation(n) for name in "xy"})


def digest_of(table: pa.Table, k: int, effort: Any) -> str:
    policy = BestPolicy(effort=effort, beta=1.0)
    return anonymize(table, spec_of("xy", k, policy)).digest


@pytest.mark.parametrize("effort", ["strong", "thorough"])
def test_only_classes_of_few_rows_are_annealed(
    effort: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = distinct_numbers(120 if IS_PLAIN else 1000)
    few, more = best._FEW_ROWS, best._FEW_ROWS + 1
    annealed = {k: digest_of(table, k, effort) for k in (few, more)}

    monkeypatch.setitem(best._EFFORTS, effort, best._UNANNEALED[effort])

    assert digest_of(table, few, effort) != annealed[few]
    assert digest_of(table, more, effort) == annealed[more]


@pytest.mark.long
@pytest.mark.skipif(IS_PLAIN, reason="it takes minutes uncompiled")
def test_blocks_of_very_many_tuples_are_not_annealed() -> None:
    large, small = distinct_numbers(33_000), distinct_numbers(2_000)

    assert digest_of(large, 500, "max") == digest_of(large, 500, "thorough")
    assert digest_of(small, 9, "max") != digest_of(small, 9, "thorough")
