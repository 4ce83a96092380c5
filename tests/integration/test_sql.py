"""Releases made inside databases: the same as in memory, or nothing at all."""

import datetime as dt
import os
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from conftest import CANARY
from databases import PASSWORD, Place, empty, new_place

from core_mondrian import (
    BestPolicy,
    DataError,
    InfeasibleError,
    KAnonymity,
    MondrianError,
    OutputError,
    PaperPolicy,
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
)
from core_mondrian.datasets import adult, census
from core_mondrian.hierarchies.codes import Flat
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.sources.sql.anonymize import anonymize_sql
from core_mondrian.sources.sql.base import Database, Space

pytest_plugins = ("support.database_places",)

ADULT = os.environ.get("CORE_MONDRIAN_ADULT")
KEY = b"a key of sixteen bytes"


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return census(5000)


_KNOWN: dict[str, Any] = {}


def known_release(spec: Spec, table: pa.Table) -> Any:
    """Return the release of a table in memory, made once for all databases."""
    key = f"{spec} {table.num_rows}"
    if key not in _KNOWN:
        _KNOWN[key] = anonymize(table, spec, by=["sex"])
    return _KNOWN[key]


FEW = ("age", "sex", "race")
"""Few enough for tuples that policy best divides."""
MANY = ("age", "sex", "marital_status", "race", "hours_per_week", "zip_code")


def spec_of(*names: str, k: int = 5, **more: Any) -> Spec:
    known = {"identifiers": ("person_id",), "models": (KAnonymity(k),)}
    return Spec(quasi_identifiers=names, **{**known, **more})


def rows_of(place: Place, name: str = "released") -> Counter[tuple[Any, ...]]:
    return Counter(place.fetch(f'SELECT * FROM "{name}"'))


def shown_rows(table: pa.Table, names: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


# The same release


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec_of(*MANY), id="best"),
        pytest.param(spec_of(*FEW, k=50), id="best, divided tuples"),
        pytest.param(spec_of(*MANY, policy=PaperPolicy()), id="paper"),
        pytest.param(
            spec_of(
                *FEW, models=(KAnonymity(20), DistinctLDiversity(3, "marital_status"))
            ),
            id="l-diversity",
        ),
        pytest.param(
            spec_of(*FEW, numbers="bounds", class_id="class"),
            id="bounds, class_id",
        ),
        pytest.param(
            spec_of(*FEW, policy=PaperPolicy(), weight="hours_per_week"), id="weight"
        ),
        pytest.param(spec_of(*FEW, hierarchies={"age": Flat()}), id="codes"),
        pytest.param(
            spec_of(
                *("sex", "occupation", "native_country"),
                k=20,
                policy=PaperPolicy(),
                small_patterns="suppress",
                suppress=Suppression(rows=60),
            ),
            id="small patterns",
        ),
    ],
)
def test_release_is_that_of_the_table_in_memory(
    place: Place, people: pa.Table, spec: Spec
) -> None:
    place.load("people", people)

    made = anonymize_sql(place.url, "people", "released", spec, by=["sex"])

    known = known_release(spec, people)
    assert made.data == "released"
    assert made.manifest() == known.manifest()
    assert made.measures() == known.measures()
    assert made.by_group("sex") == known.by_group("sex")
    assert place.catalog() == ["people", "released"]
    assert_same_rows(place, known.data, spec)


def assert_same_rows(place: Place, known: pa.Table, spec: Spec) -> None:
    """Compare what classes show, and what is carried along, as multisets."""
    names = known.column_names
    found = place.fetch('SELECT * FROM "released"')
    made = {name: [row[i] for row in found] for i, name in enumerate(names)}
    carried = spec.carried(census(1).column_names)
    shown = [name for name in names if name not in carried]
    for chosen in (shown, carried):
        ours = zip(*(made[name] for name in chosen), strict=True)
        theirs = zip(*(known[name].to_pylist() for name in chosen), strict=True)
        assert Counter(ours) == Counter(theirs), chosen


def test_twenty_thousand_rows(place: Place) -> None:
    spec = spec_of(*FEW, k=20)
    people = census(20_000)
    place.load("people", people)

    made = anonymize_sql(place.url, "people", "released", spec)

    known = known_release(spec, people)
    assert known._pieces.n_tuples > known.n_tuples  # some are divided
    assert made.manifest() == known.manifest()
    assert_same_rows(place, known.data, spec)


