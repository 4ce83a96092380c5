"""What a database could not do, and why: in the same words for all, and no cell."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from core_mondrian.errors import DataError, MondrianError, OutputError, is_interrupt
from core_mondrian.sources import causes
from core_mondrian.sources.causes import Cause

if TYPE_CHECKING:
    from core_mondrian.sources.sql.base import Database

LOGIN: Final = causes.LOGIN.with_hint(
    "check user and password; PGPASSWORD or .pgpass may hold it"
)
NO_DATABASE: Final = Cause("there is no such database", "check its name")
NO_SCHEMA: Final = Cause(
    "there is no such schema",
    "make it first; names are taken as they are spelled, capital letters as well",
)
BUSY: Final = Cause(
    "another program is using it",
    "wait until it is done, or close it; DuckDB opens a file for one program at a time",
)
READ_ONLY: Final = Cause(
    "it is read-only",
    "the target is made in it: take one that you may write",
    OutputError,
)
RIGHTS: Final = Cause(
    "rights are missing",
    "the role needs the right to read the source, to create tables in the target's "
    "schema, and to make temporary ones",
)
EXISTS: Final = Cause("the target exists", "another run has made it in the meantime")
CONFLICT: Final = Cause("another transaction was in the way", "run it again")
DEPENDENTS: Final = Cause(
    "views or other objects depend on what would be replaced",
    "drop them first, or take another name",
)
DAMAGED: Final = Cause("the file is damaged", "restore it from a copy", DataError)

_HINTS: Final = {
    "open": "check the path or the address",
}
_HINT: Final = (
    "what the database said is not shown, as it may quote cells; run the source as a "
    "query in its own shell to see it"
)


def read_only(database: "Database") -> OutputError:
    """Return what to say of a database that lets itself be opened all the same."""
    text = f"{database.title} failed to open the database: {READ_ONLY.text}"
    return OutputError(text, hint=READ_ONLY.hint)


@contextmanager
def naming(
    database: "Database", what: str, kind: type[MondrianError] = DataError
) -> Iterator[None]:
    """Say of a failing database what it could not do and why, and no cell.

    Raises:
        MondrianError: of the ``kind`` given, unless the cause has one of its own.
    """
    try:
        yield
    except database.errors as error:
        if is_interrupt(error):
            raise
        state = getattr(error, "sqlstate", None)
        reason = type(error).__name__ + (f", SQLSTATE {state}" if state else "")
        cause = database.cause(error)
        text = f"{database.title} failed to {what}"
        hint = _HINTS.get(what.split(maxsplit=1)[0], _HINT)
        if cause is not None:
            text, hint, kind = f"{text}: {cause.text}", cause.hint, cause.kind or kind
        raise kind(f"{text} ({reason})", hint=hint) from None
