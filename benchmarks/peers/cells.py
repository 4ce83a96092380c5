"""What a released cell says, whoever wrote it; needs the standard library only."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

MISSING = "\0missing"
"""A missing value, among the values of a category."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_ONE = re.compile(_NUMBER)
_DASHED = re.compile(rf"({_NUMBER})-({_NUMBER})")
_BRACKETED = re.compile(rf"\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*([\])])")


@dataclass(frozen=True, slots=True)
class Column:
    """What an adapter may know about a column to read its cells."""

    name: str
    is_number: bool
    values: frozenset[str] = frozenset()
    """Of a category: all values that there are."""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``, which belongs to it if ``closed``."""

    low: float
    high: float
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Mean:
    """A number that stands for a class, whose own range is what it says."""

    value: float


@dataclass(frozen=True, slots=True)
class Values:
    """One of these values; of ``MISSING`` alone: the cell is blank."""

    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Anything:
    """Nothing is said."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Nobody can tell what is said; ``text`` tells it from others."""

    text: str


Cell: TypeAlias = Range | Mean | Values | Anything | Unreadable
Read: TypeAlias = Callable[[str, Column], Cell]
BLANK = Values(frozenset({MISSING}))


def read_number(text: str, column: Column) -> Cell:
    """Read ``3``, ``3-5``, ``[3, 5]``, ``[3, 5)`` or ``*``."""
    if text == "*":
        return Anything()
    if _ONE.fullmatch(text):
        return Range(float(text), float(text))
    if found := _BRACKETED.fullmatch(text):
        return Range(float(found[1]), float(found[2]), found[3] == "]")
    if found := _DASHED.fullmatch(text):
        return Range(float(found[1]), float(found[2]))
    # Nothing but missing numbers: what their smallest and largest print as.
    blank = text.lower() in ("nan", "nan-nan", "none", "none-none")
    return BLANK if blank else Unreadable(f"{column.name}: {text}")


def read_value(text: str, column: Column) -> Cell:
    """Read one value, or ``*``."""
    if text in column.values:
        return Values(frozenset({text}))
    return Anything() if text == "*" else Unreadable(text)


def read_list(text: str, column: Column, missing: str) -> Cell:
    """Read ``A,B``; ``missing`` is how the tool spells a missing value.

    Commas are not quoted by those who write such lists: a value with a comma in it
    makes the list unreadable, unless it stands alone.
    """
    if text in column.values:
        return Values(frozenset({text}))
    return read_members(text.split(","), column, missing)


def read_members(members: Iterable[str], column: Column, missing: str) -> Cell:
    """Return the set of these values."""
    found = [MISSING if member == missing else member for member in members]
    if all(value == MISSING or value in column.values for value in found):
        return Values(frozenset(found))
    return Unreadable("\0".join(found))


def covers(cell: Cell, value: float | str | None) -> bool:
    """Tell whether the cell is true of a row that has this value; None: missing."""
    match cell:
        case Range(low, high, closed):
            if not isinstance(value, int | float) or math.isnan(value):
                return False
            return low <= value and (value <= high if closed else value < high)
        case Values(values):
            return (MISSING if value is None else value) in values
        case _:
            return True
