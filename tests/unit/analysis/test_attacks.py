"""Each attack succeeds on a release built to be vulnerable, and fails on a sound one.

Counts are compared with loops over all people and rows, written from the definition.
"""

import json
from dataclasses import replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import Frame

from core_mondrian import KAnonymity, Spec, SpecError, anonymize, attack
from core_mondrian.analysis.attacks import Attacks, Finding
from core_mondrian.datasets import census
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models import DistinctLDiversity, TCloseness

NAMES = ("age", "sex", "occupation")
PLAIN = Spec(NAMES, models=(KAnonymity(5),))


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return census(600).to_pandas()


def only(found: Attacks, name: str) -> Finding:
    (one,) = found.named(name)
    return one


def toy(ages: list[str], ills: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"age": ages, "ill": ills})


AGES = Spec(("age",), models=(KAnonymity(2),))
ILLS = replace(AGES, models=(KAnonymity(2), DistinctLDiversity(2, "ill")))


def test_linkage_finds_everybody_who_is_alone_and_nobody_in_a_release(
    people: pd.DataFrame,
) -> None:
    people = people.dropna(subset=list(NAMES))  # a blank fits everybody
    alike = people.groupby(list(NAMES))["age"].transform("size")
    raw = people.assign(age=people["age"].astype(str))

    vulnerable = attack(raw, people, PLAIN).named("linkage")[0]
    sound = attack(anonymize(people, PLAIN).data, people, PLAIN)

    assert vulnerable.succeeded
    assert vulnerable.numbers["unique"] == (alike == 1).sum()
    assert vulnerable.numbers["above"] == (alike < 5).sum()
    assert vulnerable.numbers["mean_confidence"] == pytest.approx((1 / alike).mean())
    assert not any(one.succeeded for one in sound.named("linkage"))
    assert all(one.numbers["fewest_rows"] >= 5 for one in sound.named("linkage"))
    assert sound.linked == 0.0


def fits(cell: Any, value: Any) -> bool:
    """Tell whether a released cell may be a value; a blank may be anything."""
    if pd.isna(cell):
        return True
    if cell == "*":
        return not pd.isna(value)
    if isinstance(cell, str) and cell.startswith("["):
        low, high = cell[1:-1].split(", ")
        return not pd.isna(value) and float(low) <= value <= float(high)
    return str(cell) == str(value)


def test_candidates_are_those_of_a_loop_over_all_people_and_rows(
    people: pd.DataFrame,
) -> None:
    some = people.head(150)
    # Small classes, so that there is something to find.
    released = anonymize(some, replace(PLAIN, models=(KAnonymity(2),))).data
    rows = released[list(NAMES)].to_dict("records")
    sizes = np.array(
        [
            sum(all(fits(row[name], one[name]) for name in NAMES) for row in rows)
            for one in some[list(NAMES)].to_dict("records")
        ]
    )

    found = attack(released, some, PLAIN).named("linkage")[0].numbers

    assert found["above"] == np.count_nonzero(sizes < 5) > 0
    assert found["unique"] == 0
    assert found["fewest_rows"] == sizes.min()
    assert found["mean_confidence"] == pytest.approx((1 / sizes).mean())


def test_partial_knowledge_is_every_column_every_pair_and_all(
    people: pd.DataFrame,
) -> None:
    released = anonymize(people, PLAIN).data

    found = attack(released, people, PLAIN, known=["age", "sex", "zip_code"])

    tried = [one.columns for one in found.named("linkage")]
    assert tried == [
        *(NAMES, ("age", "sex", "zip_code"), ("age",), ("sex",), ("zip_code",)),
        *(("age", "sex"), ("age", "zip_code"), ("sex", "zip_code")),
    ]


def test_column_that_passes_through_links_whoever_is_known_by_it(
    people: pd.DataFrame,
) -> None:
    spec = replace(PLAIN, identifiers=())
    released = anonymize(people, spec).data

    by_id = attack(released, people, spec, known=["person_id"])
    with_id_as_text = attack(
        released.astype({"person_id": str}), people, spec, known=["person_id"]
    )

    assert by_id.linked == 1.0
    assert by_id.to_json() == with_id_as_text.to_json()
    numbers = by_id.named("linkage")[-1].numbers
    assert numbers["unique"] == numbers["people"] == 600


def test_who_is_alone_is_found_whatever_the_models_ask_for() -> None:
    original = pd.DataFrame({"age": [1, 2, 2], "ill": list("aab")})
    spec = Spec(("age",), models=(TCloseness(0.9, "ill"),))

    found = attack(toy(["1", "2", "2"], list("aab")), original, spec)

    assert found.k == 2
    assert found.named("linkage")[0].numbers["above"] == 1


