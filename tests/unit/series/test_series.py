"""A series of releases in a folder, case by case."""

import json
import math
import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core_mondrian import (
    BestPolicy,
    DataError,
    InfeasibleError,
    KAnonymity,
    OutputError,
    PaperPolicy,
    PrivacyViolation,
    Series,
    Spec,
    SpecError,
)
from core_mondrian.analysis.released_series import verify_released
from core_mondrian.hierarchies.codes import Prefix
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models import DistinctLDiversity, TCloseness
from core_mondrian.series.private_file import read_private, write_private
from core_mondrian.series.series import SeriesRelease
from core_mondrian.series.state_file import VERSION
from core_mondrian.tables.files.staging import try_lock
from core_mondrian.verification.verify_series import Numbered, verify_series

SPEC = Spec(("age",), (KAnonymity(3),))
YOUNG = [20, 21, 22]
OLD = [60, 61, 62]
NAN = float("nan")


def table(ages: dict[int, Any], **more: Any) -> pa.Table:
    """Rows by their key."""
    columns = {name: pa.array([of[i] for i in ages]) for name, of in more.items()}
    return pa.table(
        {
            "id": pa.array([*ages], pa.int64()),
            "age": pa.array([*ages.values()]),
            **columns,
        }
    )


def people(*ages: int, first: int = 0) -> dict[int, int]:
    return dict(enumerate(ages, start=first))


def begun(folder: Path, ages: dict[int, int], **options: Any) -> Series:
    series = Series.create(folder / "s", SPEC, row_key="id", **options)
    series.release(table(ages))
    return series


def shown(release: SeriesRelease[Any]) -> Counter[Any]:
    return Counter(release.data["age"].to_pylist())


def cohorts(release: SeriesRelease[Any]) -> Counter[Any]:
    return Counter(release.data["cohort"].to_pylist())


def test_the_first_release_shows_all_rows_in_cohorts(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SPEC, row_key="id")

    found = series.release(table(people(*YOUNG, *OLD)))

    assert shown(found) == {"[20, 22]": 3, "[60, 62]": 3}
    assert cohorts(found) == {"r1c1": 3, "r1c2": 3}
    assert found.data.column_names == ["age", "cohort"]
    assert found.number == 1
    assert found.cohort_sizes.tolist() == [3, 3]
    assert pq.read_table(found.path)["cohort"].to_pylist() == (
        found.data["cohort"].to_pylist()
    )


def test_rows_that_stay_show_the_same_for_ever(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first)

    found = series.release(table(first | people(19, 20, 20, first=10)))

    assert cohorts(found) == {"r1c1": 3, "r1c2": 3, "r2c1": 3}
    assert shown(found) == {"[20, 22]": 3, "[60, 62]": 3, "[19, 20]": 3}
    assert found.counts.n_new == 3


def test_which_of_equal_rows_go_where_is_drawn_by_their_keys(tmp_path: Path) -> None:
    """Two of eight rows are lent to two others: in any order of rows the same two."""
    ages = people(*[20] * 8, 21, 21)

    def lent(name: str, key: bytes, order: list[int]) -> frozenset[int]:
        rows = table(ages, note={i: i for i in ages})
        series = Series.create(
            tmp_path / name, Spec(("age",), (KAnonymity(4),)), row_key="id", key=key
        )
        released = series.release(rows.take(order)).data.to_pylist()
        classes = {row["cohort"] for row in released if row["age"] == "[20, 21]"}
        assert len(classes) == 1
        return frozenset(row["note"] for row in released if row["cohort"] in classes)

    order = list(range(10))
    found = [lent(f"a{i}", bytes([i] * 16), order) for i in range(8)]
    again = [lent(f"b{i}", bytes([i] * 16), order[::-1]) for i in range(8)]

    assert found == again
    assert all(len(one) == 4 and {8, 9} < one for one in found)
    assert len(set(found)) > 1


def test_new_rows_that_are_too_few_wait(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first)

    found = series.release(table(first | people(20, 61, first=10)))
    assert found.counts.n_waiting == 2
    assert cohorts(found) == {"r1c1": 3, "r1c2": 3}

    found = series.release(table(first | people(20, 61, 60, first=10)))
    assert found.counts.n_waiting == 0
    assert shown(found) == {"[20, 22]": 3, "[60, 62]": 3, "[20, 61]": 3}


def test_they_may_wait_for_others_of_their_class(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first, cuts="first", too_small="wait")

    found = series.release(table(first | people(20, 61, 22, 21, first=10)))

    assert shown(found) == {"[20, 22]": 6, "[60, 62]": 3}
    assert found.counts.n_waiting == 1


def test_or_be_withheld_for_good(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first, too_small="withhold")

    found = series.release(table(first | people(20, 21, first=10)))
    assert found.counts.n_withheld == 2

    found = series.release(table(first | people(20, 21, 22, first=10)))
    assert found.counts.n_withheld == 3
    assert found.counts.n_shown == 6


def without(ages: dict[int, int], *gone: int) -> pa.Table:
    return table({i: age for i, age in ages.items() if i not in gone})


def test_who_is_gone_leaves_as_soon_as_enough_others_do(tmp_path: Path) -> None:
    first = people(*[20] * 8)
    series = begun(tmp_path, first)

    found = series.release(without(first, 0, 1))
    assert cohorts(found) == {"r1c1": 8}
    assert (found.counts.n_in, found.counts.n_shown) == (6, 6)
    assert (found.counts.n_gone, found.counts.n_lingering) == (2, 2)

    found = series.release(without(first, 0, 1, 2))
    assert cohorts(found) == {"r1c1": 5}
    assert (found.counts.n_gone, found.counts.n_lingering) == (3, 0)
    assert found.counts.n_withdrawn == 0

    found = series.release(table(first))
    assert cohorts(found) == {"r1c1": 5}
    assert found.counts.n_withdrawn == 3


