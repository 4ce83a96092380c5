"""Read a lock file: which version of each package, with which hashes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
DEV_LOCK = ROOT / "requirements" / "dev.lock"
SUPPLY_LOCK = ROOT / "requirements" / "supply.lock"
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Locked:
    """One package, as it must be."""

    name: str
    version: str
    hashes: tuple[str, ...]
    """SHA-256 of the files it may come in."""


def read_lock(file: Path) -> dict[str, Locked]:
    """Return the packages of a lock file by their canonical names."""
    return {locked.name: locked for locked in _packages(file.read_text("utf-8"))}


def _packages(text: str) -> Iterator[Locked]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for entry in "\n".join(lines).replace("\\\n", " ").splitlines():
        wanted = Requirement(_HASH.sub("", entry))
        version = str(wanted.specifier).removeprefix("==")
        yield Locked(
            canonicalize_name(wanted.name), version, tuple(_HASH.findall(entry))
        )
