"""Random schedules of a series against an oracle that has all originals."""

import random
from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import IS_PLAIN, as_arrow, frame_kinds
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz.schedules import (
    MemorySeries,
    Schedule,
    Violation,
    draw_rules,
    draw_spec,
    play,
    recount,
    run_schedules,
)
from core_mondrian import InfeasibleError, KAnonymity, PrivacyViolation, Spec, SpecError
from core_mondrian.series import release_step
from core_mondrian.series.events import KEPT, NOTHING, SAME
from core_mondrian.series.state import Rules
from core_mondrian.verification.verify_series import Numbered, verify_series

N_SCHEDULES = 10 if IS_PLAIN else 250


@pytest.mark.parametrize("part", range(8))
def test_nobody_is_ever_below_k_whatever_comes_goes_and_changes(part: int) -> None:
    numbers = range(part * N_SCHEDULES, (part + 1) * N_SCHEDULES)

    found = run_schedules(7, numbers)

    assert found.finds == []
    assert found.schedules == N_SCHEDULES
    assert found.releases > 3 * N_SCHEDULES
    assert found.rows > 40 * N_SCHEDULES


def test_a_decision_that_breaks_the_promise_is_found_without_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def everybody_leaves(rows: Any, *_: object) -> Any:
        return np.where(rows.fate == SAME, KEPT, NOTHING)

    monkeypatch.setattr(release_step, "settle", everybody_leaves)

    with pytest.raises(Violation, match="share their history"):
        [play(seed, has_tables=False) for seed in range(20)]


@pytest.mark.parametrize("seed", range(10))
def test_what_is_decided_is_what_is_released(seed: int) -> None:
    played = [play(seed, has_tables=has_tables) for has_tables in (False, True)]

    one, other = (
        [{n: row[:3] for n, row in shown.items()} for shown in found[0].releases]
        for found in played
        if found is not None
    )
    assert len(one) == 4
    assert one == other


def sets_of(releases: list[set[int]]) -> set[frozenset[int]]:
    """Whatever unions, differences and intersections give, by brute force."""
    found = {frozenset(rows) for rows in releases}
    while True:
        more = set(found)
        for one, other in combinations(found, 2):
            more |= {one | other, one & other, one - other, other - one}
        if more == found:
            return found
        found = more


@pytest.mark.parametrize("seed", range(12))
def test_every_union_difference_and_intersection_has_k_of_each(seed: int) -> None:
    played = play(seed, n_releases=3)
    assert played is not None
    oracle, _, spec = played
    k = spec.min_rows

    for rows in sets_of([set(shown) for shown in oracle.releases]):
        shown = Counter(
            next(x[number][:3] for x in oracle.releases if number in x)
            for number in rows
        )
        if spec.unit is None:
            assert all(n >= k for n in shown.values())


def test_an_order_of_rows_or_a_kind_of_frame_changes_nothing() -> None:
    @settings(max_examples=15)
    @given(st.integers(0, 10**6), st.data())
    def check(seed: int, data: st.DataObject) -> None:
        dice = random.Random(seed)  # noqa: S311
        spec, rules = draw_spec(dice), draw_rules(dice)
        one, other = (MemorySeries.create(spec, rules) for _ in range(2))
        schedule = Schedule(dice)
        schedule.insert(30)
        kind = data.draw(frame_kinds())
        for _ in range(3):
            # pandas would make floats of whole numbers of which some are missing.
            table = schedule.table()
            table = table.set_column(0, "age", pc.fill_null(table["age"], 40))
            order = list(range(len(table)))
            dice.shuffle(order)
            try:
                first = one.release(table)
            except InfeasibleError:
                return
            second = other.release(kind(as_arrow(table.take(order))))
            assert first[2] == second[2]
            assert as_rows(first[0]) == as_rows(second[0])
            schedule.go_on()

    check()


def as_rows(released: Any) -> Counter[str]:
    frame = released if isinstance(released, pa.Table) else None
    if frame is None:
        frame = (
            released.to_arrow()
            if hasattr(released, "to_arrow")
            else pa.Table.from_pandas(released, preserve_index=False)
        )
    return Counter(repr(list(row.values())) for row in frame.to_pylist())


# The verifier finds what it looks for