def test_a_release_does_not_say_which_rows_are_gone(tmp_path: Path) -> None:
    """Neither by what it shows, nor by the order of its rows."""
    first = people(*YOUNG, 23, *OLD)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    note = {i: f"note {i}" for i in first}
    one = series.release(table(first, note=note))

    fewer = {i: age for i, age in reversed(first.items()) if i not in (1, 5)}
    other = series.release(table(fewer, note=note))

    assert other.data.equals(one.data)
    assert pq.read_table(other.path).equals(pq.read_table(one.path))


def test_the_last_ones_go_with_those_who_are_gone(tmp_path: Path) -> None:
    """Too few would stay, and fewer than are gone."""
    first = people(*YOUNG, 23, *OLD)
    series = begun(tmp_path, first)

    found = series.release(without(first, 0, 1))
    assert cohorts(found) == {"r1c1": 4, "r1c2": 3}

    found = series.release(without(first, 0, 1, 2))
    assert cohorts(found) == {"r1c2": 3}
    assert found.counts.n_withdrawn == 1


def test_a_row_that_changes_alone_is_shown_as_it_was(tmp_path: Path) -> None:
    first = people(*[20] * 8, *OLD)
    series = begun(tmp_path, first)

    found = series.release(table(first | {0: 60}))
    assert cohorts(found) == {"r1c1": 8, "r1c2": 3}
    assert (found.counts.n_shown, found.counts.n_outdated) == (10, 1)

    found = series.release(table(first | {0: 60, 1: 61, 2: 61}))
    assert cohorts(found) == {"r1c1": 5, "r1c2": 3, "r3c1": 3}
    assert found.counts.n_outdated == 0


def test_a_row_that_is_as_it_was_again_has_never_left(tmp_path: Path) -> None:
    first = people(*[20] * 8)
    series = begun(tmp_path, first)
    series.release(without(first, 0))

    counts = series.release(table(first)).counts

    assert (counts.n_shown, counts.n_lingering) == (8, 0)


def test_a_row_of_another_person_has_changed(tmp_path: Path) -> None:
    """Else three rows of a cohort could come to be of two persons."""
    ages = people(*[20] * 3)
    spec = Spec(("age",), (KAnonymity(3),), unit="who")
    series = Series.create(tmp_path / "s", spec, row_key="id")
    series.release(table(ages, who={0: 1, 1: 2, 2: 3}))

    found = series.release(table(ages, who={0: 1, 1: 2, 2: 2}))

    assert found.counts.n_outdated == 1
    assert found.verification.fewest_persons == 3


def spelled(found: SeriesRelease[Any], name: str) -> list[str]:
    return sorted(map(repr, pq.read_table(found.path)[name].to_pylist()))


@pytest.mark.parametrize(
    ("before", "after"), [(math.nan, None), (None, math.nan), (-0.0, 0.0), (0.0, -0.0)]
)
@pytest.mark.parametrize("departures", ["together", "by lot"])
def test_a_new_spelling_does_not_say_which_rows_are_gone(
    tmp_path: Path, departures: Any, before: float | None, after: float | None
) -> None:
    """A row that is as it was is as it was to the letter, like those that are gone."""
    first = people(*[20] * 20)
    series = Series.create(
        tmp_path / "s", SPEC, row_key="id", cohort_size=20, departures=departures
    )
    gone = () if departures == "by lot" else (0, 1)
    one = series.release(table(first, x={i: before if i % 2 else 1.5 for i in first}))
    rest = {i: age for i, age in first.items() if i not in gone}
    again = {i: after if i == 7 or (gone and i % 2) else before for i in rest}
    x = {i: again[i] if i % 2 else 1.5 for i in rest}

    other = series.release(table(rest, x=x))

    assert other.counts.n_lingering == len(gone)
    assert spelled(one, "x") == spelled(other, "x")
    assert set(spelled(one, "x")) == {"1.5", "None" if before != 0 else "0.0"}
    assert pq.read_table(other.path).equals(pq.read_table(one.path))


@pytest.mark.parametrize("gone", [0, 1])
@pytest.mark.parametrize("n_new", [0, 3])
def test_types_do_not_say_whether_any_row_is_gone(
    tmp_path: Path, gone: int, n_new: int
) -> None:
    first, more = people(*[20] * 6), people(*[40] * n_new, first=10)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    one = series.release(table(first, pay=dict.fromkeys(first, 1)))
    now = table(dict([*first.items()][gone:]) | more)
    n, chosen = len(now), [None] * (n_new > 0) + [2.0] * (n_new - 1)
    pay = pa.array([1.0] * (n - n_new) + chosen, pa.float32())

    other = series.release(now.append_column("pay", pay))

    assert other.counts.n_lingering == gone
    assert other.counts.n_new == n_new
    assert pq.read_schema(other.path).equals(pq.read_schema(one.path))
    held = Counter(pq.read_table(other.path)["pay"].to_pylist())
    assert held == Counter([1] * 6 + chosen)


def test_new_rows_that_do_not_fit_the_types_so_far_are_refused(tmp_path: Path) -> None:
    first, more = people(*[20] * 6), people(*[40] * 3, first=10)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(table(first, pay=dict.fromkeys(first, 1)))

    pay = dict.fromkeys(first, 1.0) | dict.fromkeys(more, 2.75)
    wrong = table(first | more, pay=pay)
    check_unchanged(series, wrong, DataError, "'pay' was released as int64, and new")


