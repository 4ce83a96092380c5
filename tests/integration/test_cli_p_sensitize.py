"""p-sensitize: what it writes, what it refuses, and no cell in any message."""

import csv
import json
import signal
from collections import Counter, defaultdict
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, in_process
from support.keys import key_of

from core_mondrian.cli.reply import Reply


@pytest.fixture
def cli(capfd: Any, monkeypatch: Any, tmp_path: Path) -> Command:
    """Run the command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return partial(in_process(capfd), "p-sensitize")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Ten classes of five rows; in nine of them all have one disease."""
    path = tmp_path / "release.parquet"
    pq.write_table(release_table(), path)
    return path


def release_table() -> Any:
    rows = range(50)
    return pa.table(
        {
            "age": [f"[{i // 5}, {i // 5 + 4}]" for i in rows],
            "disease": [f"{CANARY} {i % 2 if i < 5 else 0}" for i in rows],
            "day": pa.array([date(2020, 1, 1)] * 50, pa.date32()),
            "note": [None if i % 7 == 0 else f"{CANARY} {i}" for i in rows],
        }
    )


def flags(output: str = "out.parquet", *, column: str = "disease") -> list[str]:
    asked = ["--qid", "age", "--sensitive", column, "-p", "2", "-k", "5"]
    return [*asked, "--output", output]


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Good runs


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow", ".feather"])
def test_a_changed_table_and_its_record_are_written(
    cli: Command, release: Path, tmp_path: Path, suffix: str
) -> None:
    done = cli(release, *flags(f"out{suffix}"))

    assert done.code == 0, done.err
    assert done.out == ""
    record = f"out{suffix}.manifest.json"
    own = f"out{suffix}.owner.json"
    files = [f"out{suffix}", record, own, "release.parquet"]
    assert files_in(tmp_path) == sorted(files)
    assert Path(own).stat().st_mode & 0o777 == 0o600
    found = json.loads(Path(record).read_text())
    assert found["values_changed"] is True
    assert found["rows"] == {"in": 50, "changed": 9}
    assert found["classes"] == {"in": 10}
    assert json.loads(Path(own).read_text())["classes"]["changed"] == 9
    assert found["reached"] == {"p": 2, "k": 5}
    assert found["asked"]["sensitive"] == "disease"
    assert CANARY not in Path(record).read_text()
    assert "9 of 50 values of 'disease' were changed" in done.err
    assert "do not use them as measurements of individuals" in done.err


def test_an_interrupt_after_the_table_is_written_undoes_nothing(
    cli: Command, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Reply, "print", interrupt)

    done = cli(release, *flags())

    assert done.code == 0
    assert done.err.splitlines()[-1] == "interrupted after the release was written"
    assert "out.parquet.manifest.json" in files_in(tmp_path)


def test_only_sensitive_cells_differ(cli: Command, release: Path) -> None:
    assert cli(release, *flags()).code == 0

    old, new = pq.read_table(release), pq.read_table("out.parquet")
    assert new.schema.equals(old.schema)
    assert new.drop_columns("disease").equals(old.drop_columns("disease"))
    values = defaultdict(set)
    for row in new.select(["age", "disease"]).to_pylist():
        values[row["age"]].add(row["disease"])
    assert {len(found) for found in values.values()} == {2}


def test_csv_cells_pass_through_byte_for_byte(cli: Command, tmp_path: Path) -> None:
    notes = ["007", "1.50", "NA", "a,b", "", " x ", 'q"r', "two\nlines"]
    rows = [("a", "s", "note")]
    rows += [("01", "1.0" if i else "1", note) for i, note in enumerate(notes)]
    rows += [("", "2" if i else "", note) for i, note in enumerate(notes)]
    source = tmp_path / "in.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows(rows)

    done = cli(
        source, "--qid", "a", "--sensitive", "s", "-p", 3, "-k", 8, "--output", "o.csv"
    )

    assert done.code == 0, done.err
    with Path("o.csv").open(newline="") as file:
        new = [tuple(row) for row in csv.reader(file)]
    assert [(row[0], row[2]) for row in new] == [(row[0], row[2]) for row in rows]
    assert sum(a != b for a, b in zip(rows, new, strict=True)) == 2


def test_the_same_request_gives_the_same_files(cli: Command, release: Path) -> None:
    for name, key in (("a", 3), ("b", 3), ("c", 4)):
        Path(f"{key}.key").write_bytes(key_of(key))
        more = ("--key-file", f"{key}.key")
        assert cli(release, *flags(f"{name}.csv"), *more).code == 0

    texts = [Path(f"{name}.csv").read_text() for name in "abc"]
    records = [Path(f"{name}.csv.manifest.json").read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]
    assert records[0] == records[1]  # and no key in it


def test_json_is_the_only_thing_on_the_standard_output(
    cli: Command, release: Path
) -> None:
    done = cli(release, *flags(), "--json", "--manifest", "record.json")

    assert json.loads(done.out) == json.loads(Path("record.json").read_text())
    assert not Path("out.parquet.manifest.json").exists()


def test_columns_and_k_may_come_from_a_spec(
    cli: Command, release: Path, tmp_path: Path
) -> None:
    (tmp_path / "spec.toml").write_text('quasi_identifiers = ["age"]\nk = 5\n')
    asked = ["--spec", "spec.toml", "--sensitive", "disease", "-p", "2"]

    done = cli(release, *asked, "--output", "out.csv", "--json")

    assert done.code == 0, done.err
    assert json.loads(done.out)["asked"]["k"] == 5
    assert cli(release, *asked, "--output", "o.csv", "--k", "6").code == 4


