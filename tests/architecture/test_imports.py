"""Importing is cheap; heavy parts load when they are first used."""

import subprocess
import sys

import pytest

HEAVY = (
    *("numba", "pandas", "polars", "pyarrow", "narwhals", "rich", "typer"),
    *("altair", "vl_convert", "sklearn", "jinja2"),
)


def run(code: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy() -> None:
    loaded = run("import sys, core_mondrian; print(*sys.modules)").split()

    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="whole"),
        pytest.param(["anonymize", "--help"], id="anonymize"),
        pytest.param(["attack", "--help"], id="attack"),
    ],
)
def test_help_loads_no_compiler_and_no_dataframes(arguments: list[str]) -> None:
    code = (
        "import contextlib, io, sys\n"
        "from core_mondrian.cli.main import run\n"
        "with contextlib.suppress(SystemExit), "
        "contextlib.redirect_stdout(io.StringIO()):\n"
        f"    run({arguments!r})\n"
        "print(*sys.modules)"
    )

    loaded = run(code).split()

    heavy = set(HEAVY) - {"rich", "typer"}
    assert [name for name in heavy if name in loaded] == []


def test_verifier_loads_no_engine() -> None:
    code = "import sys, core_mondrian.measure.verify; print(*sys.modules)"

    loaded = run(code).split()

    engine = ("partition", "encode", "tree", "recode")
    found = [f"core_mondrian.{name}" for name in engine]
    assert [name for name in found if name in loaded] == []
