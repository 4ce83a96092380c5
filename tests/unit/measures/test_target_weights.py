import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv

from core_mondrian import Spec, SpecError, anonymize
from core_mondrian.api import load_and_encode
from core_mondrian.measures.target_weights import (
    LEAST,
    coarse_weights,
    gain_by_column,
    read_outcome,
)
from core_mondrian.runtime.stages import Stages

QIDS = ("tells", "half", "noise", "code")


def people(n: int = 3000, seed: int = 0) -> pa.Table:
    """One column tells all about the outcome, one a little, two nothing."""
    draws = np.random.default_rng(seed)
    tells = draws.integers(0, 30, n)
    half = draws.integers(0, 40, n)
    chance = 0.1 + 0.6 * (tells % 5 == 2) + 0.2 * (half > 30)
    return pa.table(
        {
            "tells": [f"t{x}" for x in tells],
            "half": half,
            "noise": draws.normal(size=n).round(2),
            # As many values as rows: learnt by heart, it would tell everything.
            "code": [f"c{x}" for x in draws.permutation(n)],
            "outcome": np.where(draws.random(n) < chance, "yes", "no"),
        }
    )


def weights_of(table: object, **more: object) -> dict[str, float]:
    release = anonymize(table, Spec(QIDS, k=5, target="outcome", **more))
    assert release.column_weights is not None
    return release.column_weights


def test_what_tells_about_the_target_counts_most_and_noise_least() -> None:
    found = weights_of(people())

    assert found["tells"] == 1.0
    assert found["noise"] == found["code"] == LEAST
    assert LEAST <= found["half"] < 1.0


def test_a_target_makes_the_release_that_its_weights_make() -> None:
    made = anonymize(people(), Spec(QIDS, k=5, target="outcome"))
    by_hand = anonymize(people(), Spec(QIDS, k=5, weights=made.column_weights))
    plain = anonymize(people(), Spec(QIDS, k=5))

    assert made.digest == by_hand.digest != plain.digest


def test_a_target_does_not_change_how_the_loss_is_measured() -> None:
    made = anonymize(people(), Spec(QIDS, k=5, target="outcome"))
    measures = made.measures()

    assert measures.loss == pytest.approx(np.mean([c.ncp for c in measures.columns]))
    assert made.bound().loss <= measures.loss


def test_weights_of_the_spec_count_besides_the_target() -> None:
    made = anonymize(people(), Spec(QIDS, k=5, target="outcome", weights={"half": 8}))
    found = {**made.column_weights}
    found["half"] *= 8
    by_hand = anonymize(people(), Spec(QIDS, k=5, weights=found))

    assert made.digest == by_hand.digest


def test_neither_the_order_of_rows_nor_the_library_changes_anything() -> None:
    table = people()
    order = np.random.default_rng(1).permutation(table.num_rows)
    spec = Spec(QIDS, k=5, target="outcome")
    tables = [
        *(table, table.take(order), table.to_pandas(), pl.from_arrow(table)),
        table.to_pandas().astype({"outcome": "category"}),
    ]

    releases = [anonymize(one, spec) for one in tables]

    assert len({one.digest for one in releases}) == 1
    assert len({str(one.column_weights) for one in releases}) == 1


def test_numbers_as_text_weigh_as_numbers_do() -> None:
    table = people()
    amounts = np.arange(table.num_rows) % 977 + 1000 * (
        np.isin(table["tells"], ["t2", "t7", "t12", "t17"])
    )
    numbers = table.set_column(4, "outcome", pa.array(amounts))
    texts = table.set_column(4, "outcome", pa.array(map(str, amounts)))

    assert weights_of(numbers) == weights_of(texts)
    assert weights_of(numbers)["tells"] == 1.0


def test_large_numbers_do_not_decide_alone() -> None:
    table = people()
    amounts = 1.0 * (np.isin(table["tells"], ["t2", "t7", "t12", "t17"]))
    amounts[::500] = 1e9

    found = weights_of(table.set_column(4, "outcome", pa.array(amounts)))

    assert found["tells"] == 1.0
    assert found["noise"] == LEAST


