"""The commands, and how their failures are told."""

import functools
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, Final, NoReturn, ParamSpec

import typer
from typer.core import TyperGroup
from typer.main import get_command

from core_mondrian import __version__
from core_mondrian.cli.parsing import Command, Context, Parameter, read_plainly
from core_mondrian.cli.process import leave, own_process
from core_mondrian.cli.standard_streams import (
    GuardedStream,
    guard_streams,
    open_closed_streams,
)
from core_mondrian.cli.summary import echo
from core_mondrian.errors import (
    MemoryLimitError,
    MondrianError,
    OutputError,
    is_interrupt,
    place_of,
    reason,
)

P = ParamSpec("P")
_COMMANDS: Final = {
    "anonymize": "anonymize:anonymize_file",
    "verify": "verify:verify_file",
    "series": "series:COMMANDS",
    "attack": "attack:attack_file",
    "minimality": "minimality:show_minimality",
    "sign": "sign:sign_file",
    "keygen": "sign:make_key_files",
    "explain": "explain:explain_file",
    "report": "report:report_file",
    "p-sensitize": "p_sensitize:p_sensitize_file",
    "advise": "advise:advise_file",
    "compare": "compare:compare_file",
    "inspect": "inspection:inspect_file",
    "hierarchy": "hierarchy:hierarchy_file",
    "init": "init:init_file",
    "schema": "init:show_schema",
    "studio": "studio:open_studio",
    "demo": "demo:show_demo",
}
"""The commands in the order of the help: module and function of each, or functions."""
_PUBLISHING: Final = ("anonymize", "p-sensitize", "series")
"""Commands that write a release, which lost output does not undo."""


_HELP: Final = {"help_option_names": ["-h", "--help"]}


class _Terminated(BaseException):
    """SIGTERM arrived."""

    arrived = False
    """Libraries that are called when it does raise an error of their own."""


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; leave with the exit code of errors.py, or 2 on misuse."""
    if arguments is not None:  # a test, or a program that has its own streams
        sys.exit(_run(arguments))
    open_closed_streams()
    own_process()
    output, _ = guard_streams()
    code = _run(None)
    output.flush()
    leave(code or _lost_code(output, sys.argv[1:]))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(arguments, prog_name="core-mondrian", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return _print_failure(KeyboardInterrupt())
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(done.code is not None)
    except Exception as error:
        from core_mondrian.cli.usage_errors import is_usage_error, print_usage_error

        if not is_usage_error(error):
            raise
        return print_usage_error(error)
    return code if isinstance(code, int) else 0


def _lost_code(output: GuardedStream, arguments: Sequence[str]) -> int:
    """Return the exit code of a command whose output did not arrive.

    Where a release was written, that is what counts.
    """
    if output.error is None:
        return 0
    if not output.has_left:
        echo(f"note: the standard output could not be written ({reason(output.error)})")
    if any(name in _PUBLISHING for name in arguments[:1]):
        return 0
    return 141 if output.has_left else OutputError.exit_code


def _guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Let ``command`` fail with a message and an exit code, never a traceback."""

    @functools.wraps(command)
    def guarded(*arguments: P.args, **options: P.kwargs) -> None:
        code = 0
        try:
            with _stoppable(), warnings.catch_warnings():
                warnings.showwarning = _warn  # type: ignore[assignment]
                command(*arguments, **options)
        except (Exception, KeyboardInterrupt, _Terminated) as error:  # noqa: BLE001
            code = _print_failure(error)
        if code:  # Raised above, the exit would hold the error, and that a cell.
            raise SystemExit(code)

    return guarded


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _Terminated.arrived = False
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    _Terminated.arrived = True
    raise _Terminated


def _print_failure(error: BaseException) -> int:
    """Say on stderr what went wrong, without a cell, and return the exit code."""
    if isinstance(error, MondrianError):
        return _print_error(error.exit_code, f"error: {error.message}", error.hint)
    if is_interrupt(error):
        code = 143 if _Terminated.arrived else 130
        return _print_error(code, "interrupted; nothing was written")
    if os.environ.get("CORE_MONDRIAN_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        return _print_error(
            MemoryLimitError.exit_code,
            "error: not enough memory; nothing was written",
            "--memory SIZE reads CSV and Parquet in batches",
        )
    return _print_error(
        70,
        f"internal error: {type(error).__name__} in {place_of(error)}",
        "this is a bug; please report it (CORE_MONDRIAN_DEBUG=1 shows more, "
        "possibly with values of the table)",
    )


def _warn(message: Warning | str, *_where: object) -> None:
    echo(f"note: {message}")


def _print_error(exit_code: int, message: str, hint: str | None = None) -> int:
    text = message if hint is None else f"{message}\nhint: {hint}"
    echo(text)
    return exit_code


def _show_version(asked: bool) -> None:  # noqa: FBT001  # typer calls it
    if asked:
        typer.echo(__version__)
        raise typer.Exit


class _Commands(TyperGroup):
    """The commands; each is loaded when it is called or described."""

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Any:  # noqa: ANN401
        # All of them for a name that is not there: one that is like it is suggested.
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:
            if name not in self.commands:
                self.commands[name] = _load(name)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Context, formatter: object) -> None:  # noqa: ARG002
        from core_mondrian.cli.help_page import print_commands

        print_commands(self, ctx)

    def get_params(self, ctx: Context) -> list[Parameter]:
        return read_plainly(super().get_params(ctx))


class _Parts(TyperGroup):
    """The parts of a command that has several."""

    def format_help(self, ctx: Context, formatter: object) -> None:  # noqa: ARG002
        from core_mondrian.cli.help_page import print_parts

        print_parts(self, ctx)


def _load(name: str) -> Any:  # noqa: ANN401  # a command of typer's
    module, _, function = _COMMANDS[name].partition(":")
    own = import_module(f"core_mondrian.cli.{module}")
    command_or_parts = getattr(own, function)
    if not isinstance(command_or_parts, dict):
        return get_command(stand_alone(command_or_parts, name))
    several = typer.Typer(
        cls=_Parts,
        context_settings=_HELP,
        name=name,
        help=own.__doc__,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for part, command in command_or_parts.items():
        several.command(part, cls=Command)(_guarded(command))
    return get_command(several)


def stand_alone(function: Callable[..., None], name: str) -> typer.Typer:
    """Return a function as a command that fails with a message and an exit code."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(
        name,
        cls=Command,
        context_settings=_HELP,
    )(_guarded(function))
    return alone


app = typer.Typer(
    cls=_Commands,
    context_settings=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def main(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_show_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Anonymize tables of personal data, and verify every release independently."""


if __name__ == "__main__":
    run()
