"""Arrays in files, of which only what is looked at is in memory."""

import ctypes
import mmap
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

_mapped: WeakSet[mmap.mmap] = WeakSet()


def map_file(path: Path, kind: DTypeLike) -> NDArray[Any]:
    """Return what is in a file, to be read."""
    if not path.stat().st_size:
        return np.zeros(0, dtype=kind)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _mapped.add(mapped)
    return np.frombuffer(mapped, dtype=kind)


def make_file(path: Path, kind: DTypeLike, n: int) -> NDArray[Any]:
    """Return an array that is kept in a new file."""
    if not n:
        path.touch()
        return np.zeros(0, dtype=kind)
    with path.open("w+b") as file:
        file.truncate(n * np.dtype(kind).itemsize)
        mapped = mmap.mmap(file.fileno(), 0)
    _mapped.add(mapped)
    return np.frombuffer(mapped, dtype=kind)


def give_back() -> None:
    """Give the system memory that is not used any more, and that of mapped files.

    What is still needed of these is read again.
    """
    for mapped in list(_mapped):
        with suppress(AttributeError, OSError, ValueError):  # not on every system
            mapped.madvise(mmap.MADV_DONTNEED)
    pa.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # not in every C library
        ctypes.CDLL(None).malloc_trim(0)
