"""The cut funnel: from all columns of a partition to no cut or one (§3.3).

Every stage counts what it keeps: examined, considered, proposed, final, accepted.
"""

import cython
from cython.cimports.core_mondrian.engine.layout import (
    ACCEPTED,
    AS_PUBLISHED,
    CATEGORY,
    CONSIDERED,
    EXAMINED,
    FINAL,
    PAPER,
    PROPOSED,
)
from cython.cimports.core_mondrian.engine.model_rules import add_record, clear
from cython.cimports.core_mondrian.engine.paper.category_parts import (
    propose_categories,
)
from cython.cimports.core_mondrian.engine.paper.column_ranking import rank_choices
from cython.cimports.core_mondrian.engine.paper.proposals import propose_numbers
from cython.cimports.core_mondrian.engine.paper.scoring import score_proposals
from cython.cimports.core_mondrian.engine.paper.workspace import (
    first_of,
    last_of,
    open_column,
)
from cython.cimports.core_mondrian.engine.records import row

from core_mondrian.engine.paper.workspace import FunnelWorkspace


def find_cut(work: FunnelWorkspace, node: int, must_cut: bool, attempt: int) -> bool:
    """Find the best cut of a partition after ``attempt`` others, into ``work.chosen``.

    ``work.box`` holds the partition's box. In the inline zone a cut that loses rows is
    passed over while there is another, and taken only if the partition cannot be
    released as it is (``must_cut``), the cheapest first: small partitions keep the
    rows that a queued one would spend its fixed budget on (§3.6).
    """
    open_partition(work, node, attempt)
    start = work.nodes[node].start
    stop = work.nodes[node].stop
    if work.rules.has_rules:
        count_sensitive(work, first_of(work, 0, start), last_of(work, 0, stop))
    most = work.budget
    if work.is_inline and not must_cut:
        most = 0
    n_choices = rank_choices(work)
    if work.policy == AS_PUBLISHED:
        n_choices = min(n_choices, 1)
    group = cython.declare(cython.Py_ssize_t, 0)  # first proposal of those that compete
    last_score = 0.0
    for choice in range(n_choices):
        column = work.choices[choice].column
        score = work.choices[choice].score
        if work.n_proposals > group and (
            abs(score - last_score) > work.epsilon or work.rows < work.compete_rows
        ):
            if accept_best(work, group):
                return True
            group = keep_lossy(work, group) if work.is_inline else 0
            work.n_proposals = group
        before = work.n_proposals
        first = first_of(work, column, start)
        open_column(work, column, first, last_of(work, column, stop))
        examine(work, most)
        if work.n_proposals > before:
            last_score = score
    if accept_best(work, group):
        return True
    return accept_cheapest(work) if must_cut else False


def open_partition(work: FunnelWorkspace, node: int, attempt: int) -> None:
    """Look at one partition, for the cut after ``attempt`` others."""
    work.rows = work.nodes[node].rows
    work.budget = work.nodes[node].budget
    work.is_inline = work.policy == PAPER and work.rows < work.inline_below
    work.attempt = attempt
    work.n_accepted = 0
    work.n_proposals = 0


def examine(work: FunnelWorkspace, most: int) -> None:
    """Append the proposals of the column at hand, scored if they are compared.

    ``most`` is how many rows the partition may lose. What an earlier attempt has
    counted is not counted again.
    """
    column = work.column
    first = work.n_proposals
    is_new = cython.declare(cython.bint, work.n_accepted >= work.attempt)
    if is_new:
        work.counters[EXAMINED, column] += 1
    propose(work)
    last = work.n_proposals
    if is_new and last > first:
        work.counters[CONSIDERED, column] += 1
        if cheapest(work, first, last) <= most:
            work.counters[PROPOSED, column] += 1
    if needs_scores(work, first, last):
        score_proposals(work, first, last)


