"""What each row has to lose: prices that no set of rows can undercut.

A class of k rows or more loses in each of its rows what it loses as a whole. Let every
row have a price, so that the prices of any k rows add up to at most what these k rows
would lose together. Then all prices together are at most what any release loses: they
are a dual solution of the partition into classes.

1. What the cheapest set of k rows around a row loses is such a price.
2. A set leaves what it loses beyond the prices of its rows. Every price is raised by
   its share of what the sets around it leave, the least of them, all rows at once.
   That can be repeated until every row is in a set that leaves nothing.

A price is at most the cap of its row: within that radius all tuples near it are known.
A set that reaches beyond the largest cap among its rows loses more than that, and so
no less than its prices. All other sets lie within the list of the tuple with the
largest cap, which is their anchor.
"""

from typing import NamedTuple

import numpy as np

from core_mondrian.bounds.hulls import (
    HullSearch,
    NearLists,
    find_cheapest,
    lower_raises,
)
from core_mondrian.bounds.nearest import find_nearest
from core_mondrian.bounds.tuples import NearTuples, TupleTree
from core_mondrian.engine.layout import Codes, Floats, Objective

# Tuples near one that are looked at: more raise caps, and take longer.
_LEAST_NEAR, _NEAR_PER_ROW, _MOST_NEAR = 256, 8, 2048
# Hulls that may be looked at for each tuple on average: alone, and in all rounds.
_HULLS, _HULLS_OF_ROUNDS = 64, 160
_ROUNDS = 12
# A round that adds less than this share is the last.
_LEAST_GAIN = 1e-3
# Prices are lowered by this share: far more than all rounding together.
_MARGIN = 1e-9


class Near(NamedTuple):
    """The tuples near one of them, and what each loses with it; the nearest first."""

    numbers: Codes
    losses: Floats
    radius: float
    """What all other tuples lose with it at least."""


class Pricing:
    """Prices of the tuples of a table, while they are raised."""

    def __init__(self, tree: TupleTree, objective: Objective, least: int) -> None:
        tree.take_objective(objective)
        # One more than there are is never reached, so that all of them are near.
        most = min(max(_LEAST_NEAR, _NEAR_PER_ROW * least), _MOST_NEAR)
        most = min(most, tree.n_tuples + 1)
        self._tree, self._least = tree, least
        self._near = NearTuples(most)
        self._search = HullSearch(tree, objective, least, most)
        self._search.allow(_HULLS * tree.n_tuples)

    @property
    def prices(self) -> Floats:
        """What each row of a tuple has to lose; at most, with a margin for rounding."""
        lowered: Floats = self._search.price_array * (1.0 - _MARGIN)
        return lowered

    def price_rows(self, anchor: int) -> Near:
        """Set a price to what the cheapest set of rows around a tuple loses, or less.

        Returns the tuples that this price may be raised by.
        """
        search, persons = self._search, self._tree.person_array
        if persons[anchor] >= self._least:
            return Near(np.empty(0, dtype=np.int32), np.empty(0), 0.0)
        find_nearest(self._tree, self._near, anchor)
        near = Near(*self._near.closest(), self._near.radius)
        search.raise_array[anchor] = near.radius
        lists = NearLists(*near[:2], np.array([0, near.numbers.size]))
        is_exact = find_cheapest(search, lists, anchor)
        price = search.raise_array[anchor] if is_exact else self._farthest(near)
        search.price_array[anchor] = price
        cap = min(near.radius, self._least * price)
        return Near(
            near.numbers[near.losses < cap], near.losses[near.losses < cap], cap
        )

    def _farthest(self, near: Near) -> float:
        """Return what a tuple loses with the last of the nearest that make a class."""
        n = np.cumsum(self._tree.person_array[near.numbers])
        place = int(np.searchsorted(n, self._least))
        return near.radius if place == n.size else float(near.losses[place])

    def raise_prices(self, near: list[Near], highest: float) -> None:
        """Raise the prices of all tuples round by round, none above ``highest``."""
        search, rows = self._search, self._tree.row_array
        caps = np.minimum([one.radius for one in near], highest)
        np.minimum(search.price_array, caps, out=search.price_array)
        search.frozen_array[:] = caps <= search.price_array
        search.allow(_HULLS_OF_ROUNDS * self._tree.n_tuples)
        lists = _anchored(near, caps)
        total = float(rows @ search.price_array)
        for _ in range(_ROUNDS):
            search.raise_array[:] = np.where(
                search.frozen_array, 0.0, caps - search.price_array
            )
            self._lower_by_witnesses()
            search.count_rows(rows)
            lower_raises(search, lists)
            search.price_array[:] += search.raise_array
            search.frozen_array[search.raise_array <= _MARGIN * caps] = 1
            before, total = total, float(rows @ search.price_array)
            if total - before <= _LEAST_GAIN * total:
                break

    def _lower_by_witnesses(self) -> None:
        """Lower raises by the sets that allowed least before: most others then stop.

        What a set leaves is shared by its rows whose prices still change.
        """
        search = self._search
        known = np.flatnonzero(search.witness_array[:, 0] >= 0)
        sets = search.witness_array[known]
        spent = search.price_array[sets].sum(axis=1)
        left = self._least * search.witness_loss_array[known] - spent
        n_free = (search.frozen_array[sets] == 0).sum(axis=1)
        more = np.maximum(left / np.maximum(n_free, 1), 0.0)
        np.minimum.at(search.raise_array, sets.ravel(), np.repeat(more, sets.shape[1]))


def _anchored(near: list[Near], caps: Floats) -> NearLists:
    """Return the lists of all tuples, in each those with no larger cap."""
    kept: list[Near] = []
    for anchor, one in enumerate(near):
        own, cap = caps[one.numbers], caps[anchor]
        is_kept = (own < cap) | ((own == cap) & (one.numbers <= anchor))
        is_kept &= one.losses < cap
        kept.append(Near(one.numbers[is_kept], one.losses[is_kept], 0.0))
    edges = np.cumsum([0, *(one.numbers.size for one in kept)])
    return NearLists(
        np.concatenate([one.numbers for one in kept]),
        np.concatenate([one.losses for one in kept]),
        edges.astype(np.int64),
    )
