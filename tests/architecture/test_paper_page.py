"""docs/paper.md names the code and the test of every statement of the paper."""

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from support.pages import defined_in, links

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"
TEXT = PAGE.read_text(encoding="utf-8")
VERDICT = re.compile(r"\*\*(faithful)\*\*(?:\. |$)|\*\*(differs)\*\*: ")
N_STATEMENTS = 74
GPU = "GPU"
"""What nobody has, the paper included."""


class Statement(NamedTuple):
    """One row of the page's tables."""

    number: int
    says: str
    where: str
    test: str
    status: str

    @property
    def verdict(self) -> str:
        found = VERDICT.match(self.status)
        return "" if found is None else found[1] or found[2]

    @property
    def is_missing(self) -> bool:
        return self.status.startswith("**differs**: missing")


def statements() -> list[Statement]:
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in TEXT.splitlines()
        if re.match(r"\| \d+\. ", line)
    ]
    return [
        Statement(int(number), says, *others)
        for (first, *others) in rows
        for number, says in [first.split(". ", 1)]
    ]


STATEMENTS = statements()
DONE = [one for one in STATEMENTS if not one.is_missing]


def test_every_statement_has_a_row() -> None:
    numbers = [one.number for one in STATEMENTS]

    assert numbers == list(range(1, N_STATEMENTS + 1))
    assert len({one.says for one in STATEMENTS}) == N_STATEMENTS


def test_every_statement_is_faithful_or_differs_and_says_why() -> None:
    assert [one.number for one in STATEMENTS if not one.verdict] == []


def test_nothing_is_missing_but_what_the_paper_lacks_too() -> None:
    assert [one.number for one in STATEMENTS if one.is_missing] == [N_STATEMENTS]
    assert GPU in STATEMENTS[-1].says


def test_the_count_is_that_of_the_rows() -> None:
    counts = Counter(one.verdict for one in STATEMENTS)

    said = f"{N_STATEMENTS} statements: {counts['faithful']} faithful, "
    assert f"{said}{counts['differs']} differ" in TEXT


@pytest.mark.parametrize("one", DONE, ids=lambda one: str(one.number))
def test_code_and_test_are_where_the_page_says(one: Statement) -> None:
    root = PAGE.parents[1]
    for cell, *folders in ((one.where, "src", "experiments"), (one.test, "tests")):
        found = links(cell, PAGE)
        assert found, "a row links to its code, and to its test"
        for file, names in found:
            assert any(file.is_relative_to(root / folder) for folder in folders)
            assert file.is_file(), file.name
            assert names, f"what of {file.name}?"
            assert set(names) <= defined_in(file)
            if folders == ["tests"]:
                assert all(name.startswith("test_") for name in names)


def test_a_name_that_is_not_there_is_noticed() -> None:
    (file, names), *others = links(
        "[a](../tests/conftest.py) `no_such`, `Command`", PAGE
    )

    assert others == []
    assert names == ["no_such", "Command"]
    assert set(names) - defined_in(file) == {"no_such"}
