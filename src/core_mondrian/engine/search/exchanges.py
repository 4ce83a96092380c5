"""Exchange records between two classes of a block: weigh it, then carry it out.

Either side may give a record. Equal tuples are linked, so that whoever looks for
company finds the classes that hold a tuple like its own:

    of[number] ─► after ─► after ─► -1      the records of tuple ``number``
    prior the other way round; owner: the class of each record
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    NOTHING_HIGH,
    NOTHING_LOW,
    VALUE_SET,
)
from cython.cimports.core_mondrian.engine.model_rules import (
    change_counts,
    rules_admit,
)
from cython.cimports.core_mondrian.engine.records import copy_record, row
from cython.cimports.core_mondrian.engine.search.closeness import class_width
from cython.cimports.core_mondrian.engine.search.exact_cuts import ROUNDING
from cython.cimports.core_mondrian.engine.search.objective import box_loss, worth_of
from cython.cimports.core_mondrian.engine.search.regrouping import (
    bound_class,
    count_class,
    has_value,
    n_values_of,
    n_values_without,
    nearest_code,
    set_loss,
)

from core_mondrian.engine.search.workspace import (
    ClassSet,
    ObjectiveViews,
    SearchWorkspace,
)

_LOT_BITS = 0xFFFFFFFF


def draw(pool: ClassSet, n: int) -> int:
    """Draw a number below ``n``."""
    lot = pool.lot
    lot ^= (lot << 13) & _LOT_BITS
    lot ^= lot >> 17
    lot ^= (lot << 5) & _LOT_BITS
    pool.lot = lot
    # Uncompiled, the number of records is one of NumPy's, of 32 bits.
    return (lot * cython.cast(cython.longlong, n)) >> 32


def record_of(pool: ClassSet, number: int) -> int:
    """Draw one of a class's records."""
    i = pool.classes[number].head
    for _ in range(draw(pool, pool.classes[number].n)):
        i = pool.next[i]
    return i


def link(pool: ClassSet, place: int, number: int) -> None:
    """Put a record of class ``number`` among those of its tuple."""
    tuple_number = pool.tuple_of[place]
    first = pool.of[tuple_number]
    pool.owner[place] = number
    pool.prior[place] = -1
    pool.after[place] = first
    if first >= 0:
        pool.prior[first] = place
    pool.of[tuple_number] = place
    pool.n_of[tuple_number] += 1


def unlink(pool: ClassSet, place: int) -> None:
    """Take a record out of those of its tuple."""
    tuple_number = pool.tuple_of[place]
    before = pool.prior[place]
    behind = pool.after[place]
    if before >= 0:
        pool.after[before] = behind
    else:
        pool.of[tuple_number] = behind
    if behind >= 0:
        pool.prior[behind] = before
    pool.n_of[tuple_number] -= 1


def loss_after(
    pool: ClassSet, objective: ObjectiveViews, number: int, gone: int, new: int
) -> float:
    """Return what each row of a class would lose without one record and with another.

    -1 is no record.
    """
    if pool.is_quick:
        return class_width(pool, number, gone, new)
    loss = 0.0
    for column in range(objective.n_columns):
        if objective.info[column].kind == VALUE_SET:
            loss += set_loss_after(pool, objective, column, number, gone, new)
            continue
        low = cython.declare(cython.int, pool.low[number, column])
        high = cython.declare(cython.int, pool.high[number, column])
        if gone >= 0:
            code = pool.records[gone, column]
            if pool.classes[number].n == 1:
                low = NOTHING_LOW
                high = NOTHING_HIGH
            elif low != high:
                if code == low:
                    low = nearest_code(pool, column, number, gone, high)
                elif code == high:
                    high = nearest_code(pool, column, number, gone, low)
        if new >= 0:
            code = pool.records[new, column]
            low = min(low, code)
            high = max(high, code)
        loss += box_loss(objective, column, low, high)
    return loss


def set_loss_after(
    pool: ClassSet,
    objective: ObjectiveViews,
    column: int,
    number: int,
    gone: int,
    new: int,
) -> float:
    """Return the same of a column that is released as a set."""
    if gone < 0:
        n_values = n_values_of(pool, objective, column, number, number)
    elif new >= 0 and pool.records[gone, column] == pool.records[new, column]:
        return set_loss(pool, objective, column, number, number)
    else:
        n_values = n_values_without(pool, objective, column, number, gone)
    if new >= 0 and not has_value(
        pool, objective, column, number, pool.records[new, column]
    ):
        n_values += 1
    return objective.info[column].unit * (n_values - 1)


def weigh_sides(pool: ClassSet, workspace: SearchWorkspace) -> bool:
    """Fill the rows that either side gives; return whether both keep enough.

    Of a record with more rows than its class can spare, those are given, and now and
    then fewer.
    """
    i = cython.declare(cython.int, pool.sides[0].record)
    j = cython.declare(cython.int, pool.sides[1].record)
    tuple_at = pool.records.shape[1] - 1
    if j >= 0 and pool.records[i, tuple_at] == pool.records[j, tuple_at]:
        return False
    if pool.free < 0 or pool.next[pool.free] < 0:
        return False
    least = workspace.rules.min_rows
    rows = pool.classes[pool.sides[0].number].rows
    others = pool.classes[pool.sides[1].number].rows
    back = cython.declare(cython.longlong, 0)
    if j >= 0:
        back = pool.records[j, tuple_at - 1]
    given = cython.declare(cython.longlong, pool.records[i, tuple_at - 1])
    given = min(given, rows + back - least)
    if j < 0 and given > 1 and draw(pool, 2) == 0:
        given = 1 + draw(pool, given)
    back = min(back, others + given - least)
    if given <= 0 or (j >= 0 and back <= 0) or rows - given + back < least:
        return False
    pool.sides[0].rows = given
    pool.sides[1].rows = back
    weigh_side(pool, workspace.objective, 0)
    weigh_side(pool, workspace.objective, 1)
    return True


