"""Lay out the tuples before they are cut, and the nodes once they are grown."""

from core_mondrian.kernels.jit import entry_kernel
from core_mondrian.kernels.layout import Codes, Counts, Fields

# Rows of the table that ``level_order`` fills.
NODE_ROWS = (
    "parent", "kind", "column", "at", "first_child", "n_children", "start", "stop",
    "rows", "budget", "low", "high",
)  # fmt: skip


@entry_kernel
def fill_records(codes: Codes, counts: Counts, order: Counts, records: Codes) -> None:
    """Write codes, rows and number of each tuple into ``records``, in ``order``."""
    n_codes = codes.shape[1]
    for i in range(order.size):
        number = order[i]
        for column in range(n_codes):
            records[i, column] = codes[number, column]
        records[i, n_codes] = counts[number]
        records[i, n_codes + 1] = number


@entry_kernel
def level_order(nodes: Fields, n_roots: int, order: Codes, table: Counts) -> None:
    """Number the nodes level by level and write them to ``table`` in that order.

    ``table`` has a row per entry of ``NODE_ROWS``; ``order`` is scratch as long as
    ``nodes``. The children of a node stay consecutive.
    """
    for i in range(n_roots):
        order[i] = i
        table[0, i] = -1
    n = n_roots
    for i in range(nodes.size):
        node = nodes[order[i]]
        table[1, i] = node.kind
        table[2, i] = node.column
        table[3, i] = node.at
        table[4, i] = n if node.n_children > 0 else -1
        table[5, i] = node.n_children
        table[6, i] = node.start
        table[7, i] = node.stop
        table[8, i] = node.rows
        table[9, i] = node.budget
        table[10, i] = node.low
        table[11, i] = node.high
        for child in range(node.first_child, node.first_child + node.n_children):
            order[n] = child
            table[0, n] = i
            n += 1
