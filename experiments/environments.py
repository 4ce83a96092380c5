"""Environments of their own, for packages that cannot or must not share ours."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from core_mondrian.errors import SpecError

Version: TypeAlias = tuple[int, int]
Run: TypeAlias = Callable[..., Any]
"""`subprocess.run`, or what stands in for it in tests."""
STAMP = "stamp"
LOG = "pip.log"
"""What pip said, in the environment's folder: it may name hosts, so no error does."""


class EnvironmentMissing(SpecError):
    """An environment cannot be made here."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What is to be installed, pinned, and into which Pythons it fits."""

    requirements: tuple[str, ...]
    instead: tuple[str, ...] = ()
    """Tried if the first ones cannot be had."""
    oldest: Version = (3, 9)
    below: Version = (3, 13)

    @property
    def title(self) -> str:
        return self.requirements[0]


def find_environment(
    wanted: Environment,
    folder: Path,
    *,
    tell: Callable[[str], None] = lambda _: None,
    run: Run = subprocess.run,
) -> Path:
    """Return the Python of ``folder``, which is made, or made anew, if need be.

    A stamp says what was installed: other requirements, another environment. Without
    the stamp the folder is unfinished and is not used.

    Raises:
        EnvironmentMissing: no Python fits, or pip failed.
    """
    python, stamp = folder / "bin" / "python", folder / STAMP
    choices = [c for c in (wanted.requirements, wanted.instead) if c]
    texts = ["\n".join(choice) for choice in choices]
    if stamp.exists() and stamp.read_text() in texts:
        return python
    tell(f"installing {wanted.title} into {folder.name}")
    base = find_python(wanted, run=run)
    for choice, text in zip(choices, texts, strict=True):
        made = [base, "-m", "venv", "--clear", str(folder)]
        if _succeeds(run, made, folder) and _succeeds(
            run, _pip(python, choice), folder
        ):
            stamp.write_text(text)
            return python
    raise EnvironmentMissing(
        f"{wanted.title} cannot be installed into {folder.name}",
        hint=f"what pip said is in {folder.name}/{LOG}",
    )


def find_python(wanted: Environment, *, run: Run = subprocess.run) -> str:
    """Return a Python that fits: this one, or one on the path, the newest first."""
    (major, low), (_, high) = wanted.oldest, wanted.below
    names = [f"python{major}.{minor}" for minor in range(high - 1, low - 1, -1)]
    fits = f"{wanted.oldest} <= sys.version_info < {wanted.below}"
    probe = f"import sys; sys.exit(not {fits})"
    for python in (sys.executable, *(shutil.which(name) for name in names)):
        if python and _succeeds(run, [python, "-c", probe], None):
            return python
    raise EnvironmentMissing(
        f"{wanted.title} needs Python {major}.{low} to {major}.{high - 1}",
        hint=f"put one of {', '.join(names)} on the path",
    )


def _pip(python: Path, requirements: tuple[str, ...]) -> list[str]:
    options = ["-q", "--disable-pip-version-check", "--no-input"]
    return [str(python), "-m", "pip", "install", *options, *requirements]


def _succeeds(run: Run, command: list[str], folder: Path | None) -> bool:
    """Run a command and keep what it says in the log, if there is a folder for it."""
    done = run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if folder is not None and folder.is_dir():
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(done.stdout or "")
    return bool(done.returncode == 0)
