"""Mutate the budget, the verifier and the models' rules, and run their tests.

    python -m benchmarks.mutants [--files NAME …] [--sample N] > LINES
    python -m benchmarks.mutants --again LINES > ALL          survivors once more
    python -m benchmarks.mutants --lines LINES --markdown     figures and survivors

One JSON line per mutant: where it is, what it changes, and which test noticed it.
"""

import argparse
import importlib
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.lines import facts, gather, read_lines, say
from benchmarks.markdown import update_page
from benchmarks.mutants.operators import Mutant
from benchmarks.mutants.report import (
    check_explained,
    check_results,
    key_of,
    read_explained,
    write_report,
)
from benchmarks.mutants.session import Source, run_mutants
from benchmarks.mutants.targets import GROUPS, LEFT_OUT, TARGETS

ROOT = Path(__file__).parents[2]
SEED = 7
# What every mutant needs and no mutant changes: loaded once.
_HEAVY = (
    *("numpy", "pandas", "polars", "pyarrow.compute", "pyarrow.parquet"),
    *("narwhals", "hypothesis.strategies", "typer", "rich.table", "pytest"),
)


def main() -> None:
    asked = _arguments()
    lines = gather(asked, _run(asked))
    explained = read_explained()
    if asked.markdown or asked.update:
        present = Counter(mutant.file for mutant in find_all(sources()))
        tables = write_report(lines, explained, present)
        print("\n\n".join(tables.values()))
        if asked.update:
            update_page(asked.update, tables)
    if asked.check:
        check_results(lines, explained)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutants of the rules.")
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument(
        "--again",
        type=Path,
        help="keep what an earlier run found, and run the survivors without a reason",
    )
    parser.add_argument(
        "--files", nargs="+", choices=TARGETS, metavar="NAME", help="only these"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="so many of each file")
    parser.add_argument("--markdown", action="store_true", help="print the report")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="write it there")
    parser.add_argument("--check", action="store_true", help="fail if too many survive")
    return parser.parse_args()


def sources(files: Sequence[str] | None = None) -> list[Source]:
    """Return the modules that are mutated."""
    found = []
    for name in files or TARGETS:
        dots = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        path = ROOT / "src" / "core_mondrian" / name
        found.append(Source(name, path, f"core_mondrian.{dots}"))
    return found


def find_all(of: Sequence[Source]) -> list[Mutant]:
    """Return all mutants but those of functions that only a compiler runs."""
    return [
        mutant
        for source in of
        for mutant in source.parse()[1]
        if mutant.function.partition(".")[0] not in LEFT_OUT.get(source.file, ())
    ]


def _run(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    os.environ["CORE_MONDRIAN_PLAIN"] = "1"  # no mutant waits for a compiler
    sys.path.insert(0, str(ROOT / "tests"))
    importlib.import_module("support.plain_engine")
    os.chdir(ROOT)
    of = sources(asked.files)
    mutants = find_all(of)
    check_explained(read_explained(), find_all(sources()))
    if asked.sample:
        mutants = _sample(mutants, asked.sample)
    yield {"benchmark": "mutants", **facts()}
    if asked.again:
        kept = list(_kept(read_lines(asked.again), mutants))
        yield from kept
        known = {key_of(line) for line in kept}
        mutants = [mutant for mutant in mutants if mutant.key not in known]
    for name in _HEAVY:
        importlib.import_module(name)
    for group in GROUPS:
        here = [source for source in of if source.file in group.files]
        some = [mutant for mutant in mutants if mutant.file in group.files]
        for i, line in enumerate(run_mutants(here, some, group.tests), 1):
            if not line["killed_by"]:
                say(f"survived: {line['file']}:{line['line']} {line['text']}")
            if i % 50 == 0:
                say(f"{i} of {len(some)}")
            yield line


def _kept(
    lines: Sequence[dict[str, Any]], mutants: Sequence[Mutant]
) -> Iterator[dict[str, Any]]:
    """Yield what an earlier run found of these, but for survivors without a reason."""
    present, explained = {mutant.key for mutant in mutants}, read_explained()
    for line in lines:
        if "operator" not in line or key_of(line) not in present:
            continue
        if line["killed_by"] or key_of(line) in explained:
            yield line


def _sample(mutants: Sequence[Mutant], n: int) -> list[Mutant]:
    """Draw the same ``n`` mutants of each file in every run."""
    chosen: list[Mutant] = []
    for file in dict.fromkeys(mutant.file for mutant in mutants):
        here = [mutant for mutant in mutants if mutant.file == file]
        places = random.Random(SEED).sample(range(len(here)), min(n, len(here)))  # noqa: S311
        chosen += [here[place] for place in sorted(places)]
    return chosen


if __name__ == "__main__":
    main()
