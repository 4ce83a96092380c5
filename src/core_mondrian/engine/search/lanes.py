"""Columns as lanes of small whole numbers, by which many records are compared quickly.

Two records are as far apart as they are in all lanes, and in each at most by its cap:

    column      lanes                 number                       cap
    numbers     one                   place in the range           the whole range
    categories  one                   a multiple of the cap        the weight
    hierarchy   one for each level    a multiple of the cap        what the level adds

That is about what the two lose together. Sums of 16 bits are exact in any order, so
that a compiler may add up eight lanes at once.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import (
    NODE_SHARE,
    RANGE,
    VALUE_SET,
    Codes,
    Fields,
    Objective,
)

Places = NDArray[np.int16]
_LARGEST = 2**15 - 1
# The cap of the heaviest lane, unless there are too many to add up.
_STEPS = 255
_LEVELS = 4
# Lanes that are added up at once.
_WIDTH = 8


class Lanes(NamedTuple):
    """How records become rows of numbers."""

    columns: Codes
    """The column of each lane."""
    offsets: Codes
    """Where the numbers of its codes begin."""
    table: Places
    """The numbers of all codes, lane after lane."""
    caps: Places
    """What each lane adds at most."""


NO_LANES = Lanes(
    columns=np.zeros(0, dtype=np.int32),
    offsets=np.zeros(0, dtype=np.int32),
    table=np.zeros(0, dtype=np.int16),
    caps=np.zeros(0, dtype=np.int16),
)


class _Lane(NamedTuple):
    column: int
    most: float
    """What the lane adds at most, in units of the objective."""
    multiples: NDArray[np.float64]
    """The number of each code, in multiples of the cap."""


def build_lanes(objective: Objective) -> Lanes:
    """Return the lanes of all columns, filled up with lanes that add nothing."""
    lanes = [*_lanes_of(objective)]
    most = np.array([lane.most for lane in lanes])
    # Rounding may add one to each.
    room = _LARGEST - len(lanes)
    scale = min(_STEPS / most.max(), room / most.sum()) if most.any() else 0.0
    caps = np.rint(most * scale).astype(np.int64)
    numbers = [_table(one, int(cap)) for one, cap in zip(lanes, caps, strict=True)]
    offsets = np.cumsum([0, *(part.size for part in numbers[:-1])])
    empty = np.zeros(-len(lanes) % _WIDTH, dtype=np.int64)
    columns = [lane.column for lane in lanes]
    # What fills up reads the codes of the first lane: their numbers are in its table.
    columns += [columns[0]] * empty.size
    return Lanes(
        columns=np.array(columns, dtype=np.int32),
        offsets=np.append(offsets, empty).astype(np.int32),
        table=np.concatenate(numbers).astype(np.int16),
        caps=np.append(caps, empty).astype(np.int16),
    )


def _table(lane: _Lane, cap: int) -> NDArray[np.float64]:
    """Return the number of each code; codes too many to tell apart share numbers."""
    if not cap:
        return np.zeros(lane.multiples.size)
    return np.rint(cap * (lane.multiples % (_LARGEST // cap)))


def _lanes_of(objective: Objective) -> Iterator[_Lane]:
    for column, aim in enumerate(objective.info):
        codes = np.arange(float(aim["n_codes"]))
        if aim["kind"] == RANGE:
            first = int(aim["value_offset"])
            places = objective.positions[first : first + codes.size].copy()
            if aim["weight"] > 0.0:  # not so little that it is 0 beside the others
                places /= aim["weight"]
            places[-1] = 2.0  # missing: a whole range away from all values
            yield _Lane(column, float(aim["weight"]), places)
        elif aim["kind"] == NODE_SHARE:
            yield from _levels_of(objective, column, aim)
        else:
            name = "unit" if aim["kind"] == VALUE_SET else "weight"
            yield _Lane(column, float(aim[name]), codes)


def _levels_of(objective: Objective, column: int, aim: Fields) -> Iterator[_Lane]:
    """Return a lane for each of the first levels, and one for all below them.

    Records that part at a level lose what a node above it loses; those that part
    further down, what a node of that level loses. A lane adds the difference.
    """
    nodes = objective.nodes[int(aim["node_offset"]) :]
    codes = np.arange(int(aim["n_codes"]))
    levels = [np.zeros(codes.size, dtype=np.int64)]  # the root
    while len(levels) < _LEVELS and nodes["n_children"][levels[-1]].any():
        levels.append(_descend(nodes, levels[-1]))
    shares = [
        np.where(nodes["n_children"][level] > 0, nodes["share"][level], 0.0)
        for level in levels
    ]
    of_level = [*levels[1:], codes]
    below = [*shares[1:], np.zeros(codes.size)]
    for own, upper, lower in zip(of_level, shares, below, strict=True):
        most = float((upper - lower).mean())
        if most > 0.0:
            yield _Lane(column, most, own.astype(np.float64))


def _descend(nodes: Fields, above: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each code the child of its node that covers it, or a leaf again."""
    below = above.copy()
    for node in np.unique(above):
        n, first = int(nodes["n_children"][node]), int(nodes["first"][node])
        if n:
            codes = np.flatnonzero(above == node)
            lows = nodes["low"][first : first + n]
            below[codes] = first + np.searchsorted(lows, codes, side="right") - 1
    return below
