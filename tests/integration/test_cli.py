"""The command line: every good run, every bad input, and no cell in any message."""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command

from core_mondrian import __version__

SOURCE = Path(__file__).parents[2] / "src"


ENDINGS = ("", ".manifest.json", ".owner.json")
FIGURES = {
    *("rows", "cells_blanked", "models", "warnings", "search", "equity", "funnel"),
}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table of 60 people with a canary in each."""
    path = tmp_path / "people.parquet"
    pq.write_table(people_table(), path)
    return path


def people_table() -> Any:
    rows = range(60)
    return pa.table(
        {
            "name": [f"{CANARY} {i}" for i in rows],
            "age": [20 + i % 20 for i in rows],
            "town": [f"{CANARY} {i % 4}" for i in rows],
            "note": [None if i % 7 == 0 else CANARY for i in rows],
        }
    )


def flags(target: str = "out.parquet") -> list[str]:
    return [target, "--qid", "age", "--qid", "town", "--k", "3", "--identifier", "name"]


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Good runs


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".arrow", ".feather"])
def test_a_release_is_written_and_verifies(
    cli: Command, people: Path, tmp_path: Path, suffix: str
) -> None:
    done = cli("anonymize", people, *flags(f"out{suffix}"))
    checked = cli("verify", f"out{suffix}", "--qid", "age", "--qid", "town", "--k", 3)

    assert done.code == 0, done.err
    assert done.out == ""
    assert checked.code == 0, checked.err
    assert files_in(tmp_path) == sorted(
        [*(f"out{suffix}{x}" for x in ENDINGS), "people.parquet"]
    )
    for word in ("60 in", "classes", "3-anonymity", "age", "town", "digest", "wrote"):
        assert word in done.err


def test_a_bound_is_printed_and_kept_for_the_owner(cli: Command, people: Path) -> None:
    done = cli("anonymize", people, *flags(), "--bound", "--report", "out.html")

    assert done.code == 0, done.err
    assert "no release in classes of 3 rows can lose less than" in done.err
    assert "; this one loses" in done.err
    record = json.loads(Path("out.parquet.owner.json").read_text())
    assert record["bound"]["least"] == 3
    assert "bound" not in json.loads(Path("out.parquet.manifest.json").read_text())
    assert "no release can lose less than" in Path("out.html").read_text()


def test_the_release_keeps_rows_and_columns_that_are_not_quasi_identifiers(
    cli: Command, people: Path
) -> None:
    assert cli("anonymize", people, *flags(), "--suppress", "0").code == 0

    released = pq.read_table("out.parquet")
    assert released.column_names == ["age", "town", "note"]
    assert released["note"].equals(pq.read_table(people)["note"])
    assert released.schema.field("note").type == pa.string()


def test_csv_columns_pass_through_byte_for_byte(cli: Command, tmp_path: Path) -> None:
    notes = ["007", "1.50", "NA", "a,b", "", " x ", 'q"r', "two\nlines"] * 3
    ages = [str(30 + i % 3) for i in range(len(notes))]
    source = tmp_path / "in.csv"
    with source.open("w", newline="") as file:
        csv.writer(file).writerows([("age", "note"), *zip(ages, notes, strict=True)])

    done = cli("anonymize", source, "out.csv", "--qid", "age", "--k", "2")

    assert done.code == 0, done.err
    with Path("out.csv").open(newline="") as file:
        assert [row[1] for row in csv.reader(file)] == ["note", *notes]


def test_json_is_the_only_thing_on_the_standard_output(
    cli: Command, people: Path
) -> None:
    done = cli("anonymize", people, *flags(), "--json")

    found = json.loads(done.out)
    manifest = json.loads(Path("out.parquet.manifest.json").read_text())
    assert found.pop("measures")
    record = json.loads(Path("out.parquet.owner.json").read_text())
    assert found == {**manifest, **{x: record[x] for x in found if x in FIGURES}}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        pytest.param([], "policy      best, effort auto: thorough (", id="default"),
        pytest.param(
            ["--policy", "best", "--effort", "strong"],
            "policy      best, effort strong (beta ",
            id="effort",
        ),
        pytest.param(
            ["--disjoint"],
            "policy      best, effort auto: thorough, disjoint (",
            id="disjoint",
        ),
        pytest.param(["--policy", "paper"], "policy      paper\n", id="paper"),
        pytest.param(
            ["--policy", "original"],
            "policy      original, variant fair\n",
            id="classic",
        ),
    ],
)
def test_the_policy_can_be_chosen_and_is_told(
    cli: Command, people: Path, more: list[str], told: str
) -> None:
    done = cli("anonymize", people, *flags(), *more)

    assert done.code == 0, done.err
    assert told in done.err


def test_effort_and_disjoint_join_what_the_spec_says_of_best(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    file = tmp_path / "spec.toml"
    file.write_text('[best]\nbeta = 4\neffort = "max"\n')

    done = cli(
        *("anonymize", people, *flags(), "--spec", file),
        *("--effort", "fast", "--disjoint"),
    )

    manifest = json.loads(Path("out.parquet.manifest.json").read_text())
    asked = {"effort": "fast", "disjoint": True, "beta": 4, "price": 1.0}
    nothing = {"equity": None, "equity_bound": None}
    assert manifest["spec"]["policy"] == {"name": "best", **asked, **nothing}
    record = json.loads(Path("out.parquet.owner.json").read_text())
    assert record["search"] == {"effort": "fast", "beta": 4.0}
    assert "policy      best, effort fast, disjoint (beta 4)\n" in done.err


def test_policy_best_suppresses_nothing_unless_it_is_allowed_to(
    cli: Command, people: Path
) -> None:
    done = cli("anonymize", people, *flags())
    allowed = cli("anonymize", people, *flags("other.parquet"), "--suppress", "3")

    assert "0 suppressed (budget 0)" in done.err
    assert "(budget 3)" in allowed.err


def test_small_patterns_are_suppressed_if_it_is_asked(
    cli: Command, tmp_path: Path
) -> None:
    rows = [*(f"{i % 3},x" for i in range(20)), ",x", ",x"]
    (tmp_path / "holes.csv").write_text("\n".join(["age,sex", *rows]) + "\n")
    flags = ("--qid", "age", "--qid", "sex", "--k", "5", "--suppress", "2")
    asked = (*flags, "--missing", "pattern", "--small-patterns")

    kept = cli("anonymize", "holes.csv", "kept.csv", *asked, "repair")
    lost = cli("anonymize", "holes.csv", "lost.csv", *asked, "suppress")
    none = cli(
        "anonymize", "holes.csv", "none.csv", *flags, "--small-patterns", "suppress"
    )

    assert "22 in, 22 released, 0 suppressed (budget 2)" in kept.err
    assert "22 in, 20 released, 2 suppressed (budget 2)" in lost.err
    assert none.code == 2
    assert "small_patterns means nothing with missing = 'value'" in none.err


def test_measures_can_be_left_out(cli: Command, people: Path) -> None:
    done = cli("anonymize", people, *flags(), "--json", "--no-measures")

    assert "measures" not in json.loads(done.out)
    assert "RILM" not in done.err


def test_flags_override_the_spec_and_its_files_are_relative_to_it(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "specs"
    folder.mkdir()
    towns = "".join(f"{CANARY} {i};half {i // 2};*\n" for i in range(4))
    (folder / "town.csv").write_text(towns)
    (folder / "spec.toml").write_text(
        'quasi_identifiers = ["age", "town"]\nidentifiers = ["name"]\nk = 50\n'
        'suppress = "0%"\n[hierarchies]\ntown = "town.csv"\n'
    )
    spec = ["--spec", "specs/spec.toml"]

    done = cli("anonymize", people, "a.parquet", *spec, "--k", "4", "--json")
    plain = cli("anonymize", people, "b.parquet", *spec, "--json")
    local = ["--hierarchy", "town=specs/town.csv"]
    named = cli("anonymize", people, *flags("c.parquet"), *local, "--json")

    for run_, k in ((done, 4), (plain, 50), (named, 3)):
        assert run_.code == 0, run_.err
        models = json.loads(run_.out)["spec"]["models"]
        assert models[0]["name"] == f"{k}-anonymity"
        assert "town" in json.loads(run_.out)["spec"]["hierarchies"]
    (folder / "town.csv").unlink()
    assert cli("verify", "a.parquet", *spec, "--k", "4").code == 0


def test_categories_can_be_released_as_sets(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    halves = "".join(f"{CANARY} {i};half {i // 2};*\n" for i in range(4))
    (tmp_path / "town.csv").write_text(halves)
    columns = ["--qid", "town", "--k", "20", "--hierarchy", "town=town.csv"]

    done = cli("anonymize", people, "out.csv", *columns, "--categories", "set")
    checked = cli("verify", "out.csv", "--qid", "town", "--k", "20")

    assert (done.code, checked.code) == (0, 0), done.err
    assert set(pd.read_csv("out.csv")["town"]) == {
        f"{{{CANARY} 0, {CANARY} 1}}",
        f"{{{CANARY} 2, {CANARY} 3}}",
    }
    # One value too many of three that could be; as labels it would be two leaves of 4.
    assert " 0.333 " in done.err


def test_weights_of_the_flags_join_those_of_the_spec(
    cli: Command, people: Path, tmp_path: Path
) -> None:
    (tmp_path / "spec.toml").write_text(
        'quasi_identifiers = ["age", "town", "note"]\nidentifiers = ["name"]\nk = 3\n'
        "[weights]\nage = 2\ntown = 5\n"
    )
    flags = ["--spec", "spec.toml", "--weight", "age=0.5", "--weight", "note=3"]

    done = cli("anonymize", people, "out.csv", *flags, "--json")

    assert done.code == 0, done.err
    report = json.loads(done.out)
    weights = {"age": 0.5, "town": 5.0, "note": 3.0}
    assert report["spec"]["weights"] == weights
    columns = report["measures"]["columns"]
    assert {column["name"]: column["weight"] for column in columns} == weights
    lost = sum(column["ncp"] * column["weight"] for column in columns)
    assert report["measures"]["loss"] == pytest.approx(lost / 8.5)
    heads = [line.split() for line in done.err.splitlines() if "RILM" in line]
    assert heads[-1] == ["column", "kind", "RILM", "NCP", "weight"]


def test_weight_of_a_column_with_an_equals_sign(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a=b\n1\n1\n")

    done = cli(
        "anonymize", "in.csv", "out.csv", "--qid", "a=b", "--k", "2",
        "--weight", "a=b=4", "--json",
    )  # fmt: skip

    assert json.loads(done.out)["spec"]["weights"] == {"a=b": 4.0}


def test_overwrite_replaces_both_files(cli: Command, people: Path) -> None:
    Path("out.parquet").write_text("old")
    Path("out.parquet.manifest.json").write_text("old")

    assert cli("anonymize", people, *flags()).code == 2
    assert Path("out.parquet").read_text() == "old"
    assert cli("anonymize", people, *flags(), "--overwrite").code == 0
    assert pq.read_table("out.parquet").num_rows > 0


@pytest.mark.parametrize(
    "name", ["two words", "größe", "line\nbreak", "[red]x", "a=b", "tab\there", "'\""]
)
def test_column_names_may_be_anything(cli: Command, tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({name: [1, 1, 2, 2, 3, 3], "x": list("aabbcc")})
    frame.to_csv(tmp_path / "in.csv", index=False)

    done = cli("anonymize", "in.csv", "out.csv", "--qid", name, "--k", "2")
    looked = cli("inspect", "out.csv")

    assert done.code == 0, done.err
    assert looked.code == 0, looked.err
    assert pd.read_csv("out.csv").columns.tolist() == [name, "x"]


def test_verify_tells_a_table_that_fails(cli: Command, people: Path) -> None:
    done = cli("verify", people, "--qid", "name", "--k", "2", "--json")

    assert done.code == 5
    assert json.loads(done.out)["passed"] is False
    assert "60 of 60 classes" in done.err


def test_verify_compares_texts_as_they_stand(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,x\n1.0,x\n")

    assert cli("verify", "in.csv", "--qid", "a", "--k", "2").code == 5


def test_inspect_shows_counts(cli: Command, people: Path) -> None:
    shown = cli("inspect", people)
    plain = json.loads(cli("inspect", people, "--json").out)

    assert shown.code == 0
    assert "nearly unique" in shown.out
    assert [column["n_distinct"] for column in plain["columns"]] == [60, 20, 4, 1]


def test_a_name_like_a_picture_is_printed_as_it_is(
    cli: Command, tmp_path: Path
) -> None:
    rows = "".join(f"{20 + n % 4},{n}\n" for n in range(40))
    (tmp_path / "in.csv").write_text(f"age,:smile:\n{rows}")

    made = cli("anonymize", "in.csv", "out.csv", "--qid", "age", "--k", "5")

    assert "warning     ':smile:' is released as it is" in made.err


def test_version_and_help_are_shown(cli: Command) -> None:
    assert cli("--version").out.strip()
    assert "anonymize" in cli("--help").out


def test_help_needs_no_heavy_package() -> None:
    script = (
        "import sys\n"
        "from core_mondrian.cli.main import run\n"
        "try:\n    run(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'pandas', 'polars', 'pyarrow', 'numpy', 'narwhals'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )

    done = python(script)

    assert done.stdout.splitlines()[-1] == "[]"


# Bad requests and bad data


def environment() -> dict[str, str]:
    paths = [str(SOURCE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def python(script: str, *arguments: str, **options: Any) -> Any:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["--qid", "agee", "--k", "3"], 2, "agee", id="unknown column"),
        pytest.param(
            ["--qid", "age", "--qid", "age", "--k", "3"], 2, "twice", id="twice"
        ),
        pytest.param(["--k", "3"], 2, "no quasi-identifier", id="no column"),
        pytest.param(["--qid", "age"], 2, "k is missing", id="no k"),
        pytest.param(["--qid", "age", "--k", "1"], 2, "k >= 2", id="k too small"),
        pytest.param(["--qid", "age", "--k", "x"], 2, "", id="k no number"),
        pytest.param(
            ["--qid", "age", "--k", "61"], 4, "60 rows", id="k above the rows"
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--suppress", "x"],
            2,
            "suppress",
            id="suppress",
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--policy", "x"], 2, "policy", id="policy"
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--effort", "x"], 2, "effort", id="effort"
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--policy", "paper", "--disjoint"],
            2,
            "[best] is given, but the policy is 'paper'",
            id="not for paper",
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--numbers", "x"], 2, "numbers", id="numbers"
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--categories", "x"],
            2,
            "categories is one of label, set",
            id="categories",
        ),
        *(
            pytest.param(
                ["--qid", "age", "--k", "3", "--weight", text], 2, told, id=name
            )
            for name, text, told in (
                ("weight of nothing", "3", "--weight takes COLUMN=NUMBER"),
                ("weight in words", "age=three", "--weight takes COLUMN=NUMBER"),
                ("weight of zero", "age=0", "a finite number above 0"),
                ("weight of infinity", "age=inf", "a finite number above 0"),
                ("weight of a stranger", "town=2", "not quasi-identifiers"),
            )
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--threads", "0"], 2, "", id="threads"
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--hierarchy", "x"],
            2,
            "COLUMN=",
            id="hierarchy",
        ),
        pytest.param(
            ["--qid", "town", "--k", "3", "--hierarchy", "town=none.csv"],
            3,
            "none.csv",
            id="hierarchy file",
        ),
        pytest.param(
            ["--qid", "age", "--k", "3", "--identifier", "age"], 2, "twice", id="roles"
        ),
        pytest.param(["--spec", "none.toml"], 2, "none.toml", id="no spec file"),
        pytest.param(["--spec", "bad.toml"], 2, "unknown key", id="unknown key"),
        pytest.param(["--spec", "people.parquet"], 2, "people", id="spec not text"),
        pytest.param(["--nonsense"], 2, "nonsense", id="unknown option"),
    ],
)
def test_bad_requests_are_explained_and_write_nothing(
    cli: Command,
    people: Path,
    tmp_path: Path,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    (tmp_path / "bad.toml").write_text('k = 3\nquasi_identifers = ["age"]\n')

    done = cli("anonymize", people, "out.parquet", *arguments)

    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert files_in(tmp_path) == ["bad.toml", "people.parquet"]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        pytest.param("none.csv", None, 3, id="missing"),
        pytest.param("in.csv", b"", 3, id="empty"),
        pytest.param("in.csv", b"age,town\n", 4, id="no rows"),
        pytest.param("in.csv", b"age,age\n1,2\n", 3, id="columns of one name"),
        pytest.param("in.csv", b"age,town\n1,CANARY-7391,3\n", 3, id="ragged"),
        pytest.param("in.csv", b'age,town\n1,"CANARY-7391', 3, id="cut"),
        pytest.param("in.csv", b"age,town\n1,CANARY-7391\xff\n", 3, id="bytes"),
        pytest.param("in.parquet", b"PAR1 CANARY-7391", 3, id="damaged"),
        pytest.param("in.csv", b"PAR1\x00\xffCANARY-7391", 3, id="wrong suffix"),
        pytest.param("in.txt", b"age\n1\n", 3, id="unknown suffix"),
        pytest.param("in.csv", b"CANARY-73,x\n1,2\n", 2, id="other columns"),
    ],
)
def test_bad_tables_are_explained_and_write_nothing(
    cli: Command, tmp_path: Path, name: str, content: bytes | None, code: int
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    done = cli("anonymize", name, *flags("out.csv")[:-2])

    assert done.code == code, done.err
    assert done.err.startswith("error: ")
    assert files_in(tmp_path) == ([] if content is None else [name])


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param("people.parquet", 2, id="the source"),
        pytest.param("none/out.parquet", 6, id="no folder"),
        pytest.param("out.txt", 2, id="suffix"),
        pytest.param("/dev/null", 2, id="device"),
    ],
)
def test_bad_targets_are_explained(
    cli: Command, people: Path, tmp_path: Path, target: str, code: int
) -> None:
    done = cli("anonymize", people, *flags(target), "--overwrite")

    assert done.code == code
    assert files_in(tmp_path) == ["people.parquet"]


def test_a_full_disk_is_told_and_leaves_nothing(
    cli: Command, people: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, CANARY)

    monkeypatch.setattr(os, "fsync", full)

    done = cli("anonymize", people, *flags())

    assert done.code == 6
    assert "disk is full" in done.err
    assert files_in(tmp_path) == ["people.parquet"]


def test_a_bug_is_told_without_the_message_of_the_error(
    cli: Command, people: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise KeyError(CANARY)

    monkeypatch.setattr("core_mondrian.tables.files.read.read_table", broken)

    done = cli("anonymize", people, *flags())

    assert done.code == 70
    assert "KeyError in csv_files.py, line" in done.err
    assert "report" in done.err
    assert files_in(tmp_path) == ["people.parquet"]


INTERRUPTED = """
import os, signal, sys
import core_mondrian.tables.files.write as files
from core_mondrian.cli.main import run
write = files._write_parquet
def interrupt(*arguments):
    write(*arguments)
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
files._write_parquet = interrupt
run(sys.argv[2:])
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupt_in_the_middle_of_writing_leaves_nothing(
    people: Path, tmp_path: Path, name: str, code: int
) -> None:
    done = python(
        INTERRUPTED, name, "anonymize", str(people), *flags(), cwd=str(tmp_path)
    )

    assert done.returncode == code
    assert done.stderr.strip() == "interrupted; nothing was written"
    assert done.stdout == ""
    assert files_in(tmp_path) == ["people.parquet"]


