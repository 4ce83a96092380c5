"""Go through all sets of rows around a tuple, by the values they would show.

What a set of rows shows together is its hull: a range, a node, a set of values in each
column. All rows within a hull may join at no loss; a hull with all of them is closed.
Each closed hull around an anchor that loses little enough is looked at exactly once:
a tuple is added to a hull only if that takes in no tuple before it that the hull did
not have (Uno, Asai, Uchida and Arimura 2004, on closed item sets).

Candidates are the tuples near the anchor, by falling price; their places say which of
two comes first. The anchor itself is the first, with one row. A hull on the stack has

    members      its candidates
    open         those that may still be added, all of them behind the last one added
    passed       those that may not, because other hulls with them are looked at
"""

import cython
import numpy as np
from cython.cimports.core_mondrian.engine.layout import VALUE_SET
from cython.cimports.core_mondrian.engine.records import data, low_half
from cython.cimports.core_mondrian.engine.search.objective import box_loss
from cython.cimports.core_mondrian.engine.sorting import sort_keys
from cython.cimports.libc.math import INFINITY

from core_mondrian.bounds.tuples import TupleTree
from core_mondrian.engine.layout import VALUE_SET as SETS
from core_mondrian.engine.layout import Codes, Counts, Floats, Objective

# What is counted as no more: rounding.
_TRIFLE = 1e-12
# Hulls on the stack: each has one tuple more than the one below, at least.
_MOST_DEEP = 48
# Hulls around a tuple that are looked at before a coarser answer is taken: as many as
# this, while there are some left for all of them together; then a few.
_MOST_HULLS, _FEWEST_HULLS = 4096, 16
# Room for the candidates of all of them, per candidate.
_PLACES = 64


class NearLists:
    """Tuples that form sets around each anchor, one list after the other.

    numbers   the tuples near the anchors, the nearest first, each anchor among its own
    losses    what each loses together with its anchor
    edges     where the list of each anchor begins, and where the last ends
    """

    def __init__(self, numbers: Codes, losses: Floats, edges: Counts) -> None:
        self.numbers = numbers
        self.losses = losses
        self.edges = edges
        self.longest = int(np.diff(edges).max(initial=0))


