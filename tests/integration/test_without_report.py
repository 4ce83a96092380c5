"""What the extra `report` brings is asked for early, and only where it is needed.

A process in which Altair, vl-convert and Jinja2 cannot be imported stands in for an
environment without them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

_BLOCKED = """
import sys

class Blocked:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("altair", "vl_convert", "jinja2"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked)
"""
_COMMANDS = """
from core_mondrian.cli.main import run

for command in COMMANDS:
    try:
        run(command)
    except SystemExit as end:
        print("ended", command[0], end.code or 0, flush=True)
"""
ROWS = [(20 + n % 40, "fm"[n % 2], "abc"[n % 3]) for n in range(100)]
TABLE = "age,sex,job\n" + "".join(f"{a},{s},{j}\n" for a, s, j in ROWS)
ASKED = ["--qid", "age", "--qid", "sex", "--k", "5"]


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "people.csv").write_text(TABLE)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _BLOCKED + code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def run_commands(
    folder: Path, commands: list[list[str]]
) -> tuple[list[str], list[str]]:
    """Return how each command ended, and the lines they said on stderr."""
    done = run(folder, f"COMMANDS = {commands!r}\n{_COMMANDS}")
    lines = done.stdout.splitlines()
    ends = [line.removeprefix("ended ") for line in lines if line.startswith("ended ")]
    return ends, done.stderr.splitlines()


def test_all_that_draws_nothing_works(tmp_path: Path) -> None:
    commands = [
        ["inspect", "people.csv"],
        ["anonymize", "people.csv", "release.csv", *ASKED, "--json"],
        ["anonymize", "people.csv", "summed.csv", *ASKED, "--by", "job"],
        ["verify", "release.csv", *ASKED],
        ["explain", "release.csv", *ASKED],
        ["attack", "release.csv", "--with", "people.csv"],
        ["advise", "people.csv", "--qid", "age", "--qid", "sex", "--vary", "k=3,9"],
        ["compare", "people.csv", "release.csv", *ASKED, "--means", "age:sex"],
    ]

    ends, words = run_commands(tmp_path, commands)

    assert ends == [f"{command[0]} 0" for command in commands], words
    assert (tmp_path / "release.csv.manifest.json").is_file()


def test_python_measures_and_tells_without_it(tmp_path: Path) -> None:
    code = """
import pyarrow.csv
from core_mondrian import KAnonymity, Spec, anonymize, verify

people = pyarrow.csv.read_csv("people.csv")
spec = Spec(("age", "sex"), models=(KAnonymity(5),))
release = anonymize(people, spec, key=bytes(32))
verify(release.data, spec)
print(release.manifest()["format"], release.measures().n_classes > 1)
print(len(release.figures()) > 1, "<table" in release._repr_html_())
"""

    assert run(tmp_path, code).stdout.split()[1:] == ["True", "True", "True"]


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["anonymize", "people.csv", "out.csv", "--report", "page.html"], "report"),
        (["advise", "people.csv", "--plot", "chart.svg"], "report"),
        (["compare", "people.csv", "--plot", "chart.svg"], "report"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_draws_is_refused_before_any_work(
    tmp_path: Path, command: list[str], extra: str
) -> None:
    asked = ASKED[:-2] if command[0] == "advise" else ASKED

    ends, words = run_commands(tmp_path, [[*command, *asked]])

    assert ends == [f"{command[0]} 2"]
    assert "Altair, vl-convert-python, Jinja2, which are not installed" in words[0]
    assert words[1:] == [f"hint: pip install 'core-mondrian[{extra}]'"]
    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]


def test_a_page_in_python_says_what_is_missing(tmp_path: Path) -> None:
    code = """
import pyarrow.csv
from core_mondrian import KAnonymity, Spec, SpecError, anonymize

people = pyarrow.csv.read_csv("people.csv")
release = anonymize(people, Spec(("age", "sex"), models=(KAnonymity(5),)))
for make in (release.report_html, lambda: release.report("page.html")):
    try:
        make()
    except SpecError as error:
        print(error.hint)
"""

    hints = run(tmp_path, code).stdout.splitlines()

    assert hints == ["pip install 'core-mondrian[report]'"] * 2
    assert [file.name for file in tmp_path.iterdir()] == ["people.csv"]
