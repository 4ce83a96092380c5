"""Survey weights: read strictly, used by measures, ignored by classes."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Frame

from core_mondrian import (
    DataError,
    KAnonymity,
    Spec,
    SpecError,
    anonymize,
)
from core_mondrian.datasets import census
from core_mondrian.spec.suppression import Suppression


def people(weights: Any) -> pa.Table:
    n = len(weights)
    ages = [20 + i % 15 for i in range(n - 3)] + [500, 600, 700]  # better left out
    table = census(n).set_column(1, "age", pa.array(ages))
    return table.append_column("w", pa.array(weights))


def spec(weight: str | None = "w", **more: Any) -> Spec:
    return Spec(("age", "sex"), (KAnonymity(5),), weight=weight, **more)


def test_equal_weights_give_the_plain_figures(frame_kind: Frame) -> None:
    asked = spec(suppress=Suppression(rows=20))

    found = anonymize(frame_kind(people([2.5] * 400)), asked).measures()

    assert found.n_suppressed > 0
    assert found.loss_weighted == pytest.approx(found.loss)
    assert found.share_suppressed_weighted == pytest.approx(found.share_suppressed)
    for column in found.columns:
        assert column.ncp_weighted == pytest.approx(column.ncp)


def test_rows_count_by_their_weight() -> None:
    weights = np.random.default_rng(4).integers(0, 50, 400)
    table = people(weights)
    asked = spec(suppress=Suppression(rows=20), suppressed="blank")

    release = anonymize(table, asked)

    found = release.measures()
    ages = np.array(table["age"].to_pylist())
    width = ages.max() - ages.min()
    lost = []
    for cell in release.data["age"].to_pylist():
        if cell is None:
            lost.append(1.0)
            continue
        ends = [int(x) for x in cell.strip("[]").split(",")]
        lost.append((ends[-1] - ends[0]) / width)
    assert release.n_suppressed > 0
    blank = np.array([x is None for x in release.data["age"].to_pylist()])
    assert found.columns[0].ncp_weighted == pytest.approx(
        (weights * lost).sum() / weights.sum()
    )
    assert found.share_suppressed_weighted == pytest.approx(
        weights[blank].sum() / weights.sum()
    )


def test_weights_change_no_class_and_their_order_no_digit() -> None:
    weights = np.random.default_rng(5).random(400)
    table = people(weights)

    release = anonymize(table, spec())

    assert release.digest == anonymize(table, spec(None)).digest
    assert release.data["w"].equals(table["w"])
    backwards = anonymize(table.take(pa.array(range(400))[::-1]), spec())
    assert backwards.measures() == release.measures()
    plain = anonymize(table, spec(None)).measures()
    assert (plain.loss_weighted, plain.share_suppressed_weighted) == (None, None)
    assert dataclasses.asdict(plain)["columns"][0]["ncp_weighted"] is None


def test_texts_of_a_csv_file_are_numbers_and_stay_texts() -> None:
    texts = ["1.50", "2", "1e1"] * 10

    release = anonymize(people(texts), spec())

    assert release.data["w"].to_pylist() == texts
    assert release.measures().loss_weighted is not None


@pytest.mark.parametrize("weights", [[0.0] * 30, [1e308] * 30], ids=["none", "huge"])
def test_extreme_weights_do_no_harm(weights: list[float]) -> None:
    found = anonymize(people(weights), spec()).measures()

    assert found.to_json()
    assert (found.loss_weighted is None) == (weights[0] == 0.0)


@pytest.mark.parametrize(
    "weights",
    [
        pytest.param([1.0] * 29 + [-1.0], id="negative"),
        pytest.param([1.0] * 29 + [None], id="missing"),
        pytest.param([1.0] * 29 + [float("inf")], id="infinite"),
        pytest.param(["1"] * 29 + ["CANARY"], id="text"),
        pytest.param([True] * 30, id="boolean"),
    ],
)
def test_other_weights_are_refused_without_a_cell(weights: list[Any]) -> None:
    with pytest.raises(DataError, match="column 'w'") as caught:
        anonymize(people(weights), spec())

    assert "CANARY" not in str(caught.value)


def test_a_weight_has_no_other_role() -> None:
    with pytest.raises(SpecError, match="column 'age' named twice"):
        spec("age")
