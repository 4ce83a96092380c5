"""Nodes of the tree while it grows, and once it has; records before it does."""

import cython
from cython.cimports.core_mondrian.engine.layout import CLASS

from core_mondrian.engine.layout import Codes, Counts, Fields

# Rows of the table that ``level_order`` fills.
NODE_ROWS = (
    "parent", "kind", "column", "cut_code", "first_child", "n_children", "start",
    "stop", "rows", "budget", "low", "high",
)  # fmt: skip


def add_node(
    node: Fields, number: int, parent: int, start: int, stop: int, rows: int
) -> None:
    """Write a fresh node without children; ``number`` is its own."""
    node.parent = parent
    node.kind = CLASS
    node.column = -1
    node.cut_code = -1
    node.first_child = -1
    node.n_children = 0
    node.start = start
    node.stop = stop
    node.rows = rows
    node.budget = 0
    node.low = -1
    node.high = -1
    node.visit_order = number
    node.needs_cut = 0


def fill_records(codes: Codes, counts: Counts, order: Counts, records: Codes) -> None:
    """Write codes, rows and number of each tuple into ``records``, in ``order``."""
    with cython.nogil:
        n_codes = codes.shape[1]
        for i in range(order.shape[0]):
            number = order[i]
            for column in range(n_codes):
                records[i, column] = codes[number, column]
            records[i, n_codes] = counts[number]
            records[i, n_codes + 1] = number


def number_fragments(records: Codes, places: Counts, rows: Counts) -> None:
    """Replace the tuple of each record by its number among all fragments of tuples.

    They are numbered by tuple, then by place; ``places`` has where each tuple's begin,
    and ``rows`` gets the rows of each.

        tuple    1  0  1         places  0  1
        number   1  0  2
    """
    with cython.nogil:
        last = records.shape[1] - 1
        for i in range(records.shape[0]):
            owner = records[i, last]
            number = places[owner]
            places[owner] = number + 1
            rows[number] = records[i, last - 1]
            records[i, last] = number


def graft_blocks(
    grown: Fields,
    edges: Counts,
    leaves: Counts,
    tree: Fields,
    first: int,
    first_record: int,
) -> None:
    """Put the trees of some blocks in the place of the leaves they were solved for.

    ``edges`` says where each block's nodes begin among those ``grown``. Its root
    becomes the leaf, the others go to the tree from ``first`` on:

        grown   [ root a b | root c ]        tree   [ ... leaf ... leaf ... | a b c ]
    """
    with cython.nogil:
        place = first
        for block in range(leaves.shape[0]):
            root = edges[block, 0]
            leaf = leaves[block]
            shift = place - root - 1
            tree[leaf].kind = grown[root].kind
            tree[leaf].column = grown[root].column
            tree[leaf].cut_code = grown[root].cut_code
            tree[leaf].n_children = grown[root].n_children
            tree[leaf].first_child = -1
            if grown[root].first_child >= 0:
                tree[leaf].first_child = grown[root].first_child + shift
            for i in range(root + 1, edges[block + 1, 0]):
                tree[place] = grown[i]
                tree[place].start += first_record
                tree[place].stop += first_record
                tree[place].parent = leaf
                if grown[i].parent != root:
                    tree[place].parent = grown[i].parent + shift
                if grown[i].first_child >= 0:
                    tree[place].first_child = grown[i].first_child + shift
                place += 1


def level_order(nodes: Fields, n_roots: int, order: Codes, table: Counts) -> None:
    """Number the nodes level by level and write them to ``table`` in that order.

    ``table`` has a row per entry of ``NODE_ROWS``; ``order`` is scratch as long as
    ``nodes``. The children of a node stay consecutive:

        order   [ roots | children of root 0 | of root 1 | ... | their children ... ]
                          i                                n
                          is written now                   the next child goes here
    """
    with cython.nogil:
        for i in range(n_roots):
            order[i] = i
            table[0, i] = -1
        n = n_roots
        for i in range(nodes.shape[0]):
            node = nodes[order[i]]
            table[1, i] = node.kind
            table[2, i] = node.column
            table[3, i] = node.cut_code
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
