"""What models refuse, and how they say it."""

import dataclasses
import math
from collections.abc import Callable

import pytest

from core_mondrian import models
from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.tree import flat
from core_mondrian.models import (
    MODELS,
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
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
)
from core_mondrian.models.checks import as_text, fewest_rows

ALL = object()
WHOLE: dict[str, tuple[Callable[[int], PrivacyModel], int]] = {
    "k": (KAnonymity, 2),
    "distinct l": (lambda x: DistinctLDiversity(x, "s"), 2),
    "p": (lambda x: PSensitiveKAnonymity(x, 9, "s"), 2),
    "k of p": (lambda x: PSensitiveKAnonymity(2, x, "s"), 2),
    "recursive l": (lambda x: RecursiveCLDiversity(2, x, "s"), 2),
    "k of alpha": (lambda x: AlphaKAnonymity(0.5, x, "s"), 2),
    "k-map": (lambda x: KMap(x, ALL), 2),
}
NUMBERS: dict[str, tuple[Callable[[float], PrivacyModel], list[float], list[float]]] = {
    "entropy l": (lambda x: EntropyLDiversity(x, "s"), [1.1, 2, 9.5], [1, 0.5, -3]),
    "c": (lambda x: RecursiveCLDiversity(x, 2, "s"), [0.1, 3], [0, -1, 1e-320]),
    "alpha": (lambda x: AlphaKAnonymity(x, 2, "s"), [0.1, 0.99], [0, 1, -0.1, 2]),
    "t": (lambda x: TCloseness(x, "s"), [0, 0.2], [-0.1, 1, 20]),
    "delta": (lambda x: DeltaDisclosure(x, "s"), [0.1, 3], [0, -1]),
    "beta": (lambda x: BetaLikeness(x, "s"), [0.1, 4], [0, -1]),
    "maximum": (MaximumRisk, [0.05, 0.5], [0, 1, -1, 5, 1e-320]),
    "average": (AverageRisk, [0.05, 0.5], [0, 1, -1, 5]),
    "low": (lambda x: DeltaPresence(x, 0.5, ALL), [0, 0.5], [-0.1, 0.6, 1.1]),
    "high": (lambda x: DeltaPresence(0, x, ALL), [0.1, 0.9], [0, 1, 1.1, -0.5]),
}
OF_A_COLUMN: list[Callable[[str, str], PrivacyModel]] = [
    lambda s, m: DistinctLDiversity(2, s, m),
    lambda s, m: PSensitiveKAnonymity(2, 2, s, m),
    lambda s, m: EntropyLDiversity(2, s, m),
    lambda s, m: RecursiveCLDiversity(2, 2, s, m),
    lambda s, m: AlphaKAnonymity(0.5, 2, s, (), m),
    lambda s, m: TCloseness(0.2, s, missing=m),
    lambda s, m: DeltaDisclosure(1, s, missing=m),
    lambda s, m: BetaLikeness(1, s, missing=m),
]


@pytest.mark.parametrize(("build", "least"), WHOLE.values(), ids=WHOLE)
def test_whole_numbers(build: Callable[[object], PrivacyModel], least: int) -> None:
    build(least)
    for wrong in (True, 2.0, "2", None, math.nan):
        with pytest.raises(SpecError, match="must be a whole number, got"):
            build(wrong)
    for wrong in (least - 1, 0, -5):
        with pytest.raises(SpecError, match=rf">= {least}, got .*={wrong}"):
            build(wrong)
    with pytest.raises(SpecError, match="<= 1e"):
        build(10**400)


@pytest.mark.parametrize(("build", "right", "wrong"), NUMBERS.values(), ids=NUMBERS)
def test_numbers(
    build: Callable[[object], PrivacyModel], right: list[float], wrong: list[float]
) -> None:
    for value in right:
        assert build(value).parameters
        assert build(value).min_rows >= 1
    for value in (*wrong, math.nan, math.inf, 10**400):
        with pytest.raises(SpecError):
            build(value)
    for value in (True, "1", None):
        with pytest.raises(SpecError, match="must be a number, got"):
            build(value)


