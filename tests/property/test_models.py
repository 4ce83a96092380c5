"""Every model holds in every release, by its definition, whatever else is asked."""

import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from best_oracle import cells, keys
from conftest import IS_PLAIN, as_arrow, as_pandas, as_polars
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models_oracle import Value, accepts, sensitive_models, sized_models
from oracle import Sample, paper_policies, samples, small_patterns

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    OriginalPolicy,
    PaperPolicy,
    Release,
    Spec,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.models import (
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    PrivacyModel,
    TCloseness,
)

Rows = list[dict[str, Any]]

POLICIES = [
    BestPolicy(),
    BestPolicy("strong"),
    BestPolicy(disjoint=True),
    PaperPolicy(),
    OriginalPolicy(),
    OriginalPolicy("as_published"),
]
MOST_ROWS = 16 if IS_PLAIN else 40
FEWER = settings(max_examples=settings.default.max_examples // 3)
LETTERS = ["a", "a", "a", "b", "b", "c", "d", "e"]


@st.composite
def tables(draw: Any, max_rows: int = MOST_ROWS) -> tuple[Sample, pa.Table]:
    """Tables with two sensitive columns, ``s`` and ``v``, and an id."""
    sample = draw(samples(max_rows=max_rows, max_columns=3))
    n = sample.n_rows
    arrays = {name: sample.arrow()[name] for name in sample.names}
    arrays["s"] = pa.array(draw(_values(LETTERS, n)), pa.string())
    arrays["v"] = pa.array(draw(_values([1, 1, 2, 3, 5, 8], n)), pa.int64())
    arrays["id"] = pa.array(range(n))
    return sample, pa.table(arrays)


@st.composite
def _values(draw: Any, values: list[Value], n: int) -> list[Value]:
    """A column of some of the values, maybe with missing ones, maybe with no others."""
    shown = values[: draw(st.integers(1, len(values)))]
    some = draw(st.sampled_from([shown, shown, [*shown, None], [*shown, *[None] * 4]]))
    picked = [None] if draw(st.integers(0, 20)) == 20 else some
    return draw(st.lists(st.sampled_from(picked), min_size=n, max_size=n))


@st.composite
def models_for(draw: Any, n_rows: int) -> tuple[PrivacyModel, ...]:
    """One to four models, of sizes and of either sensitive column, or of both."""
    sized = st.lists(sized_models(draw(st.sampled_from([3, 3, 9, n_rows]))), max_size=2)
    letters = st.lists(sensitive_models("s", has_tree=True), max_size=2)
    numbers = st.lists(sensitive_models("v", has_tree=False), max_size=1)
    found = (*draw(sized), *draw(letters), *draw(numbers))
    return found or (draw(sized_models(3)),)


@st.composite
def specs(draw: Any, sample: Sample, **more: Any) -> Spec:
    n = sample.n_rows
    policy = draw(st.sampled_from(POLICIES) | paper_policies())
    rows = st.integers(0, n) | st.just(0)
    budget = rows.map(lambda rows: Suppression(rows=rows))
    shares = st.sampled_from([None, Suppression(share=1), Suppression(share=0)])
    missing = draw(st.sampled_from([None, "pattern", "value"]))
    how = draw(small_patterns(missing))
    has_budget = policy.name != "original" or how == "suppress"
    asked = {
        "quasi_identifiers": sample.names,
        "models": draw(models_for(n)),
        "hierarchies": sample.hierarchies,
        "policy": policy,
        "missing": missing,
        "small_patterns": how,
        "suppress": draw(budget | shares) if has_budget else None,
        "suppressed": draw(st.sampled_from(["drop", "blank"])),
        "numbers": draw(st.sampled_from(["interval", "mean", "median"])),
        "categories": draw(st.sampled_from(["label", "set"])),
        "inline_below": draw(st.sampled_from([0, 10, 1000])),
    }
    return Spec(**{**asked, **more})


def rows_of(frame: Any, names: tuple[str, ...]) -> Rows:
    return [dict(zip(names, row, strict=True)) for row in keys(frame, names)]


def views(release: Release[Any], *more: str) -> list[Rows]:
    """The released rows: without those that are blank all over, and with them.

    Nobody can tell suppressed rows that stay as blanks from a class that shows nothing.
    """
    spec = release.spec
    rows = rows_of(release.data, (*spec.quasi_identifiers, *more))
    if spec.suppressed == "drop":
        return [rows]
    shown = [row for row in rows if not is_blank(row, spec)]
    return [shown, rows] if len(rows) - len(shown) <= release.budget else [rows]


def is_blank(row: dict[str, Any], spec: Spec) -> bool:
    return all(row[name] is None for name in spec.quasi_identifiers)


def classes_of(rows: Rows, spec: Spec) -> list[Rows]:
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in spec.quasi_identifiers)].append(row)
    return list(found.values())


def satisfies(
    model: PrivacyModel, classes: list[Rows], persons: list[int] | None = None
) -> bool:
    """Whether a model holds by its definition; of no rows it always does."""
    values = [[row.get(model.column) for row in rows] for rows in classes]
    return not classes or accepts(model, values, persons)


def released(table: pa.Table, spec: Spec) -> Release[Any] | None:
    """Anonymize; None if not even the whole table as one class would do."""
    try:
        return anonymize(table, spec)
    except InfeasibleError:
        whole = [rows_of(table, tuple(table.column_names))]
        assert not all(satisfies(model, whole) for model in spec.models)
        return None


