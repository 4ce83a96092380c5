"""Privacy models on the command line and in spec files, and what is told of them."""

import csv
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, files_in

INCOMES = ["1000", "200", "30", "1000", "200", "1000", "30"]
DISEASES = [f"{CANARY} flu", f"{CANARY} cold", f"{CANARY} HIV", f"{CANARY} flu"]
TREE = (
    f"{CANARY} flu;cold;*\n{CANARY} cold;cold;*\n{CANARY} HIV;HIV;*\n"
    f"{CANARY} none;none;*\n"
)
COLUMNS = ["--qid", "age", "--qid", "town"]


def people_rows() -> list[dict[str, Any]]:
    """120 rows of 40 people, each with three of them; income and disease repeat."""
    return [
        {
            "person": f"{CANARY} {i % 40}",
            "age": 20 + (i * 7) % 30,
            "town": f"{CANARY} {i % 3}",
            "income": INCOMES[i % 7],
            "disease": None if i % 11 == 0 else DISEASES[(i // 3) % 4],
        }
        for i in range(120)
    ]


@pytest.fixture(params=["parquet", "csv"])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"people.{request.param}"
    write_rows(path, people_rows())
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    write_rows(path, people_rows())
    return path


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        write_csv(path, rows)


def classes(path: Path) -> list[list[dict[str, Any]]]:
    found = defaultdict(list)
    for row in read_rows(path):
        found[row["age"], row["town"]].append(row)
    return list(found.values())


MODELS = {
    "distinct": ("distinct-l-diversity l=3 sensitive=disease", "distinct 3-div"),
    "p": ("p-sensitive-k-anonymity p=2 k=4 sensitive=income", "2-sensitive 4-"),
    "entropy": ("entropy-l-diversity l=2 sensitive=income", "entropy 2-diversity"),
    "recursive": ("recursive-cl-diversity c=3.0 l=2 sensitive=disease", "(3.0, 2)"),
    "alpha": ("alpha-k-anonymity alpha=0.6 k=3 sensitive=income", "(0.6, 3)-anon"),
    "values": (
        "alpha-k-anonymity alpha=0.34 k=3 sensitive=income values=[30]",
        "(0.34, 3)-anonymity of income (values: 1)",
    ),
    "equal": ("t-closeness t=0.3 sensitive=disease", "0.3-closeness of disease (eq"),
    "ordered": (
        "t-closeness t=0.2 sensitive=income distance=ordered",
        "0.2-closeness of income (ordered)",
    ),
    "hierarchical": (
        "t-closeness t=0.3 sensitive=disease distance=hierarchical hierarchy=tree.csv",
        "0.3-closeness of disease (hierarchical)",
    ),
    "disclosure": (
        "delta-disclosure delta=1.5 sensitive=disease missing=ignored absent=allowed",
        "1.5-disclosure privacy of disease (absent values allowed), missing ignored",
    ),
    "likeness": ("beta-likeness beta=1 sensitive=income kind=enhanced", "1-likeness"),
    "maximum": ("maximum-risk risk=0.2", "maximum risk 0.2"),
    "average": ("average-risk risk=0.1", "average risk 0.1"),
}


@pytest.mark.parametrize(("model", "told"), MODELS.values(), ids=MODELS)
def test_a_release_of_each_model_is_written_told_and_verifies(
    cli: Command, people: Path, tmp_path: Path, model: str, told: str
) -> None:
    (tmp_path / "tree.csv").write_text(TREE)
    target = f"out{people.suffix}"
    flags = [*COLUMNS, "--k", "2", "--model", model]

    done = cli("anonymize", people, target, *flags, "--identifier", "person")
    checked = cli("verify", target, *flags, "--json")

    assert done.code == 0, done.err
    assert checked.code == 0, checked.err
    assert f"verified    {told}" in done.err or told in done.err
    manifest = json.loads(Path(f"{target}.manifest.json").read_text())
    first, second = manifest["models"]
    assert first["name"] == "2-anonymity"
    assert first["reached"] >= 2
    assert told in second["name"]
    assert second == json.loads(checked.out)["models"][1]
    assert manifest["spec"]["models"][1]["name"] == second["name"]
    assert manifest["classes"] == len(classes(Path(target))) > 1
    was = sorted((str(x["income"]), str(x["disease"] or "")) for x in people_rows())
    now = [(x["income"], x["disease"]) for x in read_rows(Path(target))]
    assert sorted((str(a), str(b or "")) for a, b in now) == was


Tamper = Callable[[list[dict[str, Any]]], None]


def raise_income(rows: list[dict[str, Any]]) -> None:
    """Give one class one income, cell by cell until only one is left of another."""
    key = rows[0]["age"], rows[0]["town"]
    for row in rows:
        if (row["age"], row["town"]) == key:
            row["income"] = "1000"


def move_a_row(rows: list[dict[str, Any]]) -> None:
    rows[0]["age"] = "17"


@pytest.mark.parametrize("tamper", [raise_income, move_a_row])
@pytest.mark.parametrize(
    "model",
    [
        "distinct-l-diversity l=2",
        "alpha-k-anonymity alpha=0.6 k=2",
        "entropy-l-diversity l=1.5",
        "t-closeness t=0.25",
    ],
)
def test_a_changed_release_is_rejected(
    cli: Command, people: Path, model: str, tamper: Tamper
) -> None:
    target = Path(f"out{people.suffix}")
    flags = [*COLUMNS, "--model", model, "--sensitive", "income"]
    assert cli("anonymize", people, target, *flags, "--identifier", "person").code == 0
    rows = read_rows(target)
    tamper(rows)
    write_rows(target, rows)

    done = cli("verify", target, *flags, "--json")

    assert done.code == 5
    assert json.loads(done.out)["passed"] is False
    assert " fails for 1 of " in done.err or " fails for " in done.err
    assert "of income" in done.err


def test_the_sensitive_column_is_that_of_all_models_that_name_none(
    cli: Command, table: Path
) -> None:
    flags = [
        *(*COLUMNS, "--sensitive", "income", "--model", "k-anonymity k=3"),
        *("--model", "distinct-l-diversity l=2"),
        *("--model", "t-closeness t=0.4 sensitive=disease"),
    ]

    done = cli("anonymize", table, "out.csv", *flags, "--identifier", "person")

    assert done.code == 0, done.err
    names = [
        item["name"]
        for item in json.loads(Path("out.csv.manifest.json").read_text())["models"]
    ]
    assert names == [
        "3-anonymity",
        "distinct 2-diversity of income",
        "0.4-closeness of disease (equal)",
    ]


def test_persons_are_counted_and_then_removed(cli: Command, people: Path) -> None:
    target = f"out{people.suffix}"
    flags = [*COLUMNS, "--k", "3", "--unit", "person"]
    rows = people_rows()

    done = cli("anonymize", people, target, *flags, "--policy", "paper")
    fewer = cli("anonymize", people, "no.csv", *COLUMNS, "--k", 41, "--unit", "person")
    without = cli("verify", target, *flags)

    assert done.code == 0, done.err
    assert "person" not in read_rows(Path(target))[0]
    suppressed = json.loads(Path(f"{target}.owner.json").read_text())["rows"]
    if not suppressed["suppressed"]:
        shown = [(row["age"], row["town"]) for row in read_rows(Path(target))]
        whose = defaultdict(set)
        for key, row in zip(shown, rows, strict=True):
            whose[key].add(row["person"])
        assert min(len(found) for found in whose.values()) >= 3
    assert fewer.code == 4
    assert "the table has 40 persons, but one class needs 41" in fewer.err
    assert "k = 40 is the nearest that can be met" in fewer.err
    assert without.code == 2  # the release no longer says whose rows they are
    assert "persons of a class cannot be counted" in without.err


SPEC = """
quasi_identifiers = ["age", "town"]
unit = "person"
k = 2

[[models]]
name = "t-closeness"
t = 0.3
sensitive = "disease"
distance = "hierarchical"
hierarchy = "tree.csv"

[[models]]
name = "alpha-k-anonymity"
alpha = 0.7
k = 2
sensitive = "income"
values = ["1000", "30"]
missing = "ignored"

[[models]]
name = "average-risk"
risk = 0.2
"""


def test_models_of_a_spec_file_and_its_hierarchy(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "tree.csv").write_text(TREE)
    (folder / "spec.toml").write_text(SPEC)

    done = cli("anonymize", people, "out.csv", "--spec", "specs/spec.toml", "--json")

    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [item["name"] for item in found["models"]] == [
        "2-anonymity",
        "0.3-closeness of disease (hierarchical)",
        "(0.7, 2)-anonymity of income (values: 2), missing ignored",
        "average risk 0.2",
    ]
    reached = [item["reached"] for item in found["models"]]
    assert reached[0] >= 2
    assert reached[1] <= 0.3
    assert reached[2] <= 0.7
    assert reached[3] <= 0.2
    described = found["spec"]["models"]
    assert len(described[1]["hierarchy"]) == 64  # a digest, not the labels
    assert described[2]["n_values"] == 2
    assert CANARY not in Path("out.csv.manifest.json").read_text()
    (folder / "verify.toml").write_text(SPEC.replace('unit = "person"\n', ""))
    assert cli("verify", "out.csv", "--spec", "specs/verify.toml").code == 0
    strict = SPEC.replace('unit = "person"\n', "").replace("t = 0.3", "t = 0.001")
    (folder / "verify.toml").write_text(strict)
    assert cli("verify", "out.csv", "--spec", "specs/verify.toml").code == 5


def test_models_of_the_command_line_replace_those_of_the_spec(
    cli: Command, table: Path, tmp_path: Path
) -> None:
    (tmp_path / "tree.csv").write_text(TREE)
    (tmp_path / "spec.toml").write_text(SPEC)
    flags = ["--spec", "spec.toml", "--model", "distinct-l-diversity l=2"]

    done = cli(
        *("anonymize", table, "out.csv", *flags, "--sensitive", "income", "--json")
    )

    names = [item["name"] for item in json.loads(done.out)["models"]]
    assert names == ["2-anonymity", "distinct 2-diversity of income"]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("", "a model is its name, then key=value"),
        ("'", "a model is its name, then key=value"),
        ("t-closenes t=0.2", "no model 't-closenes'"),
        ("t-closeness t", "something else than one key=value a key"),
        ("t-closeness =0.2", "something else than one key=value a key"),
        ("t-closeness t=0.2 t=0.3 sensitive=income", "one key=value a key"),
        ("t-closeness t=0.2", "the model 't-closeness' needs 'sensitive'"),
        ("t-closeness t=0.2 sensitive=income u=3", "'t-closeness' has no 'u'"),
        ("t-closeness t=2 sensitive=income", "t-closeness needs 0 <= t < 1, got t=2"),
        ("t-closeness t=high sensitive=income", "t must be a number, got str"),
        ("t-closeness t=0.2 sensitive=wealth", "not in the data: 'wealth'"),
        ("t-closeness t=0.2 sensitive=age", "column 'age' named twice"),
        ("t-closeness t=0.2 sensitive=income distance=near", "distance must be one of"),
        (
            "t-closeness t=0.2 sensitive=disease distance=hierarchical"
            " hierarchy=poor.csv",
            "the hierarchy of 'disease' does not cover 2 of 3 values in the ",
        ),
        ("distinct-l-diversity l=1 sensitive=income", "needs l >= 2, got l=1"),
        ("distinct-l-diversity l=2.0 sensitive=income", "l must be a whole number"),
        ("k-anonymity k=true", "k must be a whole number, got bool"),
        ("k-anonymity name=x k=3", "something else than one key=value a key"),
    ],
)
def test_what_is_wrong_with_a_model_is_told_and_nothing_written(
    cli: Command, table: Path, tmp_path: Path, model: str, message: str
) -> None:
    (tmp_path / "poor.csv").write_text(f"{CANARY} flu;*\n")
    before = files_in(tmp_path)

    for command in (("anonymize", table, "out.csv"), ("verify", table)):
        done = cli(*command, *COLUMNS, "--k", "2", "--model", model)

        assert done.code == 2, done.err
        told = message.replace("in the data: '", "in the table: '")
        assert message in done.err or (command[0] == "verify" and told in done.err)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("[[models]]\nk = 3\n", "a model has no name"),
        ("[models]\nk = 3\n", "a model has no name"),
        ("models = [3]\n", "int is not a privacy model"),
        ('[[models]]\nname = "k-anonymity"\nk = "3"\n', "k must be a whole number"),
        ("[[models]]\nname = 3\n", "a model has no name"),
        ('[[models]]\nname = "k-anonymity"\nkk = 3\n', "'k-anonymity' has no 'kk'"),
        ('[[models]]\nname = "t-closeness"\nt = 0.2\nsensitive = ["income"]\n', "name"),
        (
            '[[models]]\nname = "t-closeness"\nt = 0.2\nsensitive = "income"\n'
            'distance = "hierarchical"\nhierarchy = 3\n',
            "needs a hierarchy, got int",
        ),
        (
            '[[models]]\nname = "t-closeness"\nt = 0.2\nsensitive = "income"\n'
            'hierarchy = ["a"]\n',
            "hierarchy",
        ),
    ],
)
def test_what_is_wrong_with_the_models_of_a_spec_is_told(
    cli: Command, table: Path, tmp_path: Path, spec: str, message: str
) -> None:
    (tmp_path / "spec.toml").write_text('quasi_identifiers = ["age", "town"]\n' + spec)
    before = files_in(tmp_path)

    done = cli("anonymize", table, "out.csv", "--spec", "spec.toml")

    assert done.code == 2, done.err
    assert message in done.err
    assert files_in(tmp_path) == before


def test_a_model_that_cannot_be_met_is_exit_code_4(cli: Command, table: Path) -> None:
    flags = [*COLUMNS, "--model", "distinct-l-diversity l=9 sensitive=income"]

    done = cli("anonymize", table, "out.csv", *flags)

    assert done.code == 4
    assert "distinct 9-diversity of income cannot be met" in done.err
    assert "l = 3 is the nearest that can be met" in done.err
    assert not Path("out.csv").exists()


def test_a_hierarchy_that_is_not_there_is_exit_code_3(
    cli: Command, table: Path
) -> None:
    model = "t-closeness t=0.2 sensitive=income distance=hierarchical hierarchy=no.csv"

    done = cli("anonymize", table, "out.csv", *COLUMNS, "--model", model)

    assert done.code == 3
    assert "no.csv: no such file" in done.err
    assert not Path("out.csv").exists()
