"""How much a proposed cut would help: standard deviation after against before (§3.3).

Scores lie in [-1, 1]; below 0 the parts are more alike than the partition was.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    CATEGORY,
    FAILS,
    LOSE_LEFT,
    LOSE_RIGHT,
)
from cython.cimports.core_mondrian.engine.paper.category_parts import (
    form_proposed_parts,
)
from cython.cimports.libc.math import sqrt

from core_mondrian.engine.paper.workspace import FunnelWorkspace


def score_proposals(work: FunnelWorkspace, first: int, last: int) -> None:
    """Score the proposals ``first`` to ``last - 1``, all of the column at hand.

    Its runs are as they were when it was proposed.
    """
    if work.columns.info[work.column].kind == CATEGORY:
        for proposal in range(first, last):
            work.proposals[proposal].score = work.strategy.score_category(
                work, proposal
            )
        return
    for proposal in range(first, last):
        work.proposals[proposal].score = work.strategy.score_number(work, proposal)


def score_number(work: FunnelWorkspace, proposal: int) -> float:
    """Score a cut of the number column whose runs are at hand."""
    variant = work.proposals[proposal].variant
    middle = work.start
    while work.runs[middle].code <= work.proposals[proposal].cut_code:
        middle += 1
    stop = work.start + work.n_runs
    before, _ = standard_deviation(work, work.start, stop)
    left, n_left = standard_deviation(work, work.start, middle)
    right, n_right = standard_deviation(work, middle, stop)
    if variant == LOSE_LEFT:
        n_left = 0
    if variant == LOSE_RIGHT:
        n_right = 0
    if n_left + n_right == 0:
        return 1.0
    after = (n_left * left + n_right * right) / (n_left + n_right)
    return relative_score(after, before)


def standard_deviation(
    work: FunnelWorkspace, first: int, last: int
) -> tuple[float, int]:
    """Return the standard deviation and the rows of runs ``first`` to ``last - 1``.

    Sums run in code order over whole-row counts, so no row order can change them.
    """
    offset = work.columns.info[work.column].value_offset
    missing = work.columns.info[work.column].n_values
    rows = cython.declare(cython.longlong, 0)
    total = 0.0
    origin = 0.0
    if work.runs[first].code < missing:
        origin = work.columns.values[offset + work.runs[first].code]
    for run in range(first, last):
        if work.runs[run].code < missing:
            value = work.columns.values[offset + work.runs[run].code] - origin
            rows += work.runs[run].rows
            total += work.runs[run].rows * value
    if rows == 0:
        return 0.0, 0
    mean = total / rows
    squares = 0.0
    for run in range(first, last):
        if work.runs[run].code < missing:
            value = work.columns.values[offset + work.runs[run].code] - origin - mean
            squares += work.runs[run].rows * (value * value)
    return sqrt(squares / rows), rows


def score_category(work: FunnelWorkspace, proposal: int) -> float:
    """Score a cut of a category by how much its parts agree on one value."""
    form_proposed_parts(work, proposal)
    rows = cython.declare(cython.longlong, 0)
    mode = cython.declare(cython.longlong, 0)
    kept = cython.declare(cython.longlong, 0)
    pooled = cython.declare(cython.longlong, 0)
    pool_mode = cython.declare(cython.longlong, 0)
    weighted = 0.0
    for i in range(work.start, work.start + work.n_parts):
        part = work.parts[i]
        rows += part.rows
        mode = max(mode, part.mode)
        if part.state == FAILS:
            pooled += part.rows
            pool_mode = max(pool_mode, part.mode)
        else:
            kept += part.rows
            weighted += part.rows * mode_deviation(part.mode, part.rows)
    if pooled > 0 and work.proposals[proposal].loss == 0:
        kept += pooled
        weighted += pooled * mode_deviation(pool_mode, pooled)
    return relative_score(weighted / kept, mode_deviation(mode, rows))


def mode_deviation(mode: int, rows: int) -> float:
    """Return the standard deviation of "is the most frequent value"."""
    share = float(mode) / rows
    return sqrt(share * (1.0 - share))


def relative_score(after: float, before: float) -> float:
    """Return after/before - 1 inside [-1, 1]; 1 where there was no deviation before."""
    if before == 0.0:
        return 1.0
    return max(-1.0, min(1.0, after / before - 1.0))
