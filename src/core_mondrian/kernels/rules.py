"""Call privacy rules from kernels, through one fixed signature.

A rule's address travels as an integer, so kernels compiled once work with every model,
and a new model compiles alone.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from core_mondrian.kernels.jit import IS_PLAIN, kernel
from core_mondrian.kernels.layout import Codes, Counts, Floats, Models

Rule = Callable[..., bool]

SIGNATURE = types.boolean(
    types.int64, types.int64[::1], types.int64[::1], types.float64[::1]
)


@cache
def compile_rule(rule: Rule) -> Any:  # noqa: ANN401
    """Compile ``rule`` to the fixed signature; Numba keeps it on disk if it can."""
    # A rule typed at a prompt has no file, and so no place in the cache.
    has_file = Path(rule.__code__.co_filename).exists()
    return numba.njit(SIGNATURE, nogil=True, cache=has_file, fastmath=False)(rule)


def rule_address(rule: Rule) -> int:
    """Return what ``call_rule`` needs to find ``rule``, which is kept from now on."""
    compiled = compile_rule(rule)
    if IS_PLAIN:
        return id(compiled)
    result = compiled.overloads[compiled.signatures[0]]
    name = result.fndesc.llvm_func_name
    return int(result.library.get_pointer_to_function(name))


def _call_plain(
    address: int, rows: int, counts: Counts, table: Counts, parameters: Floats
) -> bool:
    """Call the rule whose ``id`` is ``address``; used with compilation off."""
    rule = ctypes.cast(int(address), ctypes.py_object).value
    return bool(rule(rows, counts, table, parameters))


@intrinsic
def _call_compiled(
    typing_context: Any,  # noqa: ANN401, ARG001
    address: Any,  # noqa: ANN401, ARG001
    rows: Any,  # noqa: ANN401, ARG001
    counts: Any,  # noqa: ANN401, ARG001
    table: Any,  # noqa: ANN401, ARG001
    parameters: Any,  # noqa: ANN401, ARG001
) -> Any:  # noqa: ANN401
    """Call the compiled rule at ``address``."""
    signature = types.boolean(types.int64, *SIGNATURE.args)

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:  # noqa: ANN401
        convention = context.call_conv
        function_type = convention.get_function_type(types.boolean, SIGNATURE.args)
        pointer = builder.inttoptr(arguments[0], function_type.as_pointer())
        _, result = convention.call_function(
            builder, pointer, types.boolean, SIGNATURE.args, arguments[1:]
        )
        return result

    return signature, generate


call_rule: Any = _call_plain if IS_PLAIN else _call_compiled


@kernel
def rules_admit(models: Models, rows: int, counts: Counts) -> bool:
    """Tell whether every rule admits a class; ``counts`` has all sensitive values."""
    if rows < models.min_rows:
        return False
    for i in range(models.rules.size):
        rule = models.rules[i]
        first = 0
        last = 0
        if rule.column >= 0:
            first = models.count_offset[rule.column]
            last = models.count_offset[rule.column + 1]
        if not call_rule(
            rule.address,
            np.int64(rows),
            counts[first:last],
            models.table_counts[first:last],
            models.parameters[rule.first_parameter : rule.last_parameter],
        ):
            return False
    return True


@kernel
def add_record(counts: Counts, models: Models, record: Codes, n_columns: int) -> None:
    """Add one record's rows to the counts of its sensitive values."""
    rows = record[record.size - 2]
    for column in range(models.count_offset.size - 1):
        counts[models.count_offset[column] + record[n_columns + column]] += rows


@kernel
def clear(counts: Counts) -> None:
    """Set every count to 0."""
    for i in range(counts.size):
        counts[i] = 0
