"""A user's own measure, as compiled code calls it.

With the extra `own-models` Numba compiles it to a C function, which is called without
the GIL; what Numba cannot compile, or where it is not installed, is called in Python.
"""

import ctypes
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from core_mondrian.models.measures import Measure, foreign_measure

_ARGUMENTS = (
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_int64,
)


class PlainMeasure:
    """A measure in Python, which compiled code calls back."""

    def __init__(self, measure: Callable[..., float], reason: str) -> None:
        self._measure = measure
        self.reason = reason
        """Why it is not compiled."""
        self.error: Exception | None = None
        """The first error it raised; the engine saw NaN, which no limit admits."""
        self.callback = ctypes.CFUNCTYPE(ctypes.c_double, *_ARGUMENTS)(self._call)

    @property
    def address(self) -> int:
        """Where the C function is that calls it."""
        return ctypes.cast(self.callback, ctypes.c_void_p).value or 0

    def _call(
        self, rows: int, counts: int, table: int, n: int, parameters: int, m: int
    ) -> float:
        try:
            return float(
                self._measure(
                    rows,
                    _array(counts, n, ctypes.c_int64),
                    _array(table, n, ctypes.c_int64),
                    _array(parameters, m, ctypes.c_double),
                )
            )
        except Exception as error:  # noqa: BLE001
            # Nothing may be thrown through compiled code.
            self.error = self.error or error
            return float("nan")


def _array(address: int | None, n: int, kind: Any) -> Any:  # noqa: ANN401
    """Return ``n`` numbers in memory as an array of its own."""
    if not n:
        return np.empty(0, dtype=kind)
    return np.ctypeslib.as_array((kind * n).from_address(address)).copy()


@cache
def measure_of(measure: Callable[..., float]) -> Measure:
    """Return a measure as the engine calls it: ours as it is, a user's compiled."""
    if isinstance(measure, Measure):
        return measure
    compiled = _with_numba(measure)
    if isinstance(compiled, PlainMeasure):
        return foreign_measure(compiled.address, measure, compiled)
    inner, entry = compiled
    return foreign_measure(entry.address, inner, entry)


def plain_measure(measure: Callable[..., float]) -> PlainMeasure | None:
    """Return what calls a measure in Python, or None if it is compiled."""
    owner = getattr(measure_of(measure), "owner", None)
    return owner if isinstance(owner, PlainMeasure) else None


def _with_numba(measure: Callable[..., float]) -> Any:  # noqa: ANN401
    """Compile a measure, and a C function that calls it."""
    try:
        numba: Any = import_module("numba")
        errors: Any = import_module("numba.core.errors")
    except ImportError:
        return PlainMeasure(
            measure, "pip install 'core-mondrian[own-models]' compiles it"
        )
    types = numba.types
    numbers, floats = types.CPointer(types.int64), types.CPointer(types.float64)
    arrays = (types.int64[::1], types.int64[::1], types.float64[::1])
    signature = types.float64(
        *(types.int64, numbers, numbers, types.int64, floats, types.int64)
    )
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.NumbaWarning)
            inner = numba.njit(types.float64(types.int64, *arrays), **options)(measure)

            def entry(rows, counts, table, n, parameters, m):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
                try:
                    return inner(
                        rows,
                        numba.carray(counts, n),
                        numba.carray(table, n),
                        numba.carray(parameters, m),
                    )
                except Exception:  # noqa: BLE001
                    return np.nan  # no limit admits it

            return inner, numba.cfunc(signature, **options)(entry)
    except errors.NumbaError:
        return PlainMeasure(measure, "Numba compiles loops over numbers and arrays")
