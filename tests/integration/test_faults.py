"""What the machine does to a run: nothing wrong is published, and it is told."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Command, files_in

from core_mondrian import MondrianError
from core_mondrian.cli.release_request import ReleaseRequest
from core_mondrian.datasets import census
from core_mondrian.runtime.progress import Throughput
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.files import file_run as making
from core_mondrian.sources.memory import Limit
from core_mondrian.tables.files import atomic_write as place
from core_mondrian.tables.files import staging as drafts
from core_mondrian.tables.files.atomic_write import write_files
from core_mondrian.tables.files.staging import workspace_of
from core_mondrian.tables.files.write import write_table

ASKED = ("--qid", "age", "--qid", "sex", "--k", "5", "--policy", "paper")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    write_table(census(30_000), tmp_path / "people.parquet")
    return tmp_path / "people.parquet"


@pytest.fixture
def few(tmp_path: Path) -> Path:
    write_table(census(400), tmp_path / "few.csv")
    return tmp_path / "few.csv"


def all_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few kilobytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=128k", "none", str(folder)]
    try:
        mounted = subprocess.run(words, check=False, capture_output=True)  # noqa: S603
    except OSError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip("nobody may mount a small disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S603, S607


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("disk/out.csv",), id="release"),
        pytest.param(("disk/out.parquet",), id="parquet"),
        pytest.param(("disk/out.arrow",), id="arrow"),
        pytest.param(("out.csv", "--report", "disk/out.html"), id="report"),
        pytest.param(
            (
                *("out.csv", "--suppressed-file", "disk/apart.csv"),
                *("--suppress", "40%", "--qid", "zip_code", "--qid", "occupation"),
            ),
            id="suppressed",
        ),
        pytest.param(("disk/out.csv", "--stream"), id="stream"),
        pytest.param(("disk/parts", "--stream"), id="parts"),
        pytest.param(
            (
                "out.csv",
                "--stream",
                "--save-counts",
                "disk/c.arrow",
                "--qid",
                "zip_code",
            ),
            id="counts",
        ),
    ],
)
def test_full_disk_is_told_and_leaves_nothing(
    words: tuple[str, ...], cli: Command, people: Path, small_disk: Path
) -> None:
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    before = all_files(people.parent)
    done = cli("anonymize", people, words[0], *ASKED, *words[1:], "--no-measures")

    assert done.code == 6, done.err
    assert "the disk is full" in done.err
    assert all_files(people.parent) == before


def test_full_disk_keeps_what_was_there(
    cli: Command, people: Path, small_disk: Path
) -> None:
    (small_disk / "out.csv").write_text("old")
    (small_disk / "out.csv.manifest.json").write_text("old")

    done = cli("anonymize", people, "disk/out.csv", *ASKED, "--overwrite")

    assert done.code == 6
    assert files_in(small_disk) == ["out.csv", "out.csv.manifest.json"]
    assert (small_disk / "out.csv").read_text() == "old"


# Permissions


def set_read_only(folder: Path, *, how: str = "ro") -> None:
    words = ["mount", "-o", f"remount,{how}", str(folder)]
    subprocess.run(words, check=True)  # noqa: S603


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_folder_that_may_not_be_written_is_told(
    more: tuple[str, ...], cli: Command, few: Path, small_disk: Path
) -> None:
    set_read_only(small_disk)

    done = cli("anonymize", few, "disk/out.csv", *ASKED, *more)

    assert done.code == 6, done.err
    assert "no permission" in done.err
    assert files_in(small_disk) == []


def test_disk_that_turns_read_only_while_working_is_told(
    cli: Command, few: Path, small_disk: Path
) -> None:
    def lose(*arguments: Any, **options: Any) -> None:
        set_read_only(small_disk)
        write(*arguments, **options)

    write = write_files
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core_mondrian.release.publication.write_files", lose)
        done = cli("anonymize", few, "disk/out.csv", *ASKED)

    assert done.code == 6, done.err
    set_read_only(small_disk, how="rw")
    assert files_in(small_disk) == []


@pytest.mark.parametrize(
    ("where", "more"),
    [
        ("core_mondrian.tables.files.atomic_write.draft_folder", ()),
        ("core_mondrian.tables.files.atomic_write._write_one", ()),
        ("core_mondrian.tables.files.atomic_write._back_up", ()),
        ("core_mondrian.sources.files.writing.TableFile", ("--stream",)),
        ("core_mondrian.sources.files.file_run.Run._drafts", ("--stream",)),
        ("core_mondrian.sources.files.workspace.save_counts", ("--stream",)),
        ("core_mondrian.tables.files.atomic_write.draft_folder", ("--stream",)),
    ],
)
def test_permission_lost_while_working_is_told(
    where: str,
    more: tuple[str, ...],
    cli: Command,
    few: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "CANARY-7391")

    monkeypatch.setattr(where, refuse)

    done = cli("anonymize", few, "out.csv", *ASKED, *more)

    assert done.code == 6, done.err
    assert "Permission denied" in done.err
    assert files_in(few.parent) == ["few.csv"]


# The input


def unlink(path: Path) -> None:
    path.unlink()


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines()[-1] + b"\n")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("change", [unlink, grow, cut])
@pytest.mark.parametrize("stage", ["type", "write", "verify"])
def test_input_that_changes_while_it_is_read_is_told(
    stage: str,
    change: Callable[[Path], None],
    cli: Command,
    few: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = getattr(making.Run, stage)

    def meanwhile(self: making.Run, *arguments: object) -> object:
        if stage != "verify":  # later, rows have been read for good
            change(few)
        return work(self, *arguments)

    monkeypatch.setattr(making.Run, stage, meanwhile)

    done = cli("anonymize", few, "out.csv", *ASKED, "--stream")

    assert done.code == (0 if stage == "verify" else 3), done.err
    assert "out.csv" in files_in(few.parent) or stage != "verify"
    if done.code:
        assert set(files_in(few.parent)) <= {"few.csv"}


# Interrupts


def signal_at(
    monkeypatch: pytest.MonkeyPatch, stage: str, kind: signal.Signals
) -> list[str]:
    """Let a signal arrive at a stage; return a list that gets the stages seen."""
    seen: list[str] = []

    @contextmanager
    def progress(**_how: object) -> Iterator[Callable[[str, float], None]]:
        def tell(name: str, _done: float) -> None:
            if name not in seen:
                seen.append(name)
                if name == stage:
                    os.kill(os.getpid(), kind)

        yield tell

    for module in ("anonymize", "stream"):
        monkeypatch.setattr(f"core_mondrian.cli.{module}.show_progress", progress)
    return seen


CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.filterwarnings("ignore:an interrupted run was left behind")
@pytest.mark.parametrize("where", ["memory", "batches", "disk"])
@pytest.mark.parametrize("kind", CODES)
def test_interrupt_at_every_stage_publishes_nothing(
    kind: signal.Signals,
    where: str,
    cli: Command,
    few: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    more = () if where == "memory" else ("--stream",)
    if where == "disk":
        monkeypatch.setattr(Limit, "tuples_in_memory", lambda *_: 4)
    with pytest.MonkeyPatch.context() as patch:
        stages = signal_at(patch, "", kind)
        assert cli("anonymize", few, "out.csv", *ASKED, *more).code == 0
    expected = (few.parent / "out.csv").read_bytes()
    assert len(stages) >= 4

    for stage in stages:
        (few.parent / "out.csv").write_text("old")
        with pytest.MonkeyPatch.context() as patch:
            signal_at(patch, stage, kind)
            done = cli("anonymize", few, "out.csv", *ASKED, *more, "--overwrite")
        assert done.code == CODES[kind], (stage, done.err)
        assert "nothing was written" in done.err
        assert (few.parent / "out.csv").read_text() == "old"
        left = [name for name in all_files(few.parent) if "draft" in name]
        assert left == []

    assert cli("anonymize", few, "out.csv", *ASKED, *more, "--overwrite").code == 0
    assert (few.parent / "out.csv").read_bytes() == expected


@pytest.mark.parametrize("more", [(), ("--stream",)], ids=["memory", "batches"])
@pytest.mark.parametrize("kind", CODES)
def test_interrupt_after_the_release_is_written_undoes_nothing(
    kind: signal.Signals,
    more: tuple[str, ...],
    cli: Command,
    few: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        signal.raise_signal(kind)

    monkeypatch.setattr(ReleaseRequest, "outcome_of_files", interrupt)
    done = cli("anonymize", few, "out.csv", *ASKED, *more)

    assert done.code == 0
    assert done.err.splitlines()[-1] == "interrupted after the release was written"
    assert (few.parent / "out.csv.manifest.json").exists()
    assert cli("verify", "out.csv", "--manifest", "out.csv.manifest.json").code == 0


KILLED_AT_RENAME = """
import json, os, sys
from pathlib import Path
from core_mondrian.tables.files.atomic_write import write_files
root = Path(sys.argv[1])
names = ("out.csv", "out.csv.manifest.json", "out.html", "out.csv.manifest.json.sig")
states = []
for last in range(1, 9):
    folder = root / str(last)
    folder.mkdir()
    for name in names:
        (folder / name).write_text("old")
    child = os.fork()
    if not child:
        replace, n = Path.replace, 0
        def die(path, target):
            global n
            n += 1
            if n == last:
                os._exit(9)
            return replace(path, target)
        Path.replace = die
        files = {folder / name: b"new" for name in names[:3]}
        write_files({**files, folder / names[3]: None}, overwrite=True)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    kept = {x: (folder / x).read_text() for x in names if (folder / x).exists()}
    hidden = [x.name for x in folder.iterdir() if x.name.startswith(".")]
    modes = [(folder / x).stat().st_mode & 0o777 for x in hidden]
    write_files({folder / "next.txt": b"tidies"})
    after = [x.name for x in folder.iterdir() if x.name.startswith(".")]
    states.append([status, kept, modes, after])
