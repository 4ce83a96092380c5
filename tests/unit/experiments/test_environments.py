"""Environments are made once, anew when asked for otherwise, and never half."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.environments import (
    LOG,
    STAMP,
    Environment,
    EnvironmentMissing,
    find_environment,
    find_python,
)

WANTED = Environment(("tool==1", "beside==2"), oldest=(3, 9), below=(3, 99))


class Pip:
    """Stands in for the commands: makes the folder, installs what it has."""

    def __init__(self, *has: str) -> None:
        self.has = set(has)
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **_: Any) -> Any:
        self.commands.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir(exist_ok=True)
        wanted = {part for part in command if "==" in part and "-c" not in command}
        code = 0 if wanted <= self.has else 1
        return subprocess.CompletedProcess(command, code, stdout="what pip says\n")

    @property
    def installs(self) -> int:
        return sum("install" in command for command in self.commands)


def test_an_environment_is_made_once(tmp_path: Path) -> None:
    pip, told = Pip("tool==1", "beside==2"), []
    folder = tmp_path / ".venv-tool"

    for _ in range(2):
        python = find_environment(WANTED, folder, tell=told.append, run=pip)

    assert python == folder / "bin" / "python"
    assert pip.installs == 1
    assert told == ["installing tool==1 into .venv-tool"]
    assert (folder / STAMP).read_text() == "tool==1\nbeside==2"


def test_other_requirements_make_it_anew(tmp_path: Path) -> None:
    pip = Pip("tool==1", "beside==2", "tool==3")

    find_environment(WANTED, tmp_path, run=pip)
    find_environment(Environment(("tool==3",)), tmp_path, run=pip)

    assert pip.installs == 2
    assert (tmp_path / STAMP).read_text() == "tool==3"


def test_what_is_tried_instead_is_taken_and_remembered(tmp_path: Path) -> None:
    wanted = Environment(("torch==1+cpu",), instead=("torch==1",))
    pip = Pip("torch==1")

    for _ in range(2):
        find_environment(wanted, tmp_path, run=pip)

    assert pip.installs == 2
    assert (tmp_path / STAMP).read_text() == "torch==1"


def test_a_failure_leaves_no_stamp_and_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(
        EnvironmentMissing, match="tool==1 cannot be installed"
    ) as error:
        find_environment(WANTED, tmp_path, run=Pip())

    assert not (tmp_path / STAMP).exists()
    assert "what pip says" in (tmp_path / LOG).read_text()
    assert "what pip says" not in str(error.value)
    assert find_environment(WANTED, tmp_path, run=Pip("tool==1", "beside==2")).name


def test_this_python_is_taken_if_it_fits() -> None:
    assert find_python(WANTED) == sys.executable


def test_no_python_that_fits_is_an_error_that_says_which() -> None:
    with pytest.raises(EnvironmentMissing, match=r"needs Python 2\.1 to 2\.2"):
        find_python(Environment(("tool==1",), oldest=(2, 1), below=(2, 3)))
