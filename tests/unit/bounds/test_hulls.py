"""The nearest tuples, and the cheapest sets around a tuple, next to all of them."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from best_oracle import BestOracle
from conftest import IS_PLAIN
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Sample, samples

from core_mondrian import KAnonymity, Spec
from core_mondrian.bounds.boxes import build_tree
from core_mondrian.bounds.hulls import HullSearch, NearLists, find_cheapest
from core_mondrian.bounds.nearest import find_nearest
from core_mondrian.bounds.prices import Pricing
from core_mondrian.bounds.tuples import NearTuples
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.search.loss_weights import build_objective
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.frames import open_frame

FEWER = settings(max_examples=max(2, settings.default.max_examples // 2))


def encoded(sample: Sample, spec: Spec) -> EncodedTable:
    return collapse(encode(open_frame(sample.arrow()), spec)).table


def spec_of(sample: Sample, k: int, categories: Any = "label") -> Spec:
    return Spec(
        sample.names,
        (KAnonymity(k),),
        hierarchies=sample.hierarchies,
        categories=categories,
    )


class Cheapest:
    """What the cheapest class around each tuple loses, by trying all of them."""

    def __init__(self, table: EncodedTable, spec: Spec) -> None:
        self._oracle, self._k = BestOracle(table, spec), spec.min_rows

    def pair(self, codes: Any, others: Any) -> float:
        return self._lost([codes, others])

    def _lost(self, tuples: list[Any]) -> float:
        oracle = self._oracle
        return sum(
            oracle.weight_of(info.name)
            * oracle.column_loss(i, {codes[i] for codes in tuples})
            for i, info in enumerate(oracle.table.columns)
        )

    def around(self, codes: Any) -> float:
        rows = {row.codes: row.count for row in self._oracle.rows}
        others = [one for one in rows if one != codes]
        return min(
            self._lost([codes, *more])
            for n in range(min(self._k, len(others) + 1))
            for more in combinations(others, n)
            if rows[codes] + sum(rows[one] for one in more) >= self._k
        )


@pytest.mark.twin("bounds.nearest")
@pytest.mark.twin("bounds.tuples")
@given(st.data())
def test_the_nearest_tuples_are_the_nearest(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=12 if IS_PLAIN else 60))
    spec = spec_of(sample, 2, data.draw(st.sampled_from(["label", "set"])))
    table = encoded(sample, spec)
    tree = build_tree(table)
    tree.take_objective(build_objective(table, spec))
    most = data.draw(st.integers(1, tree.n_tuples))
    anchor = data.draw(st.integers(0, tree.n_tuples - 1))
    near = NearTuples(most)

    n = find_nearest(tree, near, anchor)

    tuples = [tuple(codes) for codes in tree.code_array.tolist()]
    oracle = Cheapest(table, spec)
    losses = sorted(oracle.pair(tuples[anchor], other) for other in tuples)
    numbers, found = near.closest()
    assert n == most
    assert near.loss_array[:n].max() == pytest.approx(losses[most - 1])
    if most < tree.n_tuples:
        assert near.radius == pytest.approx(losses[most - 1])
    assert found.tolist() == pytest.approx(losses[: found.size])
    for number, loss in zip(numbers.tolist(), found.tolist(), strict=True):
        assert oracle.pair(tuples[anchor], tuples[number]) == pytest.approx(loss)


@pytest.mark.twin("bounds.hulls")
@FEWER
@given(st.data())
def test_the_cheapest_hull_is_that_of_the_cheapest_set(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=6 if IS_PLAIN else 12))
    k = data.draw(st.integers(2, 4))
    if sample.n_rows < k:
        return
    spec = spec_of(sample, k, data.draw(st.sampled_from(["label", "set"])))
    table = encoded(sample, spec)
    tree, objective = build_tree(table), build_objective(table, spec)
    tree.take_objective(objective)
    near = NearTuples(tree.n_tuples + 1)  # never full: all tuples are near
    search = HullSearch(tree, objective, k, tree.n_tuples + 1)
    oracle = Cheapest(table, spec)
    for anchor in range(tree.n_tuples):
        if tree.person_array[anchor] >= k:
            continue
        find_nearest(tree, near, anchor)
        search.allow(1 << 40)
        search.raise_array[anchor] = np.inf

        numbers, losses = near.closest()
        lists = NearLists(numbers, losses, np.array([0, numbers.size]))
        is_exact = find_cheapest(search, lists, anchor)

        least = oracle.around(tuple(tree.code_array[anchor].tolist()))
        assert is_exact
        assert search.raise_array[anchor] == pytest.approx(least, abs=1e-8)


@pytest.mark.twin("bounds.hulls")
@FEWER
@given(st.data())
def test_a_price_is_what_the_cheapest_class_loses(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=6 if IS_PLAIN else 14))
    k = data.draw(st.integers(2, min(4, max(2, sample.n_rows))))
    if sample.n_rows < k:
        return
    spec = spec_of(sample, k, data.draw(st.sampled_from(["label", "set"])))
    table = encoded(sample, spec)
    tree = build_tree(table)
    pricing = Pricing(tree, build_objective(table, spec), k)

    for anchor in range(tree.n_tuples):
        pricing.price_rows(anchor)

    oracle = Cheapest(table, spec)
    least = [oracle.around(tuple(codes)) for codes in tree.code_array.tolist()]
    assert pricing.prices.tolist() == pytest.approx(least, abs=1e-8)


def test_prices_rise_until_every_row_is_in_a_set_that_leaves_nothing() -> None:
    """97 rows of A and 2 of B, k = 5: B's rows take three of A's along."""
    sample = Sample({"c0": ["A"] * 97 + ["B"] * 2}, {}, [None] * 99)
    spec = spec_of(sample, 5)
    table = encoded(sample, spec)
    tree = build_tree(table)
    pricing = Pricing(tree, build_objective(table, spec), 5)
    near = [pricing.price_rows(i) for i in range(tree.n_tuples)]
    assert sorted(pricing.prices.tolist()) == pytest.approx([0.0, 1.0])

    pricing.raise_prices(near, np.inf)

    assert sorted(pricing.prices.tolist()) == pytest.approx([0.0, 2.5])


def test_a_search_that_is_cut_short_is_no_dearer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells = np.random.default_rng(3).random((4, 60)).tolist()
    sample = Sample({f"n{i}": x for i, x in enumerate(cells)}, {}, [None] * 60)
    spec = spec_of(sample, 4)
    table = encoded(sample, spec)
    found = []
    for allowed in (1 << 40, 0):
        monkeypatch.setattr("core_mondrian.bounds.prices._HULLS", allowed)
        monkeypatch.setattr("core_mondrian.bounds.prices._HULLS_OF_ROUNDS", allowed)
        tree = build_tree(table)
        pricing = Pricing(tree, build_objective(table, spec), 4)
        near = [pricing.price_rows(i) for i in range(tree.n_tuples)]
        alone = pricing.prices.sum()
        pricing.raise_prices(near, np.inf)
        found.append((alone, pricing.prices.sum()))

    assert found[1][0] < found[0][0]
    assert found[1][1] < found[0][1]
    assert found[1][0] <= found[1][1]
