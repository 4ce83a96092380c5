"""What a process takes that does little: CPU time, wall time and peak memory.

    python -m benchmarks.start_up [--against FOLDER ...] [--only csv_100 ...]
        [--repeats 7]

Every run is a fresh process: `import core_mondrian`, `--help`, 100 rows as a pandas
frame in Python, the same rows as CSV through the command line, and Adult through it,
with policies paper and best. FOLDER is another checkout: all take turns, so that old
and new are measured on the same machine at the same time. The case `pandas` is what the
frame takes without us. Bytecode and kernels are made beforehand.

This process stays small, 20 MB, for its memory counts as that of those it starts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.lines import Line, digest_of, emit, facts, middles, run_process, say

ROOT: Final = Path(__file__).resolve().parent.parent
ADULT_VARIABLE: Final = "CORE_MONDRIAN_ADULT"
_ROWS: Final = 100
_MAKE_ROWS: Final = """
import sys
import pyarrow.csv
from core_mondrian.datasets import census
pyarrow.csv.write_csv(census(int(sys.argv[1])), sys.argv[2])
"""
_MAKE_ADULT: Final = """
import sys
import pyarrow.csv
from core_mondrian.datasets import adult
pyarrow.csv.write_csv(adult(sys.argv[1]), sys.argv[2])
"""
_PANDAS: Final = "import sys, pandas\nframe = pandas.read_csv(sys.argv[1])\n"
_ANONYMIZE: Final = """
from core_mondrian import KAnonymity, Spec, anonymize
anonymize(frame, Spec(("age", "sex", "race"), models=(KAnonymity(5),)))
"""
_COMMAND: Final = (sys.executable, "-m", "core_mondrian.cli.main")
_CENSUS_3: Final = ("age", "sex", "race")
_ADULT_6: Final = (
    *("age", "marital-status", "occupation", "native-country", "sex", "workclass"),
)
CASES: Final = (
    *("import", "help", "pandas", "python_100", "csv_100"),
    *("adult_paper", "adult_best"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark the start of a process.")
    parser.add_argument("--against", type=Path, action="append", default=[])
    parser.add_argument("--only", choices=CASES, nargs="+", default=CASES)
    parser.add_argument("--repeats", type=int, default=7)
    asked = parser.parse_args()
    checkouts = [ROOT, *(folder.resolve() for folder in asked.against)]
    for folder in checkouts:
        if not (folder / "src" / "core_mondrian").is_dir():
            raise SystemExit(f"{folder} is no checkout: it has no src/core_mondrian")
    with tempfile.TemporaryDirectory(prefix="core-mondrian-bench-") as folder:
        commands = dict(_commands(Path(folder), asked.only))
        for name, command in commands.items():
            for line in _measure(name, command, checkouts, asked.repeats):
                emit(line)


def _commands(folder: Path, cases: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield what each case runs, and make the tables that they read."""
    people, target = folder / "people.csv", folder / "release.csv"
    _make(_MAKE_ROWS, str(_ROWS), people)
    inline = [sys.executable, "-c"]
    every = {
        "import": [*inline, "import core_mondrian"],
        "help": [*_COMMAND, "--help"],
        "pandas": [*inline, _PANDAS, str(people)],
        "python_100": [*inline, _PANDAS + _ANONYMIZE, str(people)],
        "csv_100": _anonymize(people, target, _CENSUS_3),
    }
    adult = folder / "adult.csv"
    if any(name.startswith("adult") for name in cases) and _make_adult(adult):
        for policy in ("paper", "best"):
            command = _anonymize(adult, target, _ADULT_6)
            every[f"adult_{policy}"] = [*command, "--policy", policy]
    yield from ((name, every[name]) for name in cases if name in every)


def _anonymize(source: Path, target: Path, columns: tuple[str, ...]) -> list[str]:
    asked = [part for column in columns for part in ("--qid", column)]
    return [
        *(*_COMMAND, "anonymize", str(source), str(target)),
        *("--overwrite", "--k", "5", *asked),
    ]


def _make_adult(target: Path) -> bool:
    named = os.environ.get(ADULT_VARIABLE, "")
    if not named or not (Path(named) / "adult.data").is_file():
        say(f"Adult is skipped: {ADULT_VARIABLE} names no folder with adult.data in it")
        return False
    _make(_MAKE_ADULT, named, target)
    return True


def _make(script: str, what: str, target: Path) -> None:
    command = [sys.executable, "-c", script, what, str(target)]
    subprocess.run(command, env=_environment(ROOT), check=True)


def _environment(checkout: Path) -> Mapping[str, str]:
    # Modules are compiled once, in the run before those that count, wherever we run.
    kept = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept


def _measure(
    name: str, command: list[str], checkouts: list[Path], repeats: int
) -> Iterator[Line]:
    """Yield the medians of each checkout, which take turns."""
    say(name)
    environments = [_environment(checkout) for checkout in checkouts]
    for environment in environments:  # makes bytecode, compiles and caches kernels
        run_process(command, environment)
    turns = [
        [run_process(command, environment) for environment in environments]
        for _ in range(repeats)
    ]
    for checkout, runs in zip(checkouts, zip(*turns, strict=True), strict=True):
        yield {
            "benchmark": "start_up",
            **facts(),
            "source": digest_of(checkout / "src" / "core_mondrian"),
            "is_other": checkout != ROOT,
            "case": name,
            "runs": repeats,
            **middles(list(runs)),
            "cpu_seconds_of_runs": [round(run["cpu_seconds"], 3) for run in runs],
        }


if __name__ == "__main__":
    main()
