"""The cut funnel: from all columns of a partition to no cut or one (§3.3).

Every stage counts the candidate cuts that it keeps, of those the one before kept:

    examined     a cut point of a column that was looked at
    considered   it divides the rows
    proposed     at least one of its parts passes the models; the rest is pooled or lost
    final        its turn came, best score first
    accepted     the budget allows it, and so does the strategy; it is carried out
"""

from cython.cimports.core_mondrian.engine.layout import (
    ACCEPTED,
    CATEGORY,
    CONSIDERED,
    EXAMINED,
    FINAL,
    PROPOSED,
)
from cython.cimports.core_mondrian.engine.model_rules import add_record, clear
from cython.cimports.core_mondrian.engine.paper.column_ranking import rank_choices
from cython.cimports.core_mondrian.engine.paper.scoring import score_proposals
from cython.cimports.core_mondrian.engine.paper.workspace import open_column
from cython.cimports.core_mondrian.engine.records import row

from core_mondrian.engine.paper.workspace import FunnelWorkspace


def find_cut(work: FunnelWorkspace, node: int, attempt: int) -> bool:
    """Find the best cut of a partition after ``attempt`` others, into ``work.chosen``.

    ``work.box`` holds the partition's box.
    """
    open_partition(work, node, attempt)
    start = work.nodes[node].start
    stop = work.nodes[node].stop
    if work.rules.has_rules:
        count_sensitive(work, start, stop)
    n_choices = rank_choices(work)
    last_rank = 0.0
    for choice in range(n_choices):
        column = work.choices[choice].column
        rank = work.choices[choice].score
        if work.n_proposals > 0 and (
            abs(rank - last_rank) > work.epsilon or work.rows < work.compete_rows
        ):
            if accept_best(work):
                return True
            work.n_proposals = 0
        before = work.n_proposals
        open_column(work, column, start, stop)
        examine(work)
        if work.n_proposals > before:
            last_rank = rank
    return accept_best(work)


def open_partition(work: FunnelWorkspace, node: int, attempt: int) -> None:
    """Look at one partition, for the cut after ``attempt`` others."""
    work.rows = work.nodes[node].rows
    work.is_inline = work.rows < work.inline_below
    work.spendable = spendable_rows(work, node)
    work.attempt = attempt
    work.n_accepted = 0
    work.n_proposals = 0


def spendable_rows(work: FunnelWorkspace, node: int) -> int:
    """Return the rows that a partition may suppress, it and all below it (§3.6).

    What it was given; where rows are a last resort, only if its budget is fixed
    beforehand: one that is solved in place can be left as it is.
    """
    if work.nodes[node].rows < work.inline_below and not work.spends_inline:
        return 0
    return work.nodes[node].budget


def examine(work: FunnelWorkspace) -> None:
    """Append the proposals of the column at hand, scored if they are compared.

    What an earlier attempt has counted is not counted again.
    """
    column = work.column
    first = work.n_proposals
    work.n_examined = 0
    work.n_considered = 0
    if work.columns.info[column].kind == CATEGORY:
        work.strategy.propose_categories(work)
    else:
        work.strategy.propose_numbers(work)
    last = work.n_proposals
    if work.n_accepted >= work.attempt:
        work.counters[EXAMINED, column] += work.n_examined
        work.counters[CONSIDERED, column] += work.n_considered
        work.counters[PROPOSED, column] += last - first
    if last - first > 1 or (last > first and work.rows >= work.compete_rows):
        score_proposals(work, first, last)


def count_sensitive(work: FunnelWorkspace, start: int, stop: int) -> None:
    """Count the partition's sensitive values into ``work.whole``."""
    clear(work.whole)
    for i in range(start, stop):
        add_record(work.whole, work.rules, row(work.records, i))


def accept_best(work: FunnelWorkspace) -> bool:
    """Go through the proposals, best score first; return whether one is taken.

    That is the one after ``work.attempt`` others. What an earlier attempt has counted
    is not counted again.
    """
    sort_proposals(work)
    for i in range(work.n_proposals):
        column = work.proposals[i].column
        if work.n_accepted >= work.attempt:
            work.counters[FINAL, column] += 1
        if work.proposals[i].loss > work.spendable:
            continue
        if not work.strategy.accepts(work, i):
            continue
        if work.n_accepted == work.attempt:
            work.counters[ACCEPTED, column] += 1
            work.chosen[0] = work.proposals[i]
            return True
        work.n_accepted += 1
    return False


def sort_proposals(work: FunnelWorkspace) -> None:
    """Sort the proposals by score, then by loss, stably."""
    for i in range(1, work.n_proposals):
        j = i
        while j > 0 and comes_first(work, j, j - 1):
            swap_proposals(work, j, j - 1)
            j -= 1


def comes_first(work: FunnelWorkspace, left: int, right: int) -> bool:
    """Return whether proposal ``left`` is tried before ``right``; ties keep order."""
    if work.proposals[left].score != work.proposals[right].score:
        return work.proposals[left].score < work.proposals[right].score
    return work.proposals[left].loss < work.proposals[right].loss


def swap_proposals(work: FunnelWorkspace, left: int, right: int) -> None:
    """Exchange two proposals; ``work.chosen`` is the third hand."""
    work.chosen[0] = work.proposals[left]
    work.proposals[left] = work.proposals[right]
    work.proposals[right] = work.chosen[0]
