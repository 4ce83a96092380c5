"""delta-disclosure privacy."""

import math

import numpy as np
import pytest
from models_oracle import counted

from core_mondrian.models import DeltaDisclosure


def test_shares_are_compared_by_their_logarithm() -> None:
    classes = counted(["aaab", "abbb"])  # half and half in the table

    found = DeltaDisclosure(0.7, "s").measured(classes)

    assert found == pytest.approx([math.log(2)] * 2)  # 1/4 : 1/2 beats 3/4 : 1/2
    assert DeltaDisclosure(0.7, "s").holds(classes)
    assert not DeltaDisclosure(0.69, "s").holds(classes)


def test_less_than_delta_is_less() -> None:
    classes = counted(["aaab", "abbb"])

    assert not DeltaDisclosure(math.log(2), "s").holds(classes)


def test_a_value_absent_from_a_class_fails_unless_it_is_allowed() -> None:
    classes = counted(["ab", "aa"])

    strict = DeltaDisclosure(2.0, "s")
    lenient = DeltaDisclosure(2.0, "s", absent="allowed")

    assert strict.passes(classes).tolist() == [True, False]
    assert strict.reached(classes) == math.inf
    assert lenient.holds(classes)
    assert lenient.reached(classes) == pytest.approx(math.log(2))


def test_a_value_that_the_released_table_lacks_fails() -> None:
    model = DeltaDisclosure(9.0, "s", absent="allowed")

    found = model.measure(2, np.array([1, 1]), np.array([4, 0]), np.ones(1))

    assert found == math.inf  # and no warning of a division by 0


def test_what_it_is() -> None:
    assert DeltaDisclosure(0.7, "income").name == "0.7-disclosure privacy of income"
    assert DeltaDisclosure(0.7, "s", "allowed").name.endswith("(absent values allowed)")
