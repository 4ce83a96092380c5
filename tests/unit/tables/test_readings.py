"""What texts of cells stand for: one spelling for each value, and its order."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian.tables.files.cells import unified_texts, without_nulls
from core_mondrian.tables.readings import ascending, spell

SAME = [
    ("50000", ["5e4", "50000.0", "+50000", " 50000 ", "5E+4", "50000."]),
    ("0", ["-0", "0.0", "0e9", ".0"]),
    ("-0.5", ["-.5", "-5e-1", "-0.50"]),
    ("true", ["True", "TRUE"]),
    ("2020-02-01", ["2020-02-01 00:00", "2020-02-01T00:00:00.000"]),
    ("2020-02-01 07:30:00", ["2020-02-01T07:30", "2020-02-01 07:30:00.0"]),
    ("inf", ["Infinity", "+INF"]),
]
ITSELF = ["01234", "0x1F", "12345678901234567890", "n/a", "1,000", "", "flu ", "2020-1"]


@pytest.mark.parametrize(("one", "others"), SAME)
def test_texts_of_one_value_have_one_spelling(one: str, others: list[str]) -> None:
    assert {spell(text) for text in (one, *others)} == {one}


@pytest.mark.parametrize("text", ITSELF)
def test_codes_and_words_are_themselves(text: str) -> None:
    assert spell(text) == text


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(0, 30))
def test_an_amount_is_kept_and_has_one_spelling(number: Decimal, zeros: int) -> None:
    text = f"{number:f}" if abs(number.adjusted()) < 17 else str(number)
    longer = f"{text}{'' if '.' in text else '.'}{'0' * zeros}"
    longer = text if "E" in text else longer

    assert Decimal(spell(str(number))) == number
    assert spell(spell(text)) == spell(text) == spell(longer)


@given(
    st.lists(st.none() | st.sampled_from([*ITSELF, *(t for o, s in SAME for t in s)]))
)
def test_columns_are_spelled_as_cells_are(texts: list[str | None]) -> None:
    expected = [None if text in (None, "", "n/a") else spell(text) for text in texts]

    for column in (
        pa.chunked_array([pa.array(texts, pa.string())]),
        pa.chunked_array([pa.array(texts, pa.large_string())] * 1),
        pa.chunked_array([pa.array(texts, pa.string()).dictionary_encode()]),
        pa.chunked_array(
            [pa.array(texts[:3], pa.string()), pa.array(texts[3:], pa.string())]
        ),
    ):
        assert unified_texts(column, ("n/a",)).to_pylist() == expected


def test_other_types_than_text_stay() -> None:
    column = pa.chunked_array([pa.array([1, None, 999])])

    assert unified_texts(column, ("999",)) is column
    assert without_nulls(column, ("999",)) is column


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["10", "9", "1e3"], [1, 0, 2]),
        (["2020-02-01 10:00:00", "2020-02-01"], [1, 0]),
        (["12:30:00", "07:00:00"], [1, 0]),
        (["true", "false"], [1, 0]),
        ([], []),
        (["10", "n/a"], None),
        (["1,000", "2"], None),
        (["low", "high"], None),
        (["2020-02-01", "3"], None),
        (["007", "1"], None),
    ],
)
def test_texts_have_an_order_or_none(texts: list[str], order: list[int] | None) -> None:
    assert ascending(texts) == order
