"""Values read without Pydantic are those that typer reads."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.core import TyperCommand
from typer.main import get_command

from core_mondrian.cli.parsing import Command


def take(
    text: str,
    *,
    path: Annotated[Path | None, typer.Option()] = None,
    number: Annotated[int | None, typer.Option(min=1, max=9)] = None,
    any_number: Annotated[int, typer.Option()] = 7,
    share: Annotated[float | None, typer.Option()] = None,
    names: Annotated[list[str] | None, typer.Option()] = None,
    numbers: Annotated[list[int] | None, typer.Option()] = None,
    pair: Annotated[tuple[str, str] | None, typer.Option()] = None,
    choice: Annotated[Literal["a", "b"], typer.Option()] = "a",
    flag: Annotated[bool, typer.Option("--flag/--no-flag")] = True,
) -> dict[str, Any]:
    return dict(locals())


def read(kind: type[TyperCommand], arguments: list[str]) -> object:
    """Return what a command gets, or what it says of a value it does not take."""
    app = typer.Typer(add_completion=False)
    app.command(cls=kind)(take)
    try:
        return get_command(app).main(arguments, "take", standalone_mode=False)
    except Exception as error:  # noqa: BLE001  # those of typer differ by version
        return type(error).__name__, str(error)


@pytest.mark.parametrize(
    "arguments",
    [
        ["x"],
        [""],
        [],
        ["x", "y"],
        ["né\u0301\u202e"],
        [os.fsdecode(b"\xff")],
        ["x", "--path", "."],
        ["x", "--path", ""],
        ["x", "--path", "~/a b/../c.csv"],
        ["x", "--path", os.fsdecode(b"\xff")],
        ["x", "--path", "a\0b"],
        *(["x", "--number", n] for n in ("1", "9", "0", "10", "-1", "1.0", "one", "")),
        *(["x", "--any-number", n] for n in ("007", "1_0", " 5 ", "٣", "9" * 30)),
        ["x", "--share", "0.5"],
        ["x", "--share", "half"],
        ["x", "--names", "a", "--names", ""],
        ["x", "--names", os.fsdecode(b"\xff")],
        ["x", "--numbers", "1", "--numbers", "2"],
        ["x", "--numbers", "one"],
        ["x", "--pair", "a", "b"],
        ["x", "--choice", "b"],
        ["x", "--choice", "c"],
        ["x", "--no-flag"],
        ["x", "--unknown"],
    ],
    ids=ascii,
)
def test_values_are_those_of_typer(arguments: list[str]) -> None:
    found, expected = read(Command, arguments), read(TyperCommand, arguments)

    assert found == expected
    if isinstance(found, dict):
        assert [type(x) for x in found.values()] == [
            type(x)
            for x in expected.values()  # type: ignore[attr-defined]
        ]


def test_a_path_that_cannot_be_read_is_refused_as_ever(tmp_path: Path) -> None:
    (tmp_path / "shut").touch(mode=0)
    arguments = ["x", "--path", str(tmp_path / "shut")]

    assert read(Command, arguments) == read(TyperCommand, arguments)
