"""core-mondrian advise: the table, the files, and no cell in any of them."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, in_process

from core_mondrian.cli.options import SpecOptions
from core_mondrian.datasets import census

KNOWN = ("--qid", "age", "--qid", "sex", "--qid", "occupation", "--qid", "town")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def advise(capfd: Any, monkeypatch: Any, people: Path) -> Command:
    """Run `advise` in this process, in the folder of the table."""
    monkeypatch.chdir(people.parent)
    command = in_process(capfd)
    return lambda *arguments, name="advise": command(name, people.name, *arguments)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A census with canaries for towns, in a folder of its own."""
    table = census(2_000)
    towns = [f"{CANARY} {i % 3}" for i in range(table.num_rows)]
    path = tmp_path / "people.parquet"
    pq.write_table(table.append_column("town", pa.array(towns)), path)
    return path


def lines_of(out: str) -> list[list[str]]:
    """The table's rows in words, without its two lines of titles."""
    return [line.split() for line in out.splitlines()[2:]]


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Good runs


def test_each_k_has_a_line_and_words_go_to_stderr(advise: Command) -> None:
    done = advise(*KNOWN)

    assert done.code == 0, done.err
    rows = lines_of(done.out)
    assert [row[0] for row in rows] == ["2", "5", "10", "20", "50", "100"]
    bars = [row[3] for row in rows[1:]]
    assert [len(bar) for bar in bars] == sorted(len(bar) for bar in bars)
    assert bars[-1] == "█" * 10
    assert sum("knee" in row for row in rows) == 1
    assert rows[0][-4:] == ["50.0", "%", rows[0][-2], "%"]
    for word in ("knee        k ", "a suggestion", "practice", "released nothing in"):
        assert word in done.err


def test_no_more_than_all_rows_are_asked_for_by_default(
    advise: Command, people: Path
) -> None:
    pq.write_table(pq.read_table(people).slice(0, 11), people)

    done = advise(*KNOWN)

    assert [row[0] for row in lines_of(done.out)] == ["2", "5", "10"]


def test_the_figures_are_those_of_anonymize(advise: Command, tmp_path: Path) -> None:
    asked = (*KNOWN, "--suppress", "1%", "--weight", "age=2", "--numbers", "mean")

    shown = advise(*asked, "--k", "7,30", "--threads", 2)
    done = advise(*asked, "--k", "7,30", "--json", "--threads", 2)
    assert files_in(tmp_path) == ["people.parquet"]
    points = json.loads(done.out)["points"]
    for line, k in zip(points, (7, 30), strict=True):
        more = (*asked, "--k", k, "--json", "--overwrite")
        release = json.loads(advise("out.parquet", *more, name="anonymize").out)
        assert line["parameters"] == {"k": k}
        assert line["digest"] == release["digests"]["release"]
        assert line["loss"] == release["measures"]["loss"]
        assert line["n_classes"] == release["classes"]
        assert line["n_suppressed"] == release["rows"]["suppressed"]
        assert line["models"] == release["models"]

    assert "suppressed" in shown.out


def test_k_may_be_in_the_spec_or_nowhere(advise: Command, tmp_path: Path) -> None:
    qids = 'quasi_identifiers = ["age", "sex"]\n'
    (tmp_path / "with.toml").write_text(f"{qids}k = 5\n")
    (tmp_path / "without.toml").write_text(qids)

    given = advise("--spec", "with.toml", "--vary", "k=3,4")
    absent = advise("--spec", "without.toml", "--k", "3,4")

    assert (given.code, absent.code) == (0, 0)
    assert given.out == absent.out
    assert [row[0] for row in lines_of(given.out)] == ["3", "4"]


def test_points_without_a_release_say_why(advise: Command) -> None:
    done = advise(*KNOWN, "--k", "5,3000,1")

    assert done.code == 0
    assert [row[:3] for row in lines_of(done.out)[1:]] == [
        ["3000", "-", "none"],
        ["1", "-", "none"],
    ]
    assert "none        k 3000: 3000-anonymity cannot be met" in done.err
    assert "none        k 1: k-anonymity needs k >= 2" in done.err


def test_a_plain_terminal_has_plain_bars(
    advise: Command, monkeypatch: Any, tmp_path: Path
) -> None:
    with (tmp_path / "plain.txt").open("w", encoding="ascii") as plain:
        monkeypatch.setattr("sys.stdout", plain)
        done = advise(*KNOWN, "--k", "5,10,50")

    assert done.code == 0, done.err
    assert "##########" in (tmp_path / "plain.txt").read_text()


