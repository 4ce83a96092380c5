"""Plain values of options, read without Pydantic.

Newer versions of typer hand every value to Pydantic, which takes .09 s to load. Most
values are texts, paths and whole numbers that need none of it; all others, and all that
might be refused, still go there.
"""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from typer.core import TyperCommand

Context: TypeAlias = Any
Parameter: TypeAlias = Any
Group: TypeAlias = Any
"""Classes of typer's own, which differ from version to version."""
_DIGITS: Final = 15
_UNREAD: Final = object()
"""For values that are left to typer."""


class Command(TyperCommand):
    """A command whose plain values are read here, and whose help has panels."""

    def format_help(self, ctx: Context, formatter: object) -> None:  # noqa: ARG002
        from core_mondrian.cli.help_page import print_command

        print_command(self, ctx)

    def get_params(self, ctx: Context) -> list[Parameter]:
        return read_plainly(super().get_params(ctx))


def read_plainly(parameters: list[Parameter]) -> list[Parameter]:
    """Return parameters of typer's, made to read their plain values themselves."""
    for parameter in parameters:
        usual = parameter.process_value
        is_done = isinstance(usual, functools.partial)
        if hasattr(parameter, "type_descriptor") and not is_done:
            parameter.process_value = functools.partial(_process, parameter, usual)
    return parameters


def _process(
    parameter: Parameter,
    usual: Callable[[Context, object], object],
    context: Context,
    value: object,
) -> object:
    """Return what a value means, in the ``usual`` way unless it is plain."""
    plain = _read(parameter, value)
    if plain is _UNREAD:
        return usual(context, value)
    if parameter.callback is not None:
        return parameter.callback(context, parameter, plain)
    return plain


def _read(parameter: Parameter, value: Any) -> object:  # noqa: ANN401
    is_many = parameter.multiple or parameter.nargs == -1
    if value is None:
        return _UNREAD if parameter.required else () if is_many else None
    descriptor = parameter.type_descriptor
    if value is parameter.default and type(value) is descriptor.annotation:
        return value
    if is_many:
        is_plain = descriptor.annotation == list[str] and value
        return list(value) if is_plain and all(map(_is_text, value)) else _UNREAD
    read = _READERS.get(descriptor.annotation)
    if read is None or not _is_text(value):
        return _UNREAD
    return read(value, descriptor.parameter_info)


def _is_text(value: object) -> bool:
    """Tell whether a value is a text, and not bytes that are none."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _path(value: str, asked: Parameter) -> object:
    """Return a path, unless it is to be more than one that can be read."""
    is_special = asked.exists or asked.writable or asked.resolve_path
    is_special |= asked.allow_dash or not (asked.file_okay and asked.dir_okay)
    path = Path(value)
    is_shut = path.exists() and not os.access(path, os.R_OK)
    return _UNREAD if is_special or asked.path_type or is_shut else path


def _whole(value: str, asked: Parameter) -> object:
    """Return a whole number of few digits that is within its bounds."""
    is_plain = value.isascii() and value.isdigit() and len(value) <= _DIGITS
    if not is_plain or asked.clamp:
        return _UNREAD
    number = int(value)
    is_low = asked.min is not None and number < asked.min
    is_high = asked.max is not None and number > asked.max
    return _UNREAD if is_low or is_high else number


_READERS: Final[dict[type, Callable[[str, Parameter], object]]] = {
    str: lambda value, _: value,
    Path: _path,
    int: _whole,
}
