"""Names of tables: whatever is in them, they stay names."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import SpecError
from core_mondrian.sources.spill import literal
from core_mondrian.sources.sql.names import Name, is_query, parse_name, quoted

TEXTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1
)


@given(st.lists(TEXTS, min_size=1, max_size=3))
def test_a_name_is_read_as_it_is_written(parts: list[str]) -> None:
    name = Name(tuple(parts))

    assert parse_name(name.sql, "it") == name


@given(TEXTS)
def test_quoted_names_and_texts_mean_themselves(text: str) -> None:
    with sqlite3.connect(":memory:") as connection:
        found = connection.execute(f"SELECT {literal(text)} AS {quoted(text)}")

        assert found.description[0][0] == text
        assert found.fetchone() == (text,)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("people", ("people",)),
        (" My People ", ("My People",)),
        ("audit.people", ("audit", "people")),
        ('audit."a.b"', ("audit", "a.b")),
        ('"a ""b"""', ('a "b"',)),
        ("Selected", ("Selected",)),
    ],
)
def test_names_that_people_write(text: str, parts: tuple[str, ...]) -> None:
    assert parse_name(text, "it").parts == parts


@pytest.mark.parametrize("text", ["", " ", ".", "a.", ".a", "a..b", '"', '"a', 'a"b'])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match="the source is the name of a table"):
        parse_name(text, "the source")


def test_a_zero_byte_is_refused() -> None:
    with pytest.raises(SpecError, match="zero byte"):
        quoted("a\0b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM people", True),
        ("\n  with a as (select 1) select * from a", True),
        ("VALUES (1)", True),
        ("FROM people", True),
        ("people", False),
        ("select", False),
        ("selected people", False),
        ('"select x"', False),
        ("from.people", False),
    ],
)
def test_queries_are_told_from_names(text: str, *, expected: bool) -> None:
    assert is_query(text) is expected
