"""How fast rows go by, and how long it will take: the only clock of streams."""

import time
from collections.abc import Callable

from core_mondrian.progress import Told


class Pace:
    """Tells a progress bar how much is done, how fast, and what is left."""

    def __init__(self, report: Callable[[float], None]) -> None:
        self._report = report
        self._since = time.perf_counter()
        self._n_rows = 0
        self._first: float | None = None

    def step(self, n_rows: int, done: float) -> None:
        """Say that so many more rows are done."""
        self._n_rows += n_rows
        if self._first is None:  # a resumed pass begins in the middle
            self._first = done if done < 1 else 0.0
        seconds = max(time.perf_counter() - self._since, 1e-6)
        speed = self._n_rows / seconds
        gone = done - self._first
        text = f"{_short(speed)} rows/s"
        if gone > 0:
            left = round(seconds * (1 - done) / gone)
            text += f", {left // 60}:{left % 60:02d} left"
        self._report(Told(done, text))


def _short(number: float) -> str:
    for unit in ("", "k"):
        if number < 1000:
            return f"{number:.0f}{unit}"
        number /= 1000
    return f"{number:.1f}M"


class Pauses:
    """Says when to do something now and then, the less often the longer it takes."""

    def __init__(self, least: float, share: float) -> None:
        """Wait ``least`` seconds, and so long that it takes a ``share`` of the time."""
        self._least = least
        self._share = share
        self._last = time.monotonic()
        self._cost = 0.0

    def do(self, work: Callable[[], None]) -> None:
        """Do it, if it is time."""
        now = time.monotonic()
        if now - self._last < max(self._least, self._cost / self._share):
            return
        work()
        self._last = time.monotonic()
        self._cost = self._last - now
