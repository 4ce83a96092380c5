"""What is chosen on the page becomes a spec file, and the file means the same."""

import tomllib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.analysis.suggest import (
    MOST_QUASI_IDENTIFIERS,
    Guess,
    draft_spec,
    guess_roles,
)
from core_mondrian.datasets import census
from core_mondrian.errors import SpecError
from core_mondrian.hierarchies.codes import Prefix
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.t_closeness import TCloseness
from core_mondrian.spec.declaration import spec_from_mapping
from core_mondrian.spec.policies import BestPolicy
from core_mondrian.studio.draft import Draft, Protection, draft_of, toml_value

NAMES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=12)


def test_first_draft_has_the_roles_that_init_writes() -> None:
    guesses = guess_roles(census(500))

    spec = draft_of(guesses).to_spec()

    asked = tomllib.loads(draft_spec(guesses, 500))
    assert set(spec.quasi_identifiers) == set(asked["quasi_identifiers"])
    assert list(spec.identifiers) == asked["identifiers"]
    assert spec.min_rows == asked["k"]


def test_only_the_most_telling_columns_are_taken() -> None:
    guesses = [Guess(f"q{i}", "quasi-identifier", "", 20 - i) for i in range(12)]

    known = draft_of(guesses).columns_of("quasi-identifier")

    assert known == [f"q{i}" for i in range(12 - MOST_QUASI_IDENTIFIERS, 12)]


def test_postal_codes_have_groups_from_the_start_if_they_kept_their_zeros() -> None:
    table = census(500)
    codes = table.column("zip_code")
    place = table.column_names.index("zip_code")
    numbers = table.set_column(place, "zip_code", codes.cast(pa.int64()))

    texts = draft_of(guess_roles(table)).to_spec().hierarchies

    assert texts == {"zip_code": Prefix()}
    assert draft_of(guess_roles(numbers)).to_spec().hierarchies == {}


def test_there_is_one_unit_and_the_last_wins() -> None:
    draft = Draft({"a": "unit", "b": "quasi-identifier", "c": "carried"})

    draft.assign("c", "unit")

    assert draft.roles == {"a": "carried", "b": "quasi-identifier", "c": "unit"}
    assert draft.to_spec().unit == "c"


def test_a_second_guessed_unit_is_carried() -> None:
    guesses = [Guess(name, "unit", "") for name in "ab"]

    assert draft_of(guesses).roles == {"a": "unit", "b": "carried"}


def test_every_choice_is_in_the_spec() -> None:
    draft = Draft(
        {
            "age": "quasi-identifier",
            "zip code": "quasi-identifier",
            "income": "sensitive",
            "disease": "sensitive",
            "party": "sensitive",
            "name": "identifier",
            "person": "unit",
            "w": "weight",
            "sex": "carried",
        },
        k=7,
        guards={
            "income": Protection("t-closeness", {"t": 0.3}),
            "disease": Protection("distinct-l-diversity", {"l": 3}),
            "party": Protection("none", {}),
        },
        effort="strong",
        groups="sex",
        is_equal=True,
        suppress="2%",
        numbers="median",
        categories="set",
        is_nice=False,
        hierarchies={"zip code": {"kind": "prefix", "steps": 2}, "gone": {"kind": "x"}},
    )

    spec = draft.to_spec()

    assert spec.quasi_identifiers == ("age", "zip code")
    assert (spec.identifiers, spec.unit, spec.weight) == (("name",), "person", "w")
    assert spec.min_rows == 7
    found = {type(model): model for model in spec.models}
    assert found[TCloseness].t == 0.3  # type: ignore[attr-defined]
    assert found[DistinctLDiversity].l == 3  # type: ignore[attr-defined]
    assert spec.sensitive == ("income", "disease")
    assert spec.policy == BestPolicy(effort="strong", equity="sex")
    assert spec.suppress is not None
    assert spec.budget(1000) == 20
    assert (spec.numbers, spec.categories) == ("median", "set")
    assert list(spec.hierarchies) == ["zip code"]


def test_single_columns_have_formats_and_weights_of_their_own() -> None:
    draft = Draft(dict.fromkeys(("age", "pay", "job", "town"), "quasi-identifier"))
    draft.roles["town"] = "carried"
    draft.numbers_of = {"age": "median", "pay": "interval", "job": "mean"}
    draft.categories_of = {"job": "set", "town": "set"}
    draft.weights = {"age": 2.5, "town": 9.0}
    draft.hierarchies["job"] = {"kind": "flat"}

    asked = tomllib.loads(draft.to_toml())

    assert asked["numbers"] == {"default": "interval", **draft.numbers_of}
    assert asked["categories"] == {"default": "label", "job": "set"}
    assert asked["weights"] == {"age": 2.5}
    assert asked["hierarchies"] == {"job": {"kind": "flat"}}
    spec = draft.to_spec()
    assert [spec.format_of(name) for name in ("age", "pay")] == ["median", "interval"]
    assert spec.categories_of("job") == "set"
    assert spec.weight_of("age") == 2.5


def test_a_column_called_default_is_released_as_all_others() -> None:
    draft = Draft({"default": "quasi-identifier"}, numbers_of={"default": "mean"})

    assert draft.to_spec().numbers == "interval"
    assert draft.to_spec().numbers_by_column == {}


@pytest.mark.parametrize("policy", ["paper", "original"])
def test_what_belongs_to_policy_best_is_not_asked_of_others(policy: str) -> None:
    draft = Draft(
        {"age": "quasi-identifier"}, policy=policy, groups="age", is_equal=True
    )

    assert draft.to_spec().policy.name == policy


def test_without_a_quasi_identifier_there_is_no_spec() -> None:
    with pytest.raises(SpecError, match="others may know") as caught:
        Draft({"age": "carried"}).to_spec()

    assert caught.value.hint


def test_wrong_suppression_is_refused_in_the_words_of_spec_files() -> None:
    with pytest.raises(SpecError, match="neither a percentage"):
        Draft({"age": "quasi-identifier"}, suppress="some").to_spec()


@given(st.lists(NAMES, min_size=2, max_size=6, unique=True))
def test_any_column_name_survives_the_file(names: list[str]) -> None:
    draft = Draft(dict.fromkeys(names, "quasi-identifier"))
    draft.assign(names[-1], "sensitive")
    draft.hierarchies[names[0]] = {"kind": "prefix"}

    spec = spec_from_mapping(tomllib.loads(draft.to_toml()))

    assert list(spec.quasi_identifiers) == names[:-1]
    assert spec.sensitive == (names[-1],)
    assert list(spec.hierarchies) == names[:1]


PLAIN = st.recursive(
    st.booleans()
    | st.integers(-(2**60), 2**60)
    | NAMES
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_plain_values_are_read_back_as_they_were(value: Any) -> None:
    assert tomllib.loads(f"x = {toml_value(value)}")["x"] == value
