"""Jobs: long work on a thread of its own, with progress, that can be cancelled."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from core_mondrian.errors import MondrianError, place_of

ResultT = TypeVar("ResultT")
Progress = Callable[[str, float], None]


class Cancelled(Exception):
    """The user wants no more of it."""


class Job(Generic[ResultT]):
    """Work that goes on while the page is used; the page asks how far it is."""

    def __init__(self, work: Callable[[Progress], ResultT]) -> None:
        self.stage = ""
        self.done = 0.0
        self.result: ResultT | None = None
        self.problem: MondrianError | None = None
        self._work = work
        self._is_cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled.is_set()

    def cancel(self) -> None:
        """Stop at the next word of progress; what was made is let go."""
        self._is_cancelled.set()

    def wait(self, seconds: float | None = None) -> None:
        """Return when it has ended, or after so many seconds."""
        self._thread.join(seconds)

    def note_progress(self, stage: str, done: float) -> None:
        """Note how far a stage is.

        Raises:
            Cancelled: nobody waits for it any more.
        """
        self.stage, self.done = stage, done
        if self.is_cancelled:
            raise Cancelled

    def _run(self) -> None:
        try:
            result = self._work(self.note_progress)
            self.note_progress(self.stage, 1.0)
            self.result = result
        except Cancelled:
            pass
        except MondrianError as error:
            self.problem = error
        except MemoryError:
            self.problem = MondrianError("not enough memory", hint="take fewer rows")
        except Exception as error:  # noqa: BLE001  # others quote cells
            self.problem = MondrianError(
                f"internal error: {type(error).__name__} in {place_of(error)}",
                hint="this is a bug; please report it",
            )
