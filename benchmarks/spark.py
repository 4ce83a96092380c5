"""What a row and a distinct tuple cost on a Spark cluster, and what a billion would.

    python -m benchmarks.spark [--rows 200000 1000000 3000000] > LINES
    python -m benchmarks.spark --lines LINES --markdown     the tables of the docs
    python -m benchmarks.spark --distinct 10                millions of distinct tuples

Starts a cluster on this machine (sources/spark/deploy/cluster.py): a master, two
workers of one core each and a Connect server. One JSON line per table, then one with
the fit. Seconds are CPU seconds of all processes of the cluster and of the driver, so
that what else the machine does matters little. The table is `census`, from Parquet to
Parquet; with ``--distinct`` it is that of `benchmarks.files`: all rows are different.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.lines import Line, emit, facts, gather, say, source_digest

if TYPE_CHECKING:
    from core_mondrian import Release, Spec

ROOT = Path(__file__).parents[1]
WARM_UP = 50_000
CLUSTER = "core_mondrian.sources.spark.deploy.cluster"
SETTINGS = {"spark.sql.shuffle.partitions": "8"}
PER_ROW = ("count", "write", "verify", "warn")
"""Stages that look at every row; `plan` looks at tuples."""
ASKED_ROWS, ASKED_COLUMNS = 1_000_000_000, 20
CORES = 200


def main() -> None:
    asked = _arguments()
    if asked.distinct:
        emit(_run_distinct(asked.distinct))
        return
    lines = gather(asked, _run(asked.rows))
    if asked.markdown:
        print(write_tables(lines))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Cost of rows and tuples on Spark.")
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument(
        "--rows", nargs="+", type=int, default=[200_000, 1_000_000, 3_000_000]
    )
    parser.add_argument("--distinct", type=int, help="millions of distinct tuples")
    parser.add_argument("--markdown", action="store_true", help="print tables")
    return parser.parse_args()


def _run(sizes: list[int]) -> Iterator[Line]:
    source_digest()  # before the package is loaded
    lines: list[Line] = []
    with start_cluster() as (session, root), tempfile.TemporaryDirectory() as folder:
        for n_rows in (WARM_UP, *sizes):
            say(f"{n_rows} rows")
            line = _measure(session, root, Path(folder), n_rows)
            if n_rows != WARM_UP:
                lines.append(line)
                yield line
    model = fit(lines)
    yield model


def _run_distinct(millions: int) -> Line:
    """Return what the driver of a table needs whose rows are all different."""
    import pyarrow.parquet as pq

    from benchmarks.files import DISTINCT, MILLION, distinct
    from core_mondrian import Spec
    from core_mondrian.runtime.stages import peak_megabytes

    with start_cluster() as (session, root), tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows"
        source.mkdir()
        for number in range(1, millions + 1):
            table = distinct(MILLION, seed=number)
            pq.write_table(table, source / f"{number:05d}.parquet")
        del table
        frame = session.read.parquet(str(source))
        spec = Spec(DISTINCT, k=5)
        release, clock = _release(frame, spec, root, Path(folder) / "out.parquet")
        return {
            "distinct": release.n_tuples,
            "cpu_seconds": clock.by_stage(),
            "wall_seconds": round(clock.wall, 1),
            "driver_cpu_seconds": round(time.process_time(), 1),
            "driver_megabytes": round(peak_megabytes() or 0),
            "server_megabytes": _peak_of(_tree(root), "SparkConnectServer"),
            "digest": release.digest,
            **facts(),
        }


@contextmanager
def start_cluster() -> Iterator[tuple[Any, int]]:
    """Start a cluster; yield a session, and the process all others descend from."""
    from pyspark.sql import SparkSession

    path = os.pathsep.join([str(ROOT / "src"), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-m", CLUSTER, "--connect"],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": path},
        text=True,
    ) as process:
        try:
            told = json.loads(process.stdout.readline() if process.stdout else "")
            session = SparkSession.builder.remote(told["remote"]).create()
            for key, value in SETTINGS.items():
                session.conf.set(key, value)
            yield session, process.pid
            session.stop()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _measure(session: Any, root: int, folder: Path, n_rows: int) -> Line:
    import pyarrow.parquet as pq

    from core_mondrian import KAnonymity, PaperPolicy, Spec, anonymize
    from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census

    source = folder / f"{n_rows}.parquet"
    table = census(n_rows)
    n_columns = table.num_columns
    pq.write_table(table, source, row_group_size=100_000)
    spec = Spec(CENSUS_QUASI_IDENTIFIERS, (KAnonymity(5),), policy=PaperPolicy())
    since = time.process_time()
    local = anonymize(table, spec)
    local_cpu = time.process_time() - since
    del table
    frame = session.read.parquet(str(source))
    target = folder / f"{n_rows}-out.parquet"
    release, clock = _release(frame, spec, root, target)
    return {
        "rows": n_rows,
        "columns": n_columns,
        "quasi_identifiers": len(spec.quasi_identifiers),
        "tuples": release.n_tuples,
        "cpu_seconds": clock.by_stage(),
        "wall_seconds": round(clock.wall, 1),
        "local_cpu_seconds": round(local_cpu, 2),
        "digest_equals_local": release.digest == local.digest,
        **facts(),
    }


def _release(
    frame: Any, spec: "Spec", root: int, path: Path
) -> tuple["Release[Any]", "_Clock"]:
    """Anonymize into a Parquet folder; return what was found and what it took."""
    from core_mondrian.runtime.stages import Stages
    from core_mondrian.sources.spark.api import Means, draft_release
    from core_mondrian.sources.spark.tables import Folder

    clock = _Clock(root)
    stages = Stages(clock)
    target = Folder(str(path), "parquet")
    with draft_release(frame, spec, Means(), stages=stages) as draft:
        stages.report("write")
        target.write(draft.data)
        stages.end("write")
        written = target.read_back(frame.sparkSession, draft.data)
        return draft.release(draft.verify_written(written), written), clock


class _Clock:
    """Notes the CPU seconds of the cluster and the driver when a stage ends."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._since = time.monotonic()
        self._last = self._now()
        self._spent: dict[str, float] = {}

    def __call__(self, stage: str, done: float) -> None:
        if done < 1.0:
            return
        now = self._now()
        planned = ("encode", "collapse", "partition")
        name = "plan" if stage in planned else stage
        say(f"{stage}: {now - self._last:.0f} CPU s")
        self._spent[name] = self._spent.get(name, 0.0) + now - self._last
        self._last = now

    def _now(self) -> float:
        return _tree_seconds(self._root) + time.process_time()

    @property
    def wall(self) -> float:
        return time.monotonic() - self._since

    def by_stage(self) -> dict[str, float]:
        return {name: round(seconds, 2) for name, seconds in self._spent.items()}


