"""Stages: what a run tells of itself while it goes on."""

import time
from collections.abc import Callable

from core_mondrian.progress import Progress


class Stages:
    """Reports progress and keeps the CPU seconds of each stage."""

    def __init__(self, progress: Progress | bool | None) -> None:  # noqa: FBT001
        self._progress: Progress = lambda _stage, _done: None
        if callable(progress):
            self._progress = progress
        self._since = time.process_time()
        self.seconds: dict[str, float] = {}

    def report(self, stage: str) -> Callable[[float], None]:
        self._progress(stage, 0.0)
        return lambda done: self._progress(stage, done)

    def end(self, stage: str) -> None:
        now = time.process_time()
        self.seconds[stage] = max(now - self._since, 0.0)  # clocks may jump
        self._since = now
        self._progress(stage, 1.0)
