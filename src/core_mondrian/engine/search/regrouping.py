"""Regroup the classes of a block: move records between them, and cut neighbours anew.

Every step lowers the loss of the block and keeps every class admitted; what it takes
away is that classes have disjoint boxes.

The records of a class are a chain, and so are the places without a record:

    classes[number].head ─► next ─► next ─► -1
    free ─► next ─► -1
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    CLASS,
    NOTHING_HIGH,
    NOTHING_LOW,
    VALUE_SET,
)
from cython.cimports.core_mondrian.engine.model_rules import (
    add_record,
    change_counts,
    clear,
    rules_admit,
)
from cython.cimports.core_mondrian.engine.records import copy_record, row
from cython.cimports.core_mondrian.engine.search.block_solving import solve_block
from cython.cimports.core_mondrian.engine.search.class_loss import (
    class_loss,
    worth_between,
)
from cython.cimports.core_mondrian.engine.search.closeness import class_width
from cython.cimports.core_mondrian.engine.search.exact_cuts import ROUNDING
from cython.cimports.core_mondrian.engine.search.objective import box_loss, worth_of
from cython.cimports.libc.math import INFINITY

from core_mondrian.engine.layout import Codes
from core_mondrian.engine.search.workspace import (
    Block,
    ClassSet,
    ObjectiveViews,
    SearchWorkspace,
)

if not cython.compiled:
    # The first passes look at the nearest classes only; further ones from there on.
    _FIRST_WIDTH = 5
    _FIRST_PASSES = 4
    # More classes are left as they are: looking for neighbours costs the square.
    _MOST_CLASSES = 4096
    _MOST_LISTED = 32

_ODD_BITS = 0x5555555555555555
_ODD_PAIRS = 0x3333333333333333
_LOW_HALVES = 0x0F0F0F0F0F0F0F0F


def regroup(
    pool: ClassSet, block: Block, workspace: SearchWorkspace, width: int, passes: int
) -> bool:
    """Move records and cut neighbours anew while that lowers the loss.

    Returns whether anything has changed. What was known of neighbours is forgotten.
    """
    if pool.n_classes > _MOST_CLASSES:
        return False
    for number in range(pool.n_classes):
        pool.classes[number].tried = 0
        pool.classes[number].searched = 0
        pool.classes[number].listed = 0
    block.beta = 0.0
    block.tries_cuts = True
    block.splits_ties = True
    block.counts_funnel = False
    has_changed = False
    reach = min(width, _FIRST_WIDTH)
    turn = 0
    while turn < passes:
        if turn >= _FIRST_PASSES and reach < width:
            reach = width
            for number in range(pool.n_classes):
                pool.classes[number].tried = 0
                pool.classes[number].listed = 0
        turn += 1
        pool.clock += 1
        n_moved = move_records(pool, workspace)
        n_better = recut_all(pool, block, workspace, reach)
        if n_moved > 0 or n_better > 0:
            has_changed = True
        elif reach == width:
            break
        else:
            turn = _FIRST_PASSES  # nothing left to gain so close by
    return has_changed


def count_bits(word: int) -> int:
    """Count the ones of a word."""
    word -= (word >> 1) & _ODD_BITS
    word = (word & _ODD_PAIRS) + ((word >> 2) & _ODD_PAIRS)
    word = (word + (word >> 4)) & _LOW_HALVES
    # Bytes are added pairwise: a product would overflow a signed word.
    word += word >> 8
    word += word >> 16
    return (word + (word >> 32)) & 0x7F


def n_words(n_codes: int) -> int:
    """Return how many words of 63 bits a set of codes takes."""
    return (n_codes + 62) // 63


def set_loss(
    pool: ClassSet, objective: ObjectiveViews, column: int, a: int, b: int
) -> float:
    """Return what each row of two classes together loses in a set of values."""
    n_values = n_values_of(pool, objective, column, a, b)
    return objective.info[column].unit * (n_values - 1)


def n_values_of(
    pool: ClassSet, objective: ObjectiveViews, column: int, a: int, b: int
) -> int:
    """Return how many values two classes have together."""
    first = objective.info[column].word
    n_values = cython.declare(cython.longlong, 0)
    for word in range(first, first + n_words(objective.info[column].n_codes)):
        n_values += count_bits(pool.bits[a, word] | pool.bits[b, word])
    return n_values


def has_value(
    pool: ClassSet, objective: ObjectiveViews, column: int, number: int, code: int
) -> bool:
    """Return whether a class has a record with this code."""
    word = pool.bits[number, objective.info[column].word + code // 63]
    return (word >> (code % 63)) & 1 == 1


def bound_class(pool: ClassSet, objective: ObjectiveViews, number: int) -> float:
    """Fill a class's box and values from its records; return what each row loses."""
    if pool.is_quick:
        return class_width(pool, number, -1, -1)
    n_columns = objective.n_columns
    for column in range(n_columns):
        pool.low[number, column] = NOTHING_LOW
        pool.high[number, column] = NOTHING_HIGH
    i = pool.classes[number].head
    while i >= 0:
        for column in range(n_columns):
            code = pool.records[i, column]
            pool.low[number, column] = min(pool.low[number, column], code)
            pool.high[number, column] = max(pool.high[number, column], code)
        i = pool.next[i]
    loss = 0.0
    for column in range(n_columns):
        if objective.info[column].kind == VALUE_SET:
            bound_values(pool, objective, column, number)
            own = set_loss(pool, objective, column, number, number)
        else:
            low = pool.low[number, column]
            own = box_loss(objective, column, low, pool.high[number, column])
        pool.losses[number, column] = own
        loss += own
    return loss


