"""beta-likeness, basic and enhanced."""

import math

import numpy as np
import pytest
from models_oracle import counted

from core_mondrian.models import BetaLikeness


def test_only_gains_count() -> None:
    classes = counted(["ab", "bb"])  # a 1/4, b 3/4

    found = BetaLikeness(1, "s").measured(classes)

    assert found == pytest.approx([1, 1 / 3])
    assert BetaLikeness(1, "s").holds(classes)
    assert not BetaLikeness(0.99, "s").holds(classes)


def test_enhanced_limits_frequent_values_too() -> None:
    # b gains 1/3 in the second class, and -ln(3/4) = 0.288 is the most it may.
    classes = counted(["ab", "bb"])

    model = BetaLikeness(1, "s", "enhanced")

    assert model.measured(classes).tolist() == [1, math.inf]
    assert model.passes(classes).tolist() == [True, False]


def test_a_gain_within_both_limits_passes() -> None:
    classes = counted(["aaaab", "abbbb"])  # 3/5 more, and ln 2 = 0.69 is allowed

    assert BetaLikeness(0.6, "s", "enhanced").holds(classes)
    assert not BetaLikeness(0.5, "s", "enhanced").holds(classes)


def test_one_value_gains_nothing() -> None:
    assert BetaLikeness(0.1, "s", "enhanced").holds(counted(["aa", "a"]))


@pytest.mark.parametrize("enhanced", [0.0, 1.0])
def test_a_value_that_the_released_table_lacks_fails(enhanced: float) -> None:
    kind = np.array([enhanced])

    found = BetaLikeness.measure(2, np.array([1, 1]), np.array([4, 0]), kind)

    assert found == math.inf  # and no warning of a division by 0


def test_what_it_is() -> None:
    assert BetaLikeness(1, "income").name == "1-likeness of income (basic)"
