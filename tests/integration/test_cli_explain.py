"""core-mondrian explain: what a person sees of a release, and what a script does."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, Done, in_process
from test_cli_formats import everything, qids

from core_mondrian.datasets import census

COLUMNS = ("age", "sex", "occupation", "native_country")
ASKED = [word for name in COLUMNS for word in ("--qid", name)]
HOSTILE = "\x1b[2J\x1b]0;owned\x07[bold red]:smile:[/]\u202e"
KEYS = {
    "": "classes digest format models notes owner passed policy problems "
    "quasi_identifiers rows tree",
    "rows": "blank found manifest",
    "classes": "found largest manifest sizes smallest",
    "digest": "found manifest match",
    "tree": "branches classes column others rows shows",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of 2,000 people as CSV, and its manifest."""
    from core_mondrian.cli.main import run

    folder = tmp_path_factory.mktemp("made")
    pq.write_table(census(2000, seed=5), folder / "in.parquet")
    words = [str(folder / "in.parquet"), str(folder / "out.csv"), *ASKED]
    with pytest.raises(SystemExit) as caught:
        run(["anonymize", *words, "--k", "5", "--suppress", "1%"])
    assert caught.value.code == 0
    return folder


@pytest.fixture
def release(made: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may spoil."""
    for name in ("out.csv", "out.csv.manifest.json", "out.csv.owner.json"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    return tmp_path / "out.csv"


def manifest_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")


def record_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.owner.json")


def explained(cli: Command, *arguments: object, code: int = 0) -> Any:
    done = cli("explain", *arguments, "--json")
    assert done.code == code, done.err
    return json.loads(done.out)


# What is shown


def test_all_of_it_is_shown(cli: Command, release: Path) -> None:
    done = cli("explain", release)

    manifest = json.loads(manifest_of(release).read_text())
    sizes = pd.read_csv(release, dtype=str).groupby(list(COLUMNS), dropna=False).size()
    record = json.loads(record_of(release).read_text())
    rows = record["rows"]
    shown = " ".join(done.out.split())
    assert done.code == 0, done.err
    assert done.err == ""
    assert "5-anonymity: passes (reaches 5)" in shown
    assert f"2,000 in, {rows['released']:,} released, {rows['suppressed']}" in shown
    assert f"{len(sizes)} of {sizes.min()} to {sizes.max()} rows" in shown
    assert "digest matches the manifest" in shown
    assert manifest["digests"]["release"] in shown
    for kind, title in (("number", "numbers"), ("category", "categories")):
        counted = record["funnel"]["kinds"][kind]
        assert f"{title} examined {counted['examined']:,} " in shown
    assert f"{rows['released']:,} rows, {len(sizes)} classes, by " in shown
    assert "█" in done.out
    assert "├── " in done.out
    assert re.search(r"└── … \d+ more, [\d,]+ rows?$", done.out, re.MULTILINE)


def test_the_funnel_of_every_column_is_shown_on_request(
    cli: Command, release: Path
) -> None:
    done = cli("explain", release, "--columns")

    told = json.loads(record_of(release).read_text())["funnel"]["columns"]
    shown = " ".join(done.out.split())
    for name in COLUMNS:
        assert f"{name} examined {told[name]['examined']:,}" in shown


@pytest.mark.parametrize(("depth", "levels"), [(0, 0), (1, 1), (2, 2), (4, 4)])
def test_the_tree_is_as_deep_as_asked_for(
    cli: Command, release: Path, depth: int, levels: int
) -> None:
    tree = explained(cli, release, "--depth", depth, "--width", 2)["tree"]

    def deepest(branch: Any) -> int:
        return max((1 + deepest(one) for one in branch.get("branches", ())), default=0)

    assert deepest(tree) == levels


def test_json_has_the_same_keys_with_and_without_a_manifest(
    cli: Command, release: Path
) -> None:
    whole = explained(cli, release)
    manifest_of(release).unlink()
    alone = explained(cli, release, *ASKED, "--k", 5)

    for found in (whole, alone):
        for part, keys in KEYS.items():
            assert sorted(found[part] if part else found) == keys.split()
        assert found["format"] == 2
        assert found["passed"] is True
        assert sorted(found["models"][0]) == [
            *("manifest", "name", "passed", "problem", "reached")
        ]
    assert whole["tree"] == alone["tree"]
    assert whole["classes"]["sizes"] == alone["classes"]["sizes"]
    assert whole["digest"]["found"] == alone["digest"]["found"]
    assert alone["digest"]["match"] == "unknown"
    assert alone["owner"] is None


def test_it_is_the_same_every_time_and_writes_nothing(
    cli: Command, release: Path, tmp_path: Path
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())

    first, second = (cli("explain", release).out for _ in range(2))

    assert first == second
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_no_line_is_longer_than_the_terminal(
    cli: Command, release: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)

    done = cli("explain", release, "--columns")

    lines = done.out.splitlines()
    assert done.code == 0, done.err
    assert max(map(len, lines)) <= int(columns)
    assert sum(" rows" in line for line in lines) > 3  # counts are not what is cut


def test_a_pipe_gets_no_colours_and_an_old_terminal_no_unicode(
    cli: Command, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in cli("explain", release).out

    from rich.console import Console

    monkeypatch.setattr(Console, "encoding", "ascii")
    assert cli("explain", release, "--columns").out.isascii()


# Without a manifest


def test_without_a_manifest_it_says_so_and_shows_the_rest(
    cli: Command, release: Path
) -> None:
    manifest_of(release).unlink()

    bare = cli("explain", release)
    done = cli("explain", release, *ASKED, "--k", 5)

    assert bare.code == 2
    assert "no manifest" in bare.err
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert "no manifest" in shown
    assert "5-anonymity: passes" in shown
    assert "the cut funnel" not in shown
    assert "how the released rows divide" in shown


def test_a_manifest_elsewhere_may_be_named(
    cli: Command, release: Path, tmp_path: Path
) -> None:
    manifest_of(release).rename(tmp_path / "other.json")

    found = explained(cli, release, "--manifest", tmp_path / "other.json")
    missing = cli("explain", release, "--manifest", tmp_path / "none.json")

    assert found["digest"]["match"] == "matches"
    assert missing.code == 3


# Tables and manifests that somebody changed


def test_a_row_less_is_found_and_no_cell_is_shown(cli: Command, release: Path) -> None:
    table = pd.read_csv(release, dtype=str, keep_default_na=False)
    sizes = table.groupby(list(COLUMNS))["age"].transform("size")
    table.drop(index=sizes[sizes == 5].index[0]).to_csv(release, index=False)

    done = cli("explain", release)
    found = explained(cli, release, code=5)

    assert done.code == 5
    shown = " ".join(done.out.split())
    assert "5-anonymity: FAILS" in shown
    assert "does NOT match the manifest" in shown
    assert "no tree" in shown
    assert "├──" not in shown
    assert "do not publish this table" in done.err
    assert found["passed"] is False
    assert found["tree"] is None
    assert found["models"][0]["passed"] is False
    assert found["digest"]["match"] == "differs"
    assert "5-anonymity fails for 1 of" in found["problems"][0]


def test_a_changed_cell_is_found_even_if_the_classes_still_pass(
    cli: Command, release: Path
) -> None:
    text = release.read_text().replace(",Male,", ",Mann,")
    release.write_text(text)

    found = explained(cli, release, code=5)

    assert found["models"][0]["passed"] is True
    assert found["digest"]["match"] == "differs"
    assert len(found["problems"]) == 1


Change = Callable[[dict[str, Any]], None]


def change_rows(told: dict[str, Any]) -> None:
    told["rows"]["in"] += 1


def change_k(told: dict[str, Any]) -> None:
    told["spec"]["models"][0] |= {"k": 50, "name": "50-anonymity"}
    told["models"][0]["name"] = "50-anonymity"


def change_reached(told: dict[str, Any]) -> None:
    told["models"][0]["reached"] = 7.0


def change_names(told: dict[str, Any]) -> None:
    told["models"][0]["name"] = "10-anonymity"


def change_classes(told: dict[str, Any]) -> None:
    told["classes"] += 1


def change_digest(told: dict[str, Any]) -> None:
    told["digests"]["release"] = "0" * 64


def change_funnel(told: dict[str, Any]) -> None:
    told["funnel"]["kinds"]["number"]["examined"] += 1


OF_RECORD = (change_rows, change_funnel)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(change_rows, "do not add up", id="rows"),
        pytest.param(change_k, "50-anonymity fails", id="k"),
        pytest.param(change_reached, "another figure", id="reached"),
        pytest.param(change_names, "not the models reached", id="names"),
        pytest.param(change_classes, "classes, the table has", id="classes"),
        pytest.param(change_digest, "digests differ", id="digest"),
        pytest.param(change_funnel, "add up to its kinds", id="funnel"),
    ],
)
def test_a_changed_manifest_is_found(
    cli: Command, release: Path, change: Change, told: str
) -> None:
    file = record_of(release) if change in OF_RECORD else manifest_of(release)
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest))

    found = explained(cli, release, code=5)

    assert any(told in problem for problem in found["problems"]), found["problems"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "7", '{"format": 2}', '{"format": 1}', "[" * 99_999]
)
def test_what_is_no_manifest_is_an_error_of_data(
    cli: Command, release: Path, text: str
) -> None:
    manifest_of(release).write_text(text)

    assert cli("explain", release).code == 3


def test_an_original_is_never_shown(cli: Command, tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"age": range(40), "town": [f"{CANARY} {i}" for i in range(40)]}
    )
    table.to_csv(tmp_path / "in.csv", index=False)

    done = cli("explain", "in.csv", "--qid", "age", "--qid", "town", "--k", 3)

    assert done.code == 5
    assert "FAILS" in done.out


# Every format, every type


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".csv"])
@pytest.mark.parametrize(
    "numbers", ["interval", "bounds", "struct", "mean", "median", "midpoint", "sample"]
)
def test_every_type_in_every_file_matches_its_manifest(
    capfd: Any, monkeypatch: Any, tmp_path: Path, suffix: str, numbers: str
) -> None:
    if (suffix, numbers) == (".csv", "struct"):
        pytest.skip("a CSV file has no structs")
    monkeypatch.chdir(tmp_path)
    cli = in_process(capfd)
    table = everything()
    seconds = pc_seconds(table["moment"])
    table = table.append_column("second", seconds)
    pq.write_table(table, "in.parquet")
    pa.ipc.new_file("in.arrow", table.schema).close()
    with pa.ipc.new_file("in.arrow", table.schema) as writer:
        writer.write_table(table)
    asked = [*qids(table), "--k", "5", "--numbers", numbers]

    done = cli("anonymize", "in.arrow", f"out{suffix}", *asked, "--no-measures")
    found = explained(cli, f"out{suffix}")

    assert done.code == 0, done.err
    assert found["digest"]["match"] == "matches"
    assert found["problems"] == []


def pc_seconds(column: Any) -> Any:
    """A type that Parquet does not have."""
    return column.cast(pa.timestamp("s"))


def test_blank_rows_and_other_words_for_missing_are_understood(
    cli: Command, tmp_path: Path
) -> None:
    towns = ["A", "B", "?", "C"]
    rows = [(20 + i % 3, towns[i % 4]) for i in range(120)]
    rows += [(9_700, "?"), (98_000, "Y"), (990_000, "Z")]
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "town"), *rows])
    asked = ["--qid", "age", "--qid", "town", "--k", 10, "--null", "?"]

    asked += ["--suppress", 3, "--suppressed", "blank"]

    done = cli("anonymize", "in.csv", "out.csv", *asked)
    found = explained(cli, "out.csv")
    verified = cli("verify", "out.csv", *asked)

    assert done.code == 0, done.err
    assert verified.code == 0, verified.err
    assert found["rows"]["blank"] == found["owner"]["rows"]["suppressed"] > 0
    assert found["digest"]["match"] == "matches"
    assert found["tree"]["rows"] == 123 - found["rows"]["blank"]


def test_a_p_sensitized_table_keeps_its_notice(cli: Command, release: Path) -> None:
    asked = ["--sensitive", "income", "--p", 2, "--k", 5]
    done = cli("p-sensitize", release, *ASKED, *asked, "--output", "safe.csv")

    shown = cli("explain", "safe.csv")
    found = explained(cli, "safe.csv")

    assert done.code == 0, done.err
    assert "do not use them as measurements" in " ".join(shown.out.split())
    assert found["models"][0]["passed"] is True
    assert found["models"][0]["name"].startswith("2-sensitive 5-anonymity")


# Models that a manifest does not hold in full


def test_models_that_need_more_are_told_and_recounted_by_the_spec(
    cli: Command, tmp_path: Path
) -> None:
    pq.write_table(census(500), tmp_path / "in.parquet")
    (tmp_path / "spec.toml").write_text(
        f"""quasi_identifiers = {list(COLUMNS)}
        [[models]]
        name = "alpha-k-anonymity"
        alpha = 0.9
        k = 3
        sensitive = "income"
        values = [">50K"]
        """
    )
    done = cli("anonymize", "in.parquet", "own.csv", "--spec", "spec.toml")

    shown = cli("explain", "own.csv")
    told = explained(cli, "own.csv")
    known = explained(cli, "own.csv", "--spec", "spec.toml")

    assert done.code == 0, done.err
    assert "not recounted" in " ".join(shown.out.split())
    assert told["passed"] is True
    assert told["models"][0]["passed"] is None
    assert told["tree"] is not None  # the digest proves that it is the release
    assert known["models"][0]["passed"] is True
    assert known["tree"] == told["tree"]


def test_persons_that_are_gone_cannot_be_recounted(
    cli: Command, tmp_path: Path
) -> None:
    table = pd.DataFrame(
        {"who": [i // 2 for i in range(60)], "age": [20 + i // 12 for i in range(60)]}
    )
    table.to_csv(tmp_path / "in.csv", index=False)

    done = cli(
        "anonymize", "in.csv", "out.csv", "--qid", "age", "--k", 5, "--unit", "who"
    )
    found = explained(cli, "out.csv")

    assert done.code == 0, done.err
    assert found["models"][0]["reached"] == 12.0
    assert found["models"][0]["manifest"] is None  # persons are not to be seen
    assert json.loads(Path("out.csv.owner.json").read_text())["models"] == [
        {"name": "5-anonymity", "reached": 6.0}
    ]
    assert "persons" in found["notes"][0]


def test_an_identifier_that_came_back_is_found(cli: Command, tmp_path: Path) -> None:
    pq.write_table(census(300), tmp_path / "in.parquet")
    done = cli(
        *("anonymize", "in.parquet", "out.parquet", *ASKED, "--k", 5),
        *("--identifier", "person_id"),
    )
    table = pq.read_table("out.parquet")
    ids = pa.array(range(table.num_rows))
    pq.write_table(table.append_column("person_id", ids), "out.parquet")

    found = explained(cli, "out.parquet", code=5)

    assert done.code == 0, done.err
    assert "identifiers are still in the table" in found["problems"][0]
    assert found["models"][0]["passed"] is True
    assert found["tree"] is None


# Names and cells that would act on a terminal


@pytest.fixture
def hostile(cli: Command, tmp_path: Path) -> Path:
    n = 60
    table = pa.table(
        {
            HOSTILE: [f"{HOSTILE}{i % 3}" for i in range(n)],
            "age": [20 + i % 5 for i in range(n)],
            "[link=file:///etc/passwd]x[/link]": ["[red]y[/red]"] * n,
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    asked = [word for name in table.column_names for word in ("--qid", name)]
    done = cli("anonymize", "in.parquet", "out.parquet", *asked, "--k", 3)
    assert done.code == 0, done.err
    return tmp_path / "out.parquet"


def assert_harmless(done: Done) -> None:
    for text in (done.out, done.err):
        assert all(one.isprintable() or one == "\n" for one in text)


@pytest.mark.parametrize("columns", ["40", "120"])
def test_hostile_names_and_cells_do_not_act(
    cli: Command, hostile: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)

    done = cli("explain", hostile, "--columns")

    assert done.code == 0, done.err
    assert_harmless(done)
    assert "\\x1b" in done.out
    if columns == "120":
        assert "[bold red]" in done.out
        assert ":smile:" in done.out


def test_hostile_words_in_a_manifest_do_not_act(cli: Command, hostile: Path) -> None:
    manifest = json.loads(manifest_of(hostile).read_text())
    manifest["models"][0]["name"] = HOSTILE
    manifest["spec"]["models"][0] |= {"model": HOSTILE, "name": HOSTILE}
    manifest["spec"]["policy"]["name"] = HOSTILE
    record = json.loads(record_of(hostile).read_text())
    record["funnel"]["kinds"][HOSTILE] = record["funnel"]["kinds"].pop("number")
    record_of(hostile).write_text(json.dumps(record))
    manifest["classes"] += 1
    manifest_of(hostile).write_text(json.dumps(manifest))

    done = cli("explain", hostile)

    assert done.code == 5
    assert_harmless(done)


def test_a_hostile_name_in_an_error_does_not_act(cli: Command, hostile: Path) -> None:
    model = ["--model", "distinct-l-diversity l=60", "--sensitive", HOSTILE]

    assert_harmless(cli("verify", hostile, "--qid", "age", *model))
    assert_harmless(cli("explain", hostile, "--qid", "age", *model))
