"""Find the records that are cheaper to suppress than to release."""

import cython
from cython.cimports.core_mondrian.engine.model_rules import (
    add_record,
    clear,
    rules_admit,
)
from cython.cimports.core_mondrian.engine.records import row
from cython.cimports.core_mondrian.engine.search.class_loss import (
    class_loss,
    worth_between,
)
from cython.cimports.core_mondrian.engine.search.exact_cuts import ROUNDING
from cython.cimports.core_mondrian.engine.search.objective import worth_of

from core_mondrian.engine.layout import Counts, Flags, Floats
from core_mondrian.engine.search.workspace import RecordBuffers, SearchWorkspace


class OutlierScan:
    """Classes, what a suppressed row costs, and what each class offers.

    starts, stops, rows   where the records of each class are, and how many rows
    is_open               the classes that are looked at
    saved                 what a class saves per row by losing its worst record
    taken                 which record that is; -1: the class as a whole
    """

    def __init__(
        self, buffers: RecordBuffers, workspace: SearchWorkspace, price: float
    ) -> None:
        self.buffers = buffers
        self.workspace = workspace
        self.price = price

    def set_classes(self, starts: Counts, stops: Counts, rows: Counts) -> None:
        """Look at these classes; they may change between two calls."""
        self.starts = starts
        self.stops = stops
        self.rows = rows

    def find_outliers(self, is_open: Flags, saved: Floats, taken: Counts) -> None:
        """Fill ``saved`` and ``taken`` of every open class."""
        self.is_open = is_open.view("u1")
        self.saved = saved
        self.taken = taken
        with cython.nogil:
            for leaf in range(self.starts.shape[0]):
                if self.is_open[leaf]:
                    scan_class(self, leaf)


def scan_class(scan: OutlierScan, leaf: int) -> None:
    """Fill what a class saves per row by losing its worst record, and which that is.

    A row that is worth more is dearer to lose, too. The class as a whole is offered
    where it is dearer than its price.
    """
    start = scan.starts[leaf]
    stop = scan.stops[leaf]
    rows = scan.rows[leaf]
    loss = class_loss(scan.buffers, scan.workspace, start, stop, -1)
    worth = worth_between(scan.buffers, scan.workspace.objective, start, stop, rows)
    # Compared with others by the row, because the budget is rows.
    saved = loss - scan.price if loss - scan.price > ROUNDING * scan.price else 0.0
    scan.saved[leaf] = saved * (float(worth) / rows)
    scan.taken[leaf] = -1
    if stop - start == 1 or loss == 0.0:
        return
    for i in range(start, stop):
        try_record(scan, leaf, i, worth * loss, worth)


def try_record(scan: OutlierScan, leaf: int, i: int, lost: float, worth: int) -> None:
    """Offer a record if the class saves more without it than was offered so far.

    ``lost`` is what all rows of the class lose, and ``worth`` what they are worth.
    """
    record = row(scan.buffers.records, i)
    n = cython.cast(cython.longlong, record[scan.buffers.rows_at])
    others = scan.rows[leaf] - n
    if others < scan.workspace.rules.min_rows:
        return
    left = class_loss(
        scan.buffers, scan.workspace, scan.starts[leaf], scan.stops[leaf], i
    )
    own = worth_of(scan.workspace.objective, record, scan.buffers.rows_at)
    gain = (lost - (worth - own) * left) / n - scan.price * (float(own) / n)
    if gain <= scan.saved[leaf] + ROUNDING * scan.price:
        return
    if admits_others(scan, leaf, i, others):
        scan.saved[leaf] = gain
        scan.taken[leaf] = i


def admits_others(scan: OutlierScan, leaf: int, gone: int, rows: int) -> bool:
    """Return whether a class is still admitted without one of its records."""
    if not scan.workspace.rules.has_rules:
        return rows >= scan.workspace.rules.min_rows
    clear(scan.workspace.side_counts)
    for i in range(scan.starts[leaf], scan.stops[leaf]):
        if i != gone:
            record = row(scan.buffers.records, i)
            add_record(scan.workspace.side_counts, scan.workspace.rules, record)
    return rules_admit(scan.workspace.rules, rows, scan.workspace.side_counts)
