"""Cancels a run on a cluster: its jobs by their tag, the rest between two stages."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from typing import TYPE_CHECKING

from core_mondrian.runtime.progress import Progress
from core_mondrian.sources.spark.failures import working
from core_mondrian.sources.spark.session import quietly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Cancellation:
    """What one thread asks for, and the thread that works heeds."""

    def __init__(self, session: "SparkSession") -> None:
        self._session = session
        self._tag = f"core-mondrian-{secrets.token_hex(6)}"
        self._asked = Event()

    def cancel(self) -> None:
        """Interrupt the jobs that run, within seconds, and let no stage begin."""
        self._asked.set()
        quietly(lambda: self._session.interruptTag(self._tag))

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Let the jobs of this thread be interrupted; those that clean up are not.

        Raises:
            KeyboardInterrupt: it was cancelled, though all jobs have ended.
        """
        with working("run a job"):
            self._session.addTag(self._tag)  # of this thread
        try:
            yield
        finally:
            with suppress(Exception):  # the server may have ended
                self._session.removeTag(self._tag)
        self._check()

    def checked(self, progress: Progress | None) -> Progress:
        """Return a progress that ends the run once it is cancelled."""

        def report(stage: str, done: float) -> None:
            self._check()
            if progress is not None:
                progress(stage, done)

        return report

    def _check(self) -> None:
        if self._asked.is_set():
            raise KeyboardInterrupt
