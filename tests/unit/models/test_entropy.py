"""Entropy l-diversity."""

import pytest
from models_oracle import counted

from core_mondrian.models import EntropyLDiversity


def test_three_diverse_table_of_the_paper_is_2_8_diverse_by_entropy() -> None:
    # Machanavajjhala et al., 3-diverse inpatient microdata: heart disease, viral
    # infection and cancer 1, 1 and 2 times in each block of 4; 4 / sqrt 2 = 2.83.
    classes = counted(["hvcc", "chvv", "hvcc"])

    assert EntropyLDiversity(2.8, "condition").holds(classes)
    assert not EntropyLDiversity(2.9, "condition").holds(classes)
    assert EntropyLDiversity(2, "condition").reached(classes) == pytest.approx(2**1.5)


@pytest.mark.parametrize("l", range(2, 30))
def test_l_equally_frequent_values_are_l_diverse_in_spite_of_rounding(l: int) -> None:  # noqa: E741
    for times in (1, 3, 1000):
        group = [str(value) for value in range(l)] * times

        assert EntropyLDiversity(l, "s").holds(counted([group])), times


def test_frequent_values_count_less() -> None:
    classes = counted(["aaaaaaaaab"])

    assert EntropyLDiversity(1.38, "s").holds(classes)
    assert not EntropyLDiversity(1.39, "s").holds(classes)


def test_what_it_is() -> None:
    model = EntropyLDiversity(2.5, "income")

    assert model.name == "entropy 2.5-diversity of income"
    assert model.min_rows == 3
