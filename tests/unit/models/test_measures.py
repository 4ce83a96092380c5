"""Every model measures what its definition says, compiled or not."""

import itertools
import math
from collections.abc import Callable, Iterator

import models_oracle as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models_oracle import PATHS, TREE, Values, counted, ranked
from support.plain_engine import as_plain

from core_mondrian.models import (
    MODELS,
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    ClassCounts,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    MaximumRisk,
    PrivacyModel,
    PSensitiveKAnonymity,
    RecursiveCLDiversity,
    TCloseness,
    measures,
)

POPULATION = object()

Judge = Callable[[Values, Values], float]

MEASURES: dict[str, tuple[Callable[[str], PrivacyModel], Judge]] = {
    "distinct": (
        lambda missing: DistinctLDiversity(2, "s", missing),
        lambda group, _: oracle.distinct_values(group),
    ),
    "p-sensitive": (
        lambda missing: PSensitiveKAnonymity(2, 3, "s", missing),
        lambda group, _: oracle.distinct_values(group),
    ),
    "entropy": (
        lambda missing: EntropyLDiversity(1.5, "s", missing),
        lambda group, _: oracle.entropy_diversity(group),
    ),
    "recursive": (
        lambda missing: RecursiveCLDiversity(2.0, 3, "s", missing),
        lambda group, _: oracle.recursive_ratio(group, 3),
    ),
    "alpha": (
        lambda missing: AlphaKAnonymity(0.5, 2, "s", (), missing),
        lambda group, _: float(oracle.largest_share(group)),
    ),
    "alpha of two values": (
        lambda missing: AlphaKAnonymity(0.5, 2, "s", ("b", "y"), missing),
        lambda group, _: float(oracle.largest_share(group, ("b", "y"))),
    ),
    "alpha of missing": (
        lambda missing: AlphaKAnonymity(0.5, 2, "s", ("b", None), missing),
        lambda group, _: float(oracle.largest_share(group, ("b", None))),
    ),
    "equal": (
        lambda missing: TCloseness(0.2, "s", missing=missing),
        lambda group, table: float(oracle.equal_distance(group, table)),
    ),
    "ordered": (
        lambda missing: TCloseness(0.2, "s", "ordered", missing=missing),
        lambda group, table: float(oracle.ordered_distance(group, table)),
    ),
    "hierarchical": (
        lambda missing: TCloseness(0.2, "s", "hierarchical", TREE, missing),
        lambda group, table: float(oracle.hierarchical_distance(group, table, PATHS)),
    ),
    "disclosure": (
        lambda missing: DeltaDisclosure(1.0, "s", "fails", missing),
        lambda group, table: oracle.largest_disclosure(group, table, absent_fails=True),
    ),
    "disclosure of present values": (
        lambda missing: DeltaDisclosure(1.0, "s", "allowed", missing),
        lambda group, table: oracle.largest_disclosure(
            group, table, absent_fails=False
        ),
    ),
    "likeness": (
        lambda missing: BetaLikeness(1.0, "s", "basic", missing),
        lambda group, table: float(oracle.largest_gain(group, table)),
    ),
    "enhanced likeness": (
        lambda missing: BetaLikeness(1.0, "s", "enhanced", missing),
        lambda group, table: (
            float(oracle.largest_gain(group, table))
            if oracle.is_enhanced_like(group, table)
            else math.inf
        ),
    ),
}

values = st.sampled_from(["a", "b", "c", "d", "e", None])
groups_of_values = st.lists(
    st.lists(values, min_size=1, max_size=9), min_size=1, max_size=4
)
each_measure = pytest.mark.parametrize(
    ("build", "judge"), MEASURES.values(), ids=MEASURES
)


@pytest.mark.twin("models.measures")
@each_measure
@given(groups=groups_of_values)
def test_missing_is_one_more_value(
    build: Callable[[str], PrivacyModel], judge: Judge, groups: list[Values]
) -> None:
    table = [value for group in groups for value in group]
    model = build("value")

    found = model.measured(ranked(model, counted(groups)))

    assert found == pytest.approx([judge(group, table) for group in groups])


@each_measure
@given(groups=groups_of_values)
def test_missing_is_ignored(
    build: Callable[[str], PrivacyModel], judge: Judge, groups: list[Values]
) -> None:
    known = [oracle.without_missing(group) for group in groups]
    table = [value for group in known for value in group]
    model = build("ignored")

    found = model.measured(ranked(model, counted(groups)))

    expected = [judge(group, table) if group else math.nan for group in known]
    assert found == pytest.approx(expected, nan_ok=True)