def test_columns_without_a_value_get_a_type_with_their_first_one(
    tmp_path: Path,
) -> None:
    first, more = people(*[20] * 3), people(*[40] * 3, first=10)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(table(first, note=dict.fromkeys(first)))

    note = dict.fromkeys(first) | dict.fromkeys(more, "a")
    found = series.release(table(first | more, note=note))

    assert Counter(found.data["note"].to_pylist()) == {None: 3, "a": 3}


def test_a_row_spelled_anew_fails_the_recount() -> None:
    ages, cohort = ["20"] * 6, ["r1c1"] * 6
    x = [math.nan] * 6
    parts = [pa.table({"age": ages, "x": x, "cohort": cohort})]
    parts.append(parts[0].set_column(1, "x", pa.array([*x[1:], None], pa.float64())))

    with pytest.raises(PrivacyViolation, match="have changed there"):
        verify_series(map(Numbered, (1, 2), parts), SPEC, "cohort")
    assert verify_series(map(Numbered, (1, 2), parts[:1] * 2), SPEC, "cohort").n_parts


def test_whether_a_cohort_goes_does_not_tell_values_of_who_is_gone(
    tmp_path: Path,
) -> None:
    """Six of twelve are gone: they have one illness, or those who stay have."""
    ages = people(*[30] * 12)
    ill = dict(enumerate(["hiv"] * 6 + [*"abcdef"]))
    models = (KAnonymity(5), DistinctLDiversity(2, "ill"))
    seen = []
    for place, gone in enumerate((range(6), range(6, 12))):
        series = Series.create(
            tmp_path / str(place), Spec(("age",), models), row_key="id"
        )
        series.release(table(ages, ill=ill))
        found = series.release(
            table({i: x for i, x in ages.items() if i not in gone}, ill=ill)
        )
        seen.append(found.data["ill"].to_pylist())

    assert seen == [[], []]


def test_pseudonyms_and_notes_of_rows_that_are_gone_stay(tmp_path: Path) -> None:
    ages = people(*YOUNG)
    spec = Spec(("age",), (KAnonymity(3),), pseudonyms=("id",))
    series = Series.create(tmp_path / "s", spec, row_key="id")
    one = series.release(table(ages, note={0: "a", 1: "b", 2: "c"}).to_pandas())

    other = series.release(table({0: 20, 2: 22}, note={0: "a", 2: "c"}).to_pandas())

    assert isinstance(other.data, pd.DataFrame)
    assert one.data.equals(other.data)


def test_new_rows_may_all_lack_a_number_that_others_had(tmp_path: Path) -> None:
    spec = Spec(("age",), (KAnonymity(2),), policy=PaperPolicy())
    series = Series.create(tmp_path / "series", spec, row_key="id")
    first = people(20, 20, 30, 30)
    series.release(table(first))

    more = dict.fromkeys(range(10, 15))
    found = series.release(table({**first, **more}))

    assert shown(found)[None] == 5


def test_new_rows_may_go_down_the_first_tree(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first, cuts="first")

    found = series.release(table(first | people(19, 20, 20, first=10)))

    assert shown(found) == {"[20, 22]": 3, "[60, 62]": 3, "[19, 22]": 3}


def test_a_cohort_too_small_for_a_deletion_leaves_as_a_whole(tmp_path: Path) -> None:
    """The one who is gone would be the one that did not come back."""
    first = people(*YOUNG, 23, *OLD)
    series = begun(tmp_path, first, departures="by lot")

    found = series.release(table({i: x for i, x in first.items() if i != 0}))

    assert shown(found) == {"[60, 62]": 3}
    assert found.counts.n_gone == 1
    assert found.counts.n_withdrawn == 3


def test_from_a_larger_one_others_leave_by_lot(tmp_path: Path) -> None:
    first = people(*[20] * 10)
    series = begun(tmp_path, first, departures="by lot")

    found = series.release(table({i: x for i, x in first.items() if i != 0}))

    assert cohorts(found) == {"r1c1": 7}
    assert found.counts.n_withdrawn == 2


def test_who_left_is_not_shown_again(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first, departures="by lot")
    series.release(table({i: x for i, x in first.items() if i != 0}))

    found = series.release(table(first | people(20, 21, 22, first=10)))

    assert found.counts.n_withdrawn == 3
    assert cohorts(found) == {"r1c2": 3, "r3c1": 3}


def test_enough_deletions_take_nobody_along(tmp_path: Path) -> None:
    first = people(*[20] * 8)
    series = begun(tmp_path, first)

    found = series.release(table({i: x for i, x in first.items() if i >= 3}))

    assert cohorts(found) == {"r1c1": 5}
    assert found.counts.n_withdrawn == 0


def test_a_changed_row_leaves_its_cohort_and_does_not_enter_another(
    tmp_path: Path,
) -> None:
    first = people(*[20] * 8, *OLD)
    series = begun(tmp_path, first, departures="by lot")

    found = series.release(table(first | {0: 60} | people(60, 60, first=20)))

    assert cohorts(found) == {"r1c1": 5, "r1c2": 3}
    assert found.counts.n_withdrawn == 3
    assert found.counts.n_waiting == 2


def test_a_change_within_what_is_shown_changes_nothing(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first)

    found = series.release(table(first | {0: 22, 1: 20}))

    assert found.counts.n_withdrawn == 0
    assert cohorts(found) == {"r1c1": 3, "r1c2": 3}
    assert series.release(table(first)).counts.n_shown == 6


