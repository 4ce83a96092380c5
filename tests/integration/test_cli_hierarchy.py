"""core-mondrian hierarchy: trees made, checked, drawn and written; short forms."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, in_process

from core_mondrian.hierarchies.read import read_hierarchy


@pytest.fixture
def cli(capfd: Any, monkeypatch: Any, people: Path) -> Command:
    """Run a command in this process, in the folder of the table."""
    monkeypatch.chdir(people.parent)
    return in_process(capfd, shows_cells=True)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table with codes, numbers, dates and a rare town."""
    n = 120
    towns = [["Ulm", "Bonn", "Kiel", "Trier"][i % 4] for i in range(n)]
    towns[7] = CANARY
    table = pa.table(
        {
            "zip": [f"{13000 + i % 30}" for i in range(n)],
            "age": [18 + i % 50 for i in range(n)],
            "day": pa.array([19_000 + 20 * i for i in range(n)], pa.date32()),
            "town": [None if i == 9 else town for i, town in enumerate(towns)],
        }
    )
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    (tmp_path / "towns.csv").write_text(
        "Ulm;south;*\nTrier;south;*\nKiel;north;*\nBonn;north;*\n"
    )
    return path


@pytest.mark.parametrize(
    ("column", "options", "label"),
    [
        pytest.param("zip", ["--prefix", "2"], "130**", id="prefix"),
        pytest.param("zip", ["--prefix", "1,2"], "1300*", id="prefix in steps"),
        pytest.param("age", ["--flat"], "21", id="flat"),
        pytest.param("zip", ["--redact"], "1300*", id="redact"),
        pytest.param("age", ["--ranges", "5,10", "--above", "60"], "≥ 60", id="ranges"),
        pytest.param("day", ["--dates", "month,year"], "2022", id="dates"),
        pytest.param("town", ["--learned", "--alike-in", "age,zip"], "{", id="learned"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "json", "toml"])
def test_tree_is_drawn_and_written(
    cli: Command, column: str, options: list[str], label: str, suffix: str
) -> None:
    file = Path(f"tree.{suffix}")

    done = cli(
        "hierarchy", "people.parquet", column, *options, "--write", file, "--nodes", 999
    )

    assert done.code == 0, done.err
    assert label in done.out
    assert "├──" in done.out
    assert "120 of 120 rows" in done.err or "119 of 119 rows" in done.err
    assert any(label in one for one in read_hierarchy(file).labels)


def test_drawing_is_cut_and_says_so(cli: Command) -> None:
    done = cli("hierarchy", "people.parquet", "age", "--ranges", "5,10", "--nodes", 4)

    assert done.code == 0
    assert "more" in done.out
    assert len(done.out.splitlines()) < 12


def test_file_is_checked_against_the_column(cli: Command) -> None:
    done = cli("hierarchy", "people.parquet", "town", "--from", "towns.csv")

    assert done.code == 0
    assert "5 values in 120 rows, 1 of them missing" in done.err
    assert "covered: 4 of 5 values, 118 of 119 rows" in done.err
    assert "not covered: rows 7 (from 0 on)" in done.err
    assert CANARY not in done.out + done.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param([], "one way to make a hierarchy", id="nothing"),
        pytest.param(["--redact", "--prefix", "2"], "2 are given", id="two"),
        pytest.param(["--learned"], "--learned and --alike-in go together", id="alone"),
        pytest.param(["--redact", "--below", "3"], "go with --ranges", id="below"),
        pytest.param(["--prefix", "x"], "numbers belong", id="no number"),
        pytest.param(
            ["--learned", "--alike-in", "agee"], "not in the data", id="column"
        ),
        pytest.param(["--redact", "--write", "people.parquet"], "exists", id="file"),
        pytest.param(["--redact", "--write", "x.xml"], "unknown kind", id="suffix"),
    ],
)
def test_what_cannot_be_is_refused(cli: Command, options: list[str], told: str) -> None:
    done = cli("hierarchy", "people.parquet", "town", *options)

    assert done.code == 2
    assert told in done.err
    assert CANARY not in done.err


def test_help_says_that_values_are_shown(cli: Command) -> None:
    assert "SHOWS THE VALUES" in " ".join(cli("hierarchy", "--help").out.split())


FLAGS = ("--qid", "zip", "--qid", "age", "--qid", "town", "--k", "5")


def test_release_takes_short_forms(cli: Command) -> None:
    forms = ("--hierarchy", "zip=prefix:2", "--hierarchy", "age=ranges:5,10")

    done = cli("anonymize", "people.parquet", "out.csv", *FLAGS, *forms)

    assert done.code == 0, done.err
    text = Path("out.csv").read_text()
    assert "130**" in text or "1300*" in text
    assert CANARY not in done.out + done.err


def test_codes_are_names_on_the_command_line(cli: Command) -> None:
    command = ("anonymize", "people.parquet", "out.csv", *FLAGS)
    Path("flat.toml").write_text(
        'quasi_identifiers = ["zip", "age", "town"]\nk = 5\n'
        '[hierarchies]\nage = { kind = "flat" }\n'
    )

    done = cli(*command, "--hierarchy", "age=flat", "--report", "report.html")
    told = [
        cli("explain", "out.csv"),
        cli("verify", "out.csv", *FLAGS),
        cli("compare", "people.parquet", "out.csv", "--spec", "flat.toml"),
    ]
    wrong = cli(*command, "--hierarchy", "age=flat:2", "--overwrite")

    assert done.code == 0, done.err
    ages = {line.split(",")[1] for line in Path("out.csv").read_text().splitlines()[1:]}
    assert ages <= {"*", *(str(age) for age in range(18, 68))}
    assert "*" in ages
    assert [one.code for one in told] == [0, 0, 0], told
    assert wrong.code == 2
    assert "after 'flat' stands nothing" in wrong.err


def test_release_says_what_to_do_with_values_not_covered(cli: Command) -> None:
    command = ("anonymize", "people.parquet", "out.csv", *FLAGS)
    tree = ("--hierarchy", "town=towns.csv")

    refused = cli(*command, *tree)
    blanked = cli(*command, *tree, "--uncovered", "suppress")
    wrong = cli(*command, *tree, "--uncovered", "maybe")

    assert refused.code == 3
    assert "1 rows, counted from 0: 7" in refused.err
    assert CANARY not in refused.err
    assert blanked.code == 0, blanked.err
    assert "blanked     1 cells" in blanked.err
    assert wrong.code == 2