def test_a_connection_is_asked_by_one_thread_at_a_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of large tables are looked at on all cores; a connection is but one."""
    monkeypatch.setattr("core_mondrian.runtime.threads._ROWS_PER_THREAD", 1)
    monkeypatch.setattr("core_mondrian.runtime.threads.n_cores", lambda: 4)
    asked_by = set()
    fetch = Database.fetch

    def noted(database: Database, sql: str) -> pa.Table:
        asked_by.add(threading.current_thread().name)
        return fetch(database, sql)

    monkeypatch.setattr(Database, "fetch", noted)
    place.load("people", census(3_000))

    made = anonymize_sql(place.url, "people", "released", spec_of(*FEW))

    assert {one.why for one in made.warnings} >= {"singles-out"}
    assert asked_by == {threading.main_thread().name}


@pytest.mark.skipif(ADULT is None, reason="CORE_MONDRIAN_ADULT is not set")
@pytest.mark.parametrize("policy", [BestPolicy(), PaperPolicy()], ids=["best", "paper"])
def test_adult_has_the_digest_it_has_in_memory(place: Place, policy: Any) -> None:
    table = adult(ADULT)
    spec = Spec(
        quasi_identifiers=("age", "sex", "race", "education", "marital-status"),
        models=(KAnonymity(10),),
        policy=policy,
    )
    place.load("adult", table)

    made = anonymize_sql(place.url, "adult", "released", spec)

    assert made.digest == known_release(spec, table).digest


def test_a_run_and_the_order_of_rows_change_nothing(
    place: Place, people: pa.Table
) -> None:
    spec = spec_of(*FEW, k=50)
    some = people.slice(0, 5000)
    order = np.random.default_rng(1).permutation(some.num_rows)
    place.load("people", some)
    place.load("shuffled", some.take(pa.array(order)))

    made = [
        anonymize_sql(place.url, source, target, spec)
        for source, target in (
            *(("people", "released"), ("people", "again")),
            ("shuffled", "other"),
        )
    ]

    assert made[0]._pieces.n_tuples > made[0].n_tuples  # some are divided
    assert made[0].manifest() == made[1].manifest() == made[2].manifest()
    assert rows_of(place) == rows_of(place, "again") == rows_of(place, "other")


def test_equal_rows_of_a_divided_tuple_are_spread_over_its_classes(
    place: Place,
) -> None:
    # One value of age has half of all rows, and its other cells only three kinds.
    ages = [50] * 600 + [20 + i % 60 for i in range(600)]
    flags = [f"f{(i // 60 + i) % 3}" for i in range(1200)]
    table = pa.table({"age": ages, "flag": flags})
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(30),))
    place.load("people", table)

    anonymize_sql(place.url, "people", "released", spec)

    found = rows_of(place)
    shown = {age for age, _ in found}
    divided = [age for age in shown if "50" in age]
    assert len(divided) > 1
    for age in divided:
        shares = [found[age, flag] for flag in ("f0", "f1", "f2")]
        assert min(shares) > 0.2 * sum(shares), age


EDGES = {
    "no rows": pa.table({"a": pa.array([], pa.int64())}),
    "one row": pa.table({"a": [1]}),
    "one column, divided": pa.table({"a": [5] * 40 + [1, 2, 3, 4] * 3}),
    "all missing": pa.table({"a": pa.array([None] * 9, pa.int64()), "b": [1] * 9}),
}


@pytest.mark.parametrize("table", EDGES.values(), ids=EDGES)
def test_tables_at_the_edge(place: Place, table: pa.Table) -> None:
    place.load("people", table)
    spec = Spec(quasi_identifiers=("a",), models=(KAnonymity(3),))

    if table.num_rows < 3:
        with pytest.raises(InfeasibleError):
            anonymize_sql(place.url, "people", "released", spec)
        assert place.catalog() == ["people"]
        return
    made = anonymize_sql(place.url, "people", "released", spec)

    known = anonymize(table, spec)
    assert made.digest == known.digest
    assert Counter(row[0] for row in rows_of(place).elements()) == Counter(
        known.data["a"].to_pylist()
    )


# Types


COLUMNS = {
    "duckdb": "n DOUBLE, d DECIMAL(12, 2), day DATE, seen TIMESTAMP, flag BOOLEAN, "
    "big BIGINT, note VARCHAR, kept DECIMAL(9, 3)",
    "sqlite": "n REAL, d REAL, day DATE, seen TIMESTAMP, flag BOOLEAN, big BIGINT, "
    "note VARCHAR(20), kept DECIMAL(9, 3)",
    "postgresql": "n double precision, d numeric(12, 2), day date, seen timestamp, "
    "flag boolean, big bigint, note varchar(20), kept numeric(9, 3)",
}
TYPES = {
    "n": pa.float64(),
    "d": pa.decimal128(12, 2),
    "day": pa.date32(),
    "seen": pa.timestamp("us"),
    "flag": pa.bool_(),
    "big": pa.int64(),
    "note": pa.string(),
    "kept": pa.decimal128(9, 3),
}


def typed_rows() -> pa.Table:
    def at(i: int, value: Any) -> Any:
        return None if i % 11 == 0 else value

    rows = range(240)
    start = dt.date(1999, 12, 1)
    columns = {
        "n": [at(i, (-0.0, 0.0, 1.5, -2.25)[i % 4]) for i in rows],
        "d": [at(i + 1, Decimal(i % 7) + Decimal("0.25")) for i in rows],
        "day": [at(i + 2, start + dt.timedelta(days=i % 50)) for i in rows],
        "seen": [
            at(i + 3, dt.datetime(2001, 1, 1) + dt.timedelta(seconds=977 * (i % 31)))
            for i in rows
        ],
        "flag": [at(i + 4, i % 3 == 0) for i in rows],
        "big": [at(i + 5, 2**53 + i % 9) for i in rows],
        "note": [at(i + 6, "ab'\"é"[i % 5]) for i in rows],
        "kept": [Decimal(i) / 8 for i in rows],
    }
    return pa.table({x: pa.array(columns[x], kind) for x, kind in TYPES.items()})


def spelled(value: Any, kind: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value)) if kind == "sqlite" else str(value)
    if isinstance(value, float):
        return "'NaN'" if np.isnan(value) else repr(value)
    if isinstance(value, int | Decimal):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def load_typed(place: Place, table: pa.Table) -> None:
    rows = (
        "(" + ", ".join(spelled(x, place.kind) for x in row.values()) + ")"
        for row in table.to_pylist()
    )
    place.run(
        f"CREATE TABLE typed ({COLUMNS[place.kind]})",
        f"INSERT INTO typed VALUES {', '.join(rows)}",
    )


def as_stored(table: pa.Table, kind: str) -> pa.Table:
    """Return a table as the database has it: SQLite has neither decimals nor flags."""
    if kind != "sqlite":
        return table
    for name, to in (("d", pa.float64()), ("flag", pa.int64())):
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].cast(to))
    return table


@pytest.mark.parametrize(
    ("numbers", "policy"),
    [
        pytest.param("interval", PaperPolicy(), id="paper"),
        *((numbers, BestPolicy()) for numbers in ("bounds", "median", "mean")),
    ],
    ids=str,
)
def test_types_and_missing_values(place: Place, numbers: Any, policy: Any) -> None:
    table = typed_rows()
    load_typed(place, table)
    names = ("n", "d", "day", "seen", "flag", "big", "note")
    spec = Spec(
        quasi_identifiers=names,
        models=(KAnonymity(8),),
        numbers=numbers,
        policy=policy,
    )

    made = anonymize_sql(place.url, "typed", "released", spec)

    known = anonymize(as_stored(table, place.kind), spec)
    assert made.digest == known.digest
    kinds = kinds_of(place, "released")
    assert kinds["kept"] == kinds_of(place, "typed")["kept"]
    if numbers == "bounds":
        source = kinds_of(place, "typed")
        for name in names[:-1]:
            assert kinds[f"{name}_min"] == kinds[f"{name}_max"] == source[name]


def kinds_of(place: Place, table: str) -> dict[str, str]:
    queries = {
        "duckdb": "SELECT column_name, data_type FROM information_schema.columns "
        f"WHERE table_name = '{table}'",
        "sqlite": f"SELECT name, type FROM pragma_table_info('{table}')",
        "postgresql": "SELECT attname::text, format_type(atttypid, atttypmod) "
        f"FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0",
    }
    return dict(place.fetch(queries[place.kind]))


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_nan_is_missing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place(kind, tmp_path, request)
    numbers = [float("nan"), None, -0.0, 0.0, 3.5, 4.5] * 10
    table = pa.table({"n": pa.array(numbers, from_pandas=False), "i": range(60)})
    place.load("people", table)
    spec = Spec(quasi_identifiers=("n",), models=(KAnonymity(15),))

    made = anonymize_sql(place.url, "people", "released", spec)

    known = anonymize(table, spec)
    assert made.manifest() == known.manifest()
    assert Counter(n for n, _ in place.fetch("SELECT * FROM released")) == Counter(
        known.data["n"].to_pylist()
    )


COLLATED = {
    "duckdb": ["CREATE TABLE people (name VARCHAR COLLATE NOCASE, i INTEGER)"],
    "sqlite": ["CREATE TABLE people (name TEXT COLLATE NOCASE, i INTEGER)"],
    "postgresql": [
        "CREATE COLLATION blind "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE people (name text COLLATE blind, i integer)",
    ],
}


def test_texts_that_a_collation_takes_for_equal_are_different(place: Place) -> None:
    names = [("ada", "Ada", "BOB", "bob", "bOb")[i % 5] for i in range(100)]
    rows = ", ".join(f"('{name}', {i})" for i, name in enumerate(names))
    place.run(*COLLATED[place.kind], f"INSERT INTO people VALUES {rows}")
    spec = Spec(quasi_identifiers=("name",), models=(KAnonymity(5),))

    made = anonymize_sql(place.url, "people", "released", spec)

    known = anonymize(pa.table({"name": names, "i": range(100)}), spec)
    assert made.digest == known.digest
    assert {x for (x,) in place.fetch("SELECT name FROM released")} == set(names)


def test_types_of_postgresql_alone(postgresql_server: str) -> None:
    place = Place("postgresql", postgresql_server)
    empty(place)
    place.run(
        "CREATE TYPE mood AS ENUM ('sad', 'well')",
        "CREATE DOMAIN years AS integer CHECK (VALUE >= 0)",
        "CREATE TABLE people AS SELECT (i % 50)::years AS age, "
        "(ARRAY['sad', 'well'])[1 + i % 2]::mood AS mood, "
        "round((i % 7)::numeric / 4, 2) AS worth, ('10.0.0.' || i % 9)::inet AS host, "
        "to_json(i) AS note FROM generate_series(1, 300) AS i",
    )
    spec = Spec(
        quasi_identifiers=("age", "mood", "worth", "host"), models=(KAnonymity(6),)
    )

    made = anonymize_sql(place.url, "people", "released", spec)

    numbers = range(1, 301)
    known = pa.table(
        {
            "age": pa.array([i % 50 for i in numbers], pa.int32()),
            "mood": [("sad", "well")[i % 2] for i in numbers],
            "worth": pa.array(
                [Decimal(i % 7) / 4 for i in numbers], pa.decimal128(5, 2)
            ),
            "host": [f"10.0.0.{i % 9}/32" for i in numbers],
            "note": [str(i) for i in numbers],
        }
    )
    assert made.digest == anonymize(known, spec).digest
    assert kinds_of(place, "released")["note"] == "json"


def test_numbers_that_are_none_or_infinite_in_postgresql(
    postgresql_server: str,
) -> None:
    place = Place("postgresql", postgresql_server)
    empty(place)
    place.run(
        "CREATE TABLE people (a numeric, b integer)",
        "INSERT INTO people SELECT CASE i % 3 WHEN 0 THEN 'NaN' ELSE i % 5 + .5 END, i "
        "FROM generate_series(1, 90) AS i",
        "CREATE TABLE others AS SELECT 'Infinity'::numeric AS a FROM people",
    )
    spec = Spec(quasi_identifiers=("a",), models=(KAnonymity(5),))

    made = anonymize_sql(place.url, "people", "released", spec)

    cells = [None if i % 3 == 0 else i % 5 + 0.5 for i in range(1, 91)]
    kind = pa.decimal128(2, 1)
    known = pa.array([None if x is None else Decimal(x) for x in cells], kind)
    assert made.digest == anonymize(pa.table({"a": known}), spec).digest
    with pytest.raises(DataError, match="'a' holds infinite or very long numbers"):
        anonymize_sql(place.url, "others", "more", spec)


def test_infinite_times_are_refused_by_name_of_their_column(place: Place) -> None:
    if place.kind == "sqlite":
        pytest.skip("SQLite has no infinite times")
    place.run("CREATE TABLE people AS SELECT CAST('infinity' AS date) AS day, 1 AS one")
    spec = Spec(quasi_identifiers=("day",), models=(KAnonymity(2),))

    with pytest.raises(DataError, match="'day' holds 1 different infinite times"):
        anonymize_sql(place.url, "people", "released", spec)


def test_other_texts_in_a_column_of_dates_are_refused(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place("sqlite", tmp_path, request)
    place.run(
        "CREATE TABLE people (day DATE)", f"INSERT INTO people VALUES ('{CANARY}')"
    )
    spec = Spec(quasi_identifiers=("day",), models=(KAnonymity(2),))

    with pytest.raises(DataError, match="'day' is declared DATE") as caught:
        anonymize_sql(place.url, "people", "released", spec)

    assert CANARY not in str(caught.value)


# Roles


def persons(n_rows: int = 900) -> pa.Table:
    return pa.table(
        {
            "who": [f"p{i // 3}" for i in range(n_rows)],
            "age": [20 + (i * i) % 40 for i in range(n_rows)],
            "ill": ["abcde"[(i * 7) % 5] for i in range(n_rows)],
        }
    )


def test_persons_are_counted_and_left_out(place: Place) -> None:
    spec = Spec(
        quasi_identifiers=("age",),
        models=(KAnonymity(9), DistinctLDiversity(3, "ill")),
        unit="who",
    )
    place.load("people", persons())

    made = anonymize_sql(place.url, "people", "released", spec)

    known = anonymize(persons(), spec)
    assert made.manifest() == known.manifest()
    assert kinds_of(place, "released").keys() == {"age", "ill"}
    assert rows_of(place) == Counter(
        zip(*(x.to_pylist() for x in known.data.columns), strict=True)
    )


@pytest.mark.parametrize("unit", [None, "who"])
def test_pseudonyms_are_those_of_the_table_in_memory(
    place: Place, unit: str | None
) -> None:
    spec = Spec(
        quasi_identifiers=("age",),
        models=(KAnonymity(9),),
        pseudonyms=("who",),
        unit=unit,
        policy=PaperPolicy(),
    )
    place.load("people", persons())

    made = anonymize_sql(place.url, "people", "released", spec, key=KEY)

    known = anonymize(persons(), spec, key=KEY)
    assert made.manifest() == known.manifest()
    assert rows_of(place) == Counter(
        zip(*(x.to_pylist() for x in known.data.columns), strict=True)
    )
    assert place.catalog() == ["people", "released"]


@pytest.mark.parametrize("suppressed", ["drop", "blank", "separate"])
def test_suppressed_rows(place: Place, suppressed: Any) -> None:
    rows = range(62)
    table = pa.table(
        {
            "who": [f"p{i}" for i in rows],
            "a": ["y" if i > 59 else "x" for i in rows],
            "ill": ["bc"[i % 2] for i in rows],
        }
    )
    spec = Spec(
        quasi_identifiers=("a",),
        models=(KAnonymity(3), DistinctLDiversity(2, "ill")),
        policy=PaperPolicy(),
        suppress=Suppression(rows=2),
        suppressed=suppressed,
        inline_below=0,
        pseudonyms=("who",),
    )
    place.load("people", table)

    made = anonymize_sql(place.url, "people", "released", spec, key=KEY)

    known = anonymize(table, spec, key=KEY)
    assert known.n_suppressed == 2
    assert made.manifest() == known.manifest()
    assert rows_of(place) == Counter(
        zip(*(x.to_pylist() for x in known.data.columns), strict=True)
    )
    if suppressed == "separate":
        assert made.suppressed == "released_suppressed"
        left = known.suppressed
        assert rows_of(place, "released_suppressed") == Counter(
            zip(*(x.to_pylist() for x in left.columns), strict=True)
        )
        assert place.catalog() == ["people", "released", "released_suppressed"]
    else:
        assert made.suppressed is None
        assert place.catalog() == ["people", "released"]


def test_structs_are_made_where_there_are_any(place: Place) -> None:
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), numbers="struct")
    place.load("people", persons())

    if place.kind == "duckdb":
        made = anonymize_sql(place.url, "people", "released", spec)
        assert made.digest == anonymize(persons(), spec).digest
        assert "STRUCT" in kinds_of(place, "released")["age"]
    else:
        with pytest.raises(SpecError, match="has no structs"):
            anonymize_sql(place.url, "people", "released", spec)


# What is read


def test_a_query_and_a_view_are_read_once(place: Place, people: pa.Table) -> None:
    place.load("people", people.slice(0, 4000))
    where = "random() < 0.5" if place.kind != "sqlite" else "random() % 2 = 0"
    query = f"SELECT * FROM people WHERE {where}; -- half of them"
    query = query.replace(";", "")
    place.run(f"CREATE VIEW half AS {query}")
    spec = spec_of(*MANY)

    for source, target in ((query, "a"), ("half", "b")):
        made = anonymize_sql(place.url, source, target, spec)
        assert made.n_rows == sum(rows_of(place, target).values())
        assert 1500 < made.n_rows < 2500


def test_a_query_gives_what_its_rows_give_in_memory(
    place: Place, people: pa.Table
) -> None:
    place.load("people", people)
    spec = spec_of(*FEW)

    query = "SELECT * FROM people WHERE age < 40 ;\n"
    made = anonymize_sql(place.url, query, "released", spec)

    young = people.filter(pa.array(np.asarray(people["age"]) < 40))
    assert made.manifest() == anonymize(young, spec).manifest()


WEIRD = 'Röw "1" % {x}'


def test_names_of_any_kind(place: Place) -> None:
    rows = range(60)
    table = pa.table(
        {
            'Age "x"': [20 + i % 9 for i in rows],
            "sex; DROP TABLE people --": ["mf"[i % 2] for i in rows],
            "ünï 'ç'": [i % 4 for i in rows],
            "select": [str(i) for i in rows],
        }
    )
    names = table.column_names
    place.load(WEIRD, table)
    spec = Spec(
        quasi_identifiers=tuple(names[:2]),
        models=(KAnonymity(5), DistinctLDiversity(2, names[2])),
        class_id='the "class"',
    )

    spelled_out = '"' + WEIRD.replace('"', '""') + '"'
    made = anonymize_sql(place.url, spelled_out, '"a.b"', spec)

    known = anonymize(table, spec)
    assert made.data == '"a.b"'
    assert made.manifest() == known.manifest()
    assert list(kinds_of_columns(place, "a.b")) == known.data.column_names
    assert place.catalog() == sorted([WEIRD, "a.b"])


def kinds_of_columns(place: Place, table: str) -> list[str]:
    if place.kind == "duckdb":
        with duckdb.connect(place.url) as connection:
            return list(connection.sql(f'SELECT * FROM "{table}"').columns)
    with closing(place.connect()) as connection, closing(connection.cursor()) as cursor:
        cursor.execute(f'SELECT * FROM "{table}"')
        return [one[0] for one in cursor.description]


def test_schemas(place: Place) -> None:
    schema = "main" if place.kind == "sqlite" else "My Schema"
    if place.kind != "sqlite":
        place.run('CREATE SCHEMA "My Schema"')
    place.load("people", persons())
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    made = anonymize_sql(place.url, "people", f'"{schema}".people2', spec)

    again = anonymize_sql(
        *(place.url, f'"{schema}".people2', "released"),
        Spec(quasi_identifiers=("age",), models=(KAnonymity(9),)),
    )
    assert made.data == ("main.people2" if schema == "main" else '"My Schema".people2')
    assert again.n_rows == 900


# What is left


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show original ages, so that the release fails as it is recounted."""
    from core_mondrian.sources.sql import anonymize as module

    honest = vars(module)["outputs_of"]

    def leaky(database: Any, source: Any, planned: Any) -> Any:
        outputs = honest(database, source, planned)
        return [replace(outputs[0], sql=source.cell("age")), *outputs[1:]]

    monkeypatch.setattr(module, "outputs_of", leaky)


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("made", ["table", "view"])
def test_a_release_that_fails_is_never_there(
    place: Place, people: pa.Table, made: str
) -> None:
    if made == "view" and place.kind == "postgresql":
        pytest.skip("views are refused there")
    place.load("people", people.slice(0, 3000).drop_columns(["person_id"]))
    place.run("CREATE TABLE released AS SELECT 1 AS one")
    spec = spec_of(*MANY, identifiers=())

    with pytest.raises(PrivacyViolation, match="fails for"):
        anonymize_sql(
            *(place.url, "people", "released", spec),
            overwrite=True,
            view=made == "view",
        )

    assert place.catalog() == ["people", "released"]
    assert place.fetch("SELECT * FROM released") == [(1,)]