def test_a_cohort_that_changes_together_is_shown_anew(tmp_path: Path) -> None:
    ages = people(*YOUNG, *OLD)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(table(ages, pay=dict.fromkeys(ages, 1)))

    pay = {i: 2 if age < 50 else 1 for i, age in ages.items()}
    found = series.release(table(ages, pay=pay))

    assert cohorts(found) == {"r1c2": 3, "r2c1": 3}
    assert found.counts.n_withdrawn == 0


def test_a_change_within_a_label_changes_nothing(tmp_path: Path) -> None:
    zoo = from_paths(
        [("cat", "mammal", "*"), ("dog", "mammal", "*"), ("owl", "bird", "*")]
    )
    pets = dict(enumerate(["cat", "dog", "cat", "owl", "owl", "owl"]))
    spec = Spec(("age",), (KAnonymity(3),), hierarchies={"age": zoo})
    series = Series.create(tmp_path / "s", spec, row_key="id", departures="by lot")
    series.release(table(pets))

    found = series.release(table(pets | {0: "dog"}))

    assert shown(found) == {"mammal": 3, "owl": 3}
    assert series.release(table(pets | {3: "cat"})).counts.n_withdrawn == 3


def test_a_builder_places_labels_of_later_releases(tmp_path: Path) -> None:
    zips = dict(enumerate(["13053", "13068", "13099", "14850", "14853", "14800"]))
    spec = Spec(("age",), (KAnonymity(3),), hierarchies={"age": Prefix(steps=(2,))})
    series = Series.create(tmp_path / "s", spec, row_key="id", cuts="first")
    series.release(table(zips))
    more = dict(enumerate(["13001", "13002", "13003", "14999"], start=10))

    found = series.release(table(zips | more))
    assert shown(found) == {"130**": 6, "148**": 3}
    assert found.counts.n_waiting == 1
    found = series.release(table(zips | more | {0: "13001"}))
    assert shown(found) == {"130**": 6, "148**": 3}


def test_persons_are_counted_where_there_is_a_unit(tmp_path: Path) -> None:
    ages = people(*[20] * 6)
    who = {0: 1, 1: 1, 2: 2, 3: 3, 4: 4, 5: 4}
    spec = Spec(("age",), (KAnonymity(2),), unit="who")
    series = Series.create(tmp_path / "s", spec, row_key="id", departures="by lot")
    series.release(table(ages, who=who))

    fewer = {i: x for i, x in ages.items() if i > 1}
    found = series.release(table(fewer, who=who))

    assert found.counts.n_gone == 2
    assert found.counts.n_withdrawn in (1, 2)  # of one person, by lot
    assert found.verification.fewest_persons == 2
    assert "who" not in found.data.column_names


def test_sensitive_values_of_who_leaves_pass_the_models(tmp_path: Path) -> None:
    ages = people(*[20] * 9)
    ill = {i: "flu" if i < 7 else "cold" for i in ages}
    models = (KAnonymity(2), DistinctLDiversity(2, "ill"))
    series = Series.create(
        tmp_path / "s", Spec(("age",), models), row_key="id", departures="by lot"
    )
    series.release(table(ages, ill=ill))

    found = series.release(table({i: x for i, x in ages.items() if i}, ill=ill))

    left = Counter(ill.values()) - Counter(found.data["ill"].to_pylist())
    assert len(left) == 2
    assert found.data.num_rows == 0 or len(set(found.data["ill"].to_pylist())) == 2


def test_t_closeness_compares_with_the_first_table(tmp_path: Path) -> None:
    ages = people(*[20] * 4)
    ill = dict(enumerate("abab" + "aaaa" + "abab"))
    models = (KAnonymity(2), TCloseness(0.3, "ill"))
    series = Series.create(tmp_path / "s", Spec(("age",), models), row_key="id")
    series.release(table(ages, ill=ill))

    ages |= people(*[20] * 4, first=4)
    assert series.release(table(ages, ill=ill)).counts.n_waiting == 4
    ages |= people(*[20] * 4, first=8)
    assert series.release(table(ages, ill=ill)).counts.n_shown == 12
    assert series.verify().n_releases == 3


def test_larger_cohorts_may_be_asked_for(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG, *OLD), cohort_size=6)

    assert cohorts(series.release(table(people(*YOUNG, *OLD)))) == {"r1c1": 6}


def test_pseudonyms_stay_the_same(tmp_path: Path) -> None:
    ages = people(*YOUNG)
    spec = Spec(("age",), (KAnonymity(3),), pseudonyms=("id",))
    series = Series.create(tmp_path / "s", spec, row_key="id")

    one, other = (series.release(table(ages)) for _ in range(2))

    assert one.data["id"].equals(other.data["id"])
    assert len(set(one.data["id"].to_pylist())) == 3


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".arrow", ".feather"])
def test_files_of_every_form(tmp_path: Path, suffix: str) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first, suffix=suffix)

    series.release(table(first | people(25, 26, 27, first=10)))

    assert [path.name for path in series.paths] == [f"r1{suffix}", f"r2{suffix}"]
    assert series.verify().n_rows == 15


