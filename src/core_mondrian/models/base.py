"""What every privacy model is: a measure of a class, and limits to it."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from core_mondrian.errors import SpecError
from core_mondrian.runtime.array_types import Counts, Flags, Floats

Measure = Callable[[int, Counts, Counts, Floats], float]
"""``measure(rows, counts, table, parameters)``: one number for a class.

``counts`` counts the rows of the class by sensitive value, ``table`` those of the whole
table the same way; a value that occurs nowhere in the table is not there (0 in both).
The last value is the missing one. Ours are compiled with the engine; one of your own is
plain Python, and loops over numbers and arrays are compiled where Numba is installed
(the extra `own-models`).
"""
MissingValues = Literal["value", "ignored"]

# Measures are rounded; a limit is one this share away from itself.
_ROUNDING = 1e-12
# Counts from which compiling a measure is quicker than to run it as it is written.
_MOST_IN_PYTHON = 1 << 17
# Classes with more values than this hardly ever have the same counts.
_FEW_VALUES = 64


class Limits(NamedTuple):
    """Between what the measure of every class has to lie."""

    at_least: float = -math.inf
    at_most: float = math.inf
    below: float = math.inf

    @property
    def edges(self) -> tuple[float, float]:
        """The lowest and highest measure that passes, rounding allowed for."""
        low = self.at_least - _ROUNDING * abs(self.at_least)
        high = self.at_most + _ROUNDING * abs(self.at_most)
        if math.isfinite(self.below):
            high = min(high, self.below - _ROUNDING * abs(self.below))
        return low, high


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """All classes of a table as a model sees them."""

    rows: Counts
    """Rows of each class."""
    by_value: Counts
    """Rows of each class (axis 0) with each sensitive value (axis 1), missing last."""
    labels: Sequence[object] = ()
    """What the values of axis 1 are, without the missing one."""
    persons: Counts | None = None
    """Persons in each class, where the spec names a unit."""
    whole: Counts | None = None
    """Rows of the whole table by value, if these are not all its classes."""

    @property
    def sizes(self) -> Counts:
        """How many each class hides a person among: persons if known, else rows."""
        return self.rows if self.persons is None else self.persons

    @property
    def table(self) -> Counts:
        """Rows of the whole table with each sensitive value."""
        if self.whole is not None:
            return self.whole
        totals: Counts = self.by_value.sum(axis=0)
        return totals


class PrivacyModel:
    """May this class be released? A frozen value that sees counts, never rows.

    A model of your own is a frozen dataclass that inherits from this one, with a
    ``measure`` and its ``limits()``; a field ``sensitive`` names the column whose
    values are counted. What is not overridden has the meaning given here.
    """

    __slots__ = ()

    measure: ClassVar[Callable[..., float] | None] = None
    """What is measured of each class; None: its size is all that counts."""
    is_monotone: ClassVar[bool] = False
    """Whether a class that fails has no part that passes; the engine prunes by it."""

    @property
    def name(self) -> str:
        """What reports call it."""
        parameters = [
            f"{item.name} {getattr(self, item.name)}"
            for item in dataclasses.fields(self)  # type: ignore[arg-type]
            if item.name not in ("sensitive", "missing")
        ]
        of = "" if self.column is None else f" of {self.column}"
        return f"{type(self).__name__} {', '.join(parameters)}".rstrip() + of

    @property
    def title(self) -> str:
        """The name, and what makes it weaker than it sounds."""
        return f"{self.name}, missing ignored" if self.skips_missing else self.name

    @property
    def column(self) -> str | None:
        """The column whose values are counted, if any."""
        return getattr(self, "sensitive", None)

    @property
    def skips_missing(self) -> bool:
        """Whether rows without a sensitive value are left out of all counts."""
        return getattr(self, "missing", "value") == "ignored"

    @property
    def min_rows(self) -> int:
        """Rows (persons) below which no class can pass; none smaller is proposed.

        Persons where the spec names a unit, so that the values of one person do not
        stand for those of several.
        """
        return 1

    @property
    def enough_rows(self) -> int | None:
        """Rows (persons) per class with which the table passes, if there is such."""
        return None

    @property
    def parameters(self) -> tuple[float, ...]:
        """The measure's last argument: all fields that are numbers, in order."""
        values = [getattr(self, f.name) for f in dataclasses.fields(self)]  # type: ignore[arg-type]
        return tuple(float(v) for v in values if isinstance(v, int | float))

    def limits(self) -> Limits:
        """Return the limits of the measure."""
        return Limits()

    @property
    def limits_anything(self) -> bool:
        """Whether there may be a class that fails; a model that has none is refused."""
        own = ("passes", "enough_rows")
        decides = any(
            getattr(type(self), x) is not getattr(PrivacyModel, x) for x in own
        )
        return decides or self.min_rows > 1 or any(map(math.isfinite, self.limits()))

    def bind(self, labels: Sequence[object]) -> Sequence[float]:
        """Return the measure's last argument for a column with these values.

        ``labels`` are its values, rising; the missing one comes after them.
        """
        del labels
        return self.parameters

    def measured(self, classes: ClassCounts) -> Floats:
        """Return the measure of each class; NaN if it has no value."""
        measure = type(self).measure
        if measure is None:
            return np.zeros(classes.rows.size)
        if classes.by_value.size > _MOST_IN_PYTHON:
            measure = _compiled(measure)
        # Many classes have the same counts, and a call in Python is slow.
        counts, where = _distinct(classes.by_value)
        parameters = np.array(self.bind(classes.labels), dtype=np.float64)
        table = classes.table
        rows = counts.sum(axis=1) if counts.shape[1] else classes.rows
        if self.skips_missing:
            counts, table, rows = counts[:, :-1], table[:-1], rows - counts[:, -1]
        by_counts = np.full(rows.size, np.nan)
        for i, n in enumerate(rows.tolist()):
            if n:
                values = np.ascontiguousarray(counts[i])
                by_counts[i] = self._ask(measure, n, values, table, parameters)
        return by_counts[where]

    def _ask(self, measure: Callable[..., float], *arguments: object) -> float:
        try:
            return float(measure(*arguments))
        except Exception as error:
            raise measure_fault(self, error) from error

    def passes(self, classes: ClassCounts) -> Flags:
        """Return, class by class, which may be released."""
        large: Flags = np.asarray(classes.sizes >= self.min_rows)
        if type(self).measure is None:
            return large
        low, high = self.limits().edges
        measured = self.measured(classes)
        passes = (measured >= low) & (measured <= high)
        if self.skips_missing:
            passes |= classes.rows == classes.by_value[:, -1]  # nothing to disclose
        return large & passes

    def reached(self, classes: ClassCounts) -> float:
        """Return the strongest limit these classes satisfy; infinite if there is none.

        For a model without a measure, override it.
        """
        measured = self.measured(classes)
        measured = measured[~np.isnan(measured)]
        wants_much = self.limits().at_least > -math.inf
        if not measured.size:
            return math.inf if wants_much else -math.inf
        return float(measured.min() if wants_much else measured.max())

    def nearest(self, classes: ClassCounts) -> tuple[str, float] | None:
        """Return the field to change, and the value these classes would satisfy.

        That is a field which is a limit; None if no allowed value of one is enough.
        """
        for wanted, offers in self._offers(classes):
            for item in dataclasses.fields(self):  # type: ignore[arg-type]
                value = getattr(self, item.name)
                if type(value) not in (int, float) or float(value) != wanted:
                    continue
                for offer in offers:
                    is_whole = type(value) is int and offer.is_integer()
                    changed = self._with(item.name, int(offer) if is_whole else offer)
                    if changed is not None and changed.holds(classes):
                        return item.name, offer
        return None

    def _offers(self, classes: ClassCounts) -> list[tuple[float, tuple[float, ...]]]:
        """Return limits, each with what these classes could be asked for instead."""
        limits, reached = self.limits(), self.reached(classes)
        sizes = (float(self.min_rows), (float(classes.sizes.min()),))
        if not math.isfinite(reached):
            return [sizes]
        offers = _rounded(reached, limits)
        return [*((x, offers) for x in limits if math.isfinite(x)), sizes]

    def _with(self, field: str, value: float) -> "PrivacyModel | None":
        try:
            return dataclasses.replace(self, **{field: value})  # type: ignore[type-var]
        except (TypeError, ValueError):  # a SpecError is one
            return None

    def holds(self, classes: ClassCounts) -> bool:
        """Return whether the table as a whole passes."""
        if not self.passes(classes).all():
            return False
        low, high = self.limits().edges
        value = self.reached(classes)
        return not math.isfinite(value) or low <= value <= high


