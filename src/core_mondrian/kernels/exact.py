"""Exact cuts: every candidate of every column, by the loss of both its sides.

A candidate is a range of a column's groups (records with one code): all codes up to
one (numbers), one code or hierarchy node against the rest (categories), the most
frequent codes against the rest (value sets). One walk over the groups per pair of
columns gives what either side of every candidate would lose.
"""

import numpy as np

from core_mondrian.kernels.apart import first_of, is_elsewhere, last_of
from core_mondrian.kernels.borrow import (
    borrow_aims,
    borrow_finder,
    borrow_models,
    borrow_space,
)
from core_mondrian.kernels.calls import call_for_int
from core_mondrian.kernels.groups import (
    bound_groups,
    find_span,
    group_records,
    load_pairs,
    order_by_rows,
    weigh_groups,
)
from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import (
    NODE_SHARE,
    RANGE,
    VALUE_SET,
    Aims,
    Fields,
    Finder,
    Models,
    Space,
)
from core_mondrian.kernels.losses import (
    NOTHING_HIGH,
    NOTHING_LOW,
    box_loss,
    lowest_node,
    worth_between,
    worth_of,
)
from core_mondrian.kernels.rules import (
    add_record,
    add_to_side,
    admits_sides,
    clear,
)

# What has to be gained, as a share of what is lost: less is rounding. Not an amount:
# one outlier makes all other differences of a column small.
ROUNDING = 1e-12


@kernel
def list_prefixes(
    space: Space, models: Models, start: int, n_groups: int, rows: int
) -> int:
    """List the cuts between neighbouring groups that leave both sides enough rows."""
    n = 3 * start
    left = np.int64(0)
    worth = np.int64(0)
    for group in range(start, start + n_groups - 1):
        left += space.groups[group].rows
        worth += space.groups[group].worth
        if left < models.min_rows:
            continue
        if rows - left < models.min_rows:
            break
        space.candidates[n].first = start
        space.candidates[n].last = group + 1
        space.candidates[n].rows = left
        space.candidates[n].worth = worth
        space.candidates[n].loss = 0.0
        n += 1
    return n


@kernel
def add_range(
    space: Space, models: Models, n: int, first: int, last: int, rows: int
) -> int:
    """List one range of groups against the rest, if both sides have enough rows."""
    left = np.int64(0)
    worth = np.int64(0)
    for group in range(first, last):
        left += space.groups[group].rows
        worth += space.groups[group].worth
    if left < models.min_rows or rows - left < models.min_rows:
        return n
    space.candidates[n].first = first
    space.candidates[n].last = last
    space.candidates[n].rows = left
    space.candidates[n].worth = worth
    space.candidates[n].loss = 0.0
    return n + 1


@kernel
def list_nodes(
    space: Space,
    aims: Aims,
    models: Models,
    column: int,
    start: int,
    n_groups: int,
    rows: int,
) -> int:
    """List every value, and every hierarchy node, against the rest."""
    n = 3 * start
    for group in range(start, start + n_groups):
        n = add_range(space, models, n, group, group + 1, rows)
    if aims.info[column].kind != NODE_SHARE:
        return n
    # Neighbours meet in exactly the nodes under which there are several values. Those
    # met before that reach further are kept, the lowest last: looking for each of them
    # among all groups again takes the square of the groups under a wide node.
    stop = start + n_groups
    n_open = start
    for group in range(start, stop - 1):
        next_code = space.groups[group + 1].code
        while n_open > start and aims.nodes[space.ranks[n_open - 1]].high < next_code:
            n_open -= 1
        node = lowest_node(aims, column, space.groups[group].code, next_code)
        if n_open > start and space.ranks[n_open - 1] == node:
            continue
        space.ranks[n_open] = node
        n_open += 1
        first = group
        while first > start and space.groups[first - 1].code >= aims.nodes[node].low:
            first -= 1
        last = group + 1
        while last < stop and space.groups[last].code <= aims.nodes[node].high:
            last += 1
        n = add_range(space, models, n, first, last, rows)
    return n


