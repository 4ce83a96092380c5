"""Hostile inputs at full size: how each run ends, what it takes, what it says.

    python -m benchmarks.hostile [--only WORD] [--small] [--markdown]

Each command runs in a process of its own that may have 8 GB and 10 minutes of CPU.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.hostile_cases import CASES, Case
from benchmarks.lines import emit, facts, megabytes, say
from benchmarks.markdown import cells, rule

_MEMORY = 8 << 30
_SECONDS = 600


def main() -> None:
    parser = argparse.ArgumentParser(description="Feed it what should break it.")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--small", action="store_true", help="sizes as in the tests")
    parser.add_argument("--markdown", action="store_true", help="a table in the end")
    asked = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory(prefix="core-mondrian-hostile-") as place:
        for name, case in CASES.items():
            if asked.only in name:
                folder = Path(place) / "case"
                size = case.small if asked.small else case.full
                line = {"input": name, **run(case, folder, size)}
                shutil.rmtree(folder)
                lines.append(line)
                emit({"benchmark": "hostile", **facts(), **line})
    if asked.markdown:
        say(table(lines))


def run(case: Case, folder: Path, size: int) -> dict[str, Any]:
    """Make an input in a new folder, run its command there, and say how it ended."""
    folder.mkdir()
    words = case.make(folder, size)
    given = {path.name for path in folder.iterdir()}
    n_bytes = max(path.stat().st_size for path in folder.iterdir())
    command = [sys.executable, "-m", "core_mondrian.cli.main", *words]
    with (folder / "said").open("w+b") as said:
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=os.environ | {"COLUMNS": "200"},
            preexec_fn=_limit,  # noqa: PLW1509  # one thread, and nothing but two calls
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace").replace(f"{folder}/", "")
    left = {path.name for path in folder.iterdir()} - given - {"said"}
    return {
        "bytes": n_bytes,
        "exit": child.returncode,
        "message": text.partition("\n")[0][:160] if child.returncode else "",
        "peak_mb": megabytes(used.ru_maxrss),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "wrote": sorted(left),
        "said": text,
    }


def _limit() -> None:
    # Not RLIMIT_AS: what draws the charts of a report reserves more than it takes.
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))


def table(lines: list[dict[str, Any]]) -> str:
    """Return the results as Markdown."""
    head = ("input", "size of the file", "exit", "CPU s", "peak MB", "what it says")
    rows = [
        cells(
            *(line["input"], _size(line["bytes"]), str(line["exit"])),
            *(f"{line['cpu_seconds']:.1f}", f"{line['peak_mb']:.0f}"),
            line["message"].removeprefix("error: ").replace("|", "\\|") or "a release",
        )
        for line in lines
    ]
    return "\n".join([cells(*head), rule(len(head)), *rows])


def _size(n: int) -> str:
    for unit in ("B", "KB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}"
        n = round(n / 1000)
    return f"{n / 1:.0f} GB"


if __name__ == "__main__":
    main()
