"""Spend the budget of the policy `best`: suppress what costs more to release."""

from dataclasses import replace

import numpy as np

from core_mondrian.kernels import layout
from core_mondrian.kernels.layout import fields
from core_mondrian.kernels.suppress import find_outliers
from core_mondrian.partition.best import BestSearch, Searched, loss_of
from core_mondrian.policies import BestPolicy
from core_mondrian.spec import Spec


def suppress_rows(
    search: BestSearch, found: Searched, spec: Spec, budget: int
) -> Searched:
    """Return the classes without the records that are cheaper to suppress.

    Round by round, every class offers the record whose removal saves most per row;
    the best offers are taken while the budget lasts.
    """
    if not isinstance(spec.policy, BestPolicy):
        raise TypeError("suppress_rows needs the policy 'best'")
    weights = float(search.aims.info.weight.sum())
    price = spec.policy.price * weights
    nodes, records = found.nodes, found.records.copy()
    leaves = np.flatnonzero(nodes.kind == layout.CLASS)
    leaves = leaves[np.argsort(nodes.start[leaves], kind="stable")]
    starts = nodes.start[leaves].astype(np.int64)
    # The records of a class from ``kept`` on are suppressed.
    kept = nodes.stop[leaves].astype(np.int64)
    stops = kept.copy()
    rows = nodes.rows[leaves].copy()
    saved = np.empty(leaves.size)
    taken = np.empty(leaves.size, dtype=np.int64)
    is_open = np.ones(leaves.size, dtype=np.bool_)
    left = budget
    while left > 0 and is_open.any():
        find_outliers(
            *(records, starts, kept, rows, search.aims, search.models),
            *(search.finders[0], price, is_open, saved, taken),
        )
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
    return _with_suppressed(search, found, records, (leaves, kept, stops, rows))


def _take(
    records: layout.Codes, start: int, stop: int, record: int, left: int
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
    search: BestSearch,
    found: Searched,
    records: layout.Codes,
    leaves: tuple[np.ndarray, ...],
) -> Searched:
    """Return the tree with a suppressed node beside each class that lost records."""
    numbers, kept, stops, rows = leaves
    nodes = found.nodes.copy()
    touched = np.flatnonzero(kept < stops)
    added = fields(2 * touched.size, layout.NODE)
    n = 0
    for leaf in touched.tolist():
        node = int(numbers[leaf])
        if kept[leaf] == nodes.start[node]:
            nodes.kind[node] = layout.SUPPRESSED
            continue
        for part in added[n : n + 2]:
            part.parent, part.first_child, part.column, part.at = node, -1, -1, -1
            part.low, part.high = -1, -1
        stay, lost = added[n], added[n + 1]
        stay.kind, lost.kind = layout.CLASS, layout.SUPPRESSED
        stay.start, stay.stop = nodes.start[node], kept[leaf]
        lost.start, lost.stop = kept[leaf], stops[leaf]
        stay.rows, lost.rows = rows[leaf], nodes.rows[node] - rows[leaf]
        nodes.kind[node] = layout.CUT
        nodes.first_child[node], nodes.n_children[node] = nodes.size + n, 2
        n += 2
    joined = np.concatenate([nodes, added[:n]]).view(np.recarray)
    loss = loss_of(search, records, joined)
    return replace(found, nodes=joined, records=records, loss=loss)
