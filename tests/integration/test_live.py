"""Live views: who sees what, what a failure leaves, and what is refused."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import pyarrow as pa
import pytest
from conftest import CANARY
from databases import PASSWORD, Place, new_place

from core_mondrian import (
    DataError,
    InfeasibleError,
    KAnonymity,
    MondrianError,
    OutputError,
    Spec,
    SpecError,
)
from core_mondrian.cli.main import run as run_command
from core_mondrian.datasets import census
from core_mondrian.sources.sql.duckdb_file import DuckDBFile
from core_mondrian.sources.sql.live import VERSION, LiveView
from core_mondrian.sources.sql.live_tables import LiveTables

pytest_plugins = ("support.database_places",)

SPEC = Spec(("age",), (KAnonymity(3),))
AGES = [20, 21, 22, 60, 61, 62]
STATE = "shown_core_mondrian_state"
ROWS = "shown_core_mondrian_rows"


@pytest.fixture(params=["duckdb", "postgresql"])
def live_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return new_place(request.param, tmp_path, request)


@pytest.fixture
def postgres(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return new_place("postgresql", tmp_path, request)


def filled(place: Place, ages: list[int], name: str = "people") -> None:
    ids = pa.array(range(len(ages)), pa.int64())
    place.load(name, pa.table({"id": ids, "age": pa.array(ages, pa.int64())}))


def begun(place: Place, ages: list[int] = AGES, **options: Any) -> LiveView:
    filled(place, ages)
    return LiveView.create(
        place.url, "people", "shown", SPEC, **{"row_key": "id", **options}
    )[0]


def shown(place: Place) -> Counter[Any]:
    return Counter(place.fetch("SELECT * FROM shown"))


FIRST = Counter({("[20, 22]", "r1c1"): 3, ("[60, 62]", "r1c2"): 3})


def test_new_rows_appear_when_they_are_enough(live_place: Place) -> None:
    live = begun(live_place)
    assert shown(live_place) == FIRST

    live_place.run("INSERT INTO people VALUES (10, 21), (11, 22)")
    assert live.preview().n_waiting == 2
    assert live.refresh().counts.n_waiting == 2
    assert shown(live_place) == FIRST

    live_place.run("INSERT INTO people VALUES (12, 20)")
    assert shown(live_place) == FIRST  # until it is refreshed
    found = live.refresh()
    assert (found.number, found.counts.n_new) == (3, 3)
    assert shown(live_place) == FIRST + Counter({("[20, 22]", "r3c1"): 3})
    assert live.status().rows == found.counts.to_json()
    assert live.status().number == 3


def test_who_leaves_takes_others_along(live_place: Place) -> None:
    live = begun(live_place)

    live_place.run("DELETE FROM people WHERE id = 0")
    live.refresh()

    assert shown(live_place) == Counter({("[60, 62]", "r1c2"): 3})


def test_cells_that_pass_through_keep_their_types(live_place: Place) -> None:
    is_duck = live_place.kind == "duckdb"
    odd = "'{\"a\": [1]}'::JSON" if not is_duck else "{'a': [1]}"
    live_place.run(
        f"CREATE TABLE people AS SELECT id, id % 2 AS age, {odd} AS odd, "
        "CAST('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' AS UUID) AS code, "
        "CAST(1.50 AS NUMERIC(6, 2)) AS price, INTERVAL '1 day' AS span, "
        "CAST('2020-02-01 10:00:00+02' AS TIMESTAMPTZ) AS since, [0] AS list, "
        "CAST('2020-02-01' AS DATE) AS day, CAST(.5 AS DOUBLE PRECISION) AS share, "
        "CAST(12.5 AS NUMERIC) AS amount "
        "FROM (SELECT * FROM generate_series(1, 8) AS g(id)) AS q".replace(
            "[0]", "[0]" if is_duck else "ARRAY[0]"
        )
    )
    live, _ = LiveView.create(live_place.url, "people", "shown", SPEC, row_key="id")
    kinds = (
        "SELECT column_name, data_type FROM information_schema.columns WHERE "
        "table_name = '{}' AND column_name NOT IN ('id', 'age', 'cohort') ORDER BY 1"
    )
    before = live_place.fetch(kinds.format("people"))

    # Another scale in a column of numbers without one changes nobody else.
    amount = "1.00000000001" if not is_duck else "1"
    live_place.run(
        "INSERT INTO people SELECT id + 100, age, odd, code, price, span, since, "
        f"list, day, share, {amount} FROM people WHERE age = 1"
    )
    found = live.refresh()

    assert live_place.fetch(kinds.format("shown")) == before
    assert (found.counts.n_shown, found.counts.n_withdrawn) == (12, 0)


def test_cells_are_not_rounded_to_the_type_of_the_first_rows(
    live_place: Place,
) -> None:
    live_place.run(
        "CREATE TABLE people AS SELECT id, id % 2 AS age, id AS paid "
        "FROM (SELECT * FROM generate_series(1, 8) AS g(id)) AS q"
    )
    live, _ = LiveView.create(live_place.url, "people", "shown", SPEC, row_key="id")
    more = "INSERT INTO people SELECT id + {}, age, paid + {} FROM people WHERE id < 7"

    live_place.run("ALTER TABLE people ALTER paid TYPE DOUBLE PRECISION")
    live_place.run(more.format(100, 1))
    assert live.refresh().counts.n_shown == 14
    before = shown(live_place)

    live_place.run(more.format(200, 0.25))
    with pytest.raises(DataError, match=r"'paid' has another type .* 6 new cells"):
        live.refresh()
    assert shown(live_place) == before


def test_a_query_is_followed_and_names_are_as_spelled(live_place: Place) -> None:
    filled(live_place, [*AGES, 7, 8, 9], "The people")
    query = (
        'SELECT id, age AS "r", \'a\'\'b\' AS "id""x" FROM "The people" WHERE age > 9'
    )
    live, found = LiveView.create(
        *(live_place.url, query, '"My view"', Spec(("r",), (KAnonymity(3),))),
        row_key="id",
    )

    assert found.counts.n_shown == 6
    rows = live_place.fetch('SELECT "r", "id""x", cohort FROM "My view"')
    assert set(rows) == {("[20, 22]", "a'b", "r1c1"), ("[60, 62]", "a'b", "r1c2")}
    assert live.refresh().counts.n_shown == 6


def test_persons_are_counted_and_not_shown(live_place: Place) -> None:
    live_place.load(
        "people",
        pa.table(
            {"id": range(12), "who": [i // 2 for i in range(12)], "age": [5] * 12}
        ),
    )
    spec = Spec(("age",), (KAnonymity(5),), unit="who")
    live, _ = LiveView.create(live_place.url, "people", "shown", spec, row_key="id")
    ((cells, n),) = shown(live_place).items()
    assert (cells[1], n) == ("r1c1", 12)

    live_place.run("DELETE FROM people WHERE who = 0")
    live.refresh()

    assert shown(live_place) == Counter()  # five left would leave one alone


# What is kept from whoever may read the view


@pytest.mark.parametrize("given", ["SELECT", "ALL"])
def test_a_reader_sees_the_view_and_nothing_behind_it(
    given: str, postgres: Place
) -> None:
    postgres.run(
        "DROP ROLE IF EXISTS reader",
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        f"ALTER DEFAULT PRIVILEGES GRANT {given} ON TABLES TO reader",
    )
    try:
        live = begun(postgres, [*AGES, 20, 21, 22])
        postgres.run("REVOKE ALL ON people FROM reader")
        postgres.run("GRANT USAGE, CREATE ON SCHEMA public TO reader")
        postgres.run("DELETE FROM people WHERE id = 0")
        live.refresh()
        _check_reader(postgres)
    finally:
        postgres.run(
            "ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM reader",
            "DROP OWNED BY reader",
            "DROP ROLE reader",
        )


def _check_reader(postgres: Place) -> None:
    url = postgres.url.replace("tester", "reader", 1)
    with (
        closing(adbc_driver_postgresql.dbapi.connect(url, autocommit=True)) as own,
        closing(own.cursor()) as cursor,
    ):

        def rows(sql: str) -> list[Any]:
            cursor.execute(sql)
            return list(cursor.fetchall())

        assert len(rows("SELECT * FROM shown")) == 6
        for hidden in (
            *(
                "SELECT * FROM people",
                f"SELECT * FROM {STATE}",
                f"SELECT * FROM {ROWS}",
            ),
            *(f"SELECT {name} FROM shown" for name in ("xmin", "xmax", "ctid", "r")),
            *("DELETE FROM shown", "UPDATE shown SET age = '1'"),
            # It would leave out those that a refresh is about to delete.
            "SELECT * FROM shown FOR UPDATE SKIP LOCKED",
        ):
            with pytest.raises(adbc_driver_postgresql.dbapi.Error):
                rows(hidden)
        assert rows("SELECT * FROM pg_stats WHERE tablename ~ 'people|shown'") == []
        cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
        plan = str(rows("EXPLAIN (ANALYZE, VERBOSE, TIMING OFF) SELECT * FROM shown"))
        assert ROWS in plan
        assert "people" not in plan
        # A function of the reader's that is called before all conditions.
        rows_seen = (
            "CREATE FUNCTION peek(x shown) RETURNS boolean COST 0.0000001 AS "
            "$$ BEGIN PERFORM set_config('my.seen', coalesce(current_setting('my.seen',"
            " true), '') || x::text, false); RETURN true; END $$ LANGUAGE plpgsql"
        )
        cursor.execute(rows_seen)
        rows("SELECT * FROM shown WHERE peek(shown) AND age < 'z'")
        seen = rows("SELECT current_setting('my.seen')")[0][0]
        assert seen.count("(") == 6
        assert sorted(seen) == sorted(
            "".join(x for (x,) in rows("SELECT shown::text FROM shown"))
        )


def test_names_of_views_may_hold_what_formats_are_made_of(postgres: Place) -> None:
    filled(postgres, AGES)
    postgres.run(
        "CREATE ROLE other", "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO other"
    )
    try:
        LiveView.create(postgres.url, "people", "100%s 'a'", SPEC, row_key="id")
    finally:
        postgres.run("DROP OWNED BY other", "DROP ROLE other")

    assert postgres.fetch("SELECT count(*) FROM \"100%s 'a'\"") == [(6,)]


def test_a_refresh_that_failed_leaves_no_mark(
    live_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = begun(live_place, [*AGES, 20, 21, 22])
    before, catalog = shown(live_place), live_place.catalog()
    live_place.run("DELETE FROM people WHERE id = 0")
    with monkeypatch.context() as patch:
        patch.setattr(LiveTables, "write_state", _fails)
        with pytest.raises(OutputError):
            live.refresh()

    assert shown(live_place) == before
    assert live_place.catalog() == catalog
    assert live.refresh().number == 2


def _fails(*_: object, **__: object) -> None:
    raise OutputError("no room")


def test_a_view_that_cannot_be_made_leaves_nothing(
    live_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(live_place, AGES)
    catalog = live_place.catalog()
    with monkeypatch.context() as patch:
        patch.setattr(LiveTables, "write_state", _fails)
        with pytest.raises(OutputError):
            LiveView.create(live_place.url, "people", "shown", SPEC, row_key="id")
    assert live_place.catalog() == catalog

    with pytest.raises(InfeasibleError):
        LiveView.create(
            *(live_place.url, "SELECT * FROM people WHERE id < 2", "shown", SPEC),
            row_key="id",
        )
    assert live_place.catalog() == catalog


KILLED = """
import os, signal, sys
from core_mondrian.sources.sql.live import LiveView
from core_mondrian.sources.sql.live_tables import LiveTables
LiveTables.write_state = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
LiveView(sys.argv[1], "shown").refresh()
"""


def test_a_refresh_that_is_killed_leaves_the_old_state(live_place: Place) -> None:
    live = begun(live_place)
    live_place.run("INSERT INTO people VALUES (10, 21), (11, 22), (12, 20)")

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILLED, live_place.url], capture_output=True, check=False
    )

    assert done.returncode == -9, done.stderr
    assert shown(live_place) == FIRST
    assert live.refresh().number == 2
    assert len(list(shown(live_place).elements())) == 9


# Several at once


def read_again(place: Place, seen: list[Counter[Any]], stop: threading.Event) -> None:
    """Read the view twice in one transaction, until told to stop."""
    with closing(place.connect()) as own, closing(own.cursor()) as cursor:
        while not stop.is_set():
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            both = []
            for _ in range(2):
                cursor.execute("SELECT * FROM shown")
                both.append(Counter(cursor.fetchall()))
            own.commit()
            seen += both if both[0] == both[1] else [Counter({"changed": 1})]


def test_readers_of_a_server_see_one_state_or_the_next(postgres: Place) -> None:
    people = census(1500)
    postgres.load("people", people.slice(0, 900))
    spec = Spec(("age", "sex"), models=(KAnonymity(5),))
    live, _ = LiveView.create(
        postgres.url, "people", "shown", spec, row_key="person_id", cohort_size=20
    )
    seen: list[Counter[Any]] = []
    stop = threading.Event()
    reader = threading.Thread(target=read_again, args=(postgres, seen, stop))
    reader.start()
    states = [shown(postgres)]
    try:
        postgres.load("more", people.slice(900))
        for i in range(4):
            postgres.run(
                f"INSERT INTO people SELECT * FROM more OFFSET {i * 150} LIMIT 150",
                f"DELETE FROM people WHERE age % 4 = {i}",
            )
            live.refresh()
            states.append(shown(postgres))
    finally:
        stop.set()
        reader.join()

    assert len(seen) > 4
    assert all(any(one == state for state in states) for one in seen)
    assert all(before != after for before, after in pairwise(states))


def test_of_two_refreshes_at_once_one_fails(
    live_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = begun(live_place)
    live_place.run("INSERT INTO people VALUES (10, 21), (11, 22), (12, 20)")
    claim = LiveTables.claim
    other: list[int] = []

    def slowly(tables: LiveTables) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(LiveTables, "claim", claim)
            try:
                other.append(LiveView(live_place.url, "shown").refresh().number)
            except MondrianError:  # DuckDB opens a file with one set of options
                other.append(2)
        claim(tables)

    monkeypatch.setattr(LiveTables, "claim", slowly)
    if live_place.kind == "postgresql":
        with pytest.raises(OutputError, match="another transaction was in the way"):
            live.refresh()
    else:
        live.refresh()

    assert other == [2]
    assert len(list(shown(live_place).elements())) == 9
    assert live.status().number == 2


# What is refused


def test_rows_that_others_changed_are_told(live_place: Place) -> None:
    live = begun(live_place)
    live_place.run(f"DELETE FROM {ROWS} WHERE c0 = '[20, 22]'")

    with pytest.raises(DataError, match="does not show what it was left with"):
        live.refresh()


def test_a_state_of_another_version_says_so_and_stays(
    live_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = begun(live_place)
    live_place.run("INSERT INTO people VALUES (10, 20), (11, 21), (12, 22)")
    state = live_place.fetch(f"SELECT * FROM {STATE}")

    with monkeypatch.context() as patch:
        patch.setattr("core_mondrian.sources.sql.live.VERSION", VERSION + 1)
        for use in (live.refresh, live.preview, live.status):
            with pytest.raises(DataError, match=f"a live view of version {VERSION}, "):
                use()

    assert live_place.fetch(f"SELECT * FROM {STATE}") == state
    assert shown(live_place) == FIRST
    assert live.refresh().counts.n_new == 3


def test_a_state_takes_few_bytes_a_row(live_place: Place) -> None:
    """Keys and hashes cannot be compressed: 8 bytes each, and a cohort."""
    sizes = []
    for n in (1_000, 3_000):
        live_place.run("DROP TABLE IF EXISTS people")
        live_place.load("people", census(n))
        LiveView.create(
            *(live_place.url, "people", "shown", Spec(("age", "sex"), SPEC.models)),
            row_key="person_id",
        )
        (found,) = live_place.fetch(f"SELECT sum(octet_length(content)) FROM {STATE}")
        sizes.append(int(found[0]))
        LiveView(live_place.url, "shown").drop()

    assert (sizes[1] - sizes[0]) / 2_000 < 60


def test_a_damaged_state_is_told(live_place: Place) -> None:
    live = begun(live_place)
    live_place.run(f"DELETE FROM {STATE}")

    with pytest.raises(DataError, match="not a live view, or damaged"):
        live.refresh()


def changed_spec(place: Place) -> None:
    LiveView(place.url, "shown", Spec(("age",), (KAnonymity(4),))).refresh()


def other_columns(place: Place) -> None:
    place.run("ALTER TABLE people ADD COLUMN more TEXT")
    LiveView(place.url, "shown").refresh()


def made_twice(place: Place) -> None:
    LiveView.create(place.url, "people", "shown", SPEC, row_key="id")


def no_view(place: Place) -> None:
    LiveView(place.url, "people").refresh()


def odd_value(place: Place) -> None:
    kind = "" if place.kind == "duckdb" else "TYPE"
    place.run(f"ALTER TABLE people ALTER age {kind or 'TYPE'} TEXT")
    place.run(f"INSERT INTO people VALUES (77, '{CANARY}')")
    LiveView(place.url, "shown").refresh()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (changed_spec, "another spec"),
        (other_columns, "columns differ"),
        (made_twice, "exists"),
        (no_view, "no live view"),
        (odd_value, "held numbers at the first release, and now text"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    live_place: Place, wrong: Callable[[Place], None], message: str
) -> None:
    begun(live_place)

    with pytest.raises(MondrianError, match=message) as failed:
        wrong(live_place)

    assert CANARY not in str(failed.value)
    assert shown(live_place) == FIRST
    assert LiveView(live_place.url, "shown").status().number == 1


def test_sqlite_is_refused(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = new_place("sqlite", tmp_path, request)

    with pytest.raises(SpecError, match="for DuckDB and PostgreSQL"):
        LiveView.create(place.url, "people", "shown", SPEC, row_key="id")


# The command


def test_the_commands_do_all_of_it(
    live_place: Place, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    filled(live_place, AGES)
    spec = tmp_path / "spec.toml"
    spec.write_text(
        'quasi_identifiers = ["age"]\n[[models]]\nname = "k-anonymity"\nk = 3\n'
    )

    def call(*arguments: str) -> str:
        with pytest.raises(SystemExit) as left:
            run_command(["series", *arguments])
        told = capfd.readouterr()
        assert left.value.code == 0, told.err
        return told.out + told.err

    url = live_place.url
    made = call(
        *("live-create", url, "people", "shown", "--spec", str(spec)),
        *("--row-key", "id"),
    )
    assert "6 in, 6 shown" in made
    assert "made view shown" in made
    live_place.run("INSERT INTO people VALUES (10, 21)")
    assert "1 waiting" in call("live-refresh", url, "shown", "--preview")
    assert "refresh     2" in call("live-refresh", url, "shown")
    assert '"number": 2' in call("live-status", url, "shown", "--json")
    assert "follows     people" in call("live-status", url, "shown")
    call("live-drop", url, "shown")
    assert live_place.catalog() == ["people"]
    assert DuckDBFile.has_live_views


def test_an_interrupt_after_a_refresh_does_not_deny_it(
    live_place: Place,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def interrupt(_found: object) -> None:
        raise KeyboardInterrupt

    filled(live_place, AGES)
    LiveView.create(live_place.url, "people", "shown", SPEC, row_key="id")
    monkeypatch.setattr("core_mondrian.cli.live.print_verification", interrupt)

    with pytest.raises(SystemExit) as left:
        run_command(["series", "live-refresh", live_place.url, "shown"])

    told = capfd.readouterr().err
    assert (left.value.code, "nothing was written" in told) == (0, False)
    assert "interrupted after the release was written" in told
    monkeypatch.undo()
    assert LiveView(live_place.url, "shown").status().number == 2
