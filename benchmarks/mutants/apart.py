"""Work in a process of its own, which may crash, hang or change what it likes."""

import os
import resource
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

_GIBIBYTE = 1 << 30


class Ended(Exception):
    """The system ended the process: it crashed, or took too long."""


class RunnerError(Exception):
    """The work itself failed, which says nothing about a mutant."""


def apart(
    work: Callable[[TextIO], None], cpu_seconds: float | None = None
) -> Iterator[str]:
    """Do ``work`` in a copy of this process; yield the lines that it writes.

    With a limit, it may use so many seconds, and some more memory than it has.

    Raises:
        Ended: the system ended it; the name of the signal.
        RunnerError: it raised an error.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of threads
        child = os.fork()
    if child == 0:
        os.close(reader)
        _work(work, writer, cpu_seconds)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise Ended(signal.Signals(os.WTERMSIG(status)).name)
    if os.WEXITSTATUS(status):
        raise RunnerError("see what was printed above")


def _work(
    work: Callable[[TextIO], None], writer: int, cpu_seconds: float | None
) -> None:
    """Do it and end this process, without any of what others do at the end."""
    code, told = 1, os.dup(2)
    try:
        if cpu_seconds is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            _limit_memory()
            start_clock(cpu_seconds)
        with os.fdopen(writer, "w", encoding="utf-8") as out:
            work(out)
        code = 0
    except BaseException:  # noqa: BLE001  # nothing may go back to the caller's frames
        os.write(told, traceback.format_exc().encode())
    finally:
        os._exit(code)


def start_clock(cpu_seconds: float) -> None:
    """End this process after so many seconds from now, wherever it then is."""
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    signal.alarm(60 + int(30 * cpu_seconds))  # if it sleeps


def _limit_memory() -> None:
    used = Path("/proc/self/statm")
    if used.exists():
        pages = int(used.read_text().split()[0])
        most = pages * resource.getpagesize() + 4 * _GIBIBYTE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
