"""How calls are written: a reader sees which argument is which."""

import ast
from pathlib import Path

import pytest

import core_mondrian

SOURCE = Path(core_mondrian.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))


def starred(text: str) -> list[int]:
    """Return the lines of calls that spread a tuple or list that is written there."""
    return [
        given.lineno
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call)
        for given in call.args
        if isinstance(given, ast.Starred)
        and isinstance(given.value, ast.Tuple | ast.List)
    ]


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("f(*(a, b), c)", 1),
        ("f(*[a, b], *(c, d))", 2),
        ("f(a, b=(c, d))", 0),
        ("f(*rest)", 0),
        ("g(*(x for x in y))", 0),
    ],
)
def test_spread_tuples_are_found(text: str, n: int) -> None:
    assert len(starred(text)) == n


def test_no_call_spreads_a_tuple_of_its_own() -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{line}"
        for file in FILES
        for line in starred(file.read_text("utf-8"))
    ]

    assert found == []
