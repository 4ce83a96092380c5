"""Cells of every named column are read in one way, in the run and in verify."""

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command

from core_mondrian import (
    PrivacyViolation,
    Spec,
    SpecError,
    Suppression,
    anonymize,
    verify,
)
from core_mondrian.models import (
    DistinctLDiversity,
    KAnonymity,
    PrivacyModel,
    TCloseness,
)
from core_mondrian.sources.files.run import anonymize_files
from core_mondrian.sources.sql.anonymize import anonymize_sql
from core_mondrian.tables.files.read import read_table

KINDS = ("memory", "csv", "parquet", "stream", "sqlite")


def released(
    kind: str, folder: Path, columns: dict[str, list[Any]], spec: Spec
) -> pa.Table:
    """Return what a run makes of columns of text that come from some source."""
    table = pa.table({name: pa.array(c, pa.string()) for name, c in columns.items()})
    if kind == "memory":
        return anonymize(table, spec).data
    if kind == "sqlite":
        return in_sqlite(folder, table, spec)
    source = folder / ("in.parquet" if kind == "parquet" else "in.csv")
    if kind == "parquet":
        pq.write_table(table, source)
        return anonymize(read_table(source), spec).data
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(row) for row in rows)]
    source.write_text("\n".join(lines) + "\n")
    if kind == "csv":
        read = read_table(
            source, typed=spec.quasi_identifiers, null_values=spec.null_values
        )
        return anonymize(read, spec).data
    anonymize_files(source, folder / "out.csv", spec)
    return read_table(folder / "out.csv", typed=())


def in_sqlite(folder: Path, table: pa.Table, spec: Spec) -> pa.Table:
    file = folder / "people.sqlite"
    connection = sqlite3.connect(file)
    names = ", ".join(f"{name} TEXT" for name in table.column_names)
    connection.execute(f"CREATE TABLE people ({names})")
    rows = [tuple(row.values()) for row in table.to_pylist()]
    marks = ", ".join("?" * len(table.column_names))
    connection.executemany(f"INSERT INTO people VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    anonymize_sql(file, "people", "released", spec)
    connection = sqlite3.connect(file)
    cursor = connection.execute("SELECT * FROM released")
    names_out = [item[0] for item in cursor.description]
    found = [dict(zip(names_out, row, strict=True)) for row in cursor]
    connection.close()
    return pa.Table.from_pylist(found)


def of(columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(c, pa.string()) for name, c in columns.items()})


# Sensitive columns


def test_null_values_reach_sensitive_columns() -> None:
    data = of({"zip": list("aaaabbbb"), "s": ["HIV", "NA"] * 4})
    model = DistinctLDiversity(2, "s", "ignored")
    spec = Spec(("zip",), (model,), null_values=("NA",))

    assert verify(data, Spec(("zip",), (model,))).n_classes == 2
    with pytest.raises(PrivacyViolation, match="2-diversity"):
        verify(data, spec)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_of_one_value_and_nulls_is_not_diverse(
    kind: str, tmp_path: Path
) -> None:
    # Cut by zip, one side would have HIV and NA, the other HIV and flu.
    columns = {"zip": list("aaaabbbb"), "s": ["HIV", "NA"] * 2 + ["HIV", "flu"] * 2}
    model = DistinctLDiversity(2, "s", "ignored")
    spec = Spec(("zip",), (KAnonymity(2), model), null_values=("NA",))

    found = released(kind, tmp_path, columns, spec)

    assert len(set(found["zip"].to_pylist())) == 1
    # What is shown is what came, also where it counts as missing.
    assert sorted(found["s"].to_pylist()) == sorted(columns["s"])


@pytest.mark.parametrize("kind", KINDS)
def test_spellings_of_one_number_are_one_value(kind: str, tmp_path: Path) -> None:
    columns = {"zip": list("aabb"), "s": ["50000", "5e4", "50000.0", "7"]}
    spec = Spec(("zip",), (KAnonymity(2), DistinctLDiversity(2, "s")))

    found = released(kind, tmp_path, columns, spec)

    assert len(set(found["zip"].to_pylist())) == 1
    assert sorted(found["s"].to_pylist()) == sorted(columns["s"])
    with pytest.raises(PrivacyViolation):
        verify(of(columns), spec)


@pytest.mark.parametrize("odd", ["n/a", "1,000"])
@pytest.mark.parametrize("kind", ["memory", "parquet", "sqlite"])
def test_ordered_closeness_refuses_what_has_no_order(
    kind: str, odd: str, tmp_path: Path
) -> None:
    # By alphabet 10 is next to 1, and classes look alike that are not.
    salaries = [str(i) for i in (*range(1, 10), 10)] + [odd]
    columns = {"zip": ["a"] * 5 + ["b"] * 6, "s": salaries}
    spec = Spec(("zip",), (TCloseness(0.5, "s", "ordered"),))

    with pytest.raises(SpecError, match="without an order") as caught:
        released(kind, tmp_path, columns, spec)
    assert odd not in caught.value.message
    with pytest.raises(SpecError, match="without an order"):
        verify(of(columns), spec)


def test_ordered_closeness_ranks_numbers_once_the_odd_text_is_missing() -> None:
    values = [str(i) for i in range(1, 13)]
    columns = {"zip": ["a"] * 6 + ["b"] * 6, "s": values}
    model = TCloseness(0.9, "s", "ordered", missing="ignored")
    expected = verify(of(columns), Spec(("zip",), (model,))).models[0].reached
    columns = {"zip": [*columns["zip"], "a"], "s": [*values, "n/a"]}

    found = verify(of(columns), Spec(("zip",), (model,), null_values=("n/a",)))

    assert found.models[0].reached == pytest.approx(expected) == pytest.approx(3 / 11)


