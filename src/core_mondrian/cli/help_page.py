"""What --help prints: options in panels, with room for their text, and examples."""

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from core_mondrian.cli.examples import EXAMPLES
from core_mondrian.cli.parsing import Command, Context, Group, Parameter

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Before": ("inspect", "init", "hierarchy", "advise"),
    "Release": ("anonymize", "series", "p-sensitize"),
    "Judge": ("verify", "attack", "compare", "explain", "report", "minimality"),
    "Evidence": ("sign", "keygen"),
    "More": ("studio", "demo", "schema"),
}
"""The commands, by when they are used."""
_MANY: Final = 12
"""Options from which on they stand in panels."""
_REST: Final = "Options"
_NAMES_WIDTH: Final = 32
"""Columns for an option and what it takes; what is longer has a line of its own."""
_WIDTH: Final = 100


def print_command(command: Command, context: Context) -> None:
    """Print the help of one command."""
    console = _console()
    parameters = [one for one in command.get_params(context) if not one.hidden]
    arguments = [one for one in parameters if not one.opts[0].startswith("-")]
    options = [one for one in parameters if one.opts[0].startswith("-")]
    shown = [f"[{metavar(x)}]" if not x.required else metavar(x) for x in arguments]
    needed = [f"{x.opts[0]} {metavar(x)}" for x in options if x.required]
    _print_usage(console, [context.command_path, *shown, *needed, "[OPTIONS]"])
    _print_text(console, command.help)
    _print_panel(console, "Arguments", [(metavar(x), _text(x)) for x in arguments])
    for title, several in _grouped(options).items():
        _print_panel(console, title, [(_names(x), _text(x)) for x in several])
    _print_examples(console, command.name or "")


def print_commands(group: Group, context: Context) -> None:
    """Print the help of the command line as a whole."""
    console = _console()
    _print_usage(console, [context.command_path, "COMMAND", "…"])
    _print_text(console, group.help)
    known = {
        name: group.get_command(context, name) for name in group.list_commands(None)
    }
    for title, several in GROUPS.items():
        lines = [(name, _first_sentence(known[name].help)) for name in several]
        _print_panel(console, title, lines)
    options = [(_names(x), _text(x)) for x in group.get_params(context)]
    _print_panel(console, _REST, options)
    _print_examples(console, "")
    console.print(f" {context.command_path} COMMAND -h shows the options of a command.")


def print_parts(group: Group, context: Context) -> None:
    """Print the help of a command that has parts."""
    console = _console()
    _print_usage(console, [context.command_path, "COMMAND", "…"])
    _print_text(console, group.help)
    parts = {name: group.get_command(context, name) for name in group.commands}
    lines = [(name, _first_sentence(part.help)) for name, part in parts.items()]
    _print_panel(console, "Commands", lines)
    _print_examples(console, group.name)
    console.print(f" {context.command_path} COMMAND -h shows the options of a command.")


def _console() -> "Console":
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    console.width = min(console.width, _WIDTH)
    return console


def _grouped(options: Sequence[Parameter]) -> dict[str, list[Parameter]]:
    """Return options by their panel; those of a small command are in one."""
    has_panels = len(options) >= _MANY
    panels: dict[str, list[Parameter]] = {}
    for option in options:
        panel = getattr(option, "rich_help_panel", None) if has_panels else None
        panels.setdefault(panel or _REST, []).append(option)
    # What belongs to no panel, such as --help, stands at the end.
    rest = panels.pop(_REST, [])
    return {**panels, _REST: rest}


def metavar(parameter: Parameter) -> str:
    """Return what stands for the value of a parameter."""
    if parameter.metavar:
        return str(parameter.metavar)
    if not parameter.opts[0].startswith("-"):
        return str(parameter.opts[0]).upper()
    name = getattr(parameter.type_descriptor.annotation, "__name__", "")
    return {"int": "N", "float": "NUMBER", "Path": "FILE"}.get(name, "TEXT")


def _names(option: Parameter) -> str:
    names = sorted((*option.opts, *option.secondary_opts), key=len, reverse=True)
    if "--help" in names or "--version" in names:
        names = names[::-1]
    return ", ".join(names) if option.is_flag else f"{names[0]} {metavar(option)}"


def _text(parameter: Parameter) -> str:
    """Return the help of a parameter, with its default."""
    text, default = parameter.help or "", parameter.default
    says = any(word in text for word in ("[default", "Default"))
    if default in (None, False, True) or callable(default) or says:
        return text
    return f"{text} [default: {default}]"


def _first_sentence(text: str | None) -> str:
    plain = " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())
    return plain.rstrip(".")


def _print_usage(console: "Console", words: Iterable[str]) -> None:
    from rich.text import Text

    console.print(
        Text(" Usage: ", style="bold").append(" ".join(words), style="default")
    )
    console.print()


def _print_text(console: "Console", text: str | None) -> None:
    from rich.padding import Padding

    for part in inspect.cleandoc(text or "").split("\n\n"):
        console.print(Padding(" ".join(part.split()), (0, 1, 1, 1)))


def _print_panel(
    console: "Console", title: str, lines: Sequence[tuple[str, str]]
) -> None:
    """Print names and what they mean, each in a column wide enough for its text."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    if not lines:
        return
    grid = Table.grid(padding=(0, 2))
    widths = [len(name) for name, _ in lines if len(name) <= _NAMES_WIDTH]
    grid.add_column(width=max(widths, default=_NAMES_WIDTH), no_wrap=True)
    grid.add_column(ratio=1)
    grid.expand = True
    for name, text in lines:
        first, *rest = _cells(name, text)
        grid.add_row(*first)
        for row in rest:
            grid.add_row(*row)
    console.print(
        Panel(grid, title=Text(title), title_align="left", border_style="dim")
    )


def _cells(name: str, text: str) -> "list[tuple[RenderableType, RenderableType]]":
    """Return the rows of a name and its text: what it takes goes below, if too long."""
    if len(name) <= _NAMES_WIDTH:
        return [(_styled(name), text)]
    option, _, value = name.partition(" ")
    return [(_styled(option), value), ("", text)]


def _styled(name: str) -> "Text":
    from rich.text import Text

    option, space, value = name.partition(" ")
    return Text(option, style="cyan").append(space + value, style="yellow")


def _print_examples(console: "Console", name: str) -> None:
    """Print commands to copy; they are not broken into lines."""
    examples = EXAMPLES.get(name, ())
    if not examples:
        return
    console.print(" Examples:", style="bold")
    for example in examples:
        console.print(f"   {example}", soft_wrap=True)
    console.print()
