"""Spend the budget of the policy `best`: suppress what costs more to release.

A row that would be suppressed may be in a class that needs it once classes are relaxed
and regrouped. So there are two ways, and the cheaper one is taken: to suppress records
of the finished classes, or of classes that are only cut, which then are searched
without them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine import layout
from core_mondrian.engine.layout import Floats, blank_nodes
from core_mondrian.engine.scheduler import Nodes, Report
from core_mondrian.engine.search.best import (
    BestSearch,
    Searched,
    loss_of,
    worth_of_nodes,
)
from core_mondrian.engine.search.suppression import OutlierScan
from core_mondrian.engine.search.workspace import RecordBuffers
from core_mondrian.runtime.array_types import Integers


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
    rough = search.roughly().solve(nodes, lambda _: None)
    chosen = suppress_rows(search, rough, price, left)
    lost = chosen.nodes[chosen.nodes["kind"] == layout.SUPPRESSED]
    if int(lost["rows"].sum()) == n_gone:
        return late
    gone = [chosen.records[one["start"] : one["stop"], -1] for one in lost]
    apart = separate_suppressed(search, nodes, np.concatenate(gone))
    early = search.solve(apart, lambda done: report(2 / 3 + done / 3))
    left = budget - _n_suppressed(early.nodes)
    early = suppress_rows(search, early, price, left)
    return min(late, early, key=lambda item: _cost(search, item, price))


def keep_better(
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


def separate_suppressed(search: BestSearch, nodes: Nodes, gone: NDArray[Any]) -> Nodes:
    """Return the blocks without the tuples ``gone``, which become nodes beside them."""
    records = search.buffers.array
    is_gone = np.isin(records[:, -1], gone)
    kept, stops, rows = [], [], []
    leaves = np.flatnonzero(nodes["kind"] == layout.CLASS)
    for leaf in leaves.tolist():
        inside = slice(nodes["start"][leaf], nodes["stop"][leaf])
        part, lost = records[inside].copy(), is_gone[inside]
        records[inside] = part[np.argsort(lost, kind="stable")]
        kept.append(nodes["stop"][leaf] - np.count_nonzero(lost))
        stops.append(nodes["stop"][leaf])
        rows.append(nodes["rows"][leaf] - part[lost, -2].sum(dtype=np.int64))
    return _with_suppressed(
        nodes, leaves, np.array(kept), np.array(stops), np.array(rows)
    )


class Offers(NamedTuple):
    """Records that classes would rather suppress, class by class and one after another.

    What a class offers next depends on what it has given, and on no other class.
    """

    n_classes: int
    owner: Integers
    """The class of each offer, rising; classes are in the order of their records."""
    saved: Floats
    """What is saved per row."""
    rows: Integers

    @staticmethod
    def joined(parts: "Sequence[Offers]") -> "Offers":
        """Return the offers of several parts, one after the other."""
        first = np.cumsum([0, *(part.n_classes for part in parts)])
        pairs = zip(parts, first.tolist(), strict=False)
        return Offers(
            int(first[-1]),
            np.concatenate([part.owner + at for part, at in pairs]),
            np.concatenate([part.saved for part in parts]),
            np.concatenate([part.rows for part in parts]),
        )


class _Giving:
    """Classes while they give records away, the best one first."""

    def __init__(self, search: BestSearch, found: Searched, price: float) -> None:
        nodes = found.nodes
        self.nodes, self.records = nodes, found.records.copy()
        leaves = np.flatnonzero(nodes["kind"] == layout.CLASS)
        self.leaves = leaves[np.argsort(nodes["start"][leaves], kind="stable")]
        self.starts = nodes["start"][self.leaves].astype(np.int64)
        # The records of a class from ``kept`` on are suppressed.
        self.kept = nodes["stop"][self.leaves].astype(np.int64)
        self.stops = self.kept.copy()
        self.rows = nodes["rows"][self.leaves].copy()
        self._scan = OutlierScan(
            RecordBuffers(self.records), search.workspaces[0], price
        )
        self._scan.set_classes(self.starts, self.kept, self.rows)
        self.saved = np.empty(self.leaves.size)
        self._record = np.empty(self.leaves.size, dtype=np.int64)

    def look(self, classes: Integers) -> Integers:
        """Let classes say what they would give; return those that would."""
        is_open = np.zeros(self.leaves.size, dtype=np.bool_)
        is_open[classes] = self.kept[classes] > self.starts[classes]
        self._scan.find_outliers(is_open, self.saved, self._record)
        return np.flatnonzero(is_open & (self.saved > 0.0))

    def offered_rows(self, classes: Integers) -> Integers:
        """Return how many rows each of the classes offers."""
        record = self._record[classes]
        own = self.records[np.maximum(record, 0), -2]
        rows: Integers = np.where(record < 0, self.rows[classes], own)
        return rows

    def give(self, classes: Integers) -> None:
        """Let each of the classes give what it offered."""
        rows = self.offered_rows(classes)
        for leaf, n_rows in zip(classes.tolist(), rows.tolist(), strict=True):
            self.kept[leaf] -= self._move(leaf)
            self.rows[leaf] -= n_rows

    def _move(self, leaf: int) -> int:
        """Move a record, or all of them, behind the others; return how many."""
        start, stop = int(self.starts[leaf]), int(self.kept[leaf])
        record = int(self._record[leaf])
        if record < 0:
            return stop - start
        gone = self.records[record].copy()
        self.records[record : stop - 1] = self.records[record + 1 : stop].copy()
        self.records[stop - 1] = gone
        return 1

    def finish(self, search: BestSearch) -> Searched:
        """Return the classes without what they gave."""
        nodes = _with_suppressed(
            self.nodes, self.leaves, self.kept, self.stops, self.rows
        )
        return Searched(nodes, self.records, loss_of(search, self.records, nodes))


def list_offers(
    search: BestSearch, found: Searched, price: float, budget: int
) -> Offers:
    """Ask every class what it would give, one record after the other.

    No class is asked for more rows than the budget has.
    """
    giving = _Giving(search, found, price)
    given = np.zeros(giving.leaves.size, dtype=np.int64)
    owners, saved, rows = [given[:0]], [giving.saved[:0].copy()], [given[:0]]
    classes = np.arange(giving.leaves.size)
    while classes.size:
        classes = giving.look(classes)
        n_rows = giving.offered_rows(classes)
        given[classes] += n_rows
        is_possible = given[classes] <= budget
        classes, n_rows = classes[is_possible], n_rows[is_possible]
        owners.append(classes)
        saved.append(giving.saved[classes].copy())
        rows.append(n_rows)
        giving.give(classes)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    found_saved, found_rows = np.concatenate(saved), np.concatenate(rows)
    return Offers(
        giving.leaves.size, owner[order], found_saved[order], found_rows[order]
    )


def choose_offers(offers: Offers, budget: int) -> Integers:
    """Return how many of its offers each class gives.

    Round by round, every class offers the record whose removal saves most per row; the
    best offers are taken while the budget lasts. A class whose offer does not fit is
    not asked again.
    """
    first = np.searchsorted(offers.owner, np.arange(offers.n_classes + 1))
    place, stop = first[:-1].copy(), first[1:]
    is_open = place < stop
    left = budget
    while left > 0 and is_open.any():
        classes = np.flatnonzero(is_open)
        is_open[:] = False
        # Ties keep the order of the classes.
        order = np.argsort(-offers.saved[place[classes]], kind="stable")
        for leaf in classes[order].tolist():
            n_rows = int(offers.rows[place[leaf]])
            if n_rows > left:
                continue
            left -= n_rows
            place[leaf] += 1
            is_open[leaf] = place[leaf] < stop[leaf]
    steps: Integers = place - first[:-1]
    return steps


def take_offers(
    search: BestSearch, found: Searched, price: float, steps: Integers
) -> Searched:
    """Return the classes without the first of their offers, so many of each."""
    giving = _Giving(search, found, price)
    left = steps.copy()
    while (classes := np.flatnonzero(left)).size:
        giving.look(classes)
        giving.give(classes)
        left[classes] -= 1
    return giving.finish(search)


def suppress_rows(
    search: BestSearch, found: Searched, price: float, budget: int
) -> Searched:
    """Return the classes without the records that are cheaper to suppress."""
    offers = list_offers(search, found, price, budget)
    return take_offers(search, found, price, choose_offers(offers, budget))


def _with_suppressed(
    nodes: Nodes, leaves: Integers, kept: Integers, stops: Integers, rows: Integers
) -> Nodes:
    """Return the tree with a suppressed node beside each leaf that lost records.

    ``kept`` says where what a leaf keeps ends, ``rows`` how many rows that has.
    """
    nodes = layout.join_fields([nodes])
    touched = np.flatnonzero(kept < stops)
    added = blank_nodes(2 * touched.size)
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
