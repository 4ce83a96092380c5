"""Physical order: whether the way a release is stored undoes its shuffling."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.analysis.attacks.findings import Finding, counted
from core_mondrian.analysis.attacks.leftovers import pick, texts_of
from core_mondrian.analysis.attacks.stored import Stored
from core_mondrian.runtime.array_types import ArrowArray, Integers
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.frames import OpenFrame, arrow_column
from core_mondrian.verification.matches import plain_column

FOLLOWS_ABOVE: Final = 0.5
"""Correlation of stored order with the original's, above that of released rows."""
_FEWEST: Final = 20
_PROBES: Final = 4
_MOST_SEARCHED: Final = 256
_MOST_BYTES: Final = 1 << 29
_SHORTEST: Final = 4


@dataclass(frozen=True)
class _Order:
    """Values of a column as they are stored, next to the tables."""

    column: str
    n: int
    stored: float
    """Rank correlation of their stored order with the original's."""
    released: float
    """The same of the released rows."""

    @property
    def excess(self) -> float:
        return self.stored - self.released

    @property
    def follows(self) -> bool:
        by_chance = 4 / float(np.sqrt(self.n - 1))
        return self.excess > FOLLOWS_ABOVE and self.stored > by_chance


def follow_storage(
    stored: Stored,
    released: OpenFrame,
    original: OpenFrame,
    carried: Sequence[str],
) -> Finding | None:
    """Compare the order of stored values with that of the original's rows.

    The released rows, in their order, are the control: they may be sorted like the
    original without a secret in it. None: nothing is stored that has an order.
    """
    orders = []
    for name in carried:
        before, after = (_distinct(frame, name) for frame in (original, released))
        if len(before) < _FEWEST:
            continue
        values_of = _stored_values(stored, name)
        if is_text(plain_column(arrow_column(released, name)).type):
            values_of += _searched_values(stored, before)
        for values in values_of:
            order = _compare(name, values, before, after)
            orders += [] if order is None else [order]
    if not orders:
        return None
    worst = max(orders, key=lambda one: one.excess)
    names = sorted({one.column for one in orders if one.follows})
    text = (
        f"Of {counted(len(orders), 'order', 'orders')} in which values of columns that "
        f"pass through are stored, {sum(one.follows for one in orders)} follow the "
        f"original's rows: the correlation is {worst.stored:.2f} at most, and "
        f"{worst.released:.2f} for the released rows"
    )
    return Finding(
        name="physical order",
        succeeded=bool(names),
        numbers={
            "orders": len(orders),
            "following": sum(one.follows for one in orders),
            "correlation": worst.stored,
            "released": worst.released,
            "values": worst.n,
        },
        sentence=f"{text}.",
        remedy="make it again: dictionaries are sorted now; or write it as CSV",
        columns=tuple(names),
    )


def _distinct(frame: OpenFrame, name: str) -> ArrowArray:
    return texts_of(arrow_column(frame, name)).unique().drop_null()


def _stored_values(stored: Stored, name: str) -> list[ArrowArray]:
    """Return the dictionaries of a column."""
    return [texts_of(one.values) for one in stored.dictionaries if one.column == name]


def _searched_values(stored: Stored, before: ArrowArray) -> list[ArrowArray]:
    """Return some values of a column in every order that bytes have them in."""
    texts = []
    long = before.filter(pc.greater_equal(pc.utf8_length(before), _SHORTEST))
    most = pick(stored, _MOST_SEARCHED, _MOST_BYTES)
    step = max(1, len(long) // most)
    some = long.take(pa.array(np.arange(0, len(long), step)[:most]))
    wanted = [one.encode() for one in some.to_pylist()]
    probes = wanted[:: max(1, len(wanted) // _PROBES)]
    for text in stored.texts:
        if not any(one in text for one in probes):
            continue
        places = np.array([text.find(one) for one in wanted], dtype=np.int64)
        at = np.flatnonzero(places >= 0)
        at = at[np.argsort(places[at], kind="stable")]
        texts.append(some.take(pa.array(at)))
    return texts


def _compare(
    name: str, values: ArrowArray, before: ArrowArray, after: ArrowArray
) -> _Order | None:
    """Compare an order of values with both tables; None: there is nothing in it."""
    values = values.filter(pc.is_in(values, value_set=before)).unique()
    if len(values) < _FEWEST or _is_sorted(values):
        return None
    first = _places(values, before)
    shown = _places(values, after)
    is_shown = shown >= 0
    return _Order(
        name,
        len(values),
        _correlation(first, np.arange(first.size)),
        _correlation(first[is_shown], shown[is_shown]),
    )


def _places(values: ArrowArray, among: ArrowArray) -> Integers:
    places: Integers = (
        pc.index_in(values, value_set=among)
        .fill_null(-1)
        .to_numpy(zero_copy_only=False)
    )
    return places.astype(np.int64)


def _is_sorted(values: ArrowArray) -> bool:
    """Return whether texts, or the numbers that they are, stand in rising order."""
    orders = [values]
    with suppress(pa.ArrowException):
        orders.append(values.cast(pa.float64()))
    return any(
        bool((np.diff(np.asarray(pc.sort_indices(one)).astype(np.int64)) > 0).all())
        for one in orders
    )


def _correlation(first: Integers, second: Integers) -> float:
    """Return how closely two rankings without ties agree, in either direction."""
    if first.size < 2:
        return 0.0
    a, b = (np.argsort(np.argsort(one)) for one in (first, second))
    return abs(float(np.corrcoef(a, b)[0, 1]))
