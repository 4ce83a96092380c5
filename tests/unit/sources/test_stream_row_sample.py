"""Rows that a stream looks at for what they give away: as in memory, and kept small."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core_mondrian import KAnonymity, Spec, anonymize, anonymize_files
from core_mondrian.measures import disclosure_warnings as concerns
from core_mondrian.measures import row_sample as sights
from core_mondrian.measures.row_sample import DistinctRows, distinct_rows
from core_mondrian.sources.files.writing import Writing, Written
from core_mondrian.sources.memory import Limit, Sizes

TINY = Sizes(rows=97, text=3000, in_flight=3, threads=2)


@pytest.fixture(autouse=True)
def tiny_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limit, "sizes", lambda *_: TINY)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[DistinctRows]:
    """What the second pass has of the rows it looked at when it ends."""
    found: list[DistinctRows] = []
    write = Writing.write

    def noted(*given: Any) -> Written:
        written = write(*given)
        found.extend(written.sights)
        return written

    monkeypatch.setattr(Writing, "write", noted)
    return found


def test_of_many_equal_rows_one_is_kept(
    kept: list[DistinctRows], tmp_path: Path
) -> None:
    table = pa.table({"age": [7] * 70_000, "sex": ["f"] * 70_000, "n": [1] * 70_000})
    pq.write_table(table, tmp_path / "in.parquet")
    spec = Spec(("age", "sex"), (KAnonymity(2),))

    anonymize_files(tmp_path / "in.parquet", tmp_path / "out.csv", spec)

    assert sum(sight.rows.size for sight in kept) < 64  # a few are joined in the end
    assert sum(int(sight.counts.sum()) for sight in kept) == 70_000


def test_of_long_notes_little_is_kept(kept: list[DistinctRows], tmp_path: Path) -> None:
    lines = [f"33,f,{'a' * 2000}{i}\n" for i in range(600)]
    with gzip.open(tmp_path / "in.csv.gz", "wt") as file:
        file.write("age,sex,note\n" + "".join(lines))
    spec = Spec(("age", "sex"), (KAnonymity(2),))

    release = anonymize_files(tmp_path / "in.csv.gz", tmp_path / "out.csv", spec)

    arrays = [
        array
        for sight in kept
        for array in (sight.rows, *sight.cells.values(), *sight.values.values())
    ]
    assert sum(array.nbytes for array in arrays) < 100 * 600  # of 2,000 each
    assert [one.why for one in release.warnings] == ["singles-out"]


def test_enough_different_rows_are_no_more_than_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sights, "_MOST_ROWS", 1000)
    written = Written()

    for i in range(100):
        numbers = pa.array(np.arange(i * 500, i * 500 + 500))
        written.see(distinct_rows({"n": numbers}, np.zeros(500, dtype=np.int32)))
        assert sum(sight.rows.size for sight in written.sights) <= 2000


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_warnings_are_those_in_memory_where_few_tuples_have_many_rows(
    suffix: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from core_mondrian.tables.files.read import read_table
    from core_mondrian.tables.files.write import write_table

    monkeypatch.setattr(concerns, "_MOST_ROWS", 1000)
    monkeypatch.setattr(concerns, "_PICKED_ROWS", 500)
    monkeypatch.setattr(sights, "_MOST_ROWS", 300)
    rng = np.random.default_rng(2)
    q = rng.integers(0, 6, 3000)
    table = pa.table(
        {
            "q": q,
            "mail": [f"u{i}@example.org" for i in range(3000)],
            "twin": [f"t{x}" for x in np.where(rng.random(3000) < 0.9, q, 7)],
            "noise": rng.integers(0, 9, 3000),
        }
    )
    write_table(table, tmp_path / f"in{suffix}")
    whole = read_table(tmp_path / f"in{suffix}", typed=("q",))
    spec = Spec(("q",), (KAnonymity(600),))

    expected = anonymize(whole, spec)
    found = anonymize_files(tmp_path / f"in{suffix}", tmp_path / f"out{suffix}", spec)

    assert found.warnings == expected.warnings
    assert {(one.column, one.why) for one in found.warnings} == {
        ("mail", "identifier"),
        ("mail", "singles-out"),
        ("twin", "tells"),
    }