def test_probabilities_come_from_a_file(
    cli: Command, release: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.toml").write_text(f'"{CANARY} new" = 0.2\n"{CANARY} 1" = 0\n')

    done = cli(release, *flags(), "--probabilities", "p.toml")

    assert done.code == 0, done.err
    found = Counter(pq.read_table("out.parquet")["disease"].to_pylist())
    assert found[f"{CANARY} new"] == 9


def test_probabilities_of_dates_are_written_as_dates(
    cli: Command, release: Path, tmp_path: Path
) -> None:
    (tmp_path / "p.toml").write_text("2021-05-06 = 1\n")

    done = cli(release, *flags(column="day"), "--probabilities", "p.toml")

    assert done.code == 0, done.err
    found = pq.read_table("out.parquet")["day"]
    assert found.type == pa.date32()
    assert Counter(found.to_pylist())[date(2021, 5, 6)] == 10


def test_missing_values_may_be_ignored(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("q,s\n1,NA\n1,a\n1,a\n2,b\n2,b\n2,a\n")
    asked = ["in.csv", "--qid", "q", "--sensitive", "s", "-p", 2, "-k", 3]

    as_value = cli(*asked, "--null", "NA", "--output", "a.csv")
    ignored = cli(*asked, "--null", "NA", "--ignore-missing", "--output", "b.csv")

    assert "no value of 's' was changed" in as_value.err
    assert (
        json.loads(Path("a.csv.manifest.json").read_text())["values_changed"] is False
    )
    assert "1 of 6 values of 's' was changed" in ignored.err


def test_overwrite_replaces_both_files(cli: Command, release: Path) -> None:
    Path("out.parquet").write_text("old")
    Path("out.parquet.manifest.json").write_text("old")

    assert cli(release, *flags()).code == 2
    assert Path("out.parquet").read_text() == "old"
    assert cli(release, *flags(), "--overwrite").code == 0
    assert pq.read_table("out.parquet").num_rows == 50


# What is refused


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        pytest.param(["-p", "1"], 2, "p >= 2", id="p of one"),
        pytest.param(["-p", "x"], 2, "", id="p no number"),
        pytest.param(["-p", "6"], 2, "k is at least p", id="p above k"),
        pytest.param(["-k", "6"], 4, "10 of 10 classes have fewer than 6", id="k"),
        pytest.param(["-p", "3"], 4, "only 2 different values", id="few values"),
        pytest.param(["--qid", "agee"], 2, "agee", id="unknown column"),
        pytest.param(["--sensitive", "x"], 2, "not in the data", id="no such column"),
        pytest.param(["--sensitive", "age"], 2, "and sensitive", id="both"),
        pytest.param(["--output", "out.xls"], 2, "unknown kind", id="suffix"),
        pytest.param(["--output", "no/out.csv"], 6, "folder", id="folder"),
        pytest.param(["--output", "release.parquet"], 2, "same file", id="source"),
        pytest.param(
            ["--manifest", "release.parquet", "--overwrite"],
            2,
            "a file of its own",
            id="manifest over source",
        ),
        pytest.param(
            ["--manifest", "out.parquet"], 2, "a file of its own", id="one file"
        ),
        pytest.param(["--probabilities", "no.toml"], 2, "No such", id="no file"),
        pytest.param(["--spec", "no.toml"], 2, "no such", id="no spec"),
    ],
)
def test_bad_requests_write_nothing(
    cli: Command,
    release: Path,
    tmp_path: Path,
    more: list[str],
    code: int,
    message: str,
) -> None:
    done = cli(release, *flags(), *more)

    assert done.code == code, done.err
    assert message in done.err
    assert files_in(tmp_path) == ["release.parquet"]
    assert pq.read_table(release).equals(release_table())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(f'"{CANARY}" = ', "not lines", id="no toml"),
        pytest.param(f'"{CANARY}" = 1\n"{CANARY}" = 1\n', "not lines", id="twice"),
        pytest.param(f"{CANARY}.x = 1\n", "not lines", id="dots"),
        pytest.param(f'"{CANARY}" = "{CANARY}"\n', "a probability is", id="a word"),
        pytest.param(f'"{CANARY}" = -1\n', "a probability is", id="negative"),
        pytest.param(f'"{CANARY}" = nan\n', "a probability is", id="nan"),
        pytest.param("", "finite sum above 0", id="empty"),
        pytest.param("\udcff", "not lines", id="no text"),
    ],
)
def test_bad_probabilities_are_refused(
    cli: Command, release: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "p.toml").write_bytes(text.encode(errors="surrogateescape"))

    done = cli(release, *flags(), "--probabilities", "p.toml")

    assert done.code == 2
    assert message in done.err
    assert files_in(tmp_path) == ["p.toml", "release.parquet"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(f'"{CANARY}" = 1\n', "are not date32", id="no date"),
        pytest.param(
            '2021-05-06 = 1\n" 2021-05-06" = 1\n', "are not date32", id="a space"
        ),
    ],
)
def test_probabilities_of_another_type_are_refused(
    cli: Command, release: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "p.toml").write_text(text)

    done = cli(release, *flags(column="day"), "--probabilities", "p.toml")

    assert done.code == 2
    assert message in done.err


def test_a_column_and_a_k_are_needed(cli: Command, release: Path) -> None:
    asked = [release, "--sensitive", "disease", "-p", "2", "--output", "out.csv"]

    assert cli(*asked, "-k", "2").code == 2
    assert cli(*asked, "--qid", "age").code == 2
    assert cli(release, "--qid", "age", "-k", "2", "--output", "out.csv").code == 2
    assert not Path("out.csv").exists()
