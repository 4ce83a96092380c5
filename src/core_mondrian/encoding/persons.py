"""Persons who look the same to the engine change places at random, under a key.

Where a table has persons, a tuple holds the rows of one. The engine chooses among
tuples that differ in the person alone by the order of their ids; a reader who sees
something that rises with the id could infer which persons were lent to a class. So
persons with the same profile, the same tuples with as many rows, change places: the
tuples that the engine sees are the same, and whose they are is drawn at random.
"""

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.keyed_hashing import keyed_hash
from core_mondrian.runtime.array_types import IntegerArray, Integers, Words

# Public: they only group.
_GROUPING = b"profiles of all."
_CHECKING = b"all of profiles."


def exchange_persons(
    base: Integers, person: Integers, counts: Integers, key: bytes
) -> Integers:
    """Return for each tuple the tuple that its rows go to, of a person drawn at random.

    ``base`` numbers what a tuple shows besides its ``person``; each pair of both occurs
    once, and ``counts`` are its rows.

        tuple    base  person  rows         profiles: 0 and 2 are alike, {A: 1, B: 2};
          0       A      0      1           they may change places: tuples 0 and 1
          1       A      2      1           as well as 3 and 4
          2       A      5      2
          3       B      0      2
          4       B      2      2
    """
    n_persons = int(person.max(initial=-1)) + 1
    profile = _profiles(base, person, counts, n_persons)
    drawn = _draw(profile, key)
    # The tuple of the person drawn that shows the same, with as many rows.
    width = n_persons + 1
    keys = base * width + person
    order = np.argsort(keys, kind="stable")
    wanted = base * width + drawn[person]
    place = np.minimum(np.searchsorted(keys, wanted, sorter=order), order.size - 1)
    target = order[place]
    is_same = (keys[target] == wanted) & (counts[target] == counts)
    if is_same.all():
        return target
    # Two profiles share a hash: these persons stay where they are.
    stays = np.zeros(n_persons, dtype=np.bool_)
    stays[np.isin(profile, profile[person[~is_same]])] = True
    return np.where(stays[person], np.arange(base.size), target)


class Profiles:
    """The profiles of persons whose tuples come some at a time, in their order."""

    def __init__(self, n_persons: int) -> None:
        # Two hashes: nobody compares the tuples themselves.
        self._sums = np.zeros((2, n_persons), dtype=np.uint64)
        self._n_base = 0
        self._last: NDArray[np.int32] | None = None

    def add(
        self, others: NDArray[np.int32], person: Integers, counts: Integers
    ) -> None:
        """Take more tuples: what they show, whose they are, and their rows.

        Those that differ in the person alone stand side by side.
        """
        is_new = np.ones(person.size, dtype=np.bool_)
        is_new[1:] = (others[1:] != others[:-1]).any(axis=1)
        if self._last is not None and person.size:
            is_new[0] = bool((others[0] != self._last).any())
        base = self._n_base + np.cumsum(is_new) - 1
        self._n_base = int(base[-1]) + 1 if person.size else self._n_base
        self._last = others[-1].copy() if person.size else self._last
        words = [base.astype(np.uint64), counts.astype(np.uint64)]
        for sums, key in zip(self._sums, (_GROUPING, _CHECKING), strict=True):
            np.add.at(sums, person, keyed_hash(words, key))

    def draw(self, key: bytes) -> Integers:
        """Return the person that each is replaced by; see `draw_alike`."""
        return draw_alike(self._sums, key)


def draw_alike(profiles: IntegerArray, key: bytes) -> Integers:
    """Return the person that each is replaced by, drawn at random among those alike.

    ``profiles`` has several hashes of each person's tuples (axis 0).
    """
    order = np.lexsort(profiles)
    rising = profiles[:, order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (rising[:, 1:] != rising[:, :-1]).any(axis=0)
    profile = np.empty(order.size, dtype=np.uint64)
    profile[order] = np.cumsum(is_new).astype(np.uint64)
    return _draw(profile, key)


def _profiles(
    base: Integers, person: Integers, counts: Integers, n_persons: int
) -> Words:
    """Return a hash of each person's tuples and how many rows they have."""
    words = [base.astype(np.uint64), counts.astype(np.uint64)]
    hashed = keyed_hash(words, _GROUPING)
    profiles = np.zeros(n_persons, dtype=np.uint64)
    np.add.at(profiles, person, hashed)
    return profiles


def _draw(profile: Words, key: bytes) -> Integers:
    """Return the person that each is replaced by, drawn among those of its profile."""
    persons = np.arange(profile.size)
    lots = keyed_hash([persons.astype(np.uint64)], key)
    by_number = np.lexsort((persons, profile))
    by_lot = np.lexsort((lots, profile))
    drawn = np.empty(profile.size, dtype=np.int64)
    drawn[by_number] = by_lot
    return drawn