STUCK = """
import atexit, sys, threading
from core_mondrian.cli import process
from core_mondrian.cli.main import run
process._PATIENCE = 0.1
wait = threading.Event().wait
threading.Thread(target=wait, daemon=sys.argv[1] == "exit").start()
if sys.argv[1] == "exit":
    atexit.register(wait)
sys.argv[1:] = ["verify", "missing.csv", "--k", "5", "--qid", "age"]
run()
"""


@pytest.mark.parametrize("where", ["thread", "exit"])
def test_what_does_not_end_does_not_hold_the_process(
    where: str, tmp_path: Path
) -> None:
    """As with a thread that waits for a server, or what a library calls at the end."""
    done = python(STUCK, where, cwd=str(tmp_path), timeout=60)

    assert done.returncode == 3
    assert done.stderr.startswith("error: missing.csv")


def test_a_closed_pipe_is_no_error(people: Path) -> None:
    command = [sys.executable, "-m", "core_mondrian.cli.main", "inspect", str(people)]
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(  # noqa: S603
        command, env=environment(), stdout=writer, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writer)
        _, err = process.communicate()

    assert "Traceback" not in err
    assert "internal" not in err


def test_no_file_is_readable_before_it_is_complete(
    cli: Command, people: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    seen: list[list[str]] = []
    fsync = os.fsync

    def look(handle: int) -> None:
        seen.append([n for n in files_in(tmp_path) if not n.startswith(".")])
        fsync(handle)

    monkeypatch.setattr(os, "fsync", look)

    assert cli("anonymize", people, *flags()).code == 0
    assert seen[0] == ["people.parquet"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize("words", [("-h",), ("anonymize", "-h"), ("verify", "-h")])
def test_help_has_a_short_form(words: tuple[str, ...], cli: Command) -> None:
    done = cli(*words)
    assert done.code == 0
    assert "Usage" in done.out


def test_version_has_a_short_form_and_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "core_mondrian", "-V"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == __version__


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "'code' lost 100% of its information; --hierarchy code=prefix:2"),
        (("--hierarchy", "code=prefix:1"), None),
    ],
    ids=["flat", "hierarchy"],
)
def test_a_column_that_lost_nearly_everything_is_warned_about(
    flags: tuple[str, ...], told: str | None, cli: Command, tmp_path: Path
) -> None:
    rows = "".join(f"{letter}{i:02},f\n" for letter in "ab" for i in range(30))
    (tmp_path / "in.csv").write_text(f"code,sex\n{rows}", encoding="utf-8")
    asked = ("--qid", "code", "--qid", "sex", "--k", "30", *flags)

    done = cli("anonymize", "in.csv", "out.csv", *asked)

    assert done.code == 0, done.err
    if told is None:
        assert "of its information" not in done.err
    else:
        assert told in done.err
