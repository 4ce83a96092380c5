"""Counts that are kept: what is no such file, though it looks like one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core_mondrian import DataError, KAnonymity, Spec, anonymize_files, count_files
from core_mondrian.datasets import census
from core_mondrian.tables.files.write import write_table


def _without_dictionaries(table: pa.Table) -> pa.Table:
    columns = [
        column.cast(column.type.value_type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in table.columns
    ]
    plain = pa.table(columns, names=table.column_names)
    return plain.replace_schema_metadata(table.schema.metadata)


def _noted(**other: Any) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        ((key, text),) = table.schema.metadata.items()
        notes = json.loads(text) | other
        return table.replace_schema_metadata({key: json.dumps(notes).encode()})

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_without_dictionaries, id="no codes"),
        pytest.param(lambda table: table.slice(0, 0).drop_columns(["age"]), id="fewer"),
        pytest.param(lambda table: table.select([1, 0, *range(2, 4)]), id="order"),
        pytest.param(_noted(columns=[]), id="no columns"),
        pytest.param(_noted(n_bad=-1), id="bad rows below 0"),
        pytest.param(_noted(n_bad="x"), id="bad rows"),
        pytest.param(_noted(parts=[{}]), id="parts"),
        pytest.param(_noted(parts=7), id="no parts"),
    ],
)
def test_counts_that_contradict_their_notes_are_told(
    change: Callable[[pa.Table], pa.Table], tmp_path: Path
) -> None:
    source = tmp_path / "a.csv"
    write_table(census(200), source)
    kept = tmp_path / "counts"
    spec = Spec(("age", "sex", "education"), (KAnonymity(2),))
    count_files(source, spec, save_counts=kept)
    with pa.OSFile(str(kept), "rb") as file:
        table = change(pa.ipc.open_file(file).read_all())
    with pa.OSFile(str(kept), "wb") as out, pa.ipc.new_file(out, table.schema) as new:
        new.write_table(table)

    with pytest.raises(DataError, match="not a file of counts"):
        anonymize_files(source, tmp_path / "out.csv", spec, add_counts=kept)

    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "counts"}


def test_counts_of_another_version_are_told(tmp_path: Path) -> None:
    source, kept = tmp_path / "a.csv", tmp_path / "counts"
    write_table(census(200), source)
    spec = Spec(("age", "sex"), (KAnonymity(2),))
    count_files(source, spec, save_counts=kept)
    with pa.OSFile(str(kept), "rb") as file:
        table = _noted(format=1)(pa.ipc.open_file(file).read_all())
    with pa.OSFile(str(kept), "wb") as out, pa.ipc.new_file(out, table.schema) as new:
        new.write_table(table)

    with pytest.raises(DataError, match="of format 1, and this version reads format 2"):
        count_files(source, spec, add_counts=kept)
