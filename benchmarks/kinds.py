"""Policy `best` on made-up tables of other kinds than Adult, k = 5.

    python -m benchmarks.kinds [NAME ...] [--efforts auto fast] > LINES
    python -m benchmarks.kinds --lines LINES --markdown

One JSON line per table and search: the loss, and the CPU seconds of one cold call of
anonymize() on one thread. `paper` is measured as well, with the same missing values and
no budget.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.best import EFFORTS
from benchmarks.lines import Line, facts, gather, say, source_digest
from benchmarks.markdown import cells, rule, write_loss, write_seconds

K = 5
_FIRST_SECOND = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
_SECONDS_A_YEAR = 31_536_000
Lots = np.random.Generator


class Kind(NamedTuple):
    """A table of its own kind; all of its columns are quasi-identifiers."""

    rows: int
    make: Callable[[Lots, int], dict[str, Any]]


def _wide(lots: Lots, rows: int, n_columns: int) -> dict[str, Any]:
    """Numbers and categories in turn, which share what is behind them."""
    hidden = lots.normal(size=(rows, 4))
    columns: dict[str, Any] = {}
    for i in range(n_columns):
        mixed = hidden @ lots.normal(size=4) + lots.normal(size=rows)
        if i % 2:
            columns[f"number_{i}"] = np.round(mixed * 3.0).astype(np.int64)
        else:
            columns[f"category_{i}"] = _names(np.round(mixed * (1 + i % 3)))
    return columns


def _names(codes: Any) -> list[str]:
    return [f"v{code:.0f}" for code in codes]


def _short_and_wide(lots: Lots, rows: int) -> dict[str, Any]:
    return _wide(lots, rows, 25)


def _thirty_columns(lots: Lots, rows: int) -> dict[str, Any]:
    return _wide(lots, rows, 30)


def _survey(lots: Lots, rows: int) -> dict[str, Any]:
    """Batteries of five answers that follow an attitude; some skip a battery."""
    kind = lots.choice(12, size=rows, p=np.arange(12, 0, -1) / 78)
    columns: dict[str, Any] = {
        "age_group": _names(lots.integers(7, size=rows)),
        "sex": _names(lots.integers(2, size=rows)),
        "region": _names(lots.zipf(1.5, size=rows).clip(max=16)),
    }
    while len(columns) < 30:
        attitude = lots.normal(size=12)[kind] + 0.5 * lots.normal(size=rows)
        skipped = lots.random(rows) < 0.3
        for i in range(len(columns), min(len(columns) + 5, 30)):
            answer = 3 + 1.2 * attitude + 0.5 * lots.normal(size=rows)
            score = np.clip(np.round(answer), 1, 5).astype(np.int64)
            is_name = i % 3 == 0
            columns[f"answer_{i}"] = (
                pa.array(_names(score), mask=skipped) if is_name else score
            )
    return columns


def _patients(lots: Lots, rows: int) -> dict[str, Any]:
    """Diagnoses that few have and that come together, and values mostly missing."""
    age = np.clip(lots.normal(50, 20, rows), 0, 95).astype(np.int64)
    columns: dict[str, Any] = {
        "age": age,
        "sex": _names(lots.integers(2, size=rows)),
        "area": _names(lots.zipf(1.4, size=rows).clip(max=60)),
        "insurance": _names(lots.choice(4, p=[0.6, 0.25, 0.1, 0.05], size=rows)),
        "stay": lots.geometric(0.25, size=rows).clip(max=60),
    }
    frailty = lots.normal(size=(rows, 3)) + ((age - 50) / 25)[:, None]
    for i in range(len(columns), 30):
        weights = np.abs(lots.normal(size=3))
        severity = 1.2 * frailty @ weights / np.linalg.norm(weights)
        severity = severity + 0.6 * lots.normal(size=rows)
        if i % 5 == 4:
            value = np.round(severity * 4 + 20).astype(np.int64)
            untested = lots.random(rows) > 0.2 + 0.1 * (severity > 1)
            columns[f"value_{i}"] = pa.array(value, mask=untested)
        else:
            limit = lots.uniform(1.0, 3.5)
            columns[f"diagnosis_{i}"] = _names((severity > limit).astype(np.int64))
    return columns


def _derived(lots: Lots, rows: int) -> dict[str, Any]:
    """A census, and columns that say much the same again, coarser or with errors."""
    columns = _million(lots, rows)
    facts = [
        np.unique(np.asarray(x).astype(str), return_inverse=True)[1]
        for x in columns.values()
    ]
    while len(columns) < 30:
        a, b = (facts[i] for i in lots.choice(len(facts), 2, replace=False))
        n = int(lots.integers(2, 6))
        value = lots.integers(n, size=a.max() + 1)[a]
        if lots.random() < 0.5:
            value = value + n * lots.integers(2, size=b.max() + 1)[b]
        is_wrong = lots.random(rows) < 0.03
        value = np.where(is_wrong, lots.integers(n, size=rows), value)
        columns[f"derived_{len(columns)}"] = _names(value)
    return columns


def _floats(lots: Lots, rows: int) -> dict[str, Any]:
    centres = lots.normal(scale=3.0, size=(12, 5))
    of = lots.integers(12, size=rows)
    values = centres[of] + lots.normal(size=(rows, 5))
    return {f"float_{i}": values[:, i] for i in range(5)}


def _timestamps(lots: Lots, rows: int) -> dict[str, Any]:
    """Visits: arrival to the second, birth to the day, an area, a ward."""
    arrival = _FIRST_SECOND + lots.integers(_SECONDS_A_YEAR, size=rows)
    born = lots.integers(-14_000, 14_000, size=rows).astype(np.int32)
    return {
        "arrival": pa.array(arrival, pa.int64()).cast(pa.timestamp("s")),
        "born": pa.array(born).cast(pa.date32()),
        "area": _names(lots.geometric(0.02, size=rows)),
        "ward": _names(lots.integers(9, size=rows)),
    }


def _long_tails(lots: Lots, rows: int) -> dict[str, Any]:
    return {
        "amount": np.round(lots.lognormal(4.0, 2.0, size=rows), 2),
        "visits": lots.zipf(1.6, size=rows).clip(max=1_000_000),
        "place": _names(lots.zipf(1.3, size=rows).clip(max=3_000)),
        "job": _names(lots.zipf(1.5, size=rows).clip(max=500)),
        "sex": _names(lots.integers(2, size=rows)),
    }


def _missing(lots: Lots, rows: int) -> dict[str, Any]:
    """Half of all cells are missing, and more where the first column's is."""
    columns = _wide(lots, rows, 8)
    sick = lots.random(rows) < 0.5
    return {
        name: pa.array(values, mask=lots.random(rows) < np.where(sick, 0.7, 0.3))
        for name, values in columns.items()
    }


