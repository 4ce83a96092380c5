"""Try core-mondrian with the oldest and with the newest packages that it allows.

    python -m supply.versions UV [--only oldest] [--tests tests/unit ...]

UV is the command of uv. Each side gets an environment of its own, .venv-oldest and
.venv-newest, made anew: core-mondrian with its extras, Spark apart, and what its tests
need. `oldest` takes the lowest version that pyproject.toml allows of every package it
names, and the newest of what those need in turn. Then tests run: the golden digests,
so that a release is the same bytes with both, and those of frames, files and commands.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from packaging.requirements import Requirement

from supply.closure import EXTRAS, direct
from supply.lock import ROOT

Run: TypeAlias = Callable[..., Any]
SIDES: Final = {"oldest": "lowest-direct", "newest": "highest"}
TESTS: Final = (
    *("tests/golden", "tests/unit/api/test_api.py", "tests/unit/tables/test_frames.py"),
    *("tests/unit/tables/test_files.py", "tests/integration/test_cli.py"),
)
_LEFT_OUT: Final = {"pyspark"}
"""Half a gigabyte and Java, for tests that are not among these."""
_TESTED_WITH: Final = {"pandas", "polars", "pytest", "pytest-xdist", "hypothesis"}


def requirements() -> list[str]:
    """Return what is installed: all that users may ask for, and what the tests need."""
    tools = [x for x in direct(["dev"]) if Requirement(x).name in _TESTED_WITH]
    asked = dict.fromkeys([*direct(EXTRAS), *tools])
    return [text for text in asked if Requirement(text).name not in _LEFT_OUT]


def make(uv: str, side: str, folder: Path, *, run: Run = subprocess.run) -> Path:
    """Return the Python of a new environment with this side of what is allowed."""
    python = folder / "bin" / "python"
    quiet = [uv, "--quiet"]
    run([*quiet, "venv", "--clear", f"--python={sys.executable}", folder], check=True)
    install = [*quiet, "pip", "install", f"--python={python}"]
    resolution = f"--resolution={SIDES[side]}"
    run([*install, resolution, *requirements()], check=True)
    run([*install, "--no-deps", "--editable", ROOT], check=True)
    return python


def installed(python: Path) -> dict[str, str]:
    """Return the version of each package asked for."""
    names = sorted({Requirement(text).name for text in requirements()})
    script = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    done = subprocess.run(
        [python, "-c", script, *names], check=True, capture_output=True, text=True
    )
    return dict(zip(names, done.stdout.split(), strict=True))


def try_tests(python: Path, tests: Sequence[str], side: str) -> tuple[bool, str]:
    """Return whether the tests pass, and the line in which pytest says so."""
    # Old packages warn of what new ones have done since; with new ones it is an error.
    lenient = ["--override-ini=filterwarnings=default"] if side == "oldest" else []
    done = subprocess.run(
        [python, "-m", "pytest", "--numprocesses=2", "--tb=short", *lenient, *tests],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        print(done.stdout)
    lines = re.findall(r"^.*\d+ (?:passed|failed).*$", done.stdout, re.MULTILINE)
    summary = lines[-1].strip("= ") if lines else "the tests did not run"
    return done.returncode == 0, re.sub(r" in [\d.]+s.*", "", summary)


def table(found: dict[str, dict[str, str]]) -> str:
    """Return the versions of each side, a row a package, as Markdown."""
    lines = ["| package | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    for name in sorted({name for versions in found.values() for name in versions}):
        cells = " | ".join(versions[name] for versions in found.values())
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("uv")
    parser.add_argument("--only", choices=tuple(SIDES))
    parser.add_argument("--tests", nargs="+", default=TESTS)
    chosen = parser.parse_args(arguments)
    found, passed = {}, True
    for side in [chosen.only] if chosen.only else SIDES:
        print(f"installing the {side} packages into .venv-{side}", file=sys.stderr)
        python = make(chosen.uv, side, ROOT / f".venv-{side}")
        found[side] = installed(python)
        is_fine, summary = try_tests(python, chosen.tests, side)
        passed &= is_fine
        print(f"{side}: {summary}", flush=True)
    print(table(found))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
