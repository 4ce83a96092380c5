"""Runs on a cluster that are cancelled, without a cluster."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints
from unittest.mock import create_autospec

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Command, files_in

from core_mondrian import KAnonymity, Spec, anonymize
from core_mondrian.errors import DataError, OutputError
from core_mondrian.sources.interruptible import interruptible

pytest.importorskip("pyspark", reason="pyspark is not installed: the extra 'spark'")

from pyspark.status import SparkStageInfo, StatusTracker

from core_mondrian.cli import spark
from core_mondrian.cli.release_request import ClusterOptions, Outcome
from core_mondrian.runtime.progress import ProgressUpdate
from core_mondrian.sources.spark import session, watch
from core_mondrian.sources.spark.api import DRIVER_TUPLES
from core_mondrian.sources.spark.cancellation import Cancellation
from core_mondrian.sources.spark.publish import Placing
from core_mondrian.sources.spark.tables import spot_of

TEXTS = ("out.parquet.manifest.json", "out.parquet.owner.json")


class Server:
    """Runs jobs until their tag is interrupted."""

    def __init__(self) -> None:
        self.tags: set[str] = set()
        self.ended = threading.Event()

    def addTag(self, tag: str) -> None:  # noqa: N802  # Spark's name
        self.tags.add(tag)

    def removeTag(self, tag: str) -> None:  # noqa: N802
        self.tags.discard(tag)

    def interruptTag(self, tag: str) -> None:  # noqa: N802
        if tag in self.tags:
            self.ended.set()


def interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupt_ends_the_jobs_of_a_run() -> None:
    server: Any = Server()
    cancellation = Cancellation(server)

    def work() -> None:
        with cancellation.heeded():
            assert server.ended.wait(30)

    with pytest.raises(KeyboardInterrupt):
        interruptible(work, cancellation.cancel, interrupt)

    assert server.ended.is_set()


def test_a_classic_session_is_asked_how_far_its_tasks_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "_PAUSE", 0.01)
    tracker = create_autospec(StatusTracker, instance=True)
    tracker.getActiveStageIds.return_value = [3, 4]
    told = SparkStageInfo(3, 0, "count", 8, 2, 2, 0)
    tracker.getStageInfo.side_effect = {3: told, 4: None}.__getitem__
    session = SimpleNamespace(
        sparkContext=SimpleNamespace(statusTracker=lambda: tracker)
    )
    said: list[tuple[str, float]] = []
    has_said = threading.Event()

    def progress(stage: str, done: float) -> None:
        said.append((stage, done))
        if isinstance(done, ProgressUpdate):
            has_said.set()

    before = threading.active_count()
    with watch.following(session, progress) as following:
        assert following is not None
        following("write", 0.0)
        assert has_said.wait(30)

    assert threading.active_count() == before
    update = said[1][1]
    assert isinstance(update, ProgressUpdate)
    assert said[1] == ("write", 0.99 * 2 / 8)
    assert update.text == "2 of 8 tasks"
    assert update.figures == {"tasks": 8, "tasks_done": 2}


@pytest.mark.parametrize("n_running", [0, 1])
def test_a_job_that_an_executor_has_taken_may_take_its_time(
    n_running: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine it does; without a free core nobody takes it."""
    monkeypatch.setattr(watch, "_PAUSE", 0.01)
    monkeypatch.setattr(session, "_LEAST", 0.5)
    late, is_asked = threading.Event(), threading.Event()
    late.set()
    tracker = create_autospec(StatusTracker, instance=True)
    tracker.getActiveStageIds.return_value = [3]
    tracker.getStageInfo.return_value = SparkStageInfo(3, 0, "c", 2, n_running, 0, 0)
    server: Any = SimpleNamespace(
        addTag=lambda _: None,
        interruptTag=lambda _: is_asked.set(),
        range=lambda _: SimpleNamespace(count=lambda: is_asked.wait(1.5)),
        sparkContext=SimpleNamespace(statusTracker=lambda: tracker),
    )

    if n_running:
        session._try_job(server, late)
    else:
        with pytest.raises(DataError, match="no executor took a job"):
            session._try_job(server, late)

    assert is_asked.is_set() == (not n_running)


