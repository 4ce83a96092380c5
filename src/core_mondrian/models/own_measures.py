"""A user's own measure, as compiled code calls it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from core_mondrian.models.foreign_functions import (
    Function,
    PlainFunction,
    Prototype,
    foreign_function,
)
from core_mondrian.models.measures import Measure, foreign_measure


def _entry(carray: Any, measure: Function) -> Function:  # noqa: ANN401
    def entry(rows, counts, table, n, parameters, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        try:
            return measure(
                rows, carray(counts, n), carray(table, n), carray(parameters, m)
            )
        except Exception:  # noqa: BLE001
            return np.nan  # no limit admits it

    return entry


_MEASURE = Prototype(("int", "int64[n]", "int64[n]", "n", "float64[m]", "m"), _entry)


def _as_float(measure: Function) -> Function:
    def measured(rows, counts, table, parameters):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return float(measure(rows, counts, table, parameters))

    return measured


@cache
def measure_of(measure: Callable[..., float]) -> Measure:
    """Return a measure as the engine calls it: ours as it is, a user's compiled."""
    if isinstance(measure, Measure):
        return measure
    own = foreign_function(measure, _MEASURE, _as_float)
    python = measure if isinstance(own, PlainFunction) else own
    return foreign_measure(own.address, python, own)


def plain_measure(measure: Callable[..., float]) -> PlainFunction | None:
    """Return what calls a measure in Python, or None if it is compiled."""
    owner = getattr(measure_of(measure), "owner", None)
    return owner if isinstance(owner, PlainFunction) else None
