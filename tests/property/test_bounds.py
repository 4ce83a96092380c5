"""A bound is below every release: next to the optimum, found by brute force."""

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from best_oracle import NEAR, best_specs, lost_cell
from conftest import IS_PLAIN
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import Sample, samples

from core_mondrian import InfeasibleError, KAnonymity, Release, Spec, anonymize
from core_mondrian.bounds.check import prove
from core_mondrian.spec.policies import BestPolicy

FEWER = settings(max_examples=max(2, settings.default.max_examples // 2))
MOST_ROWS = 7 if IS_PLAIN else 10


class Losses:
    """What a set of rows loses as a class, from the cells alone."""

    def __init__(self, sample: Sample, spec: Spec) -> None:
        self._sample, self._spec = sample, spec
        self.whole = math.fsum(spec.weight_of(name) for name in sample.names)

    def each(self, rows: tuple[int, ...]) -> float:
        """What each of the rows loses."""
        return math.fsum(
            self._spec.weight_of(name) * self._cell(name, rows)
            for name in self._sample.names
        )

    def _cell(self, name: str, rows: tuple[int, ...]) -> float:
        column = self._sample.columns[name]
        held, domain = {column[i] for i in rows}, set(column)
        is_text = any(isinstance(value, str) for value in domain) or domain == {None}
        as_set = name[0] == "c" and self._spec.categories_of(name) == "set"
        tree = self._sample.hierarchies.get(name) if is_text else None
        return lost_cell(held, domain, tree, as_set=as_set)


def best_partition(
    losses: Losses, n: int, budget: int, admits: Callable[[tuple[int, ...]], bool]
) -> float:
    """The least that n rows can lose in admitted classes; infinite if in none."""
    costs = {
        rows: len(rows) * losses.each(rows)
        for size in range(1, n + 1)
        for rows in combinations(range(n), size)
        if admits(rows)
    }
    by_first: dict[int, list[tuple[int, float]]] = {i: [] for i in range(n)}
    for rows, cost in costs.items():
        by_first[rows[0]].append((sum(1 << i for i in rows), cost))
    known: dict[tuple[int, int], float] = {}

    def least(left: int, budget: int) -> float:
        if not left:
            return 0.0
        if (left, budget) not in known:
            first = (left & -left).bit_length() - 1
            found = [
                cost + least(left & ~rows, budget)
                for rows, cost in by_first[first]
                if rows & left == rows
            ]
            if budget:
                found.append(losses.whole + least(left & ~(1 << first), budget - 1))
            known[left, budget] = min(found, default=math.inf)
        return known[left, budget]

    return least((1 << n) - 1, budget) / (n * losses.whole)


def released(table: pa.Table, spec: Spec) -> Release[Any]:
    try:
        return anonymize(table, spec)
    except InfeasibleError:
        assume(False)  # noqa: FBT003
        raise


@given(st.data())
def test_no_partition_is_below_the_bound(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=MOST_ROWS, max_columns=3))
    spec = data.draw(best_specs(sample))
    release = released(sample.arrow(), spec)

    bound = release.bound()

    optimum = best_partition(
        Losses(sample, spec),
        sample.n_rows,
        release.budget,
        lambda rows: len(rows) >= spec.min_rows,
    )
    loss = release.measures().loss
    assert loss is not None
    assert 0.0 <= bound.loss <= optimum + NEAR
    assert optimum <= loss + NEAR
    assert prove(release.certificate()) == pytest.approx(bound.loss, abs=NEAR)


@FEWER
@given(st.data())
def test_no_partition_of_persons_is_below_the_bound(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=MOST_ROWS, max_columns=2))
    n = sample.n_rows
    whose = data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    table = sample.arrow().append_column("person", pa.array(whose))
    spec = Spec(
        sample.names,
        (KAnonymity(data.draw(st.integers(2, 4))),),
        unit="person",
        hierarchies=sample.hierarchies,
        policy=BestPolicy(),
    )
    release = released(table, spec)

    bound = release.bound()

    optimum = best_partition(
        Losses(sample, spec),
        n,
        0,
        lambda rows: len({whose[i] for i in rows}) >= spec.min_rows,
    )
    loss = release.measures().loss
    assert loss is not None
    assert bound.counts == "persons"
    assert bound.loss <= optimum + NEAR
    assert optimum <= loss + NEAR
    assert prove(release.certificate()) == pytest.approx(bound.loss, abs=NEAR)


def subsets(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """Classes that are large enough and cannot be divided into two that are."""
    for size in range(k, min(2 * k, n + 1)):
        yield from combinations(range(n), size)


def relaxed_and_whole(losses: Losses, n: int, k: int) -> tuple[float, float]:
    """The least that classes lose, in fractions of classes and in whole ones."""
    highspy = pytest.importorskip("highspy")
    classes = list(subsets(n, k))
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)  # noqa: FBT003
    for _ in range(n):
        model.addRow(1.0, 1.0, 0, np.empty(0, np.int32), np.empty(0))
    for rows in classes:
        cost = len(rows) * losses.each(rows)
        places = np.array(rows, dtype=np.int32)
        model.addCol(cost, 0.0, 1.0, len(rows), places, np.ones(len(rows)))
    found = []
    for kind in (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger):
        for i in range(len(classes)):
            model.changeColIntegrality(i, kind)
        model.run()
        found.append(model.getInfo().objective_function_value / (n * losses.whole))
    return found[0], found[1]


@pytest.mark.skipif(IS_PLAIN, reason="as many sets as plain Python takes minutes for")
@pytest.mark.parametrize("k", [2, 3])
@settings(max_examples=12)
@given(st.data())
def test_no_solution_of_the_partition_program_is_below_the_bound(
    k: int, data: st.DataObject
) -> None:
    most = {2: 40, 3: 20}[k]
    sample = data.draw(samples(max_rows=most, max_columns=4))
    assume(sample.n_rows >= k)
    categories = data.draw(st.sampled_from(["label", "set"]))
    spec = Spec(
        sample.names,
        (KAnonymity(k),),
        hierarchies=sample.hierarchies,
        categories=categories,
        policy=BestPolicy(),
    )
    release = released(sample.arrow(), spec)

    relaxed, whole = relaxed_and_whole(Losses(sample, spec), sample.n_rows, k)

    loss = release.measures().loss
    assert loss is not None
    assert release.bound().loss <= relaxed + 1e-6
    assert relaxed <= whole + 1e-6
    assert whole <= loss + 1e-6
