"""The report: made with a release, or nothing is written; or of one that exists."""

import json
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from conftest import Command, files_in
from support.keys import KEY

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.datasets import census
from core_mondrian.release.report_file import Subject
from core_mondrian.tables.files.read import read_table

ASKED = ("--qid", "age", "--qid", "sex", "--k", "5", "--identifier", "person_id")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    pa.csv.write_csv(census(300), file)
    return file


def test_report_is_written_with_the_release(
    cli: Command, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
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
    of = Subject("people.csv", "2023-11-14")
    assert page == anonymize(table, spec, key=KEY).report_html(of=of)
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
        pytest.param(("--report-for", "readers"), "for a report", id="no-report-3"),
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


# Of a release that exists


def make(cli: Command, source: Path, target: str, *more: object) -> None:
    done = cli("anonymize", source, target, *ASKED, "--no-measures", *more)
    assert done.code == 0, done.err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("suppressed", ["drop", "blank"])
def test_readers_get_the_same_page_later(
    cli: Command,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    suppressed: str,
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    asked = ("--suppress", "10%", "--suppressed", suppressed, "--class-id", "class")
    name = f"out.{kind}"
    make(cli, source, name, *asked, "--report", "page.html", "--report-for", "readers")

    done = cli("report", name)

    assert done.code == 0, done.err
    assert f"wrote {name}.report.html" in done.err
    assert "for anyone" in done.err
    again = tmp_path / f"{name}.report.html"
    assert again.read_bytes() == (tmp_path / "page.html").read_bytes()


def test_with_its_source_the_owner_gets_the_same_page_later(
    cli: Command, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    more = ("--by", "race", "--painting", "age", "sex")
    make(cli, source, "out.csv", *more, "--report", "page.html")

    done = cli("report", "out.csv", "mine.html", "--with", source, *more)

    assert done.code == 0, done.err
    assert "yours alone" in done.err
    page = (tmp_path / "page.html").read_bytes()
    assert (tmp_path / "mine.html").read_bytes() == page


def test_no_report_of_a_release_that_was_changed(
    cli: Command, source: Path, tmp_path: Path
) -> None:
    make(cli, source, "out.csv")
    release = tmp_path / "out.csv"
    release.write_text("".join(release.read_text().splitlines(keepends=True)[:-1]))

    done = cli("report", "out.csv")

    assert done.code == 5
    assert "not those of the manifest" in done.err
    assert not (tmp_path / "out.csv.report.html").exists()


def test_no_owners_report_of_another_table(
    cli: Command, source: Path, tmp_path: Path
) -> None:
    make(cli, source, "out.csv")
    rows = source.read_text().splitlines(keepends=True)
    Path("other.csv").write_text("".join(rows[:-1]))

    done = cli("report", "out.csv", "--with", "other.csv")

    assert done.code == 5
    assert "the input is not that of the record" in done.err
    assert not (tmp_path / "out.csv.report.html").exists()


def test_of_a_key_of_the_owners_it_is_asked_for(cli: Command, source: Path) -> None:
    Path("own.key").write_bytes(KEY[::-1])
    make(cli, source, "out.csv", "--numbers", "sample", "--key-file", "own.key")

    lacking = cli("report", "out.csv", "--with", source)
    done = cli("report", "out.csv", "--with", source, "--key-file", "own.key")

    assert lacking.code == 2
    assert "--key-file FILE" in lacking.err
    assert done.code == 0, done.err


def test_a_sensitized_table_has_a_page_with_its_notice(
    cli: Command, source: Path
) -> None:
    make(cli, source, "out.csv")
    done = cli(
        *("p-sensitize", "out.csv", "--qid", "age", "--qid", "sex", "--k", "5"),
        *("--p", "5", "--sensitive", "occupation", "--output", "changed.csv"),
    )
    assert done.code == 0, done.err

    done = cli("report", "changed.csv")

    assert done.code == 0, done.err
    notice = json.loads(Path("changed.csv.manifest.json").read_text())["summary"]
    page = unescape(Path("changed.csv.report.html").read_text("utf-8"))
    assert f'<p class="note">{notice}' in page


@pytest.mark.parametrize(
    ("asked", "code", "says"),
    [
        pytest.param(("gone.csv",), 3, "gone.csv: no such file", id="no release"),
        pytest.param(("people.csv",), 2, "no manifest stands beside", id="no manifest"),
        pytest.param(("out.csv", "page.pdf"), 2, "name it FILE.html", id="no page"),
        pytest.param(
            ("out.csv", "--report-for", "owner"), 2, "--with FILE", id="no source"
        ),
        pytest.param(
            ("out.csv", "--painting", "age", "sex"), 2, "add --with FILE", id="readers"
        ),
        pytest.param(
            ("out.csv", "--report-for", "all"), 2, "owner, readers", id="nobody"
        ),
        pytest.param(
            ("out.csv", "--with", "people.csv", "--record", "none.json"),
            *(3, "none.json"),
            id="no record",
        ),
        pytest.param(("out.csv", "old.html"), 2, "the file exists", id="an old page"),
    ],
)
def test_what_report_cannot_do(
    cli: Command, source: Path, asked: tuple[str, ...], code: int, says: str
) -> None:
    make(cli, source, "out.csv")
    Path("old.html").write_text("old")

    done = cli("report", *asked)

    assert done.code == code
    assert says in done.err
    assert Path("old.html").read_text() == "old"
