"""What a benchmark prints, and what it takes from an earlier run."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lines import gather

LINES: list[dict[str, Any]] = [{"case": "a", "loss": 0.5}, {"case": "é", "loss": None}]


def run() -> Iterator[dict[str, Any]]:
    yield from LINES


def fail() -> Iterator[dict[str, Any]]:
    raise AssertionError("an earlier run is there, and another one starts")
    yield {}


def test_what_a_run_prints_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = gather(Namespace(lines=None, markdown=False), run())
    file = tmp_path / "lines.jsonl"
    file.write_text(capsys.readouterr().out + "\n", encoding="utf-8")

    again = gather(Namespace(lines=file, markdown=False), fail())

    assert printed == again == LINES
    assert capsys.readouterr().out == ""


def test_lines_are_not_printed_between_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gather(Namespace(lines=None, markdown=True), run()) == LINES
    assert capsys.readouterr().out == ""