def bound_values(
    pool: ClassSet, objective: ObjectiveViews, column: int, number: int
) -> None:
    """Fill a class's values in a column that is released as a set."""
    first = objective.info[column].word
    for word in range(first, first + n_words(objective.info[column].n_codes)):
        pool.bits[number, word] = 0
    one = cython.declare(cython.longlong, 1)
    i = pool.classes[number].head
    while i >= 0:
        code = pool.records[i, column]
        pool.bits[number, first + code // 63] |= one << (code % 63)
        i = pool.next[i]


def union_loss(
    pool: ClassSet, objective: ObjectiveViews, a: int, b: int, most: float
) -> float:
    """Return what each row of two classes would lose as one, if at most ``most``."""
    loss = cython.declare(cython.double, pool.classes[a].loss)
    loss = max(loss, pool.classes[b].loss)
    if loss > most:
        return loss
    loss = 0.0
    for column in range(objective.n_columns):
        low = min(pool.low[a, column], pool.low[b, column])
        high = max(pool.high[a, column], pool.high[b, column])
        if low == high:
            continue
        if objective.info[column].kind == VALUE_SET:
            loss += set_loss(pool, objective, column, a, b)
        else:
            loss += box_loss(objective, column, low, high)
        if loss > most:
            break
    return loss


def loss_without(
    pool: ClassSet, objective: ObjectiveViews, number: int, gone: int
) -> float:
    """Return what each row of a class would lose without one of its records.

    Only where that record is at an edge of the box are the others looked at.
    """
    loss = 0.0
    for column in range(objective.n_columns):
        code = pool.records[gone, column]
        if objective.info[column].kind == VALUE_SET:
            loss += set_loss_without(pool, objective, column, number, gone)
            continue
        low = pool.low[number, column]
        high = pool.high[number, column]
        if low == high:
            continue
        if code == low:
            low = nearest_code(pool, column, number, gone, high)
        elif code == high:
            high = nearest_code(pool, column, number, gone, low)
        loss += box_loss(objective, column, low, high)
    return loss


def nearest_code(pool: ClassSet, column: int, number: int, gone: int, best: int) -> int:
    """Return the code of a class that is nearest to the one of the record ``gone``.

    That record's code is the lowest or the highest, and ``best`` the other one.
    """
    edge = pool.records[gone, column]
    i = pool.classes[number].head
    while i >= 0:
        if i != gone:
            code = pool.records[i, column]
            if code == edge:
                return edge
            if (edge < code < best) or (best < code < edge):
                best = code
        i = pool.next[i]
    return best


def set_loss_without(
    pool: ClassSet, objective: ObjectiveViews, column: int, number: int, gone: int
) -> float:
    """Return what each row loses in a set of values without one record's."""
    n_values = n_values_without(pool, objective, column, number, gone)
    return objective.info[column].unit * (n_values - 1)


def n_values_without(
    pool: ClassSet, objective: ObjectiveViews, column: int, number: int, gone: int
) -> int:
    """Return how many values a class has without one of its records."""
    n_values = n_values_of(pool, objective, column, number, number)
    i = pool.classes[number].head
    while i >= 0 and (
        i == gone or pool.records[i, column] != pool.records[gone, column]
    ):
        i = pool.next[i]
    if i < 0:
        n_values -= 1  # no other record has it
    return n_values


def loss_with(
    pool: ClassSet, objective: ObjectiveViews, number: int, new: int, most: float
) -> float:
    """Return what each row of a class would lose with one more record.

    More than ``most`` may be less than it would be: such a class is not taken.
    """
    if pool.is_quick:
        return class_width(pool, number, -1, new)
    loss = cython.declare(cython.double, pool.classes[number].loss)
    for column in range(objective.n_columns):
        if loss > most:
            break
        code = pool.records[new, column]
        if objective.info[column].kind == VALUE_SET:
            if not has_value(pool, objective, column, number, code):
                loss += objective.info[column].unit
            continue
        low = pool.low[number, column]
        high = pool.high[number, column]
        if code < low or code > high:
            wider = box_loss(objective, column, min(low, code), max(high, code))
            loss += wider - pool.losses[number, column]
    return loss


def count_class(pool: ClassSet, workspace: SearchWorkspace, number: int) -> None:
    """Count the records of a class for the rules, in ``side_counts``."""
    clear(workspace.side_counts)
    i = pool.classes[number].head
    while i >= 0:
        add_record(workspace.side_counts, workspace.rules, row(pool.records, i))
        i = pool.next[i]


def rules_admit_change(
    pool: ClassSet, workspace: SearchWorkspace, number: int, record: int, change: int
) -> bool:
    """Return whether the rules admit a class with ``change`` more rows of a record."""
    if not workspace.rules.has_rules:
        return True
    changed = row(pool.records, record)
    count_class(pool, workspace, number)
    change_counts(workspace.side_counts, workspace.rules, changed, change)
    rows = pool.classes[number].rows + change
    return rules_admit(workspace.rules, rows, workspace.side_counts)


def best_target(
    pool: ClassSet,
    workspace: SearchWorkspace,
    source: int,
    record: int,
    taken: int,
    saved: float,
) -> int:
    """Return the class where ``taken`` rows of a record cost least, -1: all too much.

    ``saved`` is what its own class would gain. Classes that have not changed since
    ``pool.since`` are known to cost too much.
    """
    best = -1
    least = saved
    rows_at = pool.records.shape[1] - 2
    moved = row(pool.records, record)
    more = worth_of(workspace.objective, moved, rows_at) // moved[rows_at] * taken
    for number in range(pool.n_classes):
        if pool.classes[number].changed < pool.since:
            continue
        if number == source or pool.classes[number].rows == 0:
            continue
        worth = pool.classes[number].worth
        own = worth * pool.classes[number].loss
        most = (least + own) / (worth + more)
        loss = loss_with(pool, workspace.objective, number, record, most)
        extra = (worth + more) * loss - own
        if extra < least and rules_admit_change(pool, workspace, number, record, taken):
            least = extra
            best = number
    return best


def move_records(pool: ClassSet, workspace: SearchWorkspace) -> int:
    """Move records out of classes with rows to spare while the loss falls; count them.

    Of a record with more rows than that, those to spare are moved.
    """
    n_moved = 0
    for a in range(pool.n_classes):
        if pool.classes[a].rows > 0 and pool.classes[a].loss != 0.0:
            n_moved += move_records_of(pool, workspace, a)
    return n_moved


def move_records_of(pool: ClassSet, workspace: SearchWorkspace, a: int) -> int:
    """Move records out of one class while the loss falls; count them."""
    least = workspace.rules.min_rows
    rows_at = pool.records.shape[1] - 2
    n_moved = 0
    previous = -1
    pool.clock += 1
    pool.since = pool.classes[a].searched
    if pool.classes[a].changed >= pool.since:
        pool.since = 0
    pool.classes[a].searched = pool.clock
    i = pool.classes[a].head
    while i >= 0 and pool.classes[a].rows > least:
        following = pool.next[i]
        record = row(pool.records, i)
        n = cython.cast(cython.longlong, record[rows_at])
        taken = min(n, pool.classes[a].rows - least)
        less = worth_of(workspace.objective, record, rows_at) // n * taken
        target = find_target(pool, workspace, a, i, taken, less)
        if target < 0:
            previous = i
        else:
            n_moved += 1
            pool.since = 0
            moved = take_out(pool, a, i, previous, taken)
            if moved != i:
                previous = i
            put_into(pool, workspace, a, target, moved, less)
        i = following
    return n_moved


def find_target(
    pool: ClassSet, workspace: SearchWorkspace, a: int, i: int, taken: int, less: int
) -> int:
    """Return the class that ``taken`` rows of a record should move to, or -1.

    ``less`` is what these rows are worth.
    """
    n = pool.records[i, pool.records.shape[1] - 2]
    worth = pool.classes[a].worth
    saved = less * pool.classes[a].loss
    if taken == n:
        without = loss_without(pool, workspace.objective, a, i)
        saved = worth * pool.classes[a].loss - (worth - less) * without
    elif pool.free < 0:
        return -1
    saved -= ROUNDING * worth * pool.classes[a].loss
    if not rules_admit_change(pool, workspace, a, i, -taken):
        return -1
    return best_target(pool, workspace, a, i, taken, saved)


def take_out(pool: ClassSet, a: int, i: int, previous: int, taken: int) -> int:
    """Take rows of record ``i`` out of its chain; return the record that has them."""
    rows_at = pool.records.shape[1] - 2
    pool.classes[a].rows -= taken
    if taken == pool.records[i, rows_at]:
        if previous < 0:
            pool.classes[a].head = pool.next[i]
        else:
            pool.next[previous] = pool.next[i]
        pool.classes[a].n -= 1
        return i
    moved = pool.free
    pool.free = pool.next[moved]
    copy_record(pool.records, i, pool.records, moved)
    pool.records[moved, rows_at] = taken
    pool.records[i, rows_at] -= taken
    return moved


def put_into(
    pool: ClassSet,
    workspace: SearchWorkspace,
    a: int,
    target: int,
    moved: int,
    less: int,
) -> None:
    """Put a record taken out of ``a`` at the head of another class."""
    pool.next[moved] = pool.classes[target].head
    pool.classes[target].head = moved
    pool.classes[target].n += 1
    pool.classes[target].rows += pool.records[moved, pool.records.shape[1] - 2]
    pool.classes[target].worth += less
    pool.classes[target].changed = pool.clock
    pool.classes[a].worth -= less
    pool.classes[a].changed = pool.clock
    pool.classes[a].loss = bound_class(pool, workspace.objective, a)
    pool.classes[target].loss = bound_class(pool, workspace.objective, target)


def find_nearest(pool: ClassSet, objective: ObjectiveViews, a: int, width: int) -> int:
    """Fill ``near`` with the classes whose union with ``a`` loses least; count them."""
    n = keep_listed(pool, a)
    # Classes that are not listed are no nearer than the farthest that ever was.
    if n < width and pool.classes[a].farthest < INFINITY:
        pool.classes[a].listed = 0
    since = pool.classes[a].listed
    pool.clock += 1
    pool.classes[a].listed = pool.clock
    if since == 0:
        pool.classes[a].n_listed = 0
        pool.classes[a].farthest = INFINITY
    for b in range(pool.n_classes):
        if pool.classes[b].changed < since or pool.classes[b].rows == 0 or b == a:
            continue
        list_class(pool, objective, a, b, 2 * width)
    n = min(width, pool.classes[a].n_listed)
    for i in range(n):
        pool.near[i] = pool.lists[a * _MOST_LISTED + i]
    return n


def keep_listed(pool: ClassSet, a: int) -> int:
    """Keep the listed classes that have not changed; count them."""
    since = pool.classes[a].listed
    if pool.classes[a].changed >= since:
        pool.classes[a].listed = 0
        return 0
    first = a * _MOST_LISTED
    n = 0
    for i in range(first, first + pool.classes[a].n_listed):
        b = pool.lists[i].number
        if pool.classes[b].changed < since and pool.classes[b].rows > 0:
            pool.lists[first + n] = pool.lists[i]
            n += 1
    pool.classes[a].n_listed = n
    return n


def list_class(
    pool: ClassSet, objective: ObjectiveViews, a: int, b: int, most: int
) -> None:
    """Put a class on the list of ``a`` if it is near enough, behind its equals.

    ``most`` classes are listed, the nearest first.
    """
    worth = pool.classes[a].worth + pool.classes[b].worth
    separate = pool.classes[a].worth * pool.classes[a].loss
    separate += pool.classes[b].worth * pool.classes[b].loss
    farthest = pool.classes[a].farthest
    limit = (farthest + separate) / worth
    extra = worth * union_loss(pool, objective, a, b, limit) - separate
    if extra >= farthest:
        return
    first = a * _MOST_LISTED
    place = first + pool.classes[a].n_listed
    if pool.classes[a].n_listed == most:
        place -= 1
        if extra < pool.lists[place].extra:
            pool.classes[a].farthest = pool.lists[place].extra
        else:
            pool.classes[a].farthest = extra
            return
    else:
        pool.classes[a].n_listed += 1
    while place > first and pool.lists[place - 1].extra > extra:
        pool.lists[place] = pool.lists[place - 1]
        place -= 1
    pool.lists[place].extra = extra
    pool.lists[place].number = b


def gather(pool: ClassSet, records: Codes, number: int, n: int) -> int:
    """Append a class's records, equal tuples once; return how many there are now."""
    rows_at = records.shape[1] - 2
    i = pool.classes[number].head
    while i >= 0:
        tuple_number = pool.records[i, rows_at + 1]
        j = 0
        while j < n and records[j, rows_at + 1] != tuple_number:
            j += 1
        if j < n:
            records[j, rows_at] += pool.records[i, rows_at]
        else:
            copy_record(pool.records, i, records, n)
            n += 1
        i = pool.next[i]
    return n


def fill_class(
    pool: ClassSet, block: Block, objective: ObjectiveViews, number: int, node: int
) -> None:
    """Make a leaf of ``block`` a class of the pool."""
    start = block.nodes[node].start
    stop = block.nodes[node].stop
    pool.classes[number].head = -1
    for i in range(stop - 1, start - 1, -1):
        place = pool.free
        pool.free = pool.next[place]
        copy_record(block.main.records, i, pool.records, place)
        pool.next[place] = pool.classes[number].head
        pool.classes[number].head = place
    pool.classes[number].n = stop - start
    rows = block.nodes[node].rows
    pool.classes[number].rows = rows
    pool.classes[number].worth = worth_between(block.main, objective, start, stop, rows)
    pool.classes[number].loss = bound_class(pool, objective, number)
    pool.classes[number].changed = pool.clock
    pool.classes[number].tried = 0
    pool.classes[number].searched = 0
    pool.classes[number].listed = 0


def empty_class(pool: ClassSet, number: int) -> None:
    """Give a class's records back."""
    i = pool.classes[number].head
    while i >= 0:
        following = pool.next[i]
        pool.next[i] = pool.free
        pool.free = i
        i = following
    pool.classes[number].rows = 0
    pool.classes[number].n = 0
    pool.classes[number].head = -1


def loss_of_leaves(block: Block, workspace: SearchWorkspace) -> float:
    """Return what the leaves of ``block`` lose; infinite if one is not admitted."""
    total = 0.0
    for node in range(block.n_nodes):
        if block.nodes[node].kind != CLASS:
            continue
        if not rules_admit_leaf(block, workspace, node):
            return INFINITY
        start = block.nodes[node].start
        stop = block.nodes[node].stop
        rows = block.nodes[node].rows
        worth = worth_between(block.main, workspace.objective, start, stop, rows)
        total += worth * class_loss(block.main, workspace, start, stop, -1)
    return total


def rules_admit_leaf(block: Block, workspace: SearchWorkspace, node: int) -> bool:
    """Return whether the rules admit a leaf of ``block``."""
    if not workspace.rules.has_rules:
        return True
    clear(workspace.side_counts)
    for i in range(block.nodes[node].start, block.nodes[node].stop):
        record = row(block.main.records, i)
        add_record(workspace.side_counts, workspace.rules, record)
    rows = block.nodes[node].rows
    return rules_admit(workspace.rules, rows, workspace.side_counts)


def next_number(pool: ClassSet) -> int:
    """Return the number of an empty class, or a new one."""
    for number in range(pool.n_classes):
        if pool.classes[number].rows == 0:
            return number
    return pool.n_classes


def fill_pool(pool: ClassSet, block: Block, objective: ObjectiveViews) -> None:
    """Make the leaves of ``block`` the pool's classes."""
    n_places = block.pool_room
    for i in range(n_places):
        pool.next[i] = i + 1
    pool.next[n_places - 1] = -1
    pool.free = 0
    pool.clock = 1
    pool.n_classes = 0
    for node in range(block.n_nodes):
        if block.nodes[node].kind == CLASS:
            fill_class(pool, block, objective, pool.n_classes, node)
            pool.n_classes += 1


def recut(
    pool: ClassSet, block: Block, workspace: SearchWorkspace, a: int, n_near: int
) -> bool:
    """Merge a class with its nearest and cut anew; keep that if the loss falls.

    Returns whether it was kept.
    """
    pool.near[n_near].number = a
    n = cython.declare(cython.Py_ssize_t, 0)
    rows = cython.declare(cython.longlong, 0)
    before = 0.0
    for i in range(n_near + 1):
        b = pool.near[i].number
        n = gather(pool, block.main.records, b, n)
        rows += pool.classes[b].rows
        before += pool.classes[b].worth * pool.classes[b].loss
    solve_block(block, workspace, n, rows)
    after = loss_of_leaves(block, workspace)
    if after >= before * (1.0 - ROUNDING):
        return False
    if not has_room(pool, n_near, block.n_records):
        return False
    for i in range(n_near + 1):
        empty_class(pool, pool.near[i].number)
    for node in range(block.n_nodes):
        if block.nodes[node].kind == CLASS:
            number = next_number(pool)
            pool.n_classes = max(pool.n_classes, number + 1)
            fill_class(pool, block, workspace.objective, number, node)
    return True


def has_room(pool: ClassSet, n_near: int, n: int) -> bool:
    """Return whether ``n`` records fit into the nearest classes and free places."""
    n_given = cython.declare(cython.Py_ssize_t, 0)
    for i in range(n_near + 1):
        n_given += pool.classes[pool.near[i].number].n
    place = pool.free
    while place >= 0 and n_given < n:
        n_given += 1
        place = pool.next[place]
    return n_given >= n


def recut_all(
    pool: ClassSet, block: Block, workspace: SearchWorkspace, reach: int
) -> int:
    """Cut each class anew with its nearest; count how often that was kept.

    A class that changed is looked at again at once.
    """
    n_better = 0
    a = cython.declare(cython.Py_ssize_t, 0)
    while a < pool.n_classes:
        if pool.classes[a].rows == 0 or pool.classes[a].loss == 0.0:
            a += 1
            continue
        n_near = find_nearest(pool, workspace.objective, a, reach)
        newest = pool.classes[a].changed
        for i in range(n_near):
            newest = max(newest, pool.classes[pool.near[i].number].changed)
        if newest <= pool.classes[a].tried or n_near == 0:
            a += 1  # the same classes as last time
            continue
        pool.clock += 1
        pool.classes[a].tried = pool.clock
        if recut(pool, block, workspace, a, n_near):
            n_better += 1
        else:
            a += 1
    return n_better
