"""The suppression budget in whole rows; rounding never favours suppression."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import SpecError, Suppression
from core_mondrian.spec.suppression import exact, parse_suppression


@pytest.mark.parametrize(
    ("asked", "n_rows", "budget"),
    [
        pytest.param("1%", 48_842, 488, id="Adult"),
        pytest.param("1%", 203, 2, id="203 rows"),
        pytest.param("1%", 99, 0, id="below one row"),
        pytest.param("1%", 100, 1, id="exactly one row"),
        pytest.param("0.1%", 1000, 1, id="a decimal share is exact"),
        pytest.param("29%", 100, 29, id="no float rounds it down to 28"),
        pytest.param("100%", 7, 7, id="everything"),
        pytest.param(" .5 % ", 1000, 5, id="spaces and no leading digit"),
        pytest.param("25", 1000, 25, id="rows as text"),
        pytest.param(25, 10, 10, id="never more than there are"),
        pytest.param(0, 10, 0, id="none"),
    ],
)
def test_budget_in_rows(asked: str | int, n_rows: int, budget: int) -> None:
    assert parse_suppression(asked).whole_rows(n_rows) == budget


def test_multiplier_scales_the_share_and_rounds_down() -> None:
    assert parse_suppression("1%", "0.5").whole_rows(300) == 1


@given(
    st.fractions(0, 1, max_denominator=1000),
    st.fractions(0, 5, max_denominator=20),
    st.integers(0, 10_000),
)
def test_budget_is_the_share_times_the_multiplier_rounded_down_once(
    share: Fraction, multiplier: Fraction, n_rows: int
) -> None:
    if share * multiplier > 1:
        with pytest.raises(SpecError, match="more than all rows"):
            Suppression(share=share, multiplier=multiplier)
        return

    budget = Suppression(share=share, multiplier=multiplier).whole_rows(n_rows)

    asked = multiplier * share * n_rows
    assert asked - 1 < budget <= min(asked, n_rows)


@pytest.mark.parametrize(
    ("n_rows", "multiplier", "budget"),
    [
        pytest.param(150, "0.7", 1, id="1.05 rows"),
        pytest.param(142, "0.7", 0, id="0.994 rows"),
        pytest.param(143, 0.7, 1, id="1.001 rows"),
        pytest.param(150, 2, 3, id="above 1"),
        pytest.param(48_842, 0.9, 439, id="Adult"),
        pytest.param(48_842, 2, 976, id="Adult, twice"),
        pytest.param(10, 100, 10, id="all rows"),
    ],
)
def test_one_percent_times_a_multiplier(
    n_rows: int, multiplier: str | float, budget: int
) -> None:
    assert parse_suppression("1%", multiplier).whole_rows(n_rows) == budget


def test_a_number_of_rows_takes_no_multiplier() -> None:
    assert parse_suppression(3, 0.5).whole_rows(100) == 3
    assert parse_suppression("3", 7).whole_rows(100) == 3


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("a lot", id="words"),
        pytest.param("-1", id="negative text"),
        pytest.param("1.5", id="half a row"),
        pytest.param("101%", id="more than everything"),
        pytest.param(-1, id="negative"),
        pytest.param("", id="nothing"),
        pytest.param(True, id="a boolean"),
        pytest.param("1 %%", id="two signs"),
    ],
)
def test_nonsense_is_refused(asked: Any) -> None:
    with pytest.raises(SpecError):
        parse_suppression(asked)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"share": Fraction(101, 100)}, id="share above 1"),
        pytest.param({"share": Fraction(-1, 100)}, id="share below 0"),
        pytest.param({"rows": -1}, id="rows"),
        pytest.param({"rows": 0.02}, id="a part of a row"),
        pytest.param({"rows": True}, id="a boolean"),
        pytest.param({"share": "much"}, id="no number"),
        pytest.param({"share": float("nan")}, id="not a number"),
        pytest.param(
            {"share": Fraction(1, 2), "multiplier": Fraction(201, 100)},
            id="more than all rows",
        ),
        pytest.param({"multiplier": "1/0"}, id="divided by nothing"),
        pytest.param({"multiplier": True}, id="a multiplier that is true"),
        pytest.param({"multiplier": Fraction(-1, 100)}, id="multiplier below 0"),
    ],
)
def test_values_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        Suppression(**options)


def test_limits_belong_to_the_range() -> None:
    everything = Suppression(share=Fraction(1), multiplier=Fraction(1))

    assert everything.whole_rows(7) == 7
    assert Suppression(share=Fraction(1), multiplier=Fraction(0)).whole_rows(7) == 0
    assert Suppression(rows=0).whole_rows(7) == 0


def test_a_share_is_what_it_is_spelled() -> None:
    # Of 0.07 as bits, 7 % of 100 rows would be 6.
    for percent in range(101):
        assert Suppression(share=percent / 100).whole_rows(100) == percent  # type: ignore[arg-type]


def test_nothing_is_suppressed_unless_it_is_asked_for() -> None:
    assert Suppression().whole_rows(1000) == 0
    assert Suppression(share=Fraction(1, 2)).whole_rows(1000) == 500


def test_shares_are_read_as_they_are_spelled() -> None:
    assert exact(0.99, "kept") == Fraction(99, 100)
    with pytest.raises(SpecError, match="kept is a number"):
        exact("many", "kept")


@pytest.mark.parametrize("asked", ["1%", "0.5%", "12"])
def test_text_form_reads_back(asked: str) -> None:
    assert str(parse_suppression(asked)) == asked
