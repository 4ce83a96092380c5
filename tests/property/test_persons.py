"""Persons with several rows: classes hide persons, not rows."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from best_oracle import cells, keys
from conftest import IS_PLAIN, Frame, as_arrow, as_pandas, as_polars
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models_oracle import accepts, sensitive_models, sized_models
from oracle import Sample, samples, small_patterns

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    OriginalPolicy,
    PaperPolicy,
    PrivacyViolation,
    Release,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.models import AverageRisk

POLICIES = [
    BestPolicy(),
    BestPolicy("strong"),
    BestPolicy(disjoint=True),
    PaperPolicy(),
    OriginalPolicy(),
    OriginalPolicy("as_published"),
]
NOBODY = None
MOST_ROWS = 12 if IS_PLAIN else 40
FEWER = settings(max_examples=settings.default.max_examples // 3)


@st.composite
def owned(draw: Any, max_rows: int = MOST_ROWS) -> tuple[Sample, pa.Table]:
    """Tables whose rows belong to persons: few or many, one with most of the rows."""
    sample = draw(samples(max_rows=max_rows, max_columns=3))
    n = sample.n_rows
    persons: list[int | None] = list(range(draw(st.integers(1, 12))))
    persons += [0] * draw(st.sampled_from([0, 0, 20]))
    persons += [NOBODY] * draw(st.sampled_from([0, 0, 1, 6]))
    whose = draw(st.lists(st.sampled_from(persons), min_size=n, max_size=n))
    arrays = {name: sample.arrow()[name] for name in sample.names}
    arrays["person"] = pa.array(whose, pa.int64())
    arrays["s"] = pa.array(sample.sensitive, pa.string())
    arrays["id"] = pa.array(range(n))
    return sample, pa.table(arrays)


@st.composite
def specs(draw: Any, sample: Sample) -> Spec:
    sized = draw(st.lists(sized_models(4), min_size=1, max_size=2))
    letters = sensitive_models("s", has_tree=False, has_order=False)
    others = draw(st.lists(letters, max_size=1))
    policy = draw(st.sampled_from(POLICIES))
    budget = Suppression(rows=draw(st.integers(0, sample.n_rows) | st.just(0)))
    missing = draw(st.sampled_from([None, "pattern", "value"]))
    how = draw(small_patterns(missing))
    has_budget = policy.name != "original" or how == "suppress"
    return Spec(
        sample.names,
        (*sized, *others),
        unit="person",
        hierarchies=sample.hierarchies,
        policy=policy,
        missing=missing,
        small_patterns=how,
        suppress=budget if has_budget else None,
        numbers=draw(st.sampled_from(["interval", "mean"])),
        inline_below=draw(st.sampled_from([0, 10, 1000])),
    )


def released(table: pa.Table, spec: Spec) -> Release[Any]:
    """Anonymize, or give the example up if the whole table as one class would fail."""
    try:
        return anonymize(table, spec)
    except InfeasibleError:
        values, n = [cells(table, "s")], len(set(cells(table, "person")))
        assert not all(
            n >= model.min_rows and accepts(model, values, [n]) for model in spec.models
        )
        assume(False)  # noqa: FBT003
        raise


def classes_of(release: Release[Any], table: pa.Table) -> list[list[dict[str, Any]]]:
    """The rows as they came in, by what they show."""
    names = tuple(table.column_names)
    came = [dict(zip(names, row, strict=True)) for row in keys(table, names)]
    found = defaultdict(list)
    shown = keys(release.data, release.spec.quasi_identifiers)
    for i, key in zip(cells(release.data, "id"), shown, strict=True):
        found[key].append(came[i])
    return list(found.values())


@given(st.data())
def test_every_class_hides_enough_persons(data: st.DataObject) -> None:
    sample, table = data.draw(owned())
    spec = data.draw(specs(sample))

    release = released(table, spec)

    classes = classes_of(release, table)
    values = [[row["s"] for row in rows] for rows in classes]
    persons = [len({row["person"] for row in rows}) for rows in classes]
    for model in spec.models:
        assert not classes or accepts(model, values, persons)
        assert all(n >= model.min_rows for n in persons)
    assert "person" not in release.data.column_names
    assert sum(len(rows) for rows in classes) + release.n_suppressed == sample.n_rows
    assert release.n_suppressed <= release.budget


@FEWER
@given(st.data())
def test_threads_frames_and_row_order_change_nothing(data: st.DataObject) -> None:
    sample, table = data.draw(owned())
    spec = data.draw(specs(sample))
    order = data.draw(st.permutations(range(sample.n_rows)))

    first = released(table, spec)

    names = ("id", *spec.quasi_identifiers)
    shown = sorted(keys(first.data, names), key=str)
    kinds: list[tuple[Frame, int]] = [(as_pandas, 2), (as_polars, 5), (as_arrow, 1)]
    for kind, threads in kinds:
        other = anonymize(kind(table.take(order)), spec, threads=threads)
        assert other.digest == first.digest
        assert other.tree.digest == first.tree.digest
        assert sorted(keys(other.data, names), key=str) == shown


@FEWER
@given(st.data())
def test_what_persons_are_called_changes_nothing(data: st.DataObject) -> None:
    sample, table = data.draw(owned())
    spec = data.draw(specs(sample))
    at = table.column_names.index("person")
    names = [None if x is None else f"nr {x + 100}" for x in cells(table, "person")]

    first = released(table, spec)
    other = anonymize(table.set_column(at, "person", pa.array(names, "string")), spec)

    assert other.digest == first.digest
    assert other.data.equals(first.data)


@FEWER
@given(st.data())
def test_if_every_row_is_a_person_persons_are_rows(data: st.DataObject) -> None:
    sample, table = data.draw(owned())
    spec = data.draw(specs(sample))
    at = table.column_names.index("person")
    table = table.set_column(at, "person", pa.array(range(sample.n_rows)))

    release = released(table, spec)

    # Rows are told apart by whose they are, so the tree may differ; what is asked of
    # it, and how that is verified, may not.
    plain = replace(spec, unit=None)
    by_rows = replace(release.verification, n_persons=None, fewest_persons=None)
    assert verify(release.data, plain) == by_rows


@given(st.data())
def test_a_table_is_accepted_just_if_its_classes_have_enough_persons(
    data: st.DataObject,
) -> None:
    n = data.draw(st.integers(1, 14))
    some = st.lists(st.sampled_from(["x", "y", None]), min_size=n, max_size=n)
    whose = st.lists(st.sampled_from([1, 2, 3, None]), min_size=n, max_size=n)
    model = data.draw(sized_models(3))
    shown, persons = data.draw(some), data.draw(whose)
    found = defaultdict(set)
    for key, person in zip(shown, persons, strict=True):
        found[key].add(person)
    table = pa.table({"q": pa.array(shown, "string"), "p": pa.array(persons, "int64")})
    spec = Spec(("q",), (model,), unit="p")
    sizes = [len(group) for group in found.values()]

    if accepts(model, [[None] * size for size in sizes], sizes):
        assert verify(table, spec).n_classes == len(sizes)
    else:
        with pytest.raises(PrivacyViolation):
            verify(table, spec)


# Cases


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_too_few_persons_are_told_as_persons(policy: Any) -> None:
    table = pa.table({"age": list(range(40)), "person": [1, 2] * 20})

    with pytest.raises(InfeasibleError, match="has 2 persons, but one class needs 3"):
        anonymize(table, Spec(("age",), (KAnonymity(3),), unit="person", policy=policy))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_rows_of_nobody_are_one_persons(policy: Any) -> None:
    table = pa.table({"age": [1] * 9, "person": pa.array([None] * 8 + [1], "int64")})
    spec = Spec(("age",), (KAnonymity(2),), unit="person", policy=policy)

    assert anonymize(table, spec).verification.models[0].reached == 2
    with pytest.raises(InfeasibleError, match="2 persons"):
        anonymize(table, replace(spec, models=(KAnonymity(3),)))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_who_has_most_of_the_rows_does_not_fill_a_class(policy: Any) -> None:
    # 90 of 100 rows are of one person: no class is hers and somebody's alone.
    person = [0] * 90 + list(range(1, 11))
    ages = [i % 30 for i in range(100)]
    table = pa.table({"age": ages, "person": person, "id": list(range(100))})
    spec = Spec(("age",), (KAnonymity(4),), unit="person", policy=policy)

    release = anonymize(table, spec)

    classes = classes_of(release, table.append_column("s", pa.nulls(100)))
    assert all(len({row["person"] for row in rows}) >= 4 for rows in classes)
    assert len(classes) > 1 or policy.name == "original"


def test_the_average_risk_is_of_persons() -> None:
    table = pa.table({"age": [1, 1, 1, 2, 2, 2], "person": [1, 1, 1, 2, 2, 3]})
    policy = BestPolicy(disjoint=True)
    spec = Spec(("age",), (AverageRisk(0.5),), unit="person", policy=policy)

    release = anonymize(table, spec)

    assert release.verification.models[0].reached == pytest.approx(1 / 3)


def test_a_unit_has_to_be_there_to_be_verified() -> None:
    table = pa.table({"age": [1, 1]})

    with pytest.raises(SpecError, match="persons of a class cannot be counted"):
        verify(table, Spec(("age",), (KAnonymity(2),), unit="person"))
