"""Groups: the records of a partition by their code in one column."""

import numpy as np

from core_mondrian.kernels.apart import has_pairs, load_counted_pairs
from core_mondrian.kernels.jit import kernel
from core_mondrian.kernels.layout import Aims, Codes, Fields, Finder, Space
from core_mondrian.kernels.losses import NOTHING_HIGH, NOTHING_LOW, worth_of
from core_mondrian.kernels.runs import sort_keys


@kernel
def copy_record(source: Codes, i: int, target: Codes, j: int) -> None:
    """Write ``source[i]`` over ``target[j]``."""
    for field in range(source.shape[1]):
        target[j, field] = source[i, field]


@kernel
def find_span(space: Space, finder: Finder, column: int, start: int, stop: int) -> bool:
    """Note the lowest and highest code of a column; tell whether they differ."""
    low = space.records[start, column]
    high = low
    for i in range(start + 1, stop):
        code = space.records[i, column]
        low = min(low, code)
        high = max(high, code)
    finder.totals[column].low = low
    finder.totals[column].high = high
    return low != high


@kernel
def group_records(
    space: Space, finder: Finder, column: int, start: int, stop: int
) -> int:
    """Fill the partition's groups of ``column`` by rising code; count them.

    ``keys`` holds the records' positions, group after group.
    """
    records = space.records
    keys = space.keys
    rows_at = records.shape[1] - 2
    n = stop - start
    low = finder.totals[column].low
    span = finder.totals[column].high - low + 1
    if n > 24 and span <= 2 * n + 32 and span < finder.histogram.size:
        histogram = finder.histogram
        for i in range(start, stop):
            histogram[records[i, column] - low] += 1
        place = np.int64(start)
        for code in range(span):
            size = histogram[code]
            histogram[code] = place
            place += size
        for i in range(start, stop):
            code = records[i, column] - low
            keys[histogram[code]] = i
            histogram[code] += 1
        for code in range(span):
            histogram[code] = 0
    else:
        for i in range(start, stop):
            keys[i] = (np.int64(records[i, column]) << 32) | np.int64(i)
        sort_keys(keys, start, stop - 1)
        for i in range(start, stop):
            keys[i] &= 0xFFFFFFFF
    group = start - 1
    last = np.int32(-1)
    for i in range(start, stop):
        code = records[keys[i], column]
        rows = records[keys[i], rows_at]
        if code != last:
            group += 1
            last = code
            space.groups[group].code = code
            space.groups[group].first = i
            space.groups[group].n = 1
            space.groups[group].rows = rows
        else:
            space.groups[group].n += 1
            space.groups[group].rows += rows
    return group - start + 1


@kernel
def weigh_groups(space: Space, aims: Aims, start: int, n_groups: int) -> None:
    """Fill what the rows of each group are worth."""
    groups = space.groups
    for group in range(start, start + n_groups):
        groups[group].worth = groups[group].rows
        if aims.worth.size == 0:
            continue
        worth = np.int64(0)
        first = groups[group].first
        for i in range(first, first + groups[group].n):
            worth += worth_of(aims, space.records[space.keys[i]])
        groups[group].worth = worth


@kernel
def copy_group(source: Fields, i: int, target: Fields, j: int) -> None:
    """Write ``source[i]`` over ``target[j]``."""
    target[j].code = source[i].code
    target[j].first = source[i].first
    target[j].n = source[i].n
    target[j].rows = source[i].rows
    target[j].worth = source[i].worth


@kernel
def order_by_rows(space: Space, start: int, n_groups: int) -> None:
    """Sort the groups by falling rows, ties by code."""
    stop = start + n_groups
    for group in range(start, stop):
        rest = np.int64(NOTHING_LOW) - space.groups[group].rows
        space.ranks[group] = (rest << 32) | np.int64(group)
        copy_group(space.groups, group, space.ordered, group)
    sort_keys(space.ranks, start, stop - 1)
    for group in range(start, stop):
        copy_group(space.ordered, space.ranks[group] & 0xFFFFFFFF, space.groups, group)


@kernel
def load_pairs(
    space: Space,
    aims: Aims,
    finder: Finder,
    column: int,
    other: int,
    start: int,
    stop: int,
    n_groups: int,
) -> None:
    """Fill the codes of ``other`` in each group of ``column``, and what they are worth.

    Where two columns have few values, equal pairs are counted first: then what follows
    costs as much as there are pairs, however many records there are.
    """
    records = space.records
    groups = space.groups
    if has_pairs(finder):
        load_counted_pairs(space, finder, column, other, start, n_groups)
        return
    if column == other:
        for group in range(start, start + n_groups):
            groups[group].begin = group
            groups[group].end = group + 1
            space.codes[group] = groups[group].code
            space.worth[group] = groups[group].worth
        return
    low = finder.totals[column].low
    other_low = finder.totals[other].low
    span = finder.totals[other].high - other_low + 1
    n_pairs = span * (finder.totals[column].high - low + 1)
    if n_pairs > stop - start or n_pairs > finder.joint.size:
        for i in range(start, stop):
            record = space.keys[i]
            space.codes[i] = records[record, other]
            space.worth[i] = worth_of(aims, records[record])
        for group in range(start, start + n_groups):
            groups[group].begin = groups[group].first
            groups[group].end = groups[group].first + groups[group].n
        return
    joint = finder.joint
    for i in range(start, stop):
        pair = span * (records[i, column] - low) + records[i, other] - other_low
        joint[pair] += worth_of(aims, records[i])
    place = start
    for group in range(start, start + n_groups):
        groups[group].begin = place
        first = span * (groups[group].code - low)
        for code in range(span):
            if joint[first + code]:
                space.codes[place] = other_low + code
                space.worth[place] = joint[first + code]
                joint[first + code] = 0
                place += 1
        groups[group].end = place


@kernel
def bound_groups(space: Space, start: int, n_groups: int) -> None:
    """Fill the box of each group's loaded codes, and of all before and after it."""
    groups = space.groups
    stop = start + n_groups
    low_before = np.int32(NOTHING_LOW)
    high_before = np.int32(NOTHING_HIGH)
    for group in range(start, stop):
        low = np.int32(NOTHING_LOW)
        high = np.int32(NOTHING_HIGH)
        for i in range(groups[group].begin, groups[group].end):
            low = min(low, space.codes[i])
            high = max(high, space.codes[i])
        groups[group].low = low
        groups[group].high = high
        groups[group].low_before = low_before
        groups[group].high_before = high_before
        low_before = min(low_before, low)
        high_before = max(high_before, high)
    low_after = np.int32(NOTHING_LOW)
    high_after = np.int32(NOTHING_HIGH)
    for group in range(stop - 1, start - 1, -1):
        low_after = min(low_after, groups[group].low)
        high_after = max(high_after, groups[group].high)
        groups[group].low_after = low_after
        groups[group].high_after = high_after