def propose(work: FunnelWorkspace) -> None:
    """Append every cut of the column at hand that is worth having."""
    if work.columns.info[work.column].kind == CATEGORY:
        propose_categories(work)
    else:
        propose_numbers(work)


def count_sensitive(work: FunnelWorkspace, start: int, stop: int) -> None:
    """Count the partition's sensitive values into ``work.whole``."""
    clear(work.whole)
    for i in range(start, stop):
        add_record(work.whole, work.rules, row(work.records, i))


def needs_scores(work: FunnelWorkspace, first: int, last: int) -> bool:
    """Tell whether any proposal of a column has another one to be compared with."""
    if work.rows >= work.compete_rows:
        return last > first
    if not work.is_inline:
        return last - first > 1
    lossless = 0
    for i in range(first, last):
        if work.proposals[i].loss == 0:
            lossless += 1
    return lossless > 1 or last - first - lossless > 1


def cheapest(work: FunnelWorkspace, first: int, last: int) -> int:
    """Return the fewest rows that any of these proposals loses."""
    least = work.proposals[first].loss
    for i in range(first + 1, last):
        least = min(least, work.proposals[i].loss)
    return least


def accept_best(work: FunnelWorkspace, first: int) -> bool:
    """Try the proposals from ``first`` on, best score first.

    In the inline zone those that lose rows are passed over: their turn comes later.
    """
    sort_proposals(work, first, False)
    return accept(work, first, work.is_inline)


def accept_cheapest(work: FunnelWorkspace) -> bool:
    """Try the proposals that lose rows, those that lose fewest first."""
    work.n_proposals = keep_lossy(work, 0)
    sort_proposals(work, 0, True)
    return accept(work, 0, False)


def accept(work: FunnelWorkspace, first: int, waits: bool) -> bool:
    """Go through proposals in order; tell whether the wanted cut is among them.

    That is the one after ``work.attempt`` others. What an earlier attempt has counted
    is not counted again. With ``waits``, a proposal that loses rows is passed over.
    """
    for i in range(first, work.n_proposals):
        if waits and work.proposals[i].loss > 0:
            continue
        column = work.proposals[i].column
        if work.n_accepted >= work.attempt:
            work.counters[FINAL, column] += 1
        if work.proposals[i].loss > work.budget:
            continue
        if work.n_accepted == work.attempt:
            work.counters[ACCEPTED, column] += 1
            work.chosen[0] = work.proposals[i]
            return True
        work.n_accepted += 1
    return False


def keep_lossy(work: FunnelWorkspace, first: int) -> int:
    """Drop lossless proposals from ``first`` on; return how many are left in all."""
    n = first
    for i in range(first, work.n_proposals):
        if work.proposals[i].loss > 0:
            work.proposals[n] = work.proposals[i]
            n += 1
    return n


def sort_proposals(work: FunnelWorkspace, first: int, by_loss: bool) -> None:
    """Sort the proposals from ``first`` on, stably."""
    for i in range(first + 1, work.n_proposals):
        j = i
        while j > first and comes_first(work, j, j - 1, by_loss):
            swap_proposals(work, j, j - 1)
            j -= 1


def comes_first(work: FunnelWorkspace, left: int, right: int, by_loss: bool) -> bool:
    """Tell whether proposal ``left`` is tried before ``right``; ties keep the order."""
    if by_loss and work.proposals[left].loss != work.proposals[right].loss:
        return work.proposals[left].loss < work.proposals[right].loss
    if work.proposals[left].score != work.proposals[right].score:
        return work.proposals[left].score < work.proposals[right].score
    return work.proposals[left].loss < work.proposals[right].loss


def swap_proposals(work: FunnelWorkspace, left: int, right: int) -> None:
    """Exchange two proposals; ``work.chosen`` is the third hand."""
    work.chosen[0] = work.proposals[left]
    work.proposals[left] = work.proposals[right]
    work.proposals[right] = work.chosen[0]