def test_what_exists_is_kept_unless_it_is_to_be_replaced(place: Place) -> None:
    place.load("people", persons())
    place.run("CREATE VIEW released AS SELECT 1 AS one")
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    with pytest.raises(SpecError, match="exists"):
        anonymize_sql(place.url, "people", "released", spec)
    assert place.fetch("SELECT * FROM released") == [(1,)]
    with pytest.raises(InfeasibleError):
        anonymize_sql(
            *(place.url, "people", "released"),
            replace(spec, models=(KAnonymity(1000),)),
            overwrite=True,
        )
    assert place.fetch("SELECT * FROM released") == [(1,)]
    anonymize_sql(place.url, "people", "released", spec, overwrite=True)

    assert sum(rows_of(place).values()) == 900
    assert place.catalog() == ["people", "released"]


@pytest.mark.parametrize("at", ["partition", "verify", "warn"])
def test_an_interrupted_run_leaves_nothing(place: Place, at: str) -> None:
    place.load("people", persons())
    place.run("CREATE TABLE released AS SELECT 1 AS one")
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    def stop(stage: str, _done: float) -> None:
        if stage == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize_sql(
            *(place.url, "people", "released", spec), overwrite=True, progress=stop
        )

    assert place.catalog() == ["people", "released"]
    assert place.fetch("SELECT * FROM released") == [(1,)]


