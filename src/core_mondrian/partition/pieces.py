"""Pieces: a tuple whose rows are divided over several classes counts as several."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core_mondrian.kernels.layout import Codes


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tuples of a table, those that were divided once per class, in tuple order."""

    tuple_of: NDArray[np.int64]
    rows: NDArray[np.int64]


def find_pieces(records: Codes) -> tuple[Pieces | None, NDArray[np.int64]]:
    """Return the pieces of all tuples, and each record's number among them.

    They are numbered by tuple, then by place; None: no tuple was divided.
    """
    order = np.argsort(records[:, -1], kind="stable")
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.arange(order.size)
    tuple_of = records[order, -1].astype(np.int64)
    if not (np.diff(tuple_of) == 0).any():
        return None, number
    return Pieces(tuple_of, records[order, -2].astype(np.int64)), number
