"""Count what the privacy models look at, and ask them, through one fixed signature.

A measure's address travels as an integer, so kernels compiled once work with every
model, and a new model compiles alone.

Counts of a set of records are one array: rows by sensitive value, column after column;
then the number of persons, how many of them are in no other set, and a clock; then the
rows of each person. Persons are many and classes few, so theirs are hardly ever set
back to 0: rows that were counted before the clock last moved are none.
"""

import ctypes
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError, NumbaWarning
from numba.extending import intrinsic

from core_mondrian.kernels.jit import IS_PLAIN, kernel
from core_mondrian.kernels.layout import Codes, Counts, Floats, Models

Measure = Callable[..., float]

SIGNATURE = types.float64(
    types.int64, types.int64[::1], types.int64[::1], types.float64[::1]
)
_PACKAGE = Path(__file__).parents[1]
# Persons, those in no other set, and the clock, before the rows of each person.
N_PERSON_COUNTS = 3
_ROWS = 0xFFFFFFFF
# The clock stands above the rows of a person, in the upper half of the same number.
_LAST_CLOCK = 0x7FFFFFFF


class PlainMeasure:
    """A measure that cannot be compiled, called from kernels in Python."""

    _KIND = ctypes.CFUNCTYPE(
        *(ctypes.c_double, ctypes.c_int64),
        *(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p),
        ctypes.c_int64,
    )

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.error: Exception | None = None
        """The first error it raised; kernels saw NaN, which no limit admits."""
        call = self._KIND(self._call)
        self._keep = call

        def through(rows, counts, table, parameters):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            return call(
                rows,
                counts.ctypes.data,
                counts.size,
                table.ctypes.data,
                parameters.ctypes.data,
                parameters.size,
            )

        self.compiled = numba.njit(SIGNATURE, nogil=True)(through)

    def _call(
        self, rows: int, counts: int, n: int, table: int, parameters: int, m: int
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
def compile_measure(measure: Measure) -> Any:  # noqa: ANN401
    """Compile ``measure`` to the fixed signature; Numba keeps those of ours on disk.

    A ``PlainMeasure`` is returned for what Numba cannot compile.
    """
    # Numba would keep it beside the user's file and run, unseen, what is found there.
    is_ours = Path(measure.__code__.co_filename).is_relative_to(_PACKAGE)
    compiler = numba.njit(
        SIGNATURE, nogil=True, cache=is_ours, fastmath=False, error_model="numpy"
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaWarning)
            return compiler(measure)
    except NumbaError:
        return PlainMeasure(measure)


def measure_address(measure: Measure) -> int:
    """Return what ``call_measure`` needs to find ``measure``, kept from now on."""
    compiled = compile_measure(measure)
    if IS_PLAIN:
        return id(compiled)
    if isinstance(compiled, PlainMeasure):
        compiled = compiled.compiled
    result = compiled.overloads[compiled.signatures[0]]
    name = result.fndesc.llvm_func_name
    return int(result.library.get_pointer_to_function(name))


def _call_plain(
    address: int, rows: int, counts: Counts, table: Counts, parameters: Floats
) -> float:
    """Call the measure whose ``id`` is ``address``; used with compilation off."""
    measure = ctypes.cast(int(address), ctypes.py_object).value
    return float(measure(rows, counts, table, parameters))


@intrinsic
def _call_compiled(
    typing_context: Any,  # noqa: ANN401, ARG001
    address: Any,  # noqa: ANN401, ARG001
    rows: Any,  # noqa: ANN401, ARG001
    counts: Any,  # noqa: ANN401, ARG001
    table: Any,  # noqa: ANN401, ARG001
    parameters: Any,  # noqa: ANN401, ARG001
) -> Any:  # noqa: ANN401
    """Call the compiled measure at ``address``; NaN if it raises an error."""
    signature = types.float64(types.int64, *SIGNATURE.args)

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:  # noqa: ANN401
        convention = context.call_conv
        function_type = convention.get_function_type(types.float64, SIGNATURE.args)
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        status, result = convention.call_function(
            builder, pointer, types.float64, SIGNATURE.args, arguments[1:]
        )
        nan = context.get_constant(types.float64, float("nan"))
        return builder.select(status.is_error, nan, result)

    return signature, generate


call_measure: Any = _call_plain if IS_PLAIN else _call_compiled


@kernel
def rules_admit(models: Models, rows: int, counts: Counts) -> bool:
    """Tell whether every model admits a class with these counts."""
    if models.present >= 0:
        rows = counts[models.present]  # the others are of the population only
    if rows < models.min_rows:
        return False
    if models.has_units and counts[models.n_counts] < models.min_rows:
        return False
    for i in range(models.rules.size):
        rule = models.rules[i]
        n = np.int64(rows)
        last = rule.last_count
        if rule.skips_missing:
            last -= 1
            n -= counts[last]
            if n == 0:
                continue  # nothing to disclose
        value = call_measure(
            rule.address,
            n,
            counts[rule.first_count : last],
            models.table_counts[rule.first_count : last],
            models.parameters[rule.first_parameter : rule.last_parameter],
        )
        if not (rule.least <= value <= rule.most):  # nor is NaN admitted
            return False
    return True


@kernel
def rows_of_person(models: Models, counts: Counts, person: int) -> int:
    """Return how many rows of a person are counted."""
    packed = counts[models.n_counts + N_PERSON_COUNTS + person]
    clock = counts[models.n_counts + 2]
    return packed & _ROWS if packed >> 32 == clock else np.int64(0)


@kernel
def change_counts(
    counts: Counts, models: Models, record: Codes, n_columns: int, rows: int
) -> None:
    """Count ``rows`` more rows (or fewer) of one record."""
    n_sensitive = models.count_offset.size - 1
    for column in range(n_sensitive):
        counts[models.count_offset[column] + record[n_columns + column]] += rows
    if models.has_units:
        person = record[n_columns + n_sensitive]
        before = rows_of_person(models, counts, person)
        after = before + rows
        counts[models.n_counts] += np.int64(before == 0) - np.int64(after == 0)
        clock = counts[models.n_counts + 2]
        counts[models.n_counts + N_PERSON_COUNTS + person] = (clock << 32) | after


@kernel
def add_record(counts: Counts, models: Models, record: Codes, n_columns: int) -> None:
    """Count all rows of one record."""
    change_counts(counts, models, record, n_columns, np.int64(record[record.size - 2]))


@kernel
def change_side(
    side: Counts,
    whole: Counts,
    models: Models,
    record: Codes,
    n_columns: int,
    rows: int,
) -> None:
    """Count ``rows`` more rows of a record (or fewer) on one side of ``whole``.

    Persons who are there with all their rows are counted as well.
    """
    change_counts(side, models, record, n_columns, rows)
    if models.has_units:
        person = record[n_columns + models.count_offset.size - 1]
        every = rows_of_person(models, whole, person)
        after = rows_of_person(models, side, person)
        is_whole = np.int64(after == every) - np.int64(after - rows == every)
        side[models.n_counts + 1] += is_whole


@kernel
def add_to_side(
    side: Counts, whole: Counts, models: Models, record: Codes, n_columns: int
) -> None:
    """Count all rows of a record on one side of ``whole``."""
    rows = np.int64(record[record.size - 2])
    change_side(side, whole, models, record, n_columns, rows)


@kernel
def admits_sides(
    models: Models, rows: int, taken: int, whole: Counts, side: Counts, rest: Counts
) -> bool:
    """Tell whether every model admits a side with ``taken`` rows, and the rest."""
    if not rules_admit(models, taken, side):
        return False
    count_rest(models, whole, side, rest)
    return rules_admit(models, rows - taken, rest)


@kernel
def count_rest(models: Models, whole: Counts, side: Counts, rest: Counts) -> None:
    """Fill what is in ``whole`` and not on the side; persons by number only."""
    for i in range(models.n_counts):
        rest[i] = whole[i] - side[i]
    if models.has_units:
        rest[models.n_counts] = whole[models.n_counts] - side[models.n_counts + 1]


@kernel
def clear(counts: Counts, models: Models) -> None:
    """Set every count to 0."""
    for i in range(models.n_counts):
        counts[i] = 0
    if models.has_units:
        counts[models.n_counts] = 0
        counts[models.n_counts + 1] = 0
        if counts[models.n_counts + 2] >= _LAST_CLOCK:
            for i in range(models.n_counts + 2, counts.size):
                counts[i] = 0
        counts[models.n_counts + 2] += 1
