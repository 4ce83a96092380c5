"""Files that need not fit into memory: Parquet in parts to Parquet, in limited memory.

    python -m benchmarks.files [--rows 1 10 100] [--columns 8] [--memory 4GB]
        [--policy best] [--folder FOLDER] [--keep]
    python -m benchmarks.files --distinct 50 [--columns 4]
                                            tuples that are all different

Rows are in millions, of a census in parts of a million rows, k = 5. Each run is a fresh
process. Up to --in-memory millions the same table is also released in memory, and the
digests have to be the same.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.cases import CENSUS_6, CENSUS_8
from benchmarks.lines import emit, facts, megabytes, n_cpus, say

if TYPE_CHECKING:
    import pyarrow as pa

MILLION = 1_000_000
DISTINCT = ("a", "b", "c", "d")
MORE = tuple(f"e{i}" for i in range(16))
_COLUMNS = {6: CENSUS_6, 8: CENSUS_8}
_DISTINCT = {4: DISTINCT, 20: DISTINCT + MORE}
_IN_MEMORY = """
import sys, json
import pyarrow.dataset as ds
from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.spec.policies import BestPolicy, PaperPolicy
names, policy = json.loads(sys.argv[2]), sys.argv[3]
table = ds.dataset(sys.argv[1]).to_table(columns=names)
chosen = BestPolicy() if policy == "best" else PaperPolicy()
print(anonymize(table, Spec(tuple(names), (KAnonymity(5),), policy=chosen)).digest)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark files of any size.")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 10], help="millions")
    parser.add_argument("--columns", type=int, choices=(4, 6, 8, 20))
    parser.add_argument("--distinct", type=int, help="millions of distinct tuples")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--policy", choices=("best", "paper"), default="best")
    parser.add_argument("--in-memory", type=int, default=10, help="millions")
    parser.add_argument("--folder", type=Path, help="where parts are kept")
    parser.add_argument("--keep", action="store_true", help="do not remove the parts")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="core-mondrian-files-"))
    is_distinct = asked.distinct is not None
    known = _DISTINCT if is_distinct else _COLUMNS
    n_columns = asked.columns or (4 if is_distinct else 8)
    if n_columns not in known:
        parser.error(f"these rows have {' or '.join(map(str, known))} columns")
    names = known[n_columns]
    every = [asked.distinct] if is_distinct else asked.rows
    try:
        kind = folder / ("census" if not is_distinct else f"distinct-{n_columns}")
        make_parts(kind, max(every))
        for millions in every:
            line = run(kind, millions, names, asked)
            if millions <= asked.in_memory:
                line["digest_in_memory"] = in_memory(
                    kind, millions, names, asked.policy
                )
                line["is_same"] = line["digest_in_memory"] == line["digest"]
            emit(facts() | line)
    finally:
        if not asked.keep:
            shutil.rmtree(folder)


def make_parts(folder: Path, n_parts: int) -> None:
    """Write the parts that are not there yet, each of another seed."""
    import pyarrow.parquet as pq

    from core_mondrian.datasets import census

    make = distinct if folder.name == "distinct-4" else census
    make = wide if folder.name == "distinct-20" else make
    (folder / "all").mkdir(parents=True, exist_ok=True)
    for number in range(1, n_parts + 1):
        path = part(folder, number)
        if not path.exists():
            say(f"part {number} of {n_parts}")
            draft = path.with_suffix(".tmp")
            pq.write_table(make(MILLION, seed=number), draft)
            draft.rename(path)


def distinct(n_rows: int, seed: int) -> "pa.Table":
    """Return rows that differ from those of every other seed.

    Two columns have few values, and two so many that the rows are all different.
    """
    import numpy as np
    import pyarrow as pa

    draws = np.random.default_rng(seed)
    number = np.arange(n_rows, dtype=np.int64) + (seed - 1) * n_rows
    mixed = draws.permutation(number)
    return pa.table(
        {
            "a": draws.integers(0, 90, n_rows, dtype=np.int16),
            "b": draws.integers(0, 1000, n_rows, dtype=np.int16),
            "c": (mixed % 10_007).astype(np.int32),
            "d": (mixed // 10_007).astype(np.int32),
        }
    )


def wide(n_rows: int, seed: int) -> "pa.Table":
    """Return the same with 16 more columns, of 2 to 32 values."""
    import numpy as np
    import pyarrow as pa

    draws, table = np.random.default_rng((seed, 16)), distinct(n_rows, seed)
    for i, name in enumerate(MORE):
        values = draws.integers(0, 2 * (i + 1), n_rows, dtype=np.int8)
        table = table.append_column(name, pa.array(values))
    return table


def part(folder: Path, number: int) -> Path:
    return folder / "all" / f"part-{number:05d}.parquet"


def chosen(folder: Path, millions: int) -> Path:
    """Return a folder of links to the first parts."""
    some = folder / f"first-{millions}"
    if not some.exists():
        some.mkdir()
        for number in range(1, millions + 1):
            (some / f"{number:05d}.parquet").hardlink_to(part(folder, number))
    return some


def run(
    folder: Path, millions: int, names: Sequence[str], asked: argparse.Namespace
) -> dict[str, Any]:
    """Release the first parts to a file, and return what it took."""
    target = folder / "release.parquet"
    flags = [word for name in names for word in ("--qid", name)]
    flags += ["--identifier", "person_id"] if "age" in names else []
    command = [
        *(sys.executable, "-m", "core_mondrian.cli.main", "anonymize"),
        *(str(chosen(folder, millions)), str(target), "--overwrite", "--k", "5"),
        *("--policy", asked.policy, "--memory", asked.memory),
        *("--no-measures", "--json", *flags),
    ]
    say(f"{millions} million rows, {asked.memory}")
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        raise SystemExit(f"failed with status {os.waitstatus_to_exitcode(status)}")
    result = json.loads(output)
    size = target.stat().st_size
    target.unlink()
    rows = millions * MILLION
    cpu = used.ru_utime + used.ru_stime
    return {
        "benchmark": "files",
        "table": folder.name,
        "rows": rows,
        "columns": len(names),
        "policy": asked.policy,
        "memory_limit": asked.memory,
        "threads": n_cpus(),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "rows_per_second": round(rows / seconds),
        "rows_per_cpu_second": round(rows / cpu),
        "peak_mb": megabytes(used.ru_maxrss),
        "written_mb": round(size / (1 << 20), 1),
        "disk_mb": round(result.get("disk_bytes", 0) / (1 << 20), 1),
        "classes": result["classes"],
        "stages": result.get("seconds"),
        "digest": result["digests"]["release"],
    }


def in_memory(folder: Path, millions: int, names: Sequence[str], policy: str) -> str:
    say(f"{millions} million rows, in memory")
    some, columns = str(chosen(folder, millions)), json.dumps(names)
    command = [sys.executable, "-c", _IN_MEMORY, some, columns, policy]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