# Pictures


def test_the_picture_is_well_formed_and_the_same_every_time(
    advise: Command, tmp_path: Path
) -> None:
    for name in ("a.svg", "b.svg"):
        assert advise(*KNOWN, "--k", "5,10,20", "--plot", name).code == 0

    picture = (tmp_path / "a.svg").read_bytes()
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
    assert picture == (tmp_path / "b.svg").read_bytes()
    assert CANARY.encode() not in picture


def test_png_and_page_are_written(advise: Command, tmp_path: Path) -> None:
    asked = (*KNOWN, "--k", "5,20")

    done = advise(*asked, "--plot", "a.PNG")
    assert advise(*asked, "--plot", "a.html").code == 0

    assert "wrote a.PNG in " in done.err
    assert (tmp_path / "a.PNG").read_bytes().startswith(PNG)
    page = (tmp_path / "a.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert CANARY not in page


def test_the_page_asks_nobody_for_anything(advise: Command, tmp_path: Path) -> None:
    assert advise(*KNOWN, "--k", "5,20", "--plot", "a.html").code == 0

    page = (tmp_path / "a.html").read_text()
    found = _Loads()
    found.feed(page)
    assert found.policies == [
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    ]
    assert found.loads == []
    assert '"actions":false' in page  # no menu that sends the figures to a website


class _Loads(HTMLParser):
    """What the elements of a page load, and what its policy allows."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.policies: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(given["content"])
        if {"src", "href", "data"} & set(given):
            self.loads.append(tag)


# What is refused


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["--k", "5,x"], 2, "values of 'k' are numbers", id="no number"),
        pytest.param(["--k", "nan"], 2, "values of 'k' are numbers", id="not finite"),
        pytest.param(["--k", ""], 2, "values of 'k' are numbers", id="empty"),
        pytest.param(["--k", "0,1"], 2, "k >= 2", id="no k at all"),
        pytest.param(["--vary", "l=2,3"], 2, "no model has a parameter 'l'", id="l"),
        pytest.param(["--vary", "k"], 2, "--vary takes NAME=V,V,…", id="no values"),
        pytest.param(
            ["--k", "5", "--vary", "k=6"], 2, "'k' is varied twice", id="twice"
        ),
        pytest.param(["--qid", "agee"], 2, "agee", id="unknown column"),
        pytest.param(["--policy", "x"], 2, "policy", id="policy"),
        pytest.param(["--threads", "0"], 2, "", id="threads"),
        pytest.param(["--plot", "a.pdf"], 2, "unknown kind of picture", id="kind"),
        pytest.param(["--plot", "no/a.svg"], 6, "folder does not exist", id="folder"),
        pytest.param(["--plot", "old.svg"], 2, "the file exists", id="exists"),
        pytest.param(["--measures"], 2, "", id="not an option here"),
    ],
)
def test_wrong_requests_are_explained_and_write_nothing(
    advise: Command, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "old.svg").write_text("old")

    done = advise(*KNOWN, *arguments)

    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert files_in(tmp_path) == ["old.svg", "people.parquet"]
    assert (tmp_path / "old.svg").read_text() == "old"


def test_if_nothing_is_feasible_it_says_what_would_be(
    advise: Command, tmp_path: Path
) -> None:
    done = advise(*KNOWN, "--k", "2001,3000", "--plot", "a.svg")

    assert (done.code, done.out) == (4, "")
    assert "none of 2 points is feasible" in done.err
    assert "all rows as one class reach k 2000" in done.err
    assert files_in(tmp_path) == ["people.parquet"]


def test_options_of_the_spec_are_those_of_anonymize(advise: Command) -> None:
    shown = {
        name: set(re.findall(r"--[a-z-]+", advise("--help", name=name).out))
        for name in ("anonymize", "advise", "compare")
    }

    keys = {key.flag.name for key in SpecOptions.keys().values() if key.flag}
    shared = {"--spec", "--sensitive", "--threads", "--overwrite", "--json", "--help"}
    shared |= {"--csv"}
    assert keys | shared <= shown["anonymize"]
    assert shown["advise"] == keys | shared | {"--vary", "--plot"}
    questions = {"--means", "--table", "--linear", "--logistic", "--classifier"}
    assert shown["compare"] == keys | shared | questions | {"--plot", "--holdout"}
