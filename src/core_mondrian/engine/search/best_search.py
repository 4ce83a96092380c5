"""The search of the policy `best`: cut down to blocks, then solve block after block."""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    CLASS,
    CUT,
    QUEUED,
    SUPPRESSED,
)
from cython.cimports.core_mondrian.engine.nodes import add_node
from cython.cimports.core_mondrian.engine.records import copy_record, node_at
from cython.cimports.core_mondrian.engine.search.annealing import improve, total_loss
from cython.cimports.core_mondrian.engine.search.block_solving import solve_block
from cython.cimports.core_mondrian.engine.search.blocks import (
    count_choice,
    count_columns,
    cut_node,
    weight_of_impurity,
)
from cython.cimports.core_mondrian.engine.search.clustering import cluster_block
from cython.cimports.core_mondrian.engine.search.exact_cuts import (
    ROUNDING,
    find_cuts,
    is_ahead,
)
from cython.cimports.core_mondrian.engine.search.regrouping import gather

from core_mondrian.engine.layout import Codes, Fields, Search
from core_mondrian.engine.search.workspace import (
    Block,
    ClassSet,
    RecordBuffers,
    SearchWorkspace,
    SolvedBlocks,
)


class SearchSettings:
    """How to search, as compiled code reads it."""

    def __init__(self, search: Search) -> None:
        self.beta = search.beta
        self.block_rows = search.block_rows
        self.rolls_out = search.rolls_out
        self.relaxes = search.relaxes
        self.width = search.width
        self.passes = search.passes
        self.sweeps = search.sweeps
        self.clusters = search.clusters


def choose_cut(
    buffers: RecordBuffers, workspace: SearchWorkspace, node: Fields, beta: float
) -> int:
    """Return the column whose best cut is best, or -1; count it in the funnel."""
    weight = weight_of_impurity(workspace, node.rows, beta)
    best = find_cuts(buffers, workspace, node.start, node.stop, node.rows, weight)
    note_choice(workspace, best)
    return best


def note_choice(workspace: SearchWorkspace, best: int) -> None:
    """Count in the funnel which column is cut, and what became of the others."""
    count_columns(workspace)
    if best >= 0:
        count_choice(workspace, best)


def score_columns(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    search: SearchSettings,
    nodes: Fields,
    node: int,
) -> None:
    """Find the cuts of a partition in the columns that are wanted: ``found``."""
    with cython.nogil:
        weight = weight_of_impurity(workspace, nodes[node].rows, search.beta)
        find_cuts(
            buffers, workspace, nodes[node].start, nodes[node].stop, nodes[node].rows,
            weight,
        )  # fmt: skip


def cut_chosen(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    nodes: Fields,
    node: int,
    n_nodes: int,
    column: int,
) -> None:
    """Carry out the best cut of a column; the sides are the next two nodes."""
    with cython.nogil:
        cut_node(buffers, workspace, nodes, node, n_nodes, column)


def choose_scored(workspace: SearchWorkspace) -> int:
    """Return the column whose best cut is best, once all were found."""
    best = best_scored(workspace)
    note_choice(workspace, best)
    return best


def best_scored(workspace: SearchWorkspace) -> int:
    """Return the column whose best cut gains most, or -1."""
    best = -1
    for column in range(workspace.n_columns):
        if workspace.found[column].rows == 0 or workspace.found[column].gain == 0.0:
            continue
        if best < 0 or is_ahead(workspace, column, best):
            best = column
    return best


def cut_to_blocks(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    search: SearchSettings,
    nodes: Fields,
    queue: Codes,
    ship_above: int,
) -> int:
    """Cut ``nodes[0]`` until every part is a block; return how many nodes there are.

    Parts of at least ``ship_above`` rows are left with kind ``QUEUED`` for another
    call, maybe on another thread. ``queue`` is scratch as long as ``nodes``:

        [ done | node | waiting ... | ]
                 └ n_done           └ n_queued
    """
    n_nodes = 1
    n_queued = 1
    n_done = 0
    with cython.nogil:
        queue[0] = 0
        while n_done < n_queued:
            node = queue[n_done]
            n_done += 1
            if node > 0 and nodes[node].rows >= ship_above:
                nodes[node].kind = QUEUED
                continue
            nodes[node].kind = CLASS
            if is_block(workspace, search, node_at(nodes, node)):
                continue
            best = choose_cut(buffers, workspace, node_at(nodes, node), search.beta)
            if best < 0:
                continue
            cut_node(buffers, workspace, nodes, node, n_nodes, best)
            queue[n_queued] = n_nodes
            queue[n_queued + 1] = n_nodes + 1
            n_queued += 2
            n_nodes += 2
    return n_nodes


def is_block(workspace: SearchWorkspace, search: SearchSettings, node: Fields) -> bool:
    """Return whether a partition is not cut before blocks are solved."""
    if node.rows < search.block_rows or node.rows < 2 * workspace.rules.min_rows:
        return True
    return node.stop - node.start == 1


def solve_blocks(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    search: SearchSettings,
    block: Block,
    pool: ClassSet,
    solved: SolvedBlocks,
) -> None:
    """Solve blocks one after the other, in the scratch of ``block`` and ``pool``."""
    with cython.nogil:
        for number in range(solved.spans.shape[0]):
            solved.edges[number, 0] = solved.n_nodes
            solved.edges[number, 1] = solved.n_records
            if solved.spans[number, 5]:
                write_suppressed(buffers, solved, number)
                continue
            load_span(buffers, solved, block, number)
            solve_span(workspace, search, solved, block, pool, number)
            if search.clusters and block.has_classes:
                load_span(buffers, solved, block, number)
                divide_span(workspace, search, solved, block, pool, number)
        solved.edges[solved.spans.shape[0], 0] = solved.n_nodes
        solved.edges[solved.spans.shape[0], 1] = solved.n_records