def weigh_side(pool: ClassSet, objective: ObjectiveViews, side: int) -> None:
    """Fill what the rows are worth that a side gives, and if a record goes whole."""
    i = cython.declare(cython.int, pool.sides[side].record)
    pool.sides[side].worth = 0
    pool.sides[side].gone = -1
    if i < 0:
        return
    rows_at = pool.records.shape[1] - 2
    n = cython.declare(cython.longlong, pool.records[i, rows_at])
    each = worth_of(objective, row(pool.records, i), rows_at) // n
    pool.sides[side].worth = each * pool.sides[side].rows
    if pool.sides[side].rows == n:
        pool.sides[side].gone = i


def is_cheap(pool: ClassSet, workspace: SearchWorkspace, most: float) -> bool:
    """Return whether the exchange costs less than ``most``."""
    a = pool.sides[0].number
    b = pool.sides[1].number
    before = pool.classes[a].worth * pool.classes[a].loss
    before += pool.classes[b].worth * pool.classes[b].loss
    limit = before * (1.0 - ROUNDING) + most
    after = loss_of_side(pool, workspace.objective, 0)
    if after >= limit:
        return False
    return after + loss_of_side(pool, workspace.objective, 1) < limit


def loss_of_side(pool: ClassSet, objective: ObjectiveViews, side: int) -> float:
    """Return what one class would lose after the exchange."""
    number = pool.sides[side].number
    worth = pool.classes[number].worth
    worth += pool.sides[1 - side].worth - pool.sides[side].worth
    gone = pool.sides[side].gone
    return worth * loss_after(
        pool, objective, number, gone, pool.sides[1 - side].record
    )


def rules_admit_side(pool: ClassSet, workspace: SearchWorkspace, side: int) -> bool:
    """Return whether the rules admit one class after the exchange."""
    number = pool.sides[side].number
    rows = pool.classes[number].rows
    count_class(pool, workspace, number)
    if pool.sides[1 - side].record >= 0:
        more = pool.sides[1 - side].rows
        changed = row(pool.records, pool.sides[1 - side].record)
        change_counts(workspace.side_counts, workspace.rules, changed, more)
        rows += more
    if pool.sides[side].record >= 0:
        less = pool.sides[side].rows
        changed = row(pool.records, pool.sides[side].record)
        change_counts(workspace.side_counts, workspace.rules, changed, -less)
        rows -= less
    return rules_admit(workspace.rules, rows, workspace.side_counts)


def exchange(pool: ClassSet, workspace: SearchWorkspace) -> None:
    """Carry the exchange out."""
    pool.clock += 1
    for side in range(2):
        if pool.sides[side].record >= 0:
            other = pool.sides[1 - side].number
            give_rows(pool, other, pool.sides[side].record, pool.sides[side].rows)
    for side in range(2):
        if pool.sides[side].record >= 0:
            number = pool.sides[side].number
            take_rows(pool, number, pool.sides[side].record, pool.sides[side].rows)
    for side in range(2):
        number = pool.sides[side].number
        more = pool.sides[1 - side].worth - pool.sides[side].worth
        settle(pool, workspace.objective, number, more)


def settle(pool: ClassSet, objective: ObjectiveViews, number: int, more: int) -> None:
    """Note what a changed class is worth, ``more`` than before, and loses."""
    pool.classes[number].worth += more
    pool.classes[number].changed = pool.clock
    pool.classes[number].loss = bound_class(pool, objective, number)


def take_rows(pool: ClassSet, number: int, place: int, n: int) -> None:
    """Take rows of a record out of a class; without any left, its place is free."""
    rows_at = pool.records.shape[1] - 2
    pool.classes[number].rows -= n
    if pool.records[place, rows_at] > n:
        pool.records[place, rows_at] -= n
        return
    previous = -1
    i = pool.classes[number].head
    while i != place:
        previous = i
        i = pool.next[i]
    if previous < 0:
        pool.classes[number].head = pool.next[place]
    else:
        pool.next[previous] = pool.next[place]
    pool.classes[number].n -= 1
    unlink(pool, place)
    pool.next[place] = pool.free
    pool.free = place


def give_rows(pool: ClassSet, number: int, place: int, n: int) -> None:
    """Give a class rows of a record; they join those of the same tuple."""
    rows_at = pool.records.shape[1] - 2
    pool.classes[number].rows += n
    i = find_tuple(pool, number, pool.tuple_of[place])
    if i >= 0:
        pool.records[i, rows_at] += n
        return
    new = pool.free
    pool.free = pool.next[new]
    copy_record(pool.records, place, pool.records, new)
    pool.records[new, rows_at] = n
    pool.tuple_of[new] = pool.tuple_of[place]
    pool.next[new] = pool.classes[number].head
    pool.classes[number].head = new
    pool.classes[number].n += 1
    link(pool, new, number)


def find_tuple(pool: ClassSet, number: int, tuple_number: int) -> int:
    """Return a class's record of a tuple, or -1."""
    i = pool.classes[number].head
    while i >= 0 and pool.tuple_of[i] != tuple_number:
        i = pool.next[i]
    return i
