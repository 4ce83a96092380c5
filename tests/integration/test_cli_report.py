"""anonymize --report: the page goes with the release, or nothing is written."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from conftest import Command, files_in
from support.keys import KEY

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.datasets import census
from core_mondrian.tables.files.read import read_table

ASKED = ("--qid", "age", "--qid", "sex", "--k", "5", "--identifier", "person_id")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    pa.csv.write_csv(census(300), file)
    return file


def test_report_is_written_with_the_release(
    cli: Command, source: Path, tmp_path: Path
) -> None:
    Path("own.key").write_bytes(KEY)
    done = cli(
        *("anonymize", source, "out.csv", *ASKED, "--report", "report.html"),
        *("--key-file", "own.key"),
    )

    assert done.code == 0, done.err
    assert "wrote report.html" in done.err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    spec = Spec(("age", "sex"), (KAnonymity(5),), identifiers=("person_id",))
    table = read_table(source, typed=spec.quasi_identifiers)
    assert page == anonymize(table, spec, key=KEY).report_html()
    assert str(tmp_path) not in page
    digest = json.loads((tmp_path / "out.csv.manifest.json").read_text())["digests"]
    assert digest["release"] in page


def test_report_needs_no_measures(cli: Command, source: Path, tmp_path: Path) -> None:
    done = cli(
        *("anonymize", source, "out.parquet", *ASKED, "--by", "race"),
        *("--report", "report.html", "--no-measures", "--json"),
    )

    assert done.code == 0, done.err
    assert "Who loses most, by" in (tmp_path / "report.html").read_text("utf-8")
    assert "measures" not in json.loads(done.out)


def test_an_old_report_stays_unless_it_may_be_replaced(
    cli: Command, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text("old")
    asked = ("anonymize", source, "out.csv", *ASKED, "--report", "report.html")

    done = cli(*asked)

    assert done.code == 2
    assert "report.html: the file exists" in done.err
    assert files_in(tmp_path) == ["people.csv", "report.html"]
    assert (tmp_path / "report.html").read_text() == "old"
    assert cli(*asked, "--overwrite").code == 0
    assert "5-anonymity" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("report", "code"),
    [
        pytest.param("report.csv", 2, id="not-a-page"),
        pytest.param("nowhere/report.html", 6, id="no-folder"),
    ],
)
def test_a_report_that_cannot_be_written_writes_nothing(
    cli: Command, source: Path, tmp_path: Path, report: str, code: int
) -> None:
    done = cli("anonymize", source, "out.csv", *ASKED, "--report", report)

    assert done.code == code
    assert files_in(tmp_path) == ["people.csv"]


def test_the_report_paints_and_times_as_asked(
    cli: Command, source: Path, tmp_path: Path
) -> None:
    asked = ("anonymize", source, "out.csv", *ASKED, "--qid", "education")
    report = ("--report", "report.html", "--painting", "education", "sex")

    done = cli(*asked, *report, "--timings")

    assert done.code == 0, done.err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "boxes over education and sex" in page
    assert "Time and memory" in page
    pages = []
    for streamed in ((), ("--stream",)):
        done = cli(*asked, *report, *streamed, "--overwrite")
        assert done.code == 0, done.err
        pages.append((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert "boxes over education and sex" in pages[0]
    assert "Time and memory" not in pages[0]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(("--timings",), "for a report", id="no-report"),
        pytest.param(("--painting", "age", "sex"), "for a report", id="no-report-2"),
        pytest.param(
            ("--report", "r.html", "--painting", "age", "income"),
            "two quasi-identifiers",
            id="other-column",
        ),
    ],
)
def test_a_report_that_cannot_be_made_is_refused_before_any_work(
    cli: Command, source: Path, tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    done = cli("anonymize", source, "out.csv", *ASKED, *options)

    assert done.code == 2
    assert says in done.err
    assert files_in(tmp_path) == ["people.csv"]


def test_help_names_it(cli: Command) -> None:
    assert "--report" in cli("anonymize", "--help").out