def _tree_seconds(root: int) -> float:
    """Return the CPU seconds of a process and all below it, also of ended ones."""
    return sum(_tree(root).values()) / os.sysconf("SC_CLK_TCK")


def _tree(root: int) -> dict[int, int]:
    """Return a process and all below it, with the ticks that each has taken."""
    above: dict[int, int] = {}
    spent: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        number = int(file.parent.name)
        above[number] = int(fields[1])
        spent[number] = sum(int(field) for field in fields[11:15])
    inside = {root}
    while grown := {n for n, up in above.items() if up in inside} - inside:
        inside |= grown
    return {number: spent.get(number, 0) for number in inside}


def _peak_of(processes: Iterable[int], name: str) -> int:
    """Return the most megabytes that a process with that word in its command took."""
    peak = 0
    for number in processes:
        folder = Path(f"/proc/{number}")
        if name.encode() in (folder / "cmdline").read_bytes():
            status = (folder / "status").read_text()
            peak = max(peak, int(status.partition("VmHWM:")[2].split()[0]) >> 10)
    return peak


def fit(lines: list[Line]) -> Line:
    """Fit a line per stage, and read off what a billion rows would take."""
    rows = np.array([line["rows"] for line in lines], dtype=float)
    tuples = np.array([line["tuples"] for line in lines], dtype=float)
    lines_of = {name: _line(rows, _spent(lines, name)) for name in PER_ROW}
    per_row = {name: slope for name, (slope, _) in lines_of.items()}
    per_tuple, start_of_plan = _line(tuples, _spent(lines, "plan"))
    anyway = start_of_plan + sum(start for _, start in lines_of.values())
    power, start = np.polyfit(np.log(rows), np.log(tuples), 1)
    asked_tuples = float(np.exp(start) * ASKED_ROWS**power)
    wider = ASKED_COLUMNS / lines[0]["columns"]
    seconds = sum(per_row.values()) * ASKED_ROWS * wider
    return {
        "fit": {
            "microseconds_per_row": {k: round(1e6 * v, 2) for k, v in per_row.items()},
            "seconds_anyway": round(anyway, 1),
            "microseconds_per_tuple": round(1e6 * per_tuple, 2),
            "tuples_grow_as_rows_to_the": round(float(power), 3),
        },
        "asked": {
            "rows": ASKED_ROWS,
            "columns": ASKED_COLUMNS,
            "columns_measured": lines[0]["columns"],
            "tuples_millions": round(asked_tuples / 1e6, 1),
            "core_hours_rows": round(seconds / 3600, 1),
            "cores": CORES,
            "minutes_rows": round(seconds / CORES / 60, 1),
            "driver_minutes_tuples": round(per_tuple * asked_tuples / 60, 1),
        },
    }


