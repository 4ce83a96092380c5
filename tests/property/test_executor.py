"""A tree grown by a executor, part by part, is the tree grown in one place."""

from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from conftest import IS_PLAIN
from hypothesis import given
from hypothesis import strategies as st
from oracle import Closeness

from core_mondrian import KAnonymity, Spec, Suppression
from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.executor import LocalExecutor
from core_mondrian.engine.grow import Grown, grow
from core_mondrian.engine.search import best
from core_mondrian.errors import InfeasibleError, SpecError
from core_mondrian.frames import open_frame
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.policies import BestPolicy, OriginalPolicy, PaperPolicy

pytestmark = [pytest.mark.slow] if IS_PLAIN else []

QID = ("a", "b", "c")
K = (KAnonymity(2),)
SPECS = (
    Spec(QID, K, policy=PaperPolicy(), inline_below=8),
    Spec(
        QID,
        (*K, DistinctLDiversity(2, "s")),
        policy=PaperPolicy(),
        inline_below=12,
        suppress=Suppression(share=0.2),
    ),
    Spec(QID, (*K, Closeness(0.6, "s")), policy=PaperPolicy(), inline_below=8),
    Spec(QID, K, policy=OriginalPolicy()),
    Spec(QID, K, policy=BestPolicy(), inline_below=6),
    Spec(
        QID,
        (*K, DistinctLDiversity(2, "s")),
        policy=BestPolicy(effort="strong"),
        inline_below=6,
        categories="set",
        suppress=Suppression(rows=3),
    ),
    Spec(QID, K, policy=BestPolicy(disjoint=True), unit="u", inline_below=6),
    *(
        Spec(
            QID,
            (*models, KAnonymity(4)),
            policy=policy,
            inline_below=8,
            missing="pattern",
            small_patterns="suppress",
            suppress=Suppression(rows=7),
        )
        for models in ((), (DistinctLDiversity(2, "s"),))
        for policy in (PaperPolicy(), OriginalPolicy(), BestPolicy())
    ),
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    n = draw(st.integers(4, 60))

    def column(values: st.SearchStrategy[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(values, min_size=n, max_size=n)), kind)

    return pa.table(
        {
            "a": column(st.none() | st.integers(0, 9), pa.int64()),
            "b": column(st.none() | st.sampled_from("uvwxyz"), pa.string()),
            "c": column(st.integers(0, 3), pa.int64()),
            "s": column(st.sampled_from("pqr"), pa.string()),
            "u": column(st.integers(0, 40), pa.int64()),
        }
    )


def same(found: Grown, expected: Grown) -> None:
    assert found.tree.digest == expected.tree.digest
    assert found.funnel.to_json() == expected.funnel.to_json()
    assert (found.tuples.records == expected.tuples.records).all()
    assert found.beta == expected.beta
    assert (found.pieces is None) == (expected.pieces is None)
    if found.pieces is not None and expected.pieces is not None:
        assert found.pieces.rows.tolist() == expected.pieces.rows.tolist()


@pytest.mark.parametrize("spec", SPECS)
@given(table=tables(), unit=st.integers(1, 30), part=st.integers(1, 20))
def test_a_crew_grows_the_same_tree(
    spec: Spec, table: pa.Table, unit: int, part: int
) -> None:
    encoded = collapse(encode(open_frame(table), spec)).table
    try:
        expected = grow(encoded, spec, threads=1)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            grow(encoded, spec, executor=LocalExecutor(unit, part))
        return

    same(grow(encoded, spec, executor=LocalExecutor(unit, part)), expected)


@pytest.mark.parametrize("spec", SPECS[4:])
@given(table=tables(), unit=st.integers(1, 30), part=st.integers(1, 20))
def test_a_crew_cuts_down_to_the_same_small_blocks(
    spec: Spec, table: pa.Table, unit: int, part: int
) -> None:
    with patch.object(best, "_CLASSES_PER_BLOCK", 2):
        test_a_crew_grows_the_same_tree.hypothesis.inner_test(  # type: ignore[attr-defined]
            spec, table, unit, part
        )


def test_a_tie_with_the_funnel_does_not_depend_on_the_order_of_classes() -> None:
    """Its classes lose the same here, but for rounding, and come in another order."""
    table = pa.table(
        {
            "a": [0, None, 1, 0, 1, 1, None, None, 1, None],
            "b": [*"vuuuuuuuuu"],
            "c": [1, 0, 1, 3, 1, 1, 2, 3, 2, 1],
            "u": [7, 2, 5, 7, 4, 2, 7, 0, 5, 3],
        }
    )
    spec = next(spec for spec in SPECS if spec.unit is not None)
    encoded = collapse(encode(open_frame(table), spec)).table

    with patch.object(best, "_CLASSES_PER_BLOCK", 2):
        same(grow(encoded, spec, executor=LocalExecutor(1)), grow(encoded, spec))


class CountingCrew(LocalExecutor):
    """Notes how often it was asked to count, and how much it was given to solve."""

    n_counts = 0
    largest = 0

    def count(self, *arguments: Any) -> Any:
        self.n_counts += 1
        return super().count(*arguments)

    def solve(self, solve: Any, units: Any) -> Any:
        self.largest = max([self.largest, *(len(unit.records) for unit in units)])
        return super().solve(solve, units)


@pytest.mark.skipif(IS_PLAIN, reason="takes minutes uncompiled")
@pytest.mark.parametrize("policy", [BestPolicy(), PaperPolicy()])
@pytest.mark.parametrize("unit", [500, 5_000])
def test_a_crew_grows_the_same_tree_of_a_census(policy: Any, unit: int) -> None:
    spec = Spec(CENSUS_QUASI_IDENTIFIERS, (KAnonymity(5),), policy=policy)
    encoded = collapse(encode(open_frame(census(60_000)), spec)).table

    executor = CountingCrew(unit)

    found = grow(encoded, spec, executor=executor)

    same(found, grow(encoded, spec))
    assert executor.n_counts > 1
    assert executor.largest < encoded.n_tuples / 2


def test_what_counts_do_not_tell_is_refused() -> None:
    spec = Spec(("age",), (KAnonymity(5),), policy=BestPolicy(equity="sex"))
    encoded = collapse(encode(open_frame(census(100)), spec)).table

    with pytest.raises(SpecError, match="one place"):
        grow(encoded, spec, executor=LocalExecutor(10))
