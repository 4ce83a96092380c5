"""What every benchmark prints: one JSON object per line, and what it ran on."""

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

Line = dict[str, Any]
_MEBIBYTE = 1 << 20
_ROOT = Path(__file__).resolve().parent.parent


def emit(line: Mapping[str, Any]) -> None:
    """Print one result."""
    print(json.dumps(line, ensure_ascii=False), flush=True)


def read_lines(path: Path) -> list[Line]:
    """Return the results that an earlier run printed."""
    texts = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(text) for text in texts if text.strip()]


def gather(asked: argparse.Namespace, run: Iterable[Line]) -> list[Line]:
    """Return the results of an earlier run (``--lines``), or else of this one.

    A new run prints them as they come, unless ``--markdown`` prints tables instead.
    """
    if asked.lines:
        return read_lines(asked.lines)
    lines = []
    for line in run:
        lines.append(line)
        if not asked.markdown:
            emit(line)
    return lines


def say(words: str) -> None:
    """Tell the person who is waiting."""
    print(words, file=sys.stderr, flush=True)


def facts() -> dict[str, Any]:
    """Return the version under test and the machine; no names, no paths."""
    return {
        "version": version("core-mondrian"),
        "source": source_digest(),
        "machine": {
            "cpus": n_cpus(),
            "arch": platform.machine(),
            "system": platform.system(),
            "memory_gb": round(_memory() / (1 << 30), 1),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "pyarrow")},
        },
    }


@cache
def source_digest() -> str:
    """Return a digest of the package's source; a version number is too coarse.

    It is taken when a process starts: work on the source during a run shows as lines
    that differ here.
    """
    found = importlib.util.find_spec("core_mondrian")
    if found is None or found.origin is None:
        raise SystemExit("core_mondrian is not installed here; make test installs it")
    return digest_of(Path(found.origin).parent)


def digest_of(folder: Path) -> str:
    """Return a digest of the Python files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def n_cpus() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def megabytes(max_rss: int) -> float:
    """Return ``ru_maxrss`` in MB: the system counts kibibytes, on macOS bytes."""
    scale = 1 if sys.platform == "darwin" else 1 << 10
    return round(max_rss * scale / _MEBIBYTE, 1)


def run_process(
    command: Sequence[str], environment: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Run a process to its end in the checkout, and return what it took."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as words:
        process = subprocess.Popen(
            command, cwd=_ROOT, env=environment, stdout=words, stderr=words
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            words.seek(0)
            raise SystemExit(words.read().decode(errors="replace"))
    return {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "wall_seconds": time.perf_counter() - started,
        "peak_mb": megabytes(used.ru_maxrss),
    }


def middle(values: list[float]) -> float:
    """Return the median, to the tenth of a millisecond."""
    return round(median(values), 4)


def middles(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each entry over several runs."""
    return {name: middle([run[name] for run in runs]) for name in runs[0]}
