"""Where a column could be cut, and what each cut would cost (Core Mondrian §3.3).

The column at hand, and which records are the partition's, stand in the workspace; see
``open_column``. Number columns are cut at their median and at the edges of a histogram;
for categories see ``category_parts``.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    FAILS,
    KEEP_BOTH,
    LOSE_LEFT,
    LOSE_RIGHT,
    MAY_PASS,
    PASSES,
)
from cython.cimports.core_mondrian.engine.model_rules import (
    add_to_side,
    admits_sides,
    clear,
    count_rest,
    rules_admit,
)
from cython.cimports.core_mondrian.engine.paper.code_runs import find_runs
from cython.cimports.core_mondrian.engine.records import low_half, row
from cython.cimports.libc.math import ceil, floor, log2, pow, rint

from core_mondrian.engine.model_rules import Rules, SetCounts
from core_mondrian.engine.paper.workspace import FunnelWorkspace

if not cython.compiled:
    rint = round

# Beyond any number of rows more bins say nothing, and an int has an end.
_MOST_BINS = 2.0**40


def judge_part(rules: Rules, rows: int, counts: SetCounts, may_stay_open: bool) -> int:
    """Return whether a part passes the models, fails, or may pass once it is cut."""
    if rows < rules.min_rows:
        return FAILS
    if not rules.has_rules or rules_admit(rules, rows, counts):
        return PASSES
    if may_stay_open and not rules.is_monotone and rows >= 2 * rules.min_rows:
        return MAY_PASS
    return FAILS


def may_stay_open(work: FunnelWorkspace) -> bool:
    """Return whether a part that fails may be cut further: where one can go back."""
    return work.is_inline and work.strategy.opens_parts


def add_proposal(work: FunnelWorkspace, at: int, variant: int, loss: int) -> None:
    """Append a proposal, not yet scored."""
    n = work.n_proposals
    work.proposals[n].column = work.column
    work.proposals[n].cut_code = at
    work.proposals[n].variant = variant
    work.proposals[n].loss = loss
    work.proposals[n].score = 0.0
    work.n_proposals = n + 1


def propose_strict_median(work: FunnelWorkspace) -> None:
    """Append LeFevre's cut: at the median, if both sides pass the models."""
    find_runs(work, work.rules.has_rules)
    run = median_run(work)
    work.n_examined += 1
    if run < work.n_runs - 1:
        propose_number_cut(work, run, False)


def propose_numbers(work: FunnelWorkspace) -> None:
    """Append the cuts of a number column: median, bin edges, the most even one."""
    find_runs(work, work.rules.has_rules)
    if work.use_median:
        # All rows up to the median; those below it, where it is the largest value.
        work.n_examined += 1
        propose_number_cut(work, min(median_run(work), work.n_runs - 2), True)
    if has_bins(work):
        propose_bin_edges(work)
    if work.use_lossless:
        propose_lossless(work)


def propose_lossless(work: FunnelWorkspace) -> None:
    """Append cuts that lose no row.

    The rows tied at the median may go to the right as well; and if none of the column's
    proposals keeps all rows, there is the most even cut that does.
    """
    run = median_run(work)
    if run > 0 and (run < work.n_runs - 1 or not work.use_median):
        work.n_examined += 1
        propose_number_cut(work, run - 1, False)
    for i in range(work.n_proposals):
        if work.proposals[i].column == work.column and work.proposals[i].loss == 0:
            return
    run = balanced_run(work)
    work.n_examined += 1
    if run >= 0:
        work.n_considered += 1
        add_proposal(work, work.runs[work.start + run].code, KEEP_BOTH, 0)


def has_bins(work: FunnelWorkspace) -> bool:
    """Return whether the column is cut at the edges of its histogram, too."""
    if not work.use_bin_edges or work.rows < work.bin_rows:
        return False
    if work.n_runs < work.min_bin_values:
        return False
    last = work.runs[work.start + work.n_runs - 1].code
    return last < work.columns.info[work.column].n_values  # none is missing


def propose_number_cut(work: FunnelWorkspace, run: int, may_lose: bool) -> None:
    """Append the cut after ``run`` if what it leaves is worth having."""
    work.n_considered += 1
    left = cython.declare(cython.longlong, 0)
    for i in range(work.start, work.start + run + 1):
        left += work.runs[i].rows
    right = work.rows - left
    if work.rules.has_rules:
        count_left_side(work, left)
        count_rest(work.rules, work.whole, work.side, work.pool)
    is_left = judge_part(work.rules, left, work.side, may_stay_open(work))
    is_right = judge_part(work.rules, right, work.pool, may_stay_open(work))
    at = work.runs[work.start + run].code
    if is_left == FAILS and is_right == FAILS:
        return
    if is_left == FAILS:
        if may_lose:
            add_proposal(work, at, LOSE_LEFT, left)
    elif is_right == FAILS:
        if may_lose:
            add_proposal(work, at, LOSE_RIGHT, right)
    else:
        add_proposal(work, at, KEEP_BOTH, 0)


