"""The benchmark that compares digests on every engine, on a few rows."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.engines import SPECS, TABLES, compare, make_spec, read, write_table
from benchmarks.lines import Line
from core_mondrian.datasets import census

CENSUS = TABLES["census_1m"]


@pytest.mark.long
@pytest.mark.parametrize("engine", ["files", "duckdb", "sqlite"])
def test_each_spec_has_the_digest_it_has_in_memory(engine: str, tmp_path: Path) -> None:
    pq.write_table(census(3_000, seed=4), tmp_path / "people.parquet")
    table = read(tmp_path / "people.parquet", CENSUS)
    specs = {name: make_spec(name, CENSUS) for name in SPECS}

    lines = list(compare(table, specs, [engine], parts=8))

    assert [line["spec"] for line in lines] == [*SPECS]
    assert all(line["is_same"] and line["is_in_parts"] for line in lines)
    digests = {line["spec"]: line["digest"] for line in lines}
    # Specs are told apart: what they ask for binds.
    assert len({digests[name] for name in SPECS if name != "auto"}) == len(SPECS) - 1


def test_persons_are_three_rows_that_are_alike(tmp_path: Path) -> None:
    pq.write_table(census(300, seed=4), tmp_path / "people.parquet")

    table = read(tmp_path / "people.parquet", CENSUS)

    rows = table.group_by("person").aggregate([("age", "min"), ("age", "max")])
    assert rows.num_rows == 100
    spread = rows["age_max"].to_numpy() - rows["age_min"].to_numpy()
    assert spread.mean() < 1


def test_a_digest_that_differs_is_seen_in_the_table() -> None:
    line: Line = {"table": "adult", "spec": "paper", "digest": "0123456789abcdef"}
    good = {**line, "is_same": True, "is_in_parts": True}

    found = write_table(
        [
            good | {"engine": "files"},
            good | {"engine": "sqlite", "is_same": False},
            good | {"engine": "spark", "is_in_parts": False},
            good | {"engine": "files", "spec": "fast"},
        ]
    )

    assert found.splitlines() == [
        "| table | spec | digest | files | sqlite | spark |",
        "|---|---|---|---|---|---|",
        "| adult | paper | 01234567 | same | OTHER | not in parts |",
        "| adult | fast | 01234567 | same | not run | not run |",
    ]
