"""Lend arrays to kernels without counting references to them.

Numba counts references to every array of every argument at every call, atomically.
With some twenty arrays per call that cost more than the work itself: see
``borrowed`` for what is done instead.
"""

from typing import Any, TypeVar

from numba.extending import intrinsic

from core_mondrian.kernels.jit import IS_PLAIN, kernel
from core_mondrian.kernels.layout import (
    Aims,
    Block,
    Columns,
    Finder,
    Models,
    Pool,
    Space,
    Tuples,
    Work,
)

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
        models.has_rules,
        models.has_units,
        models.present,
        models.n_counts,
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
        borrowed(work.apart),
        borrowed(work.funnel),
    )


@kernel
def borrow_space(space: Space) -> Space:
    """Return the same arrays, borrowed."""
    return Space(
        borrowed(space.records),
        borrowed(space.spare),
        borrowed(space.keys),
        borrowed(space.ranks),
        borrowed(space.groups),
        borrowed(space.ordered),
        borrowed(space.candidates),
        borrowed(space.codes),
        borrowed(space.worth),
    )


@kernel
def borrow_aims(aims: Aims) -> Aims:
    """Return the same arrays, borrowed."""
    return Aims(
        borrowed(aims.info),
        borrowed(aims.positions),
        borrowed(aims.levels),
        borrowed(aims.shares),
        borrowed(aims.nodes),
        borrowed(aims.worth),
    )


@kernel
def borrow_finder(finder: Finder) -> Finder:
    """Return the same arrays, borrowed."""
    return Finder(
        finder.find_cuts,
        finder.split,
        finder.find_place,
        finder.solve,
        finder.regroup,
        borrowed(finder.totals),
        borrowed(finder.active),
        borrowed(finder.found),
        borrowed(finder.histogram),
        borrowed(finder.joint),
        borrowed(finder.counts),
        borrowed(finder.side),
        borrowed(finder.all_counts),
        borrowed(finder.side_counts),
        borrowed(finder.rest_counts),
        borrowed(finder.apart),
        borrowed(finder.funnel),
    )


@kernel
def borrow_block(block: Block) -> Block:
    """Return the same arrays, borrowed."""
    return Block(
        borrow_space(block.main),
        borrow_space(block.trial),
        borrowed(block.out),
        borrowed(block.nodes),
        borrowed(block.stack),
        borrowed(block.plans),
        borrowed(block.before),
        borrowed(block.after),
        borrowed(block.room),
    )


@kernel
def borrow_pool(pool: Pool) -> Pool:
    """Return the same arrays, borrowed."""
    return Pool(
        borrowed(pool.records),
        borrowed(pool.next),
        borrowed(pool.classes),
        borrowed(pool.low),
        borrowed(pool.high),
        borrowed(pool.bits),
        borrowed(pool.near),
    )
