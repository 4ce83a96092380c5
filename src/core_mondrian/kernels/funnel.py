"""The cut funnel: from all columns of a partition to no cut or one (§3.3).

Every stage counts what it keeps: examined, considered, proposed, final, accepted.
"""

from core_mondrian.kernels.apart import first_of, last_of
from core_mondrian.kernels.choices import rank_choices
from core_mondrian.kernels.jit import kernel, merged_kernel
from core_mondrian.kernels.layout import (
    ACCEPTED,
    AS_PUBLISHED,
    CONSIDERED,
    EXAMINED,
    FINAL,
    PAPER,
    PROPOSED,
    Columns,
    Fields,
    Models,
    Policy,
    Tuples,
    Work,
)
from core_mondrian.kernels.proposals import propose
from core_mondrian.kernels.rules import add_record, clear
from core_mondrian.kernels.scores import score_proposals


@kernel
def count_sensitive(
    tuples: Tuples, models: Models, work: Work, start: int, stop: int
) -> None:
    """Count the partition's sensitive values into ``work.all_counts``."""
    clear(work.all_counts, models)
    for i in range(start, stop):
        add_record(work.all_counts, models, tuples.records[i], work.box.size)


@kernel
def comes_first(work: Work, left: int, right: int, by_loss: bool) -> bool:
    """Tell whether proposal ``left`` is tried before ``right``; ties keep the order."""
    if by_loss and work.proposals[left].loss != work.proposals[right].loss:
        return work.proposals[left].loss < work.proposals[right].loss
    if work.proposals[left].score != work.proposals[right].score:
        return work.proposals[left].score < work.proposals[right].score
    return work.proposals[left].loss < work.proposals[right].loss


@kernel
def copy_proposal(source: Fields, i: int, target: Fields, j: int) -> None:
    """Write ``source[i]`` over ``target[j]``."""
    target[j].column = source[i].column
    target[j].at = source[i].at
    target[j].variant = source[i].variant
    target[j].loss = source[i].loss
    target[j].score = source[i].score


@kernel
def swap_proposals(work: Work, left: int, right: int) -> None:
    """Exchange two proposals."""
    copy_proposal(work.proposals, left, work.chosen, 0)
    copy_proposal(work.proposals, right, work.proposals, left)
    copy_proposal(work.chosen, 0, work.proposals, right)


@kernel
def sort_proposals(work: Work, first: int, last: int, by_loss: bool) -> None:
    """Sort the proposals ``first`` to ``last - 1``, stably."""
    for i in range(first + 1, last):
        j = i
        while j > first and comes_first(work, j, j - 1, by_loss):
            swap_proposals(work, j, j - 1)
            j -= 1


@kernel
def accept(
    work: Work,
    first: int,
    last: int,
    most: int,
    waits: bool,
    attempt: int,
    n_accepted: int,
) -> int:
    """Go through proposals in order; return the accepted count, -1 when found.

    The cut wanted is the one after ``attempt`` others. What an earlier attempt has
    counted is not counted again. With ``waits``, a proposal that loses rows is passed
    over: its turn comes later.
    """
    for i in range(first, last):
        if waits and work.proposals[i].loss > 0:
            continue
        column = work.proposals[i].column
        if n_accepted >= attempt:
            work.funnel[FINAL, column] += 1
        if work.proposals[i].loss > most:
            continue
        if n_accepted == attempt:
            work.funnel[ACCEPTED, column] += 1
            copy_proposal(work.proposals, i, work.chosen, 0)
            return -1
        n_accepted += 1
    return n_accepted


@kernel
def keep_lossy(work: Work, first: int, last: int) -> int:
    """Drop lossless proposals from the list; return how many are left in all."""
    n = first
    for i in range(first, last):
        if work.proposals[i].loss > 0:
            copy_proposal(work.proposals, i, work.proposals, n)
            n += 1
    return n


@merged_kernel
def find_cut(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    start: int,
    stop: int,
    rows: int,
    budget: int,
    must_cut: bool,
    attempt: int,
) -> bool:
    """Find the best cut of a partition after ``attempt`` others, into ``work.chosen``.

    ``work.box`` holds the partition's box. In the inline zone a cut that loses rows is
    passed over while there is another, and taken only if the partition cannot be
    released as it is (``must_cut``), the cheapest first: small partitions keep the
    rows that a queued one would spend its fixed budget on (§3.6).
    """
    is_inline = policy.name == PAPER and rows < policy.inline_below
    most = budget
    if is_inline and not must_cut:
        most = 0
    n_choices = rank_choices(columns, policy, work)
    if policy.name == AS_PUBLISHED:
        n_choices = min(n_choices, 1)
    if models.has_rules:
        count_sensitive(
            tuples, models, work, first_of(work.apart, 0, start),
            last_of(work.apart, 0, stop),
        )  # fmt: skip
    group = 0  # first proposal of the group that competes
    n = 0
    n_accepted = 0
    last_score = 0.0
    for choice in range(n_choices):
        column = work.choices[choice].column
        score = work.choices[choice].score
        is_apart = abs(score - last_score) > policy.epsilon
        if n > group and (is_apart or rows < policy.compete_rows):
            sort_proposals(work, group, n, False)
            n_accepted = accept(work, group, n, budget, is_inline, attempt, n_accepted)
            if n_accepted < 0:
                return True
            group = keep_lossy(work, group, n) if is_inline else 0
            n = group
        is_new = n_accepted >= attempt
        work.funnel[EXAMINED, column] += is_new
        before = n
        first = first_of(work.apart, column, start)
        last = last_of(work.apart, column, stop)
        n = propose(tuples, columns, models, policy, work, column, first, last, rows, n)
        if n > before:
            work.funnel[CONSIDERED, column] += is_new
            is_affordable = cheapest(work, before, n) <= most
            work.funnel[PROPOSED, column] += is_new and is_affordable
            last_score = score
        if needs_scores(work, before, n, rows >= policy.compete_rows, is_inline):
            score_proposals(
                tuples, columns, models, work, before, n, first, last, is_inline
            )
    sort_proposals(work, group, n, False)
    n_accepted = accept(work, group, n, budget, is_inline, attempt, n_accepted)
    if n_accepted < 0:
        return True
    if not must_cut:
        return False
    n = keep_lossy(work, 0, n)
    sort_proposals(work, 0, n, True)
    return accept(work, 0, n, budget, False, attempt, n_accepted) < 0


@kernel
def cheapest(work: Work, first: int, last: int) -> int:
    """Return the fewest rows that any of these proposals loses."""
    least = work.proposals[first].loss
    for i in range(first + 1, last):
        least = min(least, work.proposals[i].loss)
    return least


@kernel
def needs_scores(
    work: Work, first: int, last: int, competes: bool, is_inline: bool
) -> bool:
    """Tell whether any proposal of a column has another one to be compared with."""
    if competes:
        return last > first
    if not is_inline:
        return last - first > 1
    lossless = 0
    for i in range(first, last):
        lossless += work.proposals[i].loss == 0
    return lossless > 1 or last - first - lossless > 1
