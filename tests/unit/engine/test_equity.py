"""Rows that are worth more, and groups that should lose alike."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from best_oracle import NEAR, BestOracle, best_specs, usual_efforts
from conftest import IS_PLAIN
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import Row, samples

from core_mondrian import KAnonymity, Spec, Suppression
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.constraints import first_constraints
from core_mondrian.engine.grow import grow
from core_mondrian.engine.inputs import build_models, build_tuples
from core_mondrian.engine.layout import CLASS
from core_mondrian.engine.search.best import Searched, one_node, open_search
from core_mondrian.engine.search.equity import Groups, balance_groups, find_groups
from core_mondrian.engine.search.suppression_budget import search_with_budget
from core_mondrian.errors import SpecError
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.tables.encoded import EncodedTable
from core_mondrian.tables.frames import open_frame

EFFORTS = usual_efforts(is_plain=IS_PLAIN)


def encoded(table: pa.Table, spec: Spec) -> EncodedTable:
    return collapse(encode(open_frame(table), spec)).table


def searched(table: EncodedTable, spec: Spec, n_threads: int = 1) -> Searched:
    records = build_tuples(table.codes, table.counts, np.arange(table.n_tuples)).records
    assert isinstance(spec.policy, BestPolicy)
    models = build_models(table, spec, first_constraints(table, spec))
    search = open_search(table, spec, spec.policy, models, records, n_threads)
    price = spec.policy.price * float(search.objective.info["weight"].sum())
    budget = spec.budget(table.n_rows)
    return search_with_budget(
        search, one_node(records), price, budget, lambda _done: None
    )


def with_worth(table: EncodedTable, worth: list[int]) -> EncodedTable:
    return replace(table, worth=np.array(worth, dtype=np.int32))


@given(st.data())
def test_rows_that_are_all_worth_the_same_change_nothing(data: st.DataObject) -> None:
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(best_specs(sample))
    assume(spec.min_rows <= sample.n_rows)
    table = encoded(sample.arrow(), spec)

    plain = searched(table, spec)
    heavy = searched(with_worth(table, [8] * table.n_tuples), spec)

    assert heavy.records.tolist() == plain.records.tolist()
    assert heavy.nodes.tolist() == plain.nodes.tolist()
    assert heavy.loss == pytest.approx(8 * plain.loss)


@given(st.data())
def test_the_loss_of_a_search_is_that_of_its_rows(data: st.DataObject) -> None:
    """By the definition: what each class loses, times what its rows are worth."""
    sample = data.draw(samples(max_rows=40))
    spec = data.draw(best_specs(sample))
    assume(spec.min_rows <= sample.n_rows)
    rng = random.Random(data.draw(st.integers(0, 99)))  # noqa: S311
    table = encoded(sample.arrow(), spec)
    table = with_worth(table, [rng.choice([1, 3, 50]) for _ in range(table.n_tuples)])
    oracle = BestOracle(table, spec)

    found = searched(table, spec)

    lost = 0.0
    for node in found.nodes[found.nodes["kind"] == CLASS]:
        pieces = found.records[node["start"] : node["stop"], -2:].tolist()
        part = [
            Row(i, oracle.rows[i].codes, oracle.rows[i].sensitive, n) for n, i in pieces
        ]
        assert sum(row.count for row in part) >= spec.min_rows
        lost += oracle.loss(part)
    assert found.loss == pytest.approx(lost, abs=NEAR * max(1.0, lost))


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_row_that_is_worth_more_is_blurred_less(effort: Any) -> None:
    spec = Spec(("n",), (KAnonymity(3),), policy=BestPolicy(effort, beta=0.0))
    table = encoded(pa.table({"n": [0, 1, 2, 5, 8, 9, 10]}), spec)

    def span_of_middle(worth: list[int]) -> float:
        found = searched(with_worth(table, worth), spec)
        for node in found.nodes[found.nodes["kind"] == CLASS]:
            numbers = found.records[node["start"] : node["stop"], -1]
            if 3 in numbers:
                values = table.columns[0].values[table.codes[numbers, 0]]
                return float(values.max() - values.min())
        raise AssertionError

    # The middle row joins the side whose rows are worth less: there are four of them.
    assert span_of_middle([9, 9, 9, 1, 1, 1, 1]) == 5
    assert span_of_middle([1, 1, 1, 1, 9, 9, 9]) == 5
    left = searched(with_worth(table, [9, 9, 9, 1, 1, 1, 1]), spec)
    right = searched(with_worth(table, [1, 1, 1, 1, 9, 9, 9]), spec)
    wanted = pytest.approx(0.1 * (9 * 3 * 2 + 4 * 5))
    assert (left.loss, right.loss) == (wanted, wanted)


def test_of_two_outliers_the_one_worth_less_is_suppressed() -> None:
    spec = Spec(
        ("n",),
        (KAnonymity(4),),
        suppress=Suppression(rows=1),
        policy=BestPolicy(),
    )
    table = encoded(pa.table({"n": [0, 48, 49, 51, 52, 100]}), spec)

    def suppressed(worth: list[int]) -> list[int]:
        found = searched(with_worth(table, worth), spec)
        gone = found.nodes[found.nodes["kind"] == 2]
        return [int(i) for x in gone for i in found.records[x["start"] : x["stop"], -1]]

    assert suppressed([9, 10, 10, 10, 10, 10]) == [0]
    assert suppressed([10, 10, 10, 10, 10, 9]) == [5]


# --- groups -------------------------------------------------------------------------


def people(n: int = 300) -> pa.Table:
    rng = random.Random(7)  # noqa: S311
    return pa.table(
        {
            "age": [rng.randint(18, 90) for _ in range(n)],
            "job": [rng.choice("abcdef") for _ in range(n)],
            "race": ["x" if i % 10 else "y" for i in range(n - 3)] + ["z"] * 3,
        }
    )


@pytest.mark.parametrize("where", ["quasi-identifier", "carried"])
def test_groups_are_the_values_of_a_column_and_small_ones_are_one(where: str) -> None:
    names = ("age", "race") if where == "quasi-identifier" else ("age",)
    spec = Spec(names, (KAnonymity(2),), policy=BestPolicy(equity="race"))

    groups = find_groups(encoded(people(), spec), spec)

    assert groups is not None
    assert groups.rows.tolist() == [267, 30, 3]
    assert groups.n_bounded == 2
    rows = np.bincount(groups.of_tuple, encoded(people(), spec).counts)
    assert rows.tolist() == [267, 30, 3]


def test_a_column_of_many_values_has_no_groups() -> None:
    table = pa.table({"n": list(range(200)), "m": [1] * 200})
    spec = Spec(("m",), (KAnonymity(2),), policy=BestPolicy(equity="n"))
    with pytest.raises(SpecError, match="more than 100 values"):
        grow(encoded(table, spec), spec)


class Made:
    """Searches whose losses are known in advance."""

    def __init__(self, *losses: tuple[float, float]) -> None:
        self.losses = list(losses)
        self.worths: list[list[int] | None] = []

    def __call__(self, worth: Any, _done: float, _part: float) -> tuple[int, Any]:
        self.worths.append(None if worth is None else worth.tolist())
        turn = len(self.worths)
        lost = self.losses[min(turn, len(self.losses)) - 1]
        return turn, np.array(lost) * GROUPS.rows


GROUPS = Groups("g", np.array([0, 0, 1], dtype=np.int32), np.array([90, 10]), 2)


def test_one_search_is_enough_where_the_bound_holds() -> None:
    attempt = Made((0.10, 0.11))
    found, balance = balance_groups(GROUPS, 1.2, attempt)
    assert (found, balance.rounds, balance.is_reached) == (1, 1, True)
    assert (balance.worst, balance.loss) == (balance.worst_before, balance.loss_before)
    assert attempt.worths == [None]


def test_the_group_that_loses_more_is_worth_more_until_the_bound_holds() -> None:
    attempt = Made((0.1, 0.4), (0.11, 0.3), (0.12, 0.15), (0.0, 0.0))
    found, balance = balance_groups(GROUPS, 1.2, attempt)
    assert (found, balance.rounds, balance.is_reached) == (3, 3, True)
    assert balance.worst_before == pytest.approx(0.4)
    assert balance.worst == pytest.approx(0.15)
    assert balance.loss_before == pytest.approx(0.13)
    assert balance.loss == pytest.approx(0.123)
    first, second = attempt.worths[1:]
    assert first is not None
    assert second is not None
    # 4 times as much, and then by how much more it still loses: .3 / .11.
    assert first[2] / first[0] == pytest.approx(4, rel=0.01)
    assert second[2] / second[0] == pytest.approx(4 * 0.3 / 0.11, rel=0.01)


def test_without_a_bound_nothing_is_paid_that_is_not_gained() -> None:
    attempt = Made((0.10, 0.40), (0.11, 0.30), (0.30, 0.29), (0.5, 0.28))
    found, balance = balance_groups(GROUPS, None, attempt)
    assert found == 2
    assert balance.is_reached


def test_a_bound_out_of_reach_is_told() -> None:
    attempt = Made((0.10, 0.40), (0.11, 0.30))
    found, balance = balance_groups(GROUPS, 0.5, attempt)
    assert (found, balance.is_reached) == (2, False)
    assert balance.rounds == 4  # two in vain are enough


def test_nothing_lost_is_nothing_to_balance() -> None:
    attempt = Made((0.0, 0.0))
    _, balance = balance_groups(GROUPS, None, attempt)
    assert (balance.rounds, balance.worst) == (1, 0.0)


@pytest.mark.skipif(IS_PLAIN, reason="minutes without the compiler")
def test_the_loss_is_the_same_to_the_last_bit_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads divide the blocks into other parts; added up part by part, a loss
    differed in its last bits, and with it which of two equal trees was taken."""
    monkeypatch.setattr("core_mondrian.engine.search.best._TUPLES_PER_TASK", 1)
    rng = random.Random(2)  # noqa: S311
    ages = [rng.random() ** 3 for _ in range(30_000)]
    table = pa.table({"n": ages, "c": [rng.choice("abcdefg") for _ in ages]})
    spec = Spec(("n", "c"), (KAnonymity(3),), policy=BestPolicy(), inline_below=40)
    coded = encoded(table, spec)

    losses = [searched(coded, spec, n).loss for n in (1, 2, 3, 7)]

    assert len(set(losses)) == 1
