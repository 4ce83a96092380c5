"""Risk of being found, against counts that pandas makes of the tables themselves."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core_mondrian import KAnonymity, Release, Spec, Suppression, anonymize
from core_mondrian.measures.association import correlation, cramers_v, moved_share
from core_mondrian.measures.risk import measure_risk, risk_of, table_records
from core_mondrian.models.population import KMap
from core_mondrian.report.facts import Facts, collect_facts
from core_mondrian.spec.policies import BestPolicy, OriginalPolicy, PaperPolicy

COLUMNS = ("age", "city", "height")


def people(n: int, seed: int = 0) -> pd.DataFrame:
    """A table with ties, missing values and rare values."""
    rng = np.random.default_rng(seed)
    height = rng.integers(150, 200, n).astype(float)
    height[rng.random(n) < 0.1] = np.nan
    city = rng.choice(
        ["Oslo", "Rome", "Bonn", None, "Nice"], n, p=[0.4, 0.3, 0.1, 0.1, 0.1]
    )
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "city": city,
            "height": height,
            "who": [f"p{i}" for i in rng.integers(0, max(n // 2, 1), n)],
            "illness": rng.choice(["flu", "cold", "none"], n),
        }
    )


def sizes(frame: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    return frame.groupby(list(columns), dropna=False, observed=True).size()


def persons(frame: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    return frame.groupby(list(columns), dropna=False, observed=True)["who"].nunique()


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{name: frame[name].astype(str) for name in COLUMNS})


def facts_of(frame: pd.DataFrame, **asked: Any) -> tuple[Release[Any], Facts]:
    given = {"models": (KAnonymity(3),), **asked}
    release = anonymize(frame, Spec(COLUMNS, **given))
    return release, collect_facts(release)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "policy", [BestPolicy(), PaperPolicy(), OriginalPolicy()], ids=lambda p: p.name
)
def test_risk_is_what_pandas_counts(seed: int, policy: Any) -> None:
    frame = people(120, seed)
    spares = 0 if isinstance(policy, OriginalPolicy) else 5
    suppress = Suppression(rows=spares)
    release, facts = facts_of(frame, policy=policy, suppress=suppress)

    for found, counted in (
        (facts.before, sizes(as_text(frame), COLUMNS)),
        (facts.after, sizes(as_text(release.data), COLUMNS)),
    ):
        assert found.n_people == counted.sum()
        assert found.n_groups == counted.size
        assert found.smallest == counted.min()
        assert found.highest == 1 / counted.min()
        assert found.average == pytest.approx(
            (1 / counted).mul(counted).sum() / counted.sum()
        )
        assert found.marketer == pytest.approx(counted.size / counted.sum())
        assert found.n_unique == (counted == 1).sum()
        assert found.n_small == counted[counted < 3].sum()
        assert found.journalist_highest == found.highest
        lows = [crowd.low for crowd in found.crowds]
        assert lows == [1, 2, 3, 6, 12, 24][: len(lows)]
        for crowd in found.crowds:
            inside = counted[(counted >= crowd.low) & (counted <= crowd.high)]
            assert crowd.n_people == inside.sum()
        assert sum(crowd.n_people for crowd in found.crowds) == found.n_people


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_crowds_follow_each_other_from_one_on(k: int) -> None:
    groups = np.array([1, 1, 2, 3, 6, 7, 13, 14, 100])

    crowds = risk_of(groups, groups, k).crowds

    assert [crowd.low for crowd in crowds] == [
        1,
        *(crowd.high + 1 for crowd in crowds[:-1]),
    ]
    assert crowds[0].high == 1
    assert max(k, 2) in [crowd.low for crowd in crowds]
    assert crowds[-1].low <= 100 <= crowds[-1].high
    for crowd in crowds:
        inside = [n for n in groups.tolist() if crowd.low <= n <= crowd.high]
        assert crowd.n_people == sum(inside)


@pytest.mark.parametrize("seed", [0, 1])
def test_uniqueness_of_every_set_is_what_pandas_counts(seed: int) -> None:
    frame = people(150, seed)
    release, facts = facts_of(frame)

    told = {one.columns: one for one in facts.uniqueness}
    assert set(told) == {
        *((name,) for name in COLUMNS),
        *(("age", "city"), ("age", "height"), ("city", "height")),
        COLUMNS,
    }
    for columns, found in told.items():
        before, after = (
            sizes(as_text(table), columns) for table in (frame, release.data)
        )
        assert found.unique_before == (before == 1).sum()
        assert found.small_before == before[before < 3].sum()
        assert found.unique_after == (after == 1).sum()
        assert found.smallest_after == after.min()


def test_larger_sets_take_in_the_column_that_singles_out_most() -> None:
    names = (*COLUMNS, "illness", "who")
    frame = as_text(people(200, 3))
    release = anonymize(frame, Spec(names, models=(KAnonymity(3),)))

    told = [one for one in collect_facts(release).uniqueness if len(one.columns) > 2]

    def unique(columns: Sequence[str]) -> int:
        return int((sizes(frame, columns) == 1).sum())

    pairs = list(combinations(names, 2))
    chosen = list(max(pairs, key=unique))
    for found in told[:-1]:
        rest = [name for name in names if name not in chosen]
        chosen.append(max(rest, key=lambda name: unique([*chosen, name])))
        assert found.unique_before == unique(chosen)
        assert set(found.columns) == set(chosen)
    assert [len(one.columns) for one in told] == [3, 4, 5]


def test_where_a_person_has_several_rows_persons_are_counted() -> None:
    frame = people(300)
    frame["who"] = [f"p{i % 40}" for i in range(300)]
    frame["age"] = frame["age"] // 20 * 20
    frame["height"] = frame["height"] // 40 * 40
    release, facts = facts_of(frame, unit="who")
    seen = as_text(release.data).assign(who=frame["who"])

    before, after = persons(as_text(frame), COLUMNS), persons(seen, COLUMNS)
    assert before.sum() < sizes(as_text(frame), COLUMNS).sum()
    for found, counted in ((facts.before, before), (facts.after, after)):
        assert found.n_groups == counted.size
        assert found.n_people == counted.sum()
        assert found.smallest == counted.min()
        assert found.n_unique == (counted == 1).sum()
        assert found.n_small == counted[counted < 3].sum()
        assert found.average == pytest.approx(counted.size / counted.sum())
    assert facts.after.smallest == release.verification.models[0].reached >= 3
    told = {one.columns: one for one in facts.uniqueness}[("age", "city")]
    pair = persons(as_text(frame), ("age", "city"))
    assert (told.unique_before, told.small_before) == (
        (pair == 1).sum(),
        pair[pair < 3].sum(),
    )


def test_a_journalist_looks_in_the_population() -> None:
    everybody = people(300).dropna()
    table = everybody.iloc[::3]
    population = everybody[list(COLUMNS)]
    spec = Spec(COLUMNS, models=(KMap(5, population),))
    release = anonymize(table, spec)
    facts = collect_facts(release)

    fitting = sizes(population, COLUMNS)
    counted = sizes(table, COLUMNS)
    there = fitting[fitting.index.isin(counted.index)].sort_index()
    assert facts.before.journalist_highest == 1 / there.min()
    assert facts.before.journalist_average == pytest.approx(
        (counted.sort_index() / there).sum() / len(table)
    )
    assert facts.before.highest == 1 / counted.min()
    assert facts.after.journalist_highest is not None
    assert facts.after.journalist_highest <= 1 / 5
    assert facts.after.highest == 1 / sizes(as_text(release.data), COLUMNS).min()


def test_nobody_has_no_risk() -> None:
    nothing = np.zeros(0, dtype=np.int64)

    found = risk_of(nothing, nothing, 5)

    assert (found.n_people, found.n_groups) == (0, 0)
    assert (found.highest, found.average, found.marketer) == (None, None, None)


def test_the_order_of_groups_changes_no_bit() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(1, 50, 1000)
    fitting = groups + rng.integers(0, 9, 1000)
    order = rng.permutation(1000)

    assert risk_of(groups, fitting, 5) == risk_of(groups[order], fitting[order], 5)


def test_records_of_a_table_have_all_its_rows() -> None:
    release, _ = facts_of(people(50))
    records = table_records(release._encoded.table)

    assert records.rows.sum() == 50
    assert measure_risk(records, 3).n_people == 50


def test_cramers_v_by_its_definition() -> None:
    stats = pytest.importorskip("scipy.stats.contingency")
    counts = np.random.default_rng(3).integers(1, 40, (4, 3))

    assert cramers_v(counts.astype(float)) == pytest.approx(
        stats.association(counts, method="cramer")
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param([[5, 0], [0, 7]], 1.0, id="one-follows-from-the-other"),
        pytest.param([[2, 4], [3, 6]], 0.0, id="unrelated"),
        pytest.param([[2, 4], [0, 0]], None, id="one-is-constant"),
        pytest.param([[0, 0], [0, 0]], None, id="nothing"),
    ],
)
def test_cramers_v_at_its_ends(counts: list[list[int]], expected: float | None) -> None:
    found = cramers_v(np.array(counts, dtype=float))

    assert found == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_the_moved_share_is_half_of_all_differences() -> None:
    before, after = np.array([[3.0, 1.0], [0.0, 4.0]]), np.array([[1.0, 1.0]] * 2)

    assert moved_share(before, after) == pytest.approx(0.375)
    assert moved_share(before, 7 * before) == 0.0
    assert moved_share(before, 0 * before) is None


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_correlation_is_that_of_numpy(scale: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=50)
    y = x + rng.normal(size=50)
    rows = rng.integers(0, 4, 50)

    found = correlation(scale * x, y, rows.astype(float))

    expected = np.corrcoef(np.repeat(x, rows), np.repeat(y, rows))[0, 1]
    assert found == pytest.approx(expected)


def test_correlation_leaves_out_what_is_missing_and_knows_constants() -> None:
    x, y = np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 4.0, np.nan, 9.0])
    rows = np.ones(4)

    assert correlation(x, y, rows) == pytest.approx(1.0)
    assert correlation(np.full(4, 0.1), y, rows) is None
    assert correlation(x, np.full(4, np.nan), rows) is None
    assert correlation(np.array([1.0, np.inf]), np.array([1.0, 2.0]), rows[:2]) is None
