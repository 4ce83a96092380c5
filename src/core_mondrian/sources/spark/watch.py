"""How far a job is: a Connect server says so, a classic session is asked."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Final, NamedTuple

from core_mondrian.runtime.progress import Progress, ProgressUpdate

_PAUSE: Final = 1.0
"""Seconds between two questions."""
_GOODBYE: Final = 2.0
"""Seconds that the last answer may take."""


class Tasks(NamedTuple):
    """The tasks of the jobs that are on."""

    n: int
    n_done: int
    n_running: int
    size: int | None = None
    """Bytes that they have read, if Spark says so."""


@contextmanager
def following(
    session: Any,  # noqa: ANN401  # Spark has a type of its own for what follows
    progress: Progress | None,
) -> Iterator[Progress | None]:
    """Yield what stages report to; tasks of Spark's jobs are told as well."""
    if progress is None:
        yield None
        return
    watch = _Watch(progress)
    with watching(session, watch.tell):
        yield watch


@contextmanager
def watching(session: Any, tell: Callable[[Tasks], None]) -> Iterator[None]:  # noqa: ANN401
    """Tell of the tasks of a session's jobs, now and then."""
    from pyspark.errors import PySparkException

    def follow(
        stages: Iterable[Any] | None,
        inflight_tasks: int,
        operation_id: str | None,  # noqa: ARG001
        done: bool,  # noqa: ARG001, FBT001
    ) -> None:
        """Take what a server tells, by the names it has for it."""
        jobs = list(stages or ())
        n_done = sum(job.num_completed_tasks for job in jobs)
        size = sum(job.num_bytes_read for job in jobs)
        tell(Tasks(sum(job.num_tasks for job in jobs), n_done, inflight_tasks, size))

    try:
        session.registerProgressHandler(follow)
    except (AttributeError, PySparkException):  # a classic session
        with _asked(session, tell):
            yield
        return
    try:
        yield
    finally:
        session.removeProgressHandler(follow)


@contextmanager
def _asked(session: Any, tell: Callable[[Tasks], None]) -> Iterator[None]:  # noqa: ANN401
    """Ask a classic session now and then."""
    has_ended = Event()

    def ask() -> None:
        tracker = session.sparkContext.statusTracker()
        while not has_ended.wait(_PAUSE):
            found = [tracker.getStageInfo(x) for x in tracker.getActiveStageIds()]
            jobs = [one for one in found if one is not None]  # it may be done already
            counts = [(x.numTasks, x.numCompletedTasks, x.numActiveTasks) for x in jobs]
            tell(Tasks(*map(sum, zip((0, 0, 0), *counts, strict=True))))

    def until_it_fails() -> None:
        with suppress(Exception):  # a session that ends is told where it is used
            ask()

    thread = Thread(target=until_it_fails, daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join(_GOODBYE)


class _Watch:
    """Knows the stage that is on, and tells of its jobs."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._stage = progress, ""

    def __call__(self, stage: str, done: float) -> None:
        self._stage = stage if done < 1 else ""
        self._progress(stage, done)

    def tell(self, tasks: Tasks) -> None:
        """Report the tasks of a stage, and the bytes that they have read."""
        if not (self._stage and tasks.n):
            return
        text, figures = f"{tasks.n_done:,} of {tasks.n:,} tasks", {}
        if tasks.size is not None:
            text = f"{text}, {tasks.size / 1e6:.0f} MB read"
            figures = {"bytes": tasks.size}
        figures |= {"tasks": tasks.n, "tasks_done": tasks.n_done}
        # The last task of a job is not the end of a stage.
        update = ProgressUpdate(0.99 * tasks.n_done / tasks.n, text, figures)
        self._progress(self._stage, update)