def test_one_of_two_runs_at_a_time_makes_the_target(postgresql_server: str) -> None:
    place = Place("postgresql", postgresql_server)
    empty(place)
    place.load("people", persons())
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    def other(stage: str, done: float) -> None:
        # The first has looked whether there is one, and not made it yet.
        if (stage, done) == ("collapse", 1.0):
            anonymize_sql(postgresql_server, "people", "released", spec)

    with pytest.raises(OutputError, match="SQLSTATE") as caught:
        anonymize_sql(postgresql_server, "people", "released", spec, progress=other)

    assert "in the meantime" in str(caught.value)
    assert sum(rows_of(place).values()) == 900
    assert place.catalog() == ["people", "released"]


def test_the_source_cannot_be_the_target(place: Place) -> None:
    place.load("people", persons())
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    with pytest.raises(MondrianError):
        anonymize_sql(place.url, "people", "people", spec, overwrite=True)

    assert sum(rows_of(place, "people").values()) == 900


# Views


def test_a_view_shows_the_release_as_long_as_the_source_is_the_same(
    file_place: Place, people: pa.Table
) -> None:
    place = file_place
    some = people.slice(0, 4000)
    place.load("people", some)
    spec = spec_of(
        *FEW,
        models=(KAnonymity(20), DistinctLDiversity(3, "marital_status")),
    )

    made = anonymize_sql(place.url, "people", "released", spec, view=True)

    known = anonymize(some, spec)
    assert made.manifest() == known.manifest()
    assert_same_rows(place, known.data, spec)
    assert rows_of(place) == rows_of(place)
    changes = (
        "INSERT INTO people SELECT * FROM people WHERE age = 30",
        "DELETE FROM people WHERE age = 40",
        "UPDATE people SET marital_status = 'other' WHERE age = 50",
        "UPDATE people SET age = age + 1 WHERE sex = 'Female'",
    )
    for change in changes:
        place.run(change)
        assert not rows_of(place), change


