"""Growing again: until the models are met in the table that is released."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from core_mondrian import AverageRisk, KAnonymity, Spec, TCloseness
from core_mondrian.engine.consistency import grow_until_consistent
from core_mondrian.engine.constraints import Constraints
from core_mondrian.models.base import PrivacyModel
from core_mondrian.tables.encoded import EncodedTable

N_ROWS = 100
TABLE = EncodedTable(
    (), (), np.zeros((1, 0), dtype=np.int32), np.array([N_ROWS]), N_ROWS
)
FIRST = Constraints(2, (np.array([60, 40]),))


class Call(NamedTuple):
    """What one tree was grown under."""

    min_rows: int
    n_released: int
    budget: int


@dataclass
class Grower:
    """Grows trees that suppress so many rows, and counts them."""

    suppresses: int = 0
    passes_after: int = 10**9
    """How many trees have to be grown for their classes to pass."""
    holds_from: int = 0
    """Rows a class with which models of the whole table hold."""

    def __post_init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, constraints: Constraints, budget: int) -> "Tree":
        n_released = int(constraints.table[0].sum())
        self.calls.append(Call(constraints.min_rows, n_released, budget))
        n_suppressed = min(self.suppresses, budget)
        return Tree(self, constraints.min_rows, n_suppressed, len(self.calls))


class Tree(NamedTuple):
    grower: Grower
    min_rows: int
    n_suppressed: int
    number: int

    def released(self, constraints: Constraints) -> Constraints:
        table = constraints.table[0] - np.array([self.n_suppressed, 0])
        return constraints._replace(table=(table,))

    def passes(self, _constraints: Constraints) -> bool:
        return self.number >= self.grower.passes_after

    def holds(self, _models: Sequence[PrivacyModel]) -> bool:
        return self.min_rows >= self.grower.holds_from


def run(grower: Grower, *models: PrivacyModel) -> tuple[Any, list[Call]]:
    spec = Spec(["age"], models=models, policy="paper", suppress="5%")
    tree = grow_until_consistent(grower, TABLE, spec, FIRST)
    return tree, grower.calls


def test_models_that_compare_nothing_take_one_tree() -> None:
    _, calls = run(Grower(suppresses=5), KAnonymity(2))

    assert calls == [(2, 100, 5)]


def test_if_nothing_is_suppressed_the_released_table_is_the_first_one() -> None:
    _, calls = run(
        Grower(suppresses=0), KAnonymity(2), TCloseness(0.5, sensitive="ill")
    )

    assert calls == [(2, 100, 5)]


def test_the_tree_is_grown_again_with_the_released_rows_as_the_table() -> None:
    tree, calls = run(
        Grower(suppresses=5, passes_after=2),
        KAnonymity(2),
        TCloseness(0.5, sensitive="ill"),
    )

    assert calls == [(2, 100, 5), (2, 95, 5)]
    assert tree.n_suppressed == 5


def test_what_never_passes_is_grown_without_suppression() -> None:
    tree, calls = run(
        Grower(suppresses=5), KAnonymity(2), TCloseness(0.5, sensitive="ill")
    )

    assert calls == [(2, 100, 5), *[(2, 95, 5)] * 3, (2, 100, 0)]
    assert tree.n_suppressed == 0


@pytest.mark.parametrize("least", [2, 3, 7, 10])
def test_models_of_the_whole_table_get_the_smallest_classes_that_are_enough(
    least: int,
) -> None:
    tree, calls = run(Grower(holds_from=least), KAnonymity(2), AverageRisk(0.1))

    assert tree.min_rows == least
    assert len(calls) <= 6
