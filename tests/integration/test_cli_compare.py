"""core-mondrian compare: tables, files, errors, and no cell that is not released."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, files_in, in_process

from core_mondrian.datasets import census

KNOWN = ("--qid", "age", "--qid", "sex", "--qid", "town", "--k", "5")
MEANS = ("--means", "income:sex")


@pytest.fixture
def compare(capfd: Any, monkeypatch: Any, tmp_path: Path) -> Command:
    """Run a command where a census with some unique towns and its release are."""
    table = census(1_000)
    towns = ["Bonn" if i % 2 else "Ulm" for i in range(1_000)]
    towns[:20] = [f"{CANARY} {i}" for i in range(20)]
    table = table.append_column("town", pa.array(towns)).drop_columns(["person_id"])
    pa.csv.write_csv(table, tmp_path / "people.csv")
    pq.write_table(table, tmp_path / "people.parquet")
    monkeypatch.chdir(tmp_path)
    command = in_process(capfd)
    done = command("anonymize", "people.csv", "release.csv", *KNOWN)
    assert done.code == 0, done.err
    return lambda *arguments, name="compare": command(name, *arguments)


def test_the_difference_is_shown_and_told(compare: Command) -> None:
    done = compare("people.csv", "release.csv", *KNOWN, *MEANS)

    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "means of income by sex: share of >50K in income"
    assert [line.split()[0] for line in lines[3:5]] == ["Female", "Male"]
    assert "With k = 5 " in done.out
    assert "differences are within sampling noise." in done.out
    assert "score       1.00 of 1, the mean of 1 question" in done.out
    assert done.err.startswith("asked 1 question in ")


def test_the_spec_may_be_a_file_or_the_manifest(
    compare: Command, tmp_path: Path
) -> None:
    (tmp_path / "spec.toml").write_text(
        'quasi_identifiers = ["age", "sex", "town"]\nk = 5\n'
    )

    by_options = compare("people.csv", "release.csv", *KNOWN, *MEANS)
    by_file = compare("people.csv", "release.csv", "--spec", "spec.toml", *MEANS)
    by_manifest = compare("people.csv", "release.csv", *MEANS)

    assert (by_file.code, by_manifest.code) == (0, 0), by_manifest.err
    assert by_options.out == by_file.out == by_manifest.out


def test_a_manifest_tells_models_builders_and_formats(compare: Command) -> None:
    more = (
        *("--qid", "age", "--qid", "zip_code", "--numbers", "bounds", "--k", 5),
        *("--hierarchy", "zip_code=prefix:1", "--sensitive", "income"),
        *("--model", "distinct-l-diversity l=2"),
    )
    asked = ("--means", "income:zip_code", "--linear", "age:sex")
    compare("people.csv", "other.csv", *more, name="anonymize")

    told = compare("people.csv", "other.csv", *asked)
    given = compare("people.csv", "other.csv", *asked, *more)

    assert told.code == 0, told.err
    assert told.out == given.out


def test_a_manifest_that_does_not_tell_all_is_not_enough(
    compare: Command, tmp_path: Path
) -> None:
    (tmp_path / "tree.csv").write_text("Female;known;*\nMale;known;*\n")
    made = compare(
        *("people.csv", "other.csv", "--qid", "age", "--qid", "sex", "--k", 5),
        *("--hierarchy", "sex=tree.csv"),
        name="anonymize",
    )
    assert made.code == 0, made.err

    done = compare("people.csv", "other.csv", *MEANS)
    (tmp_path / "release.csv.manifest.json").write_text("{}")
    broken = compare("people.csv", "release.csv", *MEANS)
    (tmp_path / "release.csv.manifest.json").unlink()
    none = compare("people.csv", "release.csv", *MEANS)

    assert (done.code, broken.code, none.code) == (2, 3, 2)
    assert "does not hold all of the spec" in done.err
    assert "--spec FILE" in done.err
    assert "release.csv.manifest.json" in broken.err
    assert "nothing says which columns" in none.err


def test_every_kind_of_file_gives_the_same_numbers(compare: Command) -> None:
    asked = (
        *("--means", "hours_per_week:sex,age", "--table", "income:sex"),
        *("--linear", "hours_per_week:age,sex", "--logistic", "income:age,sex"),
        *("--classifier", "income:age,sex"),
    )
    found = []
    formats = {"interval": ".csv", "struct": ".parquet", "bounds": ".arrow"}
    for numbers, suffix in formats.items():
        target = f"{numbers}{suffix}"
        how = (*KNOWN, "--numbers", numbers)
        assert compare("people.csv", target, *how, name="anonymize").code == 0
        for source in ("people.csv", "people.parquet"):
            done = compare(source, target, *asked, "--json")
            assert done.code == 0, done.err
            found.append(json.loads(done.out))

    for one in found:
        assert one == found[0]
    kinds = [question["kind"] for question in found[0]["questions"]]
    assert kinds == ["means", "table", "linear", "logistic", "classifier"]
    for question in found[0]["questions"]:
        assert question["sentence"]
        assert question["rows"]
        assert {"name", "before", "after", "difference"} <= question["rows"][0].keys()


def test_options_are_never_ignored_for_a_manifest(compare: Command) -> None:
    done = compare("people.csv", "release.csv", "--k", "50", *MEANS)

    assert (done.code, "or leave these options out" in done.err) == (2, True)


def test_without_a_release_one_is_made_of_a_part(
    compare: Command, tmp_path: Path
) -> None:
    before = files_in(tmp_path)
    asked = ("--classifier", "income", "--holdout", "0.4")

    done = compare("people.csv", *KNOWN, *asked)

    assert done.code == 0, done.err
    assert "flatters" not in done.out
    assert files_in(tmp_path) == before
    both = compare("people.csv", "release.csv", *KNOWN, *asked)
    assert both.code == 2
    assert "--holdout is for a release that is made here" in both.err


def test_questions_nobody_asked_are_asked(compare: Command) -> None:
    done = compare("people.csv", "release.csv")

    assert done.code == 0, done.err
    assert "means of hours_per_week by age" in done.out
    assert "linear of hours_per_week by age, sex, town" in done.out


@pytest.mark.parametrize("kind", [".svg", ".png", ".html"])
def test_charts_are_drawn_without_a_cell(
    compare: Command, tmp_path: Path, kind: str
) -> None:
    asked = (*MEANS, "--means", "hours_per_week:town", "--linear", "age:town,sex")

    done = compare(
        *("people.csv", "release.csv", *asked, "--plot", f"chart{kind}"),
        "--json",
    )

    assert done.code == 0, done.err
    assert f"wrote chart{kind} in " in done.err
    drawn = (tmp_path / f"chart{kind}").read_bytes()
    text = done.out
    assert CANARY.encode() not in drawn
    assert CANARY not in text
    assert "Bonn" in text
    if kind == ".svg":
        words = " ".join(ElementTree.fromstring(drawn).itertext())  # noqa: S314
        for word in ("original", "release", "Female", "Bonn", "means of income by sex"):
            assert word in words
    again = compare("people.csv", "release.csv", *asked, "--plot", f"again{kind}")
    assert again.code == 0
    assert (tmp_path / f"again{kind}").read_bytes() == drawn


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(("--means", "incom:sex"), 2, "not in the original: 'incom'"),
        pytest.param(("--means", "race:sex"), 2, "take table instead"),
        pytest.param(("--linear", "age"), 2, "needs columns to predict by"),
        pytest.param(("--means", "age:sex,sex"), 2, "names a column twice"),
        pytest.param((*MEANS, "--plot", "c.gif"), 2, "unknown kind of picture"),
        pytest.param((*MEANS, "--plot", "no/c.svg"), 6, "folder does not exist"),
    ],
)
def test_mistakes_have_an_exit_code_and_leave_nothing(
    compare: Command, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    before = files_in(tmp_path)

    done = compare("people.csv", "release.csv", *arguments)

    assert done.code == code
    assert words in done.err
    assert files_in(tmp_path) == before


def test_a_release_of_something_else_is_data_that_cannot_be_read(
    compare: Command, tmp_path: Path
) -> None:
    text = (tmp_path / "release.csv").read_text()
    (tmp_path / "release.csv").write_text(text.replace("Bonn", f"{CANARY} Rome"))

    done = compare("people.csv", "release.csv", "--means", "income:town")

    assert done.code == 3
    assert "'town' has cells that allow no value of the original" in done.err


def test_no_file_is_read_that_a_manifest_names(
    compare: Command, tmp_path: Path
) -> None:
    """A manifest may come from anybody; once it could name a tree to be read."""
    file = tmp_path / "release.csv.manifest.json"
    told = json.loads(file.read_text())
    (tmp_path / "secret.csv").write_text(f"{CANARY};x;*\n")
    for item in ("secret.csv", {"kind": "lookup", "file": "secret.csv"}):
        told["spec"]["hierarchies"] = {"sex": item}
        file.write_text(json.dumps(told))
        done = compare("people.csv", "release.csv", *MEANS)
        assert done.code == 2
        assert "does not hold all of the spec" in done.err


def test_a_tree_that_the_manifest_describes_is_built_again(compare: Command) -> None:
    made = compare(
        *("people.csv", "other.csv", "--qid", "age", "--qid", "sex", "--k", 5),
        *("--hierarchy", "age=ranges:5,20"),
        name="anonymize",
    )
    assert made.code == 0, made.err
    assert compare("people.csv", "other.csv", *MEANS).code == 0
