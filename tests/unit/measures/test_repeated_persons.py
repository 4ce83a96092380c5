"""Persons with several rows: the unit is found, counted, or warned about."""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from conftest import Frame
from databases import Place
from hospital import hospital, persons_by_class
from hypothesis import given
from hypothesis import strategies as st

from core_mondrian import (
    BestPolicy,
    KAnonymity,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    anonymize_files,
    verify,
)
from core_mondrian.analysis.attacks import attack
from core_mondrian.analysis.suggest import guess_roles
from core_mondrian.measures import disclosure_warnings as concerns
from core_mondrian.measures.disclosure_warnings import count_repeats
from core_mondrian.sources.sql.anonymize import anonymize_sql
from core_mondrian.spec.toml_file import load_spec
from core_mondrian.studio.reading import read_draft
from core_mondrian.tables.files.write import write_table
from core_mondrian.verification.counting import Coded

NAMES = ["age", "sex", "region"]
ROWS = Spec(
    tuple(NAMES),
    (KAnonymity(5),),
    identifiers=("ssn",),
    policy=BestPolicy(disjoint=True),  # no two rows compete for a class
)
PERSONS = replace(ROWS, unit="ssn")


def small_classes(release: Any, table: pa.Table) -> tuple[int, int]:
    sizes = persons_by_class(release.data, NAMES, table["ssn"])
    return sum(n < 5 for n in sizes), len(sizes)


def made_by(suffix: str, table: pa.Table, spec: Spec, folder: Path) -> Any:
    """Return the release that the engine for such files makes."""
    source = folder / f"in{suffix}"
    if suffix in (".csv", ".parquet"):
        write_table(table, source)
        return anonymize_files(source, folder / f"out{suffix}", spec)
    place = Place(suffix[1:], str(source))
    if suffix == ".duckdb":
        duckdb.connect(source).close()
    else:
        place.run("PRAGMA user_version = 1")
    place.load("visits", table)
    return anonymize_sql(source, "visits", "released", spec)


def test_an_identifier_that_repeats_without_a_unit_is_warned_about(
    frame_kind: Frame,
) -> None:
    table = hospital()

    release = anonymize(frame_kind(table), ROWS)

    (one,) = release.warnings
    few, n_classes = small_classes(anonymize(table, ROWS), table)
    assert few > 100
    assert (one.column, one.why) == ("ssn", "persons")
    assert f"{few:,} of {n_classes:,} classes hold fewer than 5 persons" in one.text
    assert "of its 1,900 values have several rows" in one.text
    assert "unit = 'ssn'" in one.text


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".duckdb", ".sqlite"])
def test_every_engine_warns_about_persons_alike(suffix: str, tmp_path: Path) -> None:
    table = hospital()
    wanted = anonymize(table, ROWS).warnings

    assert made_by(suffix, table, ROWS, tmp_path).warnings == wanted


def test_nothing_is_published_of_a_hidden_identifier() -> None:
    release = anonymize(hospital(), ROWS)

    assert "warnings" not in release.manifest()
    (mine,) = release.record()["warnings"]
    assert (mine["column"], mine["why"]) == ("ssn", "persons")
    assert "classes hold fewer than 5 persons" in mine["text"]
    assert "classes hold fewer than 5 persons" in release.report_html()


def test_the_warning_can_be_accepted() -> None:
    release = anonymize(hospital(), replace(ROWS, accept=("ssn",)))

    (one,) = release.warnings
    assert one.accepted


def test_with_a_unit_persons_are_counted_and_nobody_is_warned() -> None:
    table = hospital()

    release = anonymize(table, PERSONS)

    assert release.warnings == ()
    assert release.data.column_names == [*NAMES, "diagnosis"]
    sizes = persons_by_class(release.data, NAMES, table["ssn"])
    assert min(sizes) >= 5
    found = release.verification
    assert (found.n_persons, found.fewest_persons) == (1900, min(sizes))
    assert found.smallest == f"{min(sizes)} persons"


def test_one_row_each_needs_no_warning() -> None:
    table = hospital(1900)

    assert anonymize(table, ROWS).warnings == ()


@pytest.mark.parametrize("hidden", [("unit",), ("identifiers", "unit")])
def test_a_unit_may_be_an_identifier(hidden: tuple[str, ...], tmp_path: Path) -> None:
    table = hospital()
    given: dict[str, Any] = {"unit": "ssn"}
    if "identifiers" in hidden:
        given["identifiers"] = ("ssn",)
    spec = Spec(tuple(NAMES), (KAnonymity(5),), policy=ROWS.policy, **given)
    in_memory = anonymize(table, spec)
    write_table(table, tmp_path / "in.parquet")

    made = anonymize_files(tmp_path / "in.parquet", tmp_path / "out.parquet", spec)

    assert made.digest == in_memory.digest == anonymize(table, PERSONS).digest
    assert made.verification == in_memory.verification
    joined = in_memory.data.append_column("ssn", table["ssn"])
    assert verify(joined, spec).fewest_persons == made.verification.fewest_persons


def test_files_and_the_studio_take_a_unit_that_is_an_identifier(
    tmp_path: Path,
) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(
        'quasi_identifiers = ["age", "sex", "region"]\nk = 5\n'
        'identifiers = ["ssn"]\nunit = "ssn"\n'
    )

    assert load_spec(file).unit == "ssn"

    asked = tomllib.loads(file.read_text())
    draft = read_draft(asked, hospital(50, 20).column_names, tmp_path)
    assert draft.columns_of("unit") == ["ssn"]
    assert draft.columns_of("identifier") == []


