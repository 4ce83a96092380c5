"""A folder is verified as whoever gets it finds it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core_mondrian import DataError, KAnonymity, Spec
from core_mondrian.verification.read_back import read_release

SPEC = Spec(("age",), (KAnonymity(2),))


def written(folder: Path, name: str, cells: Any) -> None:
    pq.write_table(pa.table({"age": cells}), folder / name)


@pytest.mark.parametrize("name", ["_raw.parquet", ".raw.parquet", "_raw.csv.gz"])
def test_a_table_that_is_not_looked_at_is_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path, "part-0.parquet", ["20", "20"])
    written(tmp_path, name, ["a hidden cell"])

    with pytest.raises(DataError, match="a table that is no part of the release") as e:
        read_release(tmp_path, SPEC)
    assert "a hidden cell" not in str(e.value)


@pytest.mark.parametrize("name", ["_old/part-0.csv", ".x/deep/y.parquet", "a/_b/c.pq"])
def test_a_table_in_a_folder_that_is_not_looked_at_is_refused(
    tmp_path: Path, name: str
) -> None:
    written(tmp_path, "part-0.parquet", ["20", "20"])
    (tmp_path / name).parent.mkdir(parents=True)
    if name.startswith("a/"):
        written(tmp_path / "a", "part-0.parquet", ["20", "20"])
    written(tmp_path, name, ["a hidden cell"])

    with pytest.raises(DataError, match="a table that is no part of the release"):
        read_release(tmp_path, SPEC)


@pytest.mark.parametrize("name", ["_delta_log/00000.json", "_delta_log/.00000.crc"])
def test_folders_of_notes_of_other_programs_may_stay(tmp_path: Path, name: str) -> None:
    written(tmp_path, "part-0.parquet", ["20", "20"])
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).touch()

    assert read_release(tmp_path, SPEC)["age"].to_pylist() == ["20", "20"]


@pytest.mark.parametrize("name", ["_SUCCESS", "._SUCCESS.crc", ".part-0.parquet.crc"])
def test_notes_of_other_programs_may_stay(tmp_path: Path, name: str) -> None:
    written(tmp_path, "part-0.parquet", ["20", "20"])
    (tmp_path / name).touch()

    assert read_release(tmp_path, SPEC)["age"].to_pylist() == ["20", "20"]


@pytest.mark.parametrize("other", [[1.5], ["20"]])
def test_parts_of_unlike_types_are_no_bug(tmp_path: Path, other: list[Any]) -> None:
    written(tmp_path, "part-0.parquet", [2**53 + 1])
    written(tmp_path, "part-1.parquet", other)

    with pytest.raises(DataError, match="of one type in some parts"):
        read_release(tmp_path, SPEC)
