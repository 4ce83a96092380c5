"""docs/architecture.md names files, functions and tests that exist, and all rooms."""

import re
import tomllib
from pathlib import Path

from support.pages import defined_in, links

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LAYERS = next(
    contract["layers"]
    for contract in SETTINGS["tool"]["importlinter"]["contracts"]
    if contract["type"] == "layers"
)
ADDITIONS = (
    *("A spec key", "A privacy model", "A metric", "A release format", "A source"),
    *("A compiled function", "A command"),
)
SECTIONS = {
    title: text
    for title, _, text in (
        part.partition("\n") for part in re.split(r"^#{2,3} ", TEXT, flags=re.MULTILINE)
    )
}


def test_every_file_and_name_behind_a_link_exists() -> None:
    code = [(file, names) for file, names in links(TEXT, PAGE) if file.suffix == ".py"]
    absent = [
        (file.name, name)
        for file, names in code
        for name in names
        if not file.is_file() or name not in defined_in(file)
    ]

    assert len(code) > 90
    assert absent == []


def test_the_table_of_the_paper_leads_to_code_and_to_its_test() -> None:
    table = [line for line in SECTIONS["The paper"].splitlines() if "| [" in line]
    assert len(table) >= 13
    for line in table:
        found = links(line, PAGE)
        tests = [one for one in found if one[0].is_relative_to(ROOT / "tests")]
        code = [one for one in found if one[0].is_relative_to(ROOT / "src")]
        assert len(tests) == 1
        assert code
        assert all(names for _, names in found), line
        assert all(name.startswith("test_") for _, names in tests for name in names)


def test_the_rooms_of_the_page_are_the_levels_of_the_import_contract() -> None:
    table = [line for line in SECTIONS["Rooms"].splitlines() if line.startswith("| [")]
    rooms = [set(re.findall(r"\[(\w+)\]", line.split("|")[1])) for line in table]
    levels = [
        {name.rpartition(".")[2] for name in level.split(" | ")} for level in LAYERS
    ]

    assert rooms == levels


def test_the_diagram_shows_every_room() -> None:
    (picture,) = re.findall(r"!\[[^]]+\]\((pictures/\w+\.svg)\)", TEXT)
    drawn = (PAGE.parent / picture).read_text("utf-8")
    shown = set(re.findall(r'class="room"[^>]*>(\w+)<', drawn))

    assert shown == {
        name.rpartition(".")[2] for level in LAYERS for name in level.split(" | ")
    }
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_the_page_says_how_to_add_one_of_each() -> None:
    for title in ADDITIONS:
        assert len(links(SECTIONS[title], PAGE)) >= 2, title


def test_what_contributors_read_first_leads_to_the_page() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")

    assert "docs/architecture.md#how-to-add" in contributing


def test_every_command_of_make_is_explained() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (line,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    commands = {*line.split()} - {"help"}
    shown = re.findall(r'@echo "make ([\w-]+) ', makefile)

    assert len(shown) == 6
    assert len(commands) > 25
    assert {name for name in commands if f"`make {name}`" not in contributing} == set()
