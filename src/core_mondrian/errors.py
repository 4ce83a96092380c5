"""Every error this package raises on purpose.

MondrianError
├── SpecError          exit 2   the request contradicts itself or does not fit the data
├── DataError          exit 3   a value or a file cannot be read or encoded as asked
├── InfeasibleError    exit 4   no release satisfies the models within the limits
├── PrivacyViolation   exit 5   a finished release failed verification; none is given
├── OutputError        exit 6   the release is sound but could not be written
├── MemoryLimitError   exit 7   the work does not fit into the memory it may use
└── InternalError      exit 70  one of our own invariants broke: a bug, please report it

A message says what was expected, what was found and where. It may hold column names,
counts, positions and types, never what an input cell contains.
"""

import functools
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar, Final, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

CHECK_PATH: Final = "check the path and its permissions"
"""What helps against most of what keeps a file from being read."""
_DATA_LIKE = re.compile(r"\s*[+-]?[\d.,:/eE-]*\d[\d.,:/eE-]*\s*")


def list_names(names: Iterable[object], among: Iterable[object] = ()) -> str:
    """Spell out column names, unless they look like the first row of a table.

    A CSV file without a header has cells for names, and those are not ours to print.
    ``among`` are all names of the table, if these are some of them.
    """
    texts = [str(name) for name in names]
    if look_like_cells([*texts, *map(str, among)]):
        return f"{len(texts)} columns; is the first line a header?"
    return quote_names(texts)


def quote_names(names: Iterable[object]) -> str:
    """Spell out names that a user wrote, whatever they look like."""
    return ", ".join(map(repr, names))


def look_like_cells(names: Iterable[str]) -> bool:
    """Tell whether a column name may be a cell, of a table without a header."""
    return any(_DATA_LIKE.fullmatch(name) for name in names)


def show_name(name: object, place: int) -> str:
    """Spell out one column name, or its place from 1 on if it looks like a cell."""
    text = str(name)
    return f"column {place}" if _DATA_LIKE.fullmatch(text) else repr(text)


def place_of(error: BaseException) -> str:
    """Return the innermost place in this package that ``error`` passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "core_mondrian" in frame.filename]
    if not ours:
        return "an unknown place"
    return f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}"


def reason(error: OSError) -> str:
    """Return what the system says went wrong, without a file's content."""
    return os.strerror(error.errno) if error.errno else type(error).__name__


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error is an interrupt, maybe one that Arrow or DuckDB took."""
    if not isinstance(error, Exception):
        return True
    is_duckdb = isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    return is_duckdb or type(error).__name__ in ("ArrowCancelled", "InterruptException")


class MondrianError(Exception):
    """Base of all errors; ``hint`` says what to do next."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class SpecError(MondrianError, ValueError):
    """The request contradicts itself or does not fit the data.

    ``key`` is the way to the spec's key it is about, such as ``("best", "effort")``.
    """

    exit_code = 2

    def __init__(
        self, message: str, *, hint: str | None = None, key: Iterable[str | int] = ()
    ) -> None:
        super().__init__(message, hint=hint)
        self.key = tuple(key)


class SlowModelWarning(UserWarning):
    """A privacy model of the user's cannot be compiled."""


class DataError(MondrianError, ValueError):
    """A value or a file cannot be read or encoded as asked."""

    exit_code = 3


def not_there(path: str | Path) -> DataError:
    """Return what is told of a file that is missing: is one like it beside it?"""
    path = Path(path)
    if path.is_dir():
        hint = "put CSV or Parquet files into it, or name one file"
        return DataError(f"{path}: a folder without a table", hint=hint)
    return DataError(f"{path}: no such file", hint=similar_file(path))


def similar_file(path: Path) -> str:
    """Return a hint for a file that is missing: one like it, if there is one."""
    try:
        names = [file.name for file in path.parent.iterdir()]
    except OSError:
        names = []
    close = get_close_matches(path.name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else CHECK_PATH


class InfeasibleError(MondrianError):
    """No release satisfies the models within the limits."""

    exit_code = 4


class PrivacyViolation(MondrianError):
    """A finished release failed verification, so none is given."""

    exit_code = 5


class OutputError(MondrianError):
    """The release is sound but could not be written."""

    exit_code = 6


class MemoryLimitError(MondrianError):
    """The work does not fit into the memory it may use."""

    exit_code = 7


class InternalError(MondrianError):
    """One of our own invariants broke."""

    exit_code = 70

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="this is a bug; please report it")


def drops_context(work: Callable[P, R]) -> Callable[P, R]:
    """Let no error of ours that leaves ``work`` hold the error it replaced.

    ``raise … from None`` only hides it: Arrow's message, which quotes a cell, stays in
    ``__context__`` for whoever logs or stores the error. What the caller was handling
    before the call is the caller's and stays.
    """

    @functools.wraps(work)
    def guarded(*arguments: P.args, **options: P.kwargs) -> R:
        before = sys.exception()
        try:
            return work(*arguments, **options)
        except MondrianError as error:
            if error.__cause__ is None and error is not before:
                error.__context__ = before
            raise

    return guarded


@contextmanager
def about(*key: str | int) -> Iterator[None]:
    """Say of errors below which table of the spec they are about."""
    try:
        yield
    except SpecError as error:
        error.key = (*key, *error.key)
        raise