@kernel
def add_box_losses(
    space: Space, aims: Aims, column: int, start: int, n_groups: int, last: int,
    worth: int,
) -> None:  # fmt: skip
    """Add to each candidate what its sides' boxes lose in ``column``."""
    groups = space.groups
    stop = start + n_groups
    first = np.int32(-1)
    done = np.int32(-1)
    low = np.int32(NOTHING_LOW)
    high = np.int32(NOTHING_HIGH)
    for i in range(3 * start, last):
        if space.candidates[i].first != first:
            first = space.candidates[i].first
            done = first
            low = np.int32(NOTHING_LOW)
            high = np.int32(NOTHING_HIGH)
        for group in range(done, space.candidates[i].last):
            low = min(low, groups[group].low)
            high = max(high, groups[group].high)
        done = space.candidates[i].last
        rest_low = groups[first].low_before
        rest_high = groups[first].high_before
        if done < stop:
            rest_low = min(rest_low, groups[done].low_after)
            rest_high = max(rest_high, groups[done].high_after)
        left = space.candidates[i].worth
        space.candidates[i].loss += left * box_loss(aims, column, low, high) + (
            worth - left
        ) * box_loss(aims, column, rest_low, rest_high)


@kernel
def clear_side(
    space: Space, finder: Finder, offset: int, first: int, last: int
) -> None:
    """Set the side's counts of the groups' loaded codes back to 0."""
    for group in range(first, last):
        for i in range(space.groups[group].begin, space.groups[group].end):
            finder.side[offset + space.codes[i]] = 0


@kernel
def add_count_losses(
    space: Space,
    aims: Aims,
    finder: Finder,
    column: int,
    start: int,
    last: int,
    worth: int,
    beta: float,
) -> None:
    """Add what the sides lose by counts: Gini impurity, and distinct values of sets."""
    groups = space.groups
    candidates = space.candidates
    offset = aims.info[column].count_offset
    is_set = aims.info[column].kind == VALUE_SET
    unit = aims.info[column].unit
    impurity = beta * aims.info[column].impurity
    first = np.int32(-1)
    done = np.int32(-1)
    left_squares = np.int64(0)
    rest_squares = np.int64(0)
    left_distinct = 0
    rest_distinct = 0
    for i in range(3 * start, last):
        if candidates[i].first != first:
            if first >= 0:
                clear_side(space, finder, offset, first, done)
            first = candidates[i].first
            done = first
            left_squares = np.int64(0)
            left_distinct = 0
            rest_squares = finder.totals[column].squares
            rest_distinct = finder.totals[column].n_distinct
        for group in range(done, candidates[i].last):
            for j in range(groups[group].begin, groups[group].end):
                code = offset + space.codes[j]
                n = np.int64(space.worth[j])
                here = finder.side[code]
                there = finder.counts[code] - here
                left_squares += n * (2 * here + n)
                rest_squares += n * (n - 2 * there)
                left_distinct += here == 0
                rest_distinct -= there == n
                finder.side[code] = here + n
        done = candidates[i].last
        left = candidates[i].worth
        rest = worth - left
        if is_set:
            candidates[i].loss += unit * (
                left * (left_distinct - 1) + rest * (rest_distinct - 1)
            )
        if beta > 0.0:
            candidates[i].loss += impurity * (
                worth - left_squares / left - rest_squares / rest
            )
    if first >= 0:
        clear_side(space, finder, offset, first, done)


@kernel
def spread(worth: int, levels: int, level_squares: int) -> float:
    """Return the standard deviation of the levels, times what their rows are worth."""
    mean = levels / worth
    variance = level_squares / worth - mean * mean
    if variance <= 0.0:
        return 0.0
    return worth * np.sqrt(variance)


@kernel
def add_spread_losses(
    space: Space,
    aims: Aims,
    finder: Finder,
    column: int,
    start: int,
    last: int,
    worth: int,
    beta: float,
) -> None:
    """Add half the standard deviation of a number on either side."""
    groups = space.groups
    candidates = space.candidates
    offset = aims.info[column].value_offset
    impurity = beta * aims.info[column].impurity
    first = np.int32(-1)
    done = np.int32(-1)
    levels = np.int64(0)
    squares = np.int64(0)
    for i in range(3 * start, last):
        if candidates[i].first != first:
            first = candidates[i].first
            done = first
            levels = np.int64(0)
            squares = np.int64(0)
        for group in range(done, candidates[i].last):
            for j in range(groups[group].begin, groups[group].end):
                level = aims.levels[offset + space.codes[j]]
                product = level * space.worth[j]
                levels += product
                squares += level * product
        done = candidates[i].last
        left = candidates[i].worth
        rest_levels = finder.totals[column].levels - levels
        rest_squares = finder.totals[column].level_squares - squares
        candidates[i].loss += impurity * (
            spread(left, levels, squares)
            + spread(worth - left, rest_levels, rest_squares)
        )


