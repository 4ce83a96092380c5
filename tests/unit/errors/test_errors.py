"""What messages may say."""

import pytest

from core_mondrian.errors import InfeasibleError, MondrianError, list_names


def test_column_names_are_spelled_out() -> None:
    assert list_names(["age", "sex"]) == "'age', 'sex'"


@pytest.mark.parametrize("cell", ["34", "-1.5", "2020-01-31", "12:30", "1e5", " 7 "])
def test_names_that_look_like_a_row_of_data_are_only_counted(cell: str) -> None:
    text = list_names([cell, "Alice"])

    assert text == "2 columns; is the first line a header?"


@pytest.mark.parametrize("name", ["q1", "e", "-", "zip 5", "2nd"])
def test_names_with_other_letters_are_names(name: str) -> None:
    assert list_names([name]) == repr(name)


def test_a_hint_stands_on_a_line_of_its_own() -> None:
    error = InfeasibleError("2 rows, but one class needs 5", hint="lower k")

    assert str(error) == "2 rows, but one class needs 5\nhint: lower k"
    assert isinstance(error, MondrianError)
