"""What a second thread brings: wall seconds of whole calls in memory, in turns.

    python -m benchmarks.threads [--case census_1m_8] [--policy best] [--turns 4]

The least of the turns counts: what else the machine does only adds to it. `serial` is
the share of the call that would explain the gain if the rest divided evenly. `release`
is recode, verify and warn: on threads they go on side by side.
"""

import argparse
import time
from collections import defaultdict
from typing import Any

from benchmarks.cases import CASES, Case, file_of
from benchmarks.lines import emit, facts, say

THREADS = (1, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark threads.")
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable")
    parser.add_argument("--policy", choices=("best", "paper", "original"))
    parser.add_argument("--turns", type=int, default=4)
    asked = parser.parse_args()
    for name in asked.case or ["census_1m_8"]:
        for policy in [asked.policy] if asked.policy else ["paper", "best"]:
            say(f"{name}, {policy}")
            _measure(CASES[name], policy, asked.turns)


def _measure(case: Case, policy: str, turns: int) -> None:
    from core_mondrian import KAnonymity, Spec
    from core_mondrian.spec.policies import POLICIES
    from core_mondrian.tables.files.read import read_table

    source = file_of(case.source)
    if source is None:
        return
    table = read_table(source)
    models = (KAnonymity(case.k),)
    spec = Spec(case.quasi_identifiers, models=models, policy=POLICIES[policy]())
    runs: dict[int, list[dict[str, float]]] = {n: [] for n in THREADS}
    for turn in range(turns + 1):
        for n in THREADS:
            stages = _run(table, spec, n)
            if turn:  # the first one warms up
                runs[n].append(stages)
    least = {
        n: {stage: min(run[stage] for run in runs[n]) for stage in runs[n][0]}
        for n in THREADS
    }
    gain = {stage: least[1][stage] / least[2][stage] for stage in least[1]}
    emit(
        {
            "benchmark": "threads",
            **facts(),
            "case": case.name,
            "policy": policy,
            "turns": turns,
            "wall_seconds": {
                n: {stage: round(x, 4) for stage, x in least[n].items()}
                for n in THREADS
            },
            "gain": {stage: round(x, 2) for stage, x in gain.items()},
            "serial": round(2 / gain["all"] - 1, 2),
        }
    )


def _run(table: Any, spec: Any, threads: int) -> dict[str, float]:
    """Return the wall seconds of every stage of one call, and of the call."""
    from core_mondrian import anonymize

    stages: dict[str, float] = defaultdict(float)
    begin = last = time.perf_counter()

    def note(stage: str, done: float) -> None:
        nonlocal last
        if done == 1.0:
            now = time.perf_counter()
            stages[stage] += now - last
            last = now

    anonymize(table, spec, threads=threads, progress=note)
    stages["all"] = time.perf_counter() - begin
    stages["release"] = sum(stages.pop(one) for one in ("recode", "verify", "warn"))
    return stages


if __name__ == "__main__":
    main()
