"""Oldest and newest: what is installed to try them."""

from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from supply.versions import make, requirements, table


def test_all_that_users_may_ask_for_is_tried_but_spark() -> None:
    names = {Requirement(text).name for text in requirements()}

    assert {"numpy", "nicegui", "duckdb", "pandas", "polars", "pytest"} <= names
    assert "pyspark" not in names
    assert "ruff" not in names


def test_every_package_tried_has_a_lowest_version() -> None:
    bare = [text for text in requirements() if not Requirement(text).specifier]

    assert bare == []


def test_each_side_is_resolved_its_own_way(tmp_path: Path) -> None:
    commands: list[list[str]] = []

    def run(command: list[Any], *, check: bool) -> None:
        assert check
        commands.append([str(part) for part in command])

    python = make("uv", "oldest", tmp_path / "old", run=run)
    make("uv", "newest", tmp_path / "new", run=run)

    assert python == tmp_path / "old" / "bin" / "python"
    resolutions = [x for command in commands for x in command if "resolution" in x]
    assert resolutions == ["--resolution=lowest-direct", "--resolution=highest"]
    assert all(f"--python={python}" in command for command in commands[1:3])


def test_versions_are_told_side_by_side() -> None:
    found = {"oldest": {"a": "1", "b": "2"}, "newest": {"a": "3", "b": "4"}}

    assert table(found).splitlines() == [
        "| package | oldest | newest |",
        "|---|---|---|",
        "| a | 1 | 3 |",
        "| b | 2 | 4 |",
    ]
