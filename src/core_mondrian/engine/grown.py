"""What one tree is grown from, and what has grown."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.constraints import Constraints
from core_mondrian.engine.funnel_counts import Funnel
from core_mondrian.engine.layout import Codes, Columns, Search, Tuples
from core_mondrian.engine.missing_patterns import Roots
from core_mondrian.engine.nodes import number_fragments
from core_mondrian.engine.scheduler import Report
from core_mondrian.engine.search.equity import Balance
from core_mondrian.engine.tree import PartitionTree
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable


class TreeInputs(NamedTuple):
    """What one tree is grown from."""

    table: EncodedTable
    spec: Spec
    columns: Columns
    constraints: Constraints
    roots: Roots
    budget: int
    n_threads: int
    report: Report


class SplitTuples(NamedTuple):
    """The tuples of a table, those that were divided once per class, in tuple order."""

    tuple_of: NDArray[np.int64]
    rows: NDArray[np.int64]

    def of_table(self, table: EncodedTable) -> EncodedTable:
        """Return a table with one tuple for each fragment."""
        return replace(table, codes=table.codes[self.tuple_of], counts=self.rows)


@dataclass(frozen=True, slots=True)
class Grown:
    """The tree, and the engine's arrays that recoding reads."""

    tree: PartitionTree
    funnel: Funnel
    budget: int
    n_blanked: int
    """Cells blanked to repair small missing patterns, over all rows."""
    tuples: Tuples
    columns: Columns
    split_tuples: SplitTuples | None = None
    """How tuples were divided over classes; None: each is in one class."""
    search: Search | None = None
    """Policy `best`: how it searched."""
    losses: NDArray[np.float64] | None = None
    """Where groups should lose alike, what all rows of each group lose together."""
    balance: Balance | None = None
    """And what became of that."""


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