def test_other_roles_still_exclude_each_other() -> None:
    for more in (
        {"unit": "age"},
        {"identifiers": ("ssn",), "pseudonyms": ("ssn",)},
        {"identifiers": ("ssn",), "pseudonyms": ("ssn",), "unit": "ssn"},
        {"unit": "ssn", "weight": "ssn"},
    ):
        with pytest.raises(SpecError, match="named twice"):
            Spec(tuple(NAMES), (KAnonymity(5),), **more)  # type: ignore[arg-type]


def renamed(new: str, values: Callable[[str], object]) -> pa.Table:
    table = hospital()
    own = pa.array([values(x) for x in table["ssn"].to_pylist()])
    return table.set_column(0, new, own)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        pytest.param("ssn", hospital(), id="ssn"),
        pytest.param("e_mail", renamed("e_mail", lambda x: f"{x}@a.org"), id="mail"),
        pytest.param("x", renamed("x", lambda x: f"{x}@a.org"), id="by pattern"),
        pytest.param("mrn", renamed("mrn", lambda x: int(x[-4:])), id="record number"),
        pytest.param("nr", renamed("nr", lambda x: int(x[-4:])), id="by content"),
    ],
)
def test_init_makes_an_identifier_that_repeats_the_unit(
    name: str, table: pa.Table
) -> None:
    roles = {guess.name: guess.role for guess in guess_roles(table)}

    assert roles[name] == "unit"
    assert Counter(roles.values())["unit"] == 1


def test_init_takes_no_unit_where_every_row_is_a_person() -> None:
    table = hospital(1900).append_column("surname", pa.array(["Smith", "Li"] * 950))

    roles = {guess.name: guess.role for guess in guess_roles(table)}

    assert roles["ssn"] == roles["surname"] == "identifier"
    assert "unit" not in roles.values()


def test_attack_counts_rows_or_persons_and_says_which() -> None:
    table = hospital()
    raw = table.set_column(1, "age", table["age"].cast(pa.string()))
    alone = Counter(zip(*(raw[name].to_pylist() for name in NAMES), strict=True))

    rows = attack(raw.drop_columns(["ssn"]), table, ROWS)
    persons = attack(raw.drop_columns(["ssn"]), table, PERSONS)

    assert (rows.n_people, rows.who) == (5000, "rows")
    assert (persons.n_people, persons.who) == (1900, "persons")
    linked, found = (one.named("linkage")[0] for one in (rows, persons))
    assert "rows of 5,000" in linked.sentence
    assert "persons of 1,900" in found.sentence
    few: set[str] = set()
    cells = zip(*(raw[name].to_pylist() for name in NAMES), strict=True)
    for key, who in zip(cells, table["ssn"].to_pylist(), strict=True):
        if alone[key] < 5:
            few.add(who)
    assert found.numbers["above"] == len(few) < linked.numbers["above"]


TRIPLES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=30
)


@given(TRIPLES)
def test_repeats_agree_with_a_plain_count(pairs: list[tuple[int, int]]) -> None:
    """Value 5 is missing."""
    values, units = (np.array(x, dtype=np.int64) for x in zip(*pairs, strict=True))
    owners: dict[int, set[int]] = defaultdict(set)
    filled = [(v, u) for v, u in pairs if v != 5]
    for v, u in filled:
        owners[v].add(u)
    rows = Counter(v for v, _ in filled)

    by_row = count_repeats(Coded(values, 6))
    by_person = count_repeats(Coded(values, 6), Coded(units, 6))

    assert (by_row.n_filled, by_row.n_values) == (len(filled), len(rows))
    assert by_row.n_alone == sum(n == 1 for n in rows.values())
    assert by_person.n_filled == len({u for _, u in filled})
    alone = {next(iter(who)) for who in owners.values() if len(who) == 1}
    assert by_person.n_alone == len(alone)


def with_codes(table: pa.Table) -> pa.Table:
    """Add a column that is unique to a third of the rows, and one of two values."""
    n = table.num_rows
    code = np.where(np.arange(n) % 3 == 0, np.arange(n), 0)
    band = np.where(np.arange(n) % 7 == 0, "high", "low")
    return table.append_column("code", pa.array(code)).append_column(
        "band", pa.array(band)
    )


@pytest.mark.parametrize("unit", [None, "ssn"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".duckdb", ".sqlite"])
def test_columns_that_single_out_are_counted_alike_in_every_engine(
    suffix: str, unit: str | None, tmp_path: Path
) -> None:
    table = with_codes(hospital(2000, 900))
    spec = replace(ROWS, unit=unit, suppress=Suppression(rows=40))
    in_memory = anonymize(table, spec)
    wanted = [one for one in in_memory.warnings if one.why == "singles-out"]

    made = made_by(suffix, table, spec, tmp_path)

    assert made.warnings == in_memory.warnings
    (one,) = wanted
    assert one.column == "code"
    kept = in_memory.data
    if unit is None:
        values = Counter(kept["code"].to_pylist())
        alone = sum(n == 1 for n in values.values())
        assert f"{alone:,} of {kept.num_rows:,} rows by itself" in one.text
    else:
        assert "persons by itself" in one.text


def test_classes_of_large_tables_are_estimated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = hospital(8000, 3000)
    few, n_classes = small_classes(anonymize(table, ROWS), table)
    monkeypatch.setattr(concerns, "_MOST_ROWS", 4000)

    release = anonymize(table, ROWS)

    (one,) = release.warnings
    said = one.text.split("by its values, about ")[1].split(" of ")
    assert said[1].startswith(f"{n_classes:,} classes")
    assert abs(int(said[0].replace(",", "")) - few) < 0.1 * n_classes
    write_table(table, tmp_path / "in.parquet")
    made = anonymize_files(tmp_path / "in.parquet", tmp_path / "out.parquet", ROWS)
    assert made.warnings == release.warnings
