"""Tables in databases with more distinct tuples than fit into memory."""

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import files_in
from databases import Place

from core_mondrian import (
    BestPolicy,
    InfeasibleError,
    KAnonymity,
    PaperPolicy,
    Spec,
    SpecError,
    Suppression,
    anonymize,
)
from core_mondrian.datasets import adult, census
from core_mondrian.hierarchies.codes import Flat
from core_mondrian.models.distinct import DistinctLDiversity
from core_mondrian.models.population import KMap
from core_mondrian.models.t_closeness import TCloseness
from core_mondrian.release.result import PartedRelease
from core_mondrian.sources import counted_release
from core_mondrian.sources.memory import Limit
from core_mondrian.sources.sql import duckdb_file, planning, postgresql, sqlite_file
from core_mondrian.sources.sql import lookup_tables as maps
from core_mondrian.sources.sql.anonymize import anonymize_sql
from core_mondrian.sources.tuple_store import StoreLimits

pytest_plugins = ("support.database_places",)

ADULT = os.environ.get("CORE_MONDRIAN_ADULT")
KEY = b"a key of sixteen bytes"
QIDS = ("age", "sex", "education", "occupation")


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have room for so few tuples, and rows, that all of them come in many parts."""
    store = StoreLimits(memory=256 << 20, task_tuples=200, threads=2)
    monkeypatch.setattr(Limit, "tuples_in_memory", lambda *_: 40)
    monkeypatch.setattr(Limit, "store", lambda *_: store)
    monkeypatch.setattr(counted_release, "_AT_ONCE", 100)
    monkeypatch.setattr(maps, "rows_at_once", lambda *_: 60)
    monkeypatch.setattr(planning, "_AT_ONCE", 97)
    monkeypatch.setattr(maps, "_AT_ONCE", 31)
    monkeypatch.setattr(duckdb_file, "_BATCH", 128)
    monkeypatch.setattr(postgresql, "_BATCH", 4096)
    for name, size in (("_FETCHED", 50), ("_BATCH", 150)):
        monkeypatch.setattr(sqlite_file, name, size)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """1500 people with missing values, and two rows each."""
    rng = np.random.default_rng(0)
    table = census(1500, seed=3)
    ages = pa.array(table["age"].to_numpy(), mask=rng.random(1500) < 0.03)
    table = table.set_column(1, "age", ages)
    return table.append_column("person", pa.array([f"p{i // 2}" for i in range(1500)]))


SPECS = {
    "best": Spec(QIDS, (KAnonymity(5),)),
    "best, strong": Spec(QIDS, (KAnonymity(5),), policy=BestPolicy(effort="strong")),
    "best, few columns": Spec(("age", "sex"), (KAnonymity(30),)),
    "paper": Spec(QIDS, (KAnonymity(5),), policy=PaperPolicy()),
    "diversity": Spec(
        QIDS,
        (KAnonymity(3), DistinctLDiversity(2, "income")),
        identifiers=("person_id",),
    ),
    "closeness": Spec(
        QIDS,
        (KAnonymity(3), TCloseness(0.4, "hours_per_week")),
        policy=PaperPolicy(),
    ),
    "unit": Spec(QIDS, (KAnonymity(5),), unit="person"),
    "unit and pseudonym": Spec(
        QIDS, (KAnonymity(5),), unit="person", pseudonyms=("person",)
    ),
    "bounds": Spec(QIDS, (KAnonymity(4),), numbers="bounds", class_id="class"),
    "blank": Spec(
        QIDS,
        (KAnonymity(8), DistinctLDiversity(2, "income")),
        policy=PaperPolicy(),
        suppress=Suppression(rows=150),
        suppressed="blank",
        pseudonyms=("person",),
        class_id="class",
    ),
    "separate": Spec(
        QIDS,
        (KAnonymity(8),),
        policy=PaperPolicy(),
        suppress=Suppression(rows=150),
        suppressed="separate",
    ),
    "pattern": Spec(QIDS, (KAnonymity(5),), missing="pattern", identifiers=("person",)),
    "codes": Spec(QIDS, (KAnonymity(5),), hierarchies={"age": Flat()}),
}


def rows_of(place: Place, name: str) -> Counter[tuple[Any, ...]]:
    return Counter(place.fetch(f'SELECT * FROM "{name}"'))


@pytest.mark.parametrize("name", SPECS)
def test_parts_release_what_memory_does(
    name: str, place: Place, people: pa.Table, request: pytest.FixtureRequest
) -> None:
    place.load("people", people)
    spec = SPECS[name]
    whole = anonymize_sql(place.url, "people", "whole", spec, key=KEY)
    request.getfixturevalue("in_parts")

    found = anonymize_sql(place.url, "people", "parts", spec, key=KEY)

    assert isinstance(found, PartedRelease)
    assert not isinstance(whole, PartedRelease)
    assert found.digest == whole.digest == anonymize(people, spec, key=KEY).digest
    assert found.manifest() == whole.manifest()
    assert rows_of(place, "parts") == rows_of(place, "whole")
    if spec.suppressed == "separate":
        apart = rows_of(place, "parts_suppressed")
        assert apart == rows_of(place, "whole_suppressed")


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("name", ["best", "best, few columns", "bounds"])
def test_a_view_of_parts_shows_what_memory_does(
    name: str, file_place: Place, people: pa.Table
) -> None:
    file_place.load("people", people)
    spec = SPECS[name]

    anonymize_sql(file_place.url, "people", "parts", spec, key=KEY, view=True)

    assert sum(rows_of(file_place, "parts").values()) == people.num_rows
    file_place.run("DELETE FROM people WHERE age = 40")
    assert not rows_of(file_place, "parts")


@pytest.fixture
def in_large_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    store = StoreLimits(memory=256 << 20, task_tuples=4_000, threads=2)
    monkeypatch.setattr(Limit, "tuples_in_memory", lambda *_: 1_000)
    monkeypatch.setattr(Limit, "store", lambda *_: store)
    monkeypatch.setattr(counted_release, "_AT_ONCE", 2_000)


POLICIES = {
    "paper": PaperPolicy(),
    "best": BestPolicy(),
    "strong": BestPolicy(effort="strong"),
}


@pytest.mark.usefixtures("in_large_parts")
@pytest.mark.skipif(ADULT is None, reason="CORE_MONDRIAN_ADULT is not set")
@pytest.mark.parametrize("policy", POLICIES)
def test_adult_in_parts_has_the_digest_it_has_in_memory(
    place: Place, policy: str
) -> None:
    table = adult(ADULT)
    names = ("age", "sex", "race", "education", "marital-status", "occupation")
    spec = Spec(names, (KAnonymity(10),), policy=POLICIES[policy])
    place.load("adult", table)

    found = anonymize_sql(place.url, "adult", "released", spec)

    assert isinstance(found, PartedRelease)
    assert found.digest == anonymize(table, spec).digest


@pytest.mark.usefixtures("in_large_parts")
@pytest.mark.parametrize("policy", POLICIES)
def test_a_census_in_parts_has_the_digest_it_has_in_memory(
    place: Place, policy: str
) -> None:
    table = census(20_000, seed=2)
    names = (*QIDS, "marital_status", "hours_per_week")
    models = (KAnonymity(5), DistinctLDiversity(2, "income"))
    spec = Spec(names, models, policy=POLICIES[policy], identifiers=("person_id",))
    place.load("people", table)

    found = anonymize_sql(place.url, "people", "released", spec)

    assert isinstance(found, PartedRelease)
    assert found.digest == anonymize(table, spec).digest


ODD = {
    "numbers of any scale": (
        ["1.5", "2.25", "10.125", "7", "NaN", None] * 30,
        {"duckdb": "DOUBLE", "sqlite": "NUMERIC", "postgresql": "numeric"},
    ),
    "days": (
        [f"2001-01-{1 + i % 28:02d}" for i in range(150)] + [None] * 30,
        {"duckdb": "DATE", "sqlite": "DATE", "postgresql": "date"},
    ),
    "times": (
        [f"2001-01-01 10:{i % 60:02d}:00" for i in range(150)] + [None] * 30,
        {"duckdb": "TIMESTAMP", "sqlite": "TIMESTAMP", "postgresql": "timestamp"},
    ),
    "texts after many missing ones": (
        [None] * 90 + [f"t{i % 9}" for i in range(90)],
        {"duckdb": "VARCHAR", "sqlite": "TEXT", "postgresql": "text"},
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_types_are_the_same_in_all_batches(
    name: str, place: Place, request: pytest.FixtureRequest
) -> None:
    cells, kinds = ODD[name]
    rows = ", ".join(
        f"({i % 60}, {'NULL' if cell is None else repr(cell)}, {i})"
        for i, cell in enumerate(cells)
    )
    place.run(
        f"CREATE TABLE people (a integer, b {kinds[place.kind]}, c integer)",
        f"INSERT INTO people VALUES {rows}",
    )
    spec = Spec(("a", "b"), (KAnonymity(4),), pseudonyms=("c",))
    whole = anonymize_sql(place.url, "people", "whole", spec, key=KEY)
    request.getfixturevalue("in_parts")

    found = anonymize_sql(place.url, "people", "parts", spec, key=KEY)

    assert isinstance(found, PartedRelease)
    assert found.manifest() == whole.manifest()
    assert rows_of(place, "parts") == rows_of(place, "whole")


NEEDS_ALL = {
    "equity": Spec(QIDS, (KAnonymity(5),), policy=BestPolicy(equity="race")),
    "a weight": Spec(QIDS, (KAnonymity(5),), weight="hours_per_week"),
    "a population": Spec(QIDS, (KMap(5, census(3000).select(QIDS)),)),
}


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("name", NEEDS_ALL)
def test_what_needs_all_tuples_is_refused_before_they_are_read(
    name: str, place: Place, people: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.load("people", people)
    monkeypatch.delattr(planning.TupleFile, "_values")

    with pytest.raises(SpecError, match=f"^{name} needs all distinct tuples in memory"):
        anonymize_sql(place.url, "people", "released", NEEDS_ALL[name])
    with pytest.raises(SpecError, match=r"^--by needs all distinct tuples in memory"):
        anonymize_sql(place.url, "people", "released", SPECS["best"], by=["sex"])

    assert place.catalog() == ["people"]


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("end", ["done", "infeasible", "interrupted", "failed"])
def test_nothing_stays_on_disk(
    end: str, place: Place, people: pa.Table, tmp_path: Path, monkeypatch: Any
) -> None:
    place.load("people", people)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = files_in(tmp_path)
    spec = SPECS["best"]
    seen: set[str] = set()

    def look(stage: str, _done: float) -> None:
        parent = folder if place.kind == "postgresql" else tmp_path
        for hidden in parent.glob(".core-mondrian-*"):
            assert hidden.stat().st_mode & 0o777 == 0o700
            seen.update(path.name for path in hidden.iterdir())
        if stage == "verify" and end == "interrupted":
            raise KeyboardInterrupt
        if stage == "verify" and end == "failed":
            raise InfeasibleError("made up")

    if end == "done":
        anonymize_sql(place.url, "people", "released", spec, progress=look)
    else:
        k = 5 if end != "infeasible" else 5000
        spec = Spec(QIDS, (KAnonymity(k),))
        kinds = (KeyboardInterrupt, InfeasibleError)
        with pytest.raises(kinds):
            anonymize_sql(place.url, "people", "released", spec, progress=look)
        assert place.catalog() == ["people"]

    assert {"counted", "store"} <= seen or end == "infeasible"
    assert files_in(tmp_path) == before
    assert list(folder.iterdir()) == []


def test_what_a_killed_run_left_is_removed_by_the_next(
    place: Place, people: pa.Table, tmp_path: Path, monkeypatch: Any
) -> None:
    place.load("people", people)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / ".core-mondrian-0123456789abcdef.drafts"
    left.mkdir(mode=0o700)
    (left / "counted").write_text("codes of somebody")

    anonymize_sql(place.url, "people", "released", SPECS["best"])

    assert not left.exists()
