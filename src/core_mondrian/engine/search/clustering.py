"""Divide a block into clusters of close records, where columns are too many for cuts.

A cut of one column of thirty leaves the others as they are. Here a class is a record
and those closest to it, column by column together:

    seed ─► the records closest to it ─► one after the other that widens the box least

Seeds with close neighbours come first: outliers would take these away from each other.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import CLASS, CUT
from cython.cimports.core_mondrian.engine.model_rules import (
    add_record,
    change_counts,
    clear,
    rules_admit,
)
from cython.cimports.core_mondrian.engine.nodes import add_node
from cython.cimports.core_mondrian.engine.records import (
    copy_record,
    data,
    low_half,
    node_at,
    row,
)
from cython.cimports.core_mondrian.engine.search.closeness import (
    box_with,
    distance,
    list_left,
    sketch_records,
    solitude,
    start_box,
    take,
    widen_box,
)
from cython.cimports.core_mondrian.engine.sorting import sort_keys

from core_mondrian.engine.search.workspace import Block, SearchWorkspace, Sketch

if not cython.compiled:
    # Records that are looked at around a seed, and more for each row of a class.
    _LISTED = 256
    _LISTED_PER_ROW = 4
    # Records that every one is compared with to find out how close its neighbours are.
    _SAMPLE = 2048
    # Seeds in a row around which there is no class that the models admit.
    _MOST_FAILURES = 100
    _HALF = 32


def cluster_block(
    block: Block, sketch: Sketch, workspace: SearchWorkspace, n: int, rows: int
) -> None:
    """Make the first ``n`` records of ``block.main`` clusters: ``block.nodes``.

    The first node is all of them together, the others are its classes. Models have to
    be monotone, so that a class may have more records than it needs.
    """
    sketch_records(sketch, block.main.records, n)
    order_seeds(block, sketch, workspace, n)
    n_clusters = cython.declare(cython.Py_ssize_t, 0)
    n_failures = 0
    for place in range(n):
        i = low_half(block.main.keys[place])
        if block.main.ranks[i] >= 0:
            continue
        if grow_cluster(block, sketch, workspace, i, n_clusters):
            n_clusters += 1
            n_failures = 0
        else:
            n_failures += 1
            if n_failures == _MOST_FAILURES:
                break
    if n_clusters > 0:
        join_rest(block, sketch, n)
    write_clusters(block, n, rows, n_clusters)


def order_seeds(
    block: Block, sketch: Sketch, workspace: SearchWorkspace, n: int
) -> None:
    """Fill ``keys`` with the records, those with the closest neighbours first.

    A record that is a class by itself comes before all others, lest it be another's.
    """
    least = workspace.rules.min_rows
    rank = cython.declare(cython.longlong, max(1, min(least - 1, n - 1)))
    step = cython.declare(cython.longlong, 1 + n // _SAMPLE)
    # Where only some are looked at, fewer of them are that close.
    rank = max(1, rank // step)
    for i in range(n):
        block.main.ranks[i] = -1
        far = cython.declare(cython.longlong, 0)
        if block.main.records[i, block.main.rows_at] < least:
            far = 1 + solitude(sketch, i, n, step, rank)
        block.main.keys[i] = (far << _HALF) | i
    sort_keys(data(block.main.keys), 0, n - 1)


def grow_cluster(
    block: Block, sketch: Sketch, workspace: SearchWorkspace, seed: int, number: int
) -> bool:
    """Make a cluster around a seed; return whether the models admit it."""
    n_before = sketch.n_left
    clear(workspace.side_counts)
    rows = add_member(block, sketch, workspace, seed, number)
    if rules_admit(workspace.rules, rows, workspace.side_counts):
        return True
    list_left(sketch, seed, _LISTED + _LISTED_PER_ROW * workspace.rules.min_rows)
    start_box(sketch, seed)
    while not rules_admit(workspace.rules, rows, workspace.side_counts):
        place = next_member(block, sketch, workspace, rows)
        if place < 0:
            for other in range(sketch.n_left, n_before):
                block.main.ranks[sketch.left[other]] = -1
            sketch.n_left = n_before
            return False
        member = sketch.near[place]
        sketch.near[place] = -1
        widen_box(sketch, member)
        rows += add_member(block, sketch, workspace, member, number)
    return True


def add_member(
    block: Block, sketch: Sketch, workspace: SearchWorkspace, i: int, number: int
) -> int:
    """Put a record into a cluster; return its rows."""
    take(sketch, i)
    block.main.ranks[i] = number
    record = row(block.main.records, i)
    add_record(workspace.side_counts, workspace.rules, record)
    return record[block.main.rows_at]


def next_member(
    block: Block, sketch: Sketch, workspace: SearchWorkspace, rows: int
) -> int:
    """Return the place on the list of the record that widens the box least, or -1.

    With rows enough, one comes first with which the models admit the cluster.
    """
    best = -1
    if rows >= workspace.rules.min_rows:
        best = narrowest(block, sketch, workspace, rows, True)
    if best < 0:
        best = narrowest(block, sketch, workspace, rows, False)
    return best


def narrowest(
    block: Block, sketch: Sketch, workspace: SearchWorkspace, rows: int, last: bool
) -> int:
    """Return the place of the record that widens the box least, or -1.

    The models have to admit the cluster with it if it is the ``last``.
    """
    best = -1
    least = 0
    for place in range(sketch.n_listed):
        i = sketch.near[place]
        if i < 0:
            continue
        width = box_with(sketch, i)
        if best >= 0 and width >= least:
            continue
        if last and not admits_with(block, workspace, rows, i):
            continue
        best = place
        least = width
    return best


def admits_with(block: Block, workspace: SearchWorkspace, rows: int, i: int) -> bool:
    """Return whether the models admit the cluster that is counted with one more."""
    record = row(block.main.records, i)
    more = cython.cast(cython.longlong, record[block.main.rows_at])
    change_counts(workspace.side_counts, workspace.rules, record, more)
    admits = rules_admit(workspace.rules, rows + more, workspace.side_counts)
    change_counts(workspace.side_counts, workspace.rules, record, -more)
    return admits


def join_rest(block: Block, sketch: Sketch, n: int) -> None:
    """Put each record that is left into the cluster of the one closest to it."""
    n_left = sketch.n_left
    for place in range(n_left):
        i = sketch.left[place]
        best = -1
        least = 0
        for other in range(n_left, n):
            j = sketch.left[other]
            far = distance(sketch, i, j)
            if best < 0 or far < least:
                best = j
                least = far
        block.main.ranks[i] = block.main.ranks[best]


def write_clusters(block: Block, n: int, rows: int, n_clusters: int) -> None:
    """Put the records into the order of their clusters, which become nodes."""
    add_node(node_at(block.nodes, 0), 0, -1, 0, n, rows)
    block.n_nodes = 1
    block.n_records = n
    if n_clusters == 0:
        return
    block.nodes[0].kind = CUT
    for i in range(n):
        block.main.keys[i] = (block.main.ranks[i] << _HALF) | i
        copy_record(block.main.records, i, block.out, i)
    sort_keys(data(block.main.keys), 0, n - 1)
    for place in range(n):
        i = low_half(block.main.keys[place])
        copy_record(block.out, i, block.main.records, place)
        more = cython.cast(cython.longlong, block.out[i, block.main.rows_at])
        node = cython.declare(cython.int, 1 + (block.main.keys[place] >> _HALF))
        if node == block.n_nodes:
            add_node(node_at(block.nodes, node), node, 0, place, place, 0)
            block.nodes[node].kind = CLASS
            block.n_nodes += 1
        block.nodes[node].stop = place + 1
        block.nodes[node].rows += more