def test_a_view_can_be_replaced_by_another_and_by_a_table(file_place: Place) -> None:
    place = file_place
    place.load("people", persons())
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")
    maps = [f"released_core_mondrian_{x}" for x in ("classes", "tuples")]

    anonymize_sql(place.url, "people", "released", spec, view=True)
    with pytest.raises(SpecError, match="exists"):
        anonymize_sql(place.url, "people", "released", spec, view=True)
    anonymize_sql(place.url, "people", "released", spec, view=True, overwrite=True)
    made = [name for name in place.catalog() if not name.endswith(("_index", "_idx"))]
    assert sum(rows_of(place).values()) == 900
    anonymize_sql(place.url, "people", "released", spec, overwrite=True)

    assert set(maps) <= set(made)
    assert place.catalog() == ["people", "released"]


def test_a_view_in_postgresql_is_refused(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Its readers could seed, join and explain it, and find exact values."""
    place = new_place("postgresql", tmp_path, request)
    place.load("people", persons())
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    with pytest.raises(SpecError, match="is no boundary"):
        anonymize_sql(place.url, "people", "released", spec, view=True)
    assert place.catalog() == ["people"]


# The order that rows are stored in


@pytest.mark.parametrize("disjoint", [False, True])
def test_stored_rows_say_nothing_by_their_order(place: Place, disjoint: Any) -> None:
    """As joined, they were sorted by exact values, or stood as in the source."""
    n = 600
    random = np.random.default_rng(1)
    ages = random.permutation(n)
    place.load("people", pa.table({"age": ages, "place": np.arange(n)}))
    spec = Spec(
        ("age",),
        (KAnonymity(5),),
        policy=BestPolicy(disjoint=disjoint),
        accept=("place",),
    )

    anonymize_sql(place.url, "people", "released", spec)

    stored = np.array([row[0] for row in place.fetch("SELECT place FROM released")])
    by_source = np.corrcoef(stored, np.arange(n))[0, 1]
    by_value = np.corrcoef(ages[stored], np.arange(n))[0, 1]
    assert abs(by_source) < 0.2
    assert abs(by_value) < 0.2


def test_rows_set_apart_stay_the_owners(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Default privileges of a schema would let others read original rows."""
    place = new_place("postgresql", tmp_path, request)
    place.run(
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO PUBLIC",
    )
    table = pa.table({"age": [1] * 20 + [2] * 20 + [90], "note": range(41)})
    place.load("people", table)
    spec = Spec(
        ("age",), (KAnonymity(5),), suppress=Suppression(rows=1), suppressed="separate"
    )

    anonymize_sql(place.url, "people", "released", spec)

    may = "SELECT has_table_privilege('reader', '{}', 'SELECT')"
    assert place.fetch(may.format("released")) == [(True,)]
    assert place.fetch(may.format("released_suppressed")) == [(False,)]
    place.run(
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON TABLES FROM reader",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON TABLES FROM PUBLIC",
        "DROP OWNED BY reader",
        "DROP ROLE reader",
    )


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"pseudonyms": ("who",)}, "who is who"),
        ({"suppressed": "separate", "unit": "who"}, "suppressed rows separately"),
    ],
)
def test_views_that_would_tell_are_refused(
    duck: Place, more: dict[str, Any], told: str
) -> None:
    duck.load("people", persons())
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), **more)
    key = KEY if spec.pseudonyms else None

    with pytest.raises(SpecError, match=told):
        anonymize_sql(duck.url, "people", "released", spec, view=True, key=key)


