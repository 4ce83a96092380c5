"""Spec: what may be asked, from Python and from TOML."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from core_mondrian import (
    BestPolicy,
    KAnonymity,
    OriginalPolicy,
    PaperPolicy,
    Spec,
    SpecError,
    Suppression,
    load_spec,
)
from core_mondrian.spec.declaration import spec_from_mapping
from core_mondrian.spec.thresholds import Thresholds

MINIMAL: dict[str, Any] = {"quasi_identifiers": ["a", "b"], "k": 3}


def test_minimal_spec_loses_little_and_suppresses_nothing() -> None:
    spec = spec_from_mapping(MINIMAL)

    assert spec == Spec(("a", "b"), (KAnonymity(3),))
    assert spec.policy == BestPolicy("auto", disjoint=False, beta=None, price=1.0)
    assert (spec.missing_rule, spec.inline_below) == ("value", 1000)
    assert (spec.numbers, spec.categories) == ("interval", "label")
    assert spec.budget(1000) == 0
    assert spec.to_json()["policy"]["name"] == "best"


def test_paper_policy_has_the_published_defaults() -> None:
    spec = spec_from_mapping({**MINIMAL, "policy": "paper"})

    assert spec == Spec(("a", "b"), (KAnonymity(3),), policy=PaperPolicy())
    assert (spec.missing_rule, spec.inline_below) == ("pattern", 1000)
    assert (spec.numbers, spec.categories) == ("interval", "label")
    assert spec.budget(1000) == 10


@pytest.mark.parametrize(
    ("policy", "budget"), [pytest.param("best", 0), pytest.param("paper", 5)]
)
def test_multiplier_alone_scales_the_budget_of_the_policy(
    policy: str, budget: int
) -> None:
    asked = {**MINIMAL, "policy": policy, "suppress_multiplier": 0.5}

    assert spec_from_mapping(asked).budget(1000) == budget
    assert spec_from_mapping({**asked, "suppress": "1%"}).budget(1000) == 5
    assert spec_from_mapping({**asked, "suppress_multiplier": 2}).budget(1000) == (
        4 * budget
    )


def test_original_policy_has_a_budget_for_patterns_only() -> None:
    asked = {**MINIMAL, "policy": "original", "suppress": "1%"}

    assert spec_from_mapping({**asked, "small_patterns": "suppress"}).budget(1000) == 10


def test_small_patterns_need_patterns() -> None:
    with pytest.raises(SpecError, match="small_patterns means nothing"):
        Spec(("a",), (KAnonymity(2),), small_patterns="suppress")

    spec = Spec(("a",), (KAnonymity(2),), policy=PaperPolicy())
    assert spec.small_patterns == "repair"
    assert spec.to_json()["small_patterns"] == "repair"


def test_original_policy_suppresses_nothing_by_default() -> None:
    assert spec_from_mapping({**MINIMAL, "policy": "original"}).budget(1000) == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        pytest.param({"kk": 1}, "unknown key 'kk' in the spec", id="unknown key"),
        pytest.param({"polcy": "paper"}, "did you mean 'policy'", id="misspelled"),
        pytest.param({"k": "3"}, "k has the wrong kind: str", id="k as text"),
        pytest.param({"k": True}, "wrong kind: bool", id="k as a boolean"),
        pytest.param({"k": 1}, "k-anonymity needs k >= 2", id="k of one"),
        pytest.param({"quasi_identifiers": []}, "no quasi-identifier", id="none"),
        pytest.param({"quasi_identifiers": [1]}, "a list of texts", id="numbers"),
        pytest.param(
            {"quasi_identifiers": ["a", "a"]}, "column 'a' named twice", id="twice"
        ),
        pytest.param({"identifiers": ["a"]}, "named twice", id="two roles"),
        pytest.param({"policy": "best?"}, "policy is one of", id="unknown policy"),
        pytest.param({"original": {}}, "the policy is 'best'", id="other policy"),
        pytest.param({"paper": {}}, "the policy is 'best'", id="not the default"),
        pytest.param(
            {"policy": "paper", "best": {}}, "the policy is 'paper'", id="not best"
        ),
        pytest.param(
            {"policy": "paper", "paper": {"x": 1}},
            "unknown key 'paper.x'",
            id="its option",
        ),
        pytest.param(
            {"policy": "paper", "paper": {"max_bin_edges": "x"}},
            "paper.max_bin_edges is a whole number >= 1",
            id="its option's kind",
        ),
        pytest.param(
            {"policy": "paper", "paper": {"breakout_thresholds": [["a", 0.5]]}},
            "paper.breakout_thresholds are columns with a RILM each",
            id="thresholds as a list",
        ),
        pytest.param(
            {"policy": "original", "original": {"variant": ["fair"]}},
            "original.variant is 'fair' or 'as_published'",
            id="variants",
        ),
        pytest.param({"missing": "drop"}, "missing is one of", id="missing"),
        pytest.param(
            {"missing": "pattern", "small_patterns": "drop"},
            "small_patterns is one of repair, suppress",
            id="small patterns",
        ),
        pytest.param(
            {"policy": "paper", "missing": "value", "small_patterns": "suppress"},
            "small_patterns means nothing with missing = 'value'",
            id="small patterns of none",
        ),
        pytest.param(
            {"small_patterns": "repair"},
            "small_patterns means nothing with missing = 'value'",
            id="small patterns of best",
        ),
        pytest.param({"numbers": "mode"}, "numbers is one of", id="numbers"),
        pytest.param({"numbers": {"z": "mean"}}, "not quasi-identifiers", id="stray"),
        pytest.param({"categories": "sets"}, "categories is one of", id="categories"),
        pytest.param({"categories": ["set"]}, "wrong kind: list", id="their kind"),
        pytest.param(
            {"categories": {"a": "mean"}}, "categories of 'a' is one of", id="of one"
        ),
        pytest.param(
            {"categories": {"z": "set"}}, "not quasi-identifiers", id="stray too"
        ),
        *(
            pytest.param(
                {"weights": {"a": weight}},
                "the weight of 'a' is a finite number above 0",
                id=f"weight {name}",
            )
            for name, weight in {
                "zero": 0,
                "negative": -1.5,
                "not a number": float("nan"),
                "infinite": float("inf"),
                "beyond floats": 10**400,
                "text": "3",
                "boolean": True,
            }.items()
        ),
        pytest.param({"weights": 3}, "wrong kind: int", id="one weight for all"),
        pytest.param(
            {"weights": {"z": 3}}, "weights for ['z'], which are", id="weight of none"
        ),
        pytest.param({"inline_below": -1}, "inline_below", id="negative"),
        pytest.param({"suppress": "some"}, "neither a percentage", id="suppress"),
        pytest.param(
            {"suppress": "10%", "suppress_multiplier": 11},
            "suppress_multiplier times the share is more than all rows",
            id="more than all rows",
        ),
        pytest.param(
            {"suppress_multiplier": -1},
            "suppress_multiplier is a number >= 0",
            id="a negative multiplier",
        ),
        pytest.param(
            {"policy": "original", "suppress": "1%"},
            "suppresses nothing",
            id="original",
        ),
        pytest.param({"exclude": ["z"]}, "not quasi-identifiers", id="exclude"),
        pytest.param({"hierarchies": {"a": 1}}, "is not a hierarchy", id="hierarchy"),
        pytest.param({"thresholds": {"nmi": 2}}, "between 0 and 1", id="threshold"),
        pytest.param({"thresholds": {"nmmi": 1}}, "unknown key", id="its name"),
    ],
)
def test_what_cannot_be_is_refused(more: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_from_mapping({**MINIMAL, **more})

    assert told in str(caught.value)


def test_k_is_asked_for() -> None:
    with pytest.raises(SpecError, match="k is missing"):
        spec_from_mapping({"quasi_identifiers": ["a"]})


def test_spec_without_models_is_refused() -> None:
    with pytest.raises(SpecError, match="k is missing"):
        Spec(("a",), ())


def test_model_has_to_be_a_model() -> None:
    with pytest.raises(SpecError, match="int is not a privacy model"):
        Spec(("a",), (5,))  # type: ignore[arg-type]


def test_file_is_read_with_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;*\ny;*\n")
    file = tmp_path / "spec.toml"
    file.write_text(
        'quasi_identifiers = ["a", "b"]\nk = 4\nsuppress = "2%"\n'
        'policy = "paper"\n'
        'numbers = {default = "mean", b = "median"}\n'
        'categories = {default = "set", b = "label"}\n'
        "[weights]\na = 3\n"
        "[hierarchies]\na = 'a.csv'\n"
        "[paper]\nrilm_epsilon = 'always'\ncut_points = ['median', 'bin_edges']\n"
        "breakout_multiplier = 0\n"
        "[paper.breakout_thresholds]\na = 0.5\n"
    )

    spec = load_spec(file)

    assert spec.hierarchies["a"].leaves == ("x", "y")
    assert (spec.format_of("a"), spec.format_of("b")) == ("mean", "median")
    assert (spec.categories_of("a"), spec.categories_of("b")) == ("set", "label")
    assert (spec.weight_of("a"), spec.weight_of("b")) == (3.0, 1.0)
    assert spec.policy == PaperPolicy(
        cut_points=("median", "bin_edges"),
        rilm_epsilon=None,
        breakout_multiplier=0.0,
        breakout_thresholds=(("a", 0.5),),
    )
    assert spec.budget(100) == 2


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="absent"),
        pytest.param(b"k = ", id="not TOML"),
        pytest.param(b"\xff", id="not text"),
    ],
)
def test_unreadable_file_is_refused(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(SpecError, match="spec"):
        load_spec(file)


NAN = float("nan")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param({"cut_points": ()}, "cut_points", id="no cut points"),
        pytest.param({"cut_points": ("mode",)}, "cut_points", id="unknown cut point"),
        pytest.param({"cut_points": "median"}, "list of words", id="one word"),
        pytest.param({"cut_points": (["median"],)}, "list of words", id="nested"),
        pytest.param({"bin_edges_above": 2.0}, "share between 0 and 1", id="share"),
        pytest.param({"bin_edges_above": True}, "share", id="a share that is true"),
        pytest.param({"compete_above": NAN}, "share", id="a share that is no number"),
        pytest.param({"compete_above": "0.5"}, "share", id="a share as text"),
        pytest.param({"max_bin_edges": 0}, "whole number >= 1", id="no edges"),
        pytest.param({"max_bin_edges": 2.0}, "whole number", id="edges as a float"),
        pytest.param({"max_bin_edges": True}, "whole number", id="edges that are true"),
        pytest.param({"min_bin_values": 1}, "whole number >= 2", id="one value"),
        pytest.param({"rilm_epsilon": NAN}, "rilm_epsilon", id="epsilon"),
        pytest.param({"rilm_epsilon": True}, "rilm_epsilon", id="epsilon that is true"),
        pytest.param({"tails": (1.0,)}, "one of them 0", id="no tail is 0"),
        pytest.param({"tails": ()}, "one of them 0", id="no tails"),
        pytest.param({"tails": (60.0, 0.0)}, "below 50", id="tails that cross"),
        pytest.param({"tails": (-1.0, 0.0)}, "percentages", id="negative tails"),
        pytest.param({"tails": (NAN, 0.0)}, "percentages", id="tails without order"),
        pytest.param({"tails": (10**400, 0)}, "percentages", id="beyond floats"),
        pytest.param({"tails": (True, 0)}, "percentages", id="a tail that is true"),
        pytest.param({"tails": 0.0}, "percentages", id="one tail"),
        pytest.param({"breakout_multiplier": 2.0}, "multiplier", id="multiplier"),
        pytest.param({"breakout_multiplier": True}, "multiplier", id="truth"),
        pytest.param({"breakout_multiplier": NAN}, "multiplier", id="no number"),
    ],
)
def test_policy_checks_its_parameters(options: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        PaperPolicy(**options)


@pytest.mark.parametrize(
    ("thresholds", "told"),
    [
        pytest.param((("a", 7),), "of 'a' lies between 0 and 1", id="above 1"),
        pytest.param((("a", -3),), "of 'a' lies between 0 and 1", id="below 0"),
        pytest.param((("a", NAN),), "lies between 0 and 1", id="not a number"),
        pytest.param((("a", True),), "lies between 0 and 1", id="true"),
        pytest.param((("a", "x"),), "lies between 0 and 1", id="text"),
        pytest.param((("a", 0.5), ("a", 0.6)), "'a' more than once", id="twice"),
        pytest.param(((1, 0.5),), "by their names", id="a number for a column"),
        pytest.param(("a", 0.5), "a RILM each", id="no pairs"),
        pytest.param({"a": 0.5}, "a RILM each", id="a mapping"),
    ],
)
def test_breakout_thresholds_are_shares_of_columns(thresholds: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        PaperPolicy(breakout_multiplier=0.5, breakout_thresholds=thresholds)


def test_breakout_thresholds_need_a_multiplier() -> None:
    with pytest.raises(SpecError, match="without paper") as caught:
        PaperPolicy(breakout_thresholds=(("a", 0.5),))

    assert "breakout_multiplier = 0" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("column", "hint"),
    [pytest.param("agee", "did you mean 'age'?"), pytest.param("x", "those: ['age']")],
)
def test_breakout_thresholds_are_for_quasi_identifiers(column: str, hint: str) -> None:
    policy = PaperPolicy(breakout_multiplier=0, breakout_thresholds=((column, 0.5),))

    with pytest.raises(SpecError, match="not a quasi-identifier") as caught:
        Spec(("age",), (KAnonymity(2),), policy=policy)

    assert caught.value.hint == hint
    assert caught.value.key == ("paper", "breakout_thresholds", column)


def test_tails_count_in_any_order() -> None:
    policy = PaperPolicy(tails=(1, 10.0, 0, 1.0))

    assert policy.tails == (10.0, 1.0, 0.0)
    assert policy == PaperPolicy(tails=(10.0, 1.0, 0.0))
    spec = spec_from_mapping(
        {**MINIMAL, "policy": "paper", "paper": {"tails": [0, 1, 10]}}
    )
    assert spec.policy == policy
    assert spec.to_json()["policy"]["tails"] == [10.0, 1.0, 0.0]


@pytest.mark.parametrize("beta", [True, NAN, 10**400, "1"])
def test_numbers_of_best_are_numbers(beta: Any) -> None:
    with pytest.raises(SpecError, match="beta"):
        BestPolicy(beta=beta)


def test_original_policy_checks_its_variant() -> None:
    with pytest.raises(SpecError, match="variant"):
        OriginalPolicy("unfair")  # type: ignore[arg-type]


def test_json_form_is_plain_and_complete() -> None:
    spec = Spec(
        ("a",),
        (KAnonymity(2),),
        policy=PaperPolicy(),
        suppress=Suppression(rows=3),
        thresholds=Thresholds(nmi=None),
        categories_by_column={"a": "set"},
        weights={"a": 2},
    )

    plain = spec.to_json()

    assert plain["models"] == [{"name": "2-anonymity", "model": "KAnonymity", "k": 2}]
    assert plain["suppress"] == "3"
    assert plain["policy"]["name"] == "paper"
    assert plain["thresholds"]["nmi"] is None
    assert (plain["categories"], plain["categories_by_column"]) == (
        "label",
        {"a": "set"},
    )
    assert plain["weights"] == {"a": 2.0}
    assert set(plain) >= {item.name for item in dataclasses.fields(Spec)}
