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

from core_mondrian.kernels.jit import IS_PLAIN


def address_of(compiled: Any, arguments: tuple[Any, ...]) -> int:  # noqa: ANN401
    """Return where the version of an entry kernel for such arguments is."""
    if IS_PLAIN:
        return id(compiled)
    signature = tuple(typeof(item) for item in arguments)  # type: ignore[no-untyped-call]
    compiled.compile(signature)
    result = compiled.overloads[signature]
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
        _, result = convention.call_function(
            builder, pointer, types.int64, kinds, unpacked
        )
        return result

    return types.int64(address, arguments), generate


call_for_int: Any = _call_plain if IS_PLAIN else _call_compiled