def test_cells_that_look_like_another_kind_of_csv_are_read_as_written(
    tmp_path: Path,
) -> None:
    spec = Spec(("age;pet",), (KAnonymity(2),))
    rows = pa.table({"id": [0, 1, 2, 3], "age;pet": ["1;cat"] * 2 + ["2;owl"] * 2})
    series = Series.create(tmp_path / "s", spec, row_key="id", suffix=".csv")

    series.release(rows)
    series.release(rows)

    assert series.verify().n_rows == 8
    told = verify_released(series.folder)
    assert told.found.n_rows == 8


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_who_left_stays_as_a_blank_row(tmp_path: Path, suffix: str) -> None:
    spec = replace(SPEC, suppressed="blank")
    first = people(*[20, 21, 22] * 3)
    series = Series.create(
        tmp_path / "s", spec, row_key="id", suffix=suffix, cohort_size=9
    )
    one = series.release(table(first, note=dict.fromkeys(first, "x")))
    rows = {i: first.get(i, 20) for i in [*range(3, 9), *range(20, 29)]}

    two = series.release(table(rows, note=dict.fromkeys(rows, "x")))
    three = series.release(table(rows, note=dict.fromkeys(rows, "x")))

    blank = dict.fromkeys(two.data.column_names)
    assert one.data.to_pylist().count(blank) == 0
    assert two.data.to_pylist().count(blank) == two.counts.n_gone == 3
    assert two.data.to_pylist()[-3:] == [blank] * 3
    assert three.data.to_pylist().count(blank) == 3
    assert Series.open(series.folder, spec).verify().n_rows == 9 + 18 + 18
    found = verify_released(series.folder)
    assert found.found.smallest_part == 3
    told = json.loads(
        (series.folder / "releases/r3")
        .with_name(f"r3{suffix}.manifest.json")
        .read_text()
    )
    assert told["rows"]["released"] == 18


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0.0, -0.0),
        (None, NAN),
        ([0.0], [-0.0]),
        ([None], [NAN]),
        ({"x": 0.0}, {"x": -0.0}),
        ({"x": [None]}, {"x": [NAN]}),
    ],
)
def test_a_row_that_is_written_anew_fails_the_recount(before: Any, after: Any) -> None:
    kind = pa.array([after]).type
    one, two = (
        pa.table(
            {
                "age": ["[20, 22]"] * 6,
                "cohort": ["r1c1"] * 6,
                "note": pa.array([first, *[before] * 5], kind, from_pandas=False),
            }
        )
        for first in (before, after)
    )

    assert verify_series(map(Numbered, (1, 2), (one, one)), SPEC, "cohort").n_rows == 12
    with pytest.raises(PrivacyViolation, match="have changed there"):
        verify_series(map(Numbered, (1, 2), (one, two)), SPEC, "cohort")


@pytest.mark.parametrize("odd", [("r1c1", "r1c2"), ("left", "shown")])
def test_null_values_make_no_two_parts_one(odd: tuple[str, str]) -> None:
    # Both leave together: two rows of either cohort, of which each has three.
    spec = replace(SPEC, null_values=("", *odd))
    one = pa.table(
        {
            "age": ["[20, 22]"] * 3 + ["[60, 62]"] * 3,
            "cohort": ["r1c1"] * 3 + ["r1c2"] * 3,
        }
    )
    releases = (one, one.take(pa.array([0, 3])))

    with pytest.raises(
        (PrivacyViolation, SpecError), match=r"fails for|names of cohorts"
    ):
        verify_series(map(Numbered, (1, 2), releases), spec, "cohort")


def test_blank_rows_of_nobody_fail_the_recount() -> None:
    spec = replace(SPEC, suppressed="blank")
    cohort = pa.array(["r1c1"] * 3)
    one = pa.table({"age": ["[20, 22]"] * 3, "cohort": cohort})
    more = pa.concat_tables(
        [one, pa.table({n: pa.nulls(1, pa.string()) for n in one.column_names})]
    )

    for releases in ([more], [one, more]):
        numbered = (Numbered(i, x) for i, x in enumerate(releases, start=1))
        with pytest.raises(PrivacyViolation, match="other blank rows"):
            verify_series(numbered, spec, "cohort")


