"""The report of a release: CPU seconds beyond the run, and its size.

    python -m benchmarks.report [--case NAME ...] [--runs 5] [--check] [--save FOLDER]

Each run is a fresh process, because the first chart starts a JavaScript engine: what
is counted is the whole of `Release.report_html`, imports included, after the release
and its manifest are made, which a run without a report makes too. The median counts;
the reports of all runs must be the same bytes.
``engine_seconds`` of them are the start of that engine: nothing of ours, so a measure
of how busy the machine is.
``--save`` keeps the reports, to be looked at.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, ROOT, Case, file_of
from benchmarks.lines import emit, facts, middle, say, source_digest

BARS = {"cpu_seconds": 1.5, "bytes": 2_000_000}
"""What the report of any table may cost and weigh."""
_USUAL = ("adult", "census_1m_6")


def main() -> None:
    asked = _arguments()
    if asked.child:
        emit(_child(CASES[asked.case[0]], asked.save))
        return
    is_over = False
    for name in asked.case or _USUAL:
        if file_of(CASES[name].source) is not None:
            line = _measure(name, asked.runs, asked.save)
            emit(line)
            over = [bar for bar, most in BARS.items() if line[bar] > most]
            is_over = is_over or bool(over)
            for bar in over:
                say(f"{name}: {bar} is {line[bar]}, above {BARS[bar]}")
    if asked.check and is_over:
        raise SystemExit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmark the report.")
    parser.add_argument("--case", action="append", choices=CASES, help="repeatable")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit 1 if above a bar")
    parser.add_argument("--save", type=Path, help="a folder for the reports")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _measure(name: str, runs: int, save: Path | None) -> dict[str, Any]:
    say(f"{name}, {runs} runs")
    command = [sys.executable, "-m", "benchmarks.report", "--child", "--case", name]
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
        command += ["--save", str(save.resolve())]
    # What is installed has been compiled by Python; so has this, after the first run.
    compiled = {**os.environ, "PYTHONPYCACHEPREFIX": str(ROOT / "out" / "pycache")}
    compiled.pop("PYTHONDONTWRITEBYTECODE", None)
    lines = []
    for _ in range(runs):
        done = subprocess.run(
            command, cwd=ROOT, env=compiled, stdout=subprocess.PIPE, check=True
        )
        lines.append(json.loads(done.stdout))
    if len({line["sha256"] for line in lines}) > 1:
        raise SystemExit(f"{name}: two runs gave two reports")
    seconds = [line.pop("cpu_seconds") for line in lines]
    engine = [line.pop("engine_seconds") for line in lines]
    return {
        "benchmark": "report",
        **facts(),
        "case": name,
        "runs": runs,
        **lines[0],
        "cpu_seconds": middle(seconds),
        "lowest": round(min(seconds), 4),
        "highest": round(max(seconds), 4),
        "engine_seconds": middle(engine),
    }


def _child(case: Case, save: Path | None) -> dict[str, Any]:
    source_digest()  # before the package is loaded
    from core_mondrian import KAnonymity, Spec, anonymize
    from core_mondrian.report.charts import start_engine
    from core_mondrian.tables.files.read import read_table

    source = file_of(case.source)
    if source is None:
        raise SystemExit(f"{case.name}: no table")
    spec = Spec(case.quasi_identifiers, (KAnonymity(case.k),))
    release = anonymize(read_table(source), spec)
    release.manifest()
    start = time.process_time()
    start_engine()
    engine = time.process_time() - start
    page = release.report_html().encode()
    seconds = time.process_time() - start
    if save is not None:
        (save / f"{case.name}.html").write_bytes(page)
    return {
        "rows": release.n_rows,
        "bytes": len(page),
        "sha256": hashlib.sha256(page).hexdigest(),
        "cpu_seconds": seconds,
        "engine_seconds": engine,
    }


if __name__ == "__main__":
    main()
