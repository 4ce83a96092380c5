"""Fuzzing: random small tables through the API, random specs and files through the CLI.

    python -m benchmarks.fuzz tables --tables 1000000 [--seed 1] [--first 0]
        [--processes 2] [--only NUMBER]
    python -m benchmarks.fuzz commands --runs 10000 [--seed 1] [--first 0]
        [--only NUMBER]
    python -m benchmarks.fuzz series --schedules 100000 [--seed 1] [--first 0]
        [--processes 2] [--only NUMBER]
    python -m benchmarks.fuzz readers --seconds 60 [--corpus DIR]
        guided by coverage; needs atheris

Everything is drawn from the seed and a number, so that --only NUMBER tries one again,
and --first goes on where a run was stopped. The last line of the output is a
summary as JSON; the exit code is 1 if anything was found.
"""

import argparse
import sys
from pathlib import Path

from benchmarks.lines import emit


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    kinds = parser.add_subparsers(dest="kind", required=True)
    tables = kinds.add_parser("tables", help="random tables through anonymize()")
    tables.add_argument("--tables", type=int, default=20_000, dest="n")
    tables.add_argument("--processes", type=int, default=1)
    commands = kinds.add_parser("commands", help="mutated files through the CLI")
    commands.add_argument("--runs", type=int, default=500, dest="n")
    series = kinds.add_parser("series", help="random schedules of releases")
    series.add_argument("--schedules", type=int, default=1_000, dest="n")
    series.add_argument("--processes", type=int, default=1)
    readers = kinds.add_parser("readers", help="bytes into the readers (atheris)")
    readers.add_argument("--seconds", type=int, default=60)
    readers.add_argument(
        "--corpus", type=Path, help="keep what was reached here, and go on from it"
    )
    for each in (tables, commands, series):
        each.add_argument("--seed", type=int, default=1)
        each.add_argument("--first", type=int, default=0, help="number of the first")
        each.add_argument("--only", type=int, help="the one with this number")
    asked = parser.parse_args()
    if asked.kind == "readers":
        from benchmarks.fuzz.readers import run_readers

        return run_readers(asked.seconds, asked.corpus)
    numbers = range(asked.first, asked.first + asked.n)
    if asked.only is not None:
        numbers = range(asked.only, asked.only + 1)
    return _run(asked, numbers)


def _run(asked: argparse.Namespace, numbers: range) -> int:
    from benchmarks.fuzz import commands, schedules, tables

    found: tables.Tally | commands.Tally | schedules.Tally
    if asked.kind == "series":
        found = schedules.run_schedules(asked.seed, numbers, asked.processes)
    elif asked.kind == "tables":
        found = tables.run_tables(asked.seed, numbers, asked.processes)
    else:
        found = commands.run_commands(asked.seed, numbers)
    facts = {"fuzz": asked.kind, "seed": asked.seed, "first": numbers.start}
    emit(facts | found.to_json())
    return 1 if found.finds else 0


if __name__ == "__main__":
    sys.exit(main())
