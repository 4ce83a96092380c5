"""All that the policy `best` works on: records, objective, scratch, classes.

Compiled, the arrays are views that only compiled code reaches; Python has those that
are named ``..._array``, and ``funnel``.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import (
    CANDIDATE,
    FOUND,
    GROUP,
    N_STAGES,
    NEAR,
    NODE,
    POOLED_CLASS,
    RANGE,
    SEGMENT,
    SIDE,
    TOTAL,
    VALUE_SET,
    Codes,
    Counts,
    Models,
    Objective,
    fields,
    join_fields,
    raw_fields,
)
from core_mondrian.engine.model_rules import Rules, SetCounts
from core_mondrian.engine.search.lanes import NO_LANES, Lanes

# A histogram this long is scanned in a few milliseconds; longer codes are sorted.
_LONGEST_HISTOGRAM = 2**20
_LARGEST_JOINT = 2**16
MOST_NEIGHBOURS = 16
# Twice as many neighbours as are asked for: some of them will change.
MOST_LISTED = 2 * MOST_NEIGHBOURS
# As many as annealing looks at.
N_ALIKE = 24
MOST_GIFTS = 32
_BITS = 63


class ObjectiveViews:
    """The objective as compiled code reads it."""

    def __init__(self, objective: Objective) -> None:
        self.info = objective.info
        self.positions = objective.positions
        self.levels = objective.levels
        self.shares = objective.shares
        self.nodes = objective.nodes
        self.worth = objective.worth
        self.has_worth = objective.worth.size > 0
        self.n_columns = objective.info.size


class RecordBuffers:
    """Records that are searched, and scratch of the same length.

    A partition is a slice of the records; it may use its own slice of all scratch, so
    that threads on disjoint partitions never meet.

    records      as in ``Tuples``; ``array`` is the same array for Python
    codes        another column's codes, group after group
    worth        what the rows with these codes are worth
    """

    def __init__(self, records: Codes) -> None:
        n = records.shape[0]
        self.array = records
        self.records = records
        self.rows_at = records.shape[1] - 2
        self.spare = np.empty_like(records)
        self.keys = np.empty(n, dtype=np.int64)
        self.ranks = np.empty(n, dtype=np.int64)
        self.codes = np.empty(n, dtype=np.int32)
        self.worth = np.empty(n, dtype=np.int32)

    def take_pairs(self, codes: Codes, worth: Codes) -> None:
        """Use pairs of codes that were counted elsewhere."""
        self.codes = codes
        self.worth = worth


class SearchWorkspace:
    """One thread's scratch, the objective, and the models.

    totals           the partition's box and sums, per column
    active           the columns in which the partition is not constant
    wanted           whether cuts of a column are looked for; else another thread does
    found            the best cut of each column; one more for cuts between ties
    joint            rows by pair of codes of two columns
    counts, side     rows of the partition, and of one side, by code of all categories
    groups           the records of a partition by code of one column, from place 0 on:
                     what one partition wrote is still in the cache for the next
    ordered          the same groups in another order
    candidates       the cuts of one column, 3 places per code
    levels, squares  of each group, the sum of another column's levels, and of their
                     squares
    """

    n_active: int
    n_groups: int

    def __init__(self, objective: Objective, models: Models) -> None:
        info = objective.info
        n_columns = info.size
        n_counts = int(info["n_codes"][info["kind"] != RANGE].sum())
        longest = int(info["n_codes"].max()) + 1
        self.objective = ObjectiveViews(objective)
        self.rules = Rules(models, n_columns)
        self.n_columns = n_columns
        self.totals_array = fields(n_columns, TOTAL)
        self.totals = self.totals_array
        self.active_array = np.zeros(n_columns, dtype=np.int32)
        self.active = self.active_array
        self.wanted = np.ones(n_columns, dtype=np.int32)
        self.found_array = fields(n_columns + 1, FOUND)
        self.found = self.found_array
        self.histogram = _zeros(min(longest, _LONGEST_HISTOGRAM))
        self.joint = _zeros(_LARGEST_JOINT)
        self.counts = _zeros(n_counts)
        self.side = _zeros(n_counts)
        self.group_array = raw_fields(longest, GROUP)
        self.groups = self.group_array
        self.ordered = raw_fields(longest, GROUP)
        self.candidates = raw_fields(3 * longest, CANDIDATE)
        self.level_array = np.empty(longest, dtype=np.int64)
        self.levels = self.level_array
        self.square_array = np.empty(longest, dtype=np.int64)
        self.squares = self.square_array
        self.all_counts = SetCounts(models.n_counts, models.n_persons)
        self.side_counts = SetCounts(models.n_counts, models.n_persons)
        self.rest_counts = SetCounts(models.n_counts, models.n_persons)
        self.funnel = np.zeros((N_STAGES, n_columns), dtype=np.int64)
        self.counters = self.funnel

    def active_columns(self) -> list[int]:
        """Return the columns in which the partition is not constant."""
        columns: list[int] = self.active_array[: self.n_active].tolist()
        return columns

    def set_wanted(self, columns: Sequence[int] | None) -> None:
        """Look for cuts of these columns only; None: of all."""
        for column in range(self.n_columns):
            self.wanted[column] = 1 if columns is None or column in columns else 0


def _zeros(n: int) -> Counts:
    """Return ``n`` counts of 0."""
    return np.zeros(n, dtype=np.int64)


class Block:
    """A partition that is solved in one go, away from the others, and its scratch.

    out         the finished classes' records
    plans       the best cut of each column while they are tried out
    room        how many records the block may come to, by its own size alone
    pool_room   how many its classes may come to while they are regrouped
    """

    def __init__(self, room: int, width: int, n_columns: int) -> None:
        self.main = RecordBuffers(_records(room, width))
        self.trial = RecordBuffers(_records(room, width))
        self.out = _records(room, width)
        self.nodes = raw_fields(2 * room + 2, NODE)
        self.stack = raw_fields(2 * room + 2, SEGMENT)
        self.plans = fields(n_columns, FOUND)
        self.before = np.empty(room)
        self.after = np.empty(room)


def _records(n: int, width: int) -> Codes:
    """Return room for ``n`` records."""
    return np.empty((n, width), dtype=np.int32)


def _numbers(n: int) -> Codes:
    """Return room for ``n`` numbers."""
    return np.empty(n, dtype=np.int32)


class Sketch:
    """The records of a block as rows of small numbers, one for each lane.

    How far apart two rows are is about what the records lose together, and quickly
    added up: see ``lanes``.

    columns      the column of each lane; table and offsets: the number of each code
    caps         what a lane adds at most
    places       the numbers of each record
    low, high    the box of a cluster
    left         the records without a cluster; where: the place of each among them
    near         the records that are nearest to one of them, and how far they are
    n_listed     how many of these there are
    """

    def __init__(self, room: int, lanes: Lanes) -> None:
        self.columns = lanes.columns
        self.offsets = lanes.offsets
        self.table = lanes.table
        self.caps = lanes.caps
        self.n_lanes = lanes.caps.size
        self.places = np.empty((room, self.n_lanes), dtype=np.int16)
        self.low = np.empty(self.n_lanes, dtype=np.int16)
        self.high = np.empty(self.n_lanes, dtype=np.int16)
        self.left = _numbers(room)
        self.where = _numbers(room)
        self.near = _numbers(room)
        self.far = _numbers(room)
        self.n_listed = 0
        self.n_left = 0


class ClassSet:
    """The classes of a block while records are exchanged between them.

    next        the next record of the same class, -1 after the last; free ones likewise
    low, high   the box of each class (axis 0) in each column (axis 1)
    losses      what each row of a class loses in each column
    bits        the values of each class in the columns released as sets, 63 to a word
    near        the classes nearest to one of them
    lists       the nearest classes of each class when they were last looked for
    sides       two classes that may exchange records, and what each of them gives
    free        the first of the places without a record
    clock       when classes were changed, and tried
    since       classes that changed before need no look as targets of a move
    lot         what the next lot is made from
    sketch      the records as they are compared quickly, where there are clusters
    is_quick    whether classes lose what their sketches say, while they are annealed

    While they are annealed, also:

    tuple_of    the tuple of each record; tuples are numbered from 0 in each block
    owner       the class of each record
    of, n_of    the first record of each tuple, and how many there are
    after       the next record of the same tuple, -1 after the last
    prior       the one before it, -1 before the first
    heads       by a hash, the first tuple with it
    chain       the next one with the same hash, -1 after the last
    alike       the tuples that lose least together with each, the nearest first
    members     the classes that lose something; vacant: those without records
    gifts       the rows that classes were given or gave, to undo that
    least       what a step costs as far as it is known
    kept_...    the classes as they were before
    """

    def __init__(
        self,
        room: int,
        n_classes: int,
        width: int,
        objective: Objective,
        *,
        anneals: bool = False,
        lanes: Lanes | None = None,
    ) -> None:
        info = objective.info
        sets = info["n_codes"][info["kind"] == VALUE_SET]
        n_words = int((-(-sets // _BITS)).sum())
        self.records = _records(room, width)
        self.next = np.empty(room, dtype=np.int32)
        self.classes = raw_fields(n_classes, POOLED_CLASS)
        self.low = _records(n_classes, info.size)
        self.high = _records(n_classes, info.size)
        self.losses = np.empty((n_classes, info.size))
        self.bits = np.empty((n_classes, n_words), dtype=np.int64)
        self.near = raw_fields(MOST_NEIGHBOURS + 1, NEAR)
        self.lists = raw_fields(n_classes * MOST_LISTED, NEAR)
        self.sides = raw_fields(2, SIDE)
        self.lot = 0
        self.sketch = Sketch(room if lanes else 1, lanes or NO_LANES)
        self.has_sketch = lanes is not None
        self.is_quick = False
        self._add_scratch(room if anneals else 1, n_classes if anneals else 1, width)

    def _add_scratch(self, room: int, n_classes: int, width: int) -> None:
        """Make what annealing needs."""
        self.gifts = raw_fields(MOST_GIFTS, SIDE)
        self.tuple_of = _numbers(room)
        self.owner = _numbers(room)
        self.after = _numbers(room)
        self.prior = _numbers(room)
        self.of = _numbers(room)
        self.n_of = _numbers(room)
        self.heads = _numbers(room)
        self.chain = _numbers(room)
        self.alike = _numbers(room * N_ALIKE)
        self.alike_loss = np.empty(N_ALIKE)
        self.members = _numbers(n_classes)
        self.vacant = _numbers(n_classes)
        self.kept_records = _records(room, width)
        self.kept_next = _numbers(room)
        self.kept_classes = raw_fields(n_classes, POOLED_CLASS)


class SolvedBlocks:
    """Blocks to be solved, and their nodes and records once they are.

    spans   start, stop, rows, room and pool room of each; whether it is suppressed
    edges   where the nodes and records of each begin, and where the last end
    """

    def __init__(self, spans: Counts, n_records: int, width: int) -> None:
        self.spans = spans
        self.node_array = raw_fields(int((2 * spans[:, 3] + 2).sum()), NODE)
        self.nodes = self.node_array
        self.record_array = _records(n_records, width)
        self.records = self.record_array
        self.edge_array = np.empty((spans.shape[0] + 1, 2), dtype=np.int64)
        self.edges = self.edge_array
        self.n_nodes = 0
        self.n_records = 0

    def finish(self) -> tuple[NDArray[np.void], Codes, Counts]:
        """Return nodes and records, as long as they became, and the edges."""
        nodes = join_fields([self.node_array[: self.n_nodes]])
        return nodes, self.record_array[: self.n_records].copy(), self.edge_array
