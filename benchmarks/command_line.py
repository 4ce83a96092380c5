"""The whole command line, Parquet to Parquet, against reading and writing the file.

    python -m benchmarks.command_line [--case census_1m_6] [--policy best]
        [--repeats 5] [--threads N]

Both are fresh processes, taken in turns; CPU is user and system time of the process,
start-up included. Kernels are compiled beforehand, measures are off.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.cases import CASES, Case, file_of
from benchmarks.lines import emit, facts, middles, n_cpus, run_process, say

POLICIES = ("best", "paper", "original")
_COPY = """
import sys
import pyarrow.parquet as pq
pq.write_table(pq.read_table(sys.argv[1]), sys.argv[2])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark the command line.")
    parser.add_argument("--case", choices=CASES, default="census_1m_6")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, help="default: all cores")
    parser.add_argument("--policy", choices=POLICIES, default="best")
    asked = parser.parse_args()
    measure(asked.case, asked.policy, repeats=asked.repeats, threads=asked.threads)


def measure(
    name: str, policy: str, *, repeats: int, threads: int | None = None
) -> None:
    """Print the medians of both, and how many times the CPU ours takes."""
    case = CASES[name]
    source = file_of(case.source)
    if source is None:
        return
    say(f"{name}, the whole command line")
    used = threads or n_cpus()
    with tempfile.TemporaryDirectory(prefix="core-mondrian-bench-") as folder:
        target = Path(folder) / "release.parquet"
        ours = _our_command(case, source, target, used)
        ours += ["--policy", policy]
        copy = [sys.executable, "-c", _COPY, str(source), str(Path(folder) / "copy.pq")]
        run_process(ours)  # compiles and caches the kernels, reads the file into memory
        run_process(copy)
        pairs = [(run_process(ours), run_process(copy)) for _ in range(repeats)]
        manifest = json.loads(Path(f"{target}.manifest.json").read_bytes())
    mine = middles([pair[0] for pair in pairs])
    plain = middles([pair[1] for pair in pairs])
    emit(
        {
            "benchmark": "command_line",
            **facts(),
            "case": name,
            "policy": manifest["spec"]["policy"]["name"],
            "k": case.k,
            "columns": len(case.quasi_identifiers),
            "rows": manifest["rows"]["released"],
            "distinct_tuples": _distinct_tuples(source, case),
            "threads": used,
            "state": "warm",
            "runs": repeats,
            **mine,
            "copy": plain,
            "ratio": round(mine["cpu_seconds"] / plain["cpu_seconds"], 2),
            "cpu_seconds_of_runs": [round(one["cpu_seconds"], 3) for one, _ in pairs],
            "copy_cpu_seconds_of_runs": [
                round(one["cpu_seconds"], 3) for _, one in pairs
            ],
            "digest": manifest["digests"]["release"],
        }
    )


def _our_command(case: Case, source: Path, target: Path, threads: int) -> list[str]:
    command = [sys.executable, "-m", "core_mondrian.cli.main", "anonymize"]
    command += [str(source), str(target), "--overwrite", "--no-measures"]
    command += ["--k", str(case.k), "--threads", str(threads)]
    for column in case.quasi_identifiers:
        command += ["--qid", column]
    return command


def _distinct_tuples(source: Path, case: Case) -> int:
    """Count them last: it takes memory, which later processes would inherit."""
    import pyarrow.parquet as pq

    names = list(case.quasi_identifiers)
    table = pq.read_table(source, columns=names)
    return int(table.group_by(names).aggregate([]).num_rows)


if __name__ == "__main__":
    main()
