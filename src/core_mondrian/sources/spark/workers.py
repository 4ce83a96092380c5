"""What runs on the executors: our own code on Arrow tables.

Functions inside functions, because Spark counts the arguments of what it calls.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from core_mondrian.recoding.plan import Shares
from core_mondrian.sources.spark.arrow import in_utc
from core_mondrian.tables.frames import open_frame, row_keys
from core_mondrian.tables.pseudonyms import pseudonymize

Batches: TypeAlias = Iterator[pa.RecordBatch]


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
        ordered = shares.sort_by("piece")
        names_of = ("tuple", "leaf", "rows", "piece", "content")
        parts = [ordered[name].to_numpy() for name in names_of]
        tuples, leaf, n_rows, piece, content = parts
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
