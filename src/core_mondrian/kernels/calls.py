"""Call a compiled kernel through its address.

What a kernel calls is compiled into it once more, and optimized again at every level.
A call by address keeps the largest kernel out of those that call it: the search
compiles in a third of the time.
"""

import ctypes
from typing import Any

from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic

from core_mondrian.errors import InternalError
from core_mondrian.kernels.jit import IS_PLAIN

_addresses: dict[int, int] = {}


def address_of(compiled: Any, arguments: tuple[Any, ...]) -> int:  # noqa: ANN401
    """Return where an entry kernel is; it is only ever called with such arguments.

    Finding out their types takes milliseconds, so that is done once.
    """
    if IS_PLAIN:
        return id(compiled)
    if id(compiled) not in _addresses:
        _addresses[id(compiled)] = _compile(compiled, arguments)
    return _addresses[id(compiled)]


def _compile(compiled: Any, arguments: tuple[Any, ...]) -> int:  # noqa: ANN401
    signature = tuple(typeof(item) for item in arguments)  # type: ignore[no-untyped-call]
    compiled.compile(signature)
    result = compiled.overloads[signature]
    if result.signature.return_type != types.int64:
        # The caller reads 64 bits, and a narrower result would leave half of them.
        raise InternalError(f"{compiled.__name__} has to return an int64")
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


def _call_plain(address: int, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Call the function whose ``id`` is ``address``; used with compilation off."""
    return ctypes.cast(int(address), ctypes.py_object).value(*arguments)


@intrinsic
def _call_compiled(typing_context: Any, address: Any, arguments: Any) -> Any:  # noqa: ANN401, ARG001
    """Call the compiled kernel at ``address``, which returns a whole number."""
    kinds = tuple(types.unliteral(kind) for kind in arguments.types)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:  # noqa: ANN401
        convention = context.call_conv
        function_type = convention.get_function_type(types.int64, kinds)
        pointer = builder.inttoptr(values[0], function_type.as_pointer())
        unpacked = cgutils.unpack_tuple(builder, values[1])  # type: ignore[no-untyped-call]
        status, result = convention.call_function(
            builder, pointer, types.int64, kinds, unpacked
        )
        with cgutils.if_unlikely(builder, status.is_error):  # type: ignore[no-untyped-call]
            convention.return_status_propagate(builder, status)
        return result

    return types.int64(address, arguments), generate


call_for_int: Any = _call_plain if IS_PLAIN else _call_compiled
