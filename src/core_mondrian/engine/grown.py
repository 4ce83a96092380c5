"""What one tree is grown from, and what has grown."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedTable
from core_mondrian.engine.constraints import Constraints
from core_mondrian.engine.funnel_counts import Funnel
from core_mondrian.engine.layout import Columns, Search, Tuples
from core_mondrian.engine.missing_patterns import Roots
from core_mondrian.engine.scheduler import Report
from core_mondrian.engine.search.equity import Balance
from core_mondrian.engine.split_tuples import SplitTuples
from core_mondrian.engine.tree import PartitionTree
from core_mondrian.spec.declaration import Spec


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