def _rounded(reached: float, limits: Limits) -> tuple[float, float]:
    """Return limits that ``reached`` meets: a whole number, and one of few digits."""
    if limits.at_least > -math.inf:
        return float(math.floor(reached)), math.floor(reached * 1e4) / 1e4
    margin = 1.0 if math.isfinite(limits.below) else 0.0
    return (
        (math.ceil(reached * 1e4) + margin) / 1e4,
        float(math.ceil(reached + margin)),
    )


def _compiled(measure: Callable[..., float]) -> Callable[..., float]:
    """Return a measure as machine code, or as it is if that cannot be had."""
    from core_mondrian.models.own_measures import measure_of

    return measure_of(measure)


def _distinct(rows: Counts) -> tuple[Counts, Counts]:
    """Return the distinct rows of a matrix, and which of them each row is."""
    if rows.shape[0] < 2 or not 0 < rows.shape[1] <= _FEW_VALUES:
        return rows, np.arange(rows.shape[0])
    width = rows.itemsize * rows.shape[1]
    packed = np.ascontiguousarray(rows).view(f"V{width}").ravel()
    _, first, where = np.unique(packed, return_index=True, return_inverse=True)
    return rows[first], where


def measure_fault(model: PrivacyModel, error: Exception) -> SpecError:
    """Return the error about a measure that fails, without its own message."""
    return SpecError(
        f"the measure of {type(model).__name__} raised a {type(error).__name__}",
        hint="call it with counts of your own to see why",
    )
