"""Settings for a process that runs one command and ends: they make it start sooner."""

import atexit
import ctypes
import gc
import os
import sys
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, Final, NoReturn

_IS_OWN = False
"""Whether this process is the command line's; see `own_process`."""
_OBJECTS: Final = 30_000
"""New objects between two looks for garbage; Python's own 700 cost 40 ms at start."""
_SMALL: Final = 32 << 20
"""Bytes of a file for which memory is not kept in reserve."""
_PATIENCE: Final = 5.0
"""Seconds that the process may take to end when the command has."""
_ARENA_MAX: Final = -8
"""The number of this setting in the C library."""


def own_process() -> None:
    """Take over the settings of this process, for it runs nothing but one command.

    A program that imports the package keeps its own.
    """
    global _IS_OWN  # noqa: PLW0603  # a process is ours or not
    _IS_OWN = True
    # Idle threads of NumPy's OpenBLAS spin for 2**26 cycles, .06 s of a core, before
    # they sleep. How many there are, and so what they compute, stays the same.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    gc.set_threshold(_OBJECTS, 20, 20)
    atexit.register(_leave_objects)


def _leave_objects() -> None:
    """Keep Python from looking for garbage among all objects at its end, .05 s.

    The process's memory goes back as a whole anyway. DuckDB counts its own objects
    then, and complains of those that are left.
    """
    if "_duckdb" not in sys.modules:
        gc.freeze()


def leave(code: int) -> NoReturn:
    """End this process, though threads wait for servers that do not answer.

    Python would wait for them without end; so would what Spark calls at the end.
    """
    if threading.active_count() > 1:
        end = threading.Timer(_PATIENCE, os._exit, [code])
        end.daemon = True
        end.start()
    sys.exit(code)


def prepare_for(source: Path) -> None:
    """Make ready to read a file of rows, in a process that is the command line's."""
    if _IS_OWN:
        _spare_pandas()
        if source.is_file() and source.stat().st_size <= _SMALL:
            _keep_little()


def _spare_pandas() -> None:
    """Keep Arrow from loading pandas to ask whether our lists are pandas' series.

    For its first array Arrow loads pandas if it is installed: .2 s and 50 MB that
    files do not need. It asks once, is told here that there is none, and remembers.
    What needs pandas all the same, such as ``to_pandas()``, loads it then.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(_NoPandas)


def _keep_little() -> None:
    """Let a run on a small file take little memory.

    Arrow's own allocator and the C library keep memory for each of their threads, for
    the next array: worth it for large tables, but 50 of Adult's 180 MB.
    """
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())
    try:
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    except (AttributeError, OSError):  # not every C library has it
        return


class _NoPandas:
    """Finds no pandas, and leaves all other modules to the usual finders."""

    @staticmethod
    def find_spec(name: str, *_where: Any) -> ModuleSpec | None:  # noqa: ANN401
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None