def test_frames_of_pandas(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    frame = table(people(*YOUNG, *OLD)).to_pandas()

    found = series.release(frame)

    assert isinstance(found.data, pd.DataFrame)
    assert series.release(frame.sample(frac=1, random_state=1)).counts.n_shown == 6


def test_a_preview_writes_nothing(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first, departures="by lot")
    before = snapshot(series.folder)

    counts = series.preview(table({i: x for i, x in first.items() if i}))

    assert counts.n_withdrawn == 2
    assert snapshot(series.folder) == before


# What is written


def snapshot(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_only_the_owner_reads_state_and_records(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))

    assert stat.S_IMODE(series.folder.stat().st_mode) == 0o700
    for name in ("state", "records/r1.parquet.owner.json"):
        assert stat.S_IMODE((series.folder / name).stat().st_mode) == 0o600
    assert sorted(path.name for path in (series.folder / "releases").iterdir()) == [
        "r1.parquet",
        "r1.parquet.manifest.json",
    ]


def test_manifests_and_records_are_chains(tmp_path: Path) -> None:
    import hashlib

    first = people(*YOUNG)
    series = begun(tmp_path, first)
    series.release(table(first))

    for folder, name in (("releases", "manifest"), ("records", "owner")):
        one, other = (
            series.folder / folder / f"r{i}.parquet.{name}.json" for i in (1, 2)
        )
        told = json.loads(other.read_text())
        previous = (
            told["series"]["previous"] if name == "manifest" else told["previous"]
        )
        assert previous == hashlib.sha256(one.read_bytes()).hexdigest()


def test_the_state_holds_no_key_and_no_name(tmp_path: Path) -> None:
    rows = pa.table({"id": ["Ann", "Bob", "Cid"], "age": [20, 20, 20]})
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(rows)

    raw = (series.folder / "state").read_bytes()

    assert b"Ann" not in raw
    assert b"Bob" not in raw


def test_a_series_goes_on_after_it_was_opened(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    begun(tmp_path, first)

    series = Series.open(tmp_path / "s")
    found = series.release(table(first))

    assert found.number == 2
    assert found.counts.n_new == 0


# Refusals: the state stays as it is


def check_unchanged(
    series: Series, data: Any, error: type[Exception], why: str
) -> None:
    before = snapshot(series.folder)
    with pytest.raises(error, match=why) as caught:
        series.release(data)
    assert getattr(caught.value, "hint", None)
    assert snapshot(series.folder) == before


def test_a_folder_that_exists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="exists"):
        Series.create(tmp_path, SPEC, row_key="id")
    with pytest.raises(OutputError):
        Series.create(tmp_path / "no" / "where", SPEC, row_key="id")


def test_missing_and_added_columns_are_refused(tmp_path: Path) -> None:
    first = people(*YOUNG)
    series = begun(tmp_path, first)

    check_unchanged(
        series, table(first).drop_columns("age"), SpecError, "not in the data"
    )
    check_unchanged(
        series, table(first).drop_columns("id"), SpecError, "not in the data"
    )
    more = table(first, note=dict.fromkeys(first, 1))
    check_unchanged(series, more, SpecError, r"differ from .* first release: 'note'")


def test_a_column_of_another_kind_is_refused(tmp_path: Path) -> None:
    """All rows would seem to have changed, and leave for good."""
    first = people(*YOUNG)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(table(first, pay=dict.fromkeys(first, 1)))

    other = table(first, pay=dict.fromkeys(first, "1"))
    check_unchanged(series, other, DataError, "'pay' held numbers .* and now text")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("{}", "{}.0"), ("{}.0", "{}"), ("{}", "+{}"), ("{}", "{}e0")),
        *(("+{}", "{}"), ("{}e0", "{}"), ("{}.00", "{}"), ("{}.00", "{}.0")),
        *(("{}.000000e+00", "{}"), ("{}00", "{}E2"), ("-{}.50", "-{}.5")),
        *((" {}", "{}"), ("2026-11-0{}", "2026-11-0{} 00:00:00")),
    ],
)
@pytest.mark.parametrize("is_coded", [False, True])
def test_keys_that_are_written_otherwise_are_refused(
    tmp_path: Path, first: str, second: str, *, is_coded: bool
) -> None:
    def written(form: str, more: str = "") -> pa.Table:
        keys = pa.array(
            [*(form.format(i) for i in range(3, 9)), *([more] * bool(more))]
        )
        ages = [20 + i % 3 for i in range(len(keys))]
        return pa.table(
            {"id": keys.dictionary_encode() if is_coded else keys, "age": ages}
        )

    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(written(first))

    check_unchanged(
        series, written(second), DataError, "6 rows have the key of an earlier row"
    )
    assert series.release(written(first, "007")).counts.n_waiting == 1


def test_a_key_of_columns_is_refused_if_one_of_them_is_written_otherwise(
    tmp_path: Path,
) -> None:
    def visits(person: str, visit: str) -> pa.Table:
        keys = [(person.format(i), visit.format(i % 2)) for i in range(3, 9)]
        ids, numbers = zip(*keys, strict=True)
        return pa.table({"id": ids, "visit": numbers, "age": [20] * 6})

    series = Series.create(tmp_path / "s", SPEC, row_key=("id", "visit"))
    series.release(visits("{}.0", "{}"))

    for person, visit in (("{}", "{}"), ("{}", "{}.0"), ("{}.0", "{}.0")):
        other = visits(person, visit)
        check_unchanged(series, other, DataError, "6 rows have the key of an earlier")
    assert series.release(visits("{}.0", "{}")).counts.n_shown == 6


def test_rows_that_left_do_not_come_back_under_a_key_written_otherwise(
    tmp_path: Path,
) -> None:
    def written(keys: list[str]) -> pa.Table:
        return pa.table({"id": keys, "age": [20] * len(keys)})

    some, more = [f"{i}.00" for i in range(3, 9)], [f"{i}.00" for i in range(20, 26)]
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(written(some + more))
    assert series.release(written(some)).counts.n_gone == 6

    back = written([*some, *(str(i) for i in range(20, 26))])
    check_unchanged(series, back, DataError, "6 rows have the key of an earlier row")


@pytest.mark.parametrize(
    ("first", "second"),
    [("00{}", "{}"), ("{}", "00{}"), ("0e{}", "0e1{}"), ("{}0e2", "{}e03")],
)
def test_codes_are_other_keys_even_if_their_numbers_are_alike(
    tmp_path: Path, first: str, second: str
) -> None:
    def written(*forms: str) -> pa.Table:
        keys = [form.format(i) for form in forms for i in range(3, 9)]
        return pa.table({"id": keys, "age": [20] * len(keys)})

    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(written(first))

    assert series.release(written(first, second)).counts.n_new == 6


def test_keys_have_to_be_there_and_different(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))

    twice = pa.table({"id": [1, 1, 2], "age": [20, 20, 20]})
    check_unchanged(series, twice, DataError, "1 rows have the row key of another")
    none = pa.table({"id": [1, None, 2], "age": [20, 20, 20]})
    check_unchanged(series, none, DataError, "1 rows have no row key")


def test_a_number_that_is_not_one_is_no_key(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))

    none = pa.table({"id": [1.0, math.nan, 2.0], "age": [20, 20, 20]})
    check_unchanged(series, none, DataError, "1 rows have no row key")