def test_jobs_that_clean_up_are_not_interrupted() -> None:
    server: Any = Server()
    cancellation = Cancellation(server)
    with cancellation.heeded():
        pass

    cancellation.cancel()

    assert not server.ended.is_set()


@pytest.mark.parametrize("is_in_time", [True, False])
def test_no_stage_begins_and_nothing_is_published_once_cancelled(
    is_in_time: bool,  # noqa: FBT001
) -> None:
    server: Any = Server()
    cancellation = Cancellation(server)
    stages: list[str] = []
    report = cancellation.checked(lambda stage, _done: stages.append(stage))

    def work() -> None:
        with cancellation.heeded():
            report("count", 0.0)
            cancellation.cancel()
            if is_in_time:
                report("encode", 0.0)
        stages.append("publish")

    with pytest.raises(KeyboardInterrupt):
        work()

    assert stages == ["count"]
    assert not server.tags


def write_and(then: Callable[[Placing], None], target: Path) -> Placing:
    """Write a draft, and do something in the middle."""
    nobody: Any = None
    placing = Placing(nobody, [spot_of(str(target))], overwrite=True)
    with placing:
        Path(placing.drafts[0].text).write_text("new", encoding="utf-8")
        then(placing)
    return placing


def test_drafts_of_a_thread_that_was_left_behind_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old", encoding="utf-8")
    left: list[list[str]] = []

    def leave(placing: Placing) -> None:
        placing.abandon()
        left.append(files_in(tmp_path))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and(leave, target)

    assert left == [["out.csv"]]
    assert target.read_text(encoding="utf-8") == "old"


def test_what_is_replaced_stays_when_a_thread_is_left_while_it_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.csv"
    target.write_text("old", encoding="utf-8")
    begun: list[Placing] = []
    moved: list[Path] = []

    def rename(path: Path, to: str) -> None:
        moved.append(path)
        if len(moved) == 2:  # the draft, when the old one has been moved away
            begun[0].abandon()
            raise OSError
        os.rename(path, to)  # noqa: PTH104  # which this one is instead of

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OutputError, match="cannot be put in place"):
        write_and(begun.append, target)

    assert moved[0] == target
    assert target.read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("where", "code", "left"),
    [
        ("_make", 130, ["in.parquet"]),
        ("_move", 0, [*TEXTS, "in.parquet", "out.parquet"]),
        ("stop", 0, [*TEXTS, "in.parquet", "out.parquet"]),
    ],
)
def test_a_signal_undoes_what_is_not_published_and_nothing_else(
    where: str, code: int, left: list[str], cli: Command, monkeypatch: Any
) -> None:
    table = pa.table({"age": [20, 20, 21, 21]})
    pq.write_table(table, "in.parquet")
    server = Server()

    def interrupt_in(name: str) -> None:
        if name == where:
            signal.raise_signal(signal.SIGINT)

    def make(_run: Any, placing: Placing, _cancellation: Any) -> Any:
        pq.write_table(table, placing.drafts[0].text)
        interrupt_in("_make")
        assert where != "_make" or server.ended.wait(30)
        release = anonymize(table, Spec(("age",), (KAnonymity(2),)))
        return Outcome(release, None, {}, None)

    @contextmanager
    def connected(*_addresses: Any) -> Iterator[Any]:
        yield server
        interrupt_in("stop")

    move = Placing._move
    moves = [lambda _: interrupt_in("_move"), move]
    monkeypatch.setattr(Placing, "_move", lambda self: [do(self) for do in moves])
    monkeypatch.setattr(spark._Run, "_set_up", lambda _: None)
    monkeypatch.setattr(spark._Run, "_make", make)
    monkeypatch.setattr(session, "connected", connected)

    asked = ("--qid", "age", "--k", "2", "--engine", "spark")
    done = cli("anonymize", "in.parquet", "out.parquet", *asked)

    assert done.code == code, done.err
    assert ("nothing was written" in done.err) == (code != 0)
    assert files_in(Path.cwd()) == sorted(left)


def test_help_names_the_tuples_that_are_planned_on_the_driver() -> None:
    """A number, or the command line would load Spark's side to print its help."""
    hint = get_type_hints(ClusterOptions, include_extras=True)["driver_tuples"]
    (option,) = hint.__metadata__

    assert f"[default: {DRIVER_TUPLES}]" in option.help
