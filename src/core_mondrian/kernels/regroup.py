"""Regroup the classes of a block: move records between them, and cut neighbours anew.

Every step lowers the loss of the block and keeps every class admitted; what it takes
away is that classes have disjoint boxes.
"""

import numpy as np

from core_mondrian.kernels.borrow import (
    borrow_aims,
    borrow_block,
    borrow_finder,
    borrow_models,
    borrow_pool,
)
from core_mondrian.kernels.calls import call_for_int
from core_mondrian.kernels.exact import ROUNDING
from core_mondrian.kernels.groups import copy_record
from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import (
    CLASS,
    VALUE_SET,
    Aims,
    Block,
    Codes,
    Finder,
    Models,
    Pool,
)
from core_mondrian.kernels.losses import (
    NOTHING_HIGH,
    NOTHING_LOW,
    box_loss,
    class_loss,
    n_words,
    worth_between,
    worth_of,
)
from core_mondrian.kernels.rules import add_record, change_counts, clear, rules_admit
from core_mondrian.kernels.solve import solve_main

# The first passes look at the nearest classes only; further ones from there on.
_FIRST_WIDTH = 5
_FIRST_PASSES = 4
# More classes than this are left as they are: looking for neighbours costs the square.
_MOST_CLASSES = 4096


@kernel
def count_bits(word: int) -> int:
    """Count the ones of a word."""
    word -= (word >> 1) & 0x5555555555555555
    word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0F
    # Bytes are added pairwise: a product would overflow a signed word.
    word += word >> 8
    word += word >> 16
    return (word + (word >> 32)) & 0x7F


@kernel
def set_loss(pool: Pool, aims: Aims, column: int, a: int, b: int) -> float:
    """Return what each row of two classes together loses in a set of values."""
    first = aims.info[column].word
    n_values = 0
    for word in range(first, first + n_words(aims.info[column].n_codes)):
        n_values += count_bits(pool.bits[a, word] | pool.bits[b, word])
    return aims.info[column].unit * (n_values - 1)