def test_known_column_has_to_be_released(people: pd.DataFrame) -> None:
    spec = replace(PLAIN, identifiers=("person_id",))
    released = anonymize(people, spec).data

    with pytest.raises(SpecError, match="not in the release"):
        attack(released, people, spec, known=["person_id"])
    with pytest.raises(SpecError, match="nothing is known"):
        attack(released, people, spec, known=[])


def test_homogeneous_class_gives_its_value_away() -> None:
    original = pd.DataFrame({"age": [1, 2, 8, 9], "ill": ["a", "a", "a", "b"]})
    released = toy(["[1, 2]"] * 2 + ["[8, 9]"] * 2, ["a", "a", "a", "b"])

    vulnerable = attack(released, original, ILLS)
    sound = attack(toy(["[1, 9]"] * 4, ["a", "a", "a", "b"]), original, ILLS)

    assert only(vulnerable, "homogeneity").numbers["certain"] == 2
    assert only(vulnerable, "homogeneity").succeeded
    assert not only(sound, "homogeneity").succeeded


def test_overlapping_classes_are_candidates_together() -> None:
    original = pd.DataFrame({"age": [1, 5, 5, 9], "ill": ["a", "a", "b", "b"]})
    released = toy(["[1, 5]", "[1, 5]", "[5, 9]", "[5, 9]"], ["a", "a", "b", "b"])

    found = attack(released, original, ILLS)

    # Whoever is 5 may be in either class.
    assert only(found, "homogeneity").numbers["certain"] == 2
    assert only(found, "background").numbers["certain"] == 2


def test_background_knowledge_needs_three_values() -> None:
    original = pd.DataFrame({"age": [1, 2, 3], "ill": ["a", "a", "b"]})

    two = attack(toy(["[1, 3]"] * 3, ["a", "a", "b"]), original, ILLS)
    three = attack(toy(["[1, 3]"] * 3, ["a", "c", "b"]), original, ILLS)

    assert only(two, "background").numbers["certain"] == 3
    assert only(two, "background").succeeded
    assert not only(three, "background").succeeded


def test_belief_rises_in_a_skewed_class_and_not_in_a_close_one() -> None:
    original = pd.DataFrame({"age": range(1, 9), "ill": list("abbbbbbb")})
    cells = ["[1, 2]"] * 2 + ["[3, 8]"] * 6

    skewed = only(attack(toy(cells, list("abbbbbbb")), original, ILLS), "skewness")
    close = only(
        attack(toy(["[1, 8]"] * 8, list("abbbbbbb")), original, ILLS), "skewness"
    )

    # Half of the first class has what one of eight has.
    assert skewed.numbers["highest"] == 4.0
    assert skewed.numbers["share"] == 0.25
    assert skewed.succeeded
    assert close.numbers["highest"] == 1.0
    assert not close.succeeded


def test_models_close_what_attacks_on_values_found(people: pd.DataFrame) -> None:
    aims = {"sensitive": ["race"]}
    diverse = replace(PLAIN, models=(KAnonymity(5), DistinctLDiversity(3, "race")))
    close = replace(PLAIN, models=(KAnonymity(5), TCloseness(0.01, "race")))

    before = attack(anonymize(people, PLAIN).data, people, PLAIN, **aims)
    after = attack(anonymize(people, diverse).data, people, diverse)
    closest = attack(anonymize(people, close).data, people, close)

    assert only(before, "homogeneity").succeeded
    assert only(before, "background").succeeded
    assert only(before, "skewness").succeeded
    assert not only(after, "homogeneity").succeeded
    assert not only(after, "background").succeeded
    assert (
        only(closest, "skewness").numbers["share"]
        < only(before, "skewness").numbers["share"]
    )


def test_values_are_not_attacked_where_none_is_sensitive(people: pd.DataFrame) -> None:
    found = attack(anonymize(people, PLAIN).data, people, PLAIN)

    assert found.named("homogeneity") == ()
    assert found.notes[0].startswith("no sensitive column is named")


def test_suppressed_rows_that_are_blank_protect_nobody() -> None:
    original = pd.DataFrame({"age": [1, 2, 9], "ill": ["a", "a", "b"]})
    released = toy(["[1, 2]", "[1, 2]", None], ["a", "a", None])  # type: ignore[list-item]

    found = attack(released, original, replace(ILLS, suppressed="blank"))

    assert only(found, "homogeneity").numbers["certain"] == 2
    both = attack(released, original, replace(ILLS, suppressed="blank"), also=released)
    assert only(both, "intersection").numbers["same_order"] == 1


