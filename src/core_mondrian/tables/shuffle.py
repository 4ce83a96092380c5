"""A row order that depends on what the rows show, and on nothing else."""

import numpy as np

from core_mondrian.runtime.array_types import Frame
from core_mondrian.tables.cell_keys import Keys
from core_mondrian.tables.frames import column_keys, open_frame, order_rows
from core_mondrian.tables.hashing import splitmix64


def shuffle_rows(data: Frame, seed: int, *, hidden: str | None = None) -> Frame:
    """Return the caller's kind of frame in an order made from its cells and a seed.

    The order the rows came in has no say: rows that are equal in all columns but
    ``hidden``, which is not released, are interchangeable.

    Raises:
        SpecError: a column holds objects that content does not distinguish.
    """
    frame = open_frame(data)
    keys: Keys = np.full(len(frame), seed % 2**64, dtype=np.uint64)
    for name in frame.columns:
        if name != hidden:
            keys = splitmix64(keys + column_keys(frame, name))
    return order_rows(data, np.argsort(keys, kind="stable"))