# Errors


def test_shuffle_is_refused(duck: Place) -> None:
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), shuffle=1)

    with pytest.raises(SpecError, match="no order"):
        anonymize_sql(duck.url, "people", "released", spec)


FAILING = [
    pytest.param("nobody", "no table or view", id="no table"),
    pytest.param(f"SELECT CAST('{CANARY}' AS date) AS age", "", id="cast"),
    pytest.param(
        "SELECT CAST(name AS integer) AS age FROM people", "", id="cast of a cell"
    ),
    pytest.param("SELECT name AS years FROM people", "not in the data", id="column"),
    pytest.param(f"SELECT '{CANARY}' AS age FROM", "", id="syntax"),
    pytest.param("SELECT 1 AS age; DROP TABLE people", "", id="two statements"),
    pytest.param("SELECT 1 AS age) AS q; DROP TABLE people; --", "", id="way out"),
]


@pytest.mark.parametrize(("source", "told"), FAILING)
def test_errors_hold_no_cell_and_leave_nothing(
    place: Place, source: str, told: str
) -> None:
    if place.kind == "sqlite" and "CAST" in source:
        pytest.skip("SQLite casts anything to anything")
    place.load("people", pa.table({"name": [CANARY] * 9, "age": range(9)}))
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(2),))

    with pytest.raises(MondrianError) as caught:
        anonymize_sql(place.url, source, "released", spec)

    assert told in str(caught.value)
    assert CANARY not in str(caught.value)
    assert PASSWORD not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert place.catalog() == ["people"]


