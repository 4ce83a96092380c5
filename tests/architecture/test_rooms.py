"""Every room has a map of its modules; what is loaded by its name exists."""

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

import core_mondrian
from core_mondrian.cli.main import _COMMANDS

PACKAGE = Path(core_mondrian.__file__).parent
ROOMS = sorted({file.parent for file in PACKAGE.rglob("*.py")} - {PACKAGE})
SETTINGS = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text("utf-8"))
CONTRACTS = SETTINGS["tool"]["importlinter"]["contracts"]
ENTRY = re.compile(r"^(\w[\w/]*(?:, \w[\w/]*)*) {2,}\S", re.MULTILINE)


def modules_in(folder: Path) -> set[str]:
    """Return the modules and rooms that stand in a folder."""
    inside = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    return inside | {file.parent.name for file in folder.glob("*/__init__.py")}


def names_on(map_: str) -> list[str]:
    """Return the names that a map begins its lines with."""
    lines = ENTRY.findall(map_)
    return [name.strip("/") for line in lines for name in line.split(", ")]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_map_names_each_module_of_its_room_once(room: Path) -> None:
    text = (room / "__init__.py").read_text("utf-8")
    map_ = ast.get_docstring(ast.parse(text)) or ""

    assert sorted(names_on(map_)) == sorted(modules_in(room))


def test_names_stand_before_what_they_are() -> None:
    map_ = "A room.\n\nfirst, last/   two of them\nother   one, and  more\n"

    assert names_on(map_) == ["first", "last", "other"]


def test_every_room_has_its_level_and_no_import_is_excepted() -> None:
    (layers,) = (one["layers"] for one in CONTRACTS if one["type"] == "layers")
    rooms = [name.rpartition(".")[2] for level in layers for name in level.split(" | ")]

    assert sorted(rooms) == sorted(modules_in(PACKAGE) - {"__main__"})
    assert len(layers) <= 12
    assert not any("ignore_imports" in one for one in CONTRACTS)


@pytest.mark.parametrize(
    "path",
    [
        *(f"core_mondrian.cli.{path}" for path in _COMMANDS.values()),
        *(f"core_mondrian.{x}:{y}" for y, x in core_mondrian._HOMES.items()),
    ],
)
def test_what_is_loaded_by_its_name_exists(path: str) -> None:
    module, _, name = path.partition(":")

    assert hasattr(importlib.import_module(module), name)
