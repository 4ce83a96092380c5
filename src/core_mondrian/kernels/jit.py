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
    return _compiled(function, no_cfunc_wrapper=True)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that only kernels call, into each of them.

    A call that hands over some twenty arrays costs .3 microseconds in copies and
    reference counts, more than most kernels take: inlined, Adult partitions three
    times as fast. The wrapper for Python is left out to compile sooner.
    """
    return _compiled(
        function, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
    )


def is_ready(compiled: Any) -> bool:  # noqa: ANN401
    """Tell whether a kernel needs no compiling: it is loaded, or on disk."""
    if IS_PLAIN or compiled.signatures:
        return True
    return bool(compiled._cache._cache_file._load_index())  # noqa: SLF001


def merged_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel as part of its only caller, not once more by itself."""
    return _compiled(function, inline="always")


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:  # noqa: ANN401
    """Compile without the GIL and without fast-math, so sums keep their order."""
    compiled = numba.njit(
        nogil=True, cache=True, fastmath=False, error_model="numpy", **options
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
