"""The judge of benchmarks: two files, one JSON object, counted by hand here."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.adult_hierarchies import ADULT_GROUPS, read_rows
from benchmarks.cases import ROOT
from benchmarks.judge import judge

PEOPLE = pd.DataFrame(
    {
        "id": range(6),
        "age": [20, 30, 40, 50, 60, 70],
        "job": ["a", "b", "c", "c", "d", None],
        "pay": ["low", "low", "low", "high", "high", "high"],
    }
)
RELEASED = pd.DataFrame(
    {
        "id": [0, 1, 2, 3, 4],
        "age": ["[20, 30]", "[20, 30]", "[40, 50]", "[40, 50]", None],
        "job": ["*", "*", "c", "c", None],
    }
)
TREE = "a;left;*\nb;left;*\nc;right;*\nd;right;*\n"


def test_a_small_release_counted_by_hand(tmp_path: Path) -> None:
    (tmp_path / "job.csv").write_text(TREE)

    found = judge(PEOPLE, RELEASED, "id", ["age", "job"], 2, ["pay"], tmp_path)

    # Row 5 is absent, row 4 blank though it was not: both are suppressed.
    assert (found["rows_in"], found["rows_out"], found["suppressed"]) == (6, 4, 2)
    assert (found["classes"], found["min_class"], found["violations"]) == (2, 2, 0)
    assert found["dm"] == 4 + 4 + 2 * 6
    # Ages lose 10 of 50 in each of four rows, jobs half of their leaves in two rows.
    assert found["ncp_tax"] == round((4 * 0.2 + 2 * 0.5 + 4) / 12, 5)
    assert found["ncp_flat"] == round((4 * 0.2 + 2 * 1 + 4) / 12, 5)
    assert found["ncp_set"] == round((4 * 0.2 + 2 * 1 / 4 + 4) / 12, 5)
    # The second class has both incomes, the whole is 3 low to 1 high.
    assert found["sensitive:pay"] == {"min_distinct": 1, "max_equal_distance": 0.25}


def test_classes_below_k_and_rows_from_nowhere_are_counted() -> None:
    strange = RELEASED.assign(id=[0, 1, 2, 3, 99])

    found = judge(PEOPLE, strange, "id", ["age", "job"], 3)

    assert found["stray_rows"] == 1
    assert found["violations"] == 4


def test_a_column_that_names_rows_twice_is_refused() -> None:
    with pytest.raises(SystemExit, match="does not identify"):
        judge(PEOPLE, RELEASED.assign(id=[0, 0, 2, 3, 4]), "id", ["age"])


@pytest.mark.parametrize(("k", "code"), [(2, 0), (3, 1)])
def test_from_files_it_leaves_with_1_if_a_class_is_too_small(
    tmp_path: Path, k: int, code: int
) -> None:
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    RELEASED.to_parquet(tmp_path / "released.parquet")

    done = subprocess.run(  # noqa: S603
        [
            *(sys.executable, "-m", "benchmarks.judge"),
            *(tmp_path / "people.csv", tmp_path / "released.parquet"),
            *("--id", "id", "--qid", "age", "--qid", "job", "--k", str(k)),
        ],
        check=False,
        cwd=ROOT,
        capture_output=True,
    )

    assert done.returncode == code
    assert json.loads(done.stdout)["min_class"] == 2


def test_a_value_of_adult_stands_in_one_group() -> None:
    for name, rows in read_rows(None).items():
        values = [row[0] for row in rows]
        assert len({*values}) == len(values), name
        assert len({len(row) for row in rows}) == 1, name
        assert {row[-1] for row in rows} == {"*"}
    assert read_rows(None).keys() == ADULT_GROUPS.keys()