@pytest.mark.parametrize("build", OF_A_COLUMN)
def test_sensitive_columns(build: Callable[[object, str], PrivacyModel]) -> None:
    for wrong, found in (("", "''"), (None, "NoneType"), (("a",), "tuple"), (3, "int")):
        with pytest.raises(SpecError, match=rf"of a sensitive column, got {found}\n"):
            build(wrong, "value")
    with pytest.raises(SpecError, match=r"missing must be one of 'value', 'ignored'"):
        build("income", "ignore")
    assert build("income", "ignored").skips_missing
    assert not build("income", "value").skips_missing
    assert build("income", "value").column == "income"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        pytest.param(
            lambda: PSensitiveKAnonymity(3, 2, "s"), "k >= p, got p=3 and k=2", id="p"
        ),
        pytest.param(lambda: TCloseness(0.2, "s", "near"), "distance must", id="near"),  # type: ignore[arg-type]
        pytest.param(lambda: TCloseness(0.2, "s", 3), "got int", id="no text"),  # type: ignore[arg-type]
        pytest.param(
            lambda: TCloseness(0.2, "s", "hierarchical"),
            "needs a hierarchy, got NoneType",
            id="no hierarchy",
        ),
        pytest.param(
            lambda: TCloseness(0.2, "s", "hierarchical", "tree.csv"),  # type: ignore[arg-type]
            "needs a hierarchy, got str",
            id="name of a hierarchy",
        ),
        pytest.param(
            lambda: TCloseness(0.2, "s", "equal", flat(["a"])),
            "has no use for a hierarchy",
            id="hierarchy too many",
        ),
        pytest.param(
            lambda: AlphaKAnonymity(0.2, 2, "s", "HIV"),  # type: ignore[arg-type]
            "values must be a list, got str",
            id="values as text",
        ),
        pytest.param(
            lambda: DeltaDisclosure(1, "s", "ok"),
            "absent must be",
            id="absent",  # type: ignore[arg-type]
        ),
        pytest.param(lambda: BetaLikeness(1, "s", "best"), "kind must", id="kind"),  # type: ignore[arg-type]
        pytest.param(
            lambda: DeltaPresence(0, 1, ALL), "asks for nothing", id="all shares"
        ),
        pytest.param(
            lambda: DeltaPresence(0.5, 0.4, ALL), "low <= high", id="low above high"
        ),
        pytest.param(lambda: KMap(5, None), "got NoneType", id="no population"),
        pytest.param(lambda: KMap(5, "all.csv"), "got str", id="population by name"),
        pytest.param(
            lambda: DeltaPresence(0, 0.5, None), "needs a population", id="nobody"
        ),
    ],
)
def test_what_does_not_fit(build: Callable[[], PrivacyModel], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build()


HINTS: list[tuple[Callable[[], PrivacyModel], str]] = [
    (lambda: KAnonymity(1), "with k = 1 every row may stand alone"),
    (lambda: DistinctLDiversity(1, "s"), "at least 2 are needed"),
    (lambda: PSensitiveKAnonymity(1, 3, "s"), "at least 2 are needed"),
    (lambda: PSensitiveKAnonymity(3, 2, "s"), "fewer than p rows cannot hold p"),
    (lambda: EntropyLDiversity(1, "s"), "2 equally frequent values reach 2"),
    (lambda: RecursiveCLDiversity(2, 1, "s"), "with l = 1 one value may be alone"),
    (lambda: AlphaKAnonymity(1, 2, "s"), "with alpha = 1 it is k-anonymity"),
    (lambda: TCloseness(1, "s"), "no distance is above 1"),
    (lambda: MaximumRisk(1), "a risk of 1 is certainty"),
    (lambda: AverageRisk(1), "a risk of 1 is certainty"),
    (lambda: KMap(1, ALL), "with k = 1 nothing is asked"),
    (lambda: DeltaPresence(0, 1, ALL), "high < 1 hides who is in the table"),
    (lambda: DistinctLDiversity(2, ""), "name one column"),
]


@pytest.mark.parametrize(("build", "hint"), HINTS)
def test_what_is_refused_comes_with_advice(
    build: Callable[[], PrivacyModel], hint: str
) -> None:
    with pytest.raises(SpecError) as caught:
        build()

    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(("build", "_least"), WHOLE.values(), ids=WHOLE)
def test_the_largest_whole_number(
    build: Callable[[int], PrivacyModel], _least: int
) -> None:
    largest = 10**15
    with pytest.raises(SpecError, match=r"<= 1e\+15"):
        build(largest + 1)
    if build is not WHOLE["p"][0]:  # which k bounds
        build(largest)


@pytest.mark.parametrize("build", [build for build, *_ in NUMBERS.values()])
def test_numbers_that_are_hardly_there(
    build: Callable[[float], PrivacyModel],
) -> None:
    with pytest.raises(SpecError):
        build(0.5e-15)
    with pytest.raises(SpecError):
        build(2e15)


def test_limits_of_numbers_are_told_as_they_are() -> None:
    for build, condition in (
        (lambda: EntropyLDiversity(1, "s"), "1 < l < 1e+15, got l=1"),
        (lambda: AlphaKAnonymity(1.0, 2, "s"), "0 < alpha < 1, got alpha=1.0"),
        (lambda: TCloseness(1, "s"), "0 <= t < 1, got t=1"),
        (lambda: DeltaPresence(-1, 0.5, ALL), "0 <= low <= 1, got low=-1"),
        (lambda: BetaLikeness(0, "s"), "0 < beta < 1e+15, got beta=0"),
    ):
        with pytest.raises(SpecError) as caught:
            build()
        assert condition in caught.value.message
        assert caught.value.key == (condition.rpartition("got ")[2].partition("=")[0],)


def test_the_smallest_numbers() -> None:
    assert BetaLikeness(1e-15, "s").beta == 1e-15
    assert MaximumRisk(1e-15).min_rows == pytest.approx(10**15)
    assert TCloseness(0, "s").t == 0
    assert DeltaPresence(1, 1, ALL).low == 1


@pytest.mark.parametrize("wrong", [None, "p.csv", b"p.csv", 3, 0.5, True], ids=repr)
def test_what_is_no_population(wrong: object) -> None:
    with pytest.raises(SpecError, match=f"population, got {type(wrong).__name__}"):
        KMap(2, wrong)


def test_values_have_one_spelling_whatever_their_type() -> None:
    shown = [as_text(x) for x in (True, False, 1.0, 1.5, -2.0, 3, "1.0", 1e300)]

    assert shown[:7] == ["true", "false", "1", "1.5", "-2", "3", "1"]
    assert shown[7] == "1E+300"


@pytest.mark.parametrize(
    ("share", "rows"),
    [(0.5, 2), (0.34, 3), (1 / 3, 3), (1.0, 1), (4.0, 1), (0.99, 2), (math.inf, 1)],
)
def test_rows_of_which_one_is_no_more_than_a_share(share: float, rows: int) -> None:
    assert fewest_rows(share) == rows


def test_every_model_is_a_frozen_value_with_missing_last() -> None:
    for kind in MODELS.values():
        fields = [item.name for item in dataclasses.fields(kind)]  # type: ignore[arg-type]
        assert not hasattr(kind, "__dict__") or "__slots__" in vars(kind)
        assert ("sensitive" in fields) == (fields[-1] == "missing"), kind


def test_every_model_is_exported() -> None:
    for kind in MODELS.values():
        assert getattr(models, kind.__name__) is kind
        assert kind.__name__ in models.__all__


def test_models_are_hashable() -> None:
    built = [build("income", "value") for build in OF_A_COLUMN]

    assert len({*built, KAnonymity(2), MaximumRisk(0.5)}) == len(built) + 2
