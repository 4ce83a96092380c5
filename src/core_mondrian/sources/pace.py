"""How fast rows go by, and how long it will take: the only clock of sources."""

import time
from collections.abc import Callable

from core_mondrian.progress import Told

_UNITS = ("", "k", "M", "G", "T")


class Pace:
    """Tells a progress bar how much is done, how fast, and what is left."""

    def __init__(self, report: Callable[[float], None], n_bytes: int = 0) -> None:
        """Count rows of a source that has so many bytes; 0: it is not known."""
        self._report = report
        self._since = time.perf_counter()
        self.n_rows = 0
        self._n_bytes = n_bytes

    def step(self, n_rows: int, done: float) -> None:
        """Say that so many more rows are done."""
        self.n_rows += n_rows
        seconds = max(time.perf_counter() - self._since, 1e-6)
        rows, size = self.n_rows / seconds, self._n_bytes * done / seconds
        text = f"{_short(rows)} rows/s"
        if self._n_bytes:
            text += f", {_short(size)}B/s"
        if done > 0:
            left = round(seconds * (1 - done) / done)
            text += f", {left // 60}:{left % 60:02d} left"
        figures = {"rows": self.n_rows, "rows_per_second": round(rows)}
        if self._n_bytes:
            figures["bytes"] = round(self._n_bytes * done)
        self._report(Told(done, text, figures))


def _short(number: float) -> str:
    for unit in _UNITS[:-1]:
        if number < 1000:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}{_UNITS[-1]}"
