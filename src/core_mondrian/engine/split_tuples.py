"""Tuples whose rows are divided over several classes: each fragment counts as one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.row_groups import rising_order
from core_mondrian.engine.layout import Codes


class SplitTuples(NamedTuple):
    """The tuples of a table, those that were divided once per class, in tuple order."""

    tuple_of: NDArray[np.int64]
    rows: NDArray[np.int64]


def find_split_tuples(records: Codes) -> tuple[SplitTuples | None, NDArray[np.int64]]:
    """Return the pieces of all tuples, and each record's number among them.

    They are numbered by tuple, then by place; None: no tuple was divided.
    """
    order = rising_order(records[:, -1:].astype(np.uint64))
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    tuple_of = records[order, -1].astype(np.int64)
    if not (np.diff(tuple_of) == 0).any():
        return None, number
    return SplitTuples(tuple_of, records[order, -2].astype(np.int64)), number
