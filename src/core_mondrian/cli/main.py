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
from types import FrameType
from typing import Annotated, NoReturn, ParamSpec

import typer

from core_mondrian import __version__
from core_mondrian.cli.advise import advise_file
from core_mondrian.cli.anonymize import anonymize_file
from core_mondrian.cli.attack import attack_file
from core_mondrian.cli.compare import compare_file
from core_mondrian.cli.demo import show_demo
from core_mondrian.cli.experiments import run_experiments
from core_mondrian.cli.explain import explain_file
from core_mondrian.cli.hierarchy import hierarchy_file
from core_mondrian.cli.init import init_file, show_schema
from core_mondrian.cli.inspect import inspect_file
from core_mondrian.cli.minimality import show_minimality
from core_mondrian.cli.p_sensitize import p_sensitize_file
from core_mondrian.cli.sign import make_key_files, sign_file
from core_mondrian.cli.studio import open_studio
from core_mondrian.cli.summary import say
from core_mondrian.cli.verify import verify_file
from core_mondrian.errors import MemoryLimitError, MondrianError, is_cancelled, place_of

P = ParamSpec("P")


class _Terminated(BaseException):
    """SIGTERM arrived."""


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; leave with the exit code of errors.py, or 2 on misuse."""
    try:
        app(arguments, prog_name="core-mondrian")
    except KeyboardInterrupt:
        sys.exit(_tell(KeyboardInterrupt()))
    sys.exit(0)


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
            code = _tell(error)
        if code:  # Raised above, the exit would hold the error, and that a cell.
            raise SystemExit(code)

    return guarded


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise _Terminated


def _tell(error: BaseException) -> int:
    """Say on stderr what went wrong, without a cell, and return the exit code."""
    if isinstance(error, MondrianError):
        return _say(error.exit_code, f"error: {error.message}", error.hint)
    if isinstance(error, _Terminated):
        return _say(143, "interrupted; nothing was written")
    if isinstance(error, KeyboardInterrupt) or is_cancelled(error):
        return _say(130, "interrupted; nothing was written")
    if isinstance(error, BrokenPipeError):  # such as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    if os.environ.get("CORE_MONDRIAN_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, MemoryError):
        return _say(
            MemoryLimitError.exit_code,
            "error: not enough memory; nothing was written",
            "--memory SIZE reads CSV and Parquet in batches",
        )
    return _say(
        70,
        f"internal error: {type(error).__name__} in {place_of(error)}",
        "this is a bug; please report it (CORE_MONDRIAN_DEBUG=1 shows more, "
        "possibly with values of the table)",
    )


def _warn(message: Warning | str, *_where: object) -> None:
    say(f"note: {message}")


def _say(exit_code: int, message: str, hint: str | None = None) -> int:
    told = message if hint is None else f"{message}\nhint: {hint}"
    say(told)
    return exit_code


def _show_version(asked: bool) -> None:  # noqa: FBT001  # typer calls it
    if asked:
        typer.echo(__version__)
        raise typer.Exit


app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


@app.callback()
def main(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version and leave.",
        ),
    ] = False,
) -> None:
    """Tables with people in them go in; verified releases come out."""


app.command("anonymize")(_guarded(anonymize_file))
app.command("verify")(_guarded(verify_file))
app.command("attack")(_guarded(attack_file))
app.command("minimality")(_guarded(show_minimality))
app.command("sign")(_guarded(sign_file))
app.command("keygen")(_guarded(make_key_files))
app.command("explain")(_guarded(explain_file))
app.command("p-sensitize")(_guarded(p_sensitize_file))
app.command("advise")(_guarded(advise_file))
app.command("compare")(_guarded(compare_file))
app.command("inspect")(_guarded(inspect_file))
app.command("hierarchy")(_guarded(hierarchy_file))
app.command("init")(_guarded(init_file))
app.command("schema")(_guarded(show_schema))
app.command("studio")(_guarded(open_studio))
app.command("demo")(_guarded(show_demo))
app.command("experiments")(_guarded(run_experiments))

if __name__ == "__main__":
    run()
