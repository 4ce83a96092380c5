"""The functions of a user's policy, as compiled code calls them (§3.4)."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from core_mondrian.errors import SlowModelWarning, SpecError
from core_mondrian.models.foreign_functions import (
    CompiledFunction,
    Function,
    PlainFunction,
    Prototype,
    foreign_function,
)
from core_mondrian.spec.policies import Policy, own_functions

Hook = PlainFunction | CompiledFunction

# ruff: noqa: ANN001, ANN202, BLE001
# mypy: disallow-untyped-defs=False
# The functions below are compiled together with the user's: types are found there.


def _partition_entry(carray: Any, hook: Function) -> Function:  # noqa: ANN401
    def entry(rows, number, low, high, rilm, rank, n, given, m):
        try:
            return hook(
                rows,
                number,
                carray(low, n),
                carray(high, n),
                carray(rilm, n),
                carray(rank, n),
                carray(given, m),
            )
        except Exception:
            return np.nan

    return entry


def _column_entry(carray: Any, hook: Function) -> Function:  # noqa: ANN401
    def entry(column, codes, rows, marks, n, values, n_values, given, m):
        try:
            return hook(
                column,
                carray(codes, n),
                carray(rows, n),
                carray(marks, n),
                carray(values, n_values),
                carray(given, m),
            )
        except Exception:
            return np.nan

    return entry


def _cut_entry(carray: Any, hook: Function) -> Function:  # noqa: ANN401
    def entry(column, rows, loss, budget, score, given, m):
        try:
            return hook(column, rows, loss, budget, score, carray(given, m))
        except Exception:
            return np.nan

    return entry


_GIVEN = ("float64[m]", "m")
_PARTITION = Prototype(
    (
        *("int", "int", "int32[n]", "int32[n]", "float64[n]", "float64[n]=", "n"),
        *_GIVEN,
    ),
    _partition_entry,
)
_COLUMN = Prototype(
    ("int", "int32[n]", "int64[n]", "int64[n]=", "n", "float64[v]", "v", *_GIVEN),
    _column_entry,
)
_CUT = Prototype(("int", "int", "int", "int", "float", *_GIVEN), _cut_entry)


def _cut_choices(own: Function) -> Function:
    def call(rows, number, low, high, rilm, rank, given):  # noqa: ARG001
        own(rows, low, high, rilm, rank, given)
        return 0.0

    return call


def _propose(own: Function) -> Function:
    def call(column, codes, rows, marks, values, given):
        own(column, codes, rows, values, marks, given)
        return 0.0

    return call


def _score(own: Function) -> Function:
    def call(column, codes, rows, marks, values, given):
        return float(own(column, codes, rows, values, marks, given))

    return call


def _accept(own: Function) -> Function:
    def call(column, rows, loss, budget, score, given):
        answer = own(column, rows, loss, budget, score, given)
        if answer != answer:  # noqa: PLR0124  # NaN is neither yes nor no
            return np.nan
        return 1.0 if answer else 0.0

    return call


def _release(own: Function) -> Function:
    def call(rows, number, low, high, rilm, rank, given):  # noqa: ARG001
        answer = own(rows, number, low, high, rilm, given)
        if answer != answer:  # noqa: PLR0124
            return np.nan
        return 1.0 if answer else 0.0

    return call


_KINDS: Final[dict[str, tuple[Prototype, Callable[[Function], Function]]]] = {
    "cut_choices": (_PARTITION, _cut_choices),
    "propose": (_COLUMN, _propose),
    "score": (_COLUMN, _score),
    "accept": (_CUT, _accept),
    "release": (_PARTITION, _release),
}


@cache
def _hook(name: str, function: Function) -> Hook:
    return foreign_function(function, *_KINDS[name])


def hooks_of(policy: Policy) -> dict[str, Hook]:
    """Return the functions that a user's policy replaces, by name."""
    return {name: _hook(name, own) for name, own in own_functions(policy).items()}


def compile_hooks(policy: Policy) -> None:
    """Compile a user's policy; say what of it is not compiled, and why."""
    for name, hook in hooks_of(policy).items():
        if isinstance(hook, PlainFunction):
            hook.error = None  # of an earlier run
            warnings.warn(
                f"{policy.name}.{name} is not compiled, so it will be slow; "
                f"{hook.reason}",
                SlowModelWarning,
                stacklevel=4,
            )


def raise_fault(work: Any) -> None:  # noqa: ANN401
    """Raise what is said of a user's policy that has failed, or returned NaN."""
    plain = {
        name: hook.take_error()
        for name, hook in work.strategy.hooks.items()
        if isinstance(hook, PlainFunction)
    }
    for name, error in plain.items():
        if error is not None:
            raise SpecError(
                f"the policy's {name} raised a {type(error).__name__}",
                hint="call it with codes and counts of your own to see why",
            )
    names = ", ".join(work.strategy.hooks)
    raise SpecError(
        f"the policy's own functions ({names}) failed or returned NaN",
        hint="call them with codes and counts of your own to see why",
    )
