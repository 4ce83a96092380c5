"""How far a job is, where Spark tells: a Connect server does."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from core_mondrian.runtime.progress import Progress, ProgressUpdate


@contextmanager
def following(
    session: Any,  # noqa: ANN401  # Spark has a type of its own for what follows
    progress: Progress | None,
) -> Iterator[Progress | None]:
    """Yield what stages report to; tasks of Spark's jobs are told as well."""
    watch = None if progress is None else _Watch(progress)
    if watch is None or not _follow(session, watch):
        yield progress
        return
    try:
        yield watch
    finally:
        session.removeProgressHandler(watch.follow)


def _follow(session: Any, watch: "_Watch") -> bool:  # noqa: ANN401
    from pyspark.errors import PySparkException

    try:
        session.registerProgressHandler(watch.follow)
    except (AttributeError, PySparkException):  # a classic cluster
        return False
    return True


class _Watch:
    """Knows the stage that is on, and tells of its jobs."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._stage = progress, ""

    def __call__(self, stage: str, done: float) -> None:
        self._stage = stage if done < 1 else ""
        self._progress(stage, done)

    def follow(
        self,
        stages: Iterable[Any] | None,
        inflight_tasks: int,  # noqa: ARG002
        operation_id: str | None,  # noqa: ARG002
        done: bool,  # noqa: ARG002, FBT001
    ) -> None:
        """Take what Spark tells, by the names it has for it."""
        jobs = list(stages or ())
        n_tasks = sum(job.num_tasks for job in jobs)
        if not (self._stage and n_tasks):
            return
        n_done = sum(job.num_completed_tasks for job in jobs)
        size = sum(job.num_bytes_read for job in jobs)
        text = f"{n_done} of {n_tasks} tasks, {size / 1e6:.0f} MB read"
        figures = {"tasks": n_tasks, "tasks_done": n_done, "bytes": size}
        # The last task of a job is not the end of a stage.
        update = ProgressUpdate(0.99 * n_done / n_tasks, text, figures)
        self._progress(self._stage, update)
