"""Whatever a tool does in its process, the run ends and says what happened."""

import json
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.lines import facts
from benchmarks.markdown import update_page
from benchmarks.peers.__main__ import find_steps
from benchmarks.peers.runs import NAMES, TOOLS, Ran, Task, load_tool, run_tool
from benchmarks.peers.tables import write_short, write_tables
from benchmarks.peers.verdicts import ID, Terms, judge_release, read_csv, read_released

HEAD = """
from benchmarks.peers.cells import read_number

REQUIREMENTS = ()
read = read_number

def release(table, job):
"""
CASES = {
    "sound": ("return table.assign(age='[20, 29]')", "released", []),
    "crashes": ("raise ValueError(table['age'].iloc[0])", "failed", None),
    "exits": ("import os; os._exit(3)", "died", None),
    "works for ever": ("while True: pass", "timed out", None),
    "waits for ever": ("import time; time.sleep(600)", "timed out", None),
    "loses rows": (
        "return table.assign(age='[20, 29]').head(8)",
        "released",
        ["2 rows lost"],
    ),
    "breaks k": ("return table", "released", ["k broken in 10 rows"]),
    "lies": ("return table.assign(age='[20, 28]')", "released", ["1 cell untrue"]),
    "returns nothing": ("return table.iloc[:0, :0]", "released", ["an empty table"]),
}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    file = tmp_path / "table.csv"
    pd.DataFrame({"age": range(20, 30), ID: range(10)}).to_csv(file, index=False)
    return Task(file, ("age",), ("age",), k=5, suppress=0.0)


def run_fake(body: str, task: Task, place: Path) -> tuple[Ran, list[str]]:
    file = place / "fake.py"
    file.write_text(f"{HEAD}    {body}\n", encoding="utf-8")
    (tool,) = load_tool(file)
    # Little where that is the point, else enough for a busy machine.
    limit, patience = 2 if "while" in body else 30, 3.0 if "sleep" in body else None
    ran = run_tool(tool, task, place, limit, patience=patience)
    if ran.released is None:
        return ran, []
    terms = Terms(("age",), k=5, may_lose=0)
    original, released = read_csv(task.table), read_released(ran.released)
    return ran, judge_release(original, released, tool.read, terms)["wrong"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.long
def test_every_end_is_shown(case: str, task: Task, tmp_path: Path) -> None:
    body, outcome, wrong = CASES[case]

    ran, found = run_fake(body, task, tmp_path)

    assert ran.outcome == outcome
    assert found == (wrong or [])
    assert ran.figures["cpu_seconds"] > 0


def test_a_report_has_the_kind_of_an_error_and_never_a_cell(
    task: Task, tmp_path: Path
) -> None:
    pd.DataFrame({"age": [987654] * 6, ID: range(6)}).to_csv(task.table, index=False)

    ran, _ = run_fake("raise ValueError(table['age'].iloc[0])", task, tmp_path)

    assert ran.why.startswith("ValueError in ")
    assert "987654" not in json.dumps([ran.why, ran.figures])


def test_memory_and_the_call_are_measured(task: Task, tmp_path: Path) -> None:
    body = "x = b'1' * 300_000_000; sum(range(3_000_000)); return table"

    ran, _ = run_fake(body, task, tmp_path)

    assert ran.figures["peak_mb"] > 300
    assert 0 < ran.figures["call_cpu_seconds"] <= ran.figures["cpu_seconds"]


def test_an_environment_that_cannot_be_made_is_shown(
    task: Task, tmp_path: Path
) -> None:
    file = tmp_path / "fake.py"
    # No Python is older than 3.0, so that nothing is installed.
    body = "PYTHONS = ((2, 9), (3, 0))\nREQUIREMENTS = ('nothing==0',)\n"
    file.write_text(f"{HEAD}    return table\n{body}", encoding="utf-8")

    (tool,) = load_tool(file)
    ran = run_tool(tool, task, tmp_path, limit=2)

    assert ran.outcome == "no environment"
    assert "nothing==0" in ran.why


@pytest.mark.parametrize("name", NAMES)
def test_every_adapter_is_pinned_and_short(name: str) -> None:
    text = (TOOLS / f"{name}.py").read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    exec(text.replace("__all__", "_all"), namespace)  # noqa: S102 - our own file

    assert all("==" in text for text in namespace["REQUIREMENTS"])  # type: ignore[attr-defined]
    assert len(text.splitlines()) < 80


@pytest.mark.parametrize(
    ("ages", "steps"),
    [
        pytest.param([17, 90], (5, 10, 20, 40), id="age"),
        pytest.param([0, 99999], (5000, 10000, 20000, 50000), id="capital"),
        pytest.param([3, 3], (1,), id="constant"),
    ],
)
def test_bins_have_widths_that_people_write(
    ages: list[int], steps: tuple[int, ...]
) -> None:
    assert find_steps(pd.Series(ages)) == steps


def line(tool: str, **more: object) -> dict[str, object]:
    return {
        "benchmark": "peers",
        **facts(),
        "case_title": "Adult, 6 columns",
        "tool": tool,
        "rows": 48842,
        "k": 5,
        "missing": "as it is",
        "has_trees": False,
        "wrong": [],
        **more,
    }


def test_tables_show_figures_and_failures() -> None:
    lines = [
        line("ours", cpu_seconds=2.0, dm=1_148_000, ncp_flat=0.0225),
        line("theirs", missing="filled", wrong=["failed: ValueError in a.py:1"]),
    ]

    text = write_tables(lines)

    assert "| Adult, 6 columns, 48,842 rows, k = 5 | CPU s |" in text
    assert "| ours | 2.00 | - | - | - | - | 1.148m | - | .0225 | - | nothing |" in text
    assert "| theirs ‡ |" in text
    assert "failed: ValueError in a.py:1 |" in text
    assert write_short([]) == ""


def test_pages_are_updated_between_their_marks_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- peers -->\nold\n<!-- peers -->\nafter\n")

    for _ in range(2):
        update_page(page, {"peers": "new", "peers: short": "few"})

    text = page.read_text()
    assert text == "before\n<!-- peers -->\n\nnew\n\n<!-- peers -->\nafter\n"
    page.write_text("no marks")
    with pytest.raises(SystemExit):
        update_page(page, {"peers": "new"})
