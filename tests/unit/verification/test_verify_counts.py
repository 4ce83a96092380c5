"""Rows that were counted are verified as the rows themselves."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import KAnonymity, PrivacyViolation, Spec
from core_mondrian.models import (
    AverageRisk,
    DistinctLDiversity,
    PrivacyModel,
    TCloseness,
)
from core_mondrian.verification.verify import Verification, verify, verify_counts

KINDS = {"q": pa.string(), "s": pa.string(), "who": pa.int64()}
Row = tuple[str | None, str | None, int]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["x", "x", "y", None]),
        st.sampled_from(["a", "b", None]),
        st.integers(1, 3),
    ),
    max_size=14,
)
MODELS: list[tuple[PrivacyModel, ...]] = [
    (KAnonymity(2),),
    (KAnonymity(2), DistinctLDiversity(2, "s")),
    (DistinctLDiversity(2, "s", "ignored"), AverageRisk(0.4)),
    (TCloseness(0.3, "s"),),
]


def table_of(rows: list[Row]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.table(
        {
            name: pa.array(column, KINDS[name])
            for name, column in zip(KINDS, columns, strict=True)
        }
    )


def found_by(check: Any, *arguments: Any, **more: Any) -> Verification | str:
    try:
        found: Verification = check(*arguments, **more)
    except PrivacyViolation as violation:
        return str(violation)
    return found


@given(
    rows=ROWS,
    models=st.sampled_from(MODELS),
    unit=st.sampled_from([None, "who"]),
    suppressed=st.sampled_from(["drop", "blank"]),
    budget=st.none() | st.integers(0, 4),
)
def test_counted_rows_are_judged_as_rows(
    rows: list[Row],
    models: tuple[PrivacyModel, ...],
    unit: str | None,
    suppressed: Any,
    budget: int | None,
) -> None:
    spec = Spec(("q",), models, unit=unit, suppressed=suppressed)
    counted = Counter(rows)
    times = np.array([*counted.values()], dtype=np.int64)

    found = found_by(
        verify_counts, table_of([*counted]), times, spec, budget=budget, names=("q",)
    )

    assert found == found_by(verify, table_of(rows), spec, budget=budget)


def test_blank_rows_are_counted_by_how_often_they_occur() -> None:
    values = pa.table({"q": pa.array(["x", None], pa.string())})
    spec = Spec(("q",), (KAnonymity(4),), suppressed="blank")
    times = np.array([6, 3])

    found = verify_counts(values, times, spec, budget=3)

    assert (found.n_rows, found.n_classes, found.n_suppressed_blank) == (9, 1, 3)
    with pytest.raises(PrivacyViolation, match="1 of 2 classes with 3 of 9 rows"):
        verify_counts(values, times, spec, budget=2)


def test_an_identifier_among_the_columns_is_a_violation() -> None:
    values = pa.table({"q": ["x"]})
    spec = Spec(("q",), (KAnonymity(2),), identifiers=("name", "id"))

    with pytest.raises(PrivacyViolation, match=r"still in the table: 'id', 'name'"):
        verify_counts(values, np.array([2]), spec, names=("q", "name", "id"))
    assert verify_counts(values, np.array([2]), spec, names=("q",)).n_rows == 2


def test_the_unit_may_be_there_as_it_was() -> None:
    """Whoever counts rows looks at the pseudonyms: here are the persons' own names."""
    values = pa.table({"q": ["x", "x"], "who": ["Ann", "Bob"]})
    spec = Spec(("q",), (KAnonymity(2),), unit="who", pseudonyms=("who",))

    assert verify_counts(values, np.array([1, 1]), spec).n_classes == 1
    with pytest.raises(PrivacyViolation, match="other things than pseudonyms"):
        verify(values, spec)
