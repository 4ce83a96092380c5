"""Every command is a request, and an option means the same wherever there is one."""

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core_mondrian.cli import main
from core_mondrian.cli.main import _COMMANDS, _load

CLI = Path(main.__file__).parent
OTHERWISE = {
    ("advise", "--k"): "several values of it",
    ("attack", "--sensitive"): "several columns",
}
"""Options that take more here than elsewhere, and why."""


def commands() -> Iterator[tuple[str, Any]]:
    for name in _COMMANDS:
        found = _load(name)
        several = getattr(found, "commands", None)
        if several is None:
            yield name, found
        else:
            for part, one in several.items():
                yield f"{name} {part}", one


def test_an_option_takes_the_same_in_every_command() -> None:
    kinds: dict[str, dict[Any, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, one in commands():
        for option in one.params:
            if option.param_type_name != "option":
                continue
            for flag in option.opts:
                if flag.startswith("--") and (name, flag) not in OTHERWISE:
                    takes = (option.type_descriptor.annotation, option.multiple)
                    kinds[flag][takes].append(name)

    assert {flag: dict(x) for flag, x in kinds.items() if len(x) > 1} == {}


def test_every_command_is_asked_by_one_request() -> None:
    several = []
    for file in CLI.glob("*.py"):
        for one in ast.parse(file.read_text("utf-8")).body:
            decorators = getattr(one, "decorator_list", [])
            names = [ast.unparse(x).partition("(")[0] for x in decorators]
            if isinstance(one, ast.FunctionDef) and "command" in names:
                several.append((file.stem, one.name))
                asked = [x.arg for x in one.args.args + one.args.kwonlyargs]
                assert asked == ["request"], one.name

    functions = {
        function.__name__
        for name, _ in _COMMANDS.items()
        for function in _functions_of(name)
    }
    # `schema` is asked nothing.
    assert functions - {name for _, name in several} == {"show_schema"}
    assert not inspect.signature(_functions_of("schema")[0]).parameters


def _functions_of(name: str) -> list[Any]:
    from importlib import import_module

    module, _, function = _COMMANDS[name].partition(":")
    found = getattr(import_module(f"core_mondrian.cli.{module}"), function)
    return list(found.values()) if isinstance(found, dict) else [found]


def test_nothing_of_the_command_line_hands_on_its_local_names() -> None:
    for file in CLI.glob("*.py"):
        for one in ast.walk(ast.parse(file.read_text("utf-8"))):
            assert not (isinstance(one, ast.Name) and one.id == "locals"), file