def _spent(lines: list[Line], stage: str) -> Any:
    return np.array([line["cpu_seconds"][stage] for line in lines])


def _line(sizes: Any, seconds: Any) -> tuple[float, float]:
    """Return the cost of one more, and what a run costs anyway."""
    slope, start = np.polyfit(sizes, seconds, 1)
    return float(slope), float(start)


def write_tables(lines: list[Line]) -> str:
    """Return what was measured, and the model, as Markdown."""
    measured = [line for line in lines if "rows" in line]
    model = fit(measured)
    names = ("count", "plan", "write", "verify", "warn")
    head = ("rows", "distinct tuples", *names, "cluster", "one machine", "same digest")
    table = [f"| {' | '.join(head)} |", "|" + "--:|" * len(head)]
    for line in measured:
        spent = line["cpu_seconds"]
        cells = [f"{line['rows']:,}", f"{line['tuples']:,}"]
        cells += [f"{spent[name]:.1f}" for name in names]
        cells += [f"{sum(spent.values()):.1f}", f"{line['local_cpu_seconds']:.1f}"]
        cells.append("yes" if line["digest_equals_local"] else "NO")
        table.append(f"| {' | '.join(cells)} |")
    costs, asked = model["fit"], model["asked"]
    each = costs["microseconds_per_row"]
    rows = ", ".join(f"{name} {each[name]:g}" for name in PER_ROW)
    return "\n".join(
        [
            *table,
            "",
            f"* Every run costs {costs['seconds_anyway']:g} CPU seconds anyway.",
            f"* One more row of {asked['columns_measured']} columns costs, in CPU "
            f"microseconds: {rows}.",
            f"* One more distinct tuple costs the driver "
            f"{costs['microseconds_per_tuple']:g} CPU microseconds.",
            f"* Distinct tuples grow as rows to the power of "
            f"{costs['tuples_grow_as_rows_to_the']:g}.",
            f"* So {asked['rows']:,} rows of {asked['columns']} columns would take "
            f"{asked['core_hours_rows']:g} core hours for rows: "
            f"{asked['minutes_rows']:g} min on {asked['cores']} cores.",
            f"* They would have {asked['tuples_millions']:g} million distinct tuples, "
            f"{asked['driver_minutes_tuples']:g} CPU minutes of the engine.",
        ]
    )


if __name__ == "__main__":
    main()
