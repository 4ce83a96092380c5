"""What `--overwrite` may replace in a database, and what stays as it was."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from databases import Place, empty, new_place

from core_mondrian import KAnonymity, OutputError, Spec, SpecError, Suppression
from core_mondrian.sources.sql.anonymize import anonymize_sql

pytest_plugins = ("support.database_places",)

SPEC = Spec(("age",), (KAnonymity(5),))
PEOPLE = pa.table({"age": [20 + i % 9 for i in range(90)], "note": range(90)})
VIEWS = (
    "CREATE VIEW most AS SELECT * FROM people WHERE note < 80",
    "CREATE VIEW fewer AS SELECT * FROM most WHERE note < 70",
    "CREATE TABLE ages AS SELECT DISTINCT age FROM people",
    "CREATE VIEW known AS SELECT * FROM ages WHERE age IN (SELECT age FROM people)",
)

# The source, and a target that it reads.
READ = {
    "the table": ("people", "people"),
    "a query": ("SELECT * FROM people", "people"),
    "a view": ("most", "people"),
    "a view itself": ("most", "most"),
    "a view of a view": ("fewer", "people"),
    "a view between": ("fewer", "most"),
    "a query of a view": ("SELECT * FROM fewer", "people"),
    "a query in a query": (
        "SELECT * FROM ages WHERE age IN (SELECT age FROM people)",
        "people",
    ),
    "a query in a view": ("known", "people"),
    "a table expression": (
        "WITH x AS (SELECT * FROM people) SELECT * FROM x",
        "people",
    ),
    "no row": ("SELECT * FROM people WHERE 1 = 0", "people"),
    "a count": ("SELECT count(*) AS age FROM people", "people"),
    "a join": ("SELECT a.* FROM ages AS a LEFT JOIN people AS b USING (age)", "people"),
    "a union": ("SELECT age FROM ages UNION SELECT age FROM people", "people"),
    "a join that changes nothing": (
        "SELECT a.* FROM ages AS a LEFT JOIN people AS b ON b.note = a.age",
        "people",
    ),
    "another alias": ("SELECT ages.age FROM people AS ages", "people"),
}


def refuse(place: Place, source: str, target: str, **more: Any) -> None:
    """Check that nothing is replaced, whatever is asked besides."""
    before = place.catalog(), place.fetch("SELECT * FROM people ORDER BY note")
    views = [False] if place.kind == "postgresql" else [False, True]
    for view in views:
        with pytest.raises(SpecError, match="the source reads what the target"):
            anonymize_sql(
                *(place.url, source, target, more.get("spec", SPEC)),
                overwrite=True,
                view=view and "spec" not in more,
            )
    assert before == (
        place.catalog(),
        place.fetch("SELECT * FROM people ORDER BY note"),
    )


@pytest.mark.parametrize("name", READ)
def test_what_the_source_reads_is_never_replaced(name: str, place: Place) -> None:
    place.load("people", PEOPLE)
    place.run(*VIEWS)

    refuse(place, *READ[name])


SPELLINGS = {
    "duckdb": [
        ("people", "PEOPLE"),
        ("SELECT * FROM People", "main.pEOPLE"),
        ("main.people", "people"),
        ("people.main.people", "people"),
        ("people", "people.main.people"),
        ("SELECT * FROM same()", "people"),
        ("SELECT * FROM query_table('people')", "people"),
        ("SELECT * FROM query('FROM people')", "people"),
        ("FROM people", "people"),
        ("other.looked", "other.people"),
    ],
    "sqlite": [
        ("people", "PEOPLE"),
        ("SELECT * FROM People", "main.pEOPLE"),
        ("main.people", "people"),
        ("SELECT * FROM main.people", "Main.people"),
        ("SELECT age, value AS note FROM people, json_each('[1, 2]')", "people"),
    ],
    "postgresql": [
        ("SELECT * FROM PEOPLE", "people"),
        ("public.people", "people"),
        ("people", "public.people"),
        ('SELECT * FROM "public".people', "people"),
        ("TABLE people", "people"),
    ],
}


@pytest.mark.parametrize("kind", SPELLINGS)
def test_names_of_the_source_may_be_spelled_otherwise(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place(kind, tmp_path, request)
    place.load("people", PEOPLE)
    if kind == "duckdb":
        place.run(
            "CREATE MACRO same() AS TABLE SELECT * FROM people",
            "CREATE SCHEMA other",
            "CREATE TABLE other.people AS SELECT * FROM people LIMIT 40",
            "CREATE VIEW other.looked AS SELECT * FROM other.people",
        )

    for source, target in SPELLINGS[kind]:
        if source.startswith("TABLE"):
            continue  # neither a name nor a query to us
        refuse(place, source, target)


@pytest.mark.parametrize(
    "beside", ["released_suppressed", "released_core_mondrian_lots"]
)
def test_what_stands_beside_the_target_is_never_replaced_if_it_is_read(
    beside: str, place: Place
) -> None:
    place.load("people", PEOPLE)
    place.run(f"CREATE TABLE {beside} AS SELECT * FROM people")
    spec = Spec(
        ("age",), (KAnonymity(5),), suppress=Suppression(rows=1), suppressed="separate"
    )

    refuse(place, f"SELECT * FROM {beside}", "released", spec=spec)


UNDECIDED = {
    "a function": (
        ["CREATE FUNCTION f(bigint) RETURNS bigint STABLE LANGUAGE plpgsql AS "
         "$$ BEGIN RETURN (SELECT count(*) FROM released WHERE age = $1); END $$"],
        "SELECT age, f(age) AS n FROM people",
    ),
    "a table function": (
        ["CREATE FUNCTION f() RETURNS SETOF people LANGUAGE sql AS "
         "$$ SELECT * FROM people $$"],
        "SELECT * FROM f()",
    ),
    "a function in a view": (
        ["CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS $$ SELECT 1 $$",
         "CREATE VIEW v AS SELECT age, f() AS n FROM people"],
        "v",
    ),
    "an operator": (
        ["CREATE FUNCTION f(bigint, bigint) RETURNS bigint LANGUAGE sql AS "
         "$$ SELECT count(*) FROM released $$",
         "CREATE OPERATOR ### (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = f)"],
        "SELECT age, age ### note AS n FROM people",
    ),
    "an aggregate": (
        ["CREATE FUNCTION f(bigint, bigint) RETURNS bigint LANGUAGE sql AS "
         "$$ SELECT count(*) FROM released $$",
         "CREATE AGGREGATE g (bigint) (SFUNC = f, STYPE = bigint)"],
        "SELECT age, g(note) OVER () AS n FROM people",
    ),
    "a query in a text": (
        ["CREATE VIEW v AS SELECT age, query_to_xml('SELECT 1', true, true, '')::text "
         "AS n FROM people"],
        "v",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDECIDED)
def test_functions_that_may_read_the_target_are_refused(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place("postgresql", tmp_path, request)
    statements, source = UNDECIDED[name]
    place.load("people", PEOPLE)
    place.run("CREATE TABLE released AS SELECT * FROM people", *statements)

    refuse(place, source, "released")
    anonymize_sql(place.url, source, "a_new_one", SPEC)


def test_parts_of_what_the_source_reads_are_never_replaced(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place("postgresql", tmp_path, request)
    place.run(
        "CREATE TABLE people (age integer, note integer) PARTITION BY RANGE (age)",
        "CREATE TABLE young PARTITION OF people FOR VALUES FROM (0) TO (25)",
        "CREATE TABLE old PARTITION OF people FOR VALUES FROM (25) TO (99)",
        "INSERT INTO people SELECT 20 + i % 9, i FROM generate_series(1, 90) AS i",
    )

    refuse(place, "SELECT * FROM people", "young")


ALLOWED = {
    "duckdb": [
        ("people", "other.people"),
        ("SELECT * FROM people WHERE age > 0", "other.people"),
        ("other.looked", "people2"),
    ],
    "sqlite": [("people", "people2"), ("SELECT * FROM people", "people2")],
    "postgresql": [
        ("people", "other.people"),
        ("SELECT *, lower('A') AS x FROM people", "other.people"),
        ("SELECT *, twice(note) AS x FROM people", "people2"),
    ],
}


@pytest.mark.parametrize("kind", ALLOWED)
def test_other_tables_are_replaced(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place(kind, tmp_path, request)
    place.load("people", PEOPLE)
    place.run("CREATE TABLE people2 AS SELECT 1 AS one")
    if kind != "sqlite":
        place.run(
            "DROP SCHEMA IF EXISTS other CASCADE",
            "CREATE SCHEMA other",
            "CREATE TABLE other.people AS SELECT * FROM people",
            "CREATE VIEW other.looked AS SELECT * FROM other.people",
        )
    if kind == "postgresql":
        place.run(
            "DROP VIEW other.looked",
            "CREATE FUNCTION twice(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS "
            "$$ SELECT 2 * $1 $$",
        )

    for source, target in ALLOWED[kind]:
        made = anonymize_sql(place.url, source, target, SPEC, overwrite=True)
        assert made.n_rows == 90
        rows = place.fetch(f"SELECT count(*) FROM {target}")
        assert rows == [(90,)]
    assert place.fetch("SELECT count(*) FROM people") == [(90,)]


def test_a_virtual_table_may_read_any_other(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = new_place("sqlite", tmp_path, request)
    place.load("people", PEOPLE)
    place.run(
        "CREATE VIRTUAL TABLE notes USING fts5(age, note)",
        "INSERT INTO notes SELECT age, note FROM people",
        "CREATE TABLE released AS SELECT * FROM people",
    )

    refuse(place, "notes", "released")


# Rights


def may(
    place: Place, what: str, column: str | None = None, who: str = "reader"
) -> bool:
    """Ask PostgreSQL what a role may do with the table `released`."""
    if column is None:
        query = f"SELECT has_table_privilege('{who}', 'released', '{what}')"
    else:
        query = (
            f"SELECT has_column_privilege('{who}', 'released', '{column}', '{what}')"
        )
    found: bool = place.fetch(query)[0][0]
    return found


@pytest.fixture
def roles(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    place = new_place("postgresql", tmp_path, request)
    names = ("reader", 'another "role"', "writer")
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    place.run(*(f"CREATE ROLE {name}" for name in quoted))
    yield place
    empty(place)
    place.run(
        "ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC",
        *(f"DROP OWNED BY {name}" for name in quoted),
        *(f"DROP ROLE {name}" for name in quoted),
    )


def test_grants_survive_that_a_table_is_replaced(roles: Place) -> None:
    place = roles
    place.load("people", PEOPLE)
    anonymize_sql(place.url, "people", "released", SPEC)
    place.run(
        "GRANT SELECT ON released TO reader WITH GRANT OPTION",
        'GRANT SELECT (age), UPDATE (note) ON released TO "another ""role"""',
        "GRANT INSERT, DELETE ON released TO writer",
    )

    for _ in range(2):
        anonymize_sql(place.url, "people", "released", SPEC, overwrite=True)

        assert may(place, "SELECT")
        assert may(place, "SELECT WITH GRANT OPTION")
        assert not may(place, "INSERT")
        assert may(place, "SELECT", "age", 'another "role"')
        assert may(place, "UPDATE", "note", 'another "role"')
        assert not may(place, "SELECT", "note", 'another "role"')
        assert may(place, "DELETE", who="writer")
        assert not may(place, "SELECT", who="writer")


