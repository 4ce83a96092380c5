"""Jobs: long work on a thread of its own, with progress, that can be cancelled."""

import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from core_mondrian.errors import MondrianError

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

    def wait(self) -> None:
        """Return when it has ended."""
        self._thread.join()

    def tell(self, stage: str, done: float) -> None:
        """Note how far a stage is.

        Raises:
            Cancelled: nobody waits for it any more.
        """
        self.stage, self.done = stage, done
        if self.is_cancelled:
            raise Cancelled

    def _run(self) -> None:
        try:
            result = self._work(self.tell)
            self.tell(self.stage, 1.0)
            self.result = result
        except Cancelled:
            pass
        except MondrianError as error:
            self.problem = error
        except MemoryError:
            self.problem = MondrianError("not enough memory", hint="take fewer rows")
        except Exception as error:  # noqa: BLE001  # others quote cells
            self.problem = MondrianError(
                f"internal error: {type(error).__name__} in {_place(error)}",
                hint="this is a bug; please report it",
            )


def _place(error: BaseException) -> str:
    """Return where in this package it happened: files and lines hold no cell."""
    ours = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "core_mondrian" in frame.filename
    ]
    return f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}"