@each_measure
@pytest.mark.parametrize("missing", ["value", "ignored"])
@given(groups=groups_of_values)
def test_a_value_that_no_row_has_does_not_exist(
    build: Callable[[str], PrivacyModel],
    judge: Judge,  # noqa: ARG001
    missing: str,
    groups: list[Values],
) -> None:
    model = build(missing)

    found = model.measured(ranked(model, counted(groups, never=("b", "z"))))

    expected = model.measured(ranked(model, counted(groups)))
    assert found == pytest.approx(expected, nan_ok=True)


@each_measure
@pytest.mark.parametrize(
    "groups",
    [
        pytest.param([["a"]], id="one row"),
        pytest.param([["a", "a"], ["a"]], id="one value"),
        pytest.param([[None, None], [None]], id="all missing"),
        pytest.param([["a", "b"], [None, None]], id="a class all missing"),
    ],
)
@pytest.mark.parametrize("missing", ["value", "ignored"])
def test_extreme_tables_are_measured_and_judged(
    build: Callable[[str], PrivacyModel],
    judge: Judge,
    groups: list[Values],
    missing: str,
) -> None:
    model = build(missing)
    classes = ranked(model, counted(groups))
    kept = groups
    if missing == "ignored":
        kept = [oracle.without_missing(group) for group in groups]
    table = [value for group in kept for value in group]
    low, high = model.limits().edges

    measures = [judge(group, table) if group else None for group in kept]
    passes = [
        len(group) >= model.min_rows and (found is None or low <= found <= high)
        for group, found in zip(groups, measures, strict=True)
    ]

    assert model.passes(classes).tolist() == passes
    assert model.holds(classes) == all(passes)


@pytest.fixture(scope="module")
def plain() -> dict[object, Callable[..., float]]:
    """Return each measure as the plain Python that it is written in."""
    module = as_plain("core_mondrian.models.measures")
    names = [name for name in vars(measures) if name.isupper()]
    return {
        found: getattr(module, name)
        for name in names
        if isinstance(found := getattr(measures, name), measures.Measure)
    }


@pytest.mark.twin("models.measures")
@each_measure
@pytest.mark.parametrize("missing", ["value", "ignored"])
@given(groups=groups_of_values)
def test_compiled_measures_are_the_same(
    plain: dict[object, Callable[..., float]],
    build: Callable[[str], PrivacyModel],
    judge: Judge,  # noqa: ARG001
    missing: str,
    groups: list[Values],
) -> None:
    model = build(missing)
    classes = ranked(model, counted(groups, never=("z",)))
    measure = plain[type(model).measure]
    parameters = np.array(model.bind(classes.labels), dtype=np.float64)
    counts, table = classes.by_value, classes.table
    if missing == "ignored":
        counts, table = counts[:, :-1], table[:-1]

    found = [
        measure(int(row.sum()), np.ascontiguousarray(row), table, parameters)
        if row.sum()
        else math.nan
        for row in counts
    ]

    # The same operations in the same order; but log and exp may differ in a last bit.
    assert found == pytest.approx(
        model.measured(classes), rel=1e-15, abs=1e-15, nan_ok=True
    )


@pytest.mark.parametrize(
    "model", [KMap(2, POPULATION), DeltaPresence(0, 0.5, POPULATION)]
)
@given(outside=st.integers(0, 50), inside=st.integers(1, 50))
def test_compiled_measures_of_populations_are_the_same(
    plain: dict[object, Callable[..., float]],
    model: PrivacyModel,
    outside: int,
    inside: int,
) -> None:
    counts = np.array([outside, inside, 0], dtype=np.int64)
    measure = type(model).measure
    assert measure is not None

    arguments = (inside, counts, counts, np.array(model.parameters))

    assert plain[measure](*arguments) == measure(*arguments)


