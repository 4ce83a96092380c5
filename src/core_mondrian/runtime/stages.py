"""Stages: what a run reports of itself while it goes on."""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from core_mondrian.runtime.progress import Progress

_KIBI = 1 << 10


class Spent(NamedTuple):
    """What a stage took."""

    seconds: float
    """Of CPU; on threads, with those of later stages that began beside it."""
    megabytes: float | None
    """The most memory the process has had until its end; None: the system is silent."""


class Stages:
    """Reports progress and keeps what each stage took."""

    def __init__(self, progress: Progress | bool | None) -> None:  # noqa: FBT001
        self._progress: Progress = lambda _stage, _done: None
        if callable(progress):
            self._progress = progress
        self._since = time.process_time()
        self.spent: dict[str, Spent] = {}

    def report(self, stage: str) -> Callable[[float], None]:
        self._progress(stage, 0.0)
        return lambda done: self._progress(stage, done)

    def end(self, stage: str) -> None:
        now = time.process_time()
        seconds = max(now - self._since, 0.0)  # clocks may jump
        self.spent[stage] = Spent(seconds, peak_megabytes())
        self._since = now
        self._progress(stage, 1.0)


def peak_megabytes() -> float | None:
    """Return the most memory that this process has had; None: it is unknown."""
    try:  # without what the process had that started this one, which the other counts
        with Path("/proc/self/status").open("rb", buffering=0) as file:
            status = file.read()
    except OSError:
        return _most_resident()
    peak = re.search(rb"^VmHWM:\s*(\d+)", status, re.MULTILINE)
    return _most_resident() if peak is None else int(peak[1]) / _KIBI


def _most_resident() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else _KIBI
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _KIBI**2