@kernel
def keep_best(
    space: Space,
    models: Models,
    finder: Finder,
    n_columns: int,
    column: int,
    start: int,
    last: int,
    rows: int,
    by_rows: bool,
) -> None:
    """Keep the cheapest candidate that the models admit: ``finder.found[column]``."""
    found = finder.found
    candidates = space.candidates
    has_rules = models.has_rules
    first = np.int32(-1)
    done = np.int32(-1)
    for i in range(3 * start, last):
        left = candidates[i].rows
        side = min(left, rows - left)
        is_better = found[column].rows == 0 or (
            candidates[i].loss < found[column].loss
            or (candidates[i].loss == found[column].loss and side > found[column].side)
        )
        if has_rules:
            if candidates[i].first != first:
                first = candidates[i].first
                done = first
                clear(finder.side_counts, models)
            for group in range(done, candidates[i].last):
                begin = space.groups[group].first
                for j in range(begin, begin + space.groups[group].n):
                    record = space.records[space.keys[j]]
                    add_to_side(
                        finder.side_counts, finder.all_counts, models, record, n_columns
                    )
            done = candidates[i].last
            if is_better:
                is_better = admits_sides(
                    models, rows, left,
                    finder.all_counts, finder.side_counts, finder.rest_counts,
                )  # fmt: skip
        if is_better:
            found[column].loss = candidates[i].loss
            found[column].rows = left
            found[column].side = side
            found[column].first = candidates[i].first - start
            found[column].last = candidates[i].last - start
            found[column].by_rows = by_rows


@kernel
def score_candidates(
    space: Space,
    aims: Aims,
    models: Models,
    finder: Finder,
    column: int,
    start: int,
    stop: int,
    n_groups: int,
    last: int,
    rows: int,
    worth: int,
    n_active: int,
    beta: float,
    by_rows: bool,
) -> None:
    """Score the listed candidates of one column in all columns; keep the best."""
    for i in range(n_active):
        other = finder.active[i]
        kind = aims.info[other].kind
        load_pairs(space, aims, finder, column, other, start, stop, n_groups)
        if kind != VALUE_SET:
            bound_groups(space, start, n_groups)
            add_box_losses(space, aims, other, start, n_groups, last, worth)
        if kind == RANGE:
            if beta > 0.0:
                add_spread_losses(space, aims, finder, other, start, last, worth, beta)
        elif kind == VALUE_SET or beta > 0.0:
            add_count_losses(space, aims, finder, other, start, last, worth, beta)
    keep_best(space, models, finder, aims.info.size, column, start, last, rows, by_rows)


@kernel
def sum_up(
    space: Space,
    aims: Aims,
    models: Models,
    finder: Finder,
    start: int,
    stop: int,
    beta: float,
    worth: int,
) -> tuple[int, float]:
    """Fill box, sums and active columns; return how many are active, and the loss.

    The loss is that of the partition as a class, with the impurity, times what its
    rows are worth.
    """
    records = space.records
    n_active = 0
    loss = 0.0
    for column in range(aims.info.size):
        first = first_of(finder.apart, column, start)
        last = last_of(finder.apart, column, stop)
        if not find_span(space, finder, column, first, last):
            continue
        total = finder.totals[column]
        low = total.low
        high = total.high
        finder.active[n_active] = column
        n_active += 1
        kind = aims.info[column].kind
        if kind == RANGE:
            loss += worth * box_loss(aims, column, low, high)
            if beta > 0.0:
                offset = aims.info[column].value_offset
                levels = np.int64(0)
                squares = np.int64(0)
                for i in range(first, last):
                    level = aims.levels[offset + records[i, column]]
                    product = level * worth_of(aims, records[i])
                    levels += product
                    squares += level * product
                total.levels = levels
                total.level_squares = squares
                impurity = beta * aims.info[column].impurity
                loss += impurity * spread(worth, levels, squares)
            continue
        if kind != VALUE_SET:
            loss += worth * box_loss(aims, column, low, high)
        if kind == VALUE_SET or beta > 0.0:
            offset = aims.info[column].count_offset
            squares = np.int64(0)
            n_distinct = 0
            for i in range(first, last):
                code = offset + records[i, column]
                n = worth_of(aims, records[i])
                here = finder.counts[code]
                n_distinct += here == 0
                squares += n * (2 * here + n)
                finder.counts[code] = here + n
            total.squares = squares
            total.n_distinct = n_distinct
            if kind == VALUE_SET:
                loss += aims.info[column].unit * worth * (n_distinct - 1)
            if beta > 0.0:
                impurity = beta * aims.info[column].impurity
                loss += impurity * (worth - squares / worth)
    if models.has_rules:
        clear(finder.all_counts, models)
        first = first_of(finder.apart, 0, start)
        for i in range(first, last_of(finder.apart, 0, stop)):
            add_record(finder.all_counts, models, records[i], aims.info.size)
    return n_active, loss


