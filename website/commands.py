"""The reference of the command line, from the commands themselves."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from typer.main import get_command

from core_mondrian.cli.help_page import metavar
from core_mondrian.cli.main import app

MARK: Final = "::: commands"
"""The line of a page that the reference replaces."""
_PROGRAM: Final = "core-mondrian"


def command_reference() -> str:
    """Return all commands with their arguments and options, as Markdown."""
    group: Any = get_command(app)
    context = group.make_context(_PROGRAM, [], resilient_parsing=True)
    return "\n\n".join(_sections(group, context, _PROGRAM, "##"))


def _sections(group: Any, context: Any, path: str, level: str) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        called = f"{path} {name}"
        yield f"{level} {called.removeprefix(f'{_PROGRAM} ')}"
        if not hasattr(command, "list_commands"):
            yield _description(command, called)
            continue
        yield _prose(command.help)
        inner = command.make_context(name, [], parent=context, resilient_parsing=True)
        yield from _sections(command, inner, called, f"{level}#")


def _description(command: Any, called: str) -> str:
    inner = command.make_context(called, [], resilient_parsing=True)
    parameters = [one for one in command.get_params(inner) if not _is_hidden(one)]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    options = [one for one in parameters if one.param_type_name == "option"]
    names = " ".join(_argument_name(one) for one in arguments)
    parts = [f"```\n{called} {names} [OPTIONS]\n```", _prose(command.help)]
    parts.append(
        _table("argument", [(f"`{_argument_name(one)}`", one) for one in arguments])
    )
    for panel, members in _panels(options):
        parts.append(f"**{panel}**")
        parts.append(_table("option", [(_option_name(one), one) for one in members]))
    return "\n\n".join(part for part in parts if part)


def _panels(options: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    panels: dict[str, list[Any]] = {}
    for option in options:
        panel = getattr(option, "rich_help_panel", None) or "Options"
        panels.setdefault(panel, []).append(option)
    yield from panels.items()


def _table(what: str, rows: list[tuple[str, Any]]) -> str:
    if not rows:
        return ""
    lines = [f"| {what} | meaning |", "|---|---|"]
    lines += [f"| {name} | {_cell(_help(one))} |" for name, one in rows]
    return "\n".join(lines)


def _argument_name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _option_name(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} `{metavar(option)}`"


def _help(parameter: Any) -> str:
    described = " ".join((parameter.help or "").split())
    default = parameter.default
    if not getattr(parameter, "show_default", False) or callable(default):
        return described
    if default in (None, False, (), [], "") or f"[default: {default}]" in described:
        return described
    return f"{described} [default: {default}]"


def _is_hidden(parameter: Any) -> bool:
    return bool(getattr(parameter, "hidden", False)) or "--help" in parameter.opts


def _prose(described: str | None) -> str:
    """Return a help text; lines that are set in by it are examples."""
    text = inspect.cleandoc((described or "").replace("\b", ""))
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(_paragraph(one) for one in paragraphs)


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if lines and all(re.match(r"\s*(\$ )?core-mondrian |\s{2,}", one) for one in lines):
        return f"```sh\n{inspect.cleandoc(text)}\n```"
    return _cell(" ".join(line.strip() for line in lines))


def _cell(text: str) -> str:
    """Return the text as Markdown that shows it as it is, in a table as well."""
    without_markup = re.sub(r"\[/?(?:bold|dim|cyan|green|italic)[^]]*\]", "", text)
    return re.sub(r"([|*_<\[])", r"\\\1", without_markup)
