"""Spec takes what people write, and says what to write instead of the rest."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import core_mondrian
from core_mondrian import (
    BestPolicy,
    KAnonymity,
    PaperPolicy,
    Spec,
    SpecError,
    Suppression,
    Thresholds,
    anonymize,
    load_spec,
    verify,
)
from core_mondrian.hierarchies.codes import Prefix
from core_mondrian.hierarchies.groups import Lookup
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.spec.keys import KEYS

STRICT = Spec(("age", "sex"), (KAnonymity(5),))
GROUPS = {"a": "vowel", "b": "consonant", "e": "vowel"}


@pytest.mark.parametrize(
    "spec",
    [
        Spec(["age", "sex"], k=5),
        Spec(("age", "sex"), KAnonymity(5)),
        Spec(pd.Index(["age", "sex"]), [KAnonymity(5)]),
        Spec(["age", "sex"], k=5, policy="best"),
        Spec(["age", "sex"], k=5, policy=BestPolicy, identifiers=[]),
        Spec(["age", "sex"], models="k-anonymity k=5"),
        Spec(["age", "sex"], models=[{"name": "k-anonymity", "k": 5}]),
    ],
)
def test_forms_of_one_spec(spec: Spec) -> None:
    assert spec == STRICT


@pytest.mark.parametrize(
    ("given", "field", "meant"),
    [
        ({"identifiers": "name"}, "identifiers", ("name",)),
        ({"suppress": "1%"}, "suppress", Suppression(share=0.01)),
        ({"suppress": 7}, "suppress", Suppression(rows=7)),
        ({"policy": "paper", "paper": {"tails": [0, 1]}}, "policy", None),
        ({"thresholds": {"nmi": None}}, "thresholds", Thresholds(nmi=None)),
        ({"numbers": {"age": "mean"}}, "numbers_by_column", {"age": "mean"}),
        ({"numbers": {"default": "mean"}}, "numbers", "mean"),
        ({"nice": {"age": True}}, "nice_by_column", {"age": True}),
        ({"hierarchies": {"sex": "prefix:1"}}, "hierarchies", {"sex": Prefix(1)}),
        ({"hierarchies": {"sex": GROUPS}}, "hierarchies", None),
        (
            {"models": "distinct-l-diversity l=2 sensitive=x"},
            "models",
            (KAnonymity(5), DistinctLDiversity(l=2, sensitive="x")),
        ),
    ],
)
def test_short_forms_are_what_they_stand_for(
    given: dict[str, Any], field: str, meant: object
) -> None:
    spec = Spec(["age", "sex"], k=5, **given)
    if meant is not None:
        assert getattr(spec, field) == meant
    elif field == "policy":
        assert isinstance(spec.policy, PaperPolicy)
        assert set(spec.policy.tails) == {0, 1}
    else:
        entry = spec.hierarchies["sex"]
        assert isinstance(entry, Lookup)
        assert entry.build(["a", "e"]).labels == ("*", "vowel", "a", "e")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_values_and_groups_is_a_hierarchy(library: Any) -> None:
    table = library({"letter": list(GROUPS), "kind": list(GROUPS.values())})
    spec = Spec("letter", k=2, hierarchies={"letter": table})
    entry = spec.hierarchies["letter"]
    assert isinstance(entry, Lookup)
    assert entry.groups == {value: (group,) for value, group in GROUPS.items()}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"policy": "bset"}, "did you mean 'best'"),
        ({"policy": None}, "NoneType is not a policy"),
        ({"policy": 42}, "int is not a policy"),
        ({"k": "5"}, "k has the wrong kind: str"),
        ({"k": None}, "k is missing"),
        ({"suppress": 0.01}, 'write suppress = "1%"'),
        ({"suppress": Suppression(rows=1), "suppress_multiplier": 2}, "has its own"),
        ({"identifires": "x"}, "did you mean 'identifiers'"),
        ({"sensitive": "x"}, "named by the models"),
        ({"models": KAnonymity}, "is not a privacy model"),
        ({"models": [5]}, "int is not a privacy model"),
        ({"unit": 3}, "unit has the wrong kind: int"),
        ({"identifiers": [3]}, "identifiers is a list of texts"),
        ({"hierarchies": "prefix:2"}, "hierarchies has the wrong kind"),
        ({"hierarchies": {"age": {"1": 2}}}, "maps each value to its group"),
        ({"numbers": 3}, "one word, or a table by column"),
        ({"thresholds": {"nmi": "high"}}, "between 0 and 1, or 'off'"),
        ({"policy": BestPolicy(), "best": {"effort": "max"}}, "has its own options"),
        ({"guard_formulas": "yes"}, "it is true or false"),
        ({"shuffle": 1.5}, "it is a whole number"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(
    given: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError) as refused:
        Spec("age", **{"k": 5, **given})
    assert told in str(refused.value)


def test_positions_are_for_columns_and_models_only() -> None:
    with pytest.raises(SpecError, match="need no key"):
        Spec("age", KAnonymity(5), "name")  # type: ignore[call-arg, misc]
    with pytest.raises(SpecError, match="given twice"):
        Spec("age", quasi_identifiers="sex", k=5)  # type: ignore[misc]


def test_what_type_checkers_see_are_the_fields_and_the_keys_of_files() -> None:
    """Its signature is written down for type checkers, and nobody else reads it."""
    source = inspect.getsource(Spec)
    shown = source.partition("def __init__(")[2].partition(") -> None")[0]
    lines = [line.strip() for line in shown.splitlines() if "#" not in line]
    names = {line.split(":")[0] for line in lines if ": " in line}
    fields = {item.name for item in dataclasses.fields(Spec)}
    assert names == fields | set(KEYS)


def test_help_has_a_line_for_every_key() -> None:
    assert Spec.__doc__ is not None
    for key in KEYS:
        assert f"\n        {key} " in Spec.__doc__


def people() -> pd.DataFrame:
    ages = [20 + i % 13 for i in range(120)]
    return pd.DataFrame({"age": ages, "sex": ["f", "m"] * 60})


def test_the_common_case_is_one_line() -> None:
    short = anonymize(people(), ["age", "sex"], k=5)
    assert short.digest == anonymize(people(), STRICT).digest
    verify(short.data, short.spec, budget=0)
    with pytest.raises(SpecError, match="beside a spec"):
        anonymize(people(), STRICT, k=5)


def test_spec_files_are_read_by_name(tmp_path: Path) -> None:
    file = tmp_path / "release.toml"
    file.write_text("quasi_identifiers = ['age', 'sex']\nk = 5\n", encoding="utf-8")
    assert load_spec(str(file)) == load_spec(file) == STRICT


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_release_saves_itself_with_its_evidence(
    library: Any, suffix: str, tmp_path: Path
) -> None:
    release = anonymize(library(people().to_dict("list")), ["age", "sex"], k=5)
    target = tmp_path / f"out.{suffix}"
    release.save(str(target))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"out.{suffix}",
        f"out.{suffix}.manifest.json",
        f"out.{suffix}.owner.json",
    ]
    assert (tmp_path / f"out.{suffix}.owner.json").stat().st_mode & 0o077 == 0
    with pytest.raises(SpecError, match="exists"):
        release.save(target)
    release.save(target, overwrite=True, report=tmp_path / "out.html")
    assert (tmp_path / "out.html").exists()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_measures_are_a_frame_of_the_same_library(library: Any) -> None:
    release = anonymize(library(people().to_dict("list")), ["age", "sex"], k=5)
    table = release.measures_table()
    assert type(table) is type(release.data)
    assert list(table["name"]) == ["age", "sex"] or table["name"].to_pylist() == [
        "age",
        "sex",
    ]


def test_models_builders_and_policies_stand_at_the_top() -> None:
    for name in core_mondrian.__all__:
        assert getattr(core_mondrian, name).__name__ == name
