"""Reading and writing rows: ours and DuckDB's, on the same files.

    python -m benchmarks.duckdb_rows [--rows 10] [--memory 1GB] [--folder FOLDER]

Both count the distinct tuples of 8 columns, and write all rows with other texts in
place of these columns (DuckDB joins them to a table that has one text per tuple and
column), from Parquet to Parquet and from CSV to CSV. CPU seconds, rows in millions.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.cases import CENSUS_8
from benchmarks.files import chosen, make_parts
from benchmarks.lines import emit, facts, n_cpus, say


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare with DuckDB's rows.")
    parser.add_argument("--rows", type=int, default=10, help="millions")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--folder", type=Path, help="where parts are kept")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="core-mondrian-rows-") as own:
        folder = asked.folder or Path(own)
        make_parts(folder / "census", asked.rows)
        parquet = chosen(folder / "census", asked.rows)
        csv = Path(own) / "rows.csv"
        _as_csv(parquet, csv)
        for kind, source in (("parquet", parquet), ("csv", csv)):
            target = Path(own) / f"release.{kind}"
            line = {"benchmark": "duckdb rows", "files": kind, "millions": asked.rows}
            line |= {"memory_limit": asked.memory, "threads": n_cpus()}
            say(f"{kind}: ours")
            ours = _ours(source, target, asked.memory)
            say(f"{kind}: DuckDB")
            theirs = _duckdb(source, target, asked.memory, Path(own))
            emit(facts() | line | {"ours": ours, "duckdb": theirs})


def _as_csv(parquet: Path, csv: Path) -> None:
    import duckdb

    files = str(parquet / "*.parquet")
    duckdb.sql(f"COPY (SELECT * FROM read_parquet('{files}')) TO '{csv}' (HEADER)")


def _ours(source: Path, target: Path, memory: str) -> dict[str, float]:
    from core_mondrian import KAnonymity, Spec
    from core_mondrian.sources.files.run import anonymize_files

    spec = Spec(CENSUS_8, (KAnonymity(5),), identifiers=("person_id",))
    release = anonymize_files(source, target, spec, memory=memory, overwrite=True)
    spent = release.spent
    wrote = sum(spent[name].seconds for name in ("place", "write") if name in spent)
    return {"count": round(spent["count"].seconds, 1), "write": round(wrote, 1)}


def _duckdb(
    source: Path, target: Path, memory: str, folder: Path
) -> dict[str, float | str]:
    import duckdb

    connection = duckdb.connect(
        str(folder / "rows.duckdb"), config={"memory_limit": memory}
    )
    rows = f"read_csv('{source}')"
    if source.is_dir():
        rows = f"read_parquet('{source}/*.parquet')"
    keys = ", ".join(CENSUS_8)
    count = (
        f"CREATE TABLE tuples AS SELECT {keys}, count(*) AS n FROM {rows} GROUP BY ALL"
    )
    shown = ", ".join(
        f"'[' || {x} || ', ' || {x} || ']' AS shown_{x}" for x in CENSUS_8
    )
    same = " AND ".join(f"r.{x} IS NOT DISTINCT FROM t.{x}" for x in CENSUS_8)
    texts = ", ".join(f"shown_{x} AS {x}" for x in CENSUS_8)
    others = f"r.* EXCLUDE ({keys}, person_id)"
    kind = "PARQUET" if source.is_dir() else "CSV, HEADER"
    found: dict[str, float | str] = {
        "count": _cpu(lambda: connection.execute(f"CREATE TABLE tuples AS {count}")),
        "map": _cpu(
            lambda: connection.execute(
                f"CREATE TABLE map AS SELECT {keys}, {shown} FROM tuples"
            )
        ),
        "write": _cpu(
            lambda: connection.execute(
                f"COPY (SELECT {texts}, {others} FROM {rows} AS r JOIN map AS t "
                f"ON {same}) TO '{target}' (FORMAT {kind})"
            )
        ),
        "version": duckdb.__version__,
    }
    connection.close()
    (folder / "rows.duckdb").unlink()
    return found


def _cpu(work: Callable[[], Any]) -> float:
    since = time.process_time()
    work()
    return round(time.process_time() - since, 1)


if __name__ == "__main__":
    main()
