"""The figures of a report, against what pandas makes of the two tables."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core_mondrian import KAnonymity, Release, Spec, Suppression, anonymize
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.measures.association import cramers_v
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.report.facts import Bin, ColumnFacts, Facts, collect_facts
from core_mondrian.report.wording import crowd_rows, hit_rows
from core_mondrian.spec.policies import BestPolicy, OriginalPolicy, PaperPolicy

K = 4
PATHS = [("Oslo", "North"), ("Bergen", "North"), ("Rome", "South"), ("Bari", "South")]
TREE = from_paths([(*path, "*") for path in PATHS])
RANGE = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)\]")


def people(n: int = 150, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    job = rng.choice(
        ["baker", "nurse", "pilot", "clown", None], n, p=[0.4, 0.3, 0.15, 0.05, 0.1]
    )
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": rng.choice([path[0] for path in PATHS], n, p=[0.4, 0.3, 0.2, 0.1]),
            "job": job,
            "illness": rng.choice(["flu", "cold", "none"], n),
        }
    )


COLUMNS = ("age", "city", "job")


def release_of(frame: pd.DataFrame, **asked: Any) -> Release[Any]:
    given = {"models": (KAnonymity(K),), "hierarchies": {"city": TREE}, **asked}
    return anonymize(frame, Spec(COLUMNS, **given))


ASKED = [
    pytest.param({}, id="best"),
    pytest.param({"policy": PaperPolicy()}, id="paper"),
    pytest.param({"policy": OriginalPolicy()}, id="original"),
    pytest.param({"categories": "set"}, id="sets"),
    pytest.param({"suppress": Suppression(rows=9)}, id="suppress"),
    pytest.param({"policy": BestPolicy(disjoint=True)}, id="disjoint"),
]


def steps_of(column: ColumnFacts) -> dict[str, int]:
    return {step.text: step.rows for step in column.steps}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("asked", ASKED)
def test_rows_by_how_far_they_were_generalized(
    asked: dict[str, Any], seed: int
) -> None:
    frame = people(seed=seed)
    release = release_of(frame, **asked)
    facts = collect_facts(release)
    kept = np.delete(np.arange(len(frame)), release._suppressed_rows)
    original = frame.iloc[kept].reset_index(drop=True)
    shown = release.data[list(COLUMNS)].astype("string").fillna("")
    owner = shown.groupby(list(COLUMNS)).ngroup()

    for column in facts.columns:
        steps = steps_of(column)
        assert sum(steps.values()) == len(frame)
        assert steps.get("suppressed", 0) == len(frame) - len(release.data)
        is_blank = release.data[column.name].isna()
        is_missing = original[column.name].isna()
        all_missing = is_missing.groupby(owner).transform("all")
        is_same = shown[column.name] == original[column.name].astype("string")
        assert steps["as it was"] == is_same.sum()
        missing = steps.get("missing, as it was", 0)
        assert missing == (is_blank & all_missing).sum()
        assert steps.get("blank", 0) == (is_blank & ~all_missing).sum()


def test_labels_are_counted_by_level() -> None:
    frame = people(40).assign(age=30, job="nurse")
    frame.loc[frame.index[:2], "city"] = "Bari"
    release = release_of(frame)
    city = collect_facts(release).columns[1]

    counted = release.data["city"].value_counts()
    steps = steps_of(city)
    up = sum(int(counted.get(name, 0)) for name in ("North", "South"))
    assert steps.get("1 level up", 0) == up
    assert steps.get("as any value", 0) == int(counted.get("*", 0))


def test_ranges_are_counted_by_width() -> None:
    release = release_of(people())
    age = collect_facts(release).columns[0]

    found = [RANGE.fullmatch(text) for text in release.data["age"].astype(str)]
    widths = pd.Series([int(m[2]) - int(m[1]) for m in found if m])
    ends = pd.Series(
        [int(x) for t in release.data["age"] for x in re.findall(r"\d+", str(t))]
    )
    share = widths / (ends.max() - ends.min())
    steps = steps_of(age)
    assert steps.get("in ranges up to 5 % wide", 0) == (share <= 0.05).sum()
    assert steps.get("in wider ranges", 0) == (share > 0.5).sum()


# Before and after on one axis


def parse(text: str) -> Callable[[float], bool]:
    """Which whole numbers a bin is of, from its name."""
    if text == "any value":
        return lambda _: True
    if text.startswith("< "):
        return lambda value: value < float(text[2:])
    if text.startswith("≥ "):
        return lambda value: value >= float(text[2:])
    low, _, high = text.partition(" \u2013 ")
    return lambda value: float(low) <= value <= float(high or low)


def weights_of_number(bins: tuple[Bin, ...], shown: str) -> list[float]:
    """For which bins a released whole number counts, by counting all of its range."""
    found = RANGE.fullmatch(shown)
    low, high = (int(found[1]), int(found[2])) if found else (int(shown), int(shown))
    inside = [parse(item.text) for item in bins]
    each = range(low, high + 1)
    return [sum(map(is_in, each)) / len(each) for is_in in inside]


def weights_of_label(
    bins: tuple[Bin, ...], shown: Any, leaves: dict[str, list[str]]
) -> list[float]:
    names = [item.text for item in bins]
    if pd.isna(shown):
        return [float(name == "blank") for name in names]
    members = leaves.get(shown, [shown])
    if shown.startswith("{"):
        members = shown[1:-1].split(", ")
    spread = [0.0] * len(names)
    for member in members:
        group = member if member in names else GROUPS.get(member, "")
        missing = "blank" if member == "null" else "other values"
        name = group if group in names else missing
        spread[names.index(name)] += 1 / len(members)
    return spread


GROUPS = dict(PATHS)


def leaves_of(frame: pd.DataFrame, column: str) -> dict[str, list[str]]:
    """The values under each label."""
    if column != "city":
        return {"*": sorted(frame[column].dropna().unique())}
    cities = [path[0] for path in PATHS]
    below = {area: [c for c in cities if GROUPS[c] == area] for area in GROUPS.values()}
    return {"*": cities, **below}


def weights(
    facts: Facts, frame: pd.DataFrame, shown: pd.DataFrame
) -> dict[str, np.ndarray]:
    found = {}
    for column in facts.columns:
        name = column.name
        leaves = leaves_of(frame, name)
        found[name] = np.array(
            [
                weights_of_number(column.bins, str(text))
                if name == "age"
                else weights_of_label(column.bins, text, leaves)
                for text in shown[name]
            ]
        )
    return found


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("asked", ASKED)
def test_shares_before_and_after(asked: dict[str, Any], seed: int) -> None:
    frame = people(300, seed)
    release = release_of(frame, **asked)
    facts = collect_facts(release)
    after = weights(facts, frame, release.data)
    before = weights(facts, frame, frame)

    for column in facts.columns:
        told = np.array([item.before for item in column.bins])
        assert told == pytest.approx(before[column.name].mean(axis=0), abs=1e-4)
        told = np.array([item.exact + item.general for item in column.bins])
        assert told == pytest.approx(after[column.name].mean(axis=0), abs=2e-4)
        steps = steps_of(column)
        same = steps["as it was"] + steps.get("missing, as it was", 0)
        exact = sum(item.exact for item in column.bins)
        assert exact == pytest.approx(same / len(release.data), abs=2e-3)
        counted = before[column.name].sum(axis=0)
        named = [n for n, item in zip(counted, column.bins, strict=True) if item.before]
        assert min(named) >= K


@pytest.mark.parametrize("asked", ASKED)
def test_relations_before_and_after(asked: dict[str, Any]) -> None:
    frame = people(300)
    models = (KAnonymity(K), DistinctLDiversity(2, "illness"))
    release = release_of(frame, **{**asked, "models": models})
    facts = collect_facts(release)
    after, before = (weights(facts, frame, t) for t in (release.data, frame))
    for table, found in ((release.data, after), (frame, before)):
        found["illness"] = pd.get_dummies(table["illness"]).to_numpy(dtype=float)

    pairs = [*combinations(COLUMNS, 2), *((name, "illness") for name in COLUMNS)]
    assert [relation.columns for relation in facts.relations] == pairs
    for relation in facts.relations:
        x, y = relation.columns
        counted = [found[x].T @ found[y] for found in (before, after)]
        assert relation.before == pytest.approx(cramers_v(counted[0]), abs=6e-4)
        assert relation.after == pytest.approx(cramers_v(counted[1]), abs=6e-4)
        shares = [counts / counts.sum() for counts in counted]
        moved = np.abs(shares[0] - shares[1]).sum() / 2
        assert relation.moved == pytest.approx(moved, abs=6e-4)
        assert relation.r_before is None  # there is one number only


@pytest.mark.parametrize("numbers", ["interval", "mean", "bounds"])
def test_correlations_before_and_after(numbers: Any) -> None:
    rng = np.random.default_rng(2)
    frame = people(300).assign(pay=lambda f: f["age"] * 10 + rng.integers(0, 300, 300))
    columns = ("age", "city", "pay")
    spec = Spec(columns, models=(KAnonymity(K),), numbers=numbers)
    release = anonymize(frame, spec)

    told = {one.columns: one for one in collect_facts(release).relations}

    pair = told["age", "pay"]
    shown = pd.DataFrame(
        {name: middles_of(release.data, name) for name in ("age", "pay")}
    )
    assert pair.r_before == pytest.approx(frame["age"].corr(frame["pay"]), abs=6e-4)
    assert pair.r_after == pytest.approx(shown["age"].corr(shown["pay"]), abs=6e-4)
    assert told["age", "city"].r_before is None


def middles_of(table: pd.DataFrame, name: str) -> pd.Series:
    if f"{name}_min" in table:
        return (table[f"{name}_min"] + table[f"{name}_max"]) / 2
    texts = table[name].astype(str)
    ends = texts.str.extract(RANGE).astype(float)
    return ends.mean(axis=1).fillna(pd.to_numeric(texts, errors="coerce"))


@pytest.mark.parametrize("suppressed", ["drop", "blank"])
def test_whom_suppression_hits(suppressed: Any) -> None:
    frame = people(400)
    odd = frame.index[::20]
    frame.loc[odd, "age"] = 1000 + 50 * np.arange(odd.size)
    asked = {
        "policy": BestPolicy(price=0.05, effort="light"),
        "suppress": Suppression(rows=20),
        "suppressed": suppressed,
    }
    release = release_of(frame, **asked)
    facts = collect_facts(release)

    gone = frame.iloc[release._suppressed_rows]
    assert len(gone) == release.n_suppressed >= K
    inside = [parse(item.text) for item in facts.columns[0].bins]
    for item, is_in in zip(facts.columns[0].bins, inside, strict=True):
        n = int(gone["age"].map(is_in).sum())
        assert item.rows == int(frame["age"].map(is_in).sum())
        assert item.suppressed == (n if n >= K else 0)
    (worst, *_) = hit_rows(facts)
    assert worst["column"] == "age"
    usual = len(gone) / len(frame)
    assert worst["times"] == pytest.approx(worst["suppressed"] / worst["rows"] / usual)
    assert all(row["suppressed"] >= K for row in hit_rows(facts))
    assert [row["times"] for row in hit_rows(facts)] == sorted(
        (row["times"] for row in hit_rows(facts)), reverse=True
    )


def test_crowds_are_told_by_share_and_the_largest_are_summed_up() -> None:
    frame = people(5000)
    release = anonymize(frame, Spec(("city", "job"), models=(KAnonymity(2),)))

    rows = crowd_rows(collect_facts(release))

    assert len(rows) == 9
    assert rows[0]["name"] == "alone"
    assert rows[-1]["name"].startswith("≥ ")
    for side in ("before", "after"):
        assert sum(row[side] for row in rows) == 5000
    for side in (0, 1):
        assert sum(row["shares"][side] for row in rows) == pytest.approx(1.0)


def test_sizes_of_classes_add_up() -> None:
    release = release_of(people(600))
    facts = collect_facts(release)
    sizes = release.data.groupby(list(COLUMNS), dropna=False, observed=True).size()

    for item in facts.sizes:
        inside = sizes[(sizes >= item.low) & (sizes <= item.high)]
        assert (item.n_classes, item.n_rows) == (inside.size, inside.sum())
    assert sum(item.n_classes for item in facts.sizes) == sizes.size


def test_branches_add_up_and_name_what_is_released() -> None:
    release = release_of(people(600))
    tree = collect_facts(release).tree
    shown = {str(text) for name in COLUMNS for text in release.data[name].dropna()}
    ends = {end for text in shown for end in re.findall(r"\d+", text)}

    def check(branch: Any) -> None:
        if branch.branches:
            assert sum(one.rows for one in branch.branches) == branch.rows
            assert sum(one.n_classes for one in branch.branches) == branch.n_classes
        if branch.shows and re.fullmatch(r"\d+( \u2013 \d+)?", branch.shows):
            assert set(re.findall(r"\d+", branch.shows)) <= ends
        elif branch.shows:
            parts = re.sub(r", and \d+ more", "", branch.shows).split(", ")
            assert set(parts) <= {*shown, "blank"}
        for one in branch.branches:
            check(one)

    (top,) = tree.top
    assert (top.rows, top.n_classes) == (600, tree.n_classes)
    check(top)
    assert sum(level.rows for level in tree.levels) == 600
    assert sum(level.n_nodes for level in tree.levels) == tree.n_nodes


def test_branches_reach_over_all_that_their_classes_show() -> None:
    frame = people(300)
    spec = Spec(("age",), (KAnonymity(K),), policy=BestPolicy("fast"))
    release = anonymize(frame, spec)
    (top,) = collect_facts(release).tree.top
    ends = [
        [int(end) for end in re.findall(r"\d+", str(text))]
        for text in release.data["age"]
    ]

    assert len(top.branches) > 1
    for branch in top.branches:
        first, last = (int(end) for end in branch.shows.split(" \u2013 "))
        inside = [one for one in ends if first <= one[0] and one[-1] <= last]
        assert len(inside) == branch.rows
        assert first in {one[0] for one in inside}
        assert last in {one[-1] for one in inside}


FORMATS = ("interval", "bounds", "struct", "mean", "median", "midpoint", "sample")


@pytest.mark.parametrize("numbers", FORMATS)
@pytest.mark.parametrize("nice", [False, True], ids=["plain", "nice"])
def test_every_format_has_facts_that_add_up(numbers: Any, nice: Any) -> None:
    rng = np.random.default_rng(5)
    frame = people(200).assign(
        born=[
            date(1950, 1, 1) + timedelta(days=int(d))
            for d in rng.integers(0, 20000, 200)
        ],
        pay=np.round(rng.exponential(1000.0, 200), 2),
    )
    columns = ("age", "born", "pay", "job")
    is_range = numbers in FORMATS[:3]
    spec = Spec(columns, (KAnonymity(K),), numbers=numbers, nice=nice and is_range)
    facts = collect_facts(anonymize(frame, spec))

    for column in facts.columns:
        assert sum(item.before for item in column.bins) == pytest.approx(1, abs=2e-3)
        after = sum(item.exact + item.general for item in column.bins)
        assert after == pytest.approx(1, abs=2e-3)
        assert sum(step.rows for step in column.steps) == 200


def test_facts_are_plain_json() -> None:
    facts = collect_facts(release_of(people()))

    plain = facts.to_json()

    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["before"]["n_people"] == 150


def test_what_a_model_means_is_told_with_its_parameters() -> None:
    models = (KAnonymity(K), DistinctLDiversity(2, "illness"))
    facts = collect_facts(release_of(people(), models=models))

    assert [m.reached is not None for m in facts.models] == [True, True]
    assert facts.models[0].meaning.startswith(f"Every class holds at least {K} rows")
    assert facts.models[1].meaning.startswith("Every class holds at least 2 different")


def test_groups_and_balance_are_those_of_the_release() -> None:
    frame = people(300)
    spec = Spec(COLUMNS, (KAnonymity(K),), policy=BestPolicy(equity="city"))
    release = anonymize(frame, spec, by=["illness"])
    facts = collect_facts(release)

    assert facts.groups["illness"] == release.by_group("illness")
    assert facts.groups["city"] == release.by_group("city")
    assert release.balance is not None
    assert facts.balance == release.balance.to_json()


def test_order_of_rows_changes_no_fact() -> None:
    frame = people(300)
    shuffled = frame.sample(frac=1, random_state=1)

    one, other = (collect_facts(release_of(table)) for table in (frame, shuffled))

    assert replace(one, tree=other.tree) == other
    assert one.tree == other.tree