def test_members_are_told_by_exact_cells_and_not_by_coarse_ones(
    people: pd.DataFrame,
) -> None:
    names = (*NAMES, "zip_code", "hours_per_week")
    spec = replace(PLAIN, quasi_identifiers=names)
    raw = people.assign(
        age=people["age"].astype(str),
        hours_per_week=people["hours_per_week"].astype(str),
    )
    coarse = replace(spec, models=(KAnonymity(len(people)),))

    vulnerable = only(attack(raw, people, spec), "membership")
    sound = only(attack(anonymize(people, coarse).data, people, coarse), "membership")

    assert vulnerable.numbers["advantage"] == 1.0  # outsiders are like nobody
    assert vulnerable.succeeded
    assert sound.numbers["advantage"] == 0.0
    assert not sound.succeeded


def test_nobody_can_be_made_of_one_column() -> None:
    original = pd.DataFrame({"age": [1, 2], "ill": ["a", "b"]})

    found = attack(toy(["[1, 2]"] * 2, ["a", "b"]), original, AGES)

    assert found.named("membership") == ()
    assert any("membership was not tried" in note for note in found.notes)


def test_two_releases_of_the_same_rows_are_less_than_k_together() -> None:
    original = pd.DataFrame({"age": [1, 2, 3, 4], "ill": list("abab")})
    first = toy(["[1, 2]"] * 2 + ["[3, 4]"] * 2, list("abab"))
    second = toy(["[1, 1]", "[2, 3]", "[2, 3]", "[4, 4]"], list("abab"))

    apart = only(attack(first, original, ILLS, also=second), "intersection")
    same = only(attack(first, original, ILLS, also=first), "intersection")

    assert apart.numbers["same_order"] == 1
    assert apart.numbers["fewer"] == 4
    assert apart.numbers["certain"] == 2  # the others are, in the second alone
    assert apart.succeeded
    assert same.numbers["fewer"] == same.numbers["certain"] == 0
    assert not same.succeeded


def test_two_releases_in_other_orders_share_sensitive_values() -> None:
    original = pd.DataFrame({"age": [1, 2, 3, 4], "ill": list("abbc")})
    first = toy(["[1, 2]"] * 2 + ["[3, 4]"] * 2, list("abbc"))
    second = toy(["*", "*", "[2, 3]", "[2, 3]"], list("acbb")).replace({"*": "[1, 4]"})
    coarse = toy(["[1, 4]"] * 4, list("cbba"))

    apart = only(attack(first, original, ILLS, also=second), "intersection")
    sound = only(attack(coarse, original, ILLS, also=coarse.iloc[::-1]), "intersection")

    # 1: {a, b} and {a, c}; 2: {a, b} and {a, b, b, c}; likewise 3 and 4.
    assert apart.numbers["same_order"] == 0
    assert apart.numbers["fewer"] == 2
    assert apart.numbers["certain"] == 2
    assert apart.succeeded
    assert not sound.succeeded


def test_other_release_may_have_another_spec(people: pd.DataFrame) -> None:
    other = Spec(("age", "race"), models=(KAnonymity(5),))
    first, second = anonymize(people, PLAIN).data, anonymize(people, other).data

    found = attack(first, people, PLAIN, also=(second, other))

    rows = (
        first[list(NAMES)]
        .add_prefix("1 ")
        .join(second[["age", "race"]].add_prefix("2 "))
    )
    shown = [("1 " + n, n) for n in NAMES] + [("2 age", "age"), ("2 race", "race")]
    joint = rows.to_dict("records")
    sizes = [
        sum(all(fits(row[cell], one[name]) for cell, name in shown) for row in joint)
        for one in people.head(60).to_dict("records")
    ]
    assert any(size < 5 for size in sizes)
    numbers = only(found, "intersection").numbers
    assert numbers["fewer"] >= sum(size < 5 for size in sizes)
    assert only(found, "intersection").succeeded


def test_tight_bounds_give_extremes_away_and_nice_ones_do_not(
    people: pd.DataFrame,
) -> None:
    spec = replace(PLAIN, quasi_identifiers=("age", "sex"))
    tight = only(attack(anonymize(people, spec).data, people, spec), "reconstruction")
    nice = replace(spec, nice=True)
    rounded = only(attack(anonymize(people, nice).data, people, nice), "reconstruction")

    assert tight.numbers["exact"] == tight.numbers["bounds"]
    assert tight.numbers["exposed"] > 0
    assert tight.succeeded
    assert rounded.numbers["exposed"] == 0
    assert not rounded.succeeded


