"""Maximum and average risk."""

import math

import numpy as np
import pytest
from models_oracle import counted

from core_mondrian.models import AverageRisk, ClassCounts, MaximumRisk


@pytest.mark.parametrize("k", range(2, 200))
def test_maximum_risk_is_k_anonymity_in_spite_of_rounding(k: int) -> None:
    assert MaximumRisk(1 / k).min_rows == k
    assert MaximumRisk(1 / k + 1e-6).min_rows == k
    assert AverageRisk(1 / k).enough_rows == k


@pytest.mark.parametrize(
    ("risk", "rows"), [(0.05, 20), (0.09, 12), (0.2, 5), (0.33, 4), (0.5, 2), (0.99, 2)]
)
def test_risks_as_they_are_written(risk: float, rows: int) -> None:
    assert MaximumRisk(risk).min_rows == rows


def test_the_smallest_class_has_the_highest_risk() -> None:
    classes = counted(["aaaa", "aa"])

    assert MaximumRisk(0.5).holds(classes)
    assert MaximumRisk(0.25).passes(classes).tolist() == [True, False]
    assert MaximumRisk(0.25).reached(classes) == 0.5


def test_the_average_is_classes_per_person() -> None:
    classes = counted(["aaaaa", "a"])

    model = AverageRisk(1 / 3)

    assert model.passes(classes).all()
    assert model.reached(classes) == pytest.approx(1 / 3)
    assert model.holds(classes)
    assert not AverageRisk(0.33).holds(classes)


def test_enough_rows_are_enough() -> None:
    model = AverageRisk(0.3)
    assert model.enough_rows == 4

    assert model.holds(counted(["aaaa", "aaaa", "aaaaa"]))
    assert not model.holds(counted(["aaa", "aaa"]))


def test_persons_count_where_they_are_known() -> None:
    classes = ClassCounts(
        np.array([6, 4]), np.zeros((2, 0), np.int64), persons=np.array([2, 3])
    )

    assert MaximumRisk(0.5).reached(classes) == 0.5
    assert AverageRisk(0.5).reached(classes) == 2 / 5


@pytest.mark.parametrize("model", [MaximumRisk(0.2), AverageRisk(0.2)])
def test_no_classes_have_no_risk(model: MaximumRisk | AverageRisk) -> None:
    none = ClassCounts(np.zeros(0, np.int64), np.zeros((0, 0), np.int64))

    assert model.holds(none)
    assert model.reached(none) == -math.inf


def test_what_they_are() -> None:
    assert MaximumRisk(0.2).name == "maximum risk 0.2"
    assert AverageRisk(0.2).name == "average risk 0.2"
    assert AverageRisk(0.2).min_rows == 1
    assert AverageRisk(0.2).is_monotone
    assert AverageRisk(0.2).limits().at_most == 0.2
    assert MaximumRisk(0.2).is_monotone