@pytest.mark.parametrize(
    "change",
    [("/postgres", "/nowhere"), (PASSWORD, f"{CANARY}-wrong"), ("@127", "@128")],
    ids=["database", "password", "host"],
)
def test_an_address_is_never_shown(
    postgresql_server: str, change: tuple[str, str]
) -> None:
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(2),))

    with pytest.raises(DataError) as caught:
        anonymize_sql(postgresql_server.replace(*change), "people", "released", spec)

    message = str(caught.value)
    assert "failed to open the database" in message
    for secret in ("CANARY", "tester", "127.0.0.1", "nowhere"):
        assert secret not in message


def test_rights_are_told(postgresql_server: str) -> None:
    place = Place("postgresql", postgresql_server)
    empty(place)
    place.run(
        "DROP ROLE IF EXISTS reader",
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        "GRANT USAGE ON SCHEMA public TO reader",
    )
    place.load("people", persons())
    place.run("GRANT SELECT ON people TO reader")
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    url = postgresql_server.replace("tester", "reader")

    with pytest.raises(OutputError, match="SQLSTATE 42501") as caught:
        anonymize_sql(url, "people", "released", spec)

    assert "needs the right" in str(caught.value)


def test_files_that_are_no_databases_are_told_apart(tmp_path: Path) -> None:
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(2),))
    junk = tmp_path / "junk.duckdb"
    junk.write_text(CANARY * 100)
    cases = {
        str(tmp_path / "nothing.duckdb"): "no such file",
        str(junk): "neither a DuckDB nor an SQLite file",
        str(tmp_path): "cannot be read",
        "mysql://root:CANARY@host/db": "unknown kind",
    }

    for database, told in cases.items():
        with pytest.raises(MondrianError, match=told) as caught:
            anonymize_sql(database, "people", "released", spec)
        assert "CANARY" not in str(caught.value)
    assert sorted(x.name for x in tmp_path.iterdir()) == ["junk.duckdb"]


