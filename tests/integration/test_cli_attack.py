"""core-mondrian attack: findings, files, exit codes, and no cell that is printed."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, in_process

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
    assert lines[1].startswith("linkage         no   Who knows ['age', 'sex', 'town']")
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
        *("physical order", "leftovers", "manifest"),
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
