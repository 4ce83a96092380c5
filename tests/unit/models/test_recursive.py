"""Recursive (c, l)-diversity."""

import math

import pytest
from models_oracle import counted

from core_mondrian.models import RecursiveCLDiversity


@pytest.mark.parametrize(
    ("group", "l", "ratio"),
    [
        pytest.param("aaaaabbccd", 2, 5 / 5, id="all but the first"),
        pytest.param("aaaaabbccd", 3, 5 / 3, id="all but two"),
        pytest.param("aaaaabbccd", 4, 5 / 1, id="the last"),
        pytest.param("aaaaabbccd", 5, math.inf, id="too few values"),
        pytest.param("aabbcc", 3, 2 / 2, id="ties"),
        pytest.param("aabbcd", 4, 2 / 1, id="ties before the rare"),
        pytest.param("aaabbbccd", 4, 3 / 1, id="ties, and one less frequent"),
        pytest.param("aaa", 2, math.inf, id="one value"),
    ],
)
def test_the_most_frequent_is_set_against_the_rare(
    group: str,
    l: int,  # noqa: E741
    ratio: float,
) -> None:
    model = RecursiveCLDiversity(2, l, "s")

    assert model.measured(counted([group])).tolist() == [ratio]


def test_less_than_c_is_less() -> None:
    classes = counted(["aabb"])

    assert not RecursiveCLDiversity(1, 2, "s").holds(classes)
    assert RecursiveCLDiversity(1.01, 2, "s").holds(classes)


def test_a_class_without_enough_values_fails_every_c() -> None:
    assert not RecursiveCLDiversity(1e12, 3, "s").holds(counted(["aaabbb"]))


def test_what_it_is() -> None:
    assert (
        RecursiveCLDiversity(3, 2, "income").name
        == "recursive (3, 2)-diversity of income"
    )
