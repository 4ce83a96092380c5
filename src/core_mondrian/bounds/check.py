"""Prove a lower bound: no k rows have prices above what they lose together.

Takes a certificate (see `certificate`), which is plain values, and goes through sets of
rows by itself: column by column, around the dearest of them. It shares no code with
what found the prices.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core_mondrian.runtime.plain_values import JsonObject

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

# What a row's price may be too high by, as a share of all it can lose: rounding.
_ROUNDING = 1e-12


def prove(certificate: JsonObject) -> float:
    """Return the loss that the prices prove that no release can go below.

    Raises:
        ValueError: some rows have prices above what they lose together.
    """
    return _Proof(certificate).run()


class _Proof:
    """The distinct tuples, dearest first, and what their columns lose."""

    def __init__(self, certificate: JsonObject) -> None:
        price = np.array(certificate["prices"], dtype=np.float64)
        order = np.argsort(-price, kind="stable")
        self.price = price[order]
        self.rows = np.array(certificate["rows"], dtype=np.int64)[order]
        self.persons = np.array(certificate["persons"], dtype=np.int64)[order]
        self.least = int(certificate["least"])
        self.columns = [_column(one, order) for one in certificate["columns"]]
        self.whole = sum(float(one["weight"]) for one in certificate["columns"])

    def run(self) -> float:
        if (self.price < 0.0).any():
            raise ValueError("a price is negative")
        # Sets are looked at around their first tuple, which is their dearest.
        for anchor in range(int(np.count_nonzero(self.price))):
            self._prove_around(anchor)
        total = math.fsum((self.rows * self.price).tolist())
        return total / (int(self.rows.sum()) * self.whole)

    def _prove_around(self, anchor: int) -> None:
        others = np.arange(anchor, self.price.size)
        losses = np.zeros(others.size)
        for column in self.columns:
            losses += column.losses(anchor, others)
        # A set with a tuple beyond loses more than its dearest price.
        near = others[losses < self.price[anchor]]
        if self._dearest(near) > 0.0:
            self._divide(anchor, near, 0.0, self.columns)

    def _dearest(self, tuples: Places) -> float:
        """Return the mean price of the dearest rows of a class; 0: too few rows.

        The anchor is in it, because it is the dearest of all.
        """
        if int(self.persons[tuples].sum()) < self.least:
            return 0.0
        ends = np.minimum(np.cumsum(self.rows[tuples]), self.least)
        if ends[-1] < self.least:
            return 0.0
        taken = np.diff(ends, prepend=0)
        return float(taken @ self.price[tuples]) / self.least

    def _divide(
        self, anchor: int, tuples: Places, loss: float, columns: "list[_Column]"
    ) -> None:
        """Go through what the first of the columns may show; then through the rest."""
        dearest = self._dearest(tuples)
        if dearest - loss <= _ROUNDING * self.whole:
            return
        if not columns:
            raise ValueError(
                f"{self.least} rows have prices of {dearest * self.least:g} together, "
                f"and lose {loss * self.least:g}"
            )
        for more, shown in columns[0].choices(anchor, tuples, dearest - loss):
            self._divide(anchor, tuples[shown], loss + more, columns[1:])


class _Column(ABC):
    """What the tuples have in a column, and what they lose together."""

    weight: float

    @abstractmethod
    def losses(self, anchor: int, tuples: Places) -> Floats:
        """Return what each of the tuples loses together with the anchor."""

    @abstractmethod
    def choices(
        self, anchor: int, tuples: Places, most: float
    ) -> Iterator[tuple[float, NDArray[np.bool_]]]:
        """Yield what a class with the anchor may lose, and which tuples it may have.

        Those that lose more than ``most`` may be left out.
        """


def _column(described: JsonObject, order: Places) -> _Column:
    kinds: dict[str, type[_Number] | type[_Label] | type[_Set]] = {
        "number": _Number,
        "label": _Label,
        "set": _Set,
    }
    return kinds[described["kind"]](described, order)


class _Number(_Column):
    """A range; with missing values among others, all is lost."""

    def __init__(self, described: JsonObject, order: Places) -> None:
        self.weight = float(described["weight"])
        cells = [math.nan if x is None else float(x) for x in described["cells"]]
        values = np.array(cells)[order]
        halves = 0.5 * values  # a range may lie beyond the largest float
        known = halves[~np.isnan(halves)]
        above = halves - known.min(initial=np.inf)
        width = float(np.ptp(known)) if known.size else 0.0
        self.place = self.weight * (above / width if width else 0.0 * values)

    def _offsets(self, anchor: int, tuples: Places) -> Floats:
        """Return how far above the anchor each lies; infinity: missing or not."""
        own, others = self.place[anchor], self.place[tuples]
        if np.isnan(own):
            return np.where(np.isnan(others), 0.0, np.inf)
        return np.where(np.isnan(others), np.inf, others - own)

    def losses(self, anchor: int, tuples: Places) -> Floats:
        return np.minimum(np.abs(self._offsets(anchor, tuples)), self.weight)

    def choices(
        self, anchor: int, tuples: Places, most: float
    ) -> Iterator[tuple[float, NDArray[np.bool_]]]:
        offsets = self._offsets(anchor, tuples)
        if np.isinf(offsets).any():
            yield self.weight, np.ones(tuples.size, dtype=np.bool_)
        known = offsets[np.isfinite(offsets)]
        for low in np.unique(known[known <= 0.0])[::-1].tolist():
            for high in np.unique(known[known >= 0.0]).tolist():
                if high - low >= most:
                    break
                yield high - low, (offsets >= low) & (offsets <= high)


class _Label(_Column):
    """The lowest common node; all is lost with missing values among others."""

    def __init__(self, described: JsonObject, order: Places) -> None:
        self.weight = float(described["weight"])
        self._leaves = int(described["leaves"])
        paths = [
            None if x is None else tuple(map(tuple, x)) for x in described["cells"]
        ]
        known = list(dict.fromkeys(paths))
        numbers = {path: i for i, path in enumerate(known)}
        self.value = np.array([numbers[path] for path in paths])[order]
        self._table = np.array([[self._lost(a, b) for b in known] for a in known])

    def _lost(self, a: Any, b: Any) -> float:  # noqa: ANN401
        """Return the share of leaves under the lowest node on both paths."""
        if a == b:
            return 0.0
        if a is None or b is None:
            return self.weight
        above = set(b)
        leaves: int = next(n for node, n in a if (node, n) in above)
        return self.weight * min(leaves / self._leaves, 1.0)

    def losses(self, anchor: int, tuples: Places) -> Floats:
        lost: Floats = self._table[self.value[anchor], self.value[tuples]]
        return lost

    def choices(
        self, anchor: int, tuples: Places, most: float
    ) -> Iterator[tuple[float, NDArray[np.bool_]]]:
        losses = self.losses(anchor, tuples)
        for level in np.unique(losses).tolist():
            if level < most:
                yield level, losses <= level


class _Set(_Column):
    """A set of values, missing among them: each beyond the first is lost."""

    def __init__(self, described: JsonObject, order: Places) -> None:
        self.weight = float(described["weight"])
        self.value = np.array(described["cells"])[order]
        self._unit = self.weight / max(int(np.unique(self.value).size) - 1, 1)

    def losses(self, anchor: int, tuples: Places) -> Floats:
        return np.where(self.value[tuples] == self.value[anchor], 0.0, self._unit)

    def choices(
        self, anchor: int, tuples: Places, most: float
    ) -> Iterator[tuple[float, NDArray[np.bool_]]]:
        own, values = self.value[anchor], self.value[tuples]
        others = [x for x in np.unique(values).tolist() if x != own]
        for n in range(len(others) + 1):
            if n * self._unit >= most:
                break
            for more in combinations(others, n):
                yield n * self._unit, np.isin(values, [own, *more])
