"""The command line: first specs, schema, keys and warnings; no value is told."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, in_process
from hospital import hospital, persons_by_class

from core_mondrian.datasets import adult, census
from core_mondrian.spec.json_schema import spec_schema

KEY = "CANARY-2207-secret-key"
ADULT = os.environ.get("CORE_MONDRIAN_ADULT")


@pytest.fixture
def cli(capfd: Any, monkeypatch: Any, tmp_path: Path) -> Command:
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORE_MONDRIAN_KEY", raising=False)
    return in_process(capfd)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rows = range(60)
    table = pa.table(
        {
            "patient": [f"{CANARY} {i // 2}" for i in rows],
            "age": [20 + i % 20 for i in rows],
            "contact": [f"{CANARY}.{i % 9}@example.org" for i in rows],
        }
    )
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    return path


FLAGS = ("--qid", "age", "--k", 3)
HIDDEN = (*FLAGS, "--pseudonym", "patient")


def manifest(name: str = "out.parquet") -> Any:
    text = Path(f"{name}.manifest.json").read_text()
    assert CANARY not in text
    return json.loads(text)


def record(name: str = "out.parquet") -> Any:
    text = Path(f"{name}.owner.json").read_text()
    assert CANARY not in text
    return json.loads(text)


# Keys


def test_the_key_comes_from_a_file_or_the_environment(
    cli: Command, people: Path, monkeypatch: Any
) -> None:
    Path("key").write_text(KEY + "\r\n")
    read = cli("anonymize", people, "a.parquet", *HIDDEN, "--key-file", "key")
    monkeypatch.setenv("CORE_MONDRIAN_KEY", KEY)
    found = cli("anonymize", people, "b.parquet", *HIDDEN)
    unused = cli("anonymize", people, "c.parquet", *FLAGS, "--identifier", "patient")

    assert (read.code, found.code, unused.code) == (0, 0, 0), read.err
    one, other = pq.read_table("a.parquet"), pq.read_table("b.parquet")
    assert one.equals(other)
    assert all(len(x) == 32 for x in one["patient"].to_pylist())
    assert len(set(one["patient"].to_pylist())) == 30
    assert manifest("a.parquet") == manifest("b.parquet")
    assert cli("verify", "a.parquet", *FLAGS).code == 0


@pytest.mark.parametrize(
    ("content", "more", "told"),
    [
        pytest.param(None, HIDDEN, "need a key", id="none"),
        pytest.param("", HIDDEN, "fewer than 16", id="empty"),
        pytest.param("CANARY-2207", HIDDEN, "has 11 bytes", id="short"),
    ],
)
def test_bad_keys_are_refused_before_any_work(
    cli: Command, content: str | None, more: tuple[Any, ...], told: str
) -> None:
    if content is not None:
        Path("key").write_text(content)
        more = (*more, "--key-file", "key")

    done = cli("anonymize", "no-such-table.csv", "out.csv", *more)

    assert done.code == 2
    assert told in done.err


def test_an_unreadable_key_file_is_told(cli: Command, people: Path) -> None:
    done = cli("anonymize", people, "out.csv", *HIDDEN, "--key-file", "none")

    assert done.code == 2
    assert "key file none: No such file" in done.err


def test_advise_needs_no_key(cli: Command, people: Path) -> None:
    done = cli("advise", people, "--qid", "age", "--k", "3", "--pseudonym", "patient")

    assert done.code == 0, done.err


# Warnings and weights


def test_warnings_are_told_unless_accepted(cli: Command, people: Path) -> None:
    flags = (*FLAGS, "--identifier", "patient")

    done = cli("anonymize", people, "out.parquet", *flags)
    accepted = ("--accept", "contact", "--accept", "patient")
    known = cli("anonymize", people, "b.parquet", *flags, *accepted)

    assert "warning     'contact' looks like e-mail addresses (HIPAA 6)" in done.err
    assert "warning" not in known.err
    told = [(x["column"], x["why"], x["accepted"]) for x in record()["warnings"]]
    assert told == [
        ("patient", "persons", False),
        ("contact", "identifier", False),
        ("contact", "persons", False),
        ("contact", "singles-out", False),
    ]
    assert all(x["accepted"] for x in record("b.parquet")["warnings"])


def test_weights_are_measured(cli: Command, tmp_path: Path) -> None:
    lines = [f"{20 + i % 9},{i % 3 + 1}" for i in range(30)]
    (tmp_path / "in.csv").write_text("\n".join(["age,w", *lines]) + "\n")

    done = cli(
        *("anonymize", "in.csv", "out.csv", "--qid", "age", "--k", 4),
        *("--survey-weight", "w", "--json"),
    )

    report = json.loads(done.out)
    assert report["spec"]["weight"] == "w"
    assert report["measures"]["loss_weighted"] > 0
    assert report["measures"]["share_suppressed_weighted"] == 0


# First specs


def test_a_first_spec_of_a_census_runs_as_it_is(cli: Command) -> None:
    pa_csv.write_csv(census(2_000), "census.csv")

    written = cli("init", "census.csv", "s.toml", "--schema", "schema.json")
    done = cli("anonymize", "census.csv", "out.csv", "--spec", "s.toml")

    assert (written.code, written.out, done.code) == (0, "", 0), done.err
    assert Path("s.toml").read_text().startswith("#:schema ./schema.json\n")
    assert json.loads(Path("schema.json").read_text()) == spec_schema()
    assert cli("verify", "out.csv", "--spec", "s.toml").code == 0


@pytest.mark.skipif(ADULT is None, reason="CORE_MONDRIAN_ADULT is not set")
def test_a_first_spec_of_adult_runs_as_it_is(cli: Command) -> None:
    pa_csv.write_csv(adult(ADULT), "adult.csv")

    written = cli("init", "adult.csv", "s.toml")
    done = cli("anonymize", "adult.csv", "out.csv", "--spec", "s.toml", "--no-measures")

    assert (written.code, done.code) == (0, 0), done.err
    asked = tomllib.loads(Path("s.toml").read_text())["quasi_identifiers"]
    assert asked[:4] == ["age", "sex", "race", "marital-status"]
    assert len(asked) == 8


def test_without_a_file_the_spec_is_printed(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    done = cli("init", people)

    read = tomllib.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert read["quasi_identifiers"] == ["age"]
    assert read["identifiers"] == ["contact"]
    assert read["unit"] == "patient"
    assert [file.name for file in tmp_path.iterdir()] == ["people.parquet"]


def test_nothing_is_overwritten(cli: Command, people: Path) -> None:
    Path("s.toml").write_text("mine")

    done = cli("init", people, "s.toml", "--schema", "new.json")

    assert done.code == 2
    assert "s.toml: the file exists" in done.err
    assert Path("s.toml").read_text() == "mine"
    assert not Path("new.json").exists()
    assert cli("init", people, "no/s.toml").code == 6


def test_a_table_without_a_header_gets_no_spec(cli: Command) -> None:
    Path("in.csv").write_text(f"39,{CANARY}\n40,x\n")

    done = cli("init", "in.csv")

    assert (done.code, done.out) == (3, "")
    assert "is the first line a header?" in done.err


def test_the_schema_is_printed(cli: Command) -> None:
    assert json.loads(cli("schema").out) == spec_schema()


# Errors with the line


def test_errors_of_a_spec_file_name_its_line(cli: Command, people: Path) -> None:
    Path("s.toml").write_text('k = 3\n\nquasi_identifers = ["age"]\n')

    done = cli("anonymize", people, "out.csv", "--spec", "s.toml")

    assert done.code == 2
    assert "error: spec s.toml, line 3: unknown key 'quasi_identifers'" in done.err
    assert "did you mean 'quasi_identifiers'?" in done.err


# Persons


def test_the_guided_path_counts_patients(cli: Command, tmp_path: Path) -> None:
    pa_csv.write_csv(hospital(), tmp_path / "visits.csv")

    assert cli("init", "visits.csv", "visits.toml").code == 0
    made = cli("anonymize", "visits.csv", "out.csv", "--spec", "visits.toml")
    again = cli("verify", "out.csv", "--spec", "visits.toml")

    assert tomllib.loads(Path("visits.toml").read_text())["unit"] == "ssn"
    assert made.code == again.code == 0
    assert "persons     1,900 in classes" in made.err
    assert "persons\n" in made.err.split("the smallest has")[1]
    assert "rows were counted, not persons" in again.err
    released = pa_csv.read_csv("out.csv")
    names = [x for x in released.column_names if x != "diagnosis"]
    assert "ssn" not in names
    assert min(persons_by_class(released, names, hospital()["ssn"])) >= 5


def test_a_run_that_counts_rows_of_persons_says_so(
    cli: Command, tmp_path: Path
) -> None:
    pa_csv.write_csv(hospital(), tmp_path / "visits.csv")
    flags = ("--qid", "age", "--qid", "sex", "--qid", "region", "--k", 5)

    made = cli("anonymize", "visits.csv", "out.csv", *flags, "--identifier", "ssn")
    attacked = cli("attack", "out.csv", "--with", "visits.csv")
    known = cli(
        *("anonymize", "visits.csv", "two.csv", *flags, "--identifier", "ssn"),
        *("--unit", "ssn"),
    )

    assert made.code == attacked.code == known.code == 0
    assert "warning     'ssn' repeats" in made.err
    assert "classes hold fewer than 5 persons" in made.err
    (told,) = record("out.csv")["warnings"]
    assert told["why"] == "persons"
    assert "5,000 rows of the original" in attacked.out
    assert "people" not in attacked.out
    assert "warning" not in known.err