def made(n_releases: int = 3, **options: Any) -> tuple[list[pa.Table], Spec]:
    """A few releases of a table from which some rows go."""
    dice = random.Random(3)  # noqa: S311
    schedule = Schedule(dice)
    schedule.insert(80)
    spec = Spec(("age", "pet"), (KAnonymity(3),), identifiers=("who",), **options)
    series = MemorySeries.create(
        spec, Rules(("id",), departures="by lot", cohort_size=12)
    )
    tables = []
    for _ in range(n_releases):
        tables.append(as_arrow(series.release(schedule.table())[0]))
        schedule.delete(4)
        schedule.insert(20)
    return tables, series.state.spec


def test_a_sound_series_is_recounted() -> None:
    tables, spec = made()

    found = recount(tables, spec)

    assert found.n_releases == 3
    assert found.n_rows == sum(len(table) for table in tables)
    assert found.smallest_part >= 3
    assert found.n_parts > found.n_cohorts


def test_one_row_less_in_a_later_release_is_found() -> None:
    tables, spec = made()
    before, after = (Counter(x["cohort"].to_pylist()) for x in tables[:2])
    whole = next(name for name in after if after[name] == before[name])
    place = tables[1]["cohort"].to_pylist().index(whole)
    tables[1] = pa.concat_tables([tables[1][:place], tables[1][place + 1 :]])

    with pytest.raises(PrivacyViolation, match="3-anonymity fails"):
        recount(tables[:2], spec)


def test_a_row_that_comes_into_an_old_cohort_is_found() -> None:
    tables, spec = made()
    is_old = [name.startswith("r1c") for name in tables[1]["cohort"].to_pylist()]
    more = tables[1].slice(is_old.index(True), 1)
    tables[1] = pa.concat_tables([tables[1], more])

    with pytest.raises(PrivacyViolation, match="came into cohorts of an earlier one"):
        recount(tables, spec)


def test_a_cell_that_changes_is_found() -> None:
    tables, spec = made()
    notes = tables[1]["note"].to_pylist()
    is_old = [name.startswith("r1c") for name in tables[1]["cohort"].to_pylist()]
    notes[is_old.index(True)] += 100
    tables[1] = tables[1].set_column(
        tables[1].column_names.index("note"), "note", [notes]
    )

    with pytest.raises(PrivacyViolation, match="or have changed there"):
        recount(tables, spec)


def test_a_cohort_that_comes_back_is_found() -> None:
    tables, spec = made(1)
    names = tables[0]["cohort"].to_pylist()
    fewer = tables[0].filter(pa.array([name != names[0] for name in names]))
    assert recount([tables[0], fewer], spec).n_releases == 2

    with pytest.raises(PrivacyViolation, match="not named after a release in between"):
        recount([tables[0], fewer, tables[0]], spec)


def test_a_cohort_that_shows_two_things_is_found() -> None:
    tables, spec = made()
    names = tables[0]["cohort"].to_pylist()
    one, other = sorted(set(names))[:2]
    mixed = [one if name == other else name for name in names]
    tables[0] = tables[0].drop_columns("cohort").append_column("cohort", [mixed])

    with pytest.raises(PrivacyViolation, match="show different quasi-identifiers"):
        recount(tables, spec)


def test_rows_without_a_cohort_are_found() -> None:
    tables, spec = made()
    names = [None, *tables[0]["cohort"].to_pylist()[1:]]
    tables[0] = tables[0].drop_columns("cohort").append_column("cohort", [names])

    with pytest.raises(PrivacyViolation, match="in no cohort"):
        recount(tables, spec)


def test_releases_of_other_columns_are_no_series() -> None:
    tables, spec = made()
    tables[1] = tables[1].drop_columns("note")

    with pytest.raises(SpecError, match="different columns"):
        recount(tables, spec)
    with pytest.raises(SpecError, match="has no column 'cohort'"):
        recount([tables[0].drop_columns("cohort")], spec)


def test_some_releases_of_a_series_are_one() -> None:
    tables, spec = made(4)

    for chosen in product((False, True), repeat=4):
        numbered = [
            Numbered(i, table)
            for i, table in enumerate(tables, start=1)
            if chosen[i - 1]
        ]
        found = verify_series(numbered, spec, "cohort")
        assert found.n_releases == sum(chosen)