def load_span(
    buffers: RecordBuffers, solved: SolvedBlocks, block: Block, number: int
) -> None:
    """Copy the records of one span to ``block``."""
    start = solved.spans[number, 0]
    block.room = solved.spans[number, 3]
    block.pool_room = solved.spans[number, 4]
    for i in range(solved.spans[number, 1] - start):
        copy_record(buffers.records, start + i, block.main.records, i)


def solve_span(
    workspace: SearchWorkspace,
    search: SearchSettings,
    solved: SolvedBlocks,
    block: Block,
    pool: ClassSet,
    number: int,
) -> None:
    """Cut the block of one span, regroup its classes, and write them out."""
    n = solved.spans[number, 1] - solved.spans[number, 0]
    block.beta = search.beta
    block.tries_cuts = search.rolls_out
    block.splits_ties = search.relaxes
    block.counts_funnel = True
    solve_block(block, workspace, n, solved.spans[number, 2])
    write_tree(block, solved)
    n_nodes = block.n_nodes
    n_records = block.n_records
    block.has_classes = n_nodes > 1
    if (
        search.width > 0
        and n_nodes > 1
        and improve(pool, block, workspace, search.width, search.passes, search.sweeps)
    ):
        write_classes(pool, block, solved, solved.spans[number, 2])
    else:
        solved.n_nodes += n_nodes
        solved.n_records += n_records


def divide_span(
    workspace: SearchWorkspace,
    search: SearchSettings,
    solved: SolvedBlocks,
    block: Block,
    pool: ClassSet,
    number: int,
) -> None:
    """Divide a block into clusters; what was written of it stands if it loses less."""
    n = solved.spans[number, 1] - solved.spans[number, 0]
    rows = solved.spans[number, 2]
    before = total_loss(pool)
    cluster_block(block, pool.sketch, workspace, n, rows)
    improve(pool, block, workspace, search.width, search.passes, search.sweeps)
    if total_loss(pool) < before * (1.0 - ROUNDING):
        solved.n_nodes = solved.edges[number, 0]
        solved.n_records = solved.edges[number, 1]
        write_classes(pool, block, solved, rows)


def write_suppressed(buffers: RecordBuffers, solved: SolvedBlocks, number: int) -> None:
    """Write a block out that is suppressed as it is."""
    node = cython.declare(cython.int, solved.n_nodes)
    start = solved.spans[number, 0]
    n = solved.spans[number, 1] - start
    first = solved.n_records
    rows = solved.spans[number, 2]
    add_node(node_at(solved.nodes, node), node, -1, first, first + n, rows)
    solved.nodes[node].kind = SUPPRESSED
    for i in range(n):
        copy_record(buffers.records, start + i, solved.records, first + i)
    solved.n_nodes += 1
    solved.n_records += n


def write_tree(block: Block, solved: SolvedBlocks) -> None:
    """Write a block's tree and records out; regrouped classes may still replace them.

    Cutting between equal rows has moved the classes: cuts end where their last does.
    """
    for node in range(block.n_nodes - 1, -1, -1):
        if block.nodes[node].kind == CUT:
            first = block.nodes[node].first_child
            block.nodes[node].start = block.nodes[first].start
            block.nodes[node].stop = block.nodes[first + 1].stop
    for node in range(block.n_nodes):
        write_node(block, solved, node)
    for i in range(block.n_records):
        copy_record(block.main.records, i, solved.records, solved.n_records + i)


def write_node(block: Block, solved: SolvedBlocks, node: int) -> None:
    """Write one node of a block out, by its number among all of them."""
    first = cython.declare(cython.int, solved.n_nodes)
    place = cython.declare(cython.int, first + node)
    solved.nodes[place] = block.nodes[node]
    solved.nodes[place].visit_order = place
    solved.nodes[place].start += solved.n_records
    solved.nodes[place].stop += solved.n_records
    if node > 0:
        solved.nodes[place].parent += first
    if block.nodes[node].n_children > 0:
        solved.nodes[place].first_child += first


def write_classes(
    pool: ClassSet, block: Block, solved: SolvedBlocks, rows: int
) -> None:
    """Write regrouped classes out, as children of one node."""
    first_node = cython.declare(cython.int, solved.n_nodes)
    n_nodes = cython.declare(cython.int, 1)
    first = solved.n_records
    n_records = first
    for number in range(pool.n_classes):
        if pool.classes[number].rows == 0:
            continue
        start = n_records
        n = gather(pool, block.main.records, number, 0)
        for i in range(n):
            copy_record(block.main.records, i, solved.records, n_records)
            n_records += 1
        node = cython.declare(cython.int, first_node + n_nodes)
        rows_here = pool.classes[number].rows
        add_node(
            node_at(solved.nodes, node), node, first_node, start, n_records, rows_here
        )
        n_nodes += 1
    add_node(node_at(solved.nodes, first_node), first_node, -1, first, n_records, rows)
    if n_nodes == 2:
        n_nodes = 1  # one class is no cut
    else:
        solved.nodes[first_node].kind = CUT
        solved.nodes[first_node].first_child = first_node + 1
        solved.nodes[first_node].n_children = n_nodes - 1
    solved.n_nodes += n_nodes
    solved.n_records = n_records
