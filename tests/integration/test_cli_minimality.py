"""core-mondrian minimality: a line per model and policy, as text and as JSON."""

import json
from typing import Any

import pytest
from conftest import Command, in_process

TINY = ("--rows", "3", "--size", "2")


@pytest.fixture
def minimality(capfd: Any) -> Command:
    command = in_process(capfd)
    return lambda *arguments: command("minimality", *arguments)


def test_every_policy_has_a_line_below_its_model(minimality: Command) -> None:
    done = minimality(*TINY, "--model", "distinct-l-diversity l=2")

    assert done.code == 0, done.err
    first, _, titles, *lines = done.out.splitlines()
    assert first == "20 tables: 3 people, quasi-identifiers of 2, 2 sensitive values"
    assert titles.split()[:3] == ["tables", "loss", "certain"]
    assert lines[0] == "2-anonymity, distinct 2-diversity of value"
    assert [line.split()[0] for line in lines[1:]] == [
        *("best", "best-strong", "best-disjoint", "paper", "original"),
        *("verify-after", "raise-k"),
    ]
    assert "certain     people whose value is certain" in done.err


def test_json_has_the_figures_of_each_reader(minimality: Command) -> None:
    done = minimality(*TINY, "--procedure", "original", "--with-missing", "--json")

    assert done.code == 0, done.err
    alone, *others = json.loads(done.out)["lines"]
    assert alone["models"] == ["2-anonymity"]
    assert alone["knows_everyone"]["values"] is None
    assert [len(one["models"]) for one in others] == [2, 2, 2, 2]
    for one in others:
        assert one["policy"]["name"] == "original"
        assert one["domain"]["missing"] is True
        assert one["knows_target"]["values"]["certain"] >= 0
        assert one["knows_nobody"]["certain"] >= 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--rows", "30", "--size", "9"), "tables, more than"),
        (("--prior", "rows"), "prior"),
        (("--procedure", "worst"), "procedure"),
        ((*TINY, "--model", "k-anonymity k=2", "--procedure", "raise-k"), "nothing to"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    minimality: Command, arguments: tuple[str, ...], says: str
) -> None:
    done = minimality(*arguments)

    assert done.code == 2
    assert says in done.err


def test_a_model_that_no_table_passes_leaves_the_others_their_lines(
    minimality: Command,
) -> None:
    strict = ("--model", "distinct-l-diversity l=3", "--procedure", "original")
    weak = ("--model", "distinct-l-diversity l=2")

    done = minimality(*TINY, *strict, *weak)
    alone = minimality(*TINY, *strict)

    assert done.code == 0, done.err
    assert done.out.splitlines()[-2] == "2-anonymity, distinct 2-diversity of value"
    assert "none        original, distinct 3-diversity of value" in done.err
    assert alone.code == 4
