"""Group equal rows: pack their codes into 64-bit words and hash those."""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import Codes, Counts

Words = NDArray[np.uint64]


@entry_kernel
def append_codes(words: Words, codes: Codes, bits: int) -> None:
    """Shift ``bits`` bits into each word and put the row's code there."""
    shift = np.uint64(bits)
    for i in range(words.size):
        words[i] = (words[i] << shift) | np.uint64(codes[i])


@kernel
def empty_slots(n: int) -> Codes:
    """Return a hash table with nothing in it."""
    slots = np.empty(n, dtype=np.int32)
    for i in range(n):
        slots[i] = -1
    return slots


@kernel
def mixed(words: Words, row: int) -> np.uint64:
    """Return a hash of one row's words (splitmix64, chained)."""
    state = np.uint64(0)
    for i in range(words.shape[1]):
        state = (state ^ words[row, i]) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state


@kernel
def is_same(words: Words, left: int, right: int) -> bool:
    """Tell whether two rows have the same words."""
    for i in range(words.shape[1]):
        if words[left, i] != words[right, i]:
            return False
    return True


@entry_kernel
def group_rows(words: Words, group: Codes) -> Codes:
    """Number equal rows alike, by first appearance, into ``group``.

    Returns the first row of each group.
    """
    n_slots = 1 << 12
    slots = empty_slots(n_slots)
    firsts = np.empty(1 << 11, dtype=np.int32)
    n_groups = 0
    for row in range(words.shape[0]):
        mask = np.uint64(n_slots - 1)
        slot = mixed(words, row) & mask
        found = slots[slot]
        while found >= 0 and not is_same(words, firsts[found], row):
            slot = (slot + np.uint64(1)) & mask
            found = slots[slot]
        if found < 0:
            found = n_groups
            slots[slot] = found
            firsts[found] = row
            n_groups += 1
            if 2 * n_groups == n_slots:
                slots, firsts = enlarged(words, firsts, n_groups)
                n_slots = slots.size
        group[row] = found
    return firsts[:n_groups].copy()


@kernel
def enlarged(words: Words, firsts: Codes, n_groups: int) -> tuple[Codes, Codes]:
    """Return a hash table of four times the slots with the same groups."""
    n_slots = 8 * n_groups
    mask = np.uint64(n_slots - 1)
    slots = empty_slots(n_slots)
    larger = np.empty(n_slots // 2, dtype=np.int32)
    for group in range(n_groups):
        larger[group] = firsts[group]
        slot = mixed(words, firsts[group]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = group
    return slots, larger


@entry_kernel
def renumber(group: Codes, number: Codes, counts: Counts) -> None:
    """Replace each row's group by ``number[group]`` and count the rows of each."""
    for row in range(group.size):
        group[row] = number[group[row]]
        counts[group[row]] += 1


@entry_kernel
def index_rows(words: Words) -> Codes:
    """Return a hash table of different rows, for `find_rows`."""
    n_slots = 1 << 4
    while n_slots < 2 * words.shape[0]:
        n_slots *= 2
    mask = np.uint64(n_slots - 1)
    slots = empty_slots(n_slots)
    for row in range(words.shape[0]):
        slot = mixed(words, row) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = row
    return slots


@entry_kernel
def find_rows(slots: Codes, words: Words, wanted: Words, found: Codes) -> None:
    """Look rows of words up in those of a hash table; -1: it has none such."""
    mask = np.uint64(slots.size - 1)
    for row in range(wanted.shape[0]):
        slot = mixed(wanted, row) & mask
        while slots[slot] >= 0 and not is_equal(words, slots[slot], wanted, row):
            slot = (slot + np.uint64(1)) & mask
        found[row] = slots[slot]


@kernel
def is_equal(words: Words, left: int, others: Words, right: int) -> bool:
    """Tell whether a row of words and one of others are the same."""
    for i in range(words.shape[1]):
        if words[left, i] != others[right, i]:
            return False
    return True
