"""Importing is cheap; heavy parts load when they are first used."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    *("numba", "pandas", "polars", "pyarrow", "narwhals", "rich", "typer"),
    *("altair", "vl_convert", "sklearn", "jinja2"),
)


def run(code: str, folder: Path | None = None) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
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


def test_what_only_reads_a_release_loads_no_compiler(tmp_path: Path) -> None:
    table = "age,sex,job\n20,f,a\n30,f,b\n40,m,a\n40,m,b\n"
    release = 'age,sex,job\n"[20, 30]",f,a\n"[20, 30]",f,b\n40,m,a\n40,m,b\n'
    (tmp_path / "table.csv").write_text(table)
    (tmp_path / "release.csv").write_text(release)
    spec = 'quasi_identifiers = ["age", "sex"]\nk = 2\n'
    (tmp_path / "spec.toml").write_text(spec)
    asked = ["--spec", "spec.toml"]
    commands = [
        ["verify", "release.csv", *asked],
        ["explain", "release.csv", *asked],
        ["attack", "release.csv", "--with", "table.csv", *asked],
        ["inspect", "table.csv"],
        ["init", "table.csv", "first.toml"],
    ]
    code = (
        "import contextlib, io, sys\n"
        "from core_mondrian.cli.main import run\n"
        f"for command in {commands!r}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        try:\n"
        "            run(command)\n"
        "        except SystemExit as end:\n"
        "            code = end.code or 0\n"
        "    print(command[0], code, 'numba' in sys.modules)"
    )

    ends = run(code, tmp_path).splitlines()

    assert ends == [f"{command[0]} 0 False" for command in commands]


def test_verifier_loads_no_engine() -> None:
    code = "import sys, core_mondrian.measure.verify; print(*sys.modules)"

    loaded = run(code).split()

    engine = ("partition", "encode", "tree", "recode")
    found = [f"core_mondrian.{name}" for name in engine]
    assert [name for name in found if name in loaded] == []
