"""Text columns of numbers and dates are found, by counts and without a cell."""

import pandas as pd
import pytest
from conftest import CANARY

from core_mondrian import KAnonymity, Spec, anonymize


def warnings_of(values: list[object], **more: object) -> list[str]:
    table = pd.DataFrame({"x": values, "y": ["a", "b"] * (len(values) // 2)})
    spec = Spec(("x", "y"), (KAnonymity(2),), **more)  # type: ignore[arg-type]
    found = anonymize(table, spec).warnings
    return [one.text for one in found if one.why == "text" and not one.accepted]


DATES = [f"2020-01-{day:02d}" for day in range(1, 21)] * 5
NUMBERS = [str(n % 30) for n in range(100)]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        pytest.param(NUMBERS, "all rows hold a number", id="all numbers"),
        pytest.param(
            [CANARY, *NUMBERS[1:]], "all but 1 of 100 rows hold a number", id="one word"
        ),
        pytest.param(DATES, "all rows hold a date", id="dates"),
        pytest.param(["31.1.2020", "1.2.2020"] * 50, "hold a date", id="day first"),
        pytest.param(
            ["2020-01-01 10:00:00Z", "2020-01-02T09:30"] * 50,
            "hold a date",
            id="moments",
        ),
    ],
)
def test_text_that_is_no_text_is_told(values: list[object], said: str) -> None:
    (text,) = warnings_of(values)

    assert said in text
    assert CANARY not in text


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(["01234", "04321"] * 50, id="codes with leading zeros"),
        pytest.param([*["word"] * 6, *NUMBERS[6:]], id="too many words"),
        pytest.param(["a", None] * 50, id="words and nothing"),
        pytest.param([None, None] * 50, id="nothing at all"),
        pytest.param(list(range(100)), id="numbers that are numbers"),
    ],
)
def test_other_columns_are_not_told(values: list[object]) -> None:
    assert not warnings_of(values)


def test_missing_values_do_not_count_as_words() -> None:
    (text,) = warnings_of([*NUMBERS[:50], *[None] * 50])

    assert "all rows hold a number" in text


def test_column_that_is_accepted_is_not_told() -> None:
    assert not warnings_of(NUMBERS, accept=("x",))