def _million(_lots: Lots, rows: int) -> dict[str, Any]:
    from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, census

    people = census(rows)
    return {name: people[name] for name in CENSUS_QUASI_IDENTIFIERS}


KINDS = {
    "few rows, 25 columns": Kind(1_500, _short_and_wide),
    "continuous floats": Kind(20_000, _floats),
    "timestamps": Kind(30_000, _timestamps),
    "long tails": Kind(30_000, _long_tails),
    "half of the cells missing": Kind(20_000, _missing),
    "a million rows": Kind(1_000_000, _million),
    "30 columns": Kind(50_000, _thirty_columns),
    "30 columns, a survey": Kind(50_000, _survey),
    "30 columns, patients": Kind(50_000, _patients),
    "30 columns, derived": Kind(50_000, _derived),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Search tables of other kinds.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="tables; default: all")
    parser.add_argument("--efforts", nargs="+", choices=EFFORTS, default=["auto"])
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--markdown", action="store_true", help="print a table")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(KINDS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(KINDS)}")
    lines = gather(asked, _run(asked.names or [*KINDS], asked.efforts))
    if asked.markdown:
        print(write_table(lines))


def _run(names: list[str], efforts: list[str]) -> Iterator[Line]:
    from core_mondrian import PaperPolicy, Suppression
    from core_mondrian.spec.policies import BestPolicy

    source_digest()  # before the package is loaded
    for name in names:
        kind = KINDS[name]
        table = pa.table(kind.make(np.random.default_rng(0), kind.rows))
        paper = {"policy": PaperPolicy(), "suppress": Suppression(rows=0)}
        yield _measure(name, "paper", table, paper)
        for effort in efforts:
            yield _measure(name, effort, table, {"policy": BestPolicy(effort)})  # type: ignore[arg-type]


def _measure(name: str, search: str, table: pa.Table, asked: dict[str, Any]) -> Line:
    from core_mondrian import KAnonymity, Spec, anonymize

    say(f"{name}: {search}")
    columns = tuple(table.column_names)
    spec = Spec(columns, models=(KAnonymity(K),), missing="value", **asked)
    before = time.process_time()
    release = anonymize(table, spec, threads=1)
    seconds = time.process_time() - before
    return {
        "benchmark": "kinds",
        **facts(),
        "table": name,
        "rows": table.num_rows,
        "columns": len(columns),
        "search": search,
        "taken": release.effort,
        "loss": round(release.measures().loss or 0.0, 5),
        "suppressed": release.n_suppressed,
        "cpu_seconds": round(seconds, 2),
        "digest": release.digest,
    }


def write_table(lines: list[Line]) -> str:
    """Return the lines as Markdown, a row for each table."""
    searches = list(dict.fromkeys(line["search"] for line in lines))
    rows = [cells("table", *searches), rule(1 + len(searches))]
    for name, group in groupby(lines, key=lambda line: line["table"]):
        found = {line["search"]: _cell(line) for line in group}
        rows.append(cells(name, *(found.get(search, "-") for search in searches)))
    return "\n".join(rows)


def _cell(line: Line) -> str:
    taken = f" ({line['taken']})" if line["search"] == "auto" else ""
    seconds = write_seconds(line["cpu_seconds"])
    return f"{write_loss(line['loss'])}, {seconds} s{taken}"


if __name__ == "__main__":
    main()
