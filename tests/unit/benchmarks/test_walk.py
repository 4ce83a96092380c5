"""What one command calls, and whether the page about it names what is called."""

import re
from pathlib import Path

import pytest
from support.pages import links

from benchmarks import walk
from benchmarks.lines import Line

PAGE = walk.ROOT / "docs" / "architecture.md"
OTHER_POLICY = "engine/funnel_tree"
"""Named on the page beside the tree that the default policy grows."""


@pytest.fixture(scope="module")
def line() -> Line:
    return walk.measure(walk.ROOT)


@pytest.mark.long
def test_the_steps_of_the_page_are_taken(line: Line) -> None:
    text = PAGE.read_text("utf-8").partition("## The walk of one command")[2]
    steps = [
        x for x in text.partition("<!-- walk -->")[0].splitlines() if x[:3] > "| 0"
    ]
    source = walk.ROOT / "src" / "core_mondrian"
    named = [
        file.relative_to(source).with_suffix("").as_posix()
        for step in steps
        for file, _ in links(step, PAGE)
        if file.is_relative_to(source)
    ]

    assert len(named) > 20
    assert sorted({*named} - {*line["walk"]} - {OTHER_POLICY}) == []


@pytest.mark.long
def test_the_counts_are_those_of_the_rooms(line: Line) -> None:
    assert line["functions"] == sum(line["walk"].values()) > 100
    assert len(line["walk"]) == line["modules"] < line["loaded"]
    table = "\n".join(walk.write_walk(line))
    assert table.startswith(f"{line['functions']} functions in {line['modules']} mod")
    assert sum(map(int, re.findall(r"^\| \w+ \| (\d+) \|", table, re.M))) == sum(
        line["walk"].values()
    )


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no checkout"):
        walk.measure(tmp_path)
