"""A series of releases in a folder, case by case."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core_mondrian import (
    DataError,
    InfeasibleError,
    KAnonymity,
    OutputError,
    PrivacyViolation,
    Series,
    Spec,
    SpecError,
)
from core_mondrian.hierarchies.codes import Prefix
from core_mondrian.hierarchies.tree import from_paths
from core_mondrian.models import DistinctLDiversity, TCloseness
from core_mondrian.series.private_file import read_private, write_private
from core_mondrian.series.series import SeriesRelease
from core_mondrian.tables.files.staging import try_lock

SPEC = Spec(("age",), (KAnonymity(3),))
YOUNG = [20, 21, 22]
OLD = [60, 61, 62]


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
    assert shown(found) == {"[20, 22]": 3, "[60, 62]": 3, "[19, 22]": 3}
    assert found.counts.n_new == 3


def test_new_rows_that_are_too_few_wait(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first)

    found = series.release(table(first | people(20, 61, first=10)))
    assert found.counts.n_waiting == 2
    assert cohorts(found) == {"r1c1": 3, "r1c2": 3}

    found = series.release(table(first | people(20, 61, 22, first=10)))
    assert found.counts.n_waiting == 0
    assert shown(found) == {"[20, 22]": 3, "[60, 62]": 3, "[20, 62]": 3}


def test_they_may_wait_for_others_of_their_class(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first, too_small="wait")

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


def test_a_cohort_too_small_for_a_deletion_leaves_as_a_whole(tmp_path: Path) -> None:
    """The one who is gone would be the one that did not come back."""
    first = people(*YOUNG, 23, *OLD)
    series = begun(tmp_path, first)

    found = series.release(table({i: x for i, x in first.items() if i != 0}))

    assert shown(found) == {"[60, 62]": 3}
    assert found.counts.n_gone == 1
    assert found.counts.n_withdrawn == 3


def test_from_a_larger_one_others_leave_by_lot(tmp_path: Path) -> None:
    first = people(*[20] * 10)
    series = begun(tmp_path, first)

    found = series.release(table({i: x for i, x in first.items() if i != 0}))

    assert cohorts(found) == {"r1c1": 7}
    assert found.counts.n_withdrawn == 2


def test_who_left_is_not_shown_again(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first)
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
    series = begun(tmp_path, first)

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
    series = Series.create(tmp_path / "s", spec, row_key="id")
    series.release(table(pets))

    found = series.release(table(pets | {0: "dog"}))

    assert shown(found) == {"mammal": 3, "owl": 3}
    assert series.release(table(pets | {3: "cat"})).counts.n_withdrawn == 3


def test_a_builder_places_labels_of_later_releases(tmp_path: Path) -> None:
    zips = dict(enumerate(["13053", "13068", "13099", "14850", "14853", "14800"]))
    spec = Spec(("age",), (KAnonymity(3),), hierarchies={"age": Prefix(steps=(2,))})
    series = Series.create(tmp_path / "s", spec, row_key="id")
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
    series = Series.create(tmp_path / "s", spec, row_key="id")
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
    series = Series.create(tmp_path / "s", Spec(("age",), models), row_key="id")
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


def test_frames_of_pandas(tmp_path: Path) -> None:
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    frame = table(people(*YOUNG, *OLD)).to_pandas()

    found = series.release(frame)

    assert isinstance(found.data, pd.DataFrame)
    assert series.release(frame.sample(frac=1, random_state=1)).counts.n_shown == 6


def test_a_preview_writes_nothing(tmp_path: Path) -> None:
    first = people(*YOUNG, *OLD)
    series = begun(tmp_path, first)
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
    check_unchanged(
        series, more, SpecError, r"differ from .* first release: \['note'\]"
    )


def test_a_column_of_another_kind_is_refused(tmp_path: Path) -> None:
    """All rows would seem to have changed, and leave for good."""
    first = people(*YOUNG)
    series = Series.create(tmp_path / "s", SPEC, row_key="id")
    series.release(table(first, pay=dict.fromkeys(first, 1)))

    other = table(first, pay=dict.fromkeys(first, "1"))
    check_unchanged(series, other, DataError, "'pay' held numbers .* and now text")


def test_keys_have_to_be_there_and_different(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))

    twice = pa.table({"id": [1, 1, 2], "age": [20, 20, 20]})
    check_unchanged(series, twice, DataError, "1 rows have the row key of another")
    none = pa.table({"id": [1, None, 2], "age": [20, 20, 20]})
    check_unchanged(series, none, DataError, "1 rows have no row key")


def test_a_key_is_the_same_as_text(tmp_path: Path) -> None:
    rows = pa.table({"id": ["7", "8", "9"], "age": [20, 20, 20]})
    series = Series.create(tmp_path / "s", SPEC, row_key=["id"])
    series.release(rows)

    assert series.release(rows).counts.n_shown == 3


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
        ({"suppressed": "blank"}, "suppressed = 'blank'"),
        ({"class_id": "class"}, "the cohort is one"),
        ({"shuffle": 1}, "shuffle"),
        ({"nice": True}, "nice bounds"),
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
        ({"row_key": "age"}, "cannot tell rows apart"),
        ({"row_key": "id", "cohort_size": 1}, "cohort_size is a number"),
        ({"row_key": "id", "too_small": "up"}, "too_small is one of"),
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
    parts = read_private(path, "series", 1)

    for name in parts:
        fewer = {key: part for key, part in parts.items() if key != name}
        write_private(path, "series", 1, fewer, overwrite=True)
        check_unchanged(series, table(people(*YOUNG)), DataError, "lacks parts")


def test_a_state_of_another_version_says_so(tmp_path: Path) -> None:
    series = begun(tmp_path, people(*YOUNG))
    path = series.folder / "state"
    parts = read_private(path, "series", 1)
    write_private(path, "series", 2, parts, overwrite=True)

    check_unchanged(series, table(people(*YOUNG)), DataError, "a series of version 2")


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

    def keep_all(rows: Any, _judge: Any) -> Any:
        import numpy as np

        return np.where(rows.fate == 1, -1, -2)

    monkeypatch.setattr("core_mondrian.series.release_step.settle", keep_all)
    fewer = table({i: x for i, x in first.items() if i})
    check_unchanged(series, fewer, PrivacyViolation, "3-anonymity fails")


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
