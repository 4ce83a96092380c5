"""What runs on the executors: our own code on Arrow tables.

Functions inside functions, because Spark counts the arguments of what it calls.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.engine.parts import Task
from core_mondrian.recoding.plan import Shares
from core_mondrian.recoding.recode import as_released
from core_mondrian.sources.part_tasks import Pieces, unpack
from core_mondrian.sources.spark.arrow import in_utc
from core_mondrian.sources.spark.packing import pack_value, unpack_value
from core_mondrian.sources.tuple_relation import as_records
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.frames import open_frame, row_keys
from core_mondrian.tables.pseudonyms import pseudonymize

Batches: TypeAlias = Iterator[pa.RecordBatch]
PART: Final = "part"
_SHARES: Final = ("tuple", "leaf", "rows", "piece", "content")


def packing(names: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return what makes the arrays of a part of its tuples; see `hand_out`."""

    def pack(tuples: pa.Table) -> pa.Table:
        records = as_records(tuples, names)
        own = np.ascontiguousarray(records[:, :-1])
        arrays = {"records": own, "node": records[:, -1].copy()}
        return _row(tuples[PART][0].as_py(), arrays, None)

    return pack


def doing(task: Task[Any]) -> Callable[[Batches], Batches]:
    """Return what does a task with every part."""

    def do(batches: Batches) -> Batches:
        for number, arrays in _parts(batches):
            kept, summary = task(number, arrays)
            yield from _row(number, kept, summary).to_batches()

    return do


def _row(number: int, arrays: Any, summary: Any) -> pa.Table:  # noqa: ANN401
    return pa.table(
        {
            PART: pa.array([number], pa.int32()),
            "arrays": pa.array([pack_value(dict(arrays))], pa.binary()),
            "summary": pa.array([pack_value(summary)], pa.binary()),
        }
    )


def _parts(batches: Batches) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    for batch in batches:
        for number, packed in zip(batch[PART], batch["arrays"], strict=True):
            yield number.as_py(), unpack_value(packed.as_py())


def placing(first_leaf: Sequence[int]) -> Callable[[Batches], Batches]:
    """Return what says to which leaf each tuple of parts goes."""

    def place(batches: Batches) -> Batches:
        for number, arrays in _parts(batches):
            tuples, leaf = Pieces.of(arrays, first_leaf[number]).places()
            yield pa.record_batch({"tuple": tuples, "leaf": leaf})

    return place


def sharing(first_leaf: Sequence[int]) -> Callable[[Batches], Batches]:
    """Return what says how many rows of divided tuples go where; see `Shares`."""

    def share(batches: Batches) -> Batches:
        for number, arrays in _parts(batches):
            shares = Pieces.of(arrays, first_leaf[number]).shares()
            cells = [*shares[:-1], shares.content.view(np.int64)]
            yield pa.record_batch(dict(zip(_SHARES, cells, strict=True)))

    return share


def showing(
    names: Sequence[str], spec: Spec, first_leaf: Sequence[int]
) -> Callable[[Batches], Batches]:
    """Return what says what the leaves of parts show: columns ``leaf``, ``s0 …``."""

    def show(batches: Batches) -> Batches:
        for number, arrays in _parts(batches):
            index = arrays["index"]
            leaves = np.arange(len(index), dtype=np.int32) + first_leaf[number]
            columns: list[pa.Array] = []
            for i, name in enumerate(names):
                at = pa.array(index[:, i], mask=index[:, i] < 0)
                shown = unpack(arrays[f"shown{i}"]).take(at)
                columns += as_released(name, shown, spec).values()
            cells = {f"s{i}": column for i, column in enumerate(columns)}
            yield from in_utc(pa.table({"leaf": leaves, **cells})).to_batches()

    return show


def allocating(
    names: Sequence[str], others: Sequence[str], key: bytes
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return what allocates rows of divided tuples to their leaves, as in memory.

    ``names`` are the caller's of the columns ``c0 …``, ``others`` those whose cells
    are a row's content; lots are drawn under ``key``.
    """

    def allocate(rows: pa.Table, shares: pa.Table) -> pa.Table:
        """Take all rows of some tuples, and how many of them go to which leaf."""
        # A shuffle keeps no order; pieces are numbered in the order of their tuples.
        ordered = shares.sort_by([("tuple", "ascending"), ("piece", "ascending")])
        tuples, leaf, n_rows, piece, content = (
            ordered[name].to_numpy() for name in _SHARES
        )
        known = Shares(tuples, leaf, n_rows, piece, content.view(np.uint64))
        own = rows.drop_columns(["tuple"]).rename_columns(list(names))
        contents = row_keys(open_frame(own), others, np.arange(rows.num_rows))
        place = known.allocate(rows["tuple"].to_numpy(), contents, key)
        leaves = known.leaf[place]
        # Spark hands moments over in its own zone, and takes them back in UTC.
        return in_utc(rows).append_column("leaf", pa.array(leaves, pa.int32()))

    return allocate


def pseudonymizing(
    columns: Sequence[tuple[int, str, bytes]],
) -> Callable[[Batches], Batches]:
    """Return what replaces columns by pseudonyms; whoever has it has their keys.

    ``columns`` says where they are, what the caller calls them, and the key of each.
    """

    def replace(batches: Batches) -> Batches:
        for batch in batches:
            table = pa.table(batch)
            for place, name, key in columns:
                hidden = pseudonymize(table.column(place), name, key)
                table = table.set_column(place, table.field(place).name, hidden)
            yield from in_utc(table).to_batches()

    return replace