# Units


@pytest.mark.parametrize("kind", KINDS)
def test_spellings_of_one_person_are_one_person(kind: str, tmp_path: Path) -> None:
    columns = {
        "zip": list("aaabbb"),
        "who": ["1", "1.0", "1e0", "2", "3", "4"],
        "more": list("uvwxyz"),
    }
    spec = Spec(("zip",), (KAnonymity(3),), unit="who")

    found = released(kind, tmp_path, columns, spec)

    assert len(set(found["zip"].to_pylist())) == 1
    with pytest.raises(PrivacyViolation, match="1 persons"):
        verify(of(columns), spec)


# Blank rows


def blank(**more: Any) -> Spec:
    return Spec(
        ("zip",),
        (KAnonymity(2), DistinctLDiversity(2, "s")),
        suppressed="blank",
        suppress=Suppression(rows=1),
        **more,
    )


def test_a_blank_row_that_shows_its_diagnosis_fails() -> None:
    rows = {"zip": [*"aaaa", None], "s": [*"uvuv", None]}

    assert verify(of(rows), blank(), budget=1).n_suppressed_blank == 1
    with pytest.raises(PrivacyViolation):
        verify(of({**rows, "s": [*"uvuv", "HIV"]}), blank(), budget=1)


def test_a_blank_row_that_shows_its_pseudonym_fails() -> None:
    name = "0123456789abcdef" * 4
    hidden = [name[:32]] * 4
    spec = blank(pseudonyms=("who",))
    rows = {"zip": [*"aaaa", None], "s": [*"uvuv", None], "who": [*hidden, None]}

    assert verify(of(rows), spec, budget=1).n_suppressed_blank == 1
    with pytest.raises(PrivacyViolation):
        verify(of({**rows, "who": [*hidden, hidden[0]]}), spec, budget=1)


# Columns beside quasi-identifiers


def test_exact_bounds_beside_a_number_fail() -> None:
    ages = pa.array([31, 35, 33, 38])
    data = pa.table({"age": ["[31, 38]"] * 4, "age_min": ages, "age_max": ages})

    for numbers in ("interval", "bounds"):
        spec = Spec(("age",), (KAnonymity(4),), numbers=numbers)  # type: ignore[arg-type]
        assert verify(data.select(["age"]), spec).smallest_class == 4
        with pytest.raises(PrivacyViolation):
            verify(data, spec)


def test_columns_named_like_bounds_are_not_carried() -> None:
    data = pa.table({"age": list(range(8)), "age_max": list(range(8))})
    spec = Spec(("age",), (KAnonymity(4),))

    with pytest.raises(SpecError, match="called like bounds"):
        anonymize(data, spec)
    known = Spec(("age",), (KAnonymity(4),), accept=("age_max",))
    assert anonymize(data, known).verification.smallest_class == 4


def test_a_class_number_that_divides_a_class_fails() -> None:
    spec = Spec(("zip",), (KAnonymity(2),), class_id="class")
    data = pa.table({"zip": list("aabb"), "class": [0, 0, 1, 1]})

    assert verify(data, spec).n_classes == 2
    with pytest.raises(PrivacyViolation):
        verify(data.set_column(1, "class", pa.array([0, 1, 2, 3])), spec)


# What is read back


def test_empty_text_next_to_missing_is_one_value_in_every_format(
    cli: Command, tmp_path: Path
) -> None:
    # In memory "" and a missing value differ; in a CSV file they are the same.
    values = pa.array(["", None] * 4 + ["x", "y"] * 4, pa.string())
    table = pa.table({"zip": ["a"] * 8 + ["b"] * 8, "s": values})
    pq.write_table(table, tmp_path / "in.parquet")
    flags = ("--qid", "zip", "--k", 2)
    flags += ("--model", "distinct-l-diversity l=2 sensitive=s")

    for name in ("out.csv", "out.parquet", "out.arrow"):
        assert cli("anonymize", "in.parquet", name, *flags).code == 0
        assert cli("verify", name, *flags).code == 0


def test_a_file_that_is_read_back_otherwise_is_not_published(
    cli: Command, tmp_path: Path
) -> None:
    # 999 is a number in Parquet, and missing in a CSV file: the reader sees one value.
    table = pa.table({"zip": list("aabb"), "s": [1, 999, 1, 999]})
    pq.write_table(table, tmp_path / "in.parquet")
    flags = ("--qid", "zip", "--k", 2, "--null", "999")
    flags += ("--model", "distinct-l-diversity l=2 sensitive=s missing=ignored")

    assert cli("anonymize", "in.parquet", "out.parquet", *flags).code == 0
    done = cli("anonymize", "in.parquet", "out.csv", *flags)

    assert done.code == 5
    assert "what was written fails" in done.err
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "out.csv.manifest.json").exists()


# The verifier's own definitions


def test_the_verifier_does_not_ask_the_engines_measure(monkeypatch: Any) -> None:
    data = of({"zip": list("aabb"), "s": list("xyxx")})
    spec = Spec(("zip",), (DistinctLDiversity(2, "s"),))

    def everything_passes(*_arguments: object) -> float:
        return 1e9

    monkeypatch.setattr(DistinctLDiversity, "measure", staticmethod(everything_passes))
    monkeypatch.setattr(PrivacyModel, "passes", lambda _, c: c.rows > 0)

    with pytest.raises(PrivacyViolation):
        verify(data, spec)


def test_no_message_holds_a_cell() -> None:
    data = of({"zip": list("aabb"), "s": [CANARY, "1", "2", "3"]})

    with pytest.raises(SpecError) as caught:
        anonymize(data, Spec(("zip",), (TCloseness(0.9, "s", "ordered"),)))

    assert CANARY not in str(caught.value)
