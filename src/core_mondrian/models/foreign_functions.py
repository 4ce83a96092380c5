"""A function in a user's file, as compiled code calls it.

With the extra `own-models` Numba compiles it to a C function, which is called without
the GIL; what Numba cannot compile, or where it is not installed, is called in Python.
"""

import ctypes
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType
from typing import Any, Final

import numpy as np

Function = Callable[..., Any]

_SCALARS: Final = {"int": ctypes.c_int64, "float": ctypes.c_double}
_ARRAYS: Final = {
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float64": ctypes.c_double,
}


@dataclass(frozen=True, slots=True)
class Prototype:
    """The arguments of a C function that returns a float.

    An argument is `int`, `float`, a letter for the length of arrays, or an array such
    as `int64[n]`; with `=` behind it the function writes into it.
    """

    arguments: tuple[str, ...]
    entry: Callable[[Any, Function], Function]
    """Makes the C function, given numba's ``carray`` and the function of arrays."""

    @property
    def c_types(self) -> list[Any]:
        """The arguments as ctypes names them."""
        return [
            ctypes.c_void_p if "[" in one else _SCALARS.get(one, ctypes.c_int64)
            for one in self.arguments
        ]

    def numba_types(self, types: Any) -> list[Any]:  # noqa: ANN401
        """Return the arguments as Numba names them."""
        return [
            types.CPointer(getattr(types, one.partition("[")[0]))
            if "[" in one
            else {"float": types.float64}.get(one, types.int64)
            for one in self.arguments
        ]

    def call(self, function: Function, given: tuple[Any, ...]) -> float:
        """Call a function of arrays with arrays of its own instead of addresses."""
        lengths = dict(zip(self.arguments, given, strict=True))
        arguments, written = [], []
        for argument, value in zip(self.arguments, given, strict=True):
            kind, _, rest = argument.partition("[")
            if rest:
                array = _array(value, lengths[rest[0]], _ARRAYS[kind])
                arguments.append(array.copy())
                if rest.endswith("="):
                    written.append((array, arguments[-1]))
            elif argument in _SCALARS:
                arguments.append(value)
        result = float(function(*arguments))
        for array, copied in written:
            array[:] = copied
        return result


def _array(address: int | None, n: int, kind: Any) -> Any:  # noqa: ANN401
    """Return ``n`` numbers in memory as an array."""
    if not n:
        return np.empty(0, dtype=kind)
    return np.ctypeslib.as_array((kind * n).from_address(address))


class PlainFunction:
    """A function in Python, which compiled code calls back."""

    def __init__(self, function: Function, prototype: Prototype, reason: str) -> None:
        self._function, self._prototype = function, prototype
        self.reason = reason
        """Why it is not compiled."""
        self.error: BaseException | None = None
        """The first error it raised; the engine saw NaN."""
        kind = ctypes.CFUNCTYPE(ctypes.c_double, *prototype.c_types)
        self._callback = kind(self._call_back)

    @property
    def address(self) -> int:
        """Where the C function is that calls it."""
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def __call__(self, *arguments: object) -> float:
        return self._guarded(lambda: float(self._function(*arguments)))

    def _call_back(self, *given: Any) -> float:  # noqa: ANN401
        return self._guarded(lambda: self._prototype.call(self._function, given))

    def _guarded(self, call: Callable[[], float]) -> float:
        """Return NaN instead of an error: nothing is thrown through compiled code."""
        try:
            return call()
        except BaseException as error:  # noqa: BLE001
            self.error = self.error or error
            return float("nan")

    def take_error(self) -> BaseException | None:
        """Return the first error, once; what ends the process is raised."""
        error, self.error = self.error, None
        if error is not None and not isinstance(error, Exception):
            raise error
        return error


class CompiledFunction:
    """A function that Numba has compiled; an error in it is NaN."""

    def __init__(self, function: Function, entry: Any) -> None:  # noqa: ANN401
        self.function = function
        self._entry = entry

    @property
    def address(self) -> int:
        """Where the C function is."""
        return int(self._entry.address)

    def __call__(self, *arguments: object) -> float:
        return float(self.function(*arguments))


def _with_helpers(
    function: Function,
    jit: Callable[[Function], Function],
    callers: tuple[Function, ...] = (),
) -> Function:
    """Compile a function, and the functions of its module that it calls."""
    if not isinstance(function, FunctionType):
        return jit(function)
    names: dict[str, Any] = dict(function.__globals__)
    for name in function.__code__.co_names:
        helper = names.get(name)
        is_own = getattr(helper, "__module__", None) == function.__module__
        is_new = helper is not function and helper not in callers
        if isinstance(helper, FunctionType) and is_own and is_new:
            names[name] = _with_helpers(helper, jit, (*callers, function))
    copied = FunctionType(
        code=function.__code__,
        globals=names,
        name=function.__name__,
        argdefs=function.__defaults__,
        closure=function.__closure__,
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    return jit(copied)


def foreign_function(
    function: Function,
    prototype: Prototype,
    wrap: Callable[[Function], Function] = lambda own: own,
) -> PlainFunction | CompiledFunction:
    """Return a user's function as compiled code calls it, compiled if possible.

    ``wrap`` turns it into a function of the prototype's arguments that returns a float.
    """
    try:
        numba: Any = import_module("numba")
        errors: Any = import_module("numba.core.errors")
    except ImportError:
        why = "pip install 'core-mondrian[own-models]' compiles it"
        return PlainFunction(wrap(function), prototype, why)
    signature = numba.types.float64(*prototype.numba_types(numba.types))
    # An index out of bounds would reach memory of the engine.
    options: dict[str, Any] = {"error_model": "numpy", "boundscheck": True}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.NumbaWarning)
            jit = numba.njit(**options)
            inner = jit(wrap(_with_helpers(function, jit)))
            entry = prototype.entry(numba.carray, inner)
            return CompiledFunction(inner, numba.cfunc(signature, **options)(entry))
    except Exception:  # noqa: BLE001  # not all that it raises has one base
        why = "Numba compiles loops over numbers and arrays"
        return PlainFunction(wrap(function), prototype, why)