def count_left_side(work: FunnelWorkspace, rows: int) -> None:
    """Count the sensitive values of the first ``rows`` rows in code order."""
    clear(work.side)
    i = work.start
    while rows > 0:
        position = work.start + low_half(work.keys[i])
        add_to_side(work.side, work.whole, work.rules, row(work.records, position))
        rows -= work.records[position, work.rows_at]
        i += 1


def median_run(work: FunnelWorkspace) -> int:
    """Return the run that holds the lower median row."""
    seen = cython.declare(cython.longlong, 0)
    run = 0
    while True:
        seen += work.runs[work.start + run].rows
        if seen > (work.rows - 1) // 2:
            return run
        run += 1


def propose_bin_edges(work: FunnelWorkspace) -> None:
    """Append a cut at each kept edge of the partition's histogram."""
    smallest = value_of_run(work, 0)
    largest = value_of_run(work, work.n_runs - 1)
    n_edges = n_histogram_bins(work)
    if n_edges < 2:
        return
    n_kept = min(n_edges, work.max_edges)
    last = cython.declare(cython.Py_ssize_t, -1)
    for kept in range(n_kept):
        # The rightmost edge is never kept; the others are taken evenly spaced.
        edge = cython.declare(cython.longlong, kept)
        if n_edges > n_kept > 1:
            spaced = rint(float(kept * (n_edges - 1)) / (n_kept - 1))
            edge = cython.cast(cython.longlong, spaced)
        value = smallest + (largest - smallest) * (float(edge) / n_edges)
        work.n_examined += 1
        run = last
        while run + 1 < work.n_runs and value_of_run(work, run + 1) <= value:
            run += 1
        if run == last or run == work.n_runs - 1:
            continue
        last = run
        propose_number_cut(work, run, True)


def n_histogram_bins(work: FunnelWorkspace) -> int:
    """Return a histogram's bins: the more of Sturges and Freedman-Diaconis."""
    spread = value_of_run(work, work.n_runs - 1) - value_of_run(work, 0)
    upper = value_at(work, 0.75 * (work.rows - 1))
    lower = value_at(work, 0.25 * (work.rows - 1))
    rows = cython.cast(cython.double, work.rows)
    width = spread / (log2(rows) + 1.0)
    quartile_width = 2.0 * (upper - lower) / pow(rows, 1.0 / 3.0)
    if 0.0 < quartile_width < width:
        width = quartile_width
    return cython.cast(cython.longlong, min(ceil(spread / width), _MOST_BINS))


def value_of_run(work: FunnelWorkspace, run: int) -> float:
    """Return the value that the rows of a run have."""
    offset = work.columns.info[work.column].value_offset
    return work.columns.values[offset + work.runs[work.start + run].code]


def value_at(work: FunnelWorkspace, rank: float) -> float:
    """Return the value at a fractional rank (0-based), linearly interpolated."""
    below = cython.cast(cython.longlong, floor(rank))
    seen = cython.declare(cython.longlong, 0)
    run = 0
    while run < work.n_runs - 1 and seen + work.runs[work.start + run].rows <= below:
        seen += work.runs[work.start + run].rows
        run += 1
    lower = value_of_run(work, run)
    upper = lower
    if below + 1 >= seen + work.runs[work.start + run].rows and run < work.n_runs - 1:
        upper = value_of_run(work, run + 1)
    return lower + (upper - lower) * (rank - below)


def balanced_run(work: FunnelWorkspace) -> int:
    """Return the run after which a cut loses nothing and is most even; -1: none is."""
    best = cython.declare(cython.Py_ssize_t, -1)
    best_smaller = work.rules.min_rows - 1
    left = cython.declare(cython.longlong, 0)
    i = work.start
    clear(work.side)
    for run in range(work.n_runs - 1):
        n_added = cython.declare(cython.longlong, work.runs[work.start + run].rows)
        left += n_added
        while work.rules.has_rules and n_added > 0:
            position = work.start + low_half(work.keys[i])
            add_to_side(work.side, work.whole, work.rules, row(work.records, position))
            n_added -= work.records[position, work.rows_at]
            i += 1
        smaller = min(left, work.rows - left)
        if smaller <= best_smaller:
            continue
        if work.rules.has_rules and not admits_sides(
            work.rules, work.rows, left, work.whole, work.side, work.pool
        ):
            continue
        best = run
        best_smaller = smaller
    return best