def test_bound_that_two_people_have_exposes_neither() -> None:
    original = pd.DataFrame({"age": [1, 1, 5, 9], "ill": list("abab")})

    found = attack(toy(["[1, 9]"] * 4, list("abab")), original, AGES)

    assert only(found, "reconstruction").numbers == {
        "bounds": 2,
        "exact": 2,
        "exposed": 1,
        "share": 0.5,
    }


def test_classes_of_two_rows_are_downcoded_and_larger_nice_ones_are_not() -> None:
    people = pd.DataFrame(
        {"age": [20, 25, 40, 41, 41, 60], "sex": ["f", "m", "f", "m", "f", "m"]}
    )
    released = pd.DataFrame(
        {
            "age": [*["[20, 25]"] * 2, *["[40, 60]"] * 4],
            "sex": ["*"] * 6,
        }
    )
    spec = Spec(("age", "sex"), models=(KAnonymity(2),))
    nice = released.assign(age=[*["[20, 30]"] * 2, *["[40, 60]"] * 4])

    found = only(attack(released, people, spec), "downcoding")
    rounded = only(attack(nice, people, spec), "downcoding")

    # Two rows between two bounds, and of two sexes: all four cells are known.
    assert found.succeeded
    assert found.numbers == {"cells": 12, "certain": 8, "resolved": 4, "share": 4 / 12}
    assert found.columns == ("age", "sex")
    # The sexes, and both ends of the other range: it looks tight, and is relied on.
    assert rounded.numbers["certain"] == 6
    assert rounded.columns == ("sex",)


