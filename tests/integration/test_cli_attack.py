"""core-mondrian attack: findings, files, exit codes, and no cell that is printed."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, in_process

from core_mondrian import KAnonymity, Series, Spec
from core_mondrian.datasets import census

KNOWN = ("--qid", "age", "--qid", "sex", "--qid", "town", "--k", "5")


@pytest.fixture
def attack(capfd: Any, monkeypatch: Any, tmp_path: Path) -> Command:
    """Run a command where a census with some unique towns and two releases are."""
    table = census(500)
    towns = ["Bonn" if i % 2 else "Ulm" for i in range(500)]
    towns[:20] = [f"{CANARY} {i}" for i in range(20)]
    table = table.append_column("town", pa.array(towns))
    pa.csv.write_csv(table, tmp_path / "people.csv")
    pq.write_table(table, tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    command = in_process(capfd)
    for name, k in (("release.csv", "5"), ("other.parquet", "9")):
        done = command("anonymize", "people.csv", name, *KNOWN[:-1], k)
        assert done.code == 0, done.err
    return lambda *arguments, name="attack": command(name, *arguments)


def test_what_is_found_is_told_without_a_cell(attack: Command) -> None:
    done = attack(
        *("release.csv", "--with", "people.csv", "--sensitive", "income"),
        *("--also", "other.parquet", "--known", "age,town,zip_code"),
    )

    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "500 rows of the original, 500 rows of the release, k = 5"
    assert lines[1].startswith(
        "linkage         no   Someone who knows 'age', 'sex', 'town'"
    )
    for name in ("homogeneity", "background", "skewness", "membership"):
        assert any(line.startswith(f"{name} ") for line in lines), name
    for name in ("intersection", "reconstruction", "row order"):
        assert any(line.startswith(f"{name} ") for line in lines), name
    for word in (CANARY, "Bonn", "Ulm", ">50K"):
        assert word not in done.out + done.err


def test_json_has_all_of_it(attack: Command) -> None:
    done = attack("release.csv", "--with", "people.csv", "--json")

    found = json.loads(done.out)

    assert (done.code, found["rows"], found["k"]) == (0, 500, 5)
    names = {one["name"] for one in found["attacks"]}
    assert names == {
        *("linkage", "membership", "reconstruction", "downcoding", "row order"),
        *("physical order", "leftovers", "manifest", "split tuples"),
    }
    assert sum(one["name"] == "linkage" for one in found["attacks"]) == 7
    assert CANARY not in done.out


def test_files_may_be_of_other_kinds(attack: Command) -> None:
    same = [
        attack("release.csv", "--with", original, "--json").out
        for original in ("people.csv", "people.parquet")
    ]

    assert same[0] == same[1]


def test_labels_of_a_hierarchy_fit_what_is_below_them(attack: Command) -> None:
    known = ("--qid", "zip_code", "--hierarchy", "zip_code=prefix", "--k", "5")
    done = attack("people.csv", "zips.csv", *known, name="anonymize")
    assert done.code == 0, done.err

    found = json.loads(attack("zips.csv", "--with", "people.csv", "--json").out)

    (linkage,) = [one for one in found["attacks"] if one["name"] == "linkage"]
    assert linkage["numbers"]["fitting"] == 500
    assert linkage["numbers"]["fewest_rows"] >= 5
    assert linkage["numbers"]["mean_confidence"] > 1 / 500  # not all are one class


def test_exit_code_tells_if_too_many_are_linked(attack: Command) -> None:
    by_id = ("--with", "people.csv", "--known", "person_id", "--fail-above", "0.1")
    sound = ("--with", "people.csv", "--fail-above", "0")

    failed = attack("release.csv", *by_id)
    passed = attack("release.csv", *sound)

    assert (failed.code, passed.code) == (5, 0)
    assert "100.00% of the rows are linked" in failed.err
    assert attack("release.csv", *by_id[:-1], "2").code == 2


@pytest.mark.parametrize("sign", [" ", "\u200b"])
def test_a_gate_does_not_open_for_cells_that_are_written_otherwise(
    attack: Command, sign: str
) -> None:
    table = pq.read_table("people.parquet")
    raw = pc.binary_join_element_wise(table["town"], sign, "")
    at = table.column_names.index("town")
    pq.write_table(table.set_column(at, "town", raw), "raw.parquet")
    Path("spec.toml").write_text(
        'quasi_identifiers = ["age", "sex", "town"]\nk = 5\n', encoding="utf-8"
    )
    words = ("raw.parquet", "--with", "people.parquet", "--spec", "spec.toml")

    noted, gate = attack(*words), attack(*words, "--fail-above", "0.1")

    assert noted.code == 0
    assert "500 of 500 released rows fit nobody of the original" in noted.out
    assert gate.code == 3
    assert "500 of 500 released rows fit nobody of the original" in gate.err


def test_spec_is_a_file_where_there_is_no_manifest(
    attack: Command, tmp_path: Path
) -> None:
    (tmp_path / "release.csv").rename(tmp_path / "moved.csv")
    (tmp_path / "spec.toml").write_text(
        'quasi_identifiers = ["age", "sex", "town"]\nk = 5\n'
    )

    without = attack("moved.csv", "--with", "people.csv")
    by_file = attack("moved.csv", "--with", "people.csv", "--spec", "spec.toml")

    assert (without.code, by_file.code) == (2, 0)
    assert "no manifest stands beside it" in without.err


def test_misuse_is_told_with_its_exit_code(attack: Command) -> None:
    assert attack("release.csv", "--with", "nowhere.csv").code == 3
    assert attack("release.csv").code == 2
    wrong = attack("release.csv", "--with", "people.csv", "--known", "shoe")
    assert (wrong.code, "shoe" in wrong.err) == (2, True)


# A folder of releases


@pytest.fixture
def folder(
    attack: Command,  # noqa: ARG001  # makes what is anonymized here
    tmp_path: Path,
    capfd: Any,
) -> Path:
    """Two releases by other quasi-identifiers, both in the order of the original."""
    command = in_process(capfd)
    found = tmp_path / "releases"
    found.mkdir()
    for name, qid in (("one.csv", "town"), ("two.parquet", "race")):
        done = command(
            *("anonymize", "people.csv", f"releases/{name}", "--qid", "age"),
            *("--qid", qid, "--k", "5"),
        )
        assert done.code == 0, done.err
    return found


@pytest.mark.usefixtures("folder")
def test_a_folder_is_attacked_two_by_two(attack: Command) -> None:
    done = attack("releases", "--with", "people.csv", "--sensitive", "income")

    assert done.code == 0, done.err
    assert done.out.startswith("one.csv and two.parquet, k = 5\nshared columns  yes")
    assert "intersection    yes" in done.out
    assert done.out.endswith("1 of 1 pairs reveal more together\n")
    for word in (CANARY, "Bonn", "Ulm", ">50K"):
        assert word not in done.out + done.err


@pytest.mark.usefixtures("folder")
def test_a_folder_needs_no_original_and_can_fail(attack: Command) -> None:
    done = attack("releases", "--json", "--fail-above", "0.1")

    found = json.loads(done.out)
    assert done.code == 5
    assert "releases together leave" in done.err
    (pair,) = found["pairs"]
    assert [one["name"] for one in pair["attacks"]] == ["shared columns"]
    assert found["share"] > 0.1
    assert "no original is given" in found["notes"][0]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("missing", [False, True])
def test_a_gate_of_a_folder_does_not_open_if_nobody_could_be_looked_for(
    attack: Command, *, missing: bool
) -> None:
    people = pa.csv.read_csv("people.csv")
    at = people.column_names.index("town")
    other = pc.binary_join_element_wise(people["town"], " ", "")
    raw = people.set_column(at, "city" if missing else "town", other)
    pa.csv.write_csv(raw, "raw.csv")
    words = ("releases", "--with", "raw.csv", "--json")

    noted, gate = attack(*words), attack(*words, "--fail-above", "1")
    sound = attack("releases", "--with", "people.csv", "--fail-above", "1")

    assert (noted.code, gate.code, sound.code) == (0, 3, 0)
    n = 500 if missing else 480  # of the others the town is not shown
    assert f"one.csv: {n} of 500 released rows fit nobody of the original" in gate.err
    assert json.loads(gate.out)["unmatched"] == [
        {"release": "one.csv", "released_rows": 500, "strange_rows": n},
        {"release": "two.parquet", "released_rows": 500, "strange_rows": 0},
    ]


def test_a_gate_of_a_series_stays_open_for_people_who_left(
    attack: Command, tmp_path: Path
) -> None:
    people = census(300).append_column("key", pa.array(range(300)))
    spec = Spec(("age", "sex"), (KAnonymity(5),))
    series = Series.create(tmp_path / "s", spec, row_key="key", cohort_size=20)
    for n in (300, 295):
        series.release(people.slice(300 - n))
    pa.csv.write_csv(people.slice(5), tmp_path / "now.csv")

    done = attack("s", "--with", "now.csv", "--fail-above", "1")

    assert done.code == 0, done.err


def test_all_releases_of_a_folder_are_attacked_at_once(
    attack: Command, tmp_path: Path
) -> None:
    """A series withstands who knows everybody in it; releases made afresh do not."""
    people = census(600)
    ways = {}
    spec = Spec(("age", "sex"), (KAnonymity(5),), pseudonyms=("person_id",))
    series = Series.create(
        tmp_path / "s", spec, row_key="key", key=b"0" * 16, cohort_size=20
    )
    (tmp_path / "afresh").mkdir()
    (tmp_path / "key").write_text("30" * 16)
    for month in range(4):
        now = people.slice(40 * month, 300 + 60 * month)
        pa.csv.write_csv(now, tmp_path / "now.csv")
        done = attack(
            *("now.csv", f"afresh/{month}.csv", "--qid", "age", "--qid", "sex"),
            *("--pseudonym", "person_id", "--key-file", "key", "--k", "5"),
            name="anonymize",
        )
        assert done.code == 0, done.err
        series.release(now.append_column("key", now["person_id"]))

    for name, folder in {"series": "s/releases", "afresh": "afresh"}.items():
        done = attack(folder, "--json")
        assert done.code == 0, done.err
        (ways[name],) = json.loads(done.out)["at_once"]

    assert ways["series"]["numbers"]["releases"] == 4
    assert ways["series"]["numbers"]["fewer"] == 0
    assert ways["afresh"]["numbers"]["fewer"] > 100
    assert "4 releases at once" in attack("afresh").out
    assert attack("s").out == attack("s/releases").out


def test_what_a_folder_cannot_do_is_refused(attack: Command, folder: Path) -> None:
    done = attack("releases", "--known", "age")
    assert (done.code, "are for one release" in done.err) == (2, True)
    done = attack("releases", "--csv", "quote=single")
    assert (done.code, "--with FILE" in done.err) == (2, True)
    (folder / "one.csv").unlink()
    done = attack("releases")
    assert (done.code, "its release is gone" in done.err) == (3, True)
    for path in folder.iterdir():
        path.unlink()
    done = attack("releases")
    assert (done.code, "no release with a manifest" in done.err) == (3, True)
    done = attack("release.csv")
    assert (done.code, "--with FILE" in done.err) == (2, True)
    done = attack("release.csv", "--with", "release.csv")
    assert (done.code, "are the same file" in done.err) == (2, True)
