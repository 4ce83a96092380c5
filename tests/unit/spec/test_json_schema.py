"""The JSON Schema says what a spec file may say: no more, no less."""

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from core_mondrian.models.parameters import PARAMETERS
from core_mondrian.spec.json_schema import spec_schema
from core_mondrian.spec.keys import KEYS, TABLES
from core_mondrian.spec.metadata import keys_of

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOML = re.compile(r"^```toml([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCHEMA = spec_schema()


def complaints(asked: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    return [error.json_path for error in validator.iter_errors(asked)]


def described(schema: Any) -> list[str]:
    """The descriptions of a schema, all the way down."""
    if isinstance(schema, list):
        return [text for item in schema for text in described(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["description"]] if "description" in schema else []
    return own + [text for item in schema.values() for text in described(item)]


def test_it_is_a_schema_with_every_key_described() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    assert set(SCHEMA["properties"]) == set(KEYS)
    assert "" not in described(SCHEMA)
    declared = [
        *KEYS.values(),
        *(k for t in TABLES.values() for k in keys_of(t).values()),
    ]
    meanings = {key.meaning for key in declared} | set(PARAMETERS.values())
    assert set(described(SCHEMA)) == meanings


def test_specs_of_the_pages_are_valid() -> None:
    # But for probabilities and a tree, which are no specs, and one wrong on purpose.
    texts = [
        text
        for page in PAGES
        for marks, text in TOML.findall(page.read_text(encoding="utf-8"))
        if not re.search(r"education\.toml|pets\.toml|wrong\.toml", marks)
    ]

    assert len(texts) >= 3
    assert [complaints(tomllib.loads(text)) for text in texts] == [[]] * len(texts)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"suppress": 3, "suppress_multiplier": 0.5},
        {"suppress": "1%", "suppress_multiplier": 1.5},
        {"missing": "pattern", "small_patterns": "suppress"},
        {"numbers": {"default": "mean", "age": "median"}, "categories": "set"},
        {"best": {"effort": "max", "disjoint": True, "beta": 2, "price": 1.5}},
        {
            "paper": {
                "cut_points": ["median", "bin_edges"],
                "rilm_epsilon": "always",
                "breakout_thresholds": {"age": 0.5},
                "tails": [1, 0],
            }
        },
        {"thresholds": {"nmi": "off", "pearson": 0.5}},
        {"models": [{"name": "t-closeness", "t": 0.2, "sensitive": "x"}]},
        {"models": [{"name": "k-map", "k": 5, "population": "all.csv"}]},
        {"models": [{"name": "mine.py:Model", "anything": 1}]},
        {"pseudonyms": ["id"], "unit": "id", "weight": "w", "accept": ["x"]},
    ],
)
def test_good_specs_are_valid(asked: dict[str, Any]) -> None:
    assert complaints(asked) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"kk": 3},
        {"k": 1},
        {"k": "3"},
        {"policy": "bests"},
        {"quasi_identifiers": "age"},
        {"quasi_identifiers": [1]},
        {"numbers": "mode"},
        {"numbers": {"age": "mode"}},
        {"best": {"effort": "slow"}},
        {"original": {"fair": True}},
        {"paper": {"breakout_thresholds": {"age": 7}}},
        {"paper": {"tails": 0}},
        {"weights": {"age": 0}},
        {"thresholds": {"nmi": 2}},
        {"models": [{"name": "t-closeness", "t": 0.2}]},
        {"models": [{"name": "t-closness"}]},
        {"unit": ["id"]},
        {"suppress_multiplier": -1},
        {"small_patterns": "drop"},
    ],
)
def test_bad_specs_are_not(asked: dict[str, Any]) -> None:
    assert complaints(asked) != []


def test_only_a_policy_of_ones_own_has_fields_of_its_own() -> None:
    paper = {"spend": "as-written", "retired": 67}

    assert complaints({"policy": "ages.py:LegalAges", "paper": paper}) == []
    assert complaints({"policy": "paper", "paper": paper}) == ["$.paper"]
    assert complaints({"paper": paper}) == ["$.paper"]