def test_sets_and_branches_say_what_is_below_them() -> None:
    tree = from_paths([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")])
    people = pd.DataFrame({"ill": ["a", "c", "a", "b", "b"]})
    labels = pd.DataFrame({"ill": ["*", "*", "x", "x", "x"]})
    sets = pd.DataFrame({"ill": ["{a, c}", "{a, c}", "{a, b}", "{a, b}", "{a, b}"]})
    plain = Spec(("ill",), (KAnonymity(2),), hierarchies={"ill": tree})

    told = only(attack(labels, people, plain), "downcoding")
    shown = only(attack(sets, people, replace(plain, categories="set")), "downcoding")

    wanted = {"cells": 5, "certain": 4, "resolved": 2, "share": 0.4}
    assert dict(told.numbers) == wanted
    assert dict(shown.numbers) == wanted


def test_labels_that_are_not_the_lowest_say_nothing() -> None:
    tree = from_paths([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")])
    people = pd.DataFrame({"ill": ["a", "b", "a", "a"]})
    # Both classes could have shown x.
    coarse = pd.DataFrame({"ill": ["*", "*", "*", "*"]})
    spec = Spec(("ill",), (KAnonymity(2),), hierarchies={"ill": tree})

    found = only(attack(coarse, people, spec), "downcoding")

    assert found.numbers["certain"] == 0
    assert not found.succeeded


def test_what_is_certain_is_true_of_every_class_of_a_release(
    people: pd.DataFrame,
) -> None:
    people = people.dropna(subset=list(NAMES))
    spec = replace(PLAIN, models=(KAnonymity(2),), class_id="class")
    release = anonymize(people, spec)
    shown = release.data.reset_index(drop=True)
    original = people.reset_index(drop=True)
    certain = resolved = general = 0
    for rows in shown.groupby("class").groups.values():
        for name in NAMES:
            n_values = original.loc[rows, name].nunique()
            cell = str(shown.loc[rows[0], name])
            if n_values == 1:
                continue
            general += len(rows)
            # Ranges name two; a flat label over two values names both.
            is_told = cell.startswith("[") or original[name].nunique() == 2
            certain += 2 if is_told else 0
            resolved += len(rows) if is_told and len(rows) == 2 else 0

    found = only(attack(release.data, people, spec), "downcoding")

    assert found.succeeded
    assert dict(found.numbers) == {
        "cells": general,
        "certain": certain,
        "resolved": resolved,
        "share": resolved / general,
    }


def test_order_is_kept_unless_rows_are_shuffled(people: pd.DataFrame) -> None:
    ordered = people.sort_values("age").reset_index(drop=True)
    mixed = replace(PLAIN, shuffle=7)

    kept = only(attack(anonymize(ordered, PLAIN).data, ordered, PLAIN), "row order")
    shuffled = only(attack(anonymize(ordered, mixed).data, ordered, mixed), "row order")
    gaps = anonymize(ordered, PLAIN).data.drop(index=[3, 50, 51, 599])

    assert kept.numbers["in_order"] == 1.0
    assert kept.succeeded
    assert kept.columns == ("age",)
    assert not shuffled.succeeded
    assert only(attack(gaps, ordered, PLAIN), "row order").succeeded


def test_coarse_rows_are_followed_by_their_sensitive_values(
    people: pd.DataFrame,
) -> None:
    spec = replace(PLAIN, models=(KAnonymity(len(people)),))
    released = anonymize(people, spec).data

    by_cells = only(attack(released, people, spec), "row order")
    by_values = only(
        attack(released, people, spec, sensitive=["zip_code"]), "row order"
    )

    assert not by_cells.succeeded  # all rows look the same
    assert by_values.succeeded


@pytest.mark.parametrize("numbers", ["bounds", "struct", "mean"])
def test_formats_are_matched_as_far_as_they_tell(
    people: pd.DataFrame, numbers: Any
) -> None:
    spec = replace(PLAIN, numbers=numbers)
    as_text = attack(anonymize(people, PLAIN).data, people, PLAIN)

    found = attack(anonymize(people, spec).data, people, spec)

    if numbers == "mean":
        assert any("released as single numbers" in note for note in found.notes)
        assert found.linked == 0.0
    else:
        assert found.to_json() == as_text.to_json()


def test_missing_values_sets_and_truth_values_are_matched() -> None:
    original = pd.DataFrame(
        {
            "age": pd.array([1, None, 3, 4, None, 6] * 4, dtype="Int64"),
            "town": ["u", "v", None, "u", "w", "v"] * 4,
            "paid": [True, False] * 12,
        }
    )
    spec = Spec(("age", "town", "paid"), models=(KAnonymity(4),), categories="set")

    found = attack(anonymize(original, spec).data, original, spec)

    linkage = found.named("linkage")[0]
    assert not linkage.succeeded
    assert linkage.numbers["fewest_rows"] >= 4  # and so everybody fits something
    assert only(found, "membership").numbers["inside"] == 1.0


VALUES = np.random.default_rng(0).integers(0, 40, 60)
START = datetime(2020, 1, 1)
KINDS = {
    "integer": pa.array(VALUES),
    "float": pa.array(VALUES / 3),
    "decimal": pa.array([Decimal(int(x)) / 4 for x in VALUES], pa.decimal128(6, 2)),
    "date": pa.array([(START + timedelta(int(x))).date() for x in VALUES]),
    "moment": pa.array([START + timedelta(int(x) / 7) for x in VALUES]),
    "zoned": pa.array(
        [START + timedelta(int(x) / 7) for x in VALUES], pa.timestamp("us", "UTC")
    ),
    "time": pa.array([time(int(x) % 24, 5) for x in VALUES]),
    "duration": pa.array([timedelta(int(x) / 7) for x in VALUES]),
    "truth": pa.array(VALUES > 20),
    "text": pa.array([f"t{x % 7}" for x in VALUES]),
    "dictionary": pa.array([f"t{x % 7}" for x in VALUES]).dictionary_encode(),
    "braces": pa.array([f"{{a, {x % 3}}}" for x in VALUES]),
    "missing": pa.array([None if x % 5 == 0 else int(x) for x in VALUES]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_fits_k_rows_in_every_type(kind: str, frame_kind: Frame) -> None:
    table = frame_kind(pa.table({"a": KINDS[kind], "b": pa.array(VALUES % 3)}))
    spec = Spec(("a", "b"), models=(KAnonymity(4),))

    found = attack(anonymize(table, spec).data, table, spec)

    numbers = found.named("linkage")[0].numbers
    assert numbers["fitting"] == numbers["people"] == 60
    assert numbers["fewest_rows"] >= 4
    assert found.linked == 0.0


def test_no_row_and_no_person_are_no_trouble() -> None:
    empty = pd.DataFrame({"age": pd.array([], dtype="int64"), "ill": []})

    found = attack(toy([], []), empty, AGES, sensitive=["ill"])

    assert found.succeeded == ()


def test_everything_found_is_plain_and_the_same_again(people: pd.DataFrame) -> None:
    released = anonymize(people, PLAIN).data
    options: dict[str, Any] = {"sensitive": ["income", "race"], "also": released}

    first = attack(released, people, PLAIN, **options)
    again = attack(released, people, PLAIN, **options)

    assert json.loads(json.dumps(first.to_json())) == again.to_json()
    assert all(one.sentence and one.remedy for one in first.findings)