@kernel
def forget_counts(
    space: Space,
    aims: Aims,
    finder: Finder,
    start: int,
    stop: int,
    n_active: int,
    beta: float,
) -> None:
    """Set the partition's counts back to 0."""
    for i in range(n_active):
        column = finder.active[i]
        kind = aims.info[column].kind
        if kind == VALUE_SET or (kind != RANGE and beta > 0.0):
            offset = aims.info[column].count_offset
            first = first_of(finder.apart, column, start)
            for j in range(first, last_of(finder.apart, column, stop)):
                finder.counts[offset + space.records[j, column]] = 0


@entry_kernel
def find_exact_cuts(
    space: Space,
    aims: Aims,
    models: Models,
    finder: Finder,
    start: int,
    stop: int,
    rows: int,
    beta: float,
) -> int:
    """Fill the best cut of every column; return the best column, or -1.

    ``finder.found[column]`` has 0 rows where a column has no cut, and a gain of 0
    where its best cut gains nothing.
    """
    space = borrow_space(space)
    aims = borrow_aims(aims)
    models = borrow_models(models)
    finder = borrow_finder(finder)
    worth = worth_between(space.records, aims, start, stop, rows)
    n_active, whole = sum_up(space, aims, models, finder, start, stop, beta, worth)
    for column in range(aims.info.size):
        finder.found[column].rows = 0
    best = -1
    for i in range(n_active):
        column = finder.active[i]
        if is_elsewhere(finder, column):
            continue
        first = first_of(finder.apart, column, start)
        end = last_of(finder.apart, column, stop)
        n_groups = group_records(space, finder, column, first, end)
        weigh_groups(space, aims, first, n_groups)
        kind = aims.info[column].kind
        if kind == RANGE:
            last = list_prefixes(space, models, first, n_groups, rows)
        else:
            last = list_nodes(space, aims, models, column, first, n_groups, rows)
        if last > 3 * first:
            score_candidates(
                space, aims, models, finder, column, first, end, n_groups, last, rows,
                worth, n_active, beta, False,
            )  # fmt: skip
        if kind == VALUE_SET and n_groups > 3:
            order_by_rows(space, first, n_groups)
            last = list_prefixes(space, models, first, n_groups, rows)
            if last > 3 * first:
                score_candidates(
                    space, aims, models, finder, column, first, end, n_groups, last,
                    rows, worth, n_active, beta, True,
                )  # fmt: skip
        found = finder.found[column]
        if found.rows == 0:
            continue
        found.gain = whole - found.loss
        if found.gain <= ROUNDING * whole:
            found.gain = 0.0
            continue
        if best < 0 or is_ahead(finder.found, column, best):
            best = column
    forget_counts(space, aims, finder, start, stop, n_active, beta)
    return best


@kernel
def is_ahead(found: Fields, column: int, best: int) -> bool:
    """Tell whether a column's cut is better than that of an earlier column."""
    if found[column].gain != found[best].gain:
        return found[column].gain > found[best].gain
    return found[column].side > found[best].side


@kernel
def find_cuts(
    space: Space,
    aims: Aims,
    models: Models,
    finder: Finder,
    start: int,
    stop: int,
    rows: int,
    beta: float,
) -> int:
    """Call ``find_exact_cuts``."""
    return call_for_int(
        finder.find_cuts, (space, aims, models, finder, start, stop, rows, beta)
    )
