"""The same release wherever the rows are: digests next to those in memory.

    python -m benchmarks.engines [--tables adult census_1m] [--engines files sqlite]
        [--specs paper strong] [--parts 8] > LINES
    python -m benchmarks.engines --lines LINES --markdown     the table of the docs

Every engine has room for an eighth of the distinct tuples (--parts), so that the top of
each tree is cut by counts, and the rest solved part by part. One JSON line per table,
spec and engine; the exit code is 1 if a digest is another one. PostgreSQL and Spark are
started here, and left out where they cannot be.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.cases import ADULT_6, CENSUS_6, ROOT, file_of
from benchmarks.lines import Line, facts, gather, say

if TYPE_CHECKING:
    from core_mondrian import Release, Spec

sys.path.insert(0, str(ROOT / "tests"))  # the databases of the tests
Make = Callable[["Spec", int], "Release[Any]"]
"""Makes the release of a table by a spec, with room for so many tuples."""
ENGINES: Final = ("files", "duckdb", "sqlite", "postgresql", "spark")
SPECS: Final = ("paper", "fast", "strong", "auto", "diversity", "closeness", "unit")
PERSON: Final = "person"
"""A column that is added: three rows each, which are alike."""


class Table(NamedTuple):
    """Which columns of a table are what."""

    quasi_identifiers: tuple[str, ...]
    group: str
    """Sensitive, with few values."""
    number: str
    """Sensitive, a number."""


TABLES: Final = {
    "adult": Table(ADULT_6, "income", "hours-per-week"),
    "census_100k": Table(CENSUS_6, "income", "hours_per_week"),
    "census_1m": Table(CENSUS_6, "income", "hours_per_week"),
}


def main() -> None:
    asked = _arguments()
    lines = gather(asked, _run(asked))
    if asked.markdown:
        print(write_table(lines))
    if not all(line["is_same"] and line["is_in_parts"] for line in lines):
        raise SystemExit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Digests on every engine.")
    parser.add_argument("--lines", type=Path, help="what an earlier run printed")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=["adult"])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--specs", nargs="+", choices=SPECS, default=SPECS)
    parser.add_argument("--parts", type=int, default=8, help="an engine has room for")
    parser.add_argument("--markdown", action="store_true", help="print a table")
    return parser.parse_args()


def _run(asked: argparse.Namespace) -> Iterator[Line]:
    for name in asked.tables:
        source = file_of(name)
        if source is None:
            continue
        columns = TABLES[name]
        table = read(source, columns)
        specs = {spec: make_spec(spec, columns) for spec in asked.specs}
        for line in compare(table, specs, asked.engines, asked.parts):
            yield {"benchmark": "engines", "table": name, **line, **facts()}


def read(source: Path, columns: Table) -> pa.Table:
    """Return the columns that specs speak of, and persons."""
    names = [*columns.quasi_identifiers, columns.group, columns.number]
    table = pq.read_table(source, columns=list(dict.fromkeys(names)))
    by = [(name, "ascending") for name in columns.quasi_identifiers]
    persons = np.empty(table.num_rows, dtype=np.int64)
    persons[pc.sort_indices(table, by)] = np.arange(table.num_rows) // 3
    return table.append_column(PERSON, pa.array(persons))


def make_spec(name: str, columns: Table) -> "Spec":
    """Return what is asked of a table by a name of `SPECS`."""
    from core_mondrian import BestPolicy, KAnonymity, PaperPolicy, Spec
    from core_mondrian.models.distinct import DistinctLDiversity
    from core_mondrian.models.t_closeness import TCloseness

    asked: dict[str, Any] = {"models": (KAnonymity(5),), "identifiers": (PERSON,)}
    match name:
        case "paper":
            asked |= {"policy": PaperPolicy()}
        case "diversity":
            asked |= {"models": (KAnonymity(5), DistinctLDiversity(2, columns.group))}
        case "closeness":
            close = TCloseness(0.4, columns.number)
            asked |= {"models": (KAnonymity(5), close), "policy": PaperPolicy()}
        case "unit":
            asked |= {"unit": PERSON}
            del asked["identifiers"]
        case _:
            effort: Any = name
            asked |= {"policy": BestPolicy(effort=effort)}
    return Spec(columns.quasi_identifiers, **asked)


def compare(
    table: pa.Table, specs: dict[str, "Spec"], engines: Iterable[str], parts: int
) -> Iterator[Line]:
    """Make each release in memory and on each engine, where it comes in parts."""
    from core_mondrian import anonymize
    from core_mondrian.release.result import PartedRelease

    whole = {}
    for name, spec in specs.items():
        say(f"{name} in memory")
        made = anonymize(table, spec)
        whole[name] = (made.digest, made.n_tuples)
        del made
    for engine in engines:
        with ExitStack() as opened:
            make = open_engine(engine, table, opened)
            if make is None:
                continue
            for name, spec in specs.items():
                say(f"{name} by {engine}")
                digest, n_tuples = whole[name]
                since = time.process_time()
                found = make(spec, n_tuples // parts)
                yield {
                    "spec": name,
                    "engine": engine,
                    "rows": table.num_rows,
                    "tuples": n_tuples,
                    "room": n_tuples // parts,
                    "cpu_seconds": round(time.process_time() - since, 1),
                    "digest": found.digest,
                    "is_same": found.digest == digest,
                    "is_in_parts": isinstance(found, PartedRelease),
                }


def open_engine(engine: str, table: pa.Table, opened: ExitStack) -> Make | None:
    """Put a table where an engine finds it; None: it cannot be started here."""
    folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
    if engine == "files":
        return _in_files(folder, table)
    if engine == "spark":
        return _on_spark(folder, table, opened)
    place = open_place(engine, folder, opened)
    return None if place is None else _in_database(place, table)


def _in_files(folder: Path, table: pa.Table) -> Make:
    source = folder / "people.parquet"
    pq.write_table(table, source, row_group_size=50_000)

    def make(spec: "Spec", room: int) -> "Release[Any]":
        from core_mondrian import anonymize_files

        with _little_room(room):
            return anonymize_files(
                source, folder / "out.parquet", spec, memory="4GB", overwrite=True
            )

    return make


def _in_database(place: Any, table: pa.Table) -> Make:
    place.load("people", table)

    def make(spec: "Spec", room: int) -> "Release[Any]":
        from core_mondrian import anonymize_sql

        with _little_room(room):
            return anonymize_sql(place.url, "people", "released", spec, overwrite=True)

    return make


def _on_spark(folder: Path, table: pa.Table, opened: ExitStack) -> Make | None:
    session = open_spark(opened)
    if session is None:
        return None
    source = folder / "people.parquet"
    pq.write_table(table, source, row_group_size=50_000)

    def make(spec: "Spec", room: int) -> "Release[Any]":
        from core_mondrian import anonymize_spark

        frame = session.read.parquet(str(source))
        return anonymize_spark(frame, spec, driver_tuples=room)

    return make


@contextmanager
def _little_room(n_tuples: int) -> Iterator[None]:
    """Let memory have room for so few tuples, and tasks for no more."""
    from core_mondrian.sources.memory import Limit
    from core_mondrian.sources.tuple_store import StoreLimits

    store = StoreLimits(memory=256 << 20, task_tuples=n_tuples, threads=2)
    with (
        patch.object(Limit, "tuples_in_memory", lambda *_: n_tuples),
        patch.object(Limit, "counted_in_memory", lambda *_: n_tuples),
        patch.object(Limit, "store", lambda *_: store),
    ):
        yield


def open_place(engine: str, folder: Path, opened: ExitStack) -> Any:
    """Return an empty database of a kind, as tests have them; None: it cannot start."""
    import duckdb

    tests = import_module("databases")
    if engine == "postgresql":
        if reason := tests.reason_without_postgres():
            say(reason)
            return None
        return tests.Place(engine, opened.enter_context(tests.postgres_server()))
    place = tests.Place(engine, str(folder / f"people.{engine}"))
    if engine == "duckdb":
        duckdb.connect(place.url).close()
    else:
        place.run("PRAGMA user_version = 1")
    return place


def open_spark(opened: ExitStack) -> Any:
    """Return a session on a cluster of this machine; None: it does not start."""
    try:
        from benchmarks.spark import start_cluster

        return opened.enter_context(start_cluster())[0]
    except (ImportError, OSError, ValueError):
        say("Spark does not start here")
        return None


def write_table(lines: list[Line]) -> str:
    """Return whether digests are those in memory, as Markdown."""
    engines = [one for one in ENGINES if any(x["engine"] == one for x in lines)]
    rows = [
        f"| table | spec | digest | {' | '.join(engines)} |",
        "|" + "---|" * (3 + len(engines)),
    ]
    found = {(x["table"], x["spec"], x["engine"]): x for x in lines}
    for table, spec in dict.fromkeys((x["table"], x["spec"]) for x in lines):
        own = [found.get((table, spec, engine)) for engine in engines]
        digest = next(x["digest"] for x in own if x is not None)[:8]
        cells = " | ".join(_verdict(line) for line in own)
        rows.append(f"| {table} | {spec} | {digest} | {cells} |")
    return "\n".join(rows)


def _verdict(line: Line | None) -> str:
    if line is None:
        return "not run"
    if not line["is_in_parts"]:
        return "not in parts"
    return "same" if line["is_same"] else "OTHER"


if __name__ == "__main__":
    main()
