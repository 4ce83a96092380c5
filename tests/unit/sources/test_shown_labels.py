"""Labels in files against a set of them in memory."""

from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_mondrian.recoding.labels import BOUNDS
from core_mondrian.sources.mapped_files import give_back, make_file, map_file
from core_mondrian.sources.shown_labels import LabelJoin, ShownLabels
from core_mondrian.sources.spill import connect

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.integers(-5, 5)
DAYS = st.dates(date(2000, 1, 1), date(2000, 1, 9))


def struct(pairs: list[Any], kind: pa.DataType) -> pa.Array:
    ends = [pa.array([pair[i] for pair in pairs], kind) for i in (0, 1)]
    return pa.StructArray.from_arrays(ends, names=list(BOUNDS))


def join(arrays: list[pa.Array], folder: Path) -> ShownLabels:
    connection = connect(folder, 64 << 20, 1, name="labels.duckdb")
    try:
        return LabelJoin(connection, folder, lambda: arrays, 0).run()
    finally:
        connection.close()


def lists(cells: st.SearchStrategy[Any]) -> st.SearchStrategy[list[list[Any]]]:
    return st.lists(st.lists(cells, unique=True, max_size=8), min_size=1, max_size=4)


def check(parts: list[list[Any]], arrays: list[pa.Array]) -> None:
    expected = sorted({one for part in parts for one in part}, key=_key)
    with TemporaryDirectory() as folder:
        labels = join(arrays, Path(folder))
        found = labels.take(np.arange(labels.n, dtype=np.int32))
        assert [_plain(x) for x in found.to_pylist()] == expected
        for number, part in enumerate(parts):
            index = np.array([*range(len(part)), -1], dtype=np.int32)
            ranks = labels.of_part(number, index)
            shown = labels.show(ranks).to_pylist()
            assert [_plain(x) for x in shown] == [*part, None]
        assert [x for some in labels.texts() for x in some] == [
            _text(x) for x in expected
        ]


def _key(cell: Any) -> Any:
    return cell.encode() if isinstance(cell, str) else cell


def _plain(cell: Any) -> Any:
    return tuple(cell.values()) if isinstance(cell, dict) else cell


def _text(cell: Any) -> str:
    return f"[{cell[0]}, {cell[1]}]" if isinstance(cell, tuple) else str(cell)


@settings(max_examples=25, deadline=None)
@given(parts=lists(TEXTS))
def test_texts(parts: list[list[str]]) -> None:
    check(parts, [pa.array(part, pa.string()) for part in parts])


@settings(max_examples=25, deadline=None)
@given(parts=lists(st.tuples(NUMBERS, NUMBERS)))
def test_ranges_of_numbers(parts: list[list[Any]]) -> None:
    check(parts, [struct(part, pa.int16()) for part in parts])


@settings(max_examples=25, deadline=None)
@given(parts=lists(st.tuples(DAYS, DAYS)))
def test_ranges_of_days(parts: list[list[Any]]) -> None:
    check(parts, [struct(part, pa.date32()) for part in parts])


@settings(max_examples=25, deadline=None)
@given(parts=lists(st.sampled_from([-1.5, 0.25, 3.0, 1e300])))
def test_numbers(parts: list[list[float]]) -> None:
    expected = sorted({x for part in parts for x in part})
    with TemporaryDirectory() as folder:
        labels = join([pa.array(part, pa.float64()) for part in parts], Path(folder))
        assert labels.take(np.arange(labels.n)).to_pylist() == expected


def test_no_label_at_all(tmp_path: Path) -> None:
    labels = join([pa.array([], pa.string())], tmp_path)

    assert labels.n == 0
    assert labels.show(np.array([-1, -1], dtype=np.int32)).to_pylist() == [None, None]
    assert [*labels.texts()] == []


def test_many_labels_keep_their_order(tmp_path: Path) -> None:
    """More than DuckDB has in one group of rows, of several threads."""
    numbers = np.random.default_rng(1).permutation(300_000)
    parts = [pa.array([f"[{x}]" for x in some]) for some in np.split(numbers, 3)]
    connection = connect(tmp_path, 64 << 20, 2, name="labels.duckdb")

    labels = LabelJoin(connection, tmp_path, lambda: parts, 0).run()

    connection.close()
    expected = sorted(f"[{x}]" for x in numbers.tolist())
    assert [x for some in labels.texts() for x in some] == expected
    index = np.arange(100_000, dtype=np.int32)
    assert labels.show(labels.of_part(1, index)).to_pylist() == parts[1].to_pylist()


def test_labels_are_taken_from_each_chunk_and_in_order() -> None:
    chunks = [pa.array([f"{i}-{j}" for j in range(9)]) for i in range(8)]
    chunks.insert(3, pa.array([], pa.string()))
    labels = pa.chunked_array(chunks)
    shown = ShownLabels(labels, np.zeros(0, np.int32), [0])
    ranks = np.random.default_rng(0).integers(0, 72, 300)

    assert shown.take(ranks).equals(labels.take(pa.array(ranks)).combine_chunks())


def test_only_what_is_taken_comes_to_memory() -> None:
    """All chunks are one in memory, and more than an array of text can hold."""
    chunk = pa.array([f"{j:03}" * 8_000 for j in range(700)])
    labels = pa.chunked_array([chunk] * 130)
    shown = ShownLabels(labels, np.zeros(0, np.int32), [0])
    ranks = np.array([90_999, 3, 70_004, 5, 3])
    before = pa.total_allocated_bytes()

    found = shown.take(ranks)

    assert found.to_pylist() == [chunk[int(rank % 700)].as_py() for rank in ranks]
    assert pa.total_allocated_bytes() - before < 2 * found.nbytes


@pytest.mark.parametrize("n", [0, 3, 100_000])
def test_what_was_given_back_is_still_there(tmp_path: Path, n: int) -> None:
    path = tmp_path / "numbers"
    made = make_file(path, np.int32, n)
    made[:] = np.arange(n)
    give_back()
    read = map_file(path, np.int32)
    give_back()

    assert made.tolist() == read.tolist() == [*range(n)]
    assert not read.flags.writeable or not n
