"""Spend the budget of the policy `best`: suppress what costs more to release.

A row that would be suppressed may be in a class that needs it once classes are relaxed
and regrouped. So there are two ways, and the cheaper one is taken: to suppress records
of the finished classes, or of classes that are only cut, which then are searched
without them.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.layout import Codes, fields
from core_mondrian.engine.scheduler import Nodes, Report
from core_mondrian.engine.search.best import (
    BestSearch,
    Searched,
    loss_of,
    worth_of_nodes,
)
from core_mondrian.engine.search.suppression import OutlierScan
from core_mondrian.engine.search.workspace import RecordBuffers

Integers = NDArray[np.int64]


def search_with_budget(
    search: BestSearch, roots: Nodes, price: float, budget: int, report: Report
) -> Searched:
    """Search below ``roots`` and suppress up to ``budget`` rows at ``price`` each.

    Roots that are suppressed already are part of it.
    """
    n_gone = _n_suppressed(roots)
    left = budget - n_gone
    if not left:
        return search.run(roots, report)
    nodes = search.cut(roots, lambda done: report(done / 3))
    kept = search.solve(nodes, lambda done: report(1 / 3 + done / 3))
    late = suppress_rows(search, kept, price, left)
    plain = search.search._replace(relaxes=False, rolls_out=False, width=0)
    rough = replace(search, search=plain).solve(nodes, lambda _: None)
    chosen = suppress_rows(search, rough, price, left)
    lost = chosen.nodes[chosen.nodes["kind"] == layout.SUPPRESSED]
    if int(lost["rows"].sum()) == n_gone:
        return late
    gone = [chosen.records[one["start"] : one["stop"], -1] for one in lost]
    apart = set_apart(search, nodes, np.concatenate(gone))
    early = search.solve(apart, lambda done: report(2 / 3 + done / 3))
    left = budget - _n_suppressed(early.nodes)
    early = suppress_rows(search, early, price, left)
    return min(late, early, key=lambda item: _cost(search, item, price))


def at_least(
    search: BestSearch, found: Searched, other: Searched, price: float
) -> Searched:
    """Return what was found, or the other tree searched further if that costs less.

    The other is the paper's: its funnel takes a tenth of the time of the search and
    has other blind spots.
    """
    loss = loss_of(search, other.records, other.nodes)
    other = other._replace(loss=loss)
    if _cost(search, other, price) >= _cost(search, found, price):
        return found
    search.buffers.array[:] = other.records
    further = search.solve(other.nodes, lambda _: None)
    return min(found, further, key=lambda item: _cost(search, item, price))


def _cost(search: BestSearch, found: Searched, price: float) -> float:
    lost = found.nodes[found.nodes["kind"] == layout.SUPPRESSED]
    return found.loss + price * int(worth_of_nodes(search, found.records, lost).sum())


def _n_suppressed(nodes: Nodes) -> int:
    return int(nodes["rows"][nodes["kind"] == layout.SUPPRESSED].sum())


def set_apart(search: BestSearch, nodes: Nodes, gone: Codes) -> Nodes:
    """Return the blocks without the tuples ``gone``, which become nodes beside them."""
    records = search.buffers.array
    is_gone = np.zeros(int(records[:, -1].max()) + 1, dtype=np.bool_)
    is_gone[gone] = True
    kept, stops, rows = [], [], []
    leaves = np.flatnonzero(nodes["kind"] == layout.CLASS)
    for leaf in leaves.tolist():
        inside = slice(nodes["start"][leaf], nodes["stop"][leaf])
        part = records[inside].copy()
        lost = is_gone[part[:, -1]]
        records[inside] = part[np.argsort(lost, kind="stable")]
        kept.append(nodes["stop"][leaf] - np.count_nonzero(lost))
        stops.append(nodes["stop"][leaf])
        rows.append(nodes["rows"][leaf] - part[lost, -2].sum(dtype=np.int64))
    return _with_suppressed(
        nodes, leaves, np.array(kept), np.array(stops), np.array(rows)
    )


def suppress_rows(
    search: BestSearch, found: Searched, price: float, budget: int
) -> Searched:
    """Return the classes without the records that are cheaper to suppress.

    Round by round, every class offers the record whose removal saves most per row;
    the best offers are taken while the budget lasts.
    """
    nodes, records = found.nodes, found.records.copy()
    leaves = np.flatnonzero(nodes["kind"] == layout.CLASS)
    leaves = leaves[np.argsort(nodes["start"][leaves], kind="stable")]
    starts = nodes["start"][leaves].astype(np.int64)
    # The records of a class from ``kept`` on are suppressed.
    kept = nodes["stop"][leaves].astype(np.int64)
    stops = kept.copy()
    rows = nodes["rows"][leaves].copy()
    saved = np.empty(leaves.size)
    taken = np.empty(leaves.size, dtype=np.int64)
    is_open = np.ones(leaves.size, dtype=np.bool_)
    scan = OutlierScan(RecordBuffers(records), search.workspaces[0], price)
    scan.set_classes(starts, kept, rows)
    left = budget
    while left > 0 and is_open.any():
        scan.find_outliers(is_open, saved, taken)
        offers = np.flatnonzero(is_open & (saved > 0.0))
        is_open[:] = False
        # Ties keep the order of the classes.
        for leaf in offers[np.argsort(-saved[offers], kind="stable")].tolist():
            lost = _take(records, starts[leaf], kept[leaf], int(taken[leaf]), left)
            if not lost:
                continue
            kept[leaf] -= lost[0]
            rows[leaf] -= lost[1]
            left -= lost[1]
            is_open[leaf] = kept[leaf] > starts[leaf]
    joined = _with_suppressed(nodes, leaves, kept, stops, rows)
    return Searched(joined, records, loss_of(search, records, joined))


def _take(
    records: Codes, start: int, stop: int, record: int, left: int
) -> tuple[int, int] | None:
    """Move a record, or with -1 all of them, behind the others; return how many.

    Returns None if they have more rows than ``left``.
    """
    if record < 0:
        n_rows = int(records[start:stop, -2].sum(dtype=np.int64))
        return None if n_rows > left else (int(stop - start), n_rows)
    n_rows = int(records[record, -2])
    if n_rows > left:
        return None
    gone = records[record].copy()
    records[record : stop - 1] = records[record + 1 : stop].copy()
    records[stop - 1] = gone
    return 1, n_rows


def _with_suppressed(
    nodes: Nodes, leaves: Integers, kept: Integers, stops: Integers, rows: Integers
) -> Nodes:
    """Return the tree with a suppressed node beside each leaf that lost records.

    ``kept`` says where what a leaf keeps ends, ``rows`` how many rows that has.
    """
    nodes = layout.join_fields([nodes])
    touched = np.flatnonzero(kept < stops)
    added = fields(2 * touched.size, layout.NODE)
    for name in ("first_child", "column", "at", "low", "high"):
        added[name] = -1
    n = 0
    for place in touched.tolist():
        node = int(leaves[place])
        if kept[place] == nodes["start"][node]:
            nodes["kind"][node] = layout.SUPPRESSED
            continue
        stay, lost = added[n], added[n + 1]
        stay["parent"] = lost["parent"] = node
        stay["kind"], lost["kind"] = layout.CLASS, layout.SUPPRESSED
        stay["start"], stay["stop"] = nodes["start"][node], kept[place]
        lost["start"], lost["stop"] = kept[place], stops[place]
        stay["rows"], lost["rows"] = rows[place], nodes["rows"][node] - rows[place]
        nodes["kind"][node] = layout.CUT
        nodes["first_child"][node], nodes["n_children"][node] = nodes.size + n, 2
        n += 2
    return layout.join_fields([nodes, added[:n]])
