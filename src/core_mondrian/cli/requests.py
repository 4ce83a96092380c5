"""Requests: what a command is asked, as one frozen value of groups of options."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import MISSING, fields
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

R = TypeVar("R")


def command(
    request: type[R],
) -> Callable[[Callable[[R], None]], Callable[..., None]]:
    """Turn a function of a request into a command with the options of its groups.

    Typer reads signatures, so the command gets one: a parameter for every field, in
    the panel of its group.
    """

    def extend(function: Callable[[R], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(**values: Any) -> None:  # noqa: ANN401  # as typer reads them
            function(build(request, values))

        parameters = list(parameters_of(request))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return extend


def parameters_of(group: Any) -> Iterator[inspect.Parameter]:  # noqa: ANN401  # a class
    """Yield a parameter for every option of a group, and of the groups in it.

    A group is a dataclass, or says itself what its parameters are.
    """
    if hasattr(group, "parameters"):
        yield from group.parameters()
        return
    hints = get_type_hints(group, include_extras=True)
    for item in fields(group):
        hint = hints[item.name]
        if get_origin(hint) is Annotated:
            default = inspect.Parameter.empty
            if item.default is not MISSING:
                default = item.default
            panel = getattr(group, "PANEL", None)
            yield parameter(item.name, get_args(hint), default, panel)
        else:
            yield from parameters_of(hint)


def parameter(
    name: str,
    annotated: tuple[Any, Any],
    default: Any,  # noqa: ANN401
    panel: str | None = None,
) -> inspect.Parameter:
    """Return one of typer's parameters, of its type and its option.

    It stands in ``panel``, unless it says another.
    """
    kind, info = annotated
    if info.rich_help_panel is None and isinstance(info, OptionInfo):
        info = copy(info)
        info.rich_help_panel = panel
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


def build(group: type[R], values: Mapping[str, Any]) -> R:
    """Return a group of the values that typer read, by the names of its parameters."""
    read: Callable[[Mapping[str, Any]], R] | None = getattr(group, "read", None)
    if read is not None:
        return read(values)
    hints = get_type_hints(group, include_extras=True)
    return group(
        **{
            item.name: values[item.name]
            if get_origin(hints[item.name]) is Annotated
            else build(hints[item.name], values)
            for item in fields(group)  # type: ignore[arg-type]
        }
    )
