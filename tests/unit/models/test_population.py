"""k-map and delta-presence."""

import math

import numpy as np
import pytest

from core_mondrian.models import ClassCounts, DeltaPresence, KMap

ALL = object()


def in_population(*classes: tuple[int, int]) -> ClassCounts:
    """Classes by how many of the population are outside and inside the table."""
    counts = np.array([(*pair, 0) for pair in classes], dtype=np.int64).reshape(-1, 3)
    return ClassCounts(counts[:, 1].copy(), counts)


def test_who_is_not_in_the_table_hides_those_who_are() -> None:
    classes = in_population((4, 1), (0, 5))

    assert KMap(5, ALL).holds(classes)
    assert not KMap(6, ALL).holds(classes)
    assert KMap(6, ALL).reached(classes) == 5


def test_presence_is_between_its_limits() -> None:
    classes = in_population((3, 1), (1, 1), (0, 2))

    assert DeltaPresence(0.25, 0.5, ALL).passes(classes).tolist() == [True, True, False]
    assert DeltaPresence(0.3, 1, ALL).passes(classes).tolist() == [False, True, True]
    assert DeltaPresence(0, 0.5, ALL).passes(classes).tolist() == [True, True, False]
    assert DeltaPresence(0, 0.5, ALL).reached(classes) == 1
    assert DeltaPresence(0.25, 1, ALL).holds(classes)


def test_both_limits_belong_to_what_is_allowed() -> None:
    # Half to two thirds of those who fit a class are in the table.
    classes = in_population((2, 2), (1, 2))

    assert DeltaPresence(1 / 2, 2 / 3, ALL).holds(classes)
    assert not DeltaPresence(1 / 2, 0.6, ALL).holds(classes)


def test_no_classes() -> None:
    assert KMap(5, ALL).holds(in_population())
    assert DeltaPresence(0, 0.5, ALL).holds(in_population())
    assert DeltaPresence(0, 0.5, ALL).reached(in_population()) == -math.inf


def test_a_class_that_nobody_fits_has_no_share() -> None:
    nobody = np.zeros(3, np.int64)

    assert DeltaPresence.measure(1, nobody, nobody, np.zeros(2)) == math.inf


def test_populations_are_neither_compared_nor_shown() -> None:
    one, other = KMap(5, np.zeros(2)), KMap(5, np.ones(3))

    assert one == other
    assert repr(one) == "KMap(k=5)"
    assert len({one, other}) == 1
    few, many = DeltaPresence(0, 0.5, np.zeros(2)), DeltaPresence(0, 0.5, np.ones(3))
    assert few == many
    assert repr(few) == "DeltaPresence(low=0, high=0.5)"


def test_what_they_are() -> None:
    assert KMap(5, ALL).name == "5-map"
    assert DeltaPresence(0.1, 0.5, ALL).name == "(0.1, 0.5)-presence"
    assert KMap(5, ALL).column is None
    assert KMap(5, ALL).parameters == pytest.approx((5,))
