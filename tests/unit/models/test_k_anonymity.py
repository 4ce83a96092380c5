"""k-anonymity counts rows, or persons where they are known."""

import math

import numpy as np
import pytest
from models_oracle import counted

from core_mondrian.models import ClassCounts, KAnonymity


def test_the_smallest_class_decides() -> None:
    classes = counted(["aaa", "bb", "abab"])

    assert KAnonymity(2).holds(classes)
    assert KAnonymity(3).passes(classes).tolist() == [True, False, True]
    assert not KAnonymity(3).holds(classes)
    assert KAnonymity(3).reached(classes) == 2


def test_persons_count_where_they_are_known() -> None:
    rows = np.array([6, 4])
    classes = ClassCounts(rows, np.zeros((2, 0), np.int64), persons=np.array([2, 3]))

    assert KAnonymity(2).holds(classes)
    assert KAnonymity(3).passes(classes).tolist() == [False, True]
    assert KAnonymity(3).reached(classes) == 2


def test_no_classes_reach_everything() -> None:
    none = ClassCounts(np.zeros(0, np.int64), np.zeros((0, 0), np.int64))

    assert KAnonymity(2).holds(none)
    assert KAnonymity(2).reached(none) == math.inf


def test_what_it_is() -> None:
    model = KAnonymity(5)

    assert model.name == "5-anonymity"
    assert model.min_rows == 5
    assert model.is_monotone
    assert model.column is None
    assert model.limits().edges[0] == pytest.approx(5)