@kernel
def has_value(pool: Pool, aims: Aims, column: int, number: int, code: int) -> bool:
    """Tell whether a class has a record with this code."""
    word = pool.bits[number, aims.info[column].word + code // 63]
    return (word >> (code % 63)) & 1 == 1


@kernel
def bound_class(pool: Pool, aims: Aims, number: int, gone: int) -> float:
    """Fill a class's box and values from its records; return what each row loses.

    One record may be left out.
    """
    loss = 0.0
    for column in range(aims.info.size):
        is_set = aims.info[column].kind == VALUE_SET
        word = aims.info[column].word
        if is_set:
            for i in range(word, word + n_words(aims.info[column].n_codes)):
                pool.bits[number, i] = 0
        low = np.int32(NOTHING_LOW)
        high = np.int32(NOTHING_HIGH)
        i = pool.classes[number].head
        while i >= 0:
            if i != gone:
                code = pool.records[i, column]
                low = min(low, code)
                high = max(high, code)
                if is_set:
                    pool.bits[number, word + code // 63] |= np.int64(1) << (code % 63)
            i = pool.next[i]
        pool.low[number, column] = low
        pool.high[number, column] = high
        if low == high:
            continue
        if is_set:
            loss += set_loss(pool, aims, column, number, number)
        else:
            loss += box_loss(aims, column, low, high)
    return loss


@kernel
def union_loss(pool: Pool, aims: Aims, a: int, b: int, most: float) -> float:
    """Return what each row of two classes would lose as one, if at most ``most``."""
    loss = 0.0
    for column in range(aims.info.size):
        low = min(pool.low[a, column], pool.low[b, column])
        high = max(pool.high[a, column], pool.high[b, column])
        if low == high:
            continue
        if aims.info[column].kind == VALUE_SET:
            loss += set_loss(pool, aims, column, a, b)
        else:
            loss += box_loss(aims, column, low, high)
        if loss > most:
            break
    return loss


@kernel
def loss_without(pool: Pool, aims: Aims, number: int, gone: int) -> float:
    """Return what each row of a class would lose without one of its records."""
    without = bound_class(pool, aims, number, gone)
    bound_class(pool, aims, number, -1)
    return without


@kernel
def loss_with(pool: Pool, aims: Aims, number: int, new: int, most: float) -> float:
    """Return what each row of a class would lose with one more record.

    More than ``most`` may be less than it would be: such a class is not taken.
    """
    loss = 0.0
    for column in range(aims.info.size):
        code = pool.records[new, column]
        low = pool.low[number, column]
        high = pool.high[number, column]
        if aims.info[column].kind == VALUE_SET:
            loss += set_loss(pool, aims, column, number, number)
            if not has_value(pool, aims, column, number, code):
                loss += aims.info[column].unit
        else:
            loss += box_loss(aims, column, min(low, code), max(high, code))
        if loss > most:
            break
    return loss


@kernel
def rules_admit_change(
    pool: Pool,
    models: Models,
    finder: Finder,
    n_columns: int,
    number: int,
    record: int,
    change: int,
) -> bool:
    """Tell whether the rules admit a class with ``change`` more rows of a record."""
    if not models.has_rules:
        return True
    clear(finder.side_counts, models)
    i = pool.classes[number].head
    while i >= 0:
        add_record(finder.side_counts, models, pool.records[i], n_columns)
        i = pool.next[i]
    change_counts(
        finder.side_counts, models, pool.records[record], n_columns, np.int64(change)
    )
    return rules_admit(models, pool.classes[number].rows + change, finder.side_counts)


@kernel
def best_target(
    pool: Pool,
    aims: Aims,
    models: Models,
    finder: Finder,
    n_classes: int,
    source: int,
    record: int,
    taken: int,
    saved: float,
) -> int:
    """Return the class where ``taken`` rows of a record cost least, -1: all too much.

    ``saved`` is what its own class would gain.
    """
    best = -1
    least = saved
    n = np.int64(pool.records[record, pool.records.shape[1] - 2])
    more = worth_of(aims, pool.records[record]) // n * taken
    for number in range(n_classes):
        if number == source or pool.classes[number].rows == 0:
            continue
        worth = pool.classes[number].worth
        own = worth * pool.classes[number].loss
        loss = loss_with(pool, aims, number, record, (least + own) / (worth + more))
        extra = (worth + more) * loss - own
        if extra < least and rules_admit_change(
            pool, models, finder, aims.info.size, number, record, taken
        ):
            least = extra
            best = number
    return best


@kernel
def move_records(
    pool: Pool,
    aims: Aims,
    models: Models,
    finder: Finder,
    n_classes: int,
    free: int,
    clock: int,
) -> tuple[int, int]:
    """Move records out of classes with rows to spare while the loss falls.

    Of a record with more rows than that, those to spare are moved. Returns what is
    free now, and how many records were moved.
    """
    classes = pool.classes
    rows_at = pool.records.shape[1] - 2
    n_moved = 0
    for a in range(n_classes):
        if classes[a].rows == 0 or classes[a].loss == 0.0:
            continue
        previous = -1
        i = classes[a].head
        while i >= 0 and classes[a].rows > models.min_rows:
            following = pool.next[i]
            n = np.int64(pool.records[i, rows_at])
            worth = classes[a].worth
            taken = min(n, classes[a].rows - models.min_rows)
            less = worth_of(aims, pool.records[i]) // n * taken
            saved = less * classes[a].loss
            if taken == n:
                without = loss_without(pool, aims, a, i)
                saved = worth * classes[a].loss - (worth - less) * without
            saved -= ROUNDING * worth * classes[a].loss
            target = -1
            if (taken == n or free >= 0) and rules_admit_change(
                pool, models, finder, aims.info.size, a, i, -taken
            ):
                target = best_target(
                    pool, aims, models, finder, n_classes, a, i, taken, saved
                )
            if target < 0:
                previous = i
                i = following
                continue
            n_moved += 1
            moved = i
            if taken == n:
                if previous < 0:
                    classes[a].head = following
                else:
                    pool.next[previous] = following
                classes[a].n -= 1
            else:
                moved = free
                free = pool.next[free]
                copy_record(pool.records, i, pool.records, moved)
                pool.records[moved, rows_at] = taken
                pool.records[i, rows_at] -= taken
                previous = i
            pool.next[moved] = classes[target].head
            classes[target].head = moved
            classes[target].n += 1
            classes[target].rows += taken
            classes[target].worth += less
            classes[target].changed = clock
            classes[a].rows -= taken
            classes[a].worth -= less
            classes[a].changed = clock
            classes[a].loss = bound_class(pool, aims, a, -1)
            classes[target].loss = bound_class(pool, aims, target, -1)
            i = following
    return free, n_moved


@kernel
def find_nearest(pool: Pool, aims: Aims, a: int, n_classes: int, width: int) -> int:
    """Fill ``near`` with the classes whose union with ``a`` loses least; count them."""
    near = pool.near
    n = 0
    own = pool.classes[a].worth * pool.classes[a].loss
    for b in range(n_classes):
        if b == a or pool.classes[b].rows == 0:
            continue
        worth = pool.classes[a].worth + pool.classes[b].worth
        apart = own + pool.classes[b].worth * pool.classes[b].loss
        most = np.inf
        if n == width:
            most = (near[n - 1].extra + apart) / worth
        extra = worth * union_loss(pool, aims, a, b, most) - apart
        if n == width and extra >= near[n - 1].extra:
            continue
        place = n if n < width else n - 1
        n = place + 1
        while place > 0 and near[place - 1].extra > extra:
            near[place].extra = near[place - 1].extra
            near[place].number = near[place - 1].number
            place -= 1
        near[place].extra = extra
        near[place].number = b
    return n


@kernel
def gather(pool: Pool, records: Codes, number: int, n: int) -> int:
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


@kernel
def fill_class(
    pool: Pool, block: Block, aims: Aims, number: int, node: int, free: int
) -> int:
    """Make a leaf of ``block`` a class of the pool; return what is free now."""
    start = block.nodes[node].start
    stop = block.nodes[node].stop
    pool.classes[number].head = -1
    for i in range(stop - 1, start - 1, -1):
        place = free
        free = pool.next[place]
        copy_record(block.main.records, i, pool.records, place)
        pool.next[place] = pool.classes[number].head
        pool.classes[number].head = place
    pool.classes[number].n = stop - start
    rows = block.nodes[node].rows
    pool.classes[number].rows = rows
    pool.classes[number].worth = worth_between(
        block.main.records, aims, start, stop, rows
    )
    pool.classes[number].loss = bound_class(pool, aims, number, -1)
    return free


@kernel
def empty_class(pool: Pool, number: int, free: int) -> int:
    """Give a class's records back; return what is free now."""
    i = pool.classes[number].head
    while i >= 0:
        following = pool.next[i]
        pool.next[i] = free
        free = i
        i = following
    pool.classes[number].rows = 0
    pool.classes[number].n = 0
    pool.classes[number].head = -1
    return free


@kernel
def loss_of_leaves(
    block: Block, aims: Aims, models: Models, finder: Finder, n_nodes: int
) -> float:
    """Return what the leaves of ``block`` lose; infinite if one is not admitted."""
    total = 0.0
    for node in range(n_nodes):
        if block.nodes[node].kind != CLASS:
            continue
        start = block.nodes[node].start
        stop = block.nodes[node].stop
        rows = block.nodes[node].rows
        if models.has_rules:
            clear(finder.side_counts, models)
            for i in range(start, stop):
                record = block.main.records[i]
                add_record(finder.side_counts, models, record, aims.info.size)
            if not rules_admit(models, rows, finder.side_counts):
                return np.inf
        worth = worth_between(block.main.records, aims, start, stop, rows)
        total += worth * class_loss(block.main.records, aims, finder, start, stop, -1)
    return total


@kernel
def next_number(pool: Pool, n_classes: int) -> int:
    """Return the number of an empty class, or a new one."""
    for number in range(n_classes):
        if pool.classes[number].rows == 0:
            return number
    return n_classes


@kernel
def fill_pool(pool: Pool, block: Block, aims: Aims, n_nodes: int) -> tuple[int, int]:
    """Make the leaves of ``block`` the pool's classes; count them; what is free."""
    n_places = block.room[1]
    for i in range(n_places):
        pool.next[i] = i + 1
    pool.next[n_places - 1] = -1
    free = 0
    n_classes = 0
    for node in range(n_nodes):
        if block.nodes[node].kind == CLASS:
            free = fill_class(pool, block, aims, n_classes, node, free)
            pool.classes[n_classes].tried = 0
            pool.classes[n_classes].changed = 1
            n_classes += 1
    return n_classes, free


@kernel
def recut(
    pool: Pool,
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    a: int,
    n_near: int,
    n_classes: int,
    free: int,
    clock: int,
) -> tuple[int, int, bool]:
    """Merge a class with its nearest and cut anew; keep that if the loss falls.

    Returns how many classes there are now, what is free, and whether it was kept.
    """
    pool.near[n_near].number = a
    n = 0
    rows = np.int64(0)
    before = 0.0
    n_given = 0
    for i in range(n_near + 1):
        b = pool.near[i].number
        n = gather(pool, block.main.records, b, n)
        rows += pool.classes[b].rows
        before += pool.classes[b].worth * pool.classes[b].loss
        n_given += pool.classes[b].n
    n_nodes, n_out = solve_main(
        block, aims, models, finder, n, rows, 0.0, True, True, False
    )
    after = loss_of_leaves(block, aims, models, finder, n_nodes)
    if after >= before * (1.0 - ROUNDING):
        return n_classes, free, False
    i = free
    while i >= 0 and n_given < n_out:
        n_given += 1
        i = pool.next[i]
    if n_given < n_out:  # no room
        return n_classes, free, False
    for i in range(n_near + 1):
        free = empty_class(pool, pool.near[i].number, free)
    for node in range(n_nodes):
        if block.nodes[node].kind == CLASS:
            number = next_number(pool, n_classes)
            n_classes = max(n_classes, number + 1)
            free = fill_class(pool, block, aims, number, node, free)
            pool.classes[number].changed = clock
            pool.classes[number].tried = 0
    return n_classes, free, True


@entry_kernel
def regroup_classes(
    pool: Pool,
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    n_nodes: int,
    width: int,
    passes: int,
) -> int:
    """Move records and cut neighbours anew while that lowers the loss.

    Returns how many classes there are now, or 0 if nothing has changed.
    """
    pool = borrow_pool(pool)
    block = borrow_block(block)
    aims = borrow_aims(aims)
    models = borrow_models(models)
    finder = borrow_finder(finder)
    classes = pool.classes
    n_classes, free = fill_pool(pool, block, aims, n_nodes)
    if n_classes > _MOST_CLASSES:
        return 0
    clock = 1
    has_changed = False
    reach = min(width, _FIRST_WIDTH)
    turn = 0
    while turn < passes:
        if turn >= _FIRST_PASSES and reach < width:
            reach = width
            for number in range(n_classes):
                classes[number].tried = 0
        turn += 1
        clock += 1
        free, n_moved = move_records(pool, aims, models, finder, n_classes, free, clock)
        n_better = 0
        a = 0
        while a < n_classes:
            if classes[a].rows == 0 or classes[a].loss == 0.0:
                a += 1
                continue
            n_near = find_nearest(pool, aims, a, n_classes, reach)
            newest = classes[a].changed
            for i in range(n_near):
                newest = max(newest, classes[pool.near[i].number].changed)
            if newest <= classes[a].tried or n_near == 0:
                a += 1  # the same classes as last time
                continue
            clock += 1
            classes[a].tried = clock
            n_classes, free, is_better = recut(
                pool, block, aims, models, finder, a, n_near, n_classes, free, clock
            )
            n_better += is_better
            if not is_better:
                a += 1
        has_changed = has_changed or n_moved > 0 or n_better > 0
        if n_better == 0 and n_moved == 0:
            if reach == width:
                break
            turn = _FIRST_PASSES  # nothing left to gain so close by
    return n_classes if has_changed else 0


@kernel
def regroup(
    pool: Pool,
    block: Block,
    aims: Aims,
    models: Models,
    finder: Finder,
    n_nodes: int,
    width: int,
    passes: int,
) -> int:
    """Call ``regroup_classes``, which is compiled only if it is asked for."""
    return call_for_int(
        finder.regroup, (pool, block, aims, models, finder, n_nodes, width, passes)
    )
