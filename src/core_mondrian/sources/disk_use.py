"""How much disk a run takes at its peak, so that it can be said afterwards."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_PAUSE: Final = 1.0
"""Seconds between two looks: a folder may hold thousands of files."""


class DiskUse:
    """Looks at a folder now and then, and remembers the most that was in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last = -_PAUSE
        self.peak = 0
        """Bytes."""

    def look(self, *, now: bool = False) -> None:
        """Look, unless that was just done."""
        clock = time.monotonic()
        if not now and clock - self._last < _PAUSE:
            return
        self._last = clock
        self.peak = max(self.peak, folder_size(self._folder))


def folder_size(folder: Path) -> int:
    """Return the bytes of all files below a folder, as far as they are still there."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size if path.is_file() else 0
    return size
