"""Exact cuts: every candidate of every column, by the loss of both its sides.

A candidate is a range of a column's groups (records with one code): all codes up to
one (numbers), one code or hierarchy node against the rest (categories), the most
frequent codes against the rest (value sets). One walk over the groups per pair of
columns gives what either side of every candidate would lose.

    groups       [ g0 | g1 | g2 | g3 | g4 ]
    candidate           └ first   └ last       left: g1, g2, g3; the rest: g0, g4

Candidates with the same ``first`` follow one another by rising ``last``, so that what
is known of one is the beginning of the next.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    NODE_SHARE,
    NOTHING_HIGH,
    NOTHING_LOW,
    RANGE,
    VALUE_SET,
)
from cython.cimports.core_mondrian.engine.model_rules import (
    add_record,
    add_to_side,
    admits_sides,
    clear,
)
from cython.cimports.core_mondrian.engine.records import row
from cython.cimports.core_mondrian.engine.search.class_loss import worth_between
from cython.cimports.core_mondrian.engine.search.code_groups import (
    bound_groups,
    describe_groups,
    find_span,
    group_records,
    order_by_rows,
    weigh_groups,
)
from cython.cimports.core_mondrian.engine.search.objective import (
    box_loss,
    lowest_node,
    worth_of,
)
from cython.cimports.libc.math import sqrt

from core_mondrian.engine.search.workspace import RecordBuffers, SearchWorkspace

# What has to be gained, as a share of what is lost: less is rounding. Not an amount:
# one outlier makes all other differences of a column small.
ROUNDING = 1e-12


def find_cuts(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    start: int,
    stop: int,
    rows: int,
    beta: float,
) -> int:
    """Fill the best cut of every column; return the best column, or -1.

    ``workspace.found[column]`` has 0 rows where a column has no cut, and a gain of 0
    where its best cut gains nothing.
    """
    whole = open_partition(buffers, workspace, start, stop, rows, beta)
    best = -1
    for i in range(workspace.n_active):
        column = workspace.active[i]
        if not workspace.wanted[column]:
            continue
        find_cut_of(buffers, workspace, column)
        note_gain(workspace, column, whole)
        if workspace.found[column].gain == 0.0:
            continue
        if best < 0 or is_ahead(workspace, column, best):
            best = column
    forget_counts(buffers, workspace, start, stop)
    return best


def open_partition(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    start: int,
    stop: int,
    rows: int,
    beta: float,
) -> float:
    """Look at one partition, of which no column has a cut yet; return what it loses."""
    workspace.start = start
    workspace.stop = stop
    workspace.rows = rows
    workspace.beta = beta
    workspace.worth = worth_between(buffers, workspace.objective, start, stop, rows)
    for column in range(workspace.n_columns):
        workspace.found[column].rows = 0
        workspace.found[column].gain = 0.0
    return sum_up(buffers, workspace, start, stop)


def note_gain(workspace: SearchWorkspace, column: int, whole: float) -> None:
    """Note what the best cut of a column gains, if there is one, of ``whole``."""
    if workspace.found[column].rows == 0:
        return
    gain = whole - workspace.found[column].loss
    workspace.found[column].gain = 0.0 if gain <= ROUNDING * whole else gain


def sum_up(
    buffers: RecordBuffers, workspace: SearchWorkspace, start: int, stop: int
) -> float:
    """Fill box, sums and active columns; return the loss of the partition as a class.

    The loss has the impurity in it, and is times what the rows are worth.
    """
    worth = workspace.worth
    beta = workspace.beta
    n_active = 0
    loss = 0.0
    for column in range(workspace.n_columns):
        if not find_span(buffers, workspace, column, start, stop):
            continue
        workspace.active[n_active] = column
        n_active += 1
        kind = workspace.objective.info[column].kind
        if kind != VALUE_SET:
            low = workspace.totals[column].low
            loss += worth * box_loss(
                workspace.objective, column, low, workspace.totals[column].high
            )
        impurity = beta * workspace.objective.info[column].impurity
        if kind == RANGE:
            if beta > 0.0:
                loss += impurity * sum_up_number(
                    buffers, workspace, column, start, stop
                )
        elif kind == VALUE_SET or beta > 0.0:
            count_codes(buffers, workspace, column, start, stop)
            if kind == VALUE_SET:
                n_distinct = workspace.totals[column].n_distinct
                loss += workspace.objective.info[column].unit * worth * (n_distinct - 1)
            if beta > 0.0:
                squares = float(workspace.totals[column].squares)
                loss += impurity * (worth - squares / worth)
    workspace.n_active = n_active
    if workspace.rules.has_rules:
        clear(workspace.all_counts)
        for i in range(start, stop):
            add_record(workspace.all_counts, workspace.rules, row(buffers.records, i))
    return loss


def sum_up_number(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    first: int,
    last: int,
) -> float:
    """Fill the sums of a number's levels; return their standard deviation."""
    offset = workspace.objective.info[column].value_offset
    levels = cython.declare(cython.longlong, 0)
    squares = cython.declare(cython.longlong, 0)
    for i in range(first, last):
        record = row(buffers.records, i)
        level = workspace.objective.levels[offset + record[column]]
        product = level * worth_of(workspace.objective, record, buffers.rows_at)
        levels += product
        squares += level * product
    workspace.totals[column].levels = levels
    workspace.totals[column].level_squares = squares
    return standard_deviation(workspace.worth, levels, squares)


