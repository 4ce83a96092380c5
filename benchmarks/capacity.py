"""What a table of any size would take on one machine, by what smaller ones took.

    python -m benchmarks.files --distinct 20 --columns 20 > lines.jsonl
    python -m benchmarks.capacity lines.jsonl [--rows 1000] [--cores 64]

Prints what each run took per row, then what the largest of those whose rows are all
different says of --rows million rows of as many columns.
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from math import log
from pathlib import Path
from typing import Any

from benchmarks.lines import say
from benchmarks.markdown import cells, rule

MILLION = 1_000_000
_HEAD = ("table", "rows", "CPU s", "CPU µs per row", "peak", "disk", "bytes per row")


def main() -> None:
    parser = argparse.ArgumentParser(description="Say what a large table would take.")
    parser.add_argument("lines", type=Path, nargs="+", help="of benchmarks.files")
    parser.add_argument("--rows", type=int, default=1000, help="millions")
    parser.add_argument("--cores", type=int, default=64)
    asked = parser.parse_args()
    runs = [
        json.loads(line)
        for path in asked.lines
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    say(table(runs))
    distinct = [run for run in runs if run["table"].startswith("distinct")]
    widest = max(run["columns"] for run in distinct)
    largest = max(
        (run for run in distinct if run["columns"] == widest),
        key=lambda run: run["rows"],
    )
    say("\n".join(estimate(largest, asked.rows * MILLION, asked.cores)))


def table(runs: Iterable[Mapping[str, Any]]) -> str:
    """Return the runs as Markdown."""
    rows = [
        (
            f"{run['table']}, {run['columns']} columns, {run['memory_limit']}",
            f"{run['rows'] // MILLION} million",
            f"{run['cpu_seconds']:,.0f}",
            f"{run['cpu_seconds'] / run['rows'] * MILLION:.1f}",
            f"{run['peak_mb'] / 1024:.1f} GB",
            f"{run.get('disk_mb', 0) / 1024:.1f} GB",
            f"{run.get('disk_mb', 0) * (1 << 20) / run['rows']:.0f}",
        )
        for run in runs
    ]
    return "\n".join([cells(*_HEAD), rule(len(_HEAD)), *(cells(*row) for row in rows)])


def estimate(run: Mapping[str, Any], rows: int, cores: int) -> list[str]:
    """Return what so many rows would take, all of them different, as this run's are.

    The tree is deeper the more tuples there are, and every level reads them all: CPU
    grows as n log n. Disk and what is written grow as rows.
    """
    times = rows / run["rows"]
    deeper = log(rows) / log(run["rows"])
    hours = run["cpu_seconds"] * times * deeper / 3600
    return [
        f"* {rows // MILLION:,} million rows, {rows // MILLION:,} million distinct "
        f"tuples, {run['columns']} columns:",
        f"* CPU {hours:,.0f} core hours, {hours / cores:.1f} hours on {cores} cores",
        f"* memory as given: {run['memory_limit']} held {run['peak_mb'] / 1024:.1f} GB",
        f"* disk {run['disk_mb'] * times / (1 << 20):.2f} TB while it runs, and "
        f"{run['written_mb'] * times / 1024:,.0f} GB for the release",
    ]


if __name__ == "__main__":
    main()
