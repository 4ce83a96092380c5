"""How often the best attack that knows the code names a lone row.

    python -m benchmarks.split_tuples [--tables 200] [--random 10] [--engines memory …]

One JSON line per engine and kind of table. `lone`: 250 people of one department and one
of another, k = 5. `random`: two to four columns, in which tuples are split. The attack
takes every order of rows that a reader can compute (`attacks.public_order`); for each
it names the row of the mixed class without which the others are lent most plausibly.
It also names the first and the last row of that class, as the release has them.
``holds`` says whether none of them is right more often than chance and 3 standard
deviations. PostgreSQL and Spark are started here, and skipped where they cannot be.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.engines import open_place, open_spark
from benchmarks.lines import Line, emit, facts, say, source_digest

ENGINES = (
    *("memory", "csv", "parquet", "streams", "duckdb", "sqlite", "postgresql"),
    "spark",
)
MEMORY = "1GB"
Make = Callable[[pa.Table, Any], pa.Table]
"""Makes the release of a table by a spec, in an engine."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Lone rows that are named.")
    parser.add_argument("--tables", type=int, default=200, help="with a lone person")
    parser.add_argument("--random", type=int, default=10, help="with split tuples")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    asked = parser.parse_args()
    source_digest()  # before the package is loaded
    for engine in asked.engines:
        say(engine)
        for line in _run(engine, asked.tables, asked.random):
            emit(line)


def _run(engine: str, n_lone: int, n_random: int) -> Iterator[Line]:
    with ExitStack() as opened:
        make = _open(engine, opened)
        if make is None:
            yield {"engine": engine, "skipped": True}
            return
        for kind, cases in (
            ("lone", map(_lone, range(n_lone))),
            ("random", map(_random, range(n_random))),
        ):
            yield {"engine": engine, "kind": kind, **_attack(make, cases), **facts()}


# Tables


def _lone(seed: int) -> tuple[pa.Table, Any]:
    from core_mondrian import KAnonymity, Spec

    draws = np.random.default_rng(seed)
    n = 251
    table = pa.table(
        {
            "department": ["Sales"] * (n - 1) + ["Board"],
            "salary": draws.permutation(90_000)[:n] + 20_000,
            "remark": [f"remark {i}" for i in draws.permutation(n)],
        }
    )
    spec = Spec(("department",), (KAnonymity(5),))
    return table.take(pa.array(draws.permutation(n))), spec


def _random(seed: int) -> tuple[pa.Table, Any]:
    """Return a table with a few frequent tuples, and people who are alone."""
    from core_mondrian import KAnonymity, Spec

    draws = np.random.default_rng(10_000 + seed)
    n_columns, n = 2 + seed % 3, 600
    frequent = draws.integers(0, 4, (6, n_columns))
    codes = frequent[draws.choice(6, n, p=np.array([8, 5, 3, 2, 1, 1]) / 20)]
    lone = draws.choice(n, 12, replace=False)
    # Each is like somebody frequent but in one column.
    codes[lone, draws.integers(0, n_columns, lone.size)] = 10 + np.arange(lone.size)
    columns = {
        f"c{i}": pa.array([f"value {code}" for code in codes[:, i]])
        for i in range(n_columns)
    }
    table = pa.table(
        {
            **columns,
            "salary": draws.permutation(90_000)[:n] + 20_000,
            "remark": [f"remark {i}" for i in draws.permutation(n)],
        }
    )
    return table, Spec(tuple(columns), (KAnonymity(5),))


# Engines


def _open(engine: str, opened: ExitStack) -> Make | None:
    folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
    if engine == "memory":
        return _in_memory
    if engine in ("csv", "parquet", "streams"):
        return _in_files(folder, engine)
    if engine == "spark":
        return _on_spark(opened)
    return _in_database(folder, engine, opened)


def _in_memory(table: pa.Table, spec: Any) -> pa.Table:
    from core_mondrian import anonymize

    return anonymize(table, spec).data


def _in_files(folder: Path, engine: str) -> Make:
    """Read and write files: whole, as the command does, or in batches."""
    import pyarrow.csv
    import pyarrow.parquet as pq

    suffix = ".csv" if engine == "csv" else ".parquet"
    source, target = folder / f"people{suffix}", folder / f"release{suffix}"

    def make(table: pa.Table, spec: Any) -> pa.Table:
        from core_mondrian import anonymize
        from core_mondrian.sources.files.run import anonymize_files
        from core_mondrian.tables.files.read import read_table
        from core_mondrian.tables.files.write import write_table

        write = pyarrow.csv.write_csv if suffix == ".csv" else pq.write_table
        write(table, source)
        typed = spec.quasi_identifiers
        if engine == "streams":
            anonymize_files(source, target, spec, memory=MEMORY, overwrite=True)
        else:
            data = anonymize(read_table(source, typed=typed), spec).data
            write_table(data, target, overwrite=True)
        return read_table(target, typed=typed)

    return make


