"""Solve a block: cut it into classes, then relax them."""

import numpy as np

from core_mondrian.kernels.block import grow_block
from core_mondrian.kernels.borrow import (
    borrow_aims,
    borrow_block,
    borrow_finder,
    borrow_models,
)
from core_mondrian.kernels.calls import call_for_int
from core_mondrian.kernels.groups import copy_record
from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import CLASS, Aims, Block, Finder, Models
from core_mondrian.kernels.relax import relax_class


@entry_kernel
def solve_records(
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    n: int,
    rows: int,
    beta: float,
    rolls_out: bool,
    relaxes: bool,
    counts: bool,
) -> int:
    """Cut the first ``n`` records of ``block.main`` into classes, and relax them.

    Returns how many nodes that makes, and how many records in the lower 32 bits; the
    records are in main, class after class.
    """
    block = borrow_block(block)
    aims = borrow_aims(aims)
    models = borrow_models(models)
    finder = borrow_finder(finder)
    n_nodes = grow_block(block, aims, models, finder, n, rows, beta, rolls_out, counts)
    if not relaxes:
        return (np.int64(n_nodes) << 32) | n
    for node in range(n_nodes):
        if block.nodes[node].kind == CLASS:
            block.main.ranks[block.nodes[node].start] = node
    n_out = 0
    i = 0
    while i < n:
        node = block.main.ranks[i]
        i = block.nodes[node].stop
        n_nodes, n_out = relax_class(block, aims, models, finder, node, n_nodes, n_out)
    for i in range(n_out):
        copy_record(block.out, i, block.main.records, i)
    return (np.int64(n_nodes) << 32) | n_out


@kernel
def solve_main(
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    n: int,
    rows: int,
    beta: float,
    rolls_out: bool,
    relaxes: bool,
    counts: bool,
) -> tuple[int, int]:
    """Call ``solve_records``; return how many nodes and records that makes."""
    made = call_for_int(
        finder.solve,
        (block, aims, models, finder, n, rows, beta, rolls_out, relaxes, counts),
    )
    return made >> 32, made & 0xFFFFFFFF
