"""One run of one tool, in its own process and environment; see runs.py.

    python worker.py JOB.json

The job names the adapter's file, the table, where the release and the report go, the
quasi-identifiers and which of them are numbers, k, the share of rows that may be left
out, the tool's options and the CPU seconds that it may take. Errors are reported by
kind and place: their words may hold cells.
"""

import importlib.util
import json
import platform
import resource
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)  # run as a file: in place of its own folder


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    resource.setrlimit(resource.RLIMIT_CPU, (job["limit"], job["limit"] + 5))
    report = _run(job)
    Path(job["report"]).write_text(json.dumps(report), encoding="utf-8")


def _run(job: dict[str, Any]) -> dict[str, Any]:
    table = pd.read_csv(job["table"], keep_default_na=False, na_values=[""])
    if job["labels"]:
        table.index = table.index + job["labels"]
    report: dict[str, Any] = {"versions": _versions(job["packages"])}
    before = _cpu()
    try:
        released = _load(Path(job["adapter"])).release(table, job)
        report["call_cpu_seconds"] = round(_cpu() - before, 3)
        released.to_csv(job["released"], index=False)
    except Exception as error:  # noqa: BLE001 - whatever the tool does is the result
        report |= {"error": type(error).__name__, "where": _where(error)}
    return report | {"peak_kb": _peak()}


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("adapter", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _cpu() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    its = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + its.ru_utime + its.ru_stime


def _peak() -> int:
    """Return the peak in kB, without what the starting process had before."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _where(error: BaseException) -> str:
    """Return package, file and line: names of the tool's code, never data."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).parent.name}/{Path(last.filename).name}:{last.lineno}"


def _versions(packages: list[str]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "?"
    return found


if __name__ == "__main__":
    main()
