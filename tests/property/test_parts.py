"""A tree grown part by part has the classes of the tree grown in one place."""

from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from conftest import IS_PLAIN
from hypothesis import given
from hypothesis import strategies as st
from support.partition_store import (
    SPECS,
    MemoryStore,
    grow_both_ways,
    tables,
    without_tuples,
)

from core_mondrian import KAnonymity, Spec
from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census
from core_mondrian.encoding.encoder import collapse, encode
from core_mondrian.engine.grow_parts import grow_parts
from core_mondrian.engine.search import best
from core_mondrian.errors import SpecError
from core_mondrian.spec.policies import BestPolicy, PaperPolicy
from core_mondrian.tables.frames import open_frame

pytestmark = [pytest.mark.slow] if IS_PLAIN else []


@pytest.mark.parametrize("spec", SPECS)
@given(table=tables(), task_tuples=st.integers(1, 30))
def test_parts_hold_the_same_classes(
    spec: Spec, table: pa.Table, task_tuples: int
) -> None:
    grow_both_ways(collapse(encode(open_frame(table), spec)).table, spec, task_tuples)


@pytest.mark.parametrize("spec", SPECS[4:])
@given(table=tables(), task_tuples=st.integers(1, 30))
def test_parts_are_cut_down_to_the_same_small_blocks(
    spec: Spec, table: pa.Table, task_tuples: int
) -> None:
    with patch.object(best, "_CLASSES_PER_BLOCK", 2):
        grow_both_ways(
            collapse(encode(open_frame(table), spec)).table, spec, task_tuples
        )


@pytest.mark.parametrize("spec", SPECS[4:])
@given(table=tables(), task_tuples=st.integers(1, 30))
def test_parts_of_wide_tables_hold_the_same_clusters(
    spec: Spec, table: pa.Table, task_tuples: int
) -> None:
    with (
        patch.object(best, "_CLASSES_PER_BLOCK", 2),
        patch.object(best, "_FEW_COLUMNS", 0),
        patch.object(best, "_FEW_ROWS_PER_TUPLE", 1000),
    ):
        grow_both_ways(
            collapse(encode(open_frame(table), spec)).table, spec, task_tuples
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

    with patch.object(best, "_CLASSES_PER_BLOCK", 2):
        grow_both_ways(collapse(encode(open_frame(table), spec)).table, spec, 1)


@pytest.mark.skipif(IS_PLAIN, reason="takes minutes uncompiled")
@pytest.mark.parametrize("policy", [BestPolicy("fast"), PaperPolicy()])
@pytest.mark.parametrize("task_tuples", [100, 1_000])
def test_parts_hold_the_same_classes_of_a_census(policy: Any, task_tuples: int) -> None:
    spec = Spec(CENSUS_QUASI_IDENTIFIERS, (KAnonymity(5),), policy=policy)
    encoded = collapse(encode(open_frame(census(4_000)), spec)).table

    store = grow_both_ways(encoded, spec, task_tuples)

    assert store.n_counts > 1
    assert store.largest < encoded.n_tuples / 2


@pytest.mark.skipif(IS_PLAIN, reason="takes minutes uncompiled")
@pytest.mark.parametrize("effort", ["auto", "light", "strong", "thorough", "max"])
def test_parts_hold_the_same_classes_at_every_effort(effort: Any) -> None:
    spec = Spec(CENSUS_QUASI_IDENTIFIERS, (KAnonymity(5),), policy=BestPolicy(effort))
    encoded = collapse(encode(open_frame(census(2_000)), spec)).table

    assert grow_both_ways(encoded, spec, 100).n_counts > 1


@pytest.mark.parametrize(
    "spec",
    [
        Spec(("age",), (KAnonymity(5),), policy=BestPolicy(equity="sex")),
        Spec(("age",), (KAnonymity(5),), weight="hours_per_week"),
    ],
)
def test_what_takes_all_tuples_in_one_place_is_refused(spec: Spec) -> None:
    encoded = collapse(encode(open_frame(census(100)), spec)).table
    store = MemoryStore(encoded, spec, 10)

    with pytest.raises(SpecError, match="all distinct tuples in memory"):
        grow_parts(store, without_tuples(encoded), spec)
