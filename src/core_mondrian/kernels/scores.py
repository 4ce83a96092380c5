"""How much a proposed cut would help: standard deviation after against before (§3.3).

Scores lie in [-1, 1]; below 0 the parts are more alike than the partition was.
"""

import numpy as np

from core_mondrian.kernels.jit import kernel
from core_mondrian.kernels.layout import (
    CATEGORY,
    FAILS,
    LOSE_LEFT,
    LOSE_RIGHT,
    TOPPED_UP,
    Columns,
    Models,
    Tuples,
    Work,
)
from core_mondrian.kernels.proposals import form_parts, top_up_pool
from core_mondrian.kernels.runs import find_runs


@kernel
def relative_score(after: float, before: float) -> float:
    """Return after/before - 1 inside [-1, 1]; a partition with no spread scores 1."""
    if before == 0.0:
        return 1.0
    return max(-1.0, min(1.0, after / before - 1.0))


@kernel
def spread(
    tuples: Tuples, columns: Columns, column: int, first: int, last: int
) -> tuple[float, int]:
    """Return the standard deviation and the rows of runs ``first`` to ``last - 1``.

    Sums run in code order over whole-row counts, so no row order can change them.
    """
    offset = columns.info[column].value_offset
    missing = columns.info[column].n_values
    rows = np.int64(0)
    total = 0.0
    origin = 0.0
    if tuples.runs[first].code < missing:
        origin = columns.values[offset + tuples.runs[first].code]
    for run in range(first, last):
        if tuples.runs[run].code < missing:
            value = columns.values[offset + tuples.runs[run].code] - origin
            rows += tuples.runs[run].rows
            total += tuples.runs[run].rows * value
    if rows == 0:
        return 0.0, 0
    mean = total / rows
    squares = 0.0
    for run in range(first, last):
        if tuples.runs[run].code < missing:
            value = columns.values[offset + tuples.runs[run].code] - origin - mean
            squares += tuples.runs[run].rows * (value * value)
    return np.sqrt(squares / rows), rows


@kernel
def score_number(
    tuples: Tuples, columns: Columns, work: Work, proposal: int, start: int, n_runs: int
) -> float:
    """Score a cut of the number column whose runs are at hand."""
    column = work.proposals[proposal].column
    variant = work.proposals[proposal].variant
    middle = start
    while tuples.runs[middle].code <= work.proposals[proposal].at:
        middle += 1
    before, _ = spread(tuples, columns, column, start, start + n_runs)
    left, n_left = spread(tuples, columns, column, start, middle)
    right, n_right = spread(tuples, columns, column, middle, start + n_runs)
    if variant == LOSE_LEFT:
        n_left = 0
    if variant == LOSE_RIGHT:
        n_right = 0
    if n_left + n_right == 0:
        return 1.0
    after = (n_left * left + n_right * right) / (n_left + n_right)
    return relative_score(after, before)


@kernel
def mode_spread(mode: int, rows: int) -> float:
    """Return the standard deviation of "is the most frequent value"."""
    share = mode / rows
    return np.sqrt(share * (1.0 - share))


@kernel
def score_category(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    work: Work,
    proposal: int,
    start: int,
    stop: int,
    may_stay_open: bool,
) -> float:
    """Score a cut of a category by how much its parts agree on one value."""
    column = work.proposals[proposal].column
    n_parts = form_parts(
        tuples, columns, models, work, column, start, stop, may_stay_open
    )
    if work.proposals[proposal].variant == TOPPED_UP:
        top_up_pool(tuples, models, work, column, start, stop, n_parts)
    rows = np.int64(0)
    mode = np.int64(0)
    kept = np.int64(0)
    pooled = np.int64(0)
    pool_mode = np.int64(0)
    weighted = 0.0
    for part in range(start, start + n_parts):
        rows += tuples.parts[part].rows
        mode = max(mode, tuples.parts[part].mode)
        if tuples.parts[part].state == FAILS:
            pooled += tuples.parts[part].rows
            pool_mode = max(pool_mode, tuples.parts[part].mode)
        else:
            kept += tuples.parts[part].rows
            weighted += tuples.parts[part].rows * mode_spread(
                tuples.parts[part].mode, tuples.parts[part].rows
            )
    if pooled > 0 and work.proposals[proposal].loss == 0:
        kept += pooled
        weighted += pooled * mode_spread(pool_mode, pooled)
    return relative_score(weighted / kept, mode_spread(mode, rows))


@kernel
def score_proposals(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    work: Work,
    first: int,
    last: int,
    start: int,
    stop: int,
    may_stay_open: bool,
) -> None:
    """Score the proposals ``first`` to ``last - 1``, all of one column."""
    column = work.proposals[first].column
    if columns.info[column].kind == CATEGORY:
        for proposal in range(first, last):
            work.proposals[proposal].score = score_category(
                tuples, columns, models, work, proposal, start, stop, may_stay_open
            )
        return
    n_runs = find_runs(tuples, work, column, start, stop, False)
    for proposal in range(first, last):
        work.proposals[proposal].score = score_number(
            tuples, columns, work, proposal, start, n_runs
        )
