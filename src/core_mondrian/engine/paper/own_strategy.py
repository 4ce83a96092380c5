"""A strategy of the user's own: each decision in the terms that its function takes.

Functions get codes and counts, laid out in the workspace for as long as they run:

    codes       3   5   8   9     the distinct codes of a column in a partition
    code_rows   2   7   1   4     and how many rows have each
    values      3.  5.  8.  nan   of a number: what they stand for; nan: missing
    marks       0   0   1   1     the part of a cut that each goes to; -1: suppressed

If one of them fails or returns NaN, the run ends in an error.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    FAILS,
    LOSE_LEFT,
    LOSE_RIGHT,
    MOST_OWN_CUTS,
    NUMBER,
)
from cython.cimports.core_mondrian.engine.paper.category_parts import (
    form_proposed_parts,
)
from cython.cimports.core_mondrian.engine.paper.column_ranking import rilm
from cython.cimports.core_mondrian.engine.paper.proposals import propose_number_cut
from cython.cimports.libc.math import INFINITY, NAN, isnan

from core_mondrian.engine.paper.workspace import FunnelWorkspace


def rank_by_own(work: FunnelWorkspace) -> None:
    """Rank columns by the user's `cut_choices`, which sees the paper's ranks."""
    lay_out_partition(work)
    for column in range(work.n_columns):
        work.ranks[column] = INFINITY
    work.strategy.base_ranks(work)
    note_fault(work, ask_about_partition(work, work.strategy.own_ranks, work.rows))
    for column in range(work.n_columns):
        if isnan(work.ranks[column]):
            note_fault(work, work.ranks[column])
            work.ranks[column] = INFINITY


def propose_by_own(work: FunnelWorkspace) -> None:
    """Append the cuts after the codes that the user's `propose` marks.

    It finds those marked that the base would propose.
    """
    first = work.n_proposals
    work.strategy.base_cuts(work)
    lay_out_runs(work)
    for i in range(work.n_runs):
        work.marks[i] = 0
        for proposal in range(first, work.n_proposals):
            if work.proposals[proposal].cut_code == work.codes[i]:
                work.marks[i] = 1
    work.n_proposals = first
    work.n_examined = 0
    work.n_considered = 0
    note_fault(work, ask_about_column(work, work.strategy.own_cuts))
    n_marked = 0
    for i in range(work.n_runs - 1):
        if work.marks[i]:
            n_marked += 1
    step = (n_marked + MOST_OWN_CUTS - 1) // MOST_OWN_CUTS
    n_seen = 0
    for i in range(work.n_runs - 1):
        if work.marks[i]:
            if n_seen % step == 0:
                work.n_examined += 1
                propose_number_cut(work, i, work.strategy.may_lose)
            n_seen += 1


def score_number_by_own(work: FunnelWorkspace, proposal: int) -> float:
    """Return the user's `score` of a cut of a number, whose runs are at hand."""
    variant = work.proposals[proposal].variant
    left = -1 if variant == LOSE_LEFT else 0
    right = -1 if variant == LOSE_RIGHT else left + 1
    lay_out_runs(work)
    for i in range(work.n_runs):
        if work.codes[i] <= work.proposals[proposal].cut_code:
            work.marks[i] = left
        else:
            work.marks[i] = right
    return checked_score(work)


def score_category_by_own(work: FunnelWorkspace, proposal: int) -> float:
    """Return the user's `score` of a cut of a category; the pool is the last part."""
    form_proposed_parts(work, proposal)
    lay_out_runs(work)
    pool = cython.declare(cython.longlong, -1)
    if work.proposals[proposal].loss == 0:
        pool = 0
        for part in range(work.start, work.start + work.n_parts):
            if work.parts[part].state != FAILS:
                pool += 1
    n_kept = cython.declare(cython.longlong, 0)
    i = 0
    for part in range(work.start, work.start + work.n_parts):
        number = pool
        if work.parts[part].state != FAILS:
            number = n_kept
            n_kept += 1
        while i < work.n_runs and work.codes[i] <= work.parts[part].high:
            work.marks[i] = number
            i += 1
    return checked_score(work)