print(json.dumps(states))
"""


def test_kill_between_two_renames_mixes_no_old_and_new(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILLED_AT_RENAME, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    states = json.loads(done.stdout)
    assert [state[0] for state in states[:6]] == [9] * 6
    assert states[-1][0] == 0
    for status, kept, modes, after in states:
        assert "out.csv" in kept
        # What stands beside the release belongs to it; it may be gone.
        assert len(set(kept.values())) == 1, kept
        assert modes == ([0o700] if status else [])
        assert after == []
    assert states[-1][1] == dict.fromkeys(list(states[-1][1]), "new")
    assert "out.csv.manifest.json.sig" not in states[-1][1]


KILLED = """
import os, signal, sys
from core_mondrian.cli.main import run
if sys.argv[1] == "stream":
    from core_mondrian.sources.files.file_run import Run as place
    name = "verify"
else:
    import core_mondrian.tables.files.atomic_write as place
    name = "_publish"
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(place, name, die)
run(sys.argv[2:])
"""


@pytest.mark.parametrize("how", ["memory", "stream"])
def test_what_a_killed_run_left_is_hidden_and_the_next_one_tidies_it(
    how: str, cli: Command, few: Path
) -> None:
    more = ("--stream",) if how == "stream" else ()
    words = ["anonymize", str(few), "out.csv", *ASKED, *more]
    child = subprocess.run(  # noqa: S603
        [sys.executable, "-c", KILLED, how, *words], cwd=few.parent, check=False
    )
    assert child.returncode == -signal.SIGKILL
    left = [path for path in few.parent.iterdir() if path.name != "few.csv"]
    assert len(left) == 1
    assert left[0].name.startswith(".")
    assert stat.S_IMODE(left[0].stat().st_mode) == 0o700
    assert any("out.csv" in x or "draft" in x for x in all_files(left[0]))

    # Any run that writes into the folder tidies it, whatever its target is.
    done = cli("anonymize", few, "other.csv", *ASKED)

    assert done.code == 0
    endings = ("", ".manifest.json", ".owner.json")
    files = ["few.csv", *(f"other.csv{x}" for x in endings)]
    assert [x for x in files_in(few.parent) if "out.csv" not in x] == files
    counts = [x for x in all_files(few.parent) if "out.csv" in x]
    folder = workspace_of(few.parent / "out.csv").name
    assert set(counts) <= {folder, f"{folder}/counts.arrow", f"{folder}/lock"}


def test_drafts_of_a_living_run_stay(tmp_path: Path) -> None:
    with drafts.draft_folder(tmp_path) as own:
        (own / "draft").write_text("x")
        drafts.tidy(tmp_path)
        write_files({tmp_path / "a.txt": b"a"})
        assert (own / "draft").exists()

    assert files_in(tmp_path) == ["a.txt"]


# Two runs at once


@pytest.mark.parametrize("overwrite", [False, True])
def test_runs_on_one_target_at_once_publish_no_mix(
    *, overwrite: bool, tmp_path: Path
) -> None:
    names = ("out.csv", "out.csv.manifest.json", "out.html")
    errors: list[MondrianError] = []

    for turn in range(6):
        start = threading.Barrier(4)
        folder = tmp_path / str(turn)
        folder.mkdir()

        def write(number: int, folder: Path = folder, start: Any = start) -> None:
            files = {folder / name: str(number).encode() * 99 for name in names}
            start.wait()
            try:
                write_files(files, overwrite=overwrite)
            except MondrianError as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert files_in(folder) == sorted(names)
        assert len({(folder / name).read_bytes() for name in names}) == 1

    assert len(errors) == (0 if overwrite else 6 * 3)
    assert all("the file exists" in error.message for error in errors)


def test_run_that_never_ends_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "_PATIENCE", 0.05)
    with (
        drafts.publishing(tmp_path),
        pytest.raises(MondrianError, match="another run is writing"),
    ):
        write_files({tmp_path / "a.txt": b"a"})
    assert files_in(tmp_path) == []


# Signatures


def test_signature_of_another_manifest_does_not_stay(cli: Command, few: Path) -> None:
    pytest.importorskip("cryptography")
    signature = few.parent / "out.csv.manifest.json.sig"
    assert cli("keygen", "key").code == 0
    assert cli("anonymize", few, "out.csv", *ASKED, "--sign-key", "key").code == 0
    assert signature.exists()

    (few.parent / "out.csv").unlink()
    (few.parent / "out.csv.manifest.json").unlink()
    refused = cli("anonymize", few, "out.csv", *ASKED)
    assert (refused.code, signature.exists()) == (2, True)

    for more in ((), ("--stream",)):
        signature.write_bytes(b"x" * 64)
        assert cli("anonymize", few, "out.csv", *ASKED, *more, "--overwrite").code == 0
        assert not signature.exists()


# Threads, memory, clocks


@pytest.mark.parametrize(
    ("error", "code"), [(RuntimeError("CANARY-7391"), 70), (MemoryError(), 7)]
)
@pytest.mark.parametrize(
    ("where", "more"),
    [
        ("core_mondrian.sources.files.batches.parse_block", ("--stream",)),
        ("core_mondrian.sources.files.writing.TableFile.prepare", ("--stream",)),
        ("core_mondrian.engine.scheduler.Forest.graft", ()),
        ("core_mondrian.encoding.encoder.map_columns", ()),
    ],
)
def test_worker_that_dies_ends_the_run(
    *,
    where: str,
    more: tuple[str, ...],
    error: Exception,
    code: int,
    cli: Command,
    few: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(where, die)

    done = cli("anonymize", few, "out.csv", *ASKED, *more, "--threads", "2")

    assert done.code == code, done.err
    assert all_files(few.parent) == ["few.csv"]


@pytest.mark.parametrize("at", [0, 3, 7])
def test_threads_end_when_one_of_them_fails(at: int) -> None:
    from core_mondrian.engine.scheduler import run_tasks
    from core_mondrian.runtime.threads import map_columns

    def work(number: int) -> int:
        if number == at:
            raise ArithmeticError(number)
        return number

    before = set(threading.enumerate())
    with pytest.raises(ArithmeticError):
        run_tasks(lambda _, task: work(task), list(range(8)), [None, None], print)
    with pytest.raises(ArithmeticError):
        map_columns(work, list(range(8)), 1_000_000, 2)
    assert set(threading.enumerate()) <= before


def test_clocks_that_jump_back_show_no_negative_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = iter(np.linspace(1000.0, -1000.0, 400))
    for name in ("perf_counter", "monotonic", "process_time", "time"):
        monkeypatch.setattr(f"time.{name}", lambda: float(next(now)))
    told: list[Any] = []
    stages = Stages(lambda _, done: told.append(done))
    throughput = Throughput(stages.report("count"))
    for i in range(1, 9):
        throughput.step(100, i / 8)
    stages.end("count")

    assert min(took.seconds for took in stages.spent.values()) >= 0
    assert not [text for text in (getattr(x, "text", "") for x in told) if "-" in text]


def test_wall_clock_decides_nothing() -> None:
    source = Path(__file__).parents[2] / "src"
    words = ("time.time(", "datetime.now(", "date.today(", "utcnow(")
    found = [
        path.name
        for path in source.rglob("*.py")
        if any(word in path.read_text(encoding="utf-8") for word in words)
    ]
    assert found == ["release_request.py"]  # the day at the top of a report


def test_input_that_does_not_fit_exits_with_seven(
    cli: Command, few: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise pa.ArrowMemoryError("CANARY-7391")

    monkeypatch.setattr("core_mondrian.tables.files.read.read_csv", full)

    done = cli("anonymize", few, "out.csv", *ASKED)

    assert done.code == 7
    assert "does not fit into memory" in done.err
    assert files_in(few.parent) == ["few.csv"]


def test_second_interrupt_does_not_stop_the_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.json"
    for path in (first, second):
        path.write_text("old")
    replace, take_back = Path.replace, place._take_back

    def interrupt(path: Path, target: Path) -> Path:
        if path.name == "b.json" and "new" in path.parts:
            os.kill(os.getpid(), signal.SIGINT)
        return replace(path, target)

    def again(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        take_back(*arguments)

    monkeypatch.setattr(Path, "replace", interrupt)
    monkeypatch.setattr(place, "_take_back", again)

    with pytest.raises(KeyboardInterrupt):
        write_files({first: b"new", second: b"new"}, overwrite=True)

    assert [path.read_text() for path in (first, second)] == ["old", "old"]
    assert files_in(tmp_path) == ["a.csv", "b.json"]
