"""A plan made from counts alone is that of the table itself."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import IS_PLAIN
from hypothesis import given
from hypothesis import strategies as st
from support.keys import KEY, OPENED

from core_mondrian import (
    KAnonymity,
    Spec,
    Suppression,
    anonymize,
)
from core_mondrian.datasets import census
from core_mondrian.errors import DataError, MondrianError
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.sources.remote_plan import RemotePlan, make_plan
from core_mondrian.sources.tuple_counts import TupleCounts, counted_columns
from core_mondrian.spec.policies import BestPolicy, PaperPolicy
from core_mondrian.tables.frames import open_frame, row_keys

pytestmark = [pytest.mark.slow] if IS_PLAIN else []

QID = ("a", "b")


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    n = draw(st.integers(1, 40))
    numbers = st.none() | st.integers(0, 4)
    texts = st.none() | st.sampled_from("xyz")

    def column(values: st.SearchStrategy[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(values, min_size=n, max_size=n)), kind)

    return pa.table(
        {
            "a": column(numbers, pa.int64()),
            "b": column(texts, pa.string()),
            "s": column(texts, pa.string()),
            "other": column(st.integers(0, 9), pa.int64()),
            "w": column(st.sampled_from([1.0, 0.5, 3.0]), pa.float64()),
        }
    )


def count(table: pa.Table, spec: Spec) -> tuple[TupleCounts, list[int]]:
    """Count tuples the plain way, and say which is each row's."""
    names = counted_columns(spec)
    rows = list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    found = {row: i for i, row in enumerate(dict.fromkeys(rows))}
    columns = zip(*found, strict=True)
    values = pa.table(
        {
            name: pa.array(cells, table.schema.field(name).type)
            for name, cells in zip(names, columns, strict=True)
        }
    )
    counted = Counter(rows)
    totals = np.array([counted[row] for row in found], dtype=np.int64)
    return TupleCounts(values, totals), [found[row] for row in rows]


def carry_out(table: pa.Table, owner: list[int], planned: RemotePlan) -> list[Any]:
    """Release the rows of a table by a plan, one by one."""
    plan = planned.plan
    piece = plan.place_rows(
        plan.tuple_of[owner],
        lambda rows: row_keys(
            open_frame(table), plan.spec.carried(table.column_names), rows
        ),
    )
    leaves = plan.leaf_of_piece[piece].tolist()
    shown, cells = plan.shown.to_pylist(), table.to_pylist()
    found = []
    for leaf, row in zip(leaves, cells, strict=True):
        if leaf < 0 and plan.spec.leaves_out:
            continue
        released = {}
        for name, how, source in plan.places(table.column_names):
            gone = leaf < 0
            if how == "shown":
                released[name] = shown[leaf][name]
            else:
                released[name] = None if gone else row[source]
        found.append(released)
    return found


SPECS = (
    Spec(QID, (KAnonymity(3),)),
    Spec(QID, (KAnonymity(2),), policy=PaperPolicy(), numbers="bounds", class_id="c"),
    Spec(
        QID,
        (KAnonymity(2), DistinctLDiversity(2, "s")),
        suppress=Suppression(rows=4),
        suppressed="blank",
        weight="w",
    ),
    Spec(
        QID,
        (KAnonymity(3),),
        policy=BestPolicy(equity="s"),
        missing="pattern",
        unit="w",
    ),
    *(
        Spec(
            QID,
            (KAnonymity(3),),
            policy=policy,
            missing="pattern",
            small_patterns="suppress",
            suppress=Suppression(rows=6),
        )
        for policy in (BestPolicy(), PaperPolicy())
    ),
)


@pytest.mark.parametrize("spec", SPECS)
@given(table=tables())
def test_rows_are_released_as_in_memory(spec: Spec, table: pa.Table) -> None:
    counts, owner = count(table, spec)
    try:
        expected = anonymize(table, spec, key=KEY)
    except MondrianError as error:
        with pytest.raises(type(error)):
            make_plan(counts, spec, OPENED)
        return

    planned = make_plan(counts, spec, OPENED)

    assert planned.plan.digest == expected.digest
    assert carry_out(table, owner, planned) == expected.data.to_pylist()
    made = planned.release(
        *(None, expected.verification),
        suppressed=None,
        carried=(),
        spent={},
        warnings=(),
    )
    assert made.manifest()["digests"] == expected.manifest()["digests"]
    assert made.spec == expected.spec
    if spec.weight is None:
        assert made.measures() == expected.measures()


def test_a_unit_that_becomes_a_pseudonym_is_counted_as_it_is() -> None:
    spec = Spec(("age", "sex"), (KAnonymity(5),), unit="person_id")
    spec = replace(spec, pseudonyms=("person_id",))
    table = census(500)

    planned = make_plan(count(table, spec)[0], spec, OPENED)

    key = b"a key that is long enough to be one"
    assert planned.plan.digest == anonymize(table, spec, key=key).digest


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([2**30, 2**30], id="together"),
        pytest.param([2**62, 2**62], id="sum-beyond-64-bits"),
    ],
)
def test_more_rows_than_records_can_count_are_refused(rows: list[int]) -> None:
    values = pa.table({"a": [1, 2], "b": ["x", "y"]})
    counts = TupleCounts(values, np.array(rows, dtype=np.int64))

    with pytest.raises(DataError, match="2,147,483,647 rows"):
        make_plan(counts, Spec(QID, models=(KAnonymity(2),)), OPENED)


def test_as_many_rows_as_records_can_count_are_planned() -> None:
    values = pa.table({"a": [1, 2], "b": ["x", "y"]})
    counts = TupleCounts(values, np.array([2**30, 2**30 - 1], dtype=np.int64))

    planned = make_plan(counts, Spec(QID, models=(KAnonymity(2),)), OPENED)

    assert planned.plan.n_rows == 2**31 - 1
    assert planned.plan.n_suppressed == 0
