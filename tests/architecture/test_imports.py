"""Importing is cheap; heavy parts load when they are first used."""

import subprocess
import sys

import pytest

HEAVY = (
    *("numba", "pandas", "polars", "pyarrow", "narwhals", "rich", "typer"),
    *("altair", "vl_convert", "sklearn", "jinja2"),
)
CPU = "import time; {}; print(time.process_time())"


def run(code: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cpu_seconds(statement: str) -> float:
    """The least of three runs: what the code costs, not what the machine does."""
    return min(float(run(CPU.format(statement)).split()[-1]) for _ in range(3))


def test_import_loads_nothing_heavy() -> None:
    loaded = run("import sys, core_mondrian; print(*sys.modules)").split()

    assert [name for name in HEAVY if name in loaded] == []


def test_import_takes_next_to_no_time() -> None:
    assert cpu_seconds("import core_mondrian") < 0.4


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="whole"),
        pytest.param(["anonymize", "--help"], id="anonymize"),
    ],
)
def test_help_takes_no_time_to_speak_of(arguments: list[str]) -> None:
    statement = (
        "import contextlib, io\n"
        "from core_mondrian.cli.main import run\n"
        "with contextlib.suppress(SystemExit), "
        "contextlib.redirect_stdout(io.StringIO()):\n"
        f"    run({arguments!r})\n"
    )
    code = "import time\n" + statement + "print(time.process_time())"

    seconds = min(float(run(code).split()[-1]) for _ in range(3))

    assert seconds < 0.5


def test_help_loads_no_compiler_and_no_dataframes() -> None:
    code = (
        "import contextlib, io, sys\n"
        "from core_mondrian.cli.main import run\n"
        "with contextlib.suppress(SystemExit), "
        "contextlib.redirect_stdout(io.StringIO()):\n"
        "    run(['--help'])\n"
        "print(*sys.modules)"
    )

    loaded = run(code).split()

    heavy = ("numba", "pandas", "polars", "pyarrow", "sklearn")
    assert [name for name in heavy if name in loaded] == []


def test_verifier_loads_no_engine() -> None:
    code = "import sys, core_mondrian.measure.verify; print(*sys.modules)"

    loaded = run(code).split()

    engine = ("partition", "encode", "tree", "recode")
    found = [f"core_mondrian.{name}" for name in engine]
    assert [name for name in found if name in loaded] == []
