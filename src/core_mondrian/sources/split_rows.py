"""Rows of tuples that are in several classes: how many are allocated at a time."""

from typing import Final

import numpy as np

from core_mondrian.errors import MemoryLimitError
from core_mondrian.recoding.plan import Shares
from core_mondrian.sources.memory import show_size

_ALLOCATED: Final = 130
"""Bytes per row that allocating takes."""


def rows_at_once(shares: Shares, room: int) -> int:
    """Return how many rows of split tuples can be allocated in ``room`` bytes.

    Raises:
        MemoryLimitError: those of one tuple cannot.
    """
    room = max(room, 1 << 20)
    largest = np.bincount(shares.tuple_of, shares.rows).max(initial=0) * _ALLOCATED
    if largest > 2 * room:
        raise MemoryLimitError(
            "one tuple is split and has so many rows that allocating them needs "
            f"{show_size(largest)}",
            hint="allow more: --memory SIZE; or --disjoint, which splits none",
        )
    return room // _ALLOCATED