def test_what_a_column_tells_is_what_folds_find_out() -> None:
    """An oracle of its own: row by row, one column, with nothing to take turns with."""
    draws = np.random.default_rng(2)
    values = draws.integers(0, 6, 500)
    outcome = (draws.random(500) < values / 8).astype(float)
    folds = draws.integers(0, 5, 500)
    cells = [[(values == v) & (folds == f) for v in range(6)] for f in range(5)]
    rows = np.array([[cell.sum() for cell in fold] for fold in cells], float)
    sums = np.array([[outcome[cell].sum() for cell in fold] for fold in cells])

    found = gain_by_column([np.arange(6)], rows, sums)

    grown = 0.0
    mean = outcome.mean()
    for value, fold, one in zip(values, folds, outcome, strict=True):
        others = (values == value) & (folds != fold)
        effect = (outcome[others] - mean).sum() / (others.sum() + 20)
        error = one - mean - effect
        grown += (error + effect) ** 2 - error**2
    assert found.tolist() == pytest.approx([grown])
    assert grown > 0


def test_equal_rows_are_in_all_folds() -> None:
    table = pa.table({"a": [0] * 50 + [1] * 3, "b": ["x"] * 53, "y": ["n"] * 53})
    _, encoded = load_and_encode(table, Spec(["a", "b"], k=2), Stages(None))

    rows = read_outcome(table["y"], "y", encoded).rows

    assert rows[:, 0].tolist() == [10] * 5
    assert sorted(rows[:, 1].tolist()) == [0, 0, 1, 1, 1]


def test_an_outcome_that_no_column_tells_weighs_all_alike() -> None:
    table = people()
    constant = table.set_column(4, "outcome", pa.array(["no"] * table.num_rows))
    missing = table.set_column(4, "outcome", pa.nulls(table.num_rows, pa.string()))

    assert set(weights_of(constant).values()) == {1.0}
    assert set(weights_of(missing).values()) == {1.0}


@pytest.mark.parametrize(
    ("told", "weights"),
    [
        pytest.param([4.0, 2.0, 0.0], (1.0, 0.5, LEAST), id="powers of two"),
        pytest.param([3.0, 2.0, 1.0], (1.0, 0.5, 0.25), id="rounded in between"),
        pytest.param([0.0, 0.0], (1.0, 1.0), id="nothing to tell"),
    ],
)
def test_weights_are_coarse(told: list[float], weights: tuple[float, ...]) -> None:
    assert coarse_weights(np.array(told)) == weights


def test_weights_are_the_owners_and_not_published(tmp_path: Path) -> None:
    release = anonymize(people(), Spec(QIDS, k=5, target="outcome"))
    release.save(tmp_path / "out.csv")
    manifest = (tmp_path / "out.csv.manifest.json").read_text()
    record = json.loads((tmp_path / "out.csv.owner.json").read_text())

    assert json.loads(manifest)["spec"]["target"] == "outcome"
    assert "column_weights" not in manifest
    assert json.loads(manifest)["spec"]["weights"] == {}
    assert record["column_weights"] == release.column_weights


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        pytest.param({"target": "half"}, "is a quasi-identifier", id="generalized"),
        pytest.param(
            {"target": "outcome", "identifiers": ["outcome"]},
            "is not released",
            id="removed",
        ),
        pytest.param(
            {"target": "outcome", "policy": "paper"},
            "does not weigh columns",
            id="another policy",
        ),
    ],
)
def test_a_target_that_makes_no_sense_is_refused(
    asked: dict[str, object], reason: str
) -> None:
    with pytest.raises(SpecError, match=reason):
        Spec(QIDS, k=5, **asked)


def test_a_target_that_is_not_there_is_named() -> None:
    with pytest.raises(SpecError, match="income"):
        anonymize(people(), Spec(QIDS, k=5, target="income"))


def test_a_target_of_too_many_names_is_refused_without_showing_one() -> None:
    table = people()
    names = table.set_column(4, "outcome", pa.array(f"n{i}" for i in range(3000)))

    with pytest.raises(SpecError, match="more than 100 values") as caught:
        weights_of(names)

    assert "n1" not in str(caught.value)


def test_rows_that_are_elsewhere_are_refused_in_a_sentence(tmp_path: Path) -> None:
    from core_mondrian import anonymize_files, anonymize_sql

    csv.write_csv(people(50), tmp_path / "in.csv")
    spec = Spec(QIDS, k=5, target="outcome")

    with pytest.raises(SpecError, match="these are streamed"):
        anonymize_files(tmp_path / "in.csv", tmp_path / "out.csv", spec)
    duckdb.connect(tmp_path / "in.duckdb").close()
    with pytest.raises(SpecError, match="these are in a database"):
        anonymize_sql(tmp_path / "in.duckdb", "a", "b", spec)


def test_pandas_frames_keep_the_target_as_it_is() -> None:
    frame: pd.DataFrame = people().to_pandas()
    release = anonymize(frame, Spec(QIDS, k=5, target="outcome"))

    assert release.data["outcome"].tolist() == frame["outcome"].tolist()
