"""The compiler settings, chosen once."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba import types
from numba.core import config

P = ParamSpec("P")
R = TypeVar("R")

IS_PLAIN = bool(config.DISABLE_JIT)  # type: ignore[attr-defined]
"""Whether kernels run as plain Python (``NUMBA_DISABLE_JIT=1``)."""


@cache
def sources_digest() -> bytes:
    """Return a digest of every kernel's source."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


def entry_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that Python calls."""
    return _compiled(function, called_from_python=True)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that only kernels call.

    It has no wrapper for Python, which takes longer to compile than most kernels.
    """
    return _compiled(function, called_from_python=False)


def _compiled(function: Callable[P, R], *, called_from_python: bool) -> Callable[P, R]:
    """Compile without the GIL and without fast-math, so sums keep their order."""
    compiled = numba.njit(  # type: ignore[call-overload]
        nogil=True,
        cache=True,
        fastmath=False,
        error_model="numpy",
        no_cpython_wrapper=not called_from_python,
        no_cfunc_wrapper=True,
    )(function)
    if not IS_PLAIN:
        _stamp_with_all_sources(compiled)
        _compile_once(compiled)
    return cast("Callable[P, R]", compiled)


def _stamp_with_all_sources(compiled: Any) -> None:  # noqa: ANN401
    """Make the disk cache notice a change in any kernel.

    Numba stamps it with the caller's file alone and would keep a caller whose callee
    in another file has changed.
    """
    compiled._cache._cache_file._source_stamp = sources_digest()  # noqa: SLF001


def _compile_once(compiled: Any) -> None:  # noqa: ANN401
    """Compile one version per kernel instead of one per literal and integer width.

    Without it, calls between kernels made twice as many versions and compiled for
    twice as long.
    """
    find = compiled.get_call_template

    def get_call_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:  # noqa: ANN401
        return find(tuple(_widest(kind) for kind in args), kws)

    compiled.get_call_template = get_call_template


def _widest(kind: Any) -> Any:  # noqa: ANN401
    kind = types.unliteral(kind)  # type: ignore[no-untyped-call]
    return types.int64 if isinstance(kind, types.Integer) else kind
