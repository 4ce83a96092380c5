"""Start one tool on one table, with limits, and see how it ends."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.cases import ROOT
from benchmarks.lines import megabytes, say
from benchmarks.peers.cells import Read
from experiments.environments import (
    Environment,
    EnvironmentMissing,
    find_environment,
)

TOOLS = Path(__file__).with_name("tools")
NAMES = ("ours", "lighthouse", "anonypy", "anonypyx", "anjana", "crowds", "polarfrost")
_THREADS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA")
_ONE_EACH = {f"{name}_NUM_THREADS": "1" for name in _THREADS} | {
    "POLARS_MAX_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore",
}


@dataclass(frozen=True, slots=True)
class Tool:
    """One adapter, one variant of it, and the Python it runs in."""

    title: str
    adapter: Path
    requirements: tuple[str, ...]
    options: dict[str, Any]
    suppresses: bool
    read: Read
    python: Path | None
    """None: its environment could not be made, for the reason in ``why``."""
    why: str = ""

    @property
    def packages(self) -> list[str]:
        own = [text.split("==")[0] for text in self.requirements]
        return own or ["core-mondrian", "pandas", "numpy"]


@dataclass(frozen=True, slots=True)
class Task:
    """What every tool is asked."""

    table: Path
    """CSV, with the column row_id; an empty field is missing."""
    qids: tuple[str, ...]
    numbers: tuple[str, ...]
    k: int
    suppress: float
    """The share of rows that may be left out, by those who do."""
    steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Widths of intervals, by column, for tools that need a hierarchy of numbers."""
    labels: int = 0
    """What the first row is called in the frame's index."""


class Ran(NamedTuple):
    """How a run ended."""

    outcome: str
    """released, failed, timed out, died, or no environment."""
    why: str
    released: Path | None
    figures: dict[str, Any]


def find_tools(names: list[str], adapters: list[Path]) -> list[Tool]:
    """Return all variants of these tools, their environments made if need be."""
    files = [TOOLS / f"{name}.py" for name in names] + adapters
    return [tool for file in files for tool in load_tool(file)]


def load_tool(file: Path) -> list[Tool]:
    """Read an adapter; each of its variants is a tool."""
    spec = importlib.util.spec_from_file_location(f"adapter_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    requirements = tuple(module.REQUIREMENTS)
    variants = getattr(module, "VARIANTS", None)
    if variants is None:
        first = requirements[0] if requirements else file.stem
        variants = {first.replace("==", " "): {}}
    python, why = _python(file.stem, requirements, getattr(module, "PYTHONS", None))
    suppresses = getattr(module, "SUPPRESSES", False)
    return [
        Tool(title, file, requirements, options, suppresses, module.read, python, why)
        for title, options in variants.items()
    ]


def _python(
    name: str, requirements: tuple[str, ...], pythons: Any
) -> tuple[Path | None, str]:
    if not requirements:
        return Path(sys.executable), ""
    oldest, below = pythons or ((3, 9), (3, 13))
    wanted = Environment(requirements, oldest=oldest, below=below)
    try:
        return find_environment(wanted, ROOT / f".venv-{name}", tell=say), ""
    except EnvironmentMissing as error:
        say(str(error))
        return None, error.message


def run_tool(
    tool: Tool, task: Task, place: Path, limit: int, *, patience: float | None = None
) -> Ran:
    """Run one tool on one table; whatever it does ends as a `Ran`.

    ``limit`` are CPU seconds. ``patience`` are seconds by the clock, for a tool that
    waits instead of working; default: four times the limit, and a minute.
    """
    if tool.python is None:
        return Ran("no environment", tool.why, None, {})
    released, report = place / "released.csv", place / "report.json"
    for file in (released, report):
        file.unlink(missing_ok=True)
    job = place / "job.json"
    files = {"adapter": tool.adapter, "released": released, "report": report}
    text = {name: str(path) for name, path in {"table": task.table, **files}.items()}
    asked = {name: getattr(task, name) for name in ("qids", "numbers", "steps")}
    asked |= {"k": task.k, "suppress": task.suppress if tool.suppresses else 0}
    asked |= {"labels": task.labels, "limit": limit, "options": tool.options}
    job.write_text(json.dumps({**text, **asked, "packages": tool.packages}))
    patience = 4 * limit + 60 if patience is None else patience
    status, figures = _watch(tool, job, patience)
    told = json.loads(report.read_text()) if report.exists() else {}
    if told:
        figures |= {"peak_mb": megabytes(told.pop("peak_kb")), **told}
    return _ended(status, told, released, figures, limit)


def _watch(tool: Tool, job: Path, patience: float) -> tuple[int, dict[str, Any]]:
    """Wait for the process; return how it ended, and the CPU it took."""
    worker = Path(__file__).with_name("worker.py")
    # Others get none of our paths; ours may come from a source tree.
    gone = {"PYTHONPATH"} if tool.requirements else set()
    theirs = {name: v for name, v in os.environ.items() if name not in gone}
    process = subprocess.Popen(
        [str(tool.python), str(worker), str(job)],
        cwd=job.parent,
        env=theirs | _ONE_EACH,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    timer = threading.Timer(patience, _end, [process.pid])
    timer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        timer.cancel()
    # Told to the object, or it would wait for a process that is gone.
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = round(usage.ru_utime + usage.ru_stime, 2)
    return process.returncode, {"cpu_seconds": cpu}


def _end(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGALRM)
    except ProcessLookupError:
        return


def _ended(
    status: int,
    told: dict[str, Any],
    released: Path,
    figures: dict[str, Any],
    limit: int,
) -> Ran:
    spent = status == -signal.SIGKILL and figures["cpu_seconds"] >= limit
    if spent or status == -signal.SIGXCPU:
        return Ran("timed out", f"after {limit} s of CPU", None, figures)
    if status == -signal.SIGALRM:
        return Ran("timed out", "it waited for something", None, figures)
    if "error" in told:
        why = f"{told['error']} in {told['where']}"
        return Ran("failed", why, None, figures)
    if status or not released.exists():
        ended = f"by signal {-status}" if status < 0 else f"with {status}"
        return Ran("died", f"the process ended {ended}", None, figures)
    return Ran("released", "", released, figures)