def count_codes(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    column: int,
    first: int,
    last: int,
) -> None:
    """Count a category's codes; fill how many there are, and their counts' squares."""
    offset = workspace.objective.info[column].count_offset
    squares = cython.declare(cython.longlong, 0)
    n_distinct = 0
    for i in range(first, last):
        record = row(buffers.records, i)
        code = offset + record[column]
        n = worth_of(workspace.objective, record, buffers.rows_at)
        here = workspace.counts[code]
        if here == 0:
            n_distinct += 1
        squares += n * (2 * here + n)
        workspace.counts[code] = here + n
    workspace.totals[column].squares = squares
    workspace.totals[column].n_distinct = n_distinct


def find_cut_of(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int
) -> None:
    """Fill the best cut of one column, if it has any."""
    open_column(buffers, workspace, column)
    list_candidates(buffers, workspace, column, False)
    score_candidates(buffers, workspace, column, False)
    if has_second_order(workspace, column):
        list_candidates(buffers, workspace, column, True)
        score_candidates(buffers, workspace, column, True)


def open_column(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int
) -> None:
    """Fill the groups of one column of the partition, by rising code."""
    start = workspace.start
    n_groups = group_records(buffers, workspace, column, start, workspace.stop)
    workspace.n_groups = n_groups
    weigh_groups(buffers, workspace, n_groups)


def has_second_order(workspace: SearchWorkspace, column: int) -> bool:
    """Return whether the most frequent codes of a column may be cut from the rest."""
    if workspace.objective.info[column].kind != VALUE_SET:
        return False
    return workspace.n_groups > 3


def list_candidates(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int, by_rows: bool
) -> None:
    """List the cuts of one column; ``by_rows``: its groups by falling rows."""
    if by_rows:
        order_by_rows(buffers, workspace, workspace.start, workspace.n_groups)
    if by_rows or workspace.objective.info[column].kind == RANGE:
        workspace.last_candidate = list_prefixes(workspace)
    else:
        workspace.last_candidate = list_nodes(buffers, workspace, column)


def list_prefixes(workspace: SearchWorkspace) -> int:
    """List the cuts between neighbouring groups that leave both sides enough rows."""
    least = workspace.rules.min_rows
    rows = workspace.rows
    n = 0
    left = cython.declare(cython.longlong, 0)
    worth = cython.declare(cython.longlong, 0)
    for group in range(workspace.n_groups - 1):
        left += workspace.groups[group].rows
        worth += workspace.groups[group].worth
        if left < least:
            continue
        if rows - left < least:
            break
        workspace.candidates[n].first = 0
        workspace.candidates[n].last = group + 1
        workspace.candidates[n].rows = left
        workspace.candidates[n].worth = worth
        workspace.candidates[n].loss = 0.0
        n += 1
    return n


def add_range(workspace: SearchWorkspace, n: int, first: int, last: int) -> int:
    """List one range of groups against the rest, if both sides have enough rows."""
    least = workspace.rules.min_rows
    left = cython.declare(cython.longlong, 0)
    worth = cython.declare(cython.longlong, 0)
    for group in range(first, last):
        left += workspace.groups[group].rows
        worth += workspace.groups[group].worth
    if left < least or workspace.rows - left < least:
        return n
    workspace.candidates[n].first = first
    workspace.candidates[n].last = last
    workspace.candidates[n].rows = left
    workspace.candidates[n].worth = worth
    workspace.candidates[n].loss = 0.0
    return n + 1


def list_nodes(buffers: RecordBuffers, workspace: SearchWorkspace, column: int) -> int:
    """List every value, and every hierarchy node, against the rest."""
    start = workspace.start
    stop = workspace.n_groups
    n = 0
    for group in range(stop):
        n = add_range(workspace, n, group, group + 1)
    if workspace.objective.info[column].kind != NODE_SHARE:
        return n
    # Neighbours meet in exactly the nodes under which there are several values. Those
    # met before that reach further are kept, the lowest last: looking for each of them
    # among all groups again takes the square of the groups under a wide node.
    n_open = start
    for group in range(stop - 1):
        code = workspace.groups[group + 1].code
        while (
            n_open > start
            and workspace.objective.nodes[buffers.ranks[n_open - 1]].high < code
        ):
            n_open -= 1
        node = lowest_node(
            workspace.objective, column, workspace.groups[group].code, code
        )
        if n_open > start and buffers.ranks[n_open - 1] == node:
            continue
        buffers.ranks[n_open] = node
        n_open += 1
        first = group
        low = workspace.objective.nodes[node].low
        while first > 0 and workspace.groups[first - 1].code >= low:
            first -= 1
        last = group + 1
        high = workspace.objective.nodes[node].high
        while last < stop and workspace.groups[last].code <= high:
            last += 1
        n = add_range(workspace, n, first, last)
    return n


