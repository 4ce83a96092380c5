"""Policy `best` on Adult, scored by an external judge, next to bars and peers.

    python -m benchmarks.best --judge FILE [--hierarchies DIR] [--sets 6 8] [--ks 5]
        [--policies best] [--efforts fast strong max] [--formats flat tax set]
    python -m benchmarks.best --judge FILE --hierarchies DIR --every > LINES
    python -m benchmarks.best --lines LINES --check      exit 1 if a bar is missed
    python -m benchmarks.best --lines LINES --markdown   the tables of docs/best.md

One JSON line per case. The format is what is released and therefore minimized: `flat`
labels without a hierarchy, `tax` labels of the hierarchies in DIR, `set` sets of
values; numbers are ranges. The judge is a program of its own that sees two files. CPU
seconds are of one thread, warm: the median of three runs of anonymize() after one that
is not counted. Without --lines, --check runs the cases that have a bar.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.bars import BARRED, Case, Line, case_of, find_missed, write_tables
from benchmarks.cases import (
    ADULT_6,
    ADULT_8,
    ADULT_10,
    ADULT_NUMERIC,
    adult_folder,
)
from benchmarks.lines import emit, facts, middle, say, source_digest

if TYPE_CHECKING:
    from core_mondrian import Release, Spec

ID = "row_id"
SETS = {"6": ADULT_6, "8": ADULT_8, "10": ADULT_10, "numeric": ADULT_NUMERIC}
FORMATS = ("flat", "tax", "set")
EFFORTS = ("fast", "strong", "max")
POLICIES = ("best", "paper", "original")
_VERDICT = (
    *("ncp_flat", "ncp_tax", "ncp_set", "dm", "dm_released", "classes"),
    *("suppressed", "violations", "stray_rows", "min_class"),
)


def main() -> None:
    asked = _arguments()
    lines = []
    for line in _read(asked.lines) if asked.lines else _run(asked):
        lines.append(line)
        if not (asked.lines or asked.markdown):
            emit(line)
    found = {case_of(line): line for line in lines}
    if asked.markdown:
        print(write_tables(found))
    missed = find_missed(found) if asked.check else []
    for words in missed:
        say(words)
    wrong = [line for line in lines if line["wrong"]]
    for line in wrong:
        say(f"wrong: {case_of(line)}: {', '.join(line['wrong'])}")
    raise SystemExit(1 if missed or wrong else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Have policy best judged on Adult.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--judge", type=Path, metavar="FILE")
    source.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--hierarchies", type=Path, metavar="DIR")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["6", "8"])
    parser.add_argument("--ks", nargs="+", type=int, default=[5], metavar="K")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=["best"])
    parser.add_argument("--efforts", nargs="+", choices=EFFORTS, default=[*EFFORTS])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=[*FORMATS])
    parser.add_argument("--disjoint", action="store_true")
    parser.add_argument("--repeats", type=int, default=3, help="runs that are timed")
    parser.add_argument("--every", action="store_true", help="all cases of the page")
    parser.add_argument("--check", action="store_true", help="compare with the bars")
    parser.add_argument("--markdown", action="store_true", help="print tables")
    return parser.parse_args()


def _read(path: Path) -> list[Line]:
    return [json.loads(text) for text in path.read_text().splitlines() if text.strip()]


def plan(asked: argparse.Namespace) -> list[Case]:
    """Return the cases that are asked for, each of them once."""
    if asked.every:
        cases = _every()
    elif asked.check:
        cases = list(BARRED)
    else:
        cases = list(
            _cases(asked.sets, asked.formats, asked.ks, asked.policies, asked.efforts)
        )
        if asked.disjoint:
            cases = [case._replace(disjoint=case.policy == "best") for case in cases]
    if asked.hierarchies is None:
        say("no --hierarchies: format tax is left out")
        cases = [case for case in cases if case.format != "tax"]
    return list(dict.fromkeys(cases))


def _every() -> list[Case]:
    cases = [
        *_cases(("6", "8"), FORMATS, (5,), POLICIES, EFFORTS),
        *_cases(("10",), FORMATS, (5,), POLICIES, EFFORTS[:2]),
        *_cases(("numeric",), FORMATS, (5, 50, 200), POLICIES, EFFORTS),
        *_cases(("6",), ("tax",), (2, 5, 10, 25, 50, 100), ("best",), EFFORTS),
    ]
    disjoint = _cases(("6", "8"), FORMATS, (5,), ("best",), EFFORTS)
    cases += [case._replace(disjoint=True) for case in disjoint]
    return [*cases, *BARRED]


def _cases(
    sets: Any, formats: Any, ks: Any, policies: Any, efforts: Any
) -> Iterator[Case]:
    for name, format_, k, policy in product(sets, formats, ks, policies):
        # Numbers are ranges, whatever the format of categories.
        shown = "flat" if name == "numeric" else format_
        for effort in efforts if policy == "best" else ("",):
            yield Case(name, shown, k, policy, effort)


def _run(asked: argparse.Namespace) -> Iterator[Line]:
    source_digest()  # before the package is loaded
    folder = adult_folder()
    if folder is None:
        raise SystemExit(2)
    from core_mondrian.datasets import adult
    from core_mondrian.files.write import write_table

    table = adult(folder)
    with tempfile.TemporaryDirectory(prefix="core-mondrian-best-") as place:
        bench = Bench(table, Path(place), asked)
        write_table(bench.table, bench.original)
        for case in plan(asked):
            say(" ".join(str(part) for part in case if part not in ("", False)))
            yield bench.measure(case)


class Bench:
    """One table, its completed hierarchies, and the judge."""

    def __init__(self, table: pa.Table, place: Path, asked: argparse.Namespace) -> None:
        self.table = table.append_column(ID, pa.array(range(table.num_rows)))
        self.place = place
        self.original = place / "original.parquet"
        self.judge: Path = asked.judge
        self.repeats: int = asked.repeats
        self.added: dict[str, int] = {}
        """Values that a hierarchy did not have, by column."""
        self.has_hierarchies = asked.hierarchies is not None
        for name in ADULT_10 if self.has_hierarchies else ():
            file = asked.hierarchies / f"{name}.csv"
            if file.is_file() and pa.types.is_string(table[name].type):
                self._complete(name, file)

    def _complete(self, name: str, file: Path) -> None:
        """Copy a hierarchy; values it does not have become branches of their own."""
        rows = [line.split(";") for line in file.read_text().splitlines() if line]
        known = {row[0].strip() for row in rows}
        present = {value for value in self.table[name].unique().to_pylist() if value}
        stray = sorted(present - known)
        depth, root = len(rows[0]), rows[0][-1]
        rows += [[value] * (depth - 1) + [root] for value in stray]
        if stray:
            self.added[name] = len(stray)
        target = self.place / f"{name}.csv"
        target.write_text("".join(";".join(row) + "\n" for row in rows))

    def measure(self, case: Case) -> Line:
        """Release, time and judge one case."""
        from core_mondrian.files.write import write_table

        spec = self._spec(case)
        release, seconds = self._timed(spec)
        path = self.place / "released.parquet"
        write_table(
            release.data, path, source=self.table.schema, overwrite=path.exists()
        )
        verdict = self._judged(path, case)
        ours = release.measures()
        return {
            "benchmark": "best",
            **facts(),
            "case": f"adult_{case.columns}",
            **case._asdict(),
            "values_added_to_hierarchies": self.added,
            "threads": 1,
            "state": "warm",
            "runs": self.repeats,
            **{name: verdict[name] for name in _VERDICT},
            "loss": verdict[f"ncp_{case.format}"],
            "our_loss": round(ours.loss or 0.0, 5),
            "our_dm": ours.dm,
            "beta": release.beta,
            "cpu_seconds": middle([total for total, _ in seconds]),
            "partition_cpu_seconds": middle([part for _, part in seconds]),
            "digest": release.digest,
            "wrong": _wrong(verdict, release, case),
        }

    def _spec(self, case: Case) -> "Spec":
        from core_mondrian import KAnonymity, Spec
        from core_mondrian.hierarchies.read import read_hierarchy
        from core_mondrian.policies import POLICIES, BestPolicy

        policy = POLICIES[case.policy]()
        if case.policy == "best":
            policy = BestPolicy(effort=case.effort, disjoint=case.disjoint)  # type: ignore[arg-type]
        files = {name: self.place / f"{name}.csv" for name in SETS[case.columns]}
        trees = {
            name: read_hierarchy(file)
            for name, file in files.items()
            if case.format == "tax" and file.exists()
        }
        return Spec(
            SETS[case.columns],
            models=(KAnonymity(case.k),),
            policy=policy,
            hierarchies=trees,
            categories="set" if case.format == "set" else "label",
        )

    def _timed(
        self, spec: "Spec"
    ) -> tuple["Release[pa.Table]", list[tuple[float, float]]]:
        """Return a release, and the CPU seconds of the runs after the first."""
        from core_mondrian import anonymize

        release = anonymize(self.table, spec, threads=1)
        seconds = []
        for _ in range(self.repeats):
            before = time.process_time()
            again = anonymize(self.table, spec, threads=1)
            total = time.process_time() - before
            seconds.append((total, again.seconds["partition"]))
            if again.digest != release.digest:
                raise SystemExit("two runs gave two releases")
        return release, seconds

    def _judged(self, released: Path, case: Case) -> dict[str, Any]:
        command = [sys.executable, str(self.judge), str(self.original), str(released)]
        command += ["--id", ID, "--k", str(case.k)]
        for name in SETS[case.columns]:
            command += ["--qid", name]
        if self.has_hierarchies:
            command += ["--hierarchies", str(self.place)]
        # The judge is no part of the package, and gets none of its paths.
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(command, env=clean, stdout=subprocess.PIPE, check=True)
        verdict: dict[str, Any] = json.loads(done.stdout)
        return verdict


def _wrong(verdict: dict[str, Any], release: Any, case: Case) -> list[str]:
    """Say what the judge saw and a release must not have; nothing: all is well."""
    ours = release.measures()
    tests = {
        "violations": verdict["violations"] > 0,
        "stray rows": verdict["stray_rows"] > 0,
        "suppressed beyond the budget": verdict["suppressed"] > release.budget,
        "suppressed not as told": verdict["suppressed"] != release.n_suppressed,
        "classes not as told": verdict["classes"] != ours.n_classes,
        "DM not as told": verdict["dm"] != ours.dm,
        "loss not as told": abs(verdict[f"ncp_{case.format}"] - ours.loss) > 2e-5,
    }
    return [name for name, failed in tests.items() if failed]


if __name__ == "__main__":
    main()
