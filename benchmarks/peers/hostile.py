"""Small tables on which tools are known to fail; every tool gets every one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.peers.runs import Ran, Task, Tool, run_tool
from benchmarks.peers.verdicts import (
    ID,
    Terms,
    judge_release,
    read_csv,
    read_released,
)

QIDS = ("age", "job")
_JOBS = ("cook", "nurse")
_LIMIT = 60


@dataclass(frozen=True, slots=True)
class Trap:
    """One table, and what is asked of it."""

    title: str
    ages: tuple[int | None, ...]
    jobs: tuple[str | None, ...]
    k: int = 3
    suppress: float = 0.0
    steps: tuple[int, ...] = field(default=())
    labels: int = 0


def _alternating(n: int) -> tuple[str, ...]:
    return tuple(_JOBS[i % 2] for i in range(n))


def _ages(n: int, step: int = 1) -> tuple[int, ...]:
    return tuple(20 + step * i for i in range(n))


TRAPS = (
    Trap("ties at the median", (20, 21, *[30] * 9, 40), _alternating(12)),
    Trap("a missing number", (None, *_ages(11)), _alternating(12)),
    Trap(
        "a missing category",
        (*[30] * 6, *[40] * 6),
        (None, *["cook"] * 5, *["nurse"] * 6),
    ),
    Trap(
        "a value on the edge of a bin",
        (*[25] * 4, *[23] * 3, *[35] * 4, 31),
        ("cook",) * 12,
        steps=(5, 10),
    ),
    Trap("duplicate rows", (20, 30, 40) * 4, ("cook", "nurse", "cook") * 4),
    Trap("one distinct row", (30,) * 12, ("cook",) * 12),
    Trap("k = number of rows", _ages(12), _alternating(12), k=12),
    Trap("k > number of rows", _ages(12), _alternating(12), k=13),
    Trap(
        "one row that fits nowhere",
        (*[30] * 10, *[40] * 9, 90),
        ("cook",) * 20,
        suppress=0.1,
    ),
    Trap(
        "the same, with an index from 100 on",
        (*[30] * 10, *[40] * 9, 90),
        ("cook",) * 20,
        suppress=0.1,
        labels=100,
    ),
    Trap(
        "a value with a comma in it",
        _ages(12, step=5),
        tuple(("cook, pastry", "nurse", "cook")[i % 3] for i in range(12)),
    ),
)


def table_of(trap: Trap) -> pd.DataFrame:
    """Return the table as it is given to the tools."""
    ages = pd.array(trap.ages, dtype="Int64")
    return pd.DataFrame(
        {"age": ages, "job": list(trap.jobs), ID: range(len(trap.ages))}
    )


def spring(tools: list[Tool], place: Path) -> Iterator[dict[str, Any]]:
    """Run every tool, in its first variant, on every table; one line each."""
    tools = list({tool.adapter: tool for tool in reversed(tools)}.values())[::-1]
    for trap in TRAPS:
        file = place / "trap.csv"
        table_of(trap).to_csv(file, index=False)
        task = Task(
            *(file, QIDS, ("age",), trap.k, trap.suppress),
            steps={"age": trap.steps},
            labels=trap.labels,
        )
        for tool in tools:
            ran = run_tool(tool, task, place, _LIMIT)
            yield {
                "case": trap.title,
                "tool": tool.title,
                "outcome": ran.outcome,
                "words": say_what_came(ran, tool, trap, read_csv(file)),
            }


def say_what_came(ran: Ran, tool: Tool, trap: Trap, original: pd.DataFrame) -> str:
    """Say in a few words what a tool made of a table."""
    if ran.released is None:
        kind = ran.figures.get("error")
        # Nobody can release a table that is smaller than k: an error is the answer.
        if kind and (kind == "InfeasibleError" or trap.k > len(original)):
            return f"refused ({kind})"
        return f"{ran.outcome}: {kind or ran.why}"
    released = read_released(ran.released)
    may_lose = int(trap.suppress * len(original)) if tool.suppresses else 0
    terms = Terms(QIDS, trap.k, may_lose)
    found = judge_release(original, released, tool.read, terms)
    if found["wrong"]:
        return "; ".join(found["wrong"])
    return "kept k"