DAYS = pa.array([946684800 + 86400 * i for i in range(3)])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.array([10**12 + i for i in range(3)]), pa.float64()),
        (DAYS.cast(pa.timestamp("s")), pa.timestamp("ns")),
        (DAYS.cast(pa.timestamp("s")), pa.date32()),
        (DAYS.cast(pa.timestamp("s", "UTC")), pa.timestamp("us", "Asia/Tokyo")),
        (DAYS.cast(pa.decimal128(19, 0)), pa.decimal128(21, 2)),
        (DAYS.cast(pa.string()), pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_a_key_is_its_value_whatever_type_it_has(
    tmp_path: Path, first: pa.Array, second: pa.DataType
) -> None:
    """Else everybody would be shown twice, in classes that can be compared."""
    ages = pa.array([20, 20, 20])
    series = Series.create(tmp_path / "s", SPEC, row_key=["id"])
    series.release(pa.table({"id": first, "age": ages}))

    again = series.release(pa.table({"id": first.cast(second), "age": ages}))

    assert again.counts.n_new == again.counts.n_gone == 0
    assert again.counts.n_shown == 3


@pytest.mark.parametrize(
    "second",
    [DAYS.cast(pa.string()), DAYS.cast(pa.timestamp("s")), DAYS.cast(pa.duration("s"))],
    ids=["text", "moments", "spans"],
)
def test_keys_of_another_kind_are_refused(tmp_path: Path, second: pa.Array) -> None:
    ages = pa.array([20, 20, 20])
    series = Series.create(tmp_path / "s", SPEC, row_key=["id"])
    series.release(pa.table({"id": DAYS, "age": ages}))

    other = pa.table({"id": second, "age": ages})
    check_unchanged(series, other, DataError, "'id' held numbers .* and now")


@pytest.mark.parametrize(("kind", "most"), [(pa.float64(), 53), (pa.float32(), 24)])
def test_floats_that_cannot_hold_a_key_are_refused(
    tmp_path: Path, kind: pa.DataType, most: int
) -> None:
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    ages, keys = [20, 20, 20], [2.0**most - 1, 2.0**most - 2, 2.0]
    exact = pa.table({"id": pa.array(keys, kind), "age": ages})
    larger = pa.table({"id": pa.array([2.0**most, *keys[1:]], kind), "age": ages})

    before = snapshot(series.folder)
    with pytest.raises(DataError, match="too large to be exact"):
        series.release(larger)

    assert snapshot(series.folder) == before | {"lock": b""}
    assert series.release(exact).counts.n_shown == 3


def test_values_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    first = people(*YOUNG)
    series = begun(tmp_path, first)

    other = table({**first, 9: 20.5})
    check_unchanged(series, other, DataError, "'age' was int64")


def test_a_first_table_that_cannot_be_released_begins_nothing(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    before = snapshot(series.folder)

    with pytest.raises(InfeasibleError):
        series.release(table(people(1, 2)))

    before["lock"] = b""
    assert snapshot(series.folder) == before
    assert series.release(table(people(*YOUNG))).number == 1


def test_a_column_called_like_the_cohort_is_refused(tmp_path: Path) -> None:
    first = people(*YOUNG)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")

    with pytest.raises(SpecError, match="several columns of one name"):
        series.release(table(first, cohort=dict.fromkeys(first, 1)))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"suppressed": "separate"}, "suppressed = 'separate'"),
        ({"class_id": "class"}, "the cohort is one"),
        ({"shuffle": 1}, "shuffle"),
        ({"nice": True}, "nice bounds"),
        ({"policy": BestPolicy(equity="sex")}, "best.equity"),
    ],
)
def test_what_no_series_can_do_is_refused(tmp_path: Path, wrong: Any, why: str) -> None:
    spec = Spec(("age",), (KAnonymity(3),), **wrong)

    with pytest.raises(SpecError, match=why):
        Series.create(tmp_path / "s", spec, row_key="id")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"row_key": ()}, "row_key names the columns"),
        ({"row_key": "age"}, "cannot identify rows"),
        ({"row_key": "id", "cohort_size": 1}, "cohort_size is a number"),
        ({"row_key": "id", "too_small": "up"}, "too_small is one of"),
        ({"row_key": "id", "cuts": "new"}, "cuts is one of"),
        ({"row_key": "id", "departures": "now"}, "departures is one of"),
        ({"row_key": "id", "suffix": ".txt"}, "suffix|kind|unknown"),
    ],
)
def test_rules_that_say_nothing_are_refused(
    tmp_path: Path, options: Any, why: str
) -> None:
    with pytest.raises(SpecError, match=why):
        Series.create(tmp_path / "s", SPEC, **options)
    assert not (tmp_path / "s").exists()


def test_a_changed_spec_is_refused(tmp_path: Path) -> None:
    begun(tmp_path, people(*YOUNG))

    with pytest.raises(SpecError, match="another spec, which differs in models"):
        Series.open(tmp_path / "s", Spec(("age",), (KAnonymity(2),)))
    assert Series.open(tmp_path / "s", SPEC).state().chain.number == 1


