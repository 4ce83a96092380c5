"""The command line on folders, compressed files and little memory; and when killed."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import CANARY, Command, files_in

from core_mondrian.datasets import census
from core_mondrian.tables.files.staging import workspace_of
from core_mondrian.tables.files.write import write_table

ASKED = ("--qid", "age", "--qid", "sex", "--qid", "education", "--k", "5")
CHILD = """
import sys
from core_mondrian.sources import memory
size, _, where = sys.argv[1].partition("/")
if size != "all":
    from core_mondrian.sources.memory import Sizes
    memory.Limit.sizes = lambda *_: Sizes(rows=int(size), in_flight=3, threads=2)
if where == "disk":
    from core_mondrian.sources.tuple_store import StoreLimits
    memory.Limit.tuples_in_memory = lambda *_: 40
    memory.Limit.counted_in_memory = lambda *_: 500
    memory.Limit.store = lambda *_: StoreLimits(256 << 20, task_tuples=100, threads=2)
from core_mondrian.cli.main import app
import core_mondrian.sources.files.run
print("ready", flush=True)
try:
    app(sys.argv[2:], standalone_mode=False)
finally:
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            print(line.split()[1], flush=True)
"""


def start(size: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a command in a process of its own, and wait until it is about to work.

    ``size`` is how many rows are read at a time; after it /disk: tuples lie on disk.
    """
    command = [sys.executable, "-c", CHILD, size, *map(str, arguments)]
    child = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def test_folder_glob_and_archive_are_released_alike(
    cli: Command, tmp_path: Path
) -> None:
    table = census(3000).drop_columns(["person_id"])
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        write_table(table.slice(1000 * number, 1000), folder / f"{number}.csv")
    write_table(table, tmp_path / "whole.csv")
    with pa.output_stream(tmp_path / "whole.csv.gz") as stream:
        stream.write((tmp_path / "whole.csv").read_bytes())

    digests = {}
    for source in ("parts", "parts/?.csv", "whole.csv", "whole.csv.gz"):
        done = cli("anonymize", source, "out.csv", *ASKED, "--json", "--overwrite")
        assert done.code == 0, done.err
        digests[source] = json.loads(done.out)["digests"], Path("out.csv").read_text()

    assert len({str(found) for found in digests.values()}) == 1


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_target_may_be_compressed(suffix: str, cli: Command) -> None:
    write_table(census(500).drop_columns(["person_id"]), Path("a.csv"))
    written = {}
    for target in ("out.csv", f"in-memory.csv{suffix}", f"streamed.csv{suffix}"):
        more = ("--stream",) if target.startswith("streamed") else ()
        asked = ("--key-file", "key", "--no-measures", *more)
        Path("key").write_text("0" * 32)
        done = cli("anonymize", "a.csv", target, *ASKED, *asked)
        assert done.code == 0, done.err
        assert cli("verify", target, *ASKED).code == 0
        written[target] = pa.input_stream(target, compression="detect").read()

    assert len({*written.values()}) == 1


def test_folder_as_target_gets_parts(cli: Command, tmp_path: Path) -> None:
    write_table(census(500), tmp_path / "a.parquet")

    done = cli("anonymize", "a.parquet", "out", *ASKED, "--stream")

    assert done.code == 0, done.err
    assert files_in(tmp_path) == [
        *("a.parquet", "out", "out.manifest.json", "out.owner.json"),
    ]
    assert files_in(tmp_path / "out") == ["part-00000.parquet"]


def test_bad_rows_are_told_by_line_and_may_be_left_out(
    cli: Command, tmp_path: Path
) -> None:
    lines = ["age,sex,education", *(f"{i % 50},f,{i % 3}" for i in range(900))]
    lines[500] = f"{CANARY},f"
    (tmp_path / "a.csv").write_text("\n".join(lines))

    done = cli("anonymize", "a.csv", "out.csv", *ASKED, "--bad-rows", "error")
    assert done.code == 3
    assert "a.csv, line 501: expected 3 values, found 2" in done.err
    assert files_in(tmp_path) == ["a.csv"]

    done = cli("anonymize", "a.csv", "out.csv", *ASKED, "--bad-rows", "1")
    assert done.code == 0
    record = json.loads((tmp_path / "out.csv.owner.json").read_text())["rows"]
    assert (record["in"], record["bad"], record["released"]) == (900, 1, 899)
    assert "900 in, 1 bad left out, 899 released, 0 suppressed" in done.err

    done = cli("anonymize", "a.csv", "b.csv", *ASKED, "--bad-rows", "few")
    assert done.code == 2


def test_options_of_streams_are_refused_where_they_cannot_hold(
    cli: Command, tmp_path: Path
) -> None:
    write_table(census(500), tmp_path / "a.parquet")
    refused = {
        ("--memory", "1MB"): 2,
        ("--stream", "--shuffle", "1"): 2,
        ("--stream", "--by", "zip_code"): 2,
        ("--add-counts", "none.arrow"): 3,
        ("--memory", "2GB", "--engine", "spark"): 2,
        ("--resume", "--database", "a.db"): 2,
    }
    for options, code in refused.items():
        done = cli("anonymize", "a.parquet", "out.parquet", *ASKED, *options)
        assert done.code == code, done.err
        assert "hint:" in done.err or code == 2
    assert files_in(tmp_path) == ["a.parquet"]


