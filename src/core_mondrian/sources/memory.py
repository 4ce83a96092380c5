"""How much memory and disk a run takes, and what fits into them."""

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from core_mondrian.errors import MemoryLimitError, SpecError
from core_mondrian.recoding.plan import Shares
from core_mondrian.runtime.progress import Progress
from core_mondrian.runtime.stages import Stages
from core_mondrian.runtime.threads import n_cores
from core_mondrian.sources.mapped_files import give_back
from core_mondrian.sources.tuple_store import StoreLimits
from core_mondrian.tables.files.kinds import BLOCK

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_BASE: Final = 320 << 20
"""Python, Arrow, the compiled engine: what a run takes before the first row."""
LEAST: Final = 500 << 20
_DUCKDB: Final = 64 << 20
"""What DuckDB takes beyond the limit it is given: its code, and what it caches."""
_ENGINE: Final = {"best": 700, "paper": 450, "original": 450}
"""Bytes per tuple that the engine takes at its peak, by policy: measured on 0.1 to 1.2
million tuples of census, of 3 to 11 columns; next to those of each column."""
_ENGINE_COLUMN: Final = 28
_COUNTED: Final = 100
"""Bytes per tuple that counting takes, next to those of each column."""
_FEWEST_TUPLES: Final = 1 << 12
_LEAST_TASK: Final = 1 << 17
"""Tuples below which a part is hardly worth being one: one thread is better."""
_MOST_TASK: Final = 1 << 20
"""Tuples from which larger parts bring no more."""
_COPIES: Final = 4
"""Times a batch is there while it is read, recoded and written."""
_ALLOCATED: Final = 130
"""Bytes per row that allocating rows of split tuples takes."""
_PAUSE: Final = 1.0
"""Seconds between two looks at a folder: it may hold thousands of files."""


def parse_size(text: str | int) -> int:
    """Return a number of bytes, such as 2GB or 512M.

    Raises:
        SpecError: it is none, or too little to work with.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(text), re.I)
    if found is None:
        raise SpecError("memory is a size", hint="such as 2GB or 512MB")
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    if size < LEAST:
        raise SpecError(
            f"memory of {show_size(size)}, but no run takes less than "
            f"{show_size(LEAST)}",
            hint="that is Python, Arrow and the engine",
        )
    return size


def show_size(size: float) -> str:
    """Return a size for people."""
    for unit in ("B", "KB", "MB"):
        if size < 1 << 10:
            return f"{size:.0f} {unit}"
        size /= 1 << 10
    return f"{size:.1f} GB"


def used_memory() -> int:
    """Return the bytes that this process has in memory; 0: the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is held at a time."""

    rows: int = 1 << 19
    """Rows of a batch of Parquet."""
    text: int = BLOCK
    """Bytes of a batch of CSV."""
    in_flight: int = 4
    """Batches that are there at once."""
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Limit:
    """The bytes that a run may have in memory."""

    size: int

    @property
    def free(self) -> int:
        """Return what is left for rows and tuples."""
        return self.size - _BASE

    def sizes(self, row: float, threads: int | None, used: int = _BASE) -> Sizes:
        """Return how much to hold at a time: a third of what is not used yet.

        ``row``: about how many bytes a row takes.
        """
        n_threads = n_cores() if threads is None else threads
        share = max(self.size - used, 0) // 3
        text = BLOCK
        while n_threads > 1 and (n_threads + 2) * text * _COPIES > share:
            n_threads -= 1
        in_flight = n_threads + 2
        rows = int(share / (in_flight * _COPIES * row))
        rows = max(1 << 12, min(rows, 1 << 20))
        return Sizes(rows, text, in_flight, n_threads)

    def tuples_in_memory(self, n_columns: int, policy: str) -> int:
        """Return how many distinct tuples the engine can have at once."""
        each = _ENGINE[policy] + _ENGINE_COLUMN * n_columns
        return max(self.free // each, _FEWEST_TUPLES)

    def refuse_tuples(self, n_tuples: int) -> NoReturn:
        """Refuse more tuples than there is room for.

        Raises:
            MemoryLimitError: always.
        """
        raise MemoryLimitError(
            f"{n_tuples:,} distinct tuples so far do not fit into "
            f"{show_size(self.size)}",
            hint="allow more: --memory SIZE, or have fewer distinct values: round "
            "numbers, shorten codes",
        )

    def counted_in_memory(self, n_columns: int) -> int:
        """Return how many distinct tuples are counted before some go to disk."""
        return max(self.free // 3 // (_COUNTED + 8 * n_columns), _FEWEST_TUPLES)

    def store(self, n_columns: int, policy: str, threads: int) -> StoreLimits:
        """Return what may be taken where tuples are on disk."""
        free = self.free - self.free // 3 - _DUCKDB
        each = _ENGINE[policy] + _ENGINE_COLUMN * n_columns
        n_threads = threads
        while n_threads > 1 and free // n_threads // each < _LEAST_TASK:
            n_threads -= 1
        task = min(max(free // n_threads // each, _FEWEST_TUPLES), _MOST_TASK)
        return StoreLimits(self.free // 3, task, n_threads)

    @property
    def duckdb(self) -> int:
        """Bytes that DuckDB may take while rows are read and written."""
        return max(self.free // 3, 1)

    def check_now(self) -> None:
        """Refuse to go on beyond the limit.

        Raises:
            MemoryLimitError: the process has more.
        """
        used = used_memory()
        if used > self.size - self.size // 8:
            give_back()
            used = used_memory()
        if used > self.size:
            raise MemoryLimitError(
                f"the run takes {show_size(used)}, and the limit is "
                f"{show_size(self.size)}",
                hint="allow more: --memory SIZE; fewer --threads take less",
            )


def rows_at_once(shares: Shares, room: int) -> int:
    """Return how many rows of split tuples can be allocated in ``room`` bytes.

    Raises:
        MemoryLimitError: those of one tuple cannot.
    """
    room = max(room, 1 << 20)
    largest = np.bincount(shares.tuple_of, shares.rows).max(initial=0) * _ALLOCATED
    if largest > 2 * room:
        raise MemoryLimitError(
            "one tuple is split and has so many rows that allocating them needs "
            f"{show_size(largest)}",
            hint="allow more: --memory SIZE; or --disjoint, which splits none",
        )
    return room // _ALLOCATED


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


def watch(
    limit: Limit,
    progress: Progress | bool | None,  # noqa: FBT001
    disk: DiskUse | None = None,
) -> Stages:
    """Return stages that look at memory and disk whenever they report progress."""

    def report(stage: str, done: float) -> None:
        limit.check_now()
        if disk is not None:
            disk.look(now=done == 1)
        if callable(progress):
            progress(stage, done)

    return Stages(report)
