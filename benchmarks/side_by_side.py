"""Every stage of two checkouts, in turns: what a change costs or brings.

    python -m benchmarks.side_by_side OTHER [--case NAME ...] [--policy best]
        [--threads 1] [--turns 3]

OTHER is the folder of another checkout whose compiled modules are built. One line per
case: CPU and wall seconds of each stage (medians of the turns), ours over theirs, and
whether the digests are equal.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, QUICK, ROOT, file_of
from benchmarks.lines import emit, facts, middles, say


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare two checkouts.")
    parser.add_argument("other", type=Path)
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable")
    parser.add_argument("--policy", choices=("best", "paper", "original"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    asked = parser.parse_args()
    policies = [asked.policy] if asked.policy else ["paper", "best"]
    for name in asked.case or QUICK:
        for policy in policies:
            _compare(name, policy, asked)


def _compare(name: str, policy: str, asked: argparse.Namespace) -> None:
    source = file_of(CASES[name].source)
    if source is None:
        return
    say(f"{name}, {policy}, {asked.threads} threads")
    arguments = ["--child", "yes", "--case", name, "--source", str(source)]
    arguments += ["--threads", str(asked.threads), "--state", "warm"]
    arguments += ["--policy", policy]
    folders = {"ours": ROOT, "theirs": asked.other.resolve()}
    lines: dict[str, list[dict[str, Any]]] = {"ours": [], "theirs": []}
    for _ in range(asked.turns):
        for side, folder in folders.items():
            lines[side].append(_run(folder, arguments))
    cpu = {side: _stages(lines[side], "cpu") for side in folders}
    wall = {side: _stages(lines[side], "wall") for side in folders}
    digests = {line["tree_digest"] for side in folders for line in lines[side]}
    emit(
        {
            "benchmark": "side_by_side",
            **facts(),
            "case": name,
            "policy": policy,
            "threads": asked.threads,
            "turns": asked.turns,
            "same_digest": len(digests) == 1,
            "peak_mb": {side: lines[side][0]["peak_mb"] for side in folders},
            "cpu_seconds": cpu,
            "wall_seconds": wall,
            "cpu_ratio": _ratios(cpu),
            "wall_ratio": _ratios(wall),
        }
    )


def _run(folder: Path, arguments: list[str]) -> dict[str, Any]:
    """Return the line of one process that runs the code of a folder."""
    path = os.pathsep.join([str(folder / "src"), str(folder)])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.stages", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    line: dict[str, Any] = json.loads(done.stdout)
    return line


def _stages(lines: list[dict[str, Any]], kind: str) -> dict[str, float]:
    stages = middles([line[f"stage_{kind}_seconds"] for line in lines])
    return {**stages, "all": round(sum(stages.values()), 4)}


def _ratios(seconds: dict[str, dict[str, float]]) -> dict[str, float]:
    ours, theirs = seconds["ours"], seconds["theirs"]
    return {
        stage: round(ours[stage] / theirs[stage], 2)
        for stage in ours
        if theirs.get(stage)
    }


if __name__ == "__main__":
    main()
