"""Which records of a block are closest: by rows of small numbers, one for each lane."""

import cython

from core_mondrian.engine.layout import Codes
from core_mondrian.engine.search.workspace import ClassSet, Sketch


def sketch_records(sketch: Sketch, records: Codes, n: int) -> None:
    """Fill the rows of the first ``n`` records, none of which is in a cluster."""
    for i in range(n):
        sketch_record(sketch, records, i, i)
        sketch.left[i] = i
        sketch.where[i] = i
    sketch.n_left = n


def sketch_record(sketch: Sketch, records: Codes, record: int, place: int) -> None:
    """Fill one row."""
    for lane in range(sketch.n_lanes):
        code = records[record, sketch.columns[lane]]
        sketch.places[place, lane] = sketch.table[sketch.offsets[lane] + code]


def distance(sketch: Sketch, i: int, j: int) -> int:
    """Return how far apart two records are."""
    total = cython.declare(cython.short, 0)
    for lane in range(sketch.n_lanes):
        a = sketch.places[i, lane]
        b = sketch.places[j, lane]
        low = cython.declare(cython.short, min(a, b))
        high = cython.declare(cython.short, max(a, b))
        apart = cython.declare(cython.short, high - low)
        total += min(apart, sketch.caps[lane])
    return total


def take(sketch: Sketch, i: int) -> None:
    """Take a record out of those without a cluster.

    left   [ a  i  c  d ]  ─►  [ a  d  c | i ]      where: the place of each
    """
    place = sketch.where[i]
    sketch.n_left -= 1
    last = sketch.left[sketch.n_left]
    sketch.left[place] = last
    sketch.where[last] = place
    sketch.left[sketch.n_left] = i
    sketch.where[i] = sketch.n_left


def list_left(sketch: Sketch, i: int, most: int) -> None:
    """List the ``most`` records without a cluster that are nearest to ``i``."""
    sketch.n_listed = 0
    for place in range(sketch.n_left):
        other = sketch.left[place]
        list_record(sketch, other, distance(sketch, i, other), most)


def list_classes(pool: ClassSet, number: int, most: int) -> None:
    """Put the ``most`` classes on a class's list whose first records are closest."""
    pool.sketch.n_listed = 0
    own = pool.tuple_of[pool.classes[number].head]
    for other in range(pool.n_classes):
        if other != number and pool.classes[other].rows > 0:
            far = distance(pool.sketch, own, pool.tuple_of[pool.classes[other].head])
            list_record(pool.sketch, other, far, most)
    pool.classes[number].n_listed = pool.sketch.n_listed
    for place in range(pool.sketch.n_listed):
        pool.lists[number * most + place].number = pool.sketch.near[place]


def list_record(sketch: Sketch, record: int, far: int, most: int) -> None:
    """Put a record on the list if it is near enough, behind its equals."""
    place = sketch.n_listed
    if place == most:
        if far >= sketch.far[place - 1]:
            return
        place -= 1
    else:
        sketch.n_listed += 1
    while place > 0 and sketch.far[place - 1] > far:
        sketch.far[place] = sketch.far[place - 1]
        sketch.near[place] = sketch.near[place - 1]
        place -= 1
    sketch.far[place] = far
    sketch.near[place] = record


def solitude(sketch: Sketch, i: int, n: int, step: int, rank: int) -> int:
    """Return how far the record is that is ``rank``-nearest among every ``step``-th."""
    sketch.n_listed = 0
    for place in range((n + step - 1) // step):
        other = place * step
        if other != i:
            list_record(sketch, other, distance(sketch, i, other), rank)
    if sketch.n_listed == 0:
        return 0
    return sketch.far[sketch.n_listed - 1]


def start_box(sketch: Sketch, i: int) -> None:
    """Make the box that of one record."""
    for lane in range(sketch.n_lanes):
        sketch.low[lane] = sketch.places[i, lane]
        sketch.high[lane] = sketch.places[i, lane]


def widen_box(sketch: Sketch, i: int) -> None:
    """Take a record into the box."""
    for lane in range(sketch.n_lanes):
        sketch.low[lane] = min(sketch.low[lane], sketch.places[i, lane])
        sketch.high[lane] = max(sketch.high[lane], sketch.places[i, lane])


def box_with(sketch: Sketch, i: int) -> int:
    """Return how wide the box would be with one more record."""
    total = cython.declare(cython.short, 0)
    for lane in range(sketch.n_lanes):
        place = sketch.places[i, lane]
        low = cython.declare(cython.short, min(sketch.low[lane], place))
        high = cython.declare(cython.short, max(sketch.high[lane], place))
        apart = cython.declare(cython.short, high - low)
        total += min(apart, sketch.caps[lane])
    return total


def box_width(sketch: Sketch) -> int:
    """Return how wide the box is."""
    total = cython.declare(cython.short, 0)
    for lane in range(sketch.n_lanes):
        apart = cython.declare(cython.short, sketch.high[lane] - sketch.low[lane])
        total += min(apart, sketch.caps[lane])
    return total


def class_width(pool: ClassSet, number: int, gone: int, new: int) -> float:
    """Return how wide a class would be without one record and with another.

    -1 is no record.
    """
    is_first = cython.declare(cython.bint, True)
    if new >= 0:
        start_box(pool.sketch, pool.tuple_of[new])
        is_first = False
    i = pool.classes[number].head
    while i >= 0:
        if i != gone:
            if is_first:
                start_box(pool.sketch, pool.tuple_of[i])
                is_first = False
            else:
                widen_box(pool.sketch, pool.tuple_of[i])
        i = pool.next[i]
    return 0.0 if is_first else box_width(pool.sketch)