def score_candidates(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int, by_rows: bool
) -> None:
    """Score the listed candidates of one column in all columns; keep the best."""
    if workspace.last_candidate == 0:
        return
    for i in range(workspace.n_active):
        other = workspace.active[i]
        describe_groups(buffers, workspace, column, other)
        add_losses(buffers, workspace, other)
    keep_best(buffers, workspace, column, by_rows)


def add_losses(buffers: RecordBuffers, workspace: SearchWorkspace, column: int) -> None:
    """Add to each candidate what its sides lose in ``column``.

    The groups say what they hold of it; see ``describe_groups``.
    """
    kind = workspace.objective.info[column].kind
    if kind != VALUE_SET:
        bound_groups(workspace, workspace.n_groups)
        add_box_losses(workspace, column)
    if kind == RANGE:
        if workspace.beta > 0.0:
            add_spread_losses(workspace, column)
    elif kind == VALUE_SET or workspace.beta > 0.0:
        add_count_losses(buffers, workspace, column)


def add_box_losses(workspace: SearchWorkspace, column: int) -> None:
    """Add to each candidate what its sides' boxes lose in ``column``."""
    worth = workspace.worth
    stop = workspace.n_groups
    first = -1
    done = -1
    low = cython.declare(cython.int, NOTHING_LOW)
    high = cython.declare(cython.int, NOTHING_HIGH)
    for i in range(workspace.last_candidate):
        if workspace.candidates[i].first != first:
            first = workspace.candidates[i].first
            done = first
            low = NOTHING_LOW
            high = NOTHING_HIGH
        for group in range(done, workspace.candidates[i].last):
            low = min(low, workspace.groups[group].low)
            high = max(high, workspace.groups[group].high)
        done = workspace.candidates[i].last
        rest_low = workspace.groups[first].low_before
        rest_high = workspace.groups[first].high_before
        if done < stop:
            rest_low = min(rest_low, workspace.groups[done].low_after)
            rest_high = max(rest_high, workspace.groups[done].high_after)
        left = workspace.candidates[i].worth
        workspace.candidates[i].loss += left * box_loss(
            workspace.objective, column, low, high
        ) + (worth - left) * box_loss(workspace.objective, column, rest_low, rest_high)


def clear_side(
    buffers: RecordBuffers,
    workspace: SearchWorkspace,
    offset: int,
    first: int,
    last: int,
) -> None:
    """Set the side's counts of the groups' loaded codes back to 0."""
    for group in range(first, last):
        for i in range(workspace.groups[group].begin, workspace.groups[group].end):
            workspace.side[offset + buffers.codes[i]] = 0


def add_count_losses(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int
) -> None:
    """Add what the sides lose by counts: Gini impurity, and distinct values of sets."""
    worth = workspace.worth
    beta = workspace.beta
    offset = workspace.objective.info[column].count_offset
    kind = workspace.objective.info[column].kind
    unit = workspace.objective.info[column].unit
    impurity = beta * workspace.objective.info[column].impurity
    first = -1
    done = -1
    left_squares = cython.declare(cython.longlong, 0)
    rest_squares = cython.declare(cython.longlong, 0)
    left_distinct = 0
    rest_distinct = 0
    for i in range(workspace.last_candidate):
        if workspace.candidates[i].first != first:
            if first >= 0:
                clear_side(buffers, workspace, offset, first, done)
            first = workspace.candidates[i].first
            done = first
            left_squares = 0
            left_distinct = 0
            rest_squares = workspace.totals[column].squares
            rest_distinct = workspace.totals[column].n_distinct
        for group in range(done, workspace.candidates[i].last):
            for j in range(workspace.groups[group].begin, workspace.groups[group].end):
                code = offset + buffers.codes[j]
                n = cython.cast(cython.longlong, buffers.worth[j])
                here = workspace.side[code]
                there = workspace.counts[code] - here
                left_squares += n * (2 * here + n)
                rest_squares += n * (n - 2 * there)
                if here == 0:
                    left_distinct += 1
                if there == n:
                    rest_distinct -= 1
                workspace.side[code] = here + n
        done = workspace.candidates[i].last
        left = workspace.candidates[i].worth
        rest = worth - left
        if kind == VALUE_SET:
            workspace.candidates[i].loss += unit * (
                left * (left_distinct - 1) + rest * (rest_distinct - 1)
            )
        if beta > 0.0:
            workspace.candidates[i].loss += impurity * (
                worth - float(left_squares) / left - float(rest_squares) / rest
            )
    if first >= 0:
        clear_side(buffers, workspace, offset, first, done)