def accept_by_own(work: FunnelWorkspace, proposal: int) -> bool:
    """Ask the user's `accept` about a cut that the budget allows."""
    return note_fault(work, ask_about_cut(work, proposal)) != 0.0


def release_by_own(work: FunnelWorkspace, node: int) -> bool:
    """Ask the user's `release` about a partition that could be suppressed instead."""
    lay_out_partition(work)
    kept = ask_about_partition(work, work.strategy.own_release, work.spendable)
    return note_fault(work, kept) != 0.0


def checked_score(work: FunnelWorkspace) -> float:
    """Return the user's score of the cut that is marked."""
    score = note_fault(work, ask_about_column(work, work.strategy.own_scores))
    return INFINITY if isnan(score) else score


def note_fault(work: FunnelWorkspace, result: float) -> float:
    """Count a result that is not a number, which ends the run; return it."""
    if isnan(result):
        work.n_faults += 1
    return result


def lay_out_partition(work: FunnelWorkspace) -> None:
    """Lay out the box of the partition at hand, and the RILM of each column."""
    for column in range(work.n_columns):
        low = work.box[column].low
        high = work.box[column].high
        work.lows[column] = low
        work.highs[column] = high
        work.rilms[column] = rilm(work.columns, column, low, high)


def lay_out_runs(work: FunnelWorkspace) -> None:
    """Lay out the runs of the column at hand, of a number with their values."""
    column = work.column
    kind = work.columns.info[column].kind
    missing = work.columns.info[column].n_values
    first = work.columns.info[column].value_offset
    for i in range(work.n_runs):
        code = work.runs[work.start + i].code
        work.codes[i] = code
        work.code_rows[i] = work.runs[work.start + i].rows
        if kind == NUMBER:
            work.code_values[i] = NAN
            if code < missing:
                work.code_values[i] = work.columns.values[first + code]


def lay_out_parameters(work: FunnelWorkspace) -> None:
    """Lay out the fields of the user's policy."""
    for i in range(work.strategy.n_parameters):
        work.given[i] = work.strategy.parameters[i]


def ask_about_partition(work: FunnelWorkspace, hook: object, number: int) -> float:
    """Call a function that looks at a partition, with its rows or its budget."""
    n = work.n_columns
    lay_out_parameters(work)
    if cython.compiled:
        return cython.cast(PartitionHook, hook)(
            work.rows,
            number,
            cython.address(work.lows[0]),
            cython.address(work.highs[0]),
            cython.address(work.rilms[0]),
            cython.address(work.ranks[0]),
            n,
            cython.address(work.given[0]),
            work.strategy.n_parameters,
        )
    return hook(
        work.rows,
        number,
        work.lows,
        work.highs,
        work.rilms,
        work.ranks,
        work.given[: work.strategy.n_parameters],
    )


def ask_about_column(work: FunnelWorkspace, hook: object) -> float:
    """Call a function that looks at the codes of one column."""
    column = work.column
    n = work.n_runs
    n_values = n if work.columns.info[column].kind == NUMBER else 0
    lay_out_parameters(work)
    if cython.compiled:
        return cython.cast(ColumnHook, hook)(
            column,
            cython.address(work.codes[0]),
            cython.address(work.code_rows[0]),
            cython.address(work.marks[0]),
            n,
            cython.address(work.code_values[0]),
            n_values,
            cython.address(work.given[0]),
            work.strategy.n_parameters,
        )
    return hook(
        column,
        work.codes[:n],
        work.code_rows[:n],
        work.marks[:n],
        work.code_values[:n_values],
        work.given[: work.strategy.n_parameters],
    )


def ask_about_cut(work: FunnelWorkspace, proposal: int) -> float:
    """Call the function that looks at one proposed cut."""
    column = work.proposals[proposal].column
    loss = work.proposals[proposal].loss
    score = work.proposals[proposal].score
    lay_out_parameters(work)
    if cython.compiled:
        return cython.cast(CutHook, work.strategy.own_acceptance)(
            column,
            work.rows,
            loss,
            work.spendable,
            score,
            cython.address(work.given[0]),
            work.strategy.n_parameters,
        )
    return work.strategy.own_acceptance(
        column,
        work.rows,
        loss,
        work.spendable,
        score,
        work.given[: work.strategy.n_parameters],
    )
