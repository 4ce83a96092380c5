"""What cannot be met is said so, with what can, and that can indeed."""

import dataclasses
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from models_oracle import accepts

from core_mondrian import InfeasibleError, Spec, anonymize
from core_mondrian.engine.constraints import _hint
from core_mondrian.models import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    ClassCounts,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    MaximumRisk,
    PrivacyModel,
    PSensitiveKAnonymity,
    RecursiveCLDiversity,
    TCloseness,
)

NEAREST = re.compile(r"(\w+) = (\S+) is the nearest that can be met")


def table_of(values: Any, **columns: Any) -> pa.Table:
    values = pa.array(list(values), pa.string())
    return pa.table({"q": [1] * len(values), "s": values, **columns})


def suggested(model: PrivacyModel, error: InfeasibleError) -> PrivacyModel | None:
    """The model with what the message says can be met."""
    if (found := NEAREST.fullmatch(error.hint or "")) is None:
        return None
    field, number = found[1], float(found[2])
    is_whole = type(getattr(model, field)) is int and number.is_integer()
    value = int(number) if is_whole else number
    return dataclasses.replace(model, **{field: value})  # type: ignore[type-var]


PATIENTS = "aaaab"
CASES: dict[str, tuple[PrivacyModel, str, str]] = {
    "k": (KAnonymity(9), "the table has 5 rows, but one class needs 9", "k = 5"),
    "maximum": (MaximumRisk(0.01), "5 rows, but one class needs 100", "risk = 0.2"),
    "average": (AverageRisk(0.01), "as one class reaches 0.2", "risk = 0.2"),
    "distinct": (DistinctLDiversity(3, "s"), "reaches 2", "l = 2"),
    "distinct of few rows": (DistinctLDiversity(8, "s"), "class needs 8", "l = 2"),
    "p": (PSensitiveKAnonymity(3, 4, "s"), "reaches 2", "p = 2"),
    "k of p": (PSensitiveKAnonymity(2, 9, "s"), "one class needs 9", "k = 5"),
    "entropy": (EntropyLDiversity(2.0, "s"), "reaches 1.64938", "l = 1.6493"),
    "c": (RecursiveCLDiversity(2.0, 2, "s"), "reaches 4", "c = 4.0001"),
    "recursive l": (RecursiveCLDiversity(9.0, 3, "s"), "reaches inf", ""),
    "alpha": (AlphaKAnonymity(0.5, 2, "s"), "reaches 0.8", "alpha = 0.8"),
    "k of alpha": (AlphaKAnonymity(0.8, 9, "s"), "one class needs 9", "k = 5"),
    "both of alpha": (AlphaKAnonymity(0.5, 9, "s"), "one class needs 9", ""),
    "a value": (AlphaKAnonymity(0.1, 2, "s", ("b",)), "reaches 0.2", "alpha = 0.2"),
}


@pytest.mark.parametrize(("model", "why", "instead"), CASES.values(), ids=CASES)
def test_the_message_names_the_model_by_how_much_and_what_instead(
    model: PrivacyModel, why: str, instead: str
) -> None:
    with pytest.raises(InfeasibleError) as caught:
        anonymize(table_of(PATIENTS), Spec(("q",), (model,)))

    assert caught.value.message.startswith(f"{model.name} cannot be met: ")
    assert caught.value.message.endswith(why)
    hint = f"{instead} is the nearest that can be met"
    assert caught.value.hint == (
        hint if instead else "bring more rows, or ask for less"
    )


@pytest.mark.parametrize(
    "model",
    [
        TCloseness(0, "s"),
        DeltaDisclosure(0.01, "s"),
        BetaLikeness(0.01, "s"),
        BetaLikeness(0.01, "s", "enhanced"),
    ],
    ids=lambda model: model.name,
)
def test_every_table_is_like_itself(model: PrivacyModel) -> None:
    release = anonymize(table_of(PATIENTS), Spec(("q",), (model,)))

    assert release.verification.models[0].reached == 0


