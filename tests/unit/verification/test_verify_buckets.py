"""A release verified bucket by bucket is found to be what it is as a whole."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import KAnonymity, Spec
from core_mondrian.errors import PrivacyViolation
from core_mondrian.models.alpha_k import AlphaKAnonymity
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.entropy import EntropyLDiversity
from core_mondrian.models.recursive import RecursiveCLDiversity
from core_mondrian.models.risk import AverageRisk, MaximumRisk
from core_mondrian.models.t_closeness import TCloseness
from core_mondrian.verification.verify import (
    Verification,
    WholeTable,
    verify_buckets,
    verify_counts,
)

MODELS = (
    KAnonymity(2),
    MaximumRisk(0.5),
    AverageRisk(0.4),
    DistinctLDiversity(2, "s"),
    EntropyLDiversity(1.2, "s"),
    RecursiveCLDiversity(3.0, 2, "s"),
    AlphaKAnonymity(0.9, 2, "s"),
    TCloseness(0.5, "s"),
    TCloseness(0.4, "s", distance="ordered"),
)


def buckets_of(table: pa.Table, n: int) -> list[tuple[pa.Table, np.ndarray]]:
    """Divide a table by a quasi-identifier, and count nothing together."""
    place = np.array([sum(str(a).encode()) % n for a in table["a"].to_pylist()])
    return [
        (part, np.ones(part.num_rows, dtype=np.int64))
        for i in range(n)
        for part in [table.filter(pa.array(place == i))]
    ]


def in_buckets(table: pa.Table, spec: Spec, n: int) -> Verification:
    counted = table["s"].value_counts()
    values = {
        "s": (
            pa.table({"s": counted.field("values")}),
            counted.field("counts").to_numpy(),
        )
    }
    n_persons = None if spec.unit is None else len(table["u"].unique())
    whole = WholeTable(table.num_rows, values, n_persons)
    return verify_buckets(buckets_of(table, n), whole, spec, budget=0)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
@pytest.mark.parametrize("unit", [None, "u"])
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.integers(0, 3),
            st.sampled_from("xy"),
            st.none() | st.integers(0, 4),
            st.integers(0, 9),
        ),
        min_size=1,
        max_size=40,
    ),
    n=st.integers(1, 5),
)
def test_buckets_are_judged_as_the_whole_is(
    model: object, unit: str | None, rows: list[tuple[object, ...]], n: int
) -> None:
    kinds = {"a": pa.int64(), "b": pa.string(), "s": pa.int64(), "u": pa.int64()}
    columns = zip(kinds.items(), zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(x, kind) for (name, kind), x in columns})
    spec = Spec(("a", "b"), (model,), unit=unit)  # type: ignore[arg-type]
    ones = np.ones(table.num_rows, dtype=np.int64)
    try:
        expected = verify_counts(table, ones, spec)
    except PrivacyViolation:
        with pytest.raises(PrivacyViolation):
            in_buckets(table, spec, n)
        return

    found = in_buckets(table, spec, n)

    assert found == expected
    assert sorted(found.class_sizes) == sorted(expected.class_sizes)


def test_buckets_that_lack_rows_are_refused() -> None:
    table = pa.table({"a": [1, 1, 2, 2], "s": [1, 2, 1, 2]})
    spec = Spec(("a",), (KAnonymity(2),))
    whole = WholeTable(4, {})

    with pytest.raises(PrivacyViolation, match="not the whole"):
        verify_buckets(buckets_of(table, 2)[:1], whole, spec, budget=0)
