"""Funnel: how many cuts each stage of the decision kept, per column."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.runtime.plain_values import JsonObject

STAGES = ("examined", "considered", "proposed", "final", "accepted", "abandoned")


class Funnel(NamedTuple):
    """Counts by stage (axis 0, as in ``STAGES``) and quasi-identifier (axis 1).

    Of the cut points that were `examined`, those `considered` divide the rows, those
    `proposed` leave a class, those `final` were tried in turn, those `accepted` were
    carried out; those `abandoned` were undone again by backtracking. So accepted less
    abandoned is the number of cuts in the tree.
    """

    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    counts: NDArray[np.int64]

    def by_kind(self, kind: str) -> dict[str, int]:
        """Return the counts of all columns of one kind, by stage."""
        inside = np.array([other == kind for other in self.kinds], dtype=bool)
        totals = self.counts[:, inside].sum(axis=1)
        return dict(zip(STAGES, totals.tolist(), strict=True))

    def pairs(self) -> list[tuple[str, str]]:
        """Return all pairs of columns, those cut most often first.

        In each pair, numbers stand before categories.
        """
        accepted = self.counts[STAGES.index("accepted")].tolist()
        order = sorted(range(len(accepted)), key=lambda i: -accepted[i])
        pairs = []
        for pair in combinations(order, 2):
            x, y = sorted(pair, key=lambda i: self.kinds[i] != "number")
            pairs.append((self.columns[x], self.columns[y]))
        return pairs

    def to_json(self) -> JsonObject:
        """Return the counts per column and per kind."""
        per_column = {
            name: dict(zip(STAGES, self.counts[:, i].tolist(), strict=True))
            for i, name in enumerate(self.columns)
        }
        kinds = {kind: self.by_kind(kind) for kind in sorted(set(self.kinds))}
        return {"columns": per_column, "kinds": kinds}
