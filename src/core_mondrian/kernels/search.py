"""The search of the policy `best`: cut down to blocks, then solve block after block."""

from core_mondrian.kernels.block import (
    count_columns,
    cut_node,
    weight_of_impurity,
)
from core_mondrian.kernels.borrow import (
    borrow_aims,
    borrow_block,
    borrow_finder,
    borrow_models,
    borrow_pool,
    borrow_space,
    borrowed,
)
from core_mondrian.kernels.exact import find_cuts, is_ahead
from core_mondrian.kernels.groups import copy_record
from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import (
    ACCEPTED,
    CLASS,
    CUT,
    FINAL,
    QUEUED,
    SUPPRESSED,
    Aims,
    Block,
    Codes,
    Counts,
    Fields,
    Finder,
    Floats,
    Models,
    Pool,
    Search,
    Space,
)
from core_mondrian.kernels.losses import class_loss
from core_mondrian.kernels.nodes import add_node
from core_mondrian.kernels.regroup import gather, regroup
from core_mondrian.kernels.solve import solve_main


@kernel
def note_choice(finder: Finder, best: int) -> None:
    """Count in the funnel which column is cut, and what became of the others."""
    count_columns(finder)
    if best >= 0:
        finder.funnel[FINAL, best] += 1
        finder.funnel[ACCEPTED, best] += 1


@kernel
def choose_cut(
    space: Space,
    aims: Aims,
    models: Models,
    finder: Finder,
    search: Search,
    start: int,
    stop: int,
    rows: int,
) -> int:
    """Return the column whose best cut is best, or -1; count it in the funnel."""
    weight = weight_of_impurity(models, rows, search.beta)
    best = find_cuts(space, aims, models, finder, start, stop, rows, weight)
    note_choice(finder, best)
    return best


@entry_kernel
def score_counted(
    space: Space, aims: Aims, models: Models, finder: Finder, search: Search, rows: int
) -> None:
    """Find the cuts of columns whose pairs were counted: ``finder.found``."""
    weight = weight_of_impurity(models, rows, search.beta)
    find_cuts(space, aims, models, finder, 0, 0, rows, weight)


@entry_kernel
def choose_scored(finder: Finder) -> int:
    """Return the column whose best cut is best, once all were found."""
    best = -1
    for column in range(finder.active.size):
        found = finder.found[column]
        if found.rows == 0 or found.gain == 0.0:
            continue
        if best < 0 or is_ahead(finder.found, column, best):
            best = column
    note_choice(finder, best)
    return best


@entry_kernel
def cut_to_blocks(
    space: Space,
    aims: Aims,
    models: Models,
    finder: Finder,
    search: Search,
    nodes: Fields,
    queue: Codes,
    ship_above: int,
) -> int:
    """Cut ``nodes[0]`` until every part is a block; return how many nodes there are.

    Parts of at least ``ship_above`` rows are left with kind ``QUEUED`` for another
    call, maybe on another thread.
    """
    space = borrow_space(space)
    aims = borrow_aims(aims)
    models = borrow_models(models)
    finder = borrow_finder(finder)
    nodes = borrowed(nodes)
    queue = borrowed(queue)
    n_nodes = 1
    queue[0] = 0
    n_queued = 1
    done = 0
    while done < n_queued:
        node = queue[done]
        done += 1
        rows = nodes[node].rows
        if node > 0 and rows >= ship_above:
            nodes[node].kind = QUEUED
            continue
        start = nodes[node].start
        stop = nodes[node].stop
        nodes[node].kind = CLASS
        if rows < search.block_rows or rows < 2 * models.min_rows or stop - start == 1:
            continue
        best = choose_cut(space, aims, models, finder, search, start, stop, rows)
        if best < 0:
            continue
        cut_node(space, aims, finder, nodes, node, n_nodes, best)
        queue[n_queued] = n_nodes
        queue[n_queued + 1] = n_nodes + 1
        n_queued += 2
        n_nodes += 2
    return n_nodes


