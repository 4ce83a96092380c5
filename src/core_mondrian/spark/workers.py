"""What runs on the executors: our own code on Arrow tables.

Functions inside functions, because Spark counts the arguments of what it calls.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from core_mondrian.frames import open_frame, row_keys
from core_mondrian.plan import Shares
from core_mondrian.pseudonyms import pseudonymize
from core_mondrian.spark.arrow import in_utc

Batches: TypeAlias = Iterator[pa.RecordBatch]


def dealing(
    names: Sequence[str], others: Sequence[str]
) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return what deals rows of divided tuples to their leaves, as in memory.

    ``names`` are the caller's of the columns ``c0 …``, ``others`` those whose cells
    decide which row goes where.
    """

    def deal(rows: pa.Table, shares: pa.Table) -> pa.Table:
        """Take all rows of some tuples, and how many of them go to which leaf."""
        # A shuffle keeps no order; pieces are numbered in the order of their tuples.
        ordered = shares.sort_by("piece")
        known = Shares(
            *(ordered[name].to_numpy() for name in ("tuple", "leaf", "rows", "piece"))
        )
        own = rows.drop_columns(["tuple"]).rename_columns(list(names))
        keys = row_keys(open_frame(own), others, np.arange(rows.num_rows))
        leaves = known.leaf[known.deal(rows["tuple"].to_numpy(), keys)]
        # Spark hands moments over in its own zone, and takes them back in UTC.
        return in_utc(rows).append_column("leaf", pa.array(leaves, pa.int32()))

    return deal


def hiding(
    columns: Sequence[tuple[int, str]], key: bytes
) -> Callable[[Batches], Batches]:
    """Return what replaces columns by pseudonyms; whoever has it has the key.

    ``columns`` says where they are, and what the caller calls them.
    """

    def hide(batches: Batches) -> Batches:
        for batch in batches:
            table = pa.table(batch)
            for place, name in columns:
                hidden = pseudonymize(table.column(place), name, key)
                table = table.set_column(place, table.field(place).name, hidden)
            yield from in_utc(table).to_batches()

    return hide