def test_no_series_is_no_series(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no series"):
        Series.open(tmp_path)


def test_a_damaged_state_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))
    path = series.folder / "state"
    raw = path.read_bytes()

    for place in range(0, len(raw), len(raw) // 60):
        changed = bytearray(raw)
        changed[place] ^= 0x41
        path.write_bytes(bytes(changed))
        check_unchanged(series, table(people(*YOUNG)), DataError, "state")
    path.write_bytes(raw[: len(raw) // 2])
    check_unchanged(series, table(people(*YOUNG)), DataError, "damaged")
    path.write_bytes(raw)
    assert series.release(table(people(*YOUNG))).number == 2


def test_a_state_without_its_parts_is_refused(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))
    path = series.folder / "state"
    parts = read_private(path, "series", VERSION)

    for name in parts:
        fewer = {key: part for key, part in parts.items() if key != name}
        write_private(path, "series", VERSION, fewer, overwrite=True)
        check_unchanged(series, table(people(*YOUNG)), DataError, "lacks parts")


def test_a_state_of_another_version_says_so(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))
    path = series.folder / "state"
    parts = read_private(path, "series", VERSION)
    write_private(path, "series", 99, parts, overwrite=True)

    check_unchanged(series, table(people(*YOUNG)), DataError, "a series of version 99")


def test_a_release_that_was_changed_or_moved_is_missed(tmp_path: Path) -> None:
    first = people(*YOUNG)
    series = begun(tmp_path, first)
    path = series.paths[0]
    raw = path.read_bytes()

    path.write_bytes(raw + b"x")
    check_unchanged(series, table(first), DataError, "not as it was released")
    path.unlink()
    check_unchanged(series, table(first), DataError, "gone, and the next release")
    path.write_bytes(raw)
    assert series.release(table(first)).number == 2


def test_a_state_from_a_backup_does_not_go_on(tmp_path: Path) -> None:
    """Two second releases would be two releases that nobody has compared."""
    first = people(*YOUNG)
    series = begun(tmp_path, first)
    old = (series.folder / "state").read_bytes()
    series.release(table(first | people(*OLD, first=20)))
    last = (series.folder / "state").read_bytes()

    (series.folder / "state").write_bytes(old)
    check_unchanged(series, table(first), DataError, "does not know this release")
    with pytest.raises(DataError, match="an older one"):
        Series.open(series.folder)

    (series.folder / "state").write_bytes(last)
    assert series.release(table(first)).number == 3


def test_two_writers_are_refused(tmp_path: Path) -> None:
    first = people(*YOUNG)
    series = begun(tmp_path, first)
    handle = os.open(series.folder / "lock", os.O_RDWR)
    try:
        assert try_lock(handle)
        check_unchanged(series, table(first), OutputError, "another process writes")
        assert series.state().chain.number == 1  # reading is allowed
    finally:
        os.close(handle)
    assert series.release(table(first)).number == 2


def test_a_release_that_fails_its_verification_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = people(*[20] * 8)
    series = begun(tmp_path, first)

    def keep_all(rows: Any, _judge: Any, _departures: Any) -> Any:
        import numpy as np

        return np.where(rows.fate == 1, -1, -2)

    monkeypatch.setattr("core_mondrian.series.release_step.settle", keep_all)
    fewer = table({i: x for i, x in first.items() if i})
    check_unchanged(series, fewer, PrivacyViolation, "3-anonymity fails")


def test_rows_that_leave_for_two_places_are_counted_in_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files show that four have left: one for good, and three for a new cohort."""
    first = people(*[20] * 8)
    series = begun(tmp_path, first)
    moved = table({i: 40 if i < 3 else 20 for i in first if i != 7})

    def one_leaves(rows: Any, _judge: Any, _departures: Any) -> Any:
        import numpy as np

        return np.select([rows.fate == 1, rows.entering >= 0], [-1, rows.entering], -2)

    monkeypatch.setattr("core_mondrian.series.release_step.settle", one_leaves)
    check_unchanged(series, moved, PrivacyViolation, "3-anonymity fails")


# Kills

KILLER = """
import os, shutil, sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
import pyarrow as pa
from core_mondrian import Series

def table(name):
    with pa.ipc.open_file(Path(sys.argv[1]) / name) as file:
        return file.read_all()

base, steps = Path(sys.argv[1]), ("open", "os.rename", "os.remove", "os.mkdir",
    "os.link", "os.rmdir", "os.chmod", "shutil.rmtree")

def killed_at(n, folder):
    left = [n]
    def hook(event, args):
        if event in steps and any(str(folder) in str(x) or "/proc/self/fd" in str(x)
                                  for x in args):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
    sys.addaudithook(hook)

def in_child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException as error:
            print("FAILED", type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def release(folder, name):
    Series(folder).release(table(name), threads=1)

def check(folder):
    series = Series.open(folder)
    number = series.state().chain.number
    assert number in (1, 2), number
    assert len(list((folder / "releases").iterdir())) == 2 * number
    assert len(list((folder / "records").iterdir())) == number
    series.release(table("next"), threads=1)
    assert series.verify().n_releases == number + 1
    left = {path.name for path in folder.iterdir()}
    assert left == {"state", "lock", "releases", "records"}, left
    print("state", number, flush=True)

def tell_modules():
    shutil.copytree(base / "s", base / "other")
    check(base / "other")
    (base / "modules").write_text("\\n".join(sys.modules))

assert in_child(tell_modules) == 0
for name in (base / "modules").read_text().split():  # else every child loads them
    with suppress(ImportError):
        import_module(name)
for n in range(1000):
    folder = base / "copy"
    shutil.copytree(base / "s", folder)
    def work():
        killed_at(n, folder)
        release(folder, "next")
    code = in_child(work)
    assert in_child(lambda: check(folder)) == 0, n
    shutil.rmtree(folder)
    if code == 0:
        print("steps", n)
        break
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_kill_between_any_two_steps_leaves_a_sound_series(tmp_path: Path) -> None:
    first = people(*[20] * 8, *OLD)
    begun(tmp_path, first)
    after = table({i: x for i, x in first.items() if i} | people(20, 20, 20, first=20))
    with pa.ipc.new_file(tmp_path / "next", after.schema) as file:
        file.write_table(after)

    run = subprocess.run(  # noqa: S603  # our own
        [sys.executable, "-c", KILLER, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    lines = run.stdout.split("\n")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "FAILED" not in run.stdout
    assert {"state 1", "state 2"} <= set(lines[1:])
    assert int(lines[-2].split()[1]) > 20
    shutil.rmtree(tmp_path / "s")
