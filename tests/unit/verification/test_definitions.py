"""The verifier's definitions and the engine's measures agree, and share nothing."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models_oracle import TREE

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
)
from core_mondrian.verification.counts import Classes
from core_mondrian.verification.definitions import Judgement, definition_of

POPULATION = object()
LETTERS = ("a", "b", "c", "d", "e")
NUMBERS = ("10", "9", "8.5", "1e3", "-4")

Build = Callable[[float, str], PrivacyModel]
# A model of a limit between 0 and 1, and of how missing values are counted.
SIZES: dict[str, Build] = {
    "k-anonymity": lambda x, _: KAnonymity(2 + round(6 * x)),
    "maximum-risk": lambda x, _: MaximumRisk(0.05 + 0.9 * x),
    "average-risk": lambda x, _: AverageRisk(0.05 + 0.9 * x),
}
VALUES: dict[str, Build] = {
    "distinct-l-diversity": lambda x, m: DistinctLDiversity(2 + round(2 * x), "s", m),
    "p-sensitive-k-anonymity": lambda x, m: PSensitiveKAnonymity(
        2, 2 + round(4 * x), "s", m
    ),
    "entropy-l-diversity": lambda x, m: EntropyLDiversity(1.01 + 3 * x, "s", m),
    "recursive-cl-diversity": lambda x, m: RecursiveCLDiversity(
        0.2 + 4 * x, 2 + round(2 * x), "s", m
    ),
    "alpha-k-anonymity": lambda x, m: AlphaKAnonymity(0.05 + 0.9 * x, 2, "s", (), m),
    "alpha of values": lambda x, m: AlphaKAnonymity(
        0.05 + 0.9 * x, 2, "s", ("b", None), m
    ),
    "t-closeness": lambda x, m: TCloseness(0.99 * x, "s", missing=m),
    "ordered": lambda x, m: TCloseness(0.99 * x, "s", "ordered", missing=m),
    "hierarchical": lambda x, m: TCloseness(0.99 * x, "s", "hierarchical", TREE, m),
    "delta-disclosure": lambda x, m: DeltaDisclosure(0.01 + 3 * x, "s", "fails", m),
    "disclosure of present values": lambda x, m: DeltaDisclosure(
        0.01 + 3 * x, "s", "allowed", m
    ),
    "beta-likeness": lambda x, m: BetaLikeness(0.01 + 3 * x, "s", "basic", m),
    "enhanced likeness": lambda x, m: BetaLikeness(0.01 + 3 * x, "s", "enhanced", m),
}
PRESENCE: dict[str, Build] = {
    "k-map": lambda x, _: KMap(2 + round(6 * x), POPULATION),
    "delta-presence": lambda x, _: DeltaPresence(
        round(0.4 * x, 2), 0.5 + 0.4 * x, POPULATION
    ),
}
LIMITS = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 1.0])
MISSING = st.sampled_from(["value", "ignored"])


@st.composite
def tables(draw: Any) -> np.ndarray[Any, Any]:
    """Rows by class (axis 0) and value (axis 1), missing last; no class is empty."""
    n_classes = draw(st.integers(1, 6))
    few = st.integers(0, 6)
    cells = st.lists(few, min_size=6, max_size=6).filter(any)
    return np.array([draw(cells) for _ in range(n_classes)], dtype=np.int64)


def labels_of(model: PrivacyModel) -> tuple[str, ...]:
    return NUMBERS if getattr(model, "distance", "") == "ordered" else LETTERS


def judged(
    model: PrivacyModel, by_value: Any, persons: Any = None
) -> tuple[Judgement, ClassCounts]:
    """Return what the definition says of a table, and what the engine sees of it."""
    rows = by_value.sum(axis=1)
    owner, value = np.nonzero(by_value)
    labels = labels_of(model)
    classes = Classes(
        rows=rows,
        sizes=rows if persons is None else persons,
        owner=owner,
        value=value,
        count=by_value[owner, value],
        table=by_value.sum(axis=0),
        labels=labels,
    )
    define = definition_of(model)
    assert define is not None
    return define(model, classes), ClassCounts(rows, by_value, labels, persons)


def agrees(found: Judgement, model: PrivacyModel, seen: ClassCounts) -> None:
    assert found.passes.tolist() == model.passes(seen).tolist()
    assert (found.holds and bool(found.passes.all())) == model.holds(seen)
    assert found.reached == pytest.approx(model.reached(seen), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("build", (SIZES | VALUES).values(), ids=SIZES | VALUES)
@given(by_value=tables(), limit=LIMITS, missing=MISSING, data=st.data())
@settings(deadline=None)
def test_definition_and_measure_agree(
    build: Build, by_value: Any, limit: float, missing: str, data: st.DataObject
) -> None:
    model = build(limit, missing)
    persons = None
    if data.draw(st.booleans()):
        fewer = [data.draw(st.integers(1, int(n))) for n in by_value.sum(axis=1)]
        persons = np.array(fewer, dtype=np.int64)

    agrees(*_with(model, judged(model, by_value, persons)))


def _with(
    model: PrivacyModel, found: tuple[Judgement, ClassCounts]
) -> tuple[Judgement, PrivacyModel, ClassCounts]:
    return found[0], model, found[1]


@pytest.mark.parametrize("build", PRESENCE.values(), ids=PRESENCE)
@given(
    counts=st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=6
    ),
    limit=LIMITS,
)
def test_definitions_of_populations_agree(
    build: Build, counts: list[tuple[int, int]], limit: float
) -> None:
    model = build(limit, "value")
    outside, inside = np.array(counts, dtype=np.int64).T
    seen = ClassCounts(inside, np.stack([outside, inside, 0 * inside], axis=1))
    define = definition_of(model)
    assert define is not None

    found = define(model, Classes(inside, inside, outside=outside))

    agrees(found, model, seen)


def test_every_shipped_model_has_a_definition() -> None:
    built = {**SIZES, **VALUES, **PRESENCE}

    assert {type(build(0.5, "value")) for build in built.values()} == set(
        MODELS.values()
    )
    assert all(definition_of(build(0.5, "value")) for build in built.values())


def test_a_model_of_the_users_own_has_none() -> None:
    class KAnonymity(PrivacyModel):
        """As ours is called, and nobody's business."""

    assert definition_of(KAnonymity()) is None


def test_a_table_without_classes_reaches_nothing() -> None:
    empty = np.zeros((0, 6), dtype=np.int64)

    assert judged(KAnonymity(2), empty)[0].reached == math.inf
    assert judged(TCloseness(0.5, "s", "ordered"), empty)[0].reached == -math.inf
    assert judged(TCloseness(0.5, "s", "hierarchical", TREE), empty)[0].passes.size == 0