@kernel
def write_tree(
    block: Block,
    n_nodes: int,
    n_records: int,
    nodes: Fields,
    first_node: int,
    records: Codes,
    first_record: int,
) -> None:
    """Write a block's tree and records out."""
    for node in range(n_nodes - 1, -1, -1):
        if block.nodes[node].kind == CUT:
            first = block.nodes[node].first_child
            block.nodes[node].start = block.nodes[first].start
            block.nodes[node].stop = block.nodes[first + 1].stop
    for node in range(n_nodes):
        place = first_node + node
        add_node(
            nodes, place, -1, first_record + block.nodes[node].start,
            first_record + block.nodes[node].stop, block.nodes[node].rows,
        )  # fmt: skip
        nodes[place].kind = block.nodes[node].kind
        nodes[place].column = block.nodes[node].column
        nodes[place].at = block.nodes[node].at
        nodes[place].low = block.nodes[node].low
        nodes[place].high = block.nodes[node].high
        if node > 0:
            nodes[place].parent = first_node + block.nodes[node].parent
        if block.nodes[node].n_children > 0:
            nodes[place].first_child = first_node + block.nodes[node].first_child
            nodes[place].n_children = block.nodes[node].n_children
    for i in range(n_records):
        copy_record(block.main.records, i, records, first_record + i)


@kernel
def write_classes(
    pool: Pool,
    n_classes: int,
    rows: int,
    nodes: Fields,
    first_node: int,
    records: Codes,
    first_record: int,
    spare: Codes,
) -> tuple[int, int]:
    """Write regrouped classes out, as children of one node; count nodes and records."""
    add_node(nodes, first_node, -1, first_record, first_record, rows)
    n_nodes = 1
    n_records = 0
    for number in range(n_classes):
        if pool.classes[number].rows == 0:
            continue
        start = n_records
        n = gather(pool, spare, number, 0)
        for i in range(n):
            copy_record(spare, i, records, first_record + n_records)
            n_records += 1
        add_node(
            nodes, first_node + n_nodes, first_node, first_record + start,
            first_record + n_records, pool.classes[number].rows,
        )  # fmt: skip
        n_nodes += 1
    nodes[first_node].stop = first_record + n_records
    if n_nodes == 2:
        return 1, n_records
    nodes[first_node].kind = CUT
    nodes[first_node].first_child = first_node + 1
    nodes[first_node].n_children = n_nodes - 1
    return n_nodes, n_records


@entry_kernel
def solve_blocks(
    records: Codes,
    spans: Counts,
    block: Block,
    pool: Pool,
    aims: Aims,
    models: Models,
    finder: Finder,
    search: Search,
    nodes_out: Fields,
    records_out: Codes,
    edges: Counts,
) -> None:
    """Solve blocks one after the other.

    ``spans`` has start, stop, rows and room of each, and whether it is suppressed.
    ``edges`` gets where each one's nodes and records begin in ``nodes_out`` and
    ``records_out``, and where the last end.
    """
    records = borrowed(records)
    spans = borrowed(spans)
    block = borrow_block(block)
    pool = borrow_pool(pool)
    aims = borrow_aims(aims)
    models = borrow_models(models)
    finder = borrow_finder(finder)
    nodes_out = borrowed(nodes_out)
    records_out = borrowed(records_out)
    edges = borrowed(edges)
    first_node = 0
    first_record = 0
    for number in range(spans.shape[0]):
        edges[number, 0] = first_node
        edges[number, 1] = first_record
        start = spans[number, 0]
        n = spans[number, 1] - start
        rows = spans[number, 2]
        if spans[number, 5]:
            add_node(nodes_out, first_node, -1, first_record, first_record + n, rows)
            nodes_out[first_node].kind = SUPPRESSED
            for i in range(n):
                copy_record(records, start + i, records_out, first_record + i)
            first_node += 1
            first_record += n
            continue
        block.room[0] = spans[number, 3]
        block.room[1] = spans[number, 4]
        for i in range(n):
            copy_record(records, start + i, block.main.records, i)
        n_nodes, n_records = solve_main(
            block, aims, models, finder, n, rows, search.beta, search.rolls_out,
            search.relaxes, True,
        )  # fmt: skip
        write_tree(
            block, n_nodes, n_records, nodes_out, first_node, records_out, first_record
        )
        if search.width > 0 and n_nodes > 1:
            n_classes = regroup(
                pool, block, aims, models, finder, n_nodes, search.width, search.passes
            )
            if n_classes > 0:
                n_nodes, n_records = write_classes(
                    pool, n_classes, rows, nodes_out, first_node, records_out,
                    first_record, block.main.records,
                )  # fmt: skip
        first_node += n_nodes
        first_record += n_records
    edges[spans.shape[0], 0] = first_node
    edges[spans.shape[0], 1] = first_record


@entry_kernel
def class_losses(
    records: Codes,
    starts: Counts,
    stops: Counts,
    aims: Aims,
    finder: Finder,
    losses: Floats,
) -> None:
    """Fill what each row of each class loses."""
    for i in range(starts.size):
        losses[i] = class_loss(records, aims, finder, starts[i], stops[i], -1)
