"""Roles are guessed sensibly, the draft is a spec, and no value is in it."""

import tomllib
from typing import Any

import pyarrow as pa
import pytest

from core_mondrian import DataError, anonymize
from core_mondrian.analysis.suggest import Guess, draft_spec, guess_roles
from core_mondrian.datasets import census
from core_mondrian.spec.declaration import spec_from_mapping

CANARY = "CANARY-66"


def roles(table: pa.Table) -> dict[str, str]:
    return {guess.name: guess.role for guess in guess_roles(table)}


def clinic() -> pa.Table:
    rows = range(60)
    return pa.table(
        {
            "patient_id": [f"{CANARY} {i // 2}" for i in rows],
            "name": [f"{CANARY} {i}" for i in rows],
            "contact": [f"{CANARY}{i}@example.org" for i in rows],
            "visit_day": pa.array([i % 9 for i in rows], pa.date32()),
            "sex": [f"{CANARY} {i % 2}" for i in rows],
            "age": [20 + i % 30 for i in rows],
            "diagnosis": [f"{CANARY} {i % 5}" for i in rows],
            "fnlwgt": [1.0 + i for i in rows],
            "lab": [0.1 * i for i in rows],
            "case": list(rows),
            "notes": [[CANARY]] * 60,
        }
    )


def test_roles_are_guessed_from_names_types_and_counts() -> None:
    assert roles(clinic()) == {
        "patient_id": "unit",
        "name": "identifier",
        "contact": "identifier",
        "visit_day": "quasi-identifier",
        "sex": "quasi-identifier",
        "age": "quasi-identifier",
        "diagnosis": "sensitive",
        "fnlwgt": "weight",
        "lab": "carried",
        "case": "identifier",
        "notes": "carried",
    }


def test_a_draft_is_a_spec_that_runs_and_holds_no_value() -> None:
    text = draft_spec(guess_roles(clinic()), 60, ("", "?"), "./schema.json")

    asked = spec_from_mapping(tomllib.loads(text))

    assert CANARY not in text
    assert text.startswith("#:schema ./schema.json\n")
    assert asked.quasi_identifiers == ("age", "sex", "visit_day")
    assert (asked.unit, asked.weight) == ("patient_id", "fnlwgt")
    assert asked.identifiers == ("name", "contact", "case")
    assert asked.null_values == ("", "?")
    assert anonymize(clinic(), asked).data.column_names == [
        *("visit_day", "sex", "age", "diagnosis", "fnlwgt", "lab", "notes")
    ]


def test_what_is_commented_out_is_a_spec_too() -> None:
    text = draft_spec(guess_roles(clinic()), 60)

    start = text.index("# [[models]]")
    more = "\n".join(x.removeprefix("# ") for x in text[start:].split("\n"))
    asked = spec_from_mapping(tomllib.loads(text[:start] + more))

    assert asked.sensitive == ("diagnosis",)


def test_the_most_telling_eight_are_chosen_and_the_others_shown() -> None:
    text = draft_spec(guess_roles(census(500)), 500)

    chosen = tomllib.loads(text)["quasi_identifiers"]

    assert len(chosen) == 8
    assert chosen[:3] == ["age", "sex", "zip_code"]
    assert '  # "workclass",  #' in text
    assert '# "zip_code" = { kind = "prefix" }' in text


def test_without_telling_names_the_counts_choose() -> None:
    table = pa.table({"a": [i % 7 for i in range(40)], "b": [i % 3 for i in range(40)]})

    asked = tomllib.loads(draft_spec(guess_roles(table), 40))

    assert asked["quasi_identifiers"] == ["a", "b"]


@pytest.mark.parametrize(
    "name", ['q"uote', "back\\slash", "new\nline", "tab\t", "\x7f", "ü", "", "a.b", "#"]
)
def test_any_name_can_be_written(name: str) -> None:
    roles: Any = ("quasi-identifier", "identifier", "unit", "weight", "carried")
    guesses = [
        *(Guess(name, role, "why") for role in roles),
        Guess(name, "sensitive", "why"),
    ]

    read = tomllib.loads(draft_spec(guesses, 1))

    assert read["quasi_identifiers"] == read["identifiers"] == [name]
    assert (read["unit"], read["weight"]) == (name, name)


def test_a_table_without_a_header_is_refused() -> None:
    with pytest.raises(DataError, match="look like data") as caught:
        guess_roles(pa.table({"39": [1], "x": [2]}))

    assert "39" not in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(pa.table({}), id="no columns"),
        pytest.param(pa.table({"age": pa.array([], pa.int64())}), id="no rows"),
        pytest.param(pa.table({"age": pa.nulls(3)}), id="nothing"),
    ],
)
def test_degenerate_tables_get_a_draft(table: pa.Table) -> None:
    assert tomllib.loads(draft_spec(guess_roles(table), 0))["k"] == 5
