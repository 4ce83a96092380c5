"""CPU seconds, wall seconds and peak memory of every stage, case by case.

    python -m benchmarks.stages [--quick] [--case NAME ...] [--policy best]

Each line is a fresh process. `warm`: the table has been through once in this process,
the median of the next runs counts; 10M rows run once, after a small part of them.
A full run ends with the whole command line, see command_line.py.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import command_line
from benchmarks.cases import CASES, QUICK, ROOT, Case, file_of
from benchmarks.lines import emit, facts, megabytes, middle, middles, say, source_digest

if TYPE_CHECKING:
    from core_mondrian import Spec

THREADS = (1, 2)
_LARGE = 2_000_000
"""Tables with more rows are warmed up with a part of them."""


def main() -> None:
    asked = _arguments()
    if asked.child:
        emit(_child(CASES[asked.case[0]], asked))
        return
    full = not asked.quick and not asked.case
    names = asked.case or (QUICK if asked.quick else CASES)
    for name in names:
        source = file_of(CASES[name].source)
        if source is None:
            continue
        for threads in THREADS:
            _start(name, source, threads, asked.policy)
    if full:
        command_line.measure("census_1m_6", asked.policy, repeats=5)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmark every stage.")
    parser.add_argument("--quick", action="store_true", help="the small tables only")
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable")
    parser.add_argument("--policy", choices=command_line.POLICIES, default="best")
    # The last one is for `side_by_side`, which also runs versions that know cold runs.
    for name in ("--child", "--source", "--state"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _start(name: str, source: Path, threads: int, policy: str) -> None:
    """Run one case in a process of its own and pass its line on."""
    say(f"{name}, {threads} thread{'s' * (threads > 1)}")
    command = [sys.executable, "-m", "benchmarks.stages", "--child", "yes"]
    command += ["--case", name, "--source", str(source), "--threads", str(threads)]
    command += ["--policy", policy]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: the process ended with {done.returncode}")
    emit(json.loads(done.stdout))


def _child(case: Case, asked: argparse.Namespace) -> dict[str, Any]:
    source_digest()  # before the package is loaded
    spec = _spec(case, asked.policy)
    source = Path(asked.source)
    _warm_up(source, spec, asked.threads)
    repeats = case.repeats
    runs = [_run(source, spec, asked.threads) for _ in range(repeats)]
    first = runs[0]
    if any(run["shape"] != first["shape"] for run in runs):
        raise SystemExit(f"{case.name}: two runs gave two releases")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "benchmark": "stages",
        **facts(),
        "case": case.name,
        "policy": asked.policy,
        "k": case.k,
        "columns": len(case.quasi_identifiers),
        **first["shape"],
        "threads": asked.threads,
        "state": "warm",
        "runs": repeats,
        "cpu_seconds": middle([run["cpu"] for run in runs]),
        "wall_seconds": middle([run["wall"] for run in runs]),
        "peak_mb": megabytes(peak),
        "stage_cpu_seconds": middles([run["stage_cpu"] for run in runs]),
        "stage_wall_seconds": middles([run["stage_wall"] for run in runs]),
    }


def _spec(case: Case, policy: str) -> "Spec":
    from core_mondrian import KAnonymity, Spec
    from core_mondrian.spec.policies import POLICIES

    models = (KAnonymity(case.k),)
    return Spec(case.quasi_identifiers, models=models, policy=POLICIES[policy]())


def _warm_up(source: Path, spec: "Spec", threads: int) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(source) as file:
        if file.metadata.num_rows <= _LARGE:
            _run(source, spec, threads)
            return
        some = file.read_row_group(0)
    with tempfile.TemporaryDirectory(prefix="core-mondrian-bench-") as folder:
        part = Path(folder) / "part.parquet"
        pq.write_table(some, part)
        del some
        _run(part, spec, threads)


def _run(source: Path, spec: "Spec", threads: int) -> dict[str, Any]:
    """Go from file to file once, and time every stage."""
    from core_mondrian import anonymize
    from core_mondrian.tables.files.kinds import source_schema
    from core_mondrian.tables.files.read import read_table
    from core_mondrian.tables.files.write import write_table

    ends: dict[str, float] = {}

    def note(stage: str, done: float) -> None:
        if done == 1.0:
            ends[stage] = time.perf_counter()

    with tempfile.TemporaryDirectory(prefix="core-mondrian-bench-") as folder:
        cpu, wall = [time.process_time()], [time.perf_counter()]
        table = read_table(source)
        cpu.append(time.process_time())
        wall.append(time.perf_counter())
        release = anonymize(table, spec, threads=threads, progress=note)
        wall += [ends[stage] for stage in release.seconds]
        before_write = time.process_time()
        target = Path(folder) / "release.parquet"
        write_table(release.data, target, source=source_schema(table))
        cpu.append(time.process_time())
        wall.append(time.perf_counter())
    write = cpu[-1] - before_write
    spans = (stop - start for start, stop in pairwise(wall))
    names = ("read", *release.seconds, "write")
    return {
        "cpu": cpu[-1] - cpu[0],
        "wall": wall[-1] - wall[0],
        "stage_cpu": {"read": cpu[1] - cpu[0], **release.seconds, "write": write},
        "stage_wall": dict(zip(names, spans, strict=True)),
        "shape": {
            "rows": release.n_rows,
            "distinct_tuples": release.n_tuples,
            "suppressed": release.n_suppressed,
            "classes": release.verification.n_classes,
            "digest": release.digest,
            "tree_digest": release.tree.digest,
        },
    }


if __name__ == "__main__":
    main()