def _in_database(folder: Path, engine: str, opened: ExitStack) -> Make | None:
    place = open_place(engine, folder, opened)
    if place is None:
        return None

    def make(table: pa.Table, spec: Any) -> pa.Table:
        from core_mondrian.sources.sql.anonymize import anonymize_sql

        place.run("DROP TABLE IF EXISTS people")
        place.load("people", table)
        anonymize_sql(place.url, "people", "released", spec, overwrite=True)
        rows = place.fetch("SELECT * FROM released")
        columns = zip(*rows, strict=True)
        return pa.table(dict(zip(table.column_names, map(list, columns), strict=True)))

    return make


def _on_spark(opened: ExitStack) -> Make | None:
    session = open_spark(opened)
    if session is None:
        return None

    def make(table: pa.Table, spec: Any) -> pa.Table:
        from core_mondrian.sources.spark.api import anonymize_spark

        return anonymize_spark(session.createDataFrame(table), spec).data.toArrow()

    return make


# The attack


@dataclass
class Tally:
    """Guesses by order of rows."""

    right: dict[str, int] = field(default_factory=dict)
    n: int = 0
    by_chance: float = 0.0
    variance: float = 0.0
    confirmed: int = 0
    """Tables in which `attack` says that it succeeded."""

    def add(self, order: str, right: bool) -> None:  # noqa: FBT001
        self.right[order] = self.right.get(order, 0) + right

    def line(self) -> Line:
        limit = self.by_chance + 3 * float(np.sqrt(self.variance))
        return {
            "guesses": self.n,
            "by_chance": round(self.by_chance, 2),
            "limit": round(limit, 2),
            "right": self.right,
            "attack_succeeded": self.confirmed,
            "holds": max(self.right.values(), default=0) <= limit,
        }


def _attack(make: Make, cases: Iterator[tuple[pa.Table, Any]]) -> Line:
    tally, n_tables = Tally(), 0
    for table, spec in cases:
        n_tables += 1
        _attack_one(make(table, spec), table, spec, tally)
    return {"tables": n_tables, **tally.line()}


def _attack_one(released: pa.Table, table: pa.Table, spec: Any, tally: Tally) -> None:
    from core_mondrian import attack
    from core_mondrian.analysis.attacks.candidates import find_candidates
    from core_mondrian.analysis.attacks.owners import find_owners
    from core_mondrian.analysis.attacks.public_order import public_orders
    from core_mondrian.analysis.attacks.split_tuples import Split
    from core_mondrian.tables.frames import arrow_column, open_frame

    after, before = open_frame(released), open_frame(table)
    candidates = find_candidates(after, before, spec, ())
    carried = spec.carried(after.columns)
    owner = find_owners(after, before, candidates, ("remark",))
    split = Split.of(candidates, spec.min_rows)
    found = attack(released, table, spec).named("split tuples")
    tally.confirmed += any(one.succeeded for one in found)
    is_stranger = split.home[candidates.person[owner]] < 0
    columns = {name: arrow_column(after, name) for name in carried}
    orders = list(public_orders(columns, len(released)))
    for number in np.unique(split.pair_class).tolist():
        rows = np.flatnonzero(candidates.class_of == number)
        lent = split.pair_tuple[split.pair_class == number]
        own = np.flatnonzero(np.isin(candidates.class_of, split.home[lent]))
        chance = float(is_stranger[rows].mean())
        tally.n += 1
        tally.by_chance += chance
        tally.variance += chance * (1 - chance)
        tally.add("first of the class", bool(is_stranger[rows[0]]))
        tally.add("last of the class", bool(is_stranger[rows[-1]]))
        for order in orders:
            row = _least_likely_lent(rows, own, order)
            tally.add(order.name, bool(is_stranger[row]))


def _least_likely_lent(rows: Any, own: Any, order: Any) -> int:
    """Return the row without which the others are lent most plausibly.

    Lent rows come before or after those at home: the fewer of these are beyond the
    innermost lent one, the better.
    """
    scores = []
    for row in rows.tolist():
        others = rows[rows != row]
        every = np.union1d(own, others)
        values = order.within(every, np.zeros(every.size, dtype=np.int64))
        is_lent = np.isin(every, others)
        lent, home = values[is_lent], values[~is_lent]
        before = np.count_nonzero(home < lent.max(initial=0))
        after = np.count_nonzero(home > lent.min(initial=values.max()))
        scores.append(min(before, after))
    best = np.flatnonzero(np.array(scores) == min(scores))
    # Which of equals is named is nobody's choice.
    return int(rows[best[_draw(rows, best)]])


def _draw(rows: Sequence[int], best: Any) -> int:
    seed = int(np.asarray(rows).sum())
    return int(np.random.default_rng(seed).integers(best.size))


if __name__ == "__main__":
    main()
