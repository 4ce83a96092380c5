"""Checks of models' parameters: what was expected, what was found, what to do."""

import math
from typing import NamedTuple

from core_mondrian.errors import SpecError, quote_names
from core_mondrian.models.base import MissingValues
from core_mondrian.tables.readings import spell

# Rows are counted in whole numbers of 64 bits, their shares in those of 53.
_LARGEST = 1e15


class Interval(NamedTuple):
    """The numbers from ``low`` to ``high``; the ends belong to it if they say so."""

    low: float = 0.0
    high: float = _LARGEST
    has_low: bool = False
    has_high: bool = False

    def holds(self, value: float) -> bool:
        """Return whether ``value`` lies within; NaN and infinity lie in none."""
        is_high = value >= self.low if self.has_low else value > self.low
        is_low = value <= self.high if self.has_high else value < self.high
        return is_high and is_low

    def around(self, field: str) -> str:
        """Write the interval as a condition on ``field``."""
        left = f"{self.low:g} {'<=' if self.has_low else '<'} {field}"
        return f"{left} {'<=' if self.has_high else '<'} {self.high:g}"


ABOVE_0 = Interval()
ABOVE_1 = Interval(low=1.0)
BETWEEN_0_AND_1 = Interval(high=1.0)
SHARE = Interval(high=1.0, has_low=True, has_high=True)


def whole_number(
    model: str, field: str, value: object, least: int, hint: str | None = None
) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(
            f"{field} must be a whole number, got {type(value).__name__}",
            hint=f"such as {field} = {least}",
            key=(field,),
        )
    if value < least:
        raise SpecError(
            f"{model} needs {field} >= {least}, got {field}={value}",
            hint=hint,
            key=(field,),
        )
    if value > _LARGEST:
        raise SpecError(
            f"{model} needs {field} <= {_LARGEST:g}, which is much already",
            key=(field,),
        )


def number(
    model: str, field: str, value: object, allowed: Interval, hint: str | None = None
) -> None:
    """Refuse what is not a number within ``allowed``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SpecError(
            f"{field} must be a number, got {type(value).__name__}", key=(field,)
        )
    if not allowed.holds(value):
        raise SpecError(
            f"{model} needs {allowed.around(field)}, got {field}={value}",
            hint=hint,
            key=(field,),
        )
    if 0 < value < 1 / _LARGEST:
        raise SpecError(
            f"{model} needs a larger {field}, got {field}={value}", key=(field,)
        )


def choice(field: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        given = repr(value) if isinstance(value, str) else type(value).__name__
        raise SpecError(
            f"{field} must be one of {quote_names(allowed)}, got {given}", key=(field,)
        )


def sensitive_column(model: str, column: object, missing: MissingValues) -> None:
    """Refuse what does not name a column, and any other way to count missing values."""
    if not isinstance(column, str) or not column:
        given = "''" if isinstance(column, str) else type(column).__name__
        raise SpecError(
            f"{model} needs the name of a sensitive column, got {given}",
            hint="name one column; for several, give one model for each",
            key=("sensitive",),
        )
    choice("missing", missing, ("value", "ignored"))


def population_table(model: str, population: object) -> None:
    """Refuse what cannot be a table."""
    if population is None or isinstance(population, str | bytes | int | float):
        raise SpecError(
            f"{model} needs a population, got {type(population).__name__}",
            hint="a table with the same quasi-identifiers, one row a person",
        )


def fewest_rows(largest_share: float) -> int:
    """Return how few rows a class can have if one of them is at most this share."""
    return max(1, math.ceil(1.0 / largest_share))


def as_text(label: object) -> str:
    """Return the one spelling of a value, whether it is a text or of another type."""
    return spell(str(label))
