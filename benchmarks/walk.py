"""The walk of one command: which functions of which modules it calls, and how deep.

    python -m benchmarks.walk [--against FOLDER ...] [--update PAGE]

It runs `core-mondrian anonymize people.csv release.csv --qid age --qid sex --k 5` on a
small census in a process of its own, and notes each function of the package that
begins. Counted are functions with a name, from the start of the process; compiled
functions are not seen. The depth is the most frames of the package that are on the
stack at once. FOLDER is another checkout, with its own `.venv` or compiled by hand.
``--update`` writes the walk into a page, room by room.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.lines import Line, emit
from benchmarks.markdown import cells, rule, update_page

ROOT: Final = Path(__file__).resolve().parent.parent
COMMAND: Final = "anonymize people.csv release.csv --qid age --qid sex --k 5"
_ROWS: Final = 1_000
_PEOPLE: Final = f"""
import pyarrow.csv
from core_mondrian.datasets import census
pyarrow.csv.write_csv(census({_ROWS}).select(["age", "sex"]), "people.csv")
"""
_WALK: Final = """
import inspect, json, sys, threading
from pathlib import Path

package = str(Path(sys.argv[1], "src", "core_mondrian")) + "/"
called, deepest = {}, 0

def note(frame, event, _):
    global deepest
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(package):
        return
    # Bodies of modules and classes are no functions, comprehensions have no name.
    if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):
        called.setdefault(code.co_filename, set()).add(code)
    depth, one = 0, frame
    while one is not None:
        depth += one.f_code.co_filename.startswith(package)
        one = one.f_back
    deepest = max(deepest, depth)

threading.setprofile(note)
sys.setprofile(note)
from core_mondrian.cli.main import run
try:
    run(sys.argv[2:])
except SystemExit as end:
    code = end.code
finally:
    sys.setprofile(None)
if code:
    sys.exit(code)
walk = {
    name.removeprefix(package).removesuffix(".py"): len(codes)
    for name, codes in called.items() if codes
}
loaded = [name for name in sys.modules if name.startswith("core_mondrian.")]
print(json.dumps({
    "functions": sum(walk.values()), "modules": len(walk), "loaded": len(loaded),
    "depth": deepest, "walk": walk,
}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Count what one command calls.")
    parser.add_argument("--against", type=Path, action="append", default=[])
    parser.add_argument("--update", type=Path, help="a page to write the walk into")
    asked = parser.parse_args()
    for folder in [ROOT, *(one.resolve() for one in asked.against)]:
        line = measure(folder)
        emit({"checkout": folder.name, **line})
        if asked.update and folder == ROOT:
            update_page(asked.update, {"walk": "\n".join(write_walk(line))})


def measure(checkout: Path) -> Line:
    """Return what the command calls in a checkout."""
    if not (checkout / "src" / "core_mondrian").is_dir():
        raise SystemExit(f"{checkout} is no checkout: it has no src/core_mondrian")
    own = checkout / ".venv" / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryDirectory(prefix="core-mondrian-bench-") as folder:

        def run(code: str, *arguments: str) -> str:
            return subprocess.run(
                [python, "-c", code, *arguments],
                cwd=folder,
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            ).stdout

        run(_PEOPLE)
        found: Line = json.loads(run(_WALK, str(checkout), *COMMAND.split()))
    return found


def write_walk(line: Line) -> Iterator[str]:
    """Yield the walk room by room, in the order of the first calls."""
    rooms: dict[str, list[str]] = {}
    totals: Counter[str] = Counter()
    for module, n in line["walk"].items():
        room, _, name = module.partition("/")
        rooms.setdefault(room, []).append(f"{name or room} {n}")
        totals[room] += n
    yield (
        f"{line['functions']} functions in {line['modules']} modules, "
        f"{line['loaded']} modules loaded, {line['depth']} frames deep."
    )
    yield ""
    yield cells("room", "functions", "modules in the order of their first call")
    yield rule(3)
    for room, modules in rooms.items():
        yield cells(room, str(totals[room]), ", ".join(modules))


if __name__ == "__main__":
    main()