def test_more_tuples_than_fit_go_to_disk(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(census(9_000), tmp_path / "a.parquet")
    many = ("--qid", "hours_per_week", "--qid", "zip_code")
    asked = (*ASKED, *many, "--json", "--no-measures")
    expected = cli("anonymize", "a.parquet", "whole.parquet", *asked)
    monkeypatch.setattr("core_mondrian.sources.memory._ENGINE_COLUMN", 1 << 30)

    done = cli("anonymize", "a.parquet", "out.parquet", *asked, "--memory", "1GB")

    assert done.code == 0, done.err
    found, whole = (json.loads(one.out) for one in (done, expected))
    assert found["digests"] == whole["digests"]
    assert not [x for x in files_in(tmp_path) if x.startswith(".")]


def test_counts_are_kept_and_added_to(cli: Command, tmp_path: Path) -> None:
    table = census(1000).drop_columns(["person_id"])
    folder = tmp_path / "days"
    folder.mkdir()
    write_table(table.slice(0, 600), folder / "1.parquet")
    assert (
        cli(
            *("anonymize", "days", "1.parquet", *ASKED, "--save-counts", "kept.arrow")
        ).code
        == 0
    )
    write_table(table.slice(600), folder / "2.parquet")

    added = cli(
        *("anonymize", "days", "2.parquet", *ASKED, "--json"),
        *("--add-counts", "kept.arrow"),
    )
    fresh = cli("anonymize", "days", "3.parquet", *ASKED, "--json")

    assert added.code == 0, added.err
    assert json.loads(added.out)["digests"] == json.loads(fresh.out)["digests"]


def test_least_memory_limit_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "a.parquet"
    pq.write_table(census(600_000), source)
    limit = 500 << 20
    child = start(
        *("all", "anonymize", source, tmp_path / "out.parquet", *ASKED),
        *("--memory", "500MB", "--policy", "paper", "--no-measures"),
    )

    out, err = child.communicate()

    assert child.returncode == 0, err
    assert int(out.split()[-1]) << 10 < limit


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_stopped_run_leaves_a_first_pass_and_nothing_else(
    kind: signal.Signals, tmp_path: Path
) -> None:
    folder, target = tmp_path / "parts", tmp_path / "out.parquet"
    folder.mkdir()
    for number in range(4):
        pq.write_table(census(20_000, seed=number), folder / f"{number}.parquet")
    child = start(*("2000", "anonymize", folder, target, *ASKED, "--policy", "paper"))
    counts = workspace_of(target) / "counts.arrow"
    while not counts.exists() and child.poll() is None:
        time.sleep(0.005)

    child.send_signal(kind)
    _, err = child.communicate()

    if child.returncode:  # else it was faster
        assert "--resume goes on" in err
        assert files_in(workspace_of(target)) == ["counts.arrow", "lock"]
        assert not target.exists()


def time_a_run(size: str, folder: Path, target: Path, asked: Iterable[str]) -> float:
    begun = time.perf_counter()
    child = start(size, "anonymize", folder, target, *asked)
    _, err = child.communicate()
    assert child.returncode == 0, err
    return time.perf_counter() - begun


@pytest.mark.parametrize("size", ["4000", "4000/disk"])
@pytest.mark.parametrize("n_kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_runs_never_leave_a_wrong_target_and_can_go_on(
    n_kills: int, size: str, tmp_path: Path
) -> None:
    """Runs are killed at random moments, each going on where the last ended."""
    folder, target = tmp_path / "parts", tmp_path / "out.parquet"
    folder.mkdir()
    for number in range(5):
        pq.write_table(census(20_000, seed=number), folder / f"{number}.parquet")
    asked = (*ASKED, "--policy", "paper", "--no-measures", "--overwrite")
    seconds = time_a_run(size, folder, tmp_path / "expected.parquet", asked)
    expected = (tmp_path / "expected.parquet").read_bytes()
    moments = random.Random(0)  # noqa: S311
    n_killed = n_begun = n_tries = 0

    while n_killed < n_kills or not n_begun:
        n_tries += 1
        assert n_tries <= 8 * n_kills
        child = start(size, "anonymize", folder, target, *asked, "--resume")
        time.sleep(moments.uniform(0, seconds))
        child.kill()
        child.communicate()
        n_killed += child.returncode == -signal.SIGKILL
        is_begun = (workspace_of(target) / "counts.arrow").exists()
        n_begun += is_begun
        # The machine may be busier now than when runs were timed, or less so.
        seconds *= 0.9 if child.returncode == 0 else 1.0 if is_begun else 1.2
        assert not target.exists() or target.read_bytes() == expected

    child = start(size, "anonymize", folder, target, *asked, "--resume")
    _, err = child.communicate()
    assert child.returncode == 0, err
    assert target.read_bytes() == expected
    assert not workspace_of(target).exists()
    digests = [
        json.loads((tmp_path / f"{name}.parquet.manifest.json").read_text())["digests"]
        for name in ("out", "expected")
    ]
    assert digests[0] == digests[1]
