"""Solve a block: cut it into classes, then cut these between equal rows."""

from cython.cimports.core_mondrian.engine.layout import CLASS
from cython.cimports.core_mondrian.engine.records import copy_record
from cython.cimports.core_mondrian.engine.search.blocks import grow_block
from cython.cimports.core_mondrian.engine.search.tie_splitting import split_ties

from core_mondrian.engine.search.workspace import Block, SearchWorkspace


def solve_block(block: Block, workspace: SearchWorkspace, n: int, rows: int) -> None:
    """Cut the first ``n`` records of ``block.main`` into classes.

    ``block.n_nodes`` and ``block.n_records`` say how many nodes and records that makes;
    the records are in main, class after class.
    """
    grow_block(block, workspace, n, rows)
    block.n_records = n
    if not block.splits_ties:
        return
    for node in range(block.n_nodes):
        if block.nodes[node].kind == CLASS:
            block.main.ranks[block.nodes[node].start] = node
    block.n_records = 0
    i = 0
    while i < n:
        node = block.main.ranks[i]
        i = block.nodes[node].stop
        split_ties(block, workspace, node)
    for i in range(block.n_records):
        copy_record(block.out, i, block.main.records, i)
