"""Lend arrays to kernels without counting references to them.

Numba counts references to every array of every argument at every call, atomically.
With some twenty arrays per call that cost more than the work itself: see
``borrowed`` for what is done instead.
"""

from typing import Any, TypeVar

from numba.extending import intrinsic

from core_mondrian.kernels.jit import IS_PLAIN, kernel
from core_mondrian.kernels.layout import Columns, Models, Tuples, Work

ArrayT = TypeVar("ArrayT")


@intrinsic
def _borrowed_compiled(typing_context: Any, array: Any) -> Any:  # noqa: ANN401, ARG001
    """Return the same array without an owner."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        make = context.make_array(signature.args[0])
        view = make(context, builder, value=arguments[0])
        view.meminfo = view.meminfo.type(None)
        view.parent = view.parent.type(None)
        return view._getvalue()  # noqa: SLF001

    return array(array), generate


def _borrowed_plain(array: ArrayT) -> ArrayT:
    return array


borrowed: Any = _borrowed_plain if IS_PLAIN else _borrowed_compiled
"""A view of an array that nobody counts references to.

Only for the time of a call from Python, which keeps the owner alive.
"""


@kernel
def borrow_tuples(tuples: Tuples) -> Tuples:
    """Return the same arrays, borrowed."""
    return Tuples(
        borrowed(tuples.records),
        borrowed(tuples.spare),
        borrowed(tuples.keys),
        borrowed(tuples.runs),
        borrowed(tuples.parts),
    )


@kernel
def borrow_columns(columns: Columns) -> Columns:
    """Return the same arrays, borrowed."""
    return Columns(
        borrowed(columns.info),
        borrowed(columns.values),
        borrowed(columns.domains),
        borrowed(columns.nodes),
    )


@kernel
def borrow_models(models: Models) -> Models:
    """Return the same arrays, borrowed."""
    return Models(
        models.min_rows,
        models.is_monotone,
        borrowed(models.rules),
        borrowed(models.parameters),
        borrowed(models.table_counts),
        borrowed(models.count_offset),
    )


@kernel
def borrow_work(work: Work) -> Work:
    """Return the same arrays, borrowed."""
    return Work(
        borrowed(work.box),
        borrowed(work.choices),
        borrowed(work.proposals),
        borrowed(work.chosen),
        borrowed(work.histogram),
        borrowed(work.side_counts),
        borrowed(work.pool_counts),
        borrowed(work.all_counts),
        borrowed(work.funnel),
    )