MONOTONE = [
    KAnonymity(3),
    MaximumRisk(0.3),
    AverageRisk(0.3),
    DistinctLDiversity(3, "s"),
    PSensitiveKAnonymity(2, 4, "s"),
]
NOT_MONOTONE: list[tuple[PrivacyModel, Values, Values]] = [
    (EntropyLDiversity(2, "s"), "aaab", "ab"),
    (RecursiveCLDiversity(2, 2, "s"), "aaab", "ab"),
    (AlphaKAnonymity(0.5, 2, "s"), "aaab", "ab"),
    (TCloseness(0.1, "s"), "aaab", "ab"),
    (TCloseness(0.1, "s", "ordered"), "aaab", "ab"),
    (DeltaDisclosure(0.5, "s"), "aaab", "ab"),
    (BetaLikeness(0.2, "s"), "aaab", "ab"),
    (DistinctLDiversity(2, "s", "ignored"), ["a", None, None], [None, None]),
    (PSensitiveKAnonymity(2, 2, "s", "ignored"), ["a", None, None], [None, None]),
]


@pytest.mark.parametrize("model", MONOTONE, ids=lambda model: model.name)
@given(group=st.lists(values, min_size=1, max_size=9), data=st.data())
def test_no_part_of_a_failing_class_passes(
    model: PrivacyModel, group: list[str | None], data: st.DataObject
) -> None:
    in_part = data.draw(st.lists(st.booleans(), min_size=9, max_size=9))
    part = list(itertools.compress(group, in_part)) or group[:1]

    whole_passes, part_passes = model.passes(counted([group, part])).tolist()

    assert model.is_monotone
    assert whole_passes or not part_passes


@given(
    whole=st.tuples(st.integers(0, 6), st.integers(1, 6)),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_no_part_of_a_class_that_fails_k_map_passes(
    whole: tuple[int, int], shares: tuple[float, float]
) -> None:
    part = [int(n * share) for n, share in zip(whole, shares, strict=True)]
    model = KMap(4, POPULATION)

    whole_passes, part_passes = model.passes(
        ClassCounts(
            rows=np.array([whole[1], max(1, part[1])]),
            by_value=np.array([[*whole, 0], [part[0], max(1, part[1]), 0]]),
        )
    ).tolist()

    assert model.is_monotone
    assert whole_passes or not part_passes


@pytest.mark.parametrize(
    ("model", "group", "part"), NOT_MONOTONE, ids=[m[0].name for m in NOT_MONOTONE]
)
def test_a_part_of_a_failing_class_may_pass(
    model: PrivacyModel, group: Values, part: Values
) -> None:
    rest = "abbb"  # so that a and b are as frequent in the table
    whole = ranked(model, counted([group, rest]))
    some = ranked(model, counted([part, group, rest, "abbabb"]))

    assert not model.is_monotone
    assert not model.passes(whole)[0]
    assert model.passes(some)[0]


def partitions(n: int, most: int | None = None) -> Iterator[list[int]]:
    """Yield every way to write n as a sum of falling numbers."""
    if n == 0:
        yield []
    for first in range(min(n, most or n), 0, -1):
        for rest in partitions(n - first, first):
            yield [first, *rest]


SIZED = [
    DistinctLDiversity(4, "s"),
    PSensitiveKAnonymity(3, 3, "s"),
    EntropyLDiversity(3, "s"),
    EntropyLDiversity(3.2, "s"),
    EntropyLDiversity(1 + 1e-9, "s"),
    RecursiveCLDiversity(3, 4, "s"),
    RecursiveCLDiversity(1, 3, "s"),
    RecursiveCLDiversity(0.5, 2, "s"),
    RecursiveCLDiversity(0.3, 3, "s"),
    RecursiveCLDiversity(1 / 3, 2, "s"),
    AlphaKAnonymity(0.5, 2, "s"),
    AlphaKAnonymity(0.2, 2, "s"),
    AlphaKAnonymity(1 / 3, 2, "s"),
    AlphaKAnonymity(0.15, 2, "s"),
]


@pytest.mark.parametrize("model", SIZED, ids=lambda model: model.name)
def test_min_rows_is_the_size_of_the_smallest_class_that_passes(
    model: PrivacyModel,
) -> None:
    low, high = model.limits().edges

    def some_class_passes(n: int) -> bool:
        groups = [
            "".join(v * n for v, n in zip("abcdefghij", p, strict=False))
            for p in partitions(n)
        ]
        found = model.measured(counted(groups))
        return bool(((found >= low) & (found <= high)).any())

    passing = [n for n in range(1, model.min_rows + 1) if some_class_passes(n)]

    assert passing == [model.min_rows]


def test_every_model_has_a_measure_or_knows_what_it_reached() -> None:
    for name, kind in MODELS.items():
        assert kind.measure is not None or "reached" in vars(kind), name
        assert kind.__doc__, name
