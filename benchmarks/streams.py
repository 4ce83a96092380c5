"""Streams: Parquet in parts to Parquet, in a limited memory.

    python -m benchmarks.streams [--rows 1 10 100] [--memory 4GB] [--policy best]
        [--folder FOLDER] [--keep]
    python -m benchmarks.streams --engine    bytes per tuple that planning takes, at
                                             once and by a executor in ten parts

Rows are in millions, of a census in parts of a million rows, with 8 quasi-identifiers
and k = 5. Each run is a fresh process with compiled kernels. Up to --in-memory millions
the same table is also released in memory, and the digests have to be the same.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.lines import emit, facts, megabytes, n_cpus, say

MILLION = 1_000_000
QUASI_IDENTIFIERS = (
    *("age", "sex", "marital_status", "education"),
    *("occupation", "workclass", "race", "income"),
)
_IN_MEMORY = """
import sys, json
import pyarrow.dataset as ds
from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.policies import BestPolicy, PaperPolicy
names, policy = json.loads(sys.argv[2]), sys.argv[3]
table = ds.dataset(sys.argv[1]).to_table(columns=names)
chosen = BestPolicy() if policy == "best" else PaperPolicy()
print(anonymize(table, Spec(tuple(names), (KAnonymity(5),), policy=chosen)).digest)
"""


_ENGINE = """
import json, sys, threading, time
import pyarrow as pa
from core_mondrian import BestPolicy, KAnonymity, PaperPolicy, Spec
from core_mondrian.sources.remote_plan import make_plan
from core_mondrian.sources.tuple_counts import TupleCounts
from core_mondrian.datasets import census
from core_mondrian.engine.executor import LocalExecutor
from core_mondrian.sources.files.memory import give_back, keep_little, used_memory
names, policy, parts = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
chosen = BestPolicy() if policy == "best" else PaperPolicy()
spec = Spec(tuple(names), (KAnonymity(5),), policy=chosen)
table = census(1_000_000).select(names)
found = table.group_by(names).aggregate([([], "count_all")]).combine_chunks()
rows, values = found["count_all"].to_numpy(), found.select(names)
del table, found
if parts > 1:
    keep_little()
few = LocalExecutor(2000 // parts) if parts > 1 else None
make_plan(TupleCounts(values.slice(0, 2000), 5 * rows[:2000]), spec, executor=few)
give_back()
before, peak, is_on = used_memory(), [0], [True]
def watch():
    while is_on[0]:
        peak[0] = max(peak[0], used_memory())
        time.sleep(0.003)
thread = threading.Thread(target=watch)
thread.start()
executor = LocalExecutor(rows.size // parts) if parts > 1 else None
make_plan(TupleCounts(values, rows), spec, executor=executor)
is_on[0] = False
thread.join()
print(rows.size, (peak[0] - before) / rows.size)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark streams.")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 10], help="millions")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--policy", choices=("best", "paper"), default="best")
    parser.add_argument("--in-memory", type=int, default=10, help="millions")
    parser.add_argument("--folder", type=Path, help="where parts are kept")
    parser.add_argument("--keep", action="store_true", help="do not remove the parts")
    parser.add_argument("--engine", action="store_true", help="bytes per tuple")
    asked = parser.parse_args()
    if asked.engine:
        measure_engine()
        return
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="core-mondrian-streams-"))
    try:
        make_parts(folder, max(asked.rows))
        run(folder, 1, asked.memory, asked.policy)  # compiles and caches the kernels
        for millions in asked.rows:
            line = run(folder, millions, asked.memory, asked.policy)
            if millions <= asked.in_memory:
                line["digest_in_memory"] = in_memory(folder, millions, asked.policy)
                line["is_same"] = line["digest_in_memory"] == line["digest"]
            emit(facts() | line)
    finally:
        if not asked.keep:
            shutil.rmtree(folder)


def measure_engine() -> None:
    """Print what planning takes at its peak, next to the counts themselves."""
    more = ("hours_per_week", "capital_gain", "zip_code")
    sets = (QUASI_IDENTIFIERS[:5], QUASI_IDENTIFIERS, (*QUASI_IDENTIFIERS, *more))
    for names, policy, parts in product(sets, ("best", "paper"), (1, 10)):
        command = [sys.executable, "-c", _ENGINE, json.dumps(names), policy, str(parts)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        tuples, size = done.stdout.split()
        line = {"tuples": int(tuples), "bytes_per_tuple": round(float(size))}
        shape = {"columns": len(names), "policy": policy, "parts": parts}
        emit(facts() | {"benchmark": "engine memory"} | shape | line)


def make_parts(folder: Path, n_parts: int) -> None:
    """Write the parts that are not there yet, each of another seed."""
    import pyarrow.parquet as pq

    from core_mondrian.datasets import census

    (folder / "all").mkdir(parents=True, exist_ok=True)
    for number in range(n_parts):
        path = part(folder, number)
        if not path.exists():
            say(f"part {number + 1} of {n_parts}")
            draft = path.with_suffix(".tmp")
            pq.write_table(census(MILLION, seed=number), draft)
            draft.rename(path)


def part(folder: Path, number: int) -> Path:
    return folder / "all" / f"part-{number:05d}.parquet"


def chosen(folder: Path, millions: int) -> Path:
    """Return a folder of links to the first parts."""
    some = folder / f"first-{millions}"
    if not some.exists():
        some.mkdir()
        for number in range(millions):
            (some / f"{number:05d}.parquet").hardlink_to(part(folder, number))
    return some


def run(folder: Path, millions: int, memory: str, policy: str) -> dict[str, Any]:
    """Stream the first parts to a file and return what it took."""
    target = folder / "release.parquet"
    flags = [word for name in QUASI_IDENTIFIERS for word in ("--qid", name)]
    command = [
        *(sys.executable, "-m", "core_mondrian.cli.main", "anonymize"),
        *(str(chosen(folder, millions)), str(target), "--overwrite", "--k", "5"),
        *("--identifier", "person_id", "--policy", policy, "--memory", memory),
        *("--no-measures", "--json", *flags),
    ]
    say(f"{millions} million rows, {memory}")
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"failed with status {os.waitstatus_to_exitcode(status)}")
    told = json.loads(output)
    size = target.stat().st_size
    target.unlink()
    rows = millions * MILLION
    cpu = used.ru_utime + used.ru_stime
    return {
        "benchmark": "streams",
        "rows": rows,
        "columns": len(QUASI_IDENTIFIERS),
        "policy": policy,
        "memory_limit": memory,
        "threads": n_cpus(),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "rows_per_second": round(rows / seconds),
        "rows_per_cpu_second": round(rows / cpu),
        "peak_mb": megabytes(used.ru_maxrss),
        "written_mb": round(size / (1 << 20), 1),
        "classes": told["classes"],
        "digest": told["digests"]["release"],
    }


def in_memory(folder: Path, millions: int, policy: str) -> str:
    say(f"{millions} million rows, in memory")
    names = json.dumps(QUASI_IDENTIFIERS)
    command = [sys.executable, "-c", _IN_MEMORY, str(chosen(folder, millions)), names]
    done = subprocess.run(
        [*command, policy], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    main()
