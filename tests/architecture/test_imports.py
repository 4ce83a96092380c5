"""Importing is cheap; heavy parts load when they are first used."""

import subprocess
import sys
from pathlib import Path

import pytest

TYPER = {"typer", "annotated_doc", "shellingham"}
"""The command line's package, and what it loads itself; older ones click."""
RICH = {"rich", "markdown_it", "mdurl", "pygments", "attr"}
ARROW = {"numpy", "pyarrow", "narwhals", "cloudpickle", "dateutil", "six"}
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
    code = "import sys, core_mondrian.verification.verify; print(*sys.modules)"

    loaded = run(code).split()

    engine = ("engine", "encoding", "recode")
    found = [f"core_mondrian.{name}" for name in engine]
    assert [name for name in found if name in loaded] == []


_THIRD_PARTY = """
import sys
from pathlib import Path

def origin(module):
    spec = getattr(module, "__spec__", None)
    return getattr(spec, "origin", None) or getattr(module, "__file__", None) or ""

found = {
    name.partition(".")[0]
    for name, module in list(sys.modules.items())
    if "site-packages" in Path(origin(module)).parts
}
print("third party", *sorted(found - {"core_mondrian", "_distutils_hack"}))
"""


def third_party(code: str, folder: Path | None = None) -> set[str]:
    """Return which installed packages a process has loaded after ``code``."""
    last = run(code + _THIRD_PARTY, folder).splitlines()[-1]
    return set(last.removeprefix("third party").split())


def command(*arguments: str) -> str:
    """Return code that runs a command as a process of its own does."""
    return (
        "import sys\n"
        "from core_mondrian.cli.main import run\n"
        f"sys.argv = ['core-mondrian', *{list(arguments)!r}]\n"
        "try:\n"
        "    run()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
    )


def test_import_loads_no_other_package() -> None:
    assert third_party("import core_mondrian") == set()


def test_the_version_takes_no_more_than_the_command_line() -> None:
    assert third_party(command("--version")) - TYPER == set()


@pytest.mark.parametrize("arguments", [["--help"], ["anonymize", "--help"]])
def test_help_takes_no_more_than_what_prints_it(arguments: list[str]) -> None:
    assert third_party(command(*arguments)) - TYPER - RICH == set()


def test_a_small_file_takes_no_pandas_and_no_pydantic(tmp_path: Path) -> None:
    rows = [(20 + n % 40, "fm"[n % 2]) for n in range(100)]
    lines = "".join(f"{age},{sex}\n" for age, sex in rows)
    (tmp_path / "people.csv").write_text(f"age,sex\n{lines}")
    asked = ["--qid", "age", "--qid", "sex", "--k", "5"]
    code = command("anonymize", "people.csv", "release.csv", *asked)

    made = third_party(code, tmp_path)
    counted = third_party(command("verify", "release.csv", *asked), tmp_path)

    assert made - TYPER - RICH - ARROW == set()
    assert counted - TYPER - RICH - ARROW == set()


def test_a_csv_file_takes_nothing_of_parquet_streams_or_reports(tmp_path: Path) -> None:
    lines = "".join(f"{20 + n % 40}\n" for n in range(100))
    (tmp_path / "people.csv").write_text(f"age\n{lines}")
    code = command("anonymize", "people.csv", "out.csv", "--qid", "age", "--k", "5")

    loaded = run(f"{code}print(*sys.modules)", tmp_path).splitlines()[-1].split()

    unused = (
        *("pyarrow.parquet", "pyarrow.dataset", "pyarrow.fs"),
        *(
            "core_mondrian.sources.files",
            "core_mondrian.report.charts",
            "core_mondrian.sources.sql",
        ),
        *("core_mondrian.report.page", "core_mondrian.cli.demo", "rich.progress"),
        *("tomllib", "ssl", "asyncio", "http", "importlib.metadata", "cython"),
    )
    assert [name for name in unused if name in loaded] == []


def test_a_run_loads_only_the_models_that_it_asks_for(tmp_path: Path) -> None:
    lines = "".join(f"{20 + n % 40},{n % 3}\n" for n in range(100))
    (tmp_path / "people.csv").write_text(f"age,job\n{lines}")
    on_file = command("anonymize", "people.csv", "out.csv", "--qid", "age", "--k", "5")
    in_python = "import sys\nfrom core_mondrian import KAnonymity, Spec, anonymize\n"
    here = "core_mondrian.models"
    unused = {f"{here}.{name}" for name in ("load", "registry", "alpha_k", "risk")}

    for code in (on_file, in_python):
        loaded = run(f"{code}print(*sys.modules)", tmp_path).splitlines()[-1].split()

        assert f"{here}.k_anonymity" in loaded
        assert unused & set(loaded) == set()


def test_pictures_are_not_loaded_to_print_a_name_like_one(tmp_path: Path) -> None:
    lines = "".join(f"{20 + n % 40},{n}\n" for n in range(100))
    (tmp_path / "people.csv").write_text(f"age,:smile:\n{lines}")
    code = command("anonymize", "people.csv", "out.csv", "--qid", "age", "--k", "5")

    loaded = run(f"{code}print(*sys.modules)", tmp_path).splitlines()[-1].split()

    assert "rich._emoji_codes" not in loaded


def test_a_command_leaves_no_search_for_garbage_to_the_end(tmp_path: Path) -> None:
    code = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        + command("--version")
    )

    assert run(code, tmp_path).splitlines()[-1] == "True"


def test_arrow_still_makes_pandas_of_a_table_if_asked(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "people.csv").write_text("age\n1\n1\n")
    code = command("verify", "people.csv", "--qid", "age", "--k", "2")
    code += (
        "import pyarrow as pa\n"
        "assert 'pandas' not in sys.modules\n"
        "print(pa.table({'x': [1, 2]}).to_pandas()['x'].sum())\n"
        "import pandas as pd\n"
        "print(pa.array(pd.Series([1.0, float('nan')])).null_count)\n"
    )

    assert run(code, tmp_path).split() == ["3", "1"]
