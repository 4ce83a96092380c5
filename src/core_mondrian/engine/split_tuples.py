"""Tuples whose rows are divided over several classes: each fragment counts as one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import Codes
from core_mondrian.engine.nodes import number_fragments


class SplitTuples(NamedTuple):
    """The tuples of a table, those that were divided once per class, in tuple order."""

    tuple_of: NDArray[np.int64]
    rows: NDArray[np.int64]


def number_split_tuples(records: Codes) -> SplitTuples | None:
    """Return the fragments of all tuples; each record gets its number among them.

    They are numbered by tuple, then by place; None: no tuple was divided, and records
    keep their tuple's number.
    """
    n_fragments = np.bincount(records[:, -1])
    if n_fragments.max(initial=0) < 2:
        return None
    rows = np.empty(len(records), dtype=np.int64)
    number_fragments(records, np.cumsum(n_fragments) - n_fragments, rows)
    return SplitTuples(np.repeat(np.arange(n_fragments.size), n_fragments), rows)