class HullSearch:
    """One tuple and its candidates, the hulls on the stack, and what is looked for.

    least          rows, or persons, of a class
    rows           by tuple: how many of them it has
    prices         by tuple: what each row has to lose; ``ranks``: dearer ones first
    raises         by tuple: how much more that may be; this is lowered
    is_frozen      by tuple: its price does not change any more
    witness        by tuple: the rows of the set that allows no more; what it loses
    numbers        by place: the tuple; ``n_rows`` its rows, ``star`` what it loses
                   with the anchor
    low, high      box of each hull on the stack; ``values`` for sets, 63 to a word
    losses, loss   what it loses by column, and in all of them
    hulls_left     how many may be looked at around all tuples together
    places         members, open and passed candidates of the hulls on the stack
    """

    def __init__(
        self, tree: TupleTree, objective: Objective, least: int, most_near: int
    ) -> None:
        info = objective.info
        sets = info["n_codes"][info["kind"] == SETS]
        n_columns, n_tuples = info.size, tree.n_tuples
        self.tree, self.least = tree, least
        self.rows = tree.person_array
        self.price_array = np.zeros(n_tuples)
        self.prices = self.price_array
        self.ranks = np.arange(n_tuples)
        self.raise_array = np.zeros(n_tuples)
        self.raises = self.raise_array
        self.frozen_array = np.zeros(n_tuples, dtype=np.uint8)
        self.is_frozen = self.frozen_array
        self.witness_array = np.full((n_tuples, least), -1, dtype=np.int32)
        self.witness = self.witness_array
        self.witness_loss_array = np.zeros(n_tuples)
        self.witness_loss = self.witness_loss_array
        self._open_stack(n_columns, int((-(-sets // 63)).sum()))
        n = most_near + 1
        self.keys = np.empty(n, dtype=np.int64)
        self.numbers = np.empty(n, dtype=np.int32)
        self.n_rows = np.empty(n, dtype=np.int64)
        self.star = np.empty(n)
        self.places = np.empty(_PLACES * n, dtype=np.int32)
        self.place_loss = np.empty(_PLACES * n)
        self.fresh = np.empty(_PLACES * n)
        self.hulls_left = 0
        self.most_hulls = 0
        self.n_candidates = 0

    def _open_stack(self, n_columns: int, n_words: int) -> None:
        """Make room for hulls; ``n_words`` hold the values of those that are sets."""
        self.low = np.empty((_MOST_DEEP, n_columns), dtype=np.int32)
        self.high = np.empty((_MOST_DEEP, n_columns), dtype=np.int32)
        self.losses = np.empty((_MOST_DEEP, n_columns))
        self.values = np.empty((_MOST_DEEP, max(n_words, 1)), dtype=np.int64)
        self.loss = np.empty(_MOST_DEEP)
        self.frames = np.zeros((_MOST_DEEP, 4), dtype=np.int64)

    def allow(self, n_hulls: int) -> None:
        """Look at so many hulls from now on."""
        self.hulls_left = n_hulls
        self.n_hulls = 0

    def count_rows(self, rows: Counts) -> None:
        """Count a tuple by these from now on, and take the dearest tuples first."""
        self.rows = rows
        ranks = np.empty(rows.size, dtype=np.int64)
        ranks[np.argsort(-self.price_array, kind="stable")] = np.arange(rows.size)
        self.ranks = ranks


def find_cheapest(search: HullSearch, near: NearLists, anchor: int) -> bool:
    """Lower an anchor's raise to what the cheapest set around it loses.

    ``near`` has its list alone. Returns whether all sets could be looked at.
    """
    search.lowers_all = False
    with cython.nogil:
        load(search, near, anchor, 0)
        open_anchor(search)
        start_greedily(search)
        search_hull(search, 0)
    return not search.is_cut_short


def lower_raises(search: HullSearch, near: NearLists) -> int:
    """Lower raises to what the sets around every tuple leave.

    Returns around how many of them not all sets could be looked at: these are taken to
    lose no more than their farthest row and the anchor, so that no raise is too high.
    """
    search.lowers_all = True
    n_cut_short = cython.declare(cython.Py_ssize_t, 0)
    with cython.nogil:
        for anchor in range(near.edges.shape[0] - 1):
            if not has_free(search, near, anchor):
                continue
            load(search, near, anchor, anchor)
            open_anchor(search)
            search_hull(search, 0)
            if search.is_cut_short:
                n_cut_short += 1
                weigh_stars(search)
    return n_cut_short


def start_greedily(search: HullSearch) -> None:
    """Lower the anchor's raise to what a set of its nearest rows loses, and a trifle.

    The cheapest set loses no more than that, and is found with less looking around.
    """
    below = cython.declare(cython.Py_ssize_t, 0)
    n = search.n_rows[0]
    loss = 0.0
    for place in range(1, search.n_candidates):
        if n >= search.least:
            break
        loss = loss_with(search, below, place, INFINITY)
        extend(search, below, 1, place)
        below = 1
        n += search.n_rows[place]
    anchor = search.numbers[0]
    if n >= search.least:
        search.raises[anchor] = min(search.raises[anchor], loss * (1.0 + _TRIFLE))


def has_free(search: HullSearch, near: NearLists, i: int) -> bool:
    """Return whether a price of a list may still change."""
    for j in range(near.edges[i], near.edges[i + 1]):
        if not search.is_frozen[near.numbers[j]]:
            return True
    return False


def load(search: HullSearch, near: NearLists, anchor: int, i: int) -> None:
    """Fill the candidates from list ``i``: the anchor, then the dearest first.

    Of prices that are all alike, as those of 0, the nearest comes first. The anchor's
    other rows have a place of their own.
    """
    first = near.edges[i]
    n = near.edges[i + 1] - first
    for j in range(n):
        rank = search.ranks[near.numbers[first + j]] if search.lowers_all else j
        search.keys[j] = (cython.cast(cython.longlong, rank) << 32) | j
    sort_keys(data(search.keys), 0, n - 1)
    search.numbers[0] = anchor
    search.n_rows[0] = 1
    search.star[0] = 0.0
    place = cython.declare(cython.Py_ssize_t, 1)
    for j in range(n):
        at = first + low_half(search.keys[j])
        number = near.numbers[at]
        rows = search.rows[number]
        if number == anchor:
            rows -= 1
        if rows > 0:
            search.numbers[place] = number
            search.n_rows[place] = min(rows, search.least)
            search.star[place] = near.losses[at]
            place += 1
    search.n_candidates = place
    search.hulls_left -= search.n_hulls
    search.most_hulls = max(_FEWEST_HULLS, min(_MOST_HULLS, search.hulls_left))
    search.n_hulls = 0
    search.is_cut_short = False


def weigh_stars(search: HullSearch) -> None:
    """Weigh sets by what their farthest row loses with the anchor, which is less."""
    n = cython.declare(cython.Py_ssize_t, 0)
    farthest = -1.0
    while n < search.n_candidates:
        nearest = INFINITY
        for place in range(search.n_candidates):
            if farthest < search.star[place] < nearest:
                nearest = search.star[place]
        farthest = nearest
        n = 0
        for place in range(search.n_candidates):
            if search.star[place] <= farthest:
                search.places[n] = place
                n += 1
        search.loss[0] = farthest
        set_frame(search, 0, 0, n, n, n)
        weigh_hull(search, 0)


def open_anchor(search: HullSearch) -> None:
    """Put the anchor's own hull at the bottom of the stack."""
    anchor = search.numbers[0]
    for column in range(search.low.shape[1]):
        code = search.tree.codes[anchor, column]
        search.low[0, column] = code
        search.high[0, column] = code
        search.losses[0, column] = 0.0
    for word in range(search.values.shape[1]):
        search.values[0, word] = 0
    add_values(search, 0, 0)
    search.loss[0] = 0.0
    n = search.n_candidates
    n_members = cython.declare(cython.Py_ssize_t, 0)
    for place in range(n):
        if search.numbers[place] == anchor:
            search.places[n_members] = place
            n_members += 1
    n_open = n_members
    for place in range(n):
        if search.numbers[place] != anchor:
            search.places[n_open] = place
            search.place_loss[n_open] = search.star[place]
            n_open += 1
    set_frame(search, 0, 0, n_members, n_open, n_open)


def set_frame(
    search: HullSearch, depth: int, first: int, members: int, last: int, passed: int
) -> None:
    """Say where the members, open and passed candidates of a hull are on the stack.

    places   [ members | open | passed | ... ]
               0         1      2        3
    """
    search.frames[depth, 0] = first
    search.frames[depth, 1] = members
    search.frames[depth, 2] = last
    search.frames[depth, 3] = passed


def add_values(search: HullSearch, depth: int, place: int) -> None:
    """Add a candidate's values to those of a hull, in columns released as sets."""
    one = cython.declare(cython.longlong, 1)
    for column in range(search.low.shape[1]):
        if search.tree.objective.info[column].kind == VALUE_SET:
            code = search.tree.codes[search.numbers[place], column]
            word = search.tree.objective.info[column].word + code // 63
            search.values[depth, word] |= one << (code % 63)


def has_value(search: HullSearch, depth: int, column: int, code: int) -> bool:
    """Return whether a hull has a value, in a column released as a set."""
    word = search.tree.objective.info[column].word + code // 63
    return (search.values[depth, word] >> (code % 63)) & 1 == 1


def loss_with(search: HullSearch, depth: int, place: int, limit: float) -> float:
    """Return what a hull would lose with a candidate; beyond the limit maybe less."""
    loss = 0.0
    number = search.numbers[place]
    for column in range(search.low.shape[1]):
        loss += column_loss_with(search, depth, column, number)
        if loss >= limit:
            break
    return loss


def column_loss_with(search: HullSearch, depth: int, column: int, number: int) -> float:
    """Return what a hull would lose in one column with a tuple."""
    code = search.tree.codes[number, column]
    low = search.low[depth, column]
    high = search.high[depth, column]
    own = search.losses[depth, column]
    if search.tree.objective.info[column].kind == VALUE_SET:
        if has_value(search, depth, column, code):
            return own
        return own + search.tree.objective.info[column].unit
    if low <= code <= high:
        return own
    return box_loss(search.tree.objective, column, min(low, code), max(high, code))


def weigh_hull(search: HullSearch, depth: int) -> None:
    """Lower the raises of the rows of a hull to what its dearest sets leave.

    Of all sets with the anchor and one more row, that one leaves least whose others
    are the dearest: candidates come by falling price, so these are the first.
    """
    first = search.frames[depth, 0]
    last = search.frames[depth, 1]
    if not has_enough(search, first, last):
        return
    loss = search.loss[depth]
    if not search.lowers_all:
        lower_raise(search, depth, first, loss)
        return
    total = 0.0
    cheapest = 0.0
    n_free = cython.declare(cython.longlong, 0)
    left = cython.declare(cython.longlong, search.least)
    for i in range(first, last):
        place = search.places[i]
        taken = min(left, search.n_rows[place])
        if taken > 0:
            total += taken * search.prices[search.numbers[place]]
            cheapest = search.prices[search.numbers[place]]
            left -= taken
        if not search.is_frozen[search.numbers[place]]:
            n_free += search.n_rows[place]
    if left > 0 or n_free == 0:
        return
    # What a set leaves is shared by its rows whose prices still change, at most these.
    n_free = min(n_free, search.least)
    left = search.least
    for i in range(first, last):
        place = search.places[i]
        others = (
            total
            if left > 0
            else total - cheapest + search.prices[search.numbers[place]]
        )
        more = (search.least * loss - others) / n_free
        lower_raise(search, depth, i, more)
        left -= search.n_rows[place]


def has_enough(search: HullSearch, first: int, last: int) -> bool:
    """Return whether some candidates have the rows, or persons, of a class."""
    n = cython.declare(cython.longlong, 0)
    anchor = search.numbers[0]
    n += search.tree.persons[anchor]
    for i in range(first, last):
        number = search.numbers[search.places[i]]
        if number != anchor:
            n += search.tree.persons[number]
        if n >= search.least:
            return True
    return n >= search.least


def lower_raise(search: HullSearch, depth: int, i: int, more: float) -> None:
    """Let a member's rows lose at most ``more`` more; remember why."""
    place = search.places[i]
    number = search.numbers[place]
    more = max(more, 0.0)
    if more >= search.raises[number]:
        return
    search.raises[number] = more
    search.witness_loss[number] = search.loss[depth]
    n = cython.declare(cython.Py_ssize_t, 1)
    search.witness[number, 0] = number
    own = cython.declare(cython.longlong, 1)
    for j in range(search.frames[depth, 0], search.frames[depth, 1]):
        other = search.places[j]
        taken = search.n_rows[other]
        if other == place:
            taken -= own
        while taken > 0 and n < search.least:
            search.witness[number, n] = search.numbers[other]
            n += 1
            taken -= 1


def limit_of(search: HullSearch, depth: int, last: int) -> float:
    """Return what a hull with some open candidates may lose to matter; -1: it cannot.

    Members and open candidates up to ``last`` are merged by their places: the dearest
    rows come first.
    """
    i = search.frames[depth, 0]
    members = search.frames[depth, 1]
    j = members
    left = cython.declare(cython.longlong, search.least)
    total = 0.0
    most = search.raises[search.numbers[0]]
    while i < members or j < last:
        if j == last or (i < members and search.places[i] < search.places[j]):
            place = search.places[i]
            i += 1
        else:
            place = search.places[j]
            j += 1
        taken = min(left, search.n_rows[place])
        total += taken * search.prices[search.numbers[place]]
        left -= taken
        if search.lowers_all:
            most = max(most, search.raises[search.numbers[place]])
    if left > 0:
        return -1.0
    # A row that is raised alone is raised by what all rows of the set leave.
    if search.lowers_all:
        return most + total / search.least
    return most


def search_hull(search: HullSearch, depth: int) -> None:
    """Weigh the hull on top of the stack, and all that can be made of it."""
    search.n_hulls += 1
    if search.n_hulls > search.most_hulls or depth + 1 >= search.low.shape[0]:
        search.is_cut_short = True
        return
    weigh_hull(search, depth)
    limit = close_in(search, depth)
    if search.loss[depth] >= limit:
        return
    i = search.frames[depth, 1]
    while i < search.frames[depth, 2] and not search.is_cut_short:
        if search.place_loss[i] < limit and push_hull(search, depth, i, limit):
            search_hull(search, depth + 1)
        i += 1


def close_in(search: HullSearch, depth: int) -> float:
    """Drop open candidates that would lose too much; return how much that is.

    Without them, less may be too much. Passed candidates move up behind the others.
    """
    first = search.frames[depth, 1]
    last = search.frames[depth, 2]
    limit = limit_of(search, depth, last)
    while True:
        n = first
        for i in range(first, last):
            if search.place_loss[i] < limit:
                search.places[n] = search.places[i]
                search.place_loss[n] = search.place_loss[i]
                n += 1
        n_dropped = last - n
        last = n
        if n_dropped == 0:
            break
        limit = min(limit, limit_of(search, depth, last))
    place = last
    for i in range(search.frames[depth, 2], search.frames[depth, 3]):
        search.places[place] = search.places[i]
        place += 1
    search.frames[depth, 2] = last
    search.frames[depth, 3] = place
    return limit


def push_hull(search: HullSearch, depth: int, i: int, limit: float) -> bool:
    """Put the hull with one more candidate on the stack.

    Returns whether it is looked at here: not if it takes in one that was passed.
    A candidate within a hull adds nothing to what that loses, to the last digit.
    """
    last = search.frames[depth, 2]
    end = search.frames[depth, 3]
    if 2 * end - search.frames[depth, 0] > search.places.shape[0]:
        search.is_cut_short = True
        return False
    top = depth + 1
    extend(search, depth, top, search.places[i])
    search.loss[top] = search.place_loss[i]
    for j in range(search.frames[depth, 1], end):
        if j == i:
            continue
        search.fresh[j] = loss_with(search, top, search.places[j], limit)
        if search.fresh[j] <= search.loss[top] and (j < i or j >= last):
            return False
    divide_candidates(search, depth, i, limit)
    return True


def extend(search: HullSearch, depth: int, top: int, place: int) -> None:
    """Write a hull with one more candidate at ``top``, which may be where it is."""
    number = search.numbers[place]
    for word in range(search.values.shape[1]):
        search.values[top, word] = search.values[depth, word]
    for column in range(search.low.shape[1]):
        code = search.tree.codes[number, column]
        search.losses[top, column] = column_loss_with(search, depth, column, number)
        search.low[top, column] = min(search.low[depth, column], code)
        search.high[top, column] = max(search.high[depth, column], code)
    add_values(search, top, place)


def divide_candidates(search: HullSearch, depth: int, i: int, limit: float) -> None:
    """Write the candidates of the hull on top of the stack behind those below.

    ``fresh`` is what each would lose with it.
    """
    top = depth + 1
    own = search.loss[top]
    members = search.frames[depth, 1]
    last = search.frames[depth, 2]
    first = search.frames[depth, 3]
    last_member = merge_members(search, depth, i)
    n = last_member
    for j in range(i + 1, last):
        if own < search.fresh[j] < limit:
            search.places[n] = search.places[j]
            search.place_loss[n] = search.fresh[j]
            n += 1
    last_open = n
    for j in range(members, first):
        if search.fresh[j] < limit and (j < i or j >= last):
            search.places[n] = search.places[j]
            n += 1
    set_frame(search, top, first, last_member, last_open, n)


def merge_members(search: HullSearch, depth: int, i: int) -> int:
    """Write the members of the hull on top of the stack; return where they end.

    Those of the hull below stay; the candidate that was added and open ones within the
    hull join them, in the order of their places.
    """
    own = search.loss[depth + 1]
    member = search.frames[depth, 0]
    members = search.frames[depth, 1]
    n = search.frames[depth, 3]
    for j in range(i, search.frames[depth, 2]):
        if j > i and search.fresh[j] > own:
            continue
        while member < members and search.places[member] < search.places[j]:
            search.places[n] = search.places[member]
            n += 1
            member += 1
        search.places[n] = search.places[j]
        n += 1
    for j in range(member, members):
        search.places[n] = search.places[j]
        n += 1
    return n
