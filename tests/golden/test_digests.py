"""Digests of known releases: a change that alters a released cell shows up here.

To accept a change on purpose, rewrite ``digests.json`` and put the change under
"Output changed" in the changelog:

    UPDATE_GOLDEN=1 CORE_MONDRIAN_ADULT=/folder/of/adult pytest tests/golden
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import IS_PLAIN
from support.keys import KEY

from core_mondrian import KAnonymity, OriginalPolicy, PaperPolicy, Spec, anonymize
from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, adult, census
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.spec.policies import BestPolicy

FILE = Path(__file__).with_name("digests.json")
UPDATE = os.environ.get("UPDATE_GOLDEN", "") == "1"
ADULT = os.environ.get("CORE_MONDRIAN_ADULT", "")
POLICIES = {"paper": PaperPolicy(), "original": OriginalPolicy()}
BEST = {
    "auto": BestPolicy(),
    "fast": BestPolicy("fast"),
    "light": BestPolicy("light"),
    "strong": BestPolicy("strong"),
    "thorough": BestPolicy("thorough"),
    "max": BestPolicy("max"),
    "fast disjoint": BestPolicy("fast", disjoint=True),
    "strong disjoint": BestPolicy("strong", disjoint=True),
    "fast, equity by race": BestPolicy("fast", equity="race"),
    "strong, equity by marital status": BestPolicy("strong", equity="marital_status"),
}
MISSING = ("pattern", "value")
ADULT_COLUMNS = (
    "age",
    "marital-status",
    "occupation",
    "native-country",
    "sex",
    "workclass",
)
ADULT_NUMBERS = ("age", "hours-per-week", "capital-gain", "capital-loss")

needs_adult = pytest.mark.skipif(
    not ADULT or IS_PLAIN,
    reason="CORE_MONDRIAN_ADULT names no folder with Adult, or kernels are uncompiled",
)


@cache
def adult_table() -> pa.Table:
    return adult(ADULT)


def check(case: str, found: dict[str, Any]) -> None:
    """Compare with the file, or write it when asked to."""
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    if UPDATE:
        known[case] = found
        FILE.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    assert found == known.get(case)


def digests(
    table: pa.Table,
    names: tuple[str, ...],
    policy: str,
    missing: Any,
    numbers: Any,
    **more: Any,
) -> dict[str, Any]:
    spec = Spec(
        names,
        (KAnonymity(5),),
        policy={**POLICIES, **BEST}[policy],
        missing=missing,
        numbers=numbers,
        **more,
    )
    release = anonymize(table, spec, key=KEY)  # samples are drawn under it
    return {
        "classes": release.verification.n_classes,
        "suppressed": release.n_suppressed,
        "input": release.input_digest(bytes(32)),
        "tree": release.tree.digest,
        "release": release.digest,
    }


@pytest.mark.parametrize("numbers", ["interval", "mean", "median"])
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("policy", POLICIES)
def test_census_is_released_as_before(policy: str, missing: str, numbers: str) -> None:
    table = census(2000, seed=1)

    found = digests(table, CENSUS_QUASI_IDENTIFIERS, policy, missing, numbers)

    check(f"census 2000 {policy} {missing} {numbers}", found)


# Uncompiled, the trees of the test above are enough: no other kernel is used below.
shows_the_same_trees = pytest.mark.skipif(IS_PLAIN, reason="the trees are those above")


@shows_the_same_trees
@pytest.mark.parametrize("nice", [False, True], ids=["exact", "nice"])
@pytest.mark.parametrize("numbers", ["interval", "bounds", "midpoint", "sample"])
def test_census_is_released_in_other_formats_as_before(numbers: str, nice: Any) -> None:
    names = CENSUS_QUASI_IDENTIFIERS

    found = digests(census(2000, seed=1), names, "paper", "value", numbers, nice=nice)

    check(f"census 2000 paper value {numbers}{' nice' * nice}", found)


@shows_the_same_trees
@pytest.mark.parametrize("missing", MISSING)
def test_census_is_released_with_sets_as_before(missing: str) -> None:
    names = CENSUS_QUASI_IDENTIFIERS

    found = digests(
        census(2000, seed=1), names, "paper", missing, "interval", categories="set"
    )

    check(f"census 2000 paper {missing} interval set", found)


EDUCATION = from_paths(
    [
        *((name, "school", "*") for name in ("Preschool", "1st-4th", "5th-6th")),
        *((name, "school", "*") for name in ("7th-8th", "9th", "10th", "11th", "12th")),
        *((name, "finished", "*") for name in ("HS-grad", "Some-college")),
        *((name, "degree", "*") for name in ("Assoc-voc", "Assoc-acdm", "Bachelors")),
        *((name, "degree", "*") for name in ("Masters", "Prof-school", "Doctorate")),
    ]
)
BEST_FORMATS: dict[str, dict[str, Any]] = {
    "label": {},
    "set": {"categories": "set"},
    "hierarchy": {"hierarchies": {"education": EDUCATION}},
}


@pytest.mark.parametrize("how", BEST_FORMATS)
@pytest.mark.parametrize("policy", BEST)
def test_census_is_released_by_best_as_before(policy: str, how: str) -> None:
    if IS_PLAIN:
        pytest.skip("minutes without the compiler")
    names = ("age", "sex", "education", "occupation", "race", "hours_per_week")
    table = census(3000, seed=1)

    found = digests(
        table, names, policy, None, "interval", inline_below=100, **BEST_FORMATS[how]
    )

    check(f"census 3000 best {policy} {how}", found)


@needs_adult
@pytest.mark.parametrize("policy", ["fast", "strong"])
def test_adult_is_released_by_best_as_before(policy: str) -> None:
    found = digests(adult_table(), ADULT_COLUMNS, policy, None, "interval")

    check(f"adult best {policy}", found)


@needs_adult
@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("policy", POLICIES)
def test_adult_is_released_as_before(policy: str, missing: str) -> None:
    found = digests(adult_table(), ADULT_COLUMNS, policy, missing, "interval")

    check(f"adult {policy} {missing} interval", found)


@needs_adult
@pytest.mark.parametrize(
    ("variant", "k", "n_classes", "dm"),
    [
        pytest.param("fair", 5, 1382, 19_664_372, id="fair, k = 5"),
        pytest.param("fair", 50, 302, 20_530_352, id="fair, k = 50"),
        pytest.param("as_published", 5, 619, 364_084_072, id="as published, k = 5"),
        pytest.param("as_published", 50, 164, 364_597_196, id="as published, k = 50"),
    ],
)
def test_original_mondrian_agrees_with_the_papers_own_code(
    variant: Any, k: int, n_classes: int, dm: int
) -> None:
    spec = Spec(ADULT_NUMBERS, (KAnonymity(k),), policy=OriginalPolicy(variant))

    release = anonymize(adult_table(), spec)

    assert release.tree.n_classes == n_classes
    assert release.measures().dm == dm
