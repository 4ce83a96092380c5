"""Group equal rows: their codes are packed into 64-bit words, and those are hashed."""

from typing import Any

import cython
import numpy as np

from core_mondrian.runtime.array_types import Codes, Counts, Words

_FIRST_SLOTS = 1 << 12
_DIGIT_BITS = 11


def append_codes(words: Words, codes: Codes, bits: int) -> None:
    """Shift ``bits`` bits into each word and put the row's code there."""
    into = cython.declare(cython.ulonglong[:], words)
    these = cython.declare(cython.int[:], codes)
    shift = cython.declare(cython.int, bits)
    i = cython.declare(cython.Py_ssize_t)
    if not cython.compiled:
        words[:] = (words << np.uint64(bits)) | codes.astype(np.uint64)
        return
    with cython.nogil:
        for i in range(into.shape[0]):
            into[i] = (into[i] << shift) | cython.cast(cython.ulonglong, these[i])


class RowGroups:
    """A hash table of different rows, numbered by first appearance.

    words      row 0  A      slots   [ -1  1 -1  0 ... ]   group or -1, by hash
               row 1  B      firsts  [ 0  1 ]              first row of each group
               row 2  A      group   [ 0  1  0 ]           group of each row

    Threads fill a table each, with rows of their own; one of them absorbs the others.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self.n_groups = 0
        self._allocate(_FIRST_SLOTS)

    def _allocate(self, n_slots: int) -> None:
        """Make room for half as many groups as slots."""
        firsts = np.empty(n_slots // 2, dtype=np.int32)
        if self.n_groups:
            firsts[: self.n_groups] = self.first_rows()
        self.firsts = firsts
        self.slots = np.full(n_slots, -1, dtype=np.int32)

    def first_rows(self) -> Codes:
        """Return the first row of each group."""
        firsts: Codes = np.asarray(self.firsts)[: self.n_groups].copy()
        return firsts

    def number(self, group: Codes, first: int, last: int) -> None:
        """Write the group of each row from ``first`` up to ``last`` to ``group``."""
        numbers = cython.declare(cython.int[::1], group)
        row = cython.declare(cython.Py_ssize_t, first)
        stop = cython.declare(cython.Py_ssize_t, last)
        while True:
            with cython.nogil:
                row = number_until_full(self, numbers, row, stop)
            if row >= stop:
                return
            self._enlarge()

    def absorb(self, other: "RowGroups") -> Codes:
        """Take the groups of another table of the same rows; return their numbers."""
        own = np.empty(other.n_groups, dtype=np.int32)
        numbers = cython.declare(cython.int[::1], own)
        table = cython.declare(RowGroups, other)
        group = cython.declare(cython.Py_ssize_t, 0)
        while True:
            with cython.nogil:
                group = absorb_until_full(self, table, numbers, group)
            if group >= table.n_groups:
                return own
            self._enlarge()

    def _enlarge(self) -> None:
        self._allocate(8 * self.n_groups)
        with cython.nogil:
            insert_groups(self)

    def index(self) -> None:
        """Take all rows, which differ from each other, as groups."""
        n_rows = self.words.shape[0]
        n_slots = 1 << 4
        while n_slots < 2 * n_rows:
            n_slots *= 2
        self.slots = np.full(n_slots, -1, dtype=np.int32)
        self.firsts = np.arange(n_rows, dtype=np.int32)
        self.n_groups = n_rows
        with cython.nogil:
            insert_groups(self)

    def find(self, wanted: Words, into: Codes) -> None:
        """Look rows of words up; -1: there is none such."""
        others = cython.declare(cython.ulonglong[:, ::1], wanted)
        numbers = cython.declare(cython.int[::1], into)
        mask = cython.declare(cython.ulonglong, self.slots.shape[0] - 1)
        slot = cython.declare(cython.ulonglong)
        row = cython.declare(cython.Py_ssize_t)
        with cython.nogil:
            for row in range(others.shape[0]):
                slot = mixed(others, row) & mask
                while self.slots[slot] >= 0 and not is_equal(
                    self.words, self.firsts[self.slots[slot]], others, row
                ):
                    slot = (slot + 1) & mask
                numbers[row] = self.slots[slot]


def mixed(words: Words, row: int) -> Any:  # noqa: ANN401
    """Return a hash of one row's words (splitmix64, chained)."""
    if not cython.compiled:
        return _mixed_in_python(words, row)
    state = cython.declare(cython.ulonglong, 0)
    for i in range(words.shape[1]):
        state = (state ^ words[row, i]) + cython.cast(
            cython.ulonglong, 0x9E3779B97F4A7C15
        )
        state = (state ^ (state >> 30)) * cython.cast(
            cython.ulonglong, 0xBF58476D1CE4E5B9
        )
        state = (state ^ (state >> 27)) * cython.cast(
            cython.ulonglong, 0x94D049BB133111EB
        )
        state = state ^ (state >> 31)
    return state


def _mixed_in_python(words: Words, row: int) -> int:
    """Return the same hash; whole numbers of Python have no end."""
    last = (1 << 64) - 1
    state = 0
    for word in words[row].tolist():
        state = ((state ^ word) + 0x9E3779B97F4A7C15) & last
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & last
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & last
        state = state ^ (state >> 31)
    return state


