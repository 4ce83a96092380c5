"""Nodes of the tree while it grows."""

from core_mondrian.kernels.jit import kernel
from core_mondrian.kernels.layout import CLASS, Fields


@kernel
def add_node(
    nodes: Fields, node: int, parent: int, start: int, stop: int, rows: int
) -> None:
    """Write a fresh node without children."""
    nodes[node].parent = parent
    nodes[node].kind = CLASS
    nodes[node].column = -1
    nodes[node].at = -1
    nodes[node].first_child = -1
    nodes[node].n_children = 0
    nodes[node].start = start
    nodes[node].stop = stop
    nodes[node].rows = rows
    nodes[node].budget = 0
    nodes[node].low = -1
    nodes[node].high = -1
    nodes[node].turn = node
    nodes[node].open = 0
