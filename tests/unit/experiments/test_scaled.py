"""Distances between tables, against the definition."""

import numpy as np
import pyarrow as pa
import pytest

from core_mondrian.datasets import census
from core_mondrian.errors import SpecError
from experiments import tables
from experiments.figure import Figure, pick
from experiments.lab import SIX
from experiments.registry import FIGURES, choose_figures
from experiments.scaled import compare, resample


def table(**columns: list[str]) -> pa.Table:
    rows = len(next(iter(columns.values())))
    return pa.table({name: ["-"] * rows for name in SIX} | columns)


def test_distances_are_those_of_the_definition() -> None:
    original = table(sex=["f", "f", "m", "m"], workclass=["a", "b", "a", "b"])
    other = table(sex=["f", "f", "f", "m"] * 2, workclass=["a", "b", "a", "c"] * 2)

    rows = list(compare(original, other, factor=2))

    assert pick(rows, columns="sex")[0]["distance"] == pytest.approx(0.25)
    assert pick(rows, columns="workclass")[0]["distance"] == pytest.approx(0.25)
    # (m, a) and (m, b) are gone, (m, c) and another (f, a) came.
    assert pick(rows, columns="sex workclass")[0]["distance"] == pytest.approx(0.5)
    (six,) = pick(rows, kind="combination")
    assert (six["distinct"], six["new_share"]) == (3, pytest.approx(0.25))
    assert len(pick(rows, kind="column")) == 6
    assert len(pick(rows, kind="pair")) == 15


def test_noise_is_what_rows_of_the_original_give() -> None:
    original = census(2000).rename_columns(
        [name.replace("_", "-") for name in census(1).schema.names]
    )
    again = original.take(resample(2000, 8000))

    rows = list(compare(original.select(list(SIX)), again.select(list(SIX)), factor=4))

    for row in rows:
        assert row["distance"] == row["floor"]
    assert pick(rows, kind="combination")[0]["new_share"] == 0.0


def test_resampling_takes_every_row_about_equally_often() -> None:
    counts = np.bincount(resample(100, 100_000), minlength=100)

    assert 800 < counts.min() <= counts.max() < 1200


def test_the_made_up_census_has_the_columns_of_adult() -> None:
    made = tables.make_census(3000, seed=0)

    asked = {name for columns in tables_asked() for name in columns}
    assert asked <= set(made.schema.names)
    losses, gains = made["capital-loss"].to_numpy(), made["capital-gain"].to_numpy()
    assert not np.any((losses > 0) & (gains > 0))
    assert 0 < np.count_nonzero(losses) < 0.2 * losses.size


def tables_asked() -> list[tuple[str, ...]]:
    from core_mondrian.datasets import ADULT_SETS

    return [*ADULT_SETS.values()]


def test_ctgan_is_asked_for_by_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from types import SimpleNamespace

    def sample(given: pa.Table, n_rows: int, seed: int, epochs: int) -> pa.Table:
        assert (given.num_rows, seed, epochs) == (4, 9, 30)
        return given.take([0] * n_rows)

    stand_in = SimpleNamespace(sample=sample)
    monkeypatch.setitem(sys.modules, "experiments.ctgan", stand_in)
    given = table(sex=["f", "f", "m", "m"])

    made = tables.sampler(given, "ctgan", seed=9, epochs=30)(7)

    assert made.num_rows == 7


def test_a_version_without_ctgan_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "experiments.ctgan", None)

    with pytest.raises(SpecError, match="no CTGAN"):
        tables.sampler(table(sex=["f"]), "ctgan", seed=0, epochs=1)


def test_sizes_and_column_sets_are_those_of_the_paper() -> None:
    from core_mondrian.datasets import ADULT_SETS
    from experiments.lab import Plan

    six = ("age", "marital-status", "occupation", "native-country", "sex", "workclass")

    assert Plan().factors == (1, 2, 5, 10, 15, 20)
    assert {
        "4": ("age", "race", "sex", "workclass"),
        "6": six,
        "8": (*six, "hours-per-week", "capital-gain"),
        "numeric": ("age", "hours-per-week", "capital-gain", "capital-loss"),
    } == ADULT_SETS


def test_figures_are_chosen_by_name_and_keep_their_order() -> None:
    chosen: tuple[Figure, ...] = choose_figures("9, 1,data")

    assert [figure.key for figure in chosen] == ["data", "1", "9"]
    assert choose_figures(None) == FIGURES
    assert [figure.key for figure in FIGURES] == [
        *("data", *map(str, range(1, 11)), "equity", "statistics")
    ]
    with pytest.raises(SpecError, match="'11'"):
        choose_figures("1,11")
