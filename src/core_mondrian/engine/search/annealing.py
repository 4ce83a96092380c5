"""Anneal the classes of a block: change them, at first even where that costs.

Regrouping takes only steps that gain, and ends where no single one does. Here records
are exchanged between classes that hold tuples alike, classes are dissolved and others
founded, if that costs less than a lot drawn below a limit, which falls to nothing. What
comes out is kept only if it loses less than before.

The lots come from a generator that starts with the same number in every block.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import VALUE_SET
from cython.cimports.core_mondrian.engine.model_rules import rules_admit
from cython.cimports.core_mondrian.engine.records import copy_record, row
from cython.cimports.core_mondrian.engine.search.closeness import (
    distance,
    list_classes,
    list_record,
    sketch_record,
)
from cython.cimports.core_mondrian.engine.search.exact_cuts import ROUNDING
from cython.cimports.core_mondrian.engine.search.exchanges import (
    draw,
    exchange,
    find_tuple,
    give_rows,
    is_cheap,
    link,
    record_of,
    rules_admit_side,
    settle,
    take_rows,
    unlink,
    weigh_sides,
)
from cython.cimports.core_mondrian.engine.search.objective import box_loss, worth_of
from cython.cimports.core_mondrian.engine.search.regrouping import (
    bound_class,
    count_class,
    empty_class,
    fill_pool,
    loss_with,
    regroup,
    rules_admit_change,
)
from cython.cimports.libc.math import INFINITY

from core_mondrian.engine.search.workspace import (
    Block,
    ClassSet,
    ObjectiveViews,
    SearchWorkspace,
)

if not cython.compiled:
    # The tuples that are looked at around one.
    _N_ALIKE = 24
    # The classes around its own where these are looked for, if there are sketches.
    _MOST_LISTED = 32
    _STAGES = 256
    # Of 32 steps, so many dissolve a class, and as many found one.
    _DISSOLVED = 2
    _SHARES = 1048576
    # Records of a class that may be dissolved, and of one that may be founded.
    _MOST_GIFTS = 32
    # Small blocks have fewer ways to be divided.
    _SWEEPS_PER_CLASS = 40
    # Each tuple is compared with all others of its block.
    _MOST_TUPLES = 32768
_FIRST_LOT = 2463534242
# The first limit, as a share of what a class loses; what is left of it stage by stage.
_HEAT = 0.1
_COOLING = 0.99
# Where columns are many, a class loses much, and one exchange changes little of it.
_QUICK_HEAT = 0.012
_QUICK_COOLING = 0.995
_LN2 = 0.6931471805599453


def improve(
    pool: ClassSet,
    block: Block,
    workspace: SearchWorkspace,
    width: int,
    passes: int,
    sweeps: int,
) -> bool:
    """Regroup the classes of a block, anneal and regroup them again if that pays.

    Returns whether anything has changed.
    """
    fill_pool(pool, block, workspace.objective)
    pool.lot = _FIRST_LOT
    has_changed = regroup(pool, block, workspace, width, passes)
    if sweeps > 0 and anneal(pool, workspace, sweeps):
        has_changed = True
        regroup(pool, block, workspace, width, passes)
    return has_changed


def anneal(pool: ClassSet, workspace: SearchWorkspace, sweeps: int) -> bool:
    """Change the classes ``sweeps`` times each; take it back unless they lose less."""
    before = total_loss(pool)
    n_members = list_members(pool)
    if n_members < 2:
        return False
    keep(pool)
    number_tuples(pool)
    if pool.has_sketch:
        find_close(pool)
        # A sketch does not know how many values a set has.
        pool.is_quick = pool.bits.shape[1] == 0
        bound_all(pool, workspace.objective)
    elif pool.n_tuples > _MOST_TUPLES:
        return False
    else:
        find_alike(pool, workspace.objective)
    cool(pool, workspace, sweeps)
    if pool.is_quick:
        pool.is_quick = False
        bound_all(pool, workspace.objective)
    if total_loss(pool) < before * (1.0 - ROUNDING):
        return True
    restore(pool, workspace.objective)
    return False


def bound_all(pool: ClassSet, objective: ObjectiveViews) -> None:
    """Measure all classes anew."""
    for number in range(pool.n_classes):
        if pool.classes[number].rows > 0:
            pool.classes[number].loss = bound_class(pool, objective, number)


def cool(pool: ClassSet, workspace: SearchWorkspace, sweeps: int) -> None:
    """Change classes at random, by what costs less and less."""
    n_members = list_members(pool)
    heat = (_QUICK_HEAT if pool.is_quick else _HEAT) * total_loss(pool) / n_members
    cooling = _QUICK_COOLING if pool.is_quick else _COOLING
    sweeps = min(sweeps, _SWEEPS_PER_CLASS * n_members)
    for _ in range(_STAGES):
        n_members = list_members(pool)
        if n_members == 0:
            break
        n_steps = cython.declare(cython.longlong, sweeps * n_members // _STAGES)
        for _ in range(n_steps):
            change(pool, workspace, n_members, heat)
        heat *= cooling


def total_loss(pool: ClassSet) -> float:
    """Return what all classes lose."""
    total = 0.0
    for number in range(pool.n_classes):
        if pool.classes[number].rows > 0:
            total += pool.classes[number].worth * pool.classes[number].loss
    return total


def list_members(pool: ClassSet) -> int:
    """List the classes that lose something, and count them; list those empty, too."""
    n_members = cython.declare(cython.longlong, 0)
    pool.n_vacant = 0
    # The lowest comes last and is taken first.
    for number in range(pool.n_classes - 1, -1, -1):
        if pool.classes[number].rows == 0:
            pool.vacant[pool.n_vacant] = number
            pool.n_vacant += 1
        elif pool.classes[number].loss != 0.0:
            pool.members[n_members] = number
            n_members += 1
    return n_members


def keep(pool: ClassSet) -> None:
    """Copy the classes, to restore them."""
    for i in range(pool.records.shape[0]):
        copy_record(pool.records, i, pool.kept_records, i)
        pool.kept_next[i] = pool.next[i]
    for number in range(pool.n_classes):
        pool.kept_classes[number] = pool.classes[number]
    pool.n_kept = pool.n_classes
    pool.kept_free = pool.free


def restore(pool: ClassSet, objective: ObjectiveViews) -> None:
    """Make the classes those that were kept."""
    for i in range(pool.records.shape[0]):
        copy_record(pool.kept_records, i, pool.records, i)
        pool.next[i] = pool.kept_next[i]
    pool.n_classes = pool.n_kept
    pool.free = pool.kept_free
    for number in range(pool.n_classes):
        pool.classes[number] = pool.kept_classes[number]
        if pool.classes[number].rows > 0:
            bound_class(pool, objective, number)


def number_tuples(pool: ClassSet) -> None:
    """Number the block's tuples from 0, and link the records of each.

    ``heads`` is a table of chains, by what the tuple's number leaves when divided.
    """
    tuple_at = pool.records.shape[1] - 1
    n_heads = cython.declare(cython.longlong, pool.records.shape[0])
    for i in range(n_heads):
        pool.heads[i] = -1
    pool.n_tuples = 0
    for number in range(pool.n_classes):
        if pool.classes[number].rows == 0:
            continue
        i = pool.classes[number].head
        while i >= 0:
            known = cython.cast(cython.longlong, pool.records[i, tuple_at]) % n_heads
            found = pool.heads[known]
            while found >= 0:
                if pool.records[pool.of[found], tuple_at] == pool.records[i, tuple_at]:
                    break
                found = pool.chain[found]
            if found < 0:
                found = pool.n_tuples
                pool.n_tuples += 1
                pool.chain[found] = pool.heads[known]
                pool.heads[known] = found
                pool.of[found] = -1
                pool.n_of[found] = 0
            pool.tuple_of[i] = found
            link(pool, i, number)
            i = pool.next[i]


def find_alike(pool: ClassSet, objective: ObjectiveViews) -> None:
    """List the tuples that lose least together with each: ``alike``, -1: no more."""
    for tuple_number in range(pool.n_tuples):
        first = tuple_number * _N_ALIKE
        for i in range(_N_ALIKE):
            pool.alike[first + i] = -1
            pool.alike_loss[i] = INFINITY
        for other in range(pool.n_tuples):
            if other == tuple_number:
                continue
            most = pool.alike_loss[_N_ALIKE - 1]
            loss = loss_of_pair(
                pool, objective, pool.of[tuple_number], pool.of[other], most
            )
            if loss < most:
                list_alike(pool, first, other, loss)


def find_close(pool: ClassSet) -> None:
    """List the tuples that are closest to each by their sketches: ``alike``.

    Only those in the classes that are closest to its own are looked at. How close two
    classes are, their first records say.
    """
    for tuple_number in range(pool.n_tuples):
        sketch_record(pool.sketch, pool.records, pool.of[tuple_number], tuple_number)
    for number in range(pool.n_classes):
        if pool.classes[number].rows == 0:
            continue
        list_classes(pool, number, _MOST_LISTED)
        i = pool.classes[number].head
        while i >= 0:
            list_companions(pool, number, pool.tuple_of[i])
            i = pool.next[i]


def list_companions(pool: ClassSet, number: int, tuple_number: int) -> None:
    """List the tuples of listed classes, and of its own, that are closest to one."""
    pool.sketch.n_listed = 0
    list_members_of(pool, number, tuple_number)
    for place in range(pool.classes[number].n_listed):
        other = cython.declare(
            cython.int, pool.lists[number * _MOST_LISTED + place].number
        )
        list_members_of(pool, other, tuple_number)
    first = tuple_number * _N_ALIKE
    for i in range(_N_ALIKE):
        pool.alike[first + i] = -1
    for i in range(pool.sketch.n_listed):
        pool.alike[first + i] = pool.sketch.near[i]


def list_members_of(pool: ClassSet, number: int, tuple_number: int) -> None:
    """List the tuples of a class if they are among the closest to one."""
    i = pool.classes[number].head
    while i >= 0:
        other = pool.tuple_of[i]
        if other != tuple_number:
            far = distance(pool.sketch, tuple_number, other)
            list_record(pool.sketch, other, far, _N_ALIKE)
        i = pool.next[i]


def list_alike(pool: ClassSet, first: int, other: int, loss: float) -> None:
    """Put a tuple on the list that begins at ``first``, in place of the last."""
    i = cython.declare(cython.Py_ssize_t, _N_ALIKE - 1)
    while i > 0 and pool.alike_loss[i - 1] > loss:
        pool.alike_loss[i] = pool.alike_loss[i - 1]
        pool.alike[first + i] = pool.alike[first + i - 1]
        i -= 1
    pool.alike_loss[i] = loss
    pool.alike[first + i] = other


def loss_of_pair(
    pool: ClassSet, objective: ObjectiveViews, i: int, j: int, most: float
) -> float:
    """Return what each of two records loses together, if that is less than ``most``."""
    loss = 0.0
    for column in range(objective.n_columns):
        code = pool.records[i, column]
        other = pool.records[j, column]
        if code == other:
            continue
        if objective.info[column].kind == VALUE_SET:
            loss += objective.info[column].unit
        else:
            loss += box_loss(objective, column, min(code, other), max(code, other))
        if loss >= most:
            break
    return loss


def lot_below(pool: ClassSet, heat: float) -> float:
    """Draw what a step may cost: more than c with a chance of exp(-c / heat).

    The logarithm is a series: that of a library differs from machine to machine.
    """
    share = (1.0 + draw(pool, _SHARES)) / _SHARES
    found = 0.0
    while share < 0.5:
        share *= 2.0
        found += _LN2
    z = (1.0 - share) / (1.0 + share)
    y = z * z
    found += 2.0 * z * (1.0 + y * (1.0 / 3.0 + y * (1.0 / 5.0 + y / 7.0)))
    return heat * found


def change(
    pool: ClassSet, workspace: SearchWorkspace, n_members: int, heat: float
) -> bool:
    """Change one of the classes if that is cheap; return whether it was."""
    a = pool.members[draw(pool, n_members)]
    if pool.classes[a].rows == 0:
        return False  # dissolved since
    what = draw(pool, 32)
    most = lot_below(pool, heat)
    if what < _DISSOLVED:
        return dissolve(pool, workspace, a, most)
    i = record_of(pool, a)
    if what < 2 * _DISSOLVED:
        return found_class(pool, workspace, pool.tuple_of[i], most)
    j = draw_alike(pool, pool.tuple_of[i])
    if j < 0 or pool.owner[j] == a:
        return False
    choose_sides(pool, a, i, pool.owner[j], j)
    return exchange_if_cheap(pool, workspace, most)


def draw_alike(pool: ClassSet, tuple_number: int) -> int:
    """Draw a record of the same tuple or of one like it, the nearer the likelier."""
    other = cython.declare(cython.longlong, tuple_number)
    if draw(pool, 8) > 0:
        place = draw(pool, 1 + draw(pool, _N_ALIKE))
        other = pool.alike[tuple_number * _N_ALIKE + place]
    if other < 0:
        return -1
    i = pool.of[other]
    for _ in range(draw(pool, pool.n_of[other])):
        i = pool.after[i]
    return i


def choose_sides(pool: ClassSet, a: int, i: int, b: int, j: int) -> None:
    """Draw who gives: class ``a`` record ``i``, or ``b`` record ``j``, or both one."""
    how = draw(pool, 6)
    giver = b if how in (2, 3) else a
    pool.sides[0].number = giver
    pool.sides[1].number = a + b - giver
    pool.sides[0].record = j if how in (2, 3) else i
    pool.sides[1].record = -1
    if how == 4:
        pool.sides[1].record = record_of(pool, b)
    elif how == 5:
        pool.sides[0].record = record_of(pool, a)
        pool.sides[1].record = j


def exchange_if_cheap(pool: ClassSet, workspace: SearchWorkspace, most: float) -> bool:
    """Exchange what the sides give if that costs less than ``most``."""
    if not weigh_sides(pool, workspace) or not is_cheap(pool, workspace, most):
        return False
    if workspace.rules.has_rules and not (
        rules_admit_side(pool, workspace, 0) and rules_admit_side(pool, workspace, 1)
    ):
        return False
    exchange(pool, workspace)
    return True


def worth_of_rows(pool: ClassSet, objective: ObjectiveViews, i: int, n: int) -> int:
    """Return what ``n`` rows of a record are worth."""
    rows_at = pool.records.shape[1] - 2
    every = cython.cast(cython.longlong, pool.records[i, rows_at])
    return worth_of(objective, row(pool.records, i), rows_at) // every * n


def dissolve(pool: ClassSet, workspace: SearchWorkspace, a: int, most: float) -> bool:
    """Give each record of a class to the one where it costs least, if all is cheap."""
    if pool.classes[a].n > _MOST_GIFTS:
        return False
    rows_at = pool.records.shape[1] - 2
    saved = pool.classes[a].worth * pool.classes[a].loss
    left = saved * (1.0 - ROUNDING) + most
    pool.clock += 1
    n_gifts = cython.declare(cython.longlong, 0)
    i = pool.classes[a].head
    while i >= 0:
        target = cheapest(pool, workspace, a, i, left)
        if target < 0 or pool.free < 0:
            break
        left -= pool.least
        n = cython.cast(cython.longlong, pool.records[i, rows_at])
        give_rows(pool, target, i, n)
        worth = worth_of_rows(pool, workspace.objective, i, n)
        settle(pool, workspace.objective, target, worth)
        note_gift(pool, n_gifts, target, i, n, worth)
        n_gifts += 1
        i = pool.next[i]
    if i >= 0:
        take_back(pool, workspace.objective, n_gifts)
        return False
    i = pool.classes[a].head
    while i >= 0:
        unlink(pool, i)
        i = pool.next[i]
    empty_class(pool, a)
    pool.classes[a].worth = 0
    pool.classes[a].loss = 0.0
    pool.classes[a].changed = pool.clock
    pool.vacant[pool.n_vacant] = a
    pool.n_vacant += 1
    return True


def note_gift(
    pool: ClassSet, number: int, target: int, i: int, n: int, worth: int
) -> None:
    """Note what a class was given, to take it back."""
    pool.gifts[number].number = target
    pool.gifts[number].record = pool.tuple_of[i]
    pool.gifts[number].rows = n
    pool.gifts[number].worth = worth


def take_back(pool: ClassSet, objective: ObjectiveViews, n_gifts: int) -> None:
    """Take back what classes were given, the last first."""
    for gift in range(n_gifts - 1, -1, -1):
        number = pool.gifts[gift].number
        i = find_tuple(pool, number, pool.gifts[gift].record)
        take_rows(pool, number, i, pool.gifts[gift].rows)
        settle(pool, objective, number, -pool.gifts[gift].worth)


def cheapest(
    pool: ClassSet, workspace: SearchWorkspace, a: int, i: int, most: float
) -> int:
    """Return the class where a record of ``a`` costs least, and less than ``most``.

    What it costs there is ``pool.least``. Classes that hold its tuple or one like it
    are looked at; -1: all of them cost more.
    """
    best = cython.declare(cython.longlong, -1)
    pool.least = most
    tuple_number = pool.tuple_of[i]
    n = cython.cast(cython.longlong, pool.records[i, pool.records.shape[1] - 2])
    for place in range(-1, _N_ALIKE):
        other = cython.declare(cython.longlong, tuple_number)
        if place >= 0:
            other = pool.alike[tuple_number * _N_ALIKE + place]
        if other < 0:
            break
        j = pool.of[other]
        while j >= 0:
            b = pool.owner[j]
            if b != a and costs_less(pool, workspace, b, i, n):
                best = b
            j = pool.after[j]
    return best


def costs_less(
    pool: ClassSet, workspace: SearchWorkspace, b: int, i: int, n: int
) -> bool:
    """Return whether a record costs less in a class than ``pool.least``; set that."""
    own = pool.classes[b].worth * pool.classes[b].loss
    worth = pool.classes[b].worth + worth_of_rows(pool, workspace.objective, i, n)
    loss = loss_with(pool, workspace.objective, b, i, (pool.least + own) / worth)
    extra = worth * loss - own
    if extra >= pool.least or not rules_admit_change(pool, workspace, b, i, n):
        return False
    pool.least = extra
    return True


def found_class(
    pool: ClassSet, workspace: SearchWorkspace, tuple_number: int, most: float
) -> bool:
    """Found a class of rows that others can spare, around a tuple, if that is cheap."""
    a = open_class(pool)
    if a < 0:
        return False
    pool.clock += 1
    pool.n_gifts = 0
    pool.least = 0.0
    for place in range(-1, _N_ALIKE):
        other = cython.declare(cython.longlong, tuple_number)
        if place >= 0:
            other = pool.alike[tuple_number * _N_ALIKE + place]
            if other < 0 or pool.classes[a].rows >= workspace.rules.min_rows:
                break
            if draw(pool, 10) < 3:
                continue
        collect(pool, workspace, a, other)
    if pool.classes[a].rows >= workspace.rules.min_rows:
        settle(pool, workspace.objective, a, 0)
        pool.least += pool.classes[a].worth * pool.classes[a].loss
        if pool.least < most and rules_admit_class(pool, workspace, a):
            return True
    give_back(pool, workspace.objective, a)
    pool.vacant[pool.n_vacant] = a
    pool.n_vacant += 1
    return False


def open_class(pool: ClassSet) -> int:
    """Return the number of an empty class, or -1 if there is no room for one."""
    a = cython.declare(cython.longlong, pool.n_classes)
    if pool.n_vacant > 0:
        pool.n_vacant -= 1
        a = pool.vacant[pool.n_vacant]
    elif a < pool.classes.shape[0]:
        pool.n_classes += 1
    else:
        return -1
    pool.classes[a].head = -1
    pool.classes[a].n = 0
    pool.classes[a].rows = 0
    pool.classes[a].worth = 0
    pool.classes[a].loss = 0.0
    return a


def collect(
    pool: ClassSet, workspace: SearchWorkspace, a: int, tuple_number: int
) -> None:
    """Collect rows of a tuple that their classes can spare, until there are enough.

    What the classes that gave them lose more is added to ``pool.least``.
    """
    least = workspace.rules.min_rows
    rows_at = pool.records.shape[1] - 2
    i = pool.of[tuple_number]
    while i >= 0:
        following = pool.after[i]
        b = pool.owner[i]
        n = cython.cast(cython.longlong, pool.records[i, rows_at])
        n = min(n, pool.classes[b].rows - least, least - pool.classes[a].rows)
        if (
            n > 0
            and b != a
            and pool.n_gifts < _MOST_GIFTS
            and pool.free >= 0
            and rules_admit_change(pool, workspace, b, i, -n)
        ):
            worth = worth_of_rows(pool, workspace.objective, i, n)
            pool.least -= pool.classes[b].worth * pool.classes[b].loss
            note_gift(pool, pool.n_gifts, b, i, n, worth)
            pool.n_gifts += 1
            give_rows(pool, a, i, n)
            pool.classes[a].worth += worth
            take_rows(pool, b, i, n)
            settle(pool, workspace.objective, b, -worth)
            pool.least += pool.classes[b].worth * pool.classes[b].loss
        i = following


def give_back(pool: ClassSet, objective: ObjectiveViews, a: int) -> None:
    """Give back what a class was made of, the last first."""
    for gift in range(pool.n_gifts - 1, -1, -1):
        number = pool.gifts[gift].number
        i = find_tuple(pool, a, pool.gifts[gift].record)
        n = pool.gifts[gift].rows
        worth = pool.gifts[gift].worth
        give_rows(pool, number, i, n)
        take_rows(pool, a, i, n)
        settle(pool, objective, number, worth)
    pool.classes[a].rows = 0
    pool.classes[a].worth = 0
    pool.classes[a].loss = 0.0


def rules_admit_class(pool: ClassSet, workspace: SearchWorkspace, number: int) -> bool:
    """Return whether the rules admit a class."""
    if not workspace.rules.has_rules:
        return True
    count_class(pool, workspace, number)
    rows = pool.classes[number].rows
    return rules_admit(workspace.rules, rows, workspace.side_counts)
