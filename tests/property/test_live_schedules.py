"""Random schedules of a live view, which is read after every statement.

The table changes statement by statement, on a real database. After each of them, and
after each statement of a refresh, a reader looks at the view. An oracle with all
originals judges all that was ever seen together.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import pytest
from conftest import IS_PLAIN
from databases import Place, new_place

from benchmarks.fuzz.schedules import (
    Oracle,
    Row,
    Schedule,
    Shown,
    Violation,
    draw_rules,
    draw_spec,
)
from core_mondrian import InfeasibleError, KAnonymity, Spec
from core_mondrian.sources.sql.duckdb_file import DuckDBFile
from core_mondrian.sources.sql.live import LiveView
from core_mondrian.sources.sql.postgresql import PostgreSQL

pytest_plugins = ("support.database_places",)

N_SCHEDULES = {"duckdb": 3 if IS_PLAIN else 6, "postgresql": 2 if IS_PLAIN else 5}
KINDS = "age BIGINT, pet TEXT, ill TEXT, note BIGINT, who BIGINT, id BIGINT, tag BIGINT"


def tag_of(number: int) -> int:
    """What passes through the view, by which the oracle knows everybody again."""
    return 1000 + 7 * number


def spelled(cell: Any) -> str:
    if cell is None:
        return "NULL"
    return f"'{cell}'" if isinstance(cell, str) else str(cell)


def inserted(rows: list[Row]) -> str:
    values = (
        ", ".join(map(spelled, [*row.values(), tag_of(row["id"])])) for row in rows
    )
    return f"INSERT INTO people VALUES ({'), ('.join(values)})"


def statements(before: dict[int, Row], after: dict[int, Row]) -> Iterator[str]:
    """Yield what makes one table of another, one statement after the other."""
    if gone := [str(n) for n in before if n not in after]:
        yield f"DELETE FROM people WHERE id IN ({', '.join(gone)})"
    if new := [row for n, row in after.items() if n not in before]:
        half = len(new) // 2
        yield from (inserted(rows) for rows in (new[:half], new[half:]) if rows)
    for n, row in after.items():
        if n in before and before[n] != row:
            cells = ", ".join(f"{name} = {spelled(x)}" for name, x in row.items())
            yield f"UPDATE people SET {cells} WHERE id = {n}"


@dataclass
class Reader(Oracle):
    """Sees the view again and again, and judges all that was seen."""

    people: dict[int, Row] = field(default_factory=dict)
    """Everybody as they were when the view was last refreshed."""
    reads: int = 0

    def look(self, rows: list[Row]) -> None:
        """Take in what the view shows."""
        self.reads += 1
        shown: Shown = {}
        for row in rows:
            number = (row["tag"] - 1000) // 7
            cells = tuple(repr(self.cell(row, name)) for name in ("age", "pet"))
            shown[number] = (row["cohort"], *cells, row["ill"], row["note"])
        if len(shown) != len(rows):
            raise Violation("a row is shown twice")
        if self.releases and shown == self.releases[-1]:
            return
        for row in rows:
            number = (row["tag"] - 1000) // 7
            self.check_truth(row, self.people[number])
            self.who[number] = self.people[number]["who"]
        self.releases.append(shown)
        self.check_histories()


class Watched:
    """A place whose view is read after every statement of ours."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def rows(self, cursor: Any) -> list[Row]:
        cursor.execute("SELECT * FROM shown")
        names = [item[0] for item in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    @contextmanager
    def session(self) -> Iterator[Any]:
        """Give a cursor of somebody who writes and reads, statement by statement."""
        if self.place.kind == "duckdb":
            with duckdb.connect(self.place.url) as connection:
                yield connection
            return
        with closing(self.outside()) as own, closing(own.cursor()) as cursor:
            yield cursor

    @contextmanager
    def reading(
        self, monkeypatch: pytest.MonkeyPatch, look: Callable[[list[Row]], None]
    ) -> Iterator[None]:
        """Read by another connection after every statement of a refresh."""
        kind: Any = DuckDBFile if self.place.kind == "duckdb" else PostgreSQL
        execute = kind.execute
        with closing(self.outside()) as connection:

            def spied(database: Any, sql: str) -> None:
                execute(database, sql)
                own = connection or database._connection
                with closing(own.cursor()) as cursor:
                    look(self.rows(cursor))

            with monkeypatch.context() as patch:
                patch.setattr(kind, "execute", spied)
                yield

    def outside(self) -> Any:
        """Return another session; DuckDB has none for another process or setting."""
        if self.place.kind == "duckdb":
            return _Nothing()
        return adbc_driver_postgresql.dbapi.connect(self.place.url, autocommit=True)


class _Nothing:
    def close(self) -> None:
        """Do nothing."""

    def __bool__(self) -> bool:
        return False


def play(place: Place, seed: int, monkeypatch: pytest.MonkeyPatch) -> Reader | None:
    """Play a schedule; None: its first table cannot be released."""
    dice = random.Random(seed)  # noqa: S311
    schedule = Schedule(dice)
    schedule.insert(dice.randrange(20, 60))
    spec, rules = drawn_spec(dice, place.kind), draw_rules(dice)
    watched, reader = Watched(place), Reader(spec, people=dict(schedule.rows))
    with watched.session() as cursor:
        cursor.execute("DROP VIEW IF EXISTS shown")
        for name in ("people", "shown_core_mondrian_rows", "shown_core_mondrian_state"):
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(f"CREATE TABLE people ({KINDS})")
        cursor.execute(inserted(list(schedule.rows.values())))
    try:
        live, found = LiveView.create(
            *(place.url, "people", "shown", spec),
            row_key=rules.row_key,
            too_small=rules.too_small,
            cohort_size=rules.cohort_size,
            key=b"%016d" % seed,
        )
    except InfeasibleError:
        assert "shown" not in place.catalog()
        return None
    for _ in range(4):
        before = dict(schedule.rows)
        schedule.go_on()
        with watched.session() as cursor:
            reader.look(watched.rows(cursor))
            assert len(reader.releases[-1]) == found.counts.n_shown
            for statement in statements(before, schedule.rows):
                cursor.execute(statement)
                reader.look(watched.rows(cursor))
        reader.people |= schedule.rows
        with watched.reading(monkeypatch, reader.look):
            found = live.refresh()
        assert found.counts.n_in == len(schedule.rows)
        assert found.counts.add_up
    with watched.session() as cursor:
        reader.look(watched.rows(cursor))
    return reader


def drawn_spec(dice: random.Random, kind: str) -> Spec:
    spec = replace(draw_spec(dice), suppressed="drop")
    has_no_structs = kind == "postgresql" and spec.numbers == "struct"
    return replace(spec, numbers="interval") if has_no_structs else spec


def test_the_judge_finds_a_row_that_leaves_alone() -> None:
    shown = [
        {"cohort": "r1c1", "age": None, "pet": "*", "ill": "flu", "note": 1, "tag": tag}
        for tag in map(tag_of, range(5))
    ]
    true = {"age": 20, "pet": "cat", "ill": "flu", "note": 1, "who": 1}
    people = {n: {**true, "id": n} for n in range(5)}
    reader = Reader(Spec(("age", "pet"), (KAnonymity(2),)), people=people)
    reader.look(shown)

    with pytest.raises(Violation, match="1 persons of 2"):
        reader.look(shown[1:])


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_whoever_reads_after_every_statement_finds_nobody_below_k(
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = new_place(kind, tmp_path, request)

    played = [play(place, seed, monkeypatch) for seed in range(N_SCHEDULES[kind])]

    readers = [reader for reader in played if reader is not None]
    assert len(readers) > N_SCHEDULES[kind] // 2
    assert sum(len(reader.releases) for reader in readers) > 2 * len(readers)
    assert sum(reader.reads for reader in readers) > 40 * len(readers)
