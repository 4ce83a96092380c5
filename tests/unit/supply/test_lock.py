"""The lock file holds what pyproject.toml asks for, and nothing from one's own disk."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.closure import EXTRAS, direct, needed
from supply.lock import DEV_LOCK, ROOT, SUPPLY_LOCK, read_lock

ASKED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HASH = "0" * 64


def test_a_lock_is_read_as_written(tmp_path: Path) -> None:
    file = tmp_path / "some.lock"
    file.write_text(
        "# by make lock\n"
        f"A_b[more]==1.0 ; python_full_version < '3.13' \\\n    --hash=sha256:{HASH}\n"
        f"c==2 \\\n    --hash=sha256:{HASH} \\\n    --hash=sha256:{'1' * 64}\n"
        "    # via a\n"
    )

    found = read_lock(file)

    assert [(x.name, x.version, len(x.hashes)) for x in found.values()] == [
        ("a-b", "1.0", 1),
        ("c", "2", 2),
    ]


@pytest.mark.parametrize("file", [DEV_LOCK, SUPPLY_LOCK], ids=lambda file: file.name)
def test_every_package_has_hashes_and_no_host_is_named(file: Path) -> None:
    packages = read_lock(file)

    assert len(packages) > 30
    assert [name for name, locked in packages.items() if not locked.hashes] == []
    assert "://" not in file.read_text()
    assert "--index" not in file.read_text()


def test_the_lock_holds_what_pyproject_asks_for() -> None:
    packages = read_lock(DEV_LOCK)
    asked = [Requirement(text) for text in direct([*EXTRAS, "dev"])]
    wrong = [
        wanted.name
        for wanted in asked
        if packages[canonicalize_name(wanted.name)].version not in wanted.specifier
    ]

    assert len(asked) > 20
    assert wrong == []


def test_the_supply_lock_holds_its_tools() -> None:
    packages = read_lock(SUPPLY_LOCK)
    lines = (ROOT / "requirements" / "supply.in").read_text().splitlines()
    asked = [Requirement(line) for line in lines if not line.startswith("#")]

    assert [x.name for x in asked if packages[x.name].version not in x.specifier] == []


def test_the_lock_is_whole() -> None:
    """Everything that what is locked asks for, on this Python, is locked too."""
    packages = read_lock(DEV_LOCK)

    assert set(needed([*EXTRAS, "dev"])) - set(packages) == set()


def test_extras_are_those_of_pyproject() -> None:
    assert {*EXTRAS, "dev", "fuzz"} == set(ASKED["optional-dependencies"])


def test_needed_follows_extras_of_extras() -> None:
    # `spark` asks for `pyspark[connect]`, and that for grpcio.
    assert {"pyspark", "grpcio", "numpy"} <= set(needed(["spark"]))
    assert "pyspark" not in needed([])
