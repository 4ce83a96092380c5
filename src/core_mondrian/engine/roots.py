"""The roots of the tree: their records, one root after the other, and their budgets."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.inputs import build_tuples
from core_mondrian.engine.layout import Counts, Fields, Tuples, blank_nodes
from core_mondrian.engine.missing_patterns import Roots
from core_mondrian.tables.encoded import EncodedTable


def build_roots(
    table: EncodedTable, roots: Roots, budget: int
) -> tuple[Tuples, Fields]:
    """Sort the tuples by their root, and return them with the nodes of the roots.

    Edges say where the tuples of each root begin, and where the last ones end:

        root of each tuple   1  0  0  1  2
        tuples               1  2 | 0  3 | 4
        edges                0      2      4   5
    """
    # NumPy sorts such narrow numbers by counting them.
    narrow = np.int16 if roots.n_roots < 2**15 else np.int64
    order = np.argsort(roots.root.astype(narrow), kind="stable")
    tuples = build_tuples(roots.codes, table.counts, order)
    edges = np.searchsorted(roots.root[order], np.arange(roots.n_roots + 1))
    rows = np.add.reduceat(table.counts[order], edges[:-1])
    nodes = root_nodes(rows, roots.suppressed, budget)
    nodes["start"], nodes["stop"] = edges[:-1], edges[1:]
    return tuples, nodes


def root_nodes(rows: Counts, suppressed: NDArray[np.bool_], budget: int) -> Fields:
    """Return the roots, each with its share of the budget.

    Those that are suppressed whole are paid for first.
    """
    nodes = blank_nodes(rows.size)
    nodes["kind"] = np.where(suppressed, layout.SUPPRESSED, layout.QUEUED)
    nodes["rows"] = rows
    n_suppressed = int(rows[suppressed].sum())
    # Rounded down: the roots can never be given more than there is.
    shares = rows * (budget - n_suppressed) // (int(rows.sum()) - n_suppressed)
    nodes["budget"] = np.where(suppressed, rows, shares)
    return nodes
