"""What ships beside the wheel: the action runs, and every recipe fits the project."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
import yaml

import core_mondrian
from core_mondrian.datasets import census
from supply.lock import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())[
    "project"
]
BASH = shutil.which("bash")


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / name).read_text())
    return found


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load("action.yml")["runs"]["steps"]
    return found


# The action


@pytest.fixture
def people(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(census(500), tmp_path / "people.csv")
    return tmp_path


def run_action(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step of action.yml by bash, its inputs filled in as GitHub does."""
    if BASH is None:
        pytest.skip("bash is not installed")
    step = steps()[-1]
    known = {
        name: given["default"]
        for name, given in _inputs().items()
        if "default" in given
    }
    known |= inputs
    variables = {
        name: known[re.fullmatch(r"\${{ inputs\.(\w+) }}", text)[1]]  # type: ignore[index]
        for name, text in step["env"].items()
    }
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ["PATH"]])
    return subprocess.run(  # noqa: S603
        [BASH, "-c", step["run"]],
        cwd=folder,
        env={**os.environ, **variables, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def _inputs() -> dict[str, Any]:
    found: dict[str, Any] = load("action.yml")["inputs"]
    return found


ASKED = "--k\n5\n--qid\nage\n--qid\nsex\n--identifier\nperson_id\n"


def test_the_action_anonymizes_and_lets_the_release_pass(people: Path) -> None:
    made = run_action(
        people,
        command="anonymize",
        source="people.csv",
        release="out.csv",
        arguments=ASKED,
    )
    assert made.returncode == 0, made.stderr

    gate = run_action(people, release="out.csv")

    assert gate.returncode == 0, gate.stderr
    assert "5-anonymity reaches 5" in gate.stdout + gate.stderr


def test_the_action_stops_a_release_with_a_row_too_few(people: Path) -> None:
    run_action(
        people,
        command="anonymize",
        source="people.csv",
        release="out.csv",
        arguments=ASKED,
    )
    lines = (people / "out.csv").read_text().splitlines()
    (people / "out.csv").write_text("\n".join([*lines[:1], *lines[2:]]) + "\n")

    gate = run_action(people, release="out.csv")

    assert gate.returncode == 5


def test_inputs_of_the_action_never_become_commands(people: Path) -> None:
    nasty = "$(touch gone) `touch gone`; touch gone \" ' "

    done = run_action(people, release=nasty, arguments=nasty, spec=nasty)

    assert done.returncode in {2, 3}
    assert not (people / "gone").exists()
    for step in steps():
        assert "${{" not in step.get("run", "")


def test_the_action_says_which_commands_it_knows(people: Path) -> None:
    done = run_action(people, command="publish", release="out.csv")

    assert done.returncode == 2
    assert "verify or anonymize" in done.stderr


# Versions and dependencies


def test_every_recipe_is_of_this_version() -> None:
    assert _inputs()["version"]["default"] == core_mondrian.__version__
    assert load("conda/recipe.yaml")["context"]["version"] == core_mondrian.__version__
    assert PROJECT["version"] == core_mondrian.__version__
    cited = (
        load("CITATION.cff")["version"] if (ROOT / "CITATION.cff").exists() else None
    )
    assert cited in (None, core_mondrian.__version__)


def test_the_changelog_tells_users_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    newest = re.findall(r"^## \[(\d[\d.]*)\](.*)$", text, re.MULTILINE)[0]
    own = text.split(f"## [{newest[0]}]")[1].split("\n## ")[0]

    assert newest[0] == core_mondrian.__version__
    assert re.fullmatch(r" - \d{4}-\d\d-\d\d", newest[1])
    assert "### In short" in own
    assert "### Upgrading from" in own


def test_conda_installs_what_the_wheel_needs() -> None:
    def split(requirement: str) -> tuple[str, str]:
        name, bound = re.fullmatch(r"([\w-]+) ?(\S*)", requirement).groups()  # type: ignore[union-attr]
        return name.removeprefix("python-").lower(), bound

    recipe = load("conda/recipe.yaml")
    run = {split(text) for text in recipe["requirements"]["run"]}
    host = {split(text) for text in recipe["requirements"]["host"]}
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]

    assert run == {split(text) for text in PROJECT["dependencies"]} | {("python", "")}
    assert {split(text) for text in build["requires"]} <= host
    (command,) = recipe["build"]["python"]["entry_points"]
    assert command == f"core-mondrian = {PROJECT['scripts']['core-mondrian']}"


def test_the_image_gets_what_the_wheel_is_built_from_and_no_rights() -> None:
    image = (ROOT / "Dockerfile").read_text()
    kept = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }

    assert kept == {"src", *(name for name in kept if (ROOT / name).is_file())}
    assert {
        "README.md",
        *PROJECT["license-files"],
        "pyproject.toml",
        "setup.py",
    } <= kept
    assert re.search(r"^USER anonymizer$", image, re.MULTILINE)
    extras = re.search(r"/source\[(.*?)\]", image)
    assert extras
    assert {*extras[1].split(",")} <= PROJECT["optional-dependencies"].keys()


# CI


def test_each_python_of_the_metadata_is_tested_on_each_system() -> None:
    classifiers = "\n".join(PROJECT["classifiers"])
    promised = set(re.findall(r"Python :: (3\.\d+)", classifiers))
    jobs = load(".github/workflows/ci.yml")["jobs"]

    assert promised == {"3.11", "3.12", "3.13", "3.14"}
    for job in jobs.values():
        assert set(job["strategy"]["matrix"]["python"]) == promised
    wheels = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "cibuildwheel"
    ]
    assert set(re.findall(r"cp3(\d+)", wheels["build"])) == {p[2:] for p in promised}


def test_ci_installs_what_essential_tests_would_skip_without() -> None:
    job = load(".github/workflows/ci.yml")["jobs"]["linux"]
    text = yaml.safe_dump(job)

    for need in ("chromium", "postgresql", "setup-java"):
        assert need in text
    assert any(step.get("run", "").startswith("make test") for step in job["steps"])
