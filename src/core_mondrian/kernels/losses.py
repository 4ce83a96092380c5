"""What a class loses, column by column, in the form it is released in."""

import numpy as np

from core_mondrian.kernels.jit import kernel
from core_mondrian.kernels.layout import ANY, RANGE, VALUE_SET, Aims, Codes, Finder

# The box of no record at all.
NOTHING_LOW = 2**31 - 1
NOTHING_HIGH = -1


@kernel
def n_words(n_codes: int) -> int:
    """Return how many words of 63 bits a set of codes takes."""
    return (n_codes + 62) // 63


@kernel
def worth_of(aims: Aims, record: Codes) -> int:
    """Return how often the loss of a record's rows counts."""
    rows = np.int64(record[record.size - 2])
    if aims.worth.size == 0:
        return rows
    return rows * aims.worth[record[record.size - 1]]


@kernel
def worth_between(records: Codes, aims: Aims, start: int, stop: int, rows: int) -> int:
    """Return what records are worth that have ``rows`` rows."""
    if aims.worth.size == 0:
        return np.int64(rows)
    worth = np.int64(0)
    for i in range(start, stop):
        worth += worth_of(aims, records[i])
    return worth


@kernel
def lowest_node(aims: Aims, column: int, low: int, high: int) -> int:
    """Return the lowest hierarchy node that covers both codes."""
    first = aims.info[column].node_offset
    node = first
    while aims.nodes[node].n_children > 0:
        left = first + aims.nodes[node].first
        right = left + aims.nodes[node].n_children - 1
        while left < right:
            middle = (left + right + 1) // 2
            if aims.nodes[middle].low <= low:
                left = middle
            else:
                right = middle - 1
        if aims.nodes[left].high < high:
            break
        node = left
    return node


@kernel
def box_loss(aims: Aims, column: int, low: int, high: int) -> float:
    """Return what each row of a class loses whose codes reach from low to high."""
    if low == high:
        return 0.0
    kind = aims.info[column].kind
    if kind == ANY:
        return aims.info[column].weight
    if kind == RANGE:
        if high == aims.info[column].n_codes - 1:
            # Missing next to present values: shown as a blank.
            return aims.info[column].weight
        offset = aims.info[column].value_offset
        return aims.positions[offset + high] - aims.positions[offset + low]
    n_codes = aims.info[column].n_codes
    if high == n_codes - 1:
        return aims.info[column].weight
    offset = aims.info[column].share_offset
    if offset >= 0:
        return aims.shares[offset + low * n_codes + high]
    return aims.nodes[lowest_node(aims, column, low, high)].share


@kernel
def class_loss(
    records: Codes, aims: Aims, finder: Finder, start: int, stop: int, gone: int
) -> float:
    """Return what each row of a class loses, without the record ``gone`` (-1: none)."""
    loss = 0.0
    for column in range(aims.info.size):
        is_set = aims.info[column].kind == VALUE_SET
        offset = aims.info[column].count_offset
        low = np.int32(NOTHING_LOW)
        high = np.int32(NOTHING_HIGH)
        n_distinct = 0
        for i in range(start, stop):
            if i == gone:
                continue
            code = records[i, column]
            low = min(low, code)
            high = max(high, code)
            if is_set:
                n_distinct += finder.side[offset + code] == 0
                finder.side[offset + code] = 1
        if is_set:
            for i in range(start, stop):
                finder.side[offset + records[i, column]] = 0
            loss += aims.info[column].unit * (n_distinct - 1)
        else:
            loss += box_loss(aims, column, low, high)
    return loss