def test_a_busy_database_is_told(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: Any
) -> None:
    monkeypatch.setattr("core_mondrian.sources.sql.sqlite_file._PATIENCE", 0.05)
    place = new_place("sqlite", tmp_path, request)
    place.load("people", persons())
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),), unit="who")

    with closing(place.connect()) as other:
        other.execute("INSERT INTO people SELECT * FROM people")
        with pytest.raises(DataError, match="open the database: another program"):
            anonymize_sql(place.url, "people", "released", spec)

    made = anonymize_sql(f"sqlite:///{place.url}", "people", "released", spec)
    assert made.n_rows == 900


def test_names_too_long_for_the_server_are_refused(postgresql_server: str) -> None:
    place = Place("postgresql", postgresql_server)
    empty(place)
    long = "é" * 30
    place.load("people", pa.table({long: [i % 9 for i in range(90)]}))
    spec = Spec(quasi_identifiers=(long,), models=(KAnonymity(9),), numbers="bounds")

    with pytest.raises(SpecError, match="63 bytes"):
        anonymize_sql(postgresql_server, "people", "released", spec)
    with pytest.raises(SpecError, match="63 bytes"):
        anonymize_sql(postgresql_server, "people", "r" * 60, spec)


def test_new_columns_are_not_called_like_others(place: Place) -> None:
    table = persons().append_column("AGE_MIN", pa.array(range(900)))
    place.load("people", table)
    spec = Spec(
        quasi_identifiers=("age",),
        models=(KAnonymity(9),),
        numbers="bounds",
        unit="who",
    )

    if place.kind == "postgresql":
        anonymize_sql(place.url, "people", "released", spec)
    else:
        with pytest.raises(SpecError, match="several columns of one name"):
            anonymize_sql(place.url, "people", "released", spec)


def test_duckdb_downloads_nothing(duck: Place, tmp_path: Path) -> None:
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),))

    with pytest.raises(DataError):
        anonymize_sql(
            duck.url, "SELECT * FROM read_xlsx('people.xlsx')", "released", spec
        )
    from core_mondrian.sources.sql.open import open_database

    opened = open_database(duck.url)
    opened.begin(Space(tmp_path, 256 << 20, 1))
    names = ("autoinstall_known_extensions", "autoload_known_extensions", "threads")
    found = [
        opened.fetch(f"SELECT current_setting('{name}') AS x")[0][0].as_py()
        for name in names
    ]
    opened.close()
    assert found == [False, False, 1]


def test_variables_of_ours_are_no_tables(duck: Place) -> None:
    spec = Spec(quasi_identifiers=("age",), models=(KAnonymity(9),))
    table = persons()  # noqa: F841

    with pytest.raises(MondrianError):
        anonymize_sql(duck.url, "SELECT * FROM table", "released", spec)
    with pytest.raises(MondrianError):
        anonymize_sql(duck.url, "SELECT * FROM stages", "released", spec)
