"""How much of what is hidden in a quasi-identifier another column reveals."""

from typing import Final, NamedTuple

import numpy as np

from core_mondrian.runtime.array_types import Flags, Floats, Integers
from core_mondrian.verification.counting import Coded, group

_FEW_PAIRS: Final = 1 << 12
"""Pairs of values that are counted in a table of all, whether they occur or not."""


class Hidden(NamedTuple):
    """One quasi-identifier of the rows looked at, and where the release hides it."""

    name: str
    codes: Integers
    n_codes: int
    generalized: Flags


def leaked_share(carried: Coded, hidden: Hidden, counts: Integers | None) -> float:
    """Return how much of what is hidden in a quasi-identifier a column reveals.

    ``counts`` says how many rows each stands for; None: for itself.

    Take a row in which it is hidden, and any other row with the same carried value: how
    often does that one have the same original value (a)? And any other row at all (b)?
    The share is the sum of a - b over that of 1 - b. A row whose carried value nobody
    else has reveals nothing: there is nothing to learn it from.
    """
    return HiddenCounts.of(hidden, counts).share_leaked_by(carried)


class HiddenCounts(NamedTuple):
    """A quasi-identifier that columns may reveal, counted once for all of them."""

    hidden: Hidden
    counts: Integers | None
    keys: Integers
    """By row: its value, and above all values where it is hidden.

    values     0 … n - 1 | n … 2n - 1     shown | hidden
    """
    rows: Floats
    """By value: the rows in which it is hidden."""
    base: Floats
    """By value: how often another row has the same."""
    whole: float
    """What there is to reveal."""

    @classmethod
    def of(cls, hidden: Hidden, counts: Integers | None) -> "HiddenCounts":
        n = hidden.n_codes
        keys = hidden.codes + n * hidden.generalized
        by_key = np.bincount(keys, counts, 2 * n).astype(np.float64)
        rows, everywhere = by_key[n:], by_key[:n] + by_key[n:]
        n_others = max(int(everywhere.sum()) - 1, 1)
        base = np.maximum(everywhere - 1, 0) / n_others
        whole = float((rows * (1.0 - base)).sum())
        return cls(hidden, counts, keys, rows, base, whole)

    def share_leaked_by(self, carried: Coded, least: float = 0.0) -> float:
        """Return the share that a column reveals; 0 if surely less than ``least``."""
        if self.whole <= 0.0 or self._most_leaked(carried.n_codes) < least * self.whole:
            return 0.0
        n_codes = carried.n_codes * self.hidden.n_codes
        is_few = n_codes <= max(4 * carried.codes.size, _FEW_PAIRS)
        count = self._count_few if is_few else self._count_many
        value, at_stake, alike, same_carried = count(carried)
        # Who is alone with a carried value learns nothing from it.
        is_shared = same_carried > 1
        base = self.base[value]
        again = np.where(is_shared, (alike - 1) / np.maximum(same_carried - 1, 1), base)
        # Sorted, because codes are numbered in the order of rows, and sums are rounded.
        gained = float(np.sort(at_stake * (again - base)).sum())
        return round(max(gained, 0.0) / self.whole, 4)

    def _most_leaked(self, n_values: int) -> float:
        """Return an upper bound of what is gained by a column of so many values.

        Of the rows with a carried value, at most those with one hidden value are
        revealed; so with all of them, those of as many hidden values, the most
        frequent ones.
        """
        most = np.sort(self.rows)[::-1][:n_values].sum()
        return float(most - (self.rows * self.base).sum()) + 1e-6 * self.whole

    def _count_few(
        self, carried: Coded
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Count pairs of a carried and a hidden value in a table of all of them."""
        width = self.hidden.n_codes
        keys = carried.codes * (2 * width)
        keys += self.keys
        n = carried.n_codes
        counts = np.bincount(keys, self.counts, n * 2 * width)
        table = counts.astype(np.int64, copy=False).reshape(n, 2, width)
        alike = table.sum(axis=1)
        which, value = np.nonzero(alike)
        pairs = which, value
        return value, table[:, 1][pairs], alike[pairs], alike.sum(axis=1)[which]

    def _count_many(
        self, carried: Coded
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Count the pairs that occur, of carried values that several rows have."""
        counts, width = self.counts, self.hidden.n_codes
        times = np.bincount(carried.codes, counts, carried.n_codes).astype(np.int64)
        rows = np.flatnonzero(times[carried.codes] > 1)
        keys = carried.codes[rows] * width + self.hidden.codes[rows]
        packed = group(Coded(keys, carried.n_codes * width))
        pairs = np.zeros(packed.n_codes, dtype=np.int64)
        pairs[packed.codes] = keys
        each = np.ones(rows.size, dtype=np.int64) if counts is None else counts[rows]
        at_stake = np.bincount(packed.codes, each * self.hidden.generalized[rows])
        alike = np.bincount(packed.codes, each)
        which, value = np.divmod(pairs, width)
        return value, at_stake.astype(np.int64), alike.astype(np.int64), times[which]
