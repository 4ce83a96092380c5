"""What is printed when a command line cannot be read: the cause, and what to write."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from core_mondrian.cli.examples import EXAMPLES
from core_mondrian.cli.parsing import Context, Parameter
from core_mondrian.cli.summary import echo

UsageError: TypeAlias = Any
"""What `is_usage_error` recognizes: classes of typer's own."""
_MEANT: Final = {
    "-k": "--k",
    "-q": "--qid",
    "-s": "--spec",
    "-f": "--overwrite",
    "--quasi-identifier": "--qid",
    "--quasi-identifiers": "--qid",
    "--columns": "--qid",
    "--column": "--qid",
    "--force": "--overwrite",
    "--seed": "--key-file",
    "--key": "--key-file",
    "--drop": "--identifier",
    "--remove": "--identifier",
    "--na": "--null",
    "--original": "--with",
    "--check": "--from",
    "--target": "--for",
}
"""Options of other programs, and what they are called here."""
_SHORT: Final = {
    "--l": "--model 'distinct-l-diversity l=2 sensitive=COLUMN'",
    "--t": "--model 't-closeness t=0.2 sensitive=COLUMN'",
    "--delimiter": "--csv 'delimiter=;'",
    "--sep": "--csv 'delimiter=;'",
    "--encoding": "--csv encoding=windows-1252",
}
"""Options that are written out here, and the one that they are part of."""
_EXTRA: Final = {
    "anonymize": "SOURCE and TARGET stand alone; repeat --qid for each column, and put "
    "values that hold spaces in quotes",
    "attack": "name the table that the release was made of: --with FILE",
    "verify": "the manifest beside a release is found; another one: --manifest FILE",
}
"""By command: where arguments that are too many belong."""


def is_usage_error(error: BaseException) -> bool:
    """Tell whether typer, or what it stands on, refused a command line."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def print_usage_error(error: UsageError) -> int:
    """Print what is wrong with a command line; return the exit code."""
    if type(error).__name__ != "NoArgsIsHelpError":  # which has printed the help
        context = getattr(error, "ctx", None)
        message, hint = _explain(error, context)
        way = "core-mondrian" if context is None else context.command_path
        echo(f"error: {message}")
        if hint:
            echo(f"hint: {hint}")
        echo(f"help: {way} -h")
    return int(error.exit_code)


def _explain(error: UsageError, context: Context) -> tuple[str, str]:
    """Return what is wrong, and what to write instead."""
    text = error.format_message().rstrip(".")
    message = text[:1].lower() + text[1:]
    # Pydantic's words.
    message = message.replace("Input should", "it should").partition(", unable")[0]
    command = "" if context is None else context.info_name or ""
    if type(error).__name__ == "NoSuchOption":
        name = str(error.option_name)
        return f"no such option: {name}", _hint_for(name, context)
    if type(error).__name__ == "MissingParameter" and error.param is not None:
        examples = EXAMPLES.get(command, ())
        hint = f"such as: {examples[0]}" if examples else ""
        return f"{_title(error.param)} is missing", hint
    if "unexpected extra argument" in text:
        return message.replace("(s)", ""), _EXTRA.get(command, "")
    cause, dot, meant = message.partition(". Did you mean ")
    return cause, f"did you mean {meant}" if dot else ""


def _hint_for(name: str, context: Context) -> str:
    """Return the option of a command that may have been meant."""
    known = list(_options(context))
    if name in ("-o", "--output", "--out") and "--output" not in known:
        return "the file to write is the second argument, without an option"
    if name == "--database":
        return "export the table first: COPY released TO 'released.parquet'"
    if name in _SHORT and _SHORT[name].partition(" ")[0] in known:
        return f"write {_SHORT[name]}"
    meant = _MEANT.get(name)
    close = (
        [meant] if meant in known else get_close_matches(name, known, n=1, cutoff=0.7)
    )
    return f"did you mean {close[0]}?" if close else ""


def _options(context: Context) -> Iterable[str]:
    for parameter in context.command.get_params(context):
        yield from (one for one in parameter.opts if one.startswith("-"))


def _title(parameter: Parameter) -> str:
    first = str(parameter.opts[0])
    if first.startswith("-"):
        return first
    return str(parameter.metavar or first.upper())
