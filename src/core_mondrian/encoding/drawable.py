"""The values of a sensitive column, and those that may be put in their place."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

from core_mondrian.encoding.columns import rank_column
from core_mondrian.errors import SpecError
from core_mondrian.tables.arrow_types import holds_text

Probabilities: TypeAlias = Mapping[Any, float]
"""How likely each sensitive value is to be drawn; it is of any type."""
# In this order: a bool is an int to Python, and a datetime is a date.
_KINDS: Final[tuple[tuple[type, Callable[[Any], bool]], ...]] = (
    (bool, kinds.is_boolean),
    (int, lambda kind: kinds.is_integer(kind) or kinds.is_floating(kind)),
    (float, kinds.is_floating),
    (str, holds_text),
    (datetime, kinds.is_timestamp),
    (date, kinds.is_date),
    (time, kinds.is_time),
    (timedelta, kinds.is_duration),
    (Decimal, kinds.is_decimal),
)


@dataclass(frozen=True, slots=True)
class Drawable:
    """A column as ranks among its values and those that may be drawn, together."""

    codes: NDArray[np.int64]
    """By row: the rank of its value; missing is ``weights.size``."""
    weights: NDArray[np.float64]
    """By value, rising: how likely it is drawn, relative to the others."""
    places: NDArray[np.int64]
    """By value: where it stands in the column followed by ``new``."""
    new: pa.Array
    """Values that may be drawn and that no row has."""


def read_drawable(
    column: pa.ChunkedArray, name: str, probabilities: Probabilities | None
) -> Drawable:
    """Rank a column's values; without probabilities they are drawn as they occur.

    Raises:
        SpecError: probabilities name values of another type, or a value twice.
        DataError: the column has neither an order nor labels.
    """
    ranked = rank_column(column, name)
    codes, n_values = ranked.codes.astype(np.int64), len(ranked.values)
    row_of = np.zeros(n_values + 1, dtype=np.int64)
    row_of[codes] = np.arange(codes.size)  # any row that has the value
    if probabilities is None:
        counts = np.bincount(codes, minlength=n_values + 1).astype(np.float64)
        return Drawable(codes, counts[:-1], row_of[:-1], ranked.values[:0])
    given, chances = _given_values(probabilities, ranked.values.type, name)
    both = rank_column(pa.chunked_array([ranked.values, given]), name)
    rank_of, rank_given = both.codes[:n_values], both.codes[n_values:]
    if np.unique(rank_given).size < rank_given.size:
        raise SpecError(
            f"probabilities name a value of {name!r} twice",
            hint="give each value one probability",
        )
    weights = np.zeros(len(both.values))
    weights[rank_given] = chances
    is_new = ~np.isin(rank_given, rank_of)
    places = np.zeros(len(both.values), dtype=np.int64)
    places[rank_of] = row_of[:-1]
    places[rank_given[is_new]] = codes.size + np.arange(np.count_nonzero(is_new))
    codes = np.append(rank_of, len(both.values)).astype(np.int64)[codes]
    return Drawable(codes, weights, places, given.filter(pa.array(is_new)))


def _given_values(
    probabilities: Probabilities, kind: pa.DataType, name: str
) -> tuple[pa.Array, NDArray[np.float64]]:
    """Return the values with a probability above 0 as the column would hold them."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in probabilities]
    chances = np.array([float(chance) for chance in probabilities.values()])
    wrong = sum(not _fits(value, kind) for value in plain)
    try:
        values = pa.array([] if wrong else plain, type=kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        wrong = len(plain)  # Arrow says which one, but quotes it
    if wrong:
        raise SpecError(
            f"probabilities name up to {wrong} values that are not {kind}",
            hint=f"name values of the type column {name!r} has, and none missing",
        )
    return values.filter(pa.array(chances > 0)), chances[chances > 0]


def _fits(value: object, kind: pa.DataType) -> bool:
    """Return whether Arrow takes a value for what it is and not for something else."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    for python, is_kind in _KINDS:
        if isinstance(value, python):
            return bool(is_kind(kind))
    return False
