"""Long calls into databases, which a signal ends at once."""

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import Final, TypeVar

ResultT = TypeVar("ResultT")
_PAUSE: Final = 0.1
"""Seconds between two looks at how far a call is."""
_PATIENCE: Final = 10.0
"""Seconds that a cancelled call may take to end."""


def interruptible(
    call: Callable[[], ResultT],
    cancel: Callable[[], None],
    look: Callable[[], None] = lambda: None,
) -> ResultT:
    """Return what a call returns; it runs on a thread, as Python handles signals here.

    ``look`` is called now and then. If it raises, or a signal does, the call is
    cancelled first.
    """
    done: Future[ResultT] = Future()

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001  # raised below
            done.set_exception(error)

    # Nobody waits for it at the end, should it not listen.
    thread = Thread(target=work, daemon=True)
    try:
        thread.start()  # a signal may come while it starts
        while wait([done], _PAUSE).not_done:
            look()
    except BaseException:
        _stop(done, cancel)
        raise
    return done.result()


def _stop(done: Future[ResultT], cancel: Callable[[], None]) -> None:
    until = time.monotonic() + _PATIENCE
    while not done.done() and time.monotonic() < until:
        with suppress(Exception):  # it may not have begun, or have ended meanwhile
            cancel()
        wait([done], _PAUSE)
