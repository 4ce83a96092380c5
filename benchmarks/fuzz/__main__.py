"""Fuzzing: random small tables through the API, random specs and files through the CLI.

    python -m benchmarks.fuzz tables --tables 1000000 [--seed 1] [--first 0]
        [--processes 2] [--only NUMBER]

Every table is drawn from the seed and its number, so that --only NUMBER tries one
again, and --first goes on where a run was stopped. The last line of the output is a
summary as JSON; the exit code is 1 if anything was found.
"""

import argparse
import sys

from benchmarks.fuzz.tables import run_tables
from benchmarks.lines import emit


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    commands = parser.add_subparsers(dest="command", required=True)
    tables = commands.add_parser("tables", help="random tables through anonymize()")
    tables.add_argument("--tables", type=int, default=20_000)
    tables.add_argument("--seed", type=int, default=1)
    tables.add_argument("--first", type=int, default=0, help="number of the first")
    tables.add_argument("--only", type=int, help="the one with this number")
    tables.add_argument("--processes", type=int, default=1)
    return _tables(parser.parse_args())


def _tables(asked: argparse.Namespace) -> int:
    numbers = range(asked.first, asked.first + asked.tables)
    if asked.only is not None:
        numbers = range(asked.only, asked.only + 1)
    found = run_tables(asked.seed, numbers, asked.processes)
    emit(
        {
            "fuzz": "tables",
            "seed": asked.seed,
            "first": numbers.start,
            **found.to_json(),
        }
    )
    return 1 if found.finds else 0


if __name__ == "__main__":
    sys.exit(main())
