"""The same table in memory and in a DuckDB file: CPU seconds, and equal digests.

    python -m benchmarks.sql [--case census_1m_6] [--policy best] [--repeats 3]

Runs are taken in turns in one process; both kinds use all cores, and CPU is user and
system time. The table is loaded and the kernels are compiled beforehand.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cases import CASES, file_of
from benchmarks.lines import emit, facts, say


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark releases in DuckDB.")
    parser.add_argument("--case", choices=CASES, default="census_1m_6")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--policy", choices=("best", "paper"), default="best")
    asked = parser.parse_args()
    measure(asked.case, asked.policy, asked.repeats)


def measure(name: str, policy: str, repeats: int) -> None:
    """Print the medians of both, and how many times the CPU the database takes."""
    import duckdb
    import pyarrow.parquet as pq

    from core_mondrian import BestPolicy, KAnonymity, PaperPolicy, Spec
    from core_mondrian.api import anonymize
    from core_mondrian.sources.sql.anonymize import anonymize_sql

    case = CASES[name]
    source = file_of(case.source)
    if source is None:
        return
    say(f"{name} in memory and in DuckDB")
    table = pq.read_table(source)
    spec = Spec(
        quasi_identifiers=case.quasi_identifiers,
        models=(KAnonymity(case.k),),
        policy=BestPolicy() if policy == "best" else PaperPolicy(),
    )
    with tempfile.TemporaryDirectory(prefix="core-mondrian-bench-") as folder:
        file = Path(folder) / "people.duckdb"
        with duckdb.connect(file) as connection:
            connection.register("loaded", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM loaded")
        runs: dict[str, Callable[[], Any]] = {
            "memory": lambda: anonymize(table, spec),
            "duckdb": lambda: anonymize_sql(
                *(file, "people", "released", spec), overwrite=True
            ),
        }
        runs["memory"]()  # compiles the kernels
        taken = [
            {kind: _time(run) for kind, run in runs.items()} for _ in range(repeats)
        ]
    seconds = {kind: median(one[kind][0] for one in taken) for kind in runs}
    made = {kind: taken[-1][kind][1] for kind in runs}
    emit(
        {
            "benchmark": "sql",
            **facts(),
            "case": name,
            "policy": policy,
            "k": case.k,
            "rows": made["duckdb"].n_rows,
            "distinct_tuples": made["duckdb"].n_tuples,
            "runs": repeats,
            "cpu_seconds": {kind: round(each, 3) for kind, each in seconds.items()},
            "ratio": round(seconds["duckdb"] / seconds["memory"], 2),
            "stages": {k: round(v, 3) for k, v in made["duckdb"].seconds.items()},
            "digest": made["duckdb"].digest,
            "same_digest": made["duckdb"].digest == made["memory"].digest,
        }
    )


def _time(run: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    made = run()
    return time.process_time() - started, made


if __name__ == "__main__":
    main()