@given(st.data())
def test_every_model_holds_in_every_release(data: st.DataObject) -> None:
    sample, table = data.draw(tables())
    spec = data.draw(specs(sample))

    release = released(table, spec)

    assume(release is not None)
    assert release is not None
    assert any(
        all(satisfies(model, classes_of(rows, spec)) for model in spec.models)
        for rows in views(release, "s", "v")
    )
    assert release.n_suppressed <= release.budget == spec.budget(sample.n_rows)
    gone = release.n_suppressed if spec.suppressed == "drop" else 0
    assert len(cells(release.data, "id")) + gone == sample.n_rows


@FEWER
@given(st.data())
def test_released_rows_keep_their_sensitive_values(data: st.DataObject) -> None:
    sample, table = data.draw(tables())
    spec = data.draw(specs(sample))

    release = released(table, spec)

    assume(release is not None)
    assert release is not None
    every = cells(release.data, "id")
    ids = [i for i in every if i is not None]
    assert ids == sorted(set(ids))
    blank = release.n_suppressed if spec.suppressed == "blank" else 0
    assert len(every) - len(ids) == blank
    was = rows_of(table, ("s", "v"))
    now = rows_of(release.data, ("s", "v"))
    shown = rows_of(release.data, spec.quasi_identifiers)
    for i, row, known in zip(every, now, shown, strict=True):
        if i is None:  # suppressed: it shows nothing at all
            assert is_blank(known, spec)
            assert set(row.values()) == {None}
        else:
            assert row == was[i]


@FEWER
@given(st.data(), st.integers(0, 5))
def test_threads_frames_and_row_order_change_nothing(
    data: st.DataObject, seed: int
) -> None:
    sample, table = data.draw(tables())
    spec = data.draw(specs(sample))
    order = list(range(sample.n_rows))
    random.Random(seed).shuffle(order)  # noqa: S311

    first = released(table, spec)

    assume(first is not None)
    assert first is not None
    others = [
        anonymize(table, spec, threads=2),
        anonymize(table, spec, threads=5),
        anonymize(as_pandas(table), spec),
        anonymize(as_polars(table), spec),
        anonymize(as_arrow(table.take(order)), spec),
    ]
    names = ("id", *spec.quasi_identifiers, "s")
    shown = sorted(keys(first.data, names), key=str)
    for other in others:
        assert other.digest == first.digest
        assert other.tree.digest == first.tree.digest
        assert other.verification == first.verification
        assert sorted(keys(other.data, names), key=str) == shown


# Cases


def test_a_class_that_shows_nothing_counts_though_rows_may_be_blanked() -> None:
    # 14 rows show nothing, as many as may be suppressed; without them the average risk
    # would be 3 classes / 6 persons.
    table = pa.table({"x": pa.array([1, 1, 2, 2, 3, 3] + [None] * 14, pa.int64())})
    spec = Spec(
        ("x",),
        (AverageRisk(0.3),),
        policy=PaperPolicy(),
        suppress=Suppression(rows=14),
        suppressed="blank",
    )

    release = anonymize(table, spec)

    assert release.verification.models[0].reached == 4 / 20
    assert verify(release.data, spec) == release.verification


def test_classes_that_pass_alone_pass_as_a_reader_sees_them() -> None:
    # Two classes may show the same; one has no "c" and the other few, and both pass.
    table = pa.table(
        {
            "q": list("cddcccabdbddbdaadcdddca"),
            "x": [int(digit) for digit in "02131002231023332122030"],
            "s": list("accabbacabacbabaabababb"),
        }
    )
    model = DeltaDisclosure(0.7, "s", "allowed")

    release = anonymize(table, Spec(("q", "x"), (model,), numbers="median"))

    assert verify(release.data, release.spec) == release.verification
    assert [item.name for item in release.verification.models] == [model.name]


def test_patterns_with_nothing_left_to_join_are_grown_all_the_same() -> None:
    # Next to what the first run releases, not even all rows together are a class.
    x, y = "_212_232_122", "23__13113221"
    table = pa.table(
        {
            "x": pa.array([None if c == "_" else int(c) for c in x], pa.int64()),
            "y": pa.array([None if c == "_" else int(c) for c in y], pa.int64()),
            "s": list("aacaaaaacbcb"),
        }
    )
    spec = Spec(
        ("x", "y"),
        (BetaLikeness(0.5, "s", "enhanced"),),
        policy=PaperPolicy(),
        missing="pattern",
        suppress=Suppression(rows=8),
    )

    assert anonymize(table, spec).n_suppressed <= 8


@pytest.mark.parametrize("cells", [1, 40])
def test_classes_are_judged_some_at_a_time(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a budget, all classes by all values were laid out at once: 2 GB."""
    n = 120
    table = pa.table(
        {
            "age": [20 + i * 7 % 50 for i in range(n)],
            "town": ["pqrs"[i % 4] for i in range(n)],
            "s": [i * i % 11 for i in range(n)],
        }
    )
    spec = Spec(
        ("age", "town"),
        (KAnonymity(3), TCloseness(0.4, "s")),
        suppress=Suppression(rows=10),
        policy=BestPolicy(price=0.2),
    )
    at_once = anonymize(table, spec)
    monkeypatch.setattr("core_mondrian.engine.constraints._MOST_CELLS", cells)
    in_parts = anonymize(table, spec)
    assert at_once.n_suppressed > 0
    assert in_parts.digest == at_once.digest