def test_nobody_gets_more_rights_on_a_table_that_is_replaced(roles: Place) -> None:
    """Default privileges were revoked from the old table, and would come back."""
    place = roles
    place.load("people", PEOPLE)
    place.run("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
    anonymize_sql(place.url, "people", "released", SPEC)
    assert may(place, "SELECT")
    place.run(
        "REVOKE ALL ON released FROM PUBLIC", "GRANT SELECT ON released TO writer"
    )

    anonymize_sql(place.url, "people", "released", SPEC, overwrite=True)

    assert not may(place, "SELECT")
    assert may(place, "SELECT", who="writer")


def test_the_former_owner_keeps_the_rights_of_an_owner(roles: Place) -> None:
    place = roles
    place.load("people", PEOPLE)
    anonymize_sql(place.url, "people", "released", SPEC)
    place.run("ALTER TABLE released OWNER TO writer")

    anonymize_sql(place.url, "people", "released", SPEC, overwrite=True)

    assert all(may(place, what, who="writer") for what in ("SELECT", "DELETE"))


def test_a_table_with_row_level_security_is_not_replaced(roles: Place) -> None:
    """Its policies would be gone, and those who may read it would read more."""
    place = roles
    place.load("people", PEOPLE)
    anonymize_sql(place.url, "people", "released", SPEC)
    place.run("ALTER TABLE released ENABLE ROW LEVEL SECURITY")

    with pytest.raises(SpecError, match="row-level security"):
        anonymize_sql(place.url, "people", "released", SPEC, overwrite=True)

    assert place.catalog() == ["people", "released"]


def test_a_table_that_views_depend_on_is_not_replaced(roles: Place) -> None:
    place = roles
    place.load("people", PEOPLE)
    anonymize_sql(place.url, "people", "released", SPEC)
    place.run("CREATE VIEW reader AS SELECT * FROM released")

    with pytest.raises(OutputError, match="other objects depend on"):
        anonymize_sql(place.url, "people", "released", SPEC, overwrite=True)

    assert place.catalog() == ["people", "reader", "released"]


def test_the_target_is_made_in_the_first_schema_of_the_search_path(
    roles: Place,
) -> None:
    """A table of the same name in another schema is neither found nor dropped."""
    place = roles
    place.load("people", PEOPLE)
    place.run(
        "CREATE TABLE released AS SELECT 1 AS one",
        "DROP SCHEMA IF EXISTS tester CASCADE",
        "CREATE SCHEMA tester",
    )

    for overwrite in (False, True):
        made = anonymize_sql(place.url, "people", "released", SPEC, overwrite=overwrite)
        assert made.data == "released"

    assert place.fetch("SELECT count(*) FROM tester.released") == [(90,)]
    assert place.fetch("SELECT * FROM public.released") == [(1,)]
    place.run("DROP SCHEMA tester CASCADE")
