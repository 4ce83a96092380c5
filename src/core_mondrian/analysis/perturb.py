"""Choose which rows of which classes get which other sensitive value."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import Words
from core_mondrian.tables.hashing import splitmix64

Codes: TypeAlias = NDArray[np.int64]
Weights: TypeAlias = NDArray[np.float64]
Plain: TypeAlias = str | bool | None
"""What a released quasi-identifier is hashed as."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The class and the sensitive value of every row that may be counted."""

    rows: Codes
    """Which rows of the table these are, rising."""
    class_of: Codes
    value_of: Codes
    """The rank of the value; missing is ``weights.size``."""
    n_classes: int
    weights: Weights
    """By value: how likely it is drawn, next to the others."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the classes hold, and what they could."""

    pairs: Codes
    """Each class with each of its values, as ``class * (n_values + 1) + value``."""
    rows: Codes
    """By class: the rows that may be counted."""
    distinct: Codes
    """By class: its different values."""
    reach: Codes
    """By class: the most different values it could be given."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows of the table, and the rank of the value each of them is to show."""

    rows: Codes
    values: Codes


def survey(cells: Cells) -> Survey:
    """Count the values of every class, and those it lacks and could be given."""
    width = cells.weights.size + 1
    pairs = np.unique(cells.class_of * width + cells.value_of)
    owner, value = np.divmod(pairs, width)
    rows = np.bincount(cells.class_of, minlength=cells.n_classes)
    distinct = np.bincount(owner, minlength=cells.n_classes)
    is_drawable = np.append(cells.weights > 0, False)
    has = np.bincount(owner[is_drawable[value]], minlength=cells.n_classes)
    lacking = np.count_nonzero(is_drawable) - has
    return Survey(pairs, rows, distinct, np.minimum(distinct + lacking, rows))


def class_seeds(secret: bytes, classes: Sequence[Sequence[tuple[str, Plain]]]) -> Words:
    """Return two numbers per class that nobody without the secret can compute.

    ``classes`` are the released quasi-identifiers of each, by name. Not a generator
    of NumPy: its streams may change from version to version.
    """
    digests = [
        hashlib.blake2b(json.dumps(shown).encode(), digest_size=16, key=secret).digest()
        for shown in classes
    ]
    return np.frombuffer(b"".join(digests), "<u8").reshape(-1, 2).astype(np.uint64)


def plan(
    cells: Cells,
    surveyed: Survey,
    p: int,
    seeds: Callable[[Codes], Words],
    keys: Callable[[Codes], Words],
) -> Changes:
    """Return changes after which every class has ``p`` values and all it had.

    Args:
        cells: The table.
        surveyed: Its survey; every class must be able to reach ``p``.
        p: Different values a class needs.
        seeds: Given classes, two numbers for each; see `class_seeds`.
        keys: Given rows of the table, a number for each by its other cells.
    """
    need = np.maximum(p - surveyed.distinct, 0)
    short = np.flatnonzero(need)
    if not short.size:
        return Changes(short, short)
    number = np.cumsum(need > 0) - 1
    affected = np.flatnonzero(need[cells.class_of])
    owner = number[cells.class_of[affected]]
    rows = cells.rows[affected]
    start = seeds(short)
    chosen = _choose_rows(
        owner, cells.value_of[affected], keys(rows), start[:, 0], need[short]
    )
    drawn = _draw_values(cells.weights, surveyed.pairs, short, start[:, 1], need[short])
    return Changes(rows[chosen], drawn)


def _choose_rows(
    owner: Codes, values: Codes, keys: Words, seeds: Words, need: Codes
) -> Codes:
    """Return ``need`` rows of each class by lot, and never the last of its value.

    Lots are drawn by the rows in the order of their cells. Of each value the row with
    the highest lot stays; the others are taken by rising lot. That is the same as to
    draw one row after the other among those whose value would not disappear.
    """
    order = np.lexsort((keys, values, owner))
    owner, values = owner[order], values[order]
    # All different within a class: `splitmix64` is a bijection.
    lots = splitmix64(seeds[owner] + _count_up(owner).astype(np.uint64))
    by_value = np.lexsort((lots, values, owner))
    stays = np.ones(owner.size, dtype=np.bool_)
    before, after = by_value[:-1], by_value[1:]
    stays[before] = (owner[before] != owner[after]) | (values[before] != values[after])
    free = np.flatnonzero(~stays)
    free = free[np.lexsort((lots[free], owner[free]))]
    taken: Codes = order[free[_count_up(owner[free]) < need[owner[free]]]]
    return taken


def _count_up(owner: Codes) -> Codes:
    """Number the rows of each owner from 0 on; ``owner`` rises."""
    place = np.arange(owner.size)
    is_first = np.ones(owner.size, dtype=np.bool_)
    is_first[1:] = owner[1:] != owner[:-1]
    counted: Codes = place - np.maximum.accumulate(np.where(is_first, place, 0))
    return counted


def _draw_values(
    weights: Weights, pairs: Codes, short: Codes, seeds: Words, need: Codes
) -> Codes:
    """Draw ``need`` new values for each class in ``short``, one class after another."""
    width = weights.size + 1
    starts = np.searchsorted(pairs, short * width)
    stops = np.searchsorted(pairs, (short + 1) * width)
    owner = np.repeat(np.arange(short.size), need)
    words = splitmix64(seeds[owner] + _count_up(owner).astype(np.uint64))
    chances = np.split((words >> np.uint64(11)) * 2.0**-53, np.cumsum(need)[:-1])
    drawn: list[int] = []
    for i, start, stop in zip(range(short.size), starts, stops, strict=True):
        left = weights.copy()
        present = pairs[start:stop] - short[i] * width
        left[present[present < weights.size]] = 0.0
        drawn += _draw(left, chances[i])
    return np.array(drawn, dtype=np.int64)


def _draw(weights: Weights, chances: Weights) -> list[int]:
    """Draw different values with these weights; numbers from 0 to 1 are the chances."""
    candidates = np.flatnonzero(weights)
    drawn: list[int] = []
    for chance in chances:
        sums = np.cumsum(weights[candidates])
        place = np.searchsorted(sums, chance * sums[-1], side="right")
        place = min(int(place), candidates.size - 1)  # tiny weights round up
        drawn.append(int(candidates[place]))
        candidates = np.delete(candidates, place)
    return drawn