def standard_deviation(worth: int, levels: int, level_squares: int) -> float:
    """Return the standard deviation of the levels, times what their rows are worth."""
    mean = float(levels) / worth
    variance = float(level_squares) / worth - mean * mean
    if variance <= 0.0:
        return 0.0
    return worth * sqrt(variance)


def add_spread_losses(workspace: SearchWorkspace, column: int) -> None:
    """Add half the standard deviation of a number on either side."""
    worth = workspace.worth
    impurity = workspace.beta * workspace.objective.info[column].impurity
    all_levels = workspace.totals[column].levels
    all_squares = workspace.totals[column].level_squares
    first = -1
    done = -1
    levels = cython.declare(cython.longlong, 0)
    squares = cython.declare(cython.longlong, 0)
    for i in range(workspace.last_candidate):
        if workspace.candidates[i].first != first:
            first = workspace.candidates[i].first
            done = first
            levels = 0
            squares = 0
        for group in range(done, workspace.candidates[i].last):
            levels += workspace.levels[group]
            squares += workspace.squares[group]
        done = workspace.candidates[i].last
        left = workspace.candidates[i].worth
        workspace.candidates[i].loss += impurity * (
            standard_deviation(left, levels, squares)
            + standard_deviation(
                worth - left, all_levels - levels, all_squares - squares
            )
        )


def keep_best(
    buffers: RecordBuffers, workspace: SearchWorkspace, column: int, by_rows: bool
) -> None:
    """Keep the cheapest candidate that the models admit: ``found[column]``."""
    rows = workspace.rows
    first = -1
    done = -1
    for i in range(workspace.last_candidate):
        left = workspace.candidates[i].rows
        side = min(left, rows - left)
        is_better = is_cheaper(workspace, i, column, side)
        if workspace.rules.has_rules:
            if workspace.candidates[i].first != first:
                first = workspace.candidates[i].first
                done = first
                clear(workspace.side_counts)
            count_side(buffers, workspace, done, workspace.candidates[i].last)
            done = workspace.candidates[i].last
            if is_better:
                is_better = admits_sides(
                    workspace.rules,
                    rows,
                    left,
                    workspace.all_counts,
                    workspace.side_counts,
                    workspace.rest_counts,
                )
        if is_better:
            workspace.found[column].loss = workspace.candidates[i].loss
            workspace.found[column].rows = left
            workspace.found[column].side = side
            workspace.found[column].first = workspace.candidates[i].first
            workspace.found[column].last = workspace.candidates[i].last
            first_left = workspace.candidates[i].first
            workspace.found[column].low = workspace.groups[first_left].code
            last_left = workspace.candidates[i].last - 1
            workspace.found[column].high = workspace.groups[last_left].code
            workspace.found[column].by_rows = by_rows


def is_cheaper(workspace: SearchWorkspace, i: int, column: int, side: int) -> bool:
    """Return whether a candidate beats what was found; of equals, the more even one."""
    if workspace.found[column].rows == 0:
        return True
    if workspace.candidates[i].loss != workspace.found[column].loss:
        return workspace.candidates[i].loss < workspace.found[column].loss
    return side > workspace.found[column].side


def count_side(
    buffers: RecordBuffers, workspace: SearchWorkspace, first: int, last: int
) -> None:
    """Count the records of some groups on the left side."""
    for group in range(first, last):
        begin = workspace.groups[group].first
        for j in range(begin, begin + workspace.groups[group].n):
            add_to_side(
                workspace.side_counts,
                workspace.all_counts,
                workspace.rules,
                row(buffers.records, buffers.keys[j]),
            )


def forget_counts(
    buffers: RecordBuffers, workspace: SearchWorkspace, start: int, stop: int
) -> None:
    """Set the partition's counts back to 0."""
    for i in range(workspace.n_active):
        column = workspace.active[i]
        kind = workspace.objective.info[column].kind
        if kind == VALUE_SET or (kind != RANGE and workspace.beta > 0.0):
            offset = workspace.objective.info[column].count_offset
            for j in range(start, stop):
                workspace.counts[offset + buffers.records[j, column]] = 0


def is_ahead(workspace: SearchWorkspace, column: int, best: int) -> bool:
    """Return whether a column's cut is better than that of an earlier column."""
    if workspace.found[column].gain != workspace.found[best].gain:
        return workspace.found[column].gain > workspace.found[best].gain
    return workspace.found[column].side > workspace.found[best].side