def is_equal(words: Words, left: int, others: Words, right: int) -> bool:
    """Return whether a row of words and one of others are the same."""
    for i in range(words.shape[1]):
        if words[left, i] != others[right, i]:
            return False
    return True


def find_or_add(groups: RowGroups, row: int) -> int:
    """Return the group of a row, a new one if there is none; a slot must be free."""
    mask = cython.cast(cython.ulonglong, groups.slots.shape[0] - 1)
    slot = mixed(groups.words, row) & mask
    number = groups.slots[slot]
    while number >= 0 and not is_equal(
        groups.words, groups.firsts[number], groups.words, row
    ):
        slot = (slot + 1) & mask
        number = groups.slots[slot]
    if number < 0:
        number = groups.n_groups
        groups.slots[slot] = number
        groups.firsts[number] = row
        groups.n_groups += 1
    return number


def number_until_full(groups: RowGroups, group: Codes, first: int, last: int) -> int:
    """Number rows until the slots are half full; return the row to go on with."""
    for row in range(first, last):
        if 2 * groups.n_groups >= groups.slots.shape[0]:
            return row
        group[row] = find_or_add(groups, row)
    return last


def absorb_until_full(
    groups: RowGroups, other: RowGroups, numbers: Codes, first: int
) -> int:
    """Number another table's groups until the slots are half full, likewise."""
    for group in range(first, other.n_groups):
        if 2 * groups.n_groups >= groups.slots.shape[0]:
            return group
        numbers[group] = find_or_add(groups, other.firsts[group])
    return other.n_groups


def insert_groups(groups: RowGroups) -> None:
    """Give every group its slot in an empty table."""
    mask = cython.cast(cython.ulonglong, groups.slots.shape[0] - 1)
    for group in range(groups.n_groups):
        slot = mixed(groups.words, groups.firsts[group]) & mask
        while groups.slots[slot] >= 0:
            slot = (slot + 1) & mask
        groups.slots[slot] = group


def renumber(group: Codes, number: Codes, counts: Counts) -> None:
    """Replace each row's group by ``number[group]`` and count the rows of each."""
    groups = cython.declare(cython.int[::1], group)
    numbers = cython.declare(cython.int[::1], number)
    total = cython.declare(cython.longlong[::1], counts)
    row = cython.declare(cython.Py_ssize_t)
    with cython.nogil:
        for row in range(groups.shape[0]):
            groups[row] = numbers[groups[row]]
            total[groups[row]] += 1


def put_numbers(into: Codes, places: Codes, numbers: Codes, first: int) -> None:
    """Write numbers, from ``first`` on, to their places."""
    target = cython.declare(cython.int[::1], into)
    where = cython.declare(cython.int[::1], places)
    what = cython.declare(cython.int[::1], numbers)
    base = cython.declare(cython.int, first)
    i = cython.declare(cython.Py_ssize_t)
    with cython.nogil:
        for i in range(where.shape[0]):
            target[where[i]] = base + what[i]


def rising_order(words: Words) -> Codes:
    """Return the rows of words in rising order, equal ones as they stand.

    Radix sort, the last digit of the last word first: a dozen passes over the rows
    instead of twenty comparisons for each of them.
    """
    order = np.arange(words.shape[0], dtype=np.int32)
    moved = np.empty_like(order)
    places = np.empty(1 << _DIGIT_BITS, dtype=np.int64)
    for word in range(words.shape[1] - 1, -1, -1):
        for shift in range(0, 64, _DIGIT_BITS):
            if _move(words, order, moved, word, shift, places):
                order, moved = moved, order
    return order


def _move(
    words: Words, order: Codes, moved: Codes, word: int, shift: int, places: Counts
) -> bool:
    """Sort by one digit, without the interpreter lock."""
    keys = cython.declare(cython.const[cython.ulonglong][:, ::1], words)
    before = cython.declare(cython.const[cython.int][::1], order)
    after = cython.declare(cython.int[::1], moved)
    starts = cython.declare(cython.longlong[::1], places)
    column = cython.declare(cython.Py_ssize_t, word)
    bits = cython.declare(cython.int, shift)
    has_moved = cython.declare(cython.bint)
    with cython.nogil:
        has_moved = move_by_digit(keys, before, after, column, bits, starts)
    return has_moved  # noqa: RET504


def move_by_digit(
    words: Words, order: Codes, moved: Codes, word: int, shift: int, places: Counts
) -> bool:
    """Sort ``order`` by one digit into ``moved``; return whether rows differ in it.

    digits of the rows     2  0  2  1
    places                 0: 0   1: 1   2: 2      where each digit's rows begin
    moved                  1  3  0  2
    """
    n = order.shape[0]
    last = places.shape[0] - 1
    for digit in range(last + 1):
        places[digit] = 0
    for i in range(n):
        places[(words[i, word] >> shift) & last] += 1
    place = cython.declare(cython.longlong, 0)
    for digit in range(last + 1):
        count = places[digit]
        if count == n:
            return False
        places[digit] = place
        place += count
    for i in range(n):
        key = (words[order[i], word] >> shift) & last
        moved[places[key]] = order[i]
        places[key] += 1
    return True
