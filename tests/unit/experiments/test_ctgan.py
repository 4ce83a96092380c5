"""Tables go to CTGAN and come back typed; a stand-in draws rows instead of learning."""

import datetime
import stat
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from core_mondrian.errors import DataError, InternalError, SpecError
from experiments import ctgan
from experiments.ctgan import FOLDER_VARIABLE, Workplace, sample

DRAW = """
import sys
from pathlib import Path
import numpy as np

training, model, made = sys.argv[3:6]
n_rows, seed, epochs = map(int, sys.argv[6:])
with open("calls", "a") as calls:
    calls.write(Path(model).name + "\\n")
columns = dict(np.load(training))
n = len(next(iter(columns.values())))
rows = np.random.default_rng(seed).integers(0, n, n_rows)
noise = {name: .3 * (a.dtype.kind == "f") for name, a in columns.items()}
np.savez(made, **{name: a[rows] + noise[name] for name, a in columns.items()})
"""
FAIL = "import sys; sys.exit('ValueError: secret cell')"
PEOPLE = pa.table(
    {
        "age": pa.array([20, 30, None, 50], pa.int16()),
        "wage": pa.array([1.5, None, 3.5, 2.0], pa.float32()),
        "job": pa.array(["cook", None, "nurse", "cook"]),
        "kind": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        "well": pa.array([True, False, None, True]),
        "born": pa.array([datetime.date(2000, 1, i) for i in (1, 2, 3, 4)]),
        "seen": pa.array([1, 2, 3, None], pa.timestamp("ms", tz="UTC")),
        "land": pa.array(["X"] * 4),
        "year": pa.array([2000] * 4, pa.uint16()),
        "none": pa.array([None] * 4, pa.int64()),
        "gone": pa.array([None] * 4, pa.string()),
        "file": pa.array([3, 2, None, 1], pa.int8()),  # a name that savez has, too
        "file_absent": pa.array([3.0, 2.0, 1.0, 0.0]),
    }
)


def place(folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """Return an environment that is there already, and whose Python runs ``code``."""
    (folder / "bin").mkdir(parents=True)
    (folder / "stand_in.py").write_text(code)
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {folder}/stand_in.py "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    (folder / "stamp").write_text("\n".join(ctgan.ENVIRONMENT.requirements))
    monkeypatch.chdir(folder)
    return Workplace(folder, folder / "cache")


@pytest.fixture
def drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    return place(tmp_path, DRAW, monkeypatch)


def calls(place: Workplace) -> int:
    assert place.folder is not None
    return len((place.folder / "calls").read_text().splitlines())


def test_types_and_missing_values_come_back(drawing: Workplace) -> None:
    made = sample(PEOPLE, 200, seed=1, epochs=2, place=drawing)

    assert made.schema == PEOPLE.schema
    assert made.num_rows == 200
    for name in PEOPLE.column_names:
        known = set(PEOPLE[name].to_pylist())
        found = set(made[name].to_pylist())
        # Floats are noisy and stay within the range of the column.
        assert (found <= known) or name in ("wage", "file_absent"), name
        assert (None in found) == (None in known), name
    wages = [wage for wage in made["wage"].to_pylist() if wage is not None]
    assert min(wages) >= 1.5
    assert max(wages) <= 3.5


def test_a_sample_is_made_once_and_by_what_decides_it(drawing: Workplace) -> None:
    first = sample(PEOPLE, 9, seed=1, epochs=2, place=drawing)
    assert sample(PEOPLE, 9, seed=1, epochs=2, place=drawing) == first
    assert calls(drawing) == 1

    for seed, epochs, table in ((2, 2, PEOPLE), (1, 3, PEOPLE), (1, 2, PEOPLE[1:])):
        sample(table, 9, seed, epochs, place=drawing)

    assert calls(drawing) == 4
    assert drawing.folder is not None
    models = (drawing.folder / "calls").read_text().split()
    assert len(set(models)) == 4


def test_more_rows_are_drawn_from_the_same_model(drawing: Workplace) -> None:
    for n_rows in (5, 6):
        sample(PEOPLE, n_rows, seed=1, epochs=2, place=drawing)

    assert drawing.folder is not None
    models = (drawing.folder / "calls").read_text().split()
    assert len(models) == 2
    assert len(set(models)) == 1


def test_nothing_of_the_table_stays_but_model_and_sample(drawing: Workplace) -> None:
    sample(PEOPLE, 5, seed=1, epochs=2, place=drawing)

    assert [file.suffix for file in drawing.cache.iterdir()] == [".npz"]
    assert not list(drawing.cache.glob("*training*"))


def test_a_failure_names_the_kind_and_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = place(tmp_path, FAIL, monkeypatch)

    with pytest.raises(InternalError, match="ValueError") as error:
        sample(PEOPLE, 5, seed=1, epochs=2, place=failing)

    assert "secret" not in str(error.value)
    assert list(failing.cache.iterdir()) == []


@pytest.mark.parametrize(
    ("n_rows", "seed", "epochs"), [(0, 1, 1), (1, -1, 1), (1, 1, 0), (1, 1 << 32, 1)]
)
def test_numbers_out_of_range_are_refused(n_rows: int, seed: int, epochs: int) -> None:
    with pytest.raises(SpecError):
        sample(PEOPLE, n_rows, seed, epochs)


def test_no_rows_and_strange_types_are_refused() -> None:
    with pytest.raises(SpecError, match="the table has none"):
        sample(PEOPLE[:0], 5, 1, 1)
    with pytest.raises(DataError, match="'list'"):
        sample(pa.table({"list": [[1], [2]]}), 5, 1, 1)


def test_the_folder_is_given_by_option_variable_or_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert ctgan.environment_folder() == Path(".venv-ctgan")
    monkeypatch.setenv(FOLDER_VARIABLE, "elsewhere")
    assert ctgan.environment_folder() == Path("elsewhere")
    assert ctgan.environment_folder(Path("here")) == Path("here")