@given(st.data())
def test_what_is_suggested_can_be_met(data: st.DataObject) -> None:
    rows = st.lists(
        st.sampled_from(["a", "a", "b", "c", None]), min_size=1, max_size=12
    )
    values = data.draw(rows)
    many = st.integers(2, 15)
    missing = data.draw(st.sampled_from(["value", "ignored"]))
    some = data.draw(st.sampled_from([(), ("a",), ("b", None)]))
    p = data.draw(many)
    model = data.draw(
        st.one_of(
            st.builds(KAnonymity, many),
            st.builds(MaximumRisk, st.sampled_from([0.03, 0.3])),
            st.builds(AverageRisk, st.sampled_from([0.03, 0.3])),
            st.builds(DistinctLDiversity, many, st.just("s"), st.just(missing)),
            st.builds(
                lambda k: PSensitiveKAnonymity(p, p + k, "s", missing),
                st.integers(0, 9),
            ),
            st.builds(
                lambda l: EntropyLDiversity(l, "s", missing),  # noqa: E741
                st.sampled_from([1.5, 2, 3.0, 9]),
            ),
            st.builds(
                lambda c, l: RecursiveCLDiversity(c, l, "s", missing),  # noqa: E741
                st.sampled_from([0.1, 1, 1.5, 3]),
                st.integers(2, 4),
            ),
            st.builds(
                lambda alpha, k: AlphaKAnonymity(alpha, k, "s", some, missing),
                st.sampled_from([0.1, 0.25, 0.5]),
                many,
            ),
        )
    )
    try:
        anonymize(table_of(values), Spec(("q",), (model,)))
        assume(False)  # noqa: FBT003
    except InfeasibleError as error:
        weaker = suggested(model, error)
    assert not accepts(model, [values])
    assume(weaker is not None)
    assert weaker is not None

    release = anonymize(table_of(values), Spec(("q",), (weaker,)))

    assert accepts(weaker, [values])
    assert release.verification.n_classes == 1


def test_a_suggestion_has_all_its_digits() -> None:
    # 1234567 rows would be 1.23457e+06, which is more than there are.
    rows = np.array([1_234_567])
    classes = ClassCounts(rows, np.zeros((1, 0), dtype=np.int64))

    assert _hint(KAnonymity(2_000_000), classes).startswith("k = 1234567 is")


def test_persons_are_suggested_where_persons_are_counted() -> None:
    table = table_of("aabbc", person=[1, 1, 2, 2, 3])
    spec = Spec(("q",), (KAnonymity(5),), unit="person")

    with pytest.raises(
        InfeasibleError, match=r"3 persons.*5\nhint: k = 3 is"
    ) as caught:
        anonymize(table, spec)

    weaker = suggested(KAnonymity(5), caught.value)
    assert weaker == KAnonymity(3)
    anonymize(table, dataclasses.replace(spec, models=(KAnonymity(3),)))


@pytest.mark.parametrize(
    "model",
    [MaximumRisk(0.3), AverageRisk(0.3), KAnonymity(3), DistinctLDiversity(2, "s")],
    ids=lambda model: model.name,
)
def test_an_empty_table_is_refused_in_words(model: PrivacyModel) -> None:
    # Found by fuzzing: the risk of nobody was divided by no rows.
    spec = Spec(("q",), (model, KAnonymity(2)))

    with pytest.raises(InfeasibleError, match="0 rows"):
        anonymize(table_of([]), spec)


def test_the_first_model_that_fails_is_told() -> None:
    models = (KAnonymity(2), DistinctLDiversity(2, "s"), EntropyLDiversity(2.0, "s"))

    with pytest.raises(InfeasibleError, match=r"^entropy 2\.0-diversity of s"):
        anonymize(table_of(PATIENTS), Spec(("q",), models))
