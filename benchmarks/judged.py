"""Releases of one table: timed in turns, and scored by a judge that shares no code."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from benchmarks.adult_hierarchies import Rows, read_rows
from benchmarks.cases import ROOT
from benchmarks.lines import middle

if TYPE_CHECKING:
    from core_mondrian import Release, Spec
    from core_mondrian.hierarchies.tree import Hierarchy

ID = "row_id"
JUDGE = ROOT / "benchmarks" / "judge.py"


class Timed(NamedTuple):
    """A release, and what each timed run of it took."""

    release: "Release[pa.Table]"
    runs: list[tuple[float, float]]
    """CPU seconds of anonymize(), and of its stage partition."""

    @property
    def cpu_seconds(self) -> float:
        return middle([total for total, _ in self.runs])

    @property
    def partition_cpu_seconds(self) -> float:
        return middle([part for _, part in self.runs])

    def times(self, other: "Timed") -> float:
        """Return how many times the CPU of ``other`` it takes, turn by turn."""
        pairs = zip(self.runs, other.runs, strict=True)
        return round(middle([mine[0] / its[0] for mine, its in pairs]), 3)


class Bench:
    """One table, its completed hierarchies, and the judge."""

    def __init__(
        self, table: pa.Table, place: Path, judge: Path, hierarchies: Path | None
    ) -> None:
        from core_mondrian.tables.files.write import write_table

        self.table = table.append_column(ID, pa.array(range(table.num_rows)))
        self.place = place
        self.original = place / "original.parquet"
        self.judge = judge
        self.added: dict[str, int] = {}
        """Values that a hierarchy did not have, by column."""
        for name, tree in read_rows(hierarchies).items():
            if name in table.column_names and pa.types.is_string(table[name].type):
                rows, n_added = complete_tree(table[name], tree)
                if n_added:
                    self.added[name] = n_added
                text = "".join(";".join(row) + "\n" for row in rows)
                (place / f"{name}.csv").write_text(text)
        write_table(self.table, self.original)

    def trees(self, columns: Iterable[str]) -> dict[str, "Hierarchy"]:
        """Return the hierarchies there are for these columns."""
        from core_mondrian.hierarchies.read import read_hierarchy

        files = {name: self.place / f"{name}.csv" for name in columns}
        return {name: read_hierarchy(f) for name, f in files.items() if f.exists()}

    def in_turns(self, specs: Mapping[str, "Spec"], repeats: int) -> dict[str, Timed]:
        """Release by every spec, then time one after the other, again and again.

        A shared machine is faster now and slower then; ratios within a turn are not.
        Without repeats, the first run is what was timed.
        """
        from core_mondrian import anonymize

        found = {}
        for name, spec in specs.items():
            before = time.process_time()
            first = anonymize(self.table, spec, threads=1)
            total = time.process_time() - before
            cold = [(total, first.seconds["partition"])]
            found[name] = Timed(first, [] if repeats else cold)
        for _ in range(repeats):
            for name, spec in specs.items():
                before = time.process_time()
                again = anonymize(self.table, spec, threads=1)
                total = time.process_time() - before
                found[name].runs.append((total, again.seconds["partition"]))
                if again.digest != found[name].release.digest:
                    raise SystemExit(f"{name}: two runs gave two releases")
        return found

    def judged(self, release: "Release[pa.Table]") -> dict[str, Any]:
        """Return what the judge finds in the file of a release."""
        from core_mondrian.tables.files.write import write_table

        path, spec = self.place / "released.parquet", release.spec
        write_table(
            release.data, path, source=self.table.schema, overwrite=path.exists()
        )
        command = [sys.executable, str(self.judge), str(self.original), str(path)]
        command += ["--id", ID, "--k", str(spec.min_rows)]
        for name in spec.quasi_identifiers:
            command += ["--qid", name]
        for name in spec.sensitive:
            command += ["--sensitive", name]
        command += ["--hierarchies", str(self.place)]
        # The judge is no part of the package, and gets none of its paths.
        clean = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=clean, stdout=subprocess.PIPE, check=True)
        verdict: dict[str, Any] = json.loads(done.stdout)
        return verdict


def add_yardstick(parser: argparse.ArgumentParser) -> None:
    """Let another judge or other hierarchies take the place of our own."""
    parser.add_argument("--judge", type=Path, metavar="FILE", default=JUDGE)
    parser.add_argument(
        "--hierarchies", type=Path, metavar="DIR", help="in place of our own for Adult"
    )


def complete_tree(column: pa.ChunkedArray, rows: Rows) -> tuple[Rows, int]:
    """Return the lines of a hierarchy, and how many values it did not have.

    Those become branches of their own.
    """
    present = {value for value in column.unique().to_pylist() if value}
    stray = sorted(present - {row[0] for row in rows})
    depth, root = len(rows[0]), rows[0][-1]
    return rows + [[value] * (depth - 1) + [root] for value in stray], len(stray)


def find_wrong(
    verdict: dict[str, Any], release: "Release[pa.Table]", format_: str
) -> list[str]:
    """Say what the judge saw and a release must not have; nothing: all is well."""
    ours = release.measures()
    loss = verdict[f"ncp_{format_}"]
    tests = {
        "violations": verdict["violations"] > 0,
        "stray rows": verdict["stray_rows"] > 0,
        "suppressed beyond the budget": verdict["suppressed"] > release.budget,
        "suppressed not as told": verdict["suppressed"] != release.n_suppressed,
        "classes not as told": verdict["classes"] != ours.n_classes,
        "DM not as told": verdict["dm"] != ours.dm,
        "loss not as told": ours.loss is None or abs(loss - ours.loss) > 2e-5,
    }
    return [name for name, failed in tests.items() if failed]
