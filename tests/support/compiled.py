"""Call functions of compiled modules that only C can call, and look into their objects.

Cython exports each function that a .pxd declares as a pointer with its C signature, and
the .pxd says what an object holds and in which order. So tests reach the machine code
that runs in releases, not only the Python it is made from. Uncompiled, functions and
attributes are what they are in Python, and the same test runs on these.
"""

import ctypes as c
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from support.plain_engine import IS_PLAIN

PACKAGE = Path(__file__).parents[2] / "src" / "core_mondrian"
_MOST_AXES = 8
_NUMBERS = {
    "short": (c.c_short, np.int16),
    "int": (c.c_int, np.int32),
    "bint": (c.c_int, np.int32),
    "Py_ssize_t": (c.c_ssize_t, np.int64),
    "double": (c.c_double, np.float64),
    "long long": (c.c_longlong, np.int64),
    "PY_LONG_LONG": (c.c_longlong, np.int64),
    "unsigned char": (c.c_ubyte, np.uint8),
    "unsigned long long": (c.c_ulonglong, np.uint64),
    "unsigned PY_LONG_LONG": (c.c_ulonglong, np.uint64),
}


class _Slice(c.Structure):
    """A typed memoryview, as Cython passes it on."""

    _fields_ = [
        ("memview", c.c_void_p),
        ("data", c.c_void_p),
        *((name, c.c_ssize_t * _MOST_AXES) for name in ("shape", "strides", "sub")),
    ]

    def array(self, kind: np.dtype[Any], n_axes: int) -> NDArray[Any]:
        """Return the array it shows, not a copy."""
        shape, strides = self.shape[:n_axes], self.strides[:n_axes]
        n_bytes = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if not self.data or 0 in shape:
            return np.empty(shape, kind)
        raw = (c.c_char * (n_bytes + kind.itemsize)).from_address(self.data)
        return np.ndarray(tuple(shape), kind, raw, strides=tuple(strides))


class _Pair(c.Structure):
    """Two numbers that a function returns."""


def _sliced(array: NDArray[Any]) -> _Slice:
    """Return an array as a memoryview of nobody: None has no buffer to let go of."""
    rest = [-1] * _MOST_AXES
    axes = [(c.c_ssize_t * _MOST_AXES)(*x) for x in (array.shape, array.strides, rest)]
    return _Slice(id(None), array.ctypes.data, *axes)


# Functions


def compiled(name: str) -> Any:
    """Return a module with all its functions, those that only C can call as well."""
    module = import_module(f"core_mondrian.{name}")
    return module if IS_PLAIN else _Functions(module)


class _Functions:
    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._module, name):
            return getattr(self._module, name)
        return _function(self._module.__pyx_capi__[name])


def _function(capsule: Any) -> Callable[..., Any]:
    """Return a Python function that calls a C function, by what its signature says."""
    name_of = c.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = c.c_char_p, [c.py_object]
    pointer_of = c.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    signature = name_of(capsule)
    found = re.fullmatch(r"(.*?) ?\((.*)\)", signature.decode())
    assert found is not None, signature
    kinds = [_argument(text) for text in found[2].split(", ")]
    kind = c.PYFUNCTYPE(_result(found[1]), *(ctype for ctype, _ in kinds))
    function = kind(pointer_of(capsule, signature))

    def call(*arguments: Any) -> Any:
        pairs = zip(kinds, arguments, strict=True)
        result = function(*(convert(given) for (_, convert), given in pairs))
        return (result.first, result.second) if isinstance(result, _Pair) else result

    return call


def _result(text: str) -> Any:
    if text == "void":
        return None
    if "ctuple" not in text:
        return _NUMBERS[text][0]
    kinds = text.removeprefix("__pyx_ctuple_").replace("__space_", " ").split("__and_")
    names = zip(("first", "second"), (_NUMBERS[kind][0] for kind in kinds), strict=True)
    return type("Pair", (_Pair,), {"_fields_": [*names]})


def _argument(text: str) -> tuple[Any, Callable[[Any], Any]]:
    """Return the C type of an argument, and what makes it of a Python value."""
    if text == "__Pyx_memviewslice":
        return _Slice, _sliced
    if "__pyx_obj_" in text:
        return c.py_object, lambda x: x
    if text.endswith("*"):
        return c.c_void_p, lambda array: array.ctypes.data
    ctype = _NUMBERS[text][0]
    return ctype, (float if ctype is c.c_double else int)


# Objects


def inside(thing: Any) -> Any:
    """Return an object's attributes, those that only C can see as well."""
    return thing if IS_PLAIN else _Attributes(thing)


class _Attributes:
    """The attributes of an object of a compiled class, to read and to set.

    Arrays that are set have to live as long as they are used: keep them.
    """

    def __init__(self, thing: Any) -> None:
        held = _struct_of(type(thing))
        vars(self).update(thing=thing, place=held.from_address(id(thing)))

    def __getattr__(self, name: str) -> Any:
        kind, ctype = _attributes_of(type(self.thing))[name]
        value = getattr(self.place, name)
        if ctype is _Slice:
            return value.array(_dtype(kind), kind.count(",") + 1)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        sliced = _attributes_of(type(self.thing))[name][1] is _Slice
        setattr(self.place, name, _sliced(value) if sliced else value)


@cache
def _struct_of(kind: type) -> type[c.Structure]:
    fields = [(name, ctype) for name, (_, ctype) in _attributes_of(kind).items()]
    head = [("head", c.c_ubyte * object.__basicsize__)]
    found = type(kind.__name__, (c.Structure,), {"_fields_": [*head, *fields]})
    # As C has it, or nothing in it would be where it is looked for.
    assert c.sizeof(found) == kind.__basicsize__, kind
    return found


@cache
def _attributes_of(kind: type) -> dict[str, tuple[str, Any]]:
    """Return the declared and the C type of each attribute, in their order."""
    parts = kind.__module__.split(".")[1:]
    text = PACKAGE.joinpath(*parts).with_suffix(".pxd").read_text("utf-8")
    body = re.search(rf"^cdef class {kind.__name__}:\n((?: .*\n|\n)+)", text, re.M)
    assert body is not None, kind
    lines = re.findall(
        r"^    cdef (?:readonly )?(.+?) ?(\w+)(\[\w+\])?$", body[1], re.M
    )
    return {name: (what, _held(what, much)) for what, name, much in lines}


def _held(kind: str, much: str) -> Any:
    kind = kind.removeprefix("const ")
    if "[" in kind:
        return _Slice
    if kind in _NUMBERS:
        return _NUMBERS[kind][0]
    # Functions and addresses are as long as references are.
    what = c.py_object if kind in _HELD and not much else c.c_void_p
    return what * _length_of(much) if much else what


def _length_of(much: str) -> int:
    """Return how many there are of an attribute declared as ``name[MUCH]``."""
    text = (PACKAGE / "engine" / "model_rules.pxd").read_text("utf-8")
    found = re.search(rf"{much.strip('[]')} = (\d+)", text)
    assert found is not None, much
    return int(found[1])


_HELD = {
    *("object", "ColumnViews", "Rules", "SetCounts", "Strategy", "ObjectiveViews"),
    *("RecordBuffers", "SearchWorkspace", "Sketch", "TupleTree"),
}


def _dtype(kind: str) -> np.dtype[Any]:
    name = kind.removeprefix("const ").partition("[")[0]
    if name in _NUMBERS:
        return np.dtype(_NUMBERS[name][1])
    constant = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
    found: np.dtype[Any] = getattr(layout, constant)
    return found
