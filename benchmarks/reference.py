"""The same table through the paper's own code, in one run.

    python -m benchmarks.reference [--sets 4 6 8 numeric] [--ks 5 50 ...] [--repeats 3]

Both sides take a pandas frame of Adult and return one; they run in turns, each in a
process of its own that has run before (kernels compiled), with one thread. For the
reference, `engine_cpu_seconds` leaves out its metrics, checks and preparation, and
`cpu_seconds` is its `k_anonymize` whole; ours is always whole, with verification and
without measures. Figures are medians over all runs, and the ratios are those of the
medians. Both releases are scored by score.py.

The reference is installed into .venv-lighthouse. It needs a Python older than 3.13.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, cast

from benchmarks.cases import ROOT, adult_folder
from benchmarks.lines import emit, facts, megabytes, middles, say, source_digest
from benchmarks.peers.tools.lighthouse import REQUIREMENTS
from core_mondrian.datasets import ADULT_SETS
from experiments.environments import Environment, find_environment

ENVIRONMENT = Environment(REQUIREMENTS)
FOLDER = ROOT / ".venv-lighthouse"
_WARM_ROWS = 2000
_TIMES = {"ours": 10, "reference": 1}
"""Runs in a turn: a run of less than .1 s alone is too noisy."""
_TOLD = ("rows", "distinct_tuples", "digest")


class Side:
    """A process that runs one side, job by job."""

    def __init__(self, name: str, python: Path, table: Path) -> None:
        worker = Path(__file__).with_name("reference_worker.py")
        # Text hashing decides the order in which the reference walks its trees.
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
        self.name = name
        self._process = subprocess.Popen(
            [str(python), str(worker), name, str(table)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Have one job done and return the answer."""
        stdin = cast("IO[str]", self._process.stdin)
        stdin.write(json.dumps(job) + "\n")
        stdin.flush()
        text = cast("IO[str]", self._process.stdout).readline()
        if not text:
            raise SystemExit(f"{self.name}: the process ended early")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()


def main() -> None:
    asked = _arguments()
    source_digest()
    if adult_folder() is None:
        raise SystemExit(2)
    python = find_environment(ENVIRONMENT, FOLDER, tell=say)
    with tempfile.TemporaryDirectory(prefix="core-mondrian-bench-") as folder:
        table = Path(folder) / "adult.csv"
        _write_table(table)
        sides = [
            Side("ours", Path(sys.executable), table),
            Side("reference", python, table),
        ]
        for name in asked.sets:
            for k in asked.ks:
                emit(_compare(sides, name, k, asked))
        for side in sides:
            side.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmark against the reference.")
    parser.add_argument("--sets", nargs="+", choices=ADULT_SETS, default=["6"])
    parser.add_argument("--ks", nargs="+", type=int, default=[5], metavar="K")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--numbers",
        choices=("mean", "interval", "median"),
        default="mean",
        help="how we release numbers; the reference releases means",
    )
    return parser.parse_args()


def _write_table(path: Path) -> None:
    import pyarrow as pa

    from core_mondrian.datasets import adult
    from core_mondrian.tables.files.write import write_table

    table = adult(adult_folder())
    write_table(table.append_column("row_id", pa.array(range(table.num_rows))), path)


def _compare(
    sides: list[Side], name: str, k: int, asked: argparse.Namespace
) -> dict[str, Any]:
    """Run both sides in turns and put their figures side by side."""
    job = {"qids": ADULT_SETS[name], "k": k, "numbers": asked.numbers}
    say(f"set {name}, k = {k}: warming up")
    for side in sides:
        side.run({**job, "rows": _WARM_ROWS, "times": 1, "score": False})
    found: dict[str, list[dict[str, Any]]] = {side.name: [] for side in sides}
    for turn in range(asked.repeats):
        say(f"set {name}, k = {k}: run {turn + 1} of {asked.repeats}")
        for side in sides:
            times = _TIMES[side.name]
            task = {**job, "rows": None, "times": times, "score": turn == 0}
            found[side.name].append(side.run(task))
    ours, reference = (_summary(found[side.name]) for side in sides)
    return {
        "benchmark": "reference",
        **facts(),
        "case": f"adult_{name}",
        "policy": "paper",
        "k": k,
        "columns": len(ADULT_SETS[name]),
        "numbers": asked.numbers,
        "threads": 1,
        "state": "warm",
        "runs": asked.repeats,
        **{name: found["ours"][0][name] for name in _TOLD},
        "cpu_seconds": ours["cpu_seconds"],
        "wall_seconds": ours["wall_seconds"],
        "peak_mb": ours["peak_mb"],
        "ratio_engine": round(reference["engine_cpu_seconds"] / ours["cpu_seconds"], 1),
        "ratio_whole": round(reference["cpu_seconds"] / ours["cpu_seconds"], 1),
        "ours": ours,
        "reference": reference,
    }


def _summary(answers: list[dict[str, Any]]) -> dict[str, Any]:
    runs = [run for answer in answers for run in answer["seconds"]]
    named = {f"{name}_seconds": value for name, value in middles(runs).items()}
    each = [round(run["cpu"], 4) for run in runs]
    peak = megabytes(max(answer["max_rss"] for answer in answers))
    named |= {"peak_mb": peak}
    return {**named, "cpu_seconds_of_runs": each, **answers[0]["score"]}


if __name__ == "__main__":
    main()
