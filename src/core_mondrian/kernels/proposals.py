"""Where a column could be cut, and what each cut would cost (Core Mondrian §3.3)."""

import numpy as np

from core_mondrian.kernels.choices import child_with, common_ancestor
from core_mondrian.kernels.jit import kernel, merged_kernel
from core_mondrian.kernels.layout import (
    CATEGORY,
    FAILS,
    KEEP_BOTH,
    LOSE_LEFT,
    LOSE_RIGHT,
    MAY_PASS,
    PAPER,
    PASSES,
    POOLED,
    TOPPED_UP,
    Columns,
    Counts,
    Models,
    Policy,
    Tuples,
    Work,
)
from core_mondrian.kernels.rules import (
    add_record,
    add_to_side,
    admits_sides,
    clear,
    count_rest,
    rules_admit,
)
from core_mondrian.kernels.runs import find_runs


@kernel
def judge_part(models: Models, rows: int, counts: Counts, may_stay_open: bool) -> int:
    """Tell whether a part passes the models, fails, or may pass once it is cut."""
    if rows < models.min_rows:
        return FAILS
    if not models.has_rules or rules_admit(models, rows, counts):
        return PASSES
    if may_stay_open and not models.is_monotone and rows >= 2 * models.min_rows:
        return MAY_PASS
    return FAILS


@kernel
def add_proposal(
    work: Work, n: int, column: int, at: int, variant: int, loss: int
) -> int:
    """Append a proposal, not yet scored; return how many there are now."""
    work.proposals[n].column = column
    work.proposals[n].at = at
    work.proposals[n].variant = variant
    work.proposals[n].loss = loss
    work.proposals[n].score = 0.0
    return n + 1


@kernel
def propose_number_cut(
    tuples: Tuples,
    models: Models,
    work: Work,
    column: int,
    start: int,
    run: int,
    rows: int,
    may_lose: bool,
    may_stay_open: bool,
    n: int,
) -> int:
    """Append the cut after ``run`` if what it leaves is worth having."""
    left = np.int64(0)
    for i in range(start, start + run + 1):
        left += tuples.runs[i].rows
    right = rows - left
    if models.has_rules:
        count_left_side(tuples, models, work, start, left)
        count_rest(models, work.all_counts, work.side_counts, work.pool_counts)
    is_left = judge_part(models, left, work.side_counts, may_stay_open)
    is_right = judge_part(models, right, work.pool_counts, may_stay_open)
    at = tuples.runs[start + run].code
    if is_left != FAILS and is_right != FAILS:
        return add_proposal(work, n, column, at, KEEP_BOTH, 0)
    if not may_lose or (is_left == FAILS and is_right == FAILS):
        return n
    if is_left == FAILS:
        return add_proposal(work, n, column, at, LOSE_LEFT, left)
    return add_proposal(work, n, column, at, LOSE_RIGHT, right)


@kernel
def count_left_side(
    tuples: Tuples, models: Models, work: Work, start: int, rows: int
) -> None:
    """Count the sensitive values of the first ``rows`` rows in code order."""
    clear(work.side_counts, models)
    n_columns = work.box.size
    rows_at = tuples.records.shape[1] - 2
    i = start
    while rows > 0:
        record = tuples.records[start + (tuples.keys[i] & 0xFFFFFFFF)]
        add_to_side(work.side_counts, work.all_counts, models, record, n_columns)
        rows -= record[rows_at]
        i += 1


@kernel
def median_run(tuples: Tuples, start: int, rows: int) -> int:
    """Return the run that holds the lower median row."""
    seen = np.int64(0)
    run = 0
    while True:
        seen += tuples.runs[start + run].rows
        if seen > (rows - 1) // 2:
            return run
        run += 1


@kernel
def balanced_run(
    tuples: Tuples,
    models: Models,
    work: Work,
    start: int,
    n_runs: int,
    rows: int,
) -> int:
    """Return the run after which a cut loses nothing and is most even; -1: none is."""
    best = -1
    best_smaller = np.int64(models.min_rows - 1)
    left = np.int64(0)
    position = start
    rows_at = tuples.records.shape[1] - 2
    clear(work.side_counts, models)
    for run in range(n_runs - 1):
        left += tuples.runs[start + run].rows
        if models.has_rules:
            added = np.int64(0)
            while added < tuples.runs[start + run].rows:
                record = tuples.records[start + (tuples.keys[position] & 0xFFFFFFFF)]
                add_to_side(
                    work.side_counts, work.all_counts, models, record, work.box.size
                )
                added += record[rows_at]
                position += 1
        if min(left, rows - left) <= best_smaller:
            continue
        if models.has_rules and not admits_sides(
            models, rows, left, work.all_counts, work.side_counts, work.pool_counts
        ):
            continue
        best = run
        best_smaller = min(left, rows - left)
    return best


@kernel
def value_at(
    tuples: Tuples, columns: Columns, column: int, start: int, rank: float, n_runs: int
) -> float:
    """Return the value at a fractional rank (0-based), linearly interpolated."""
    offset = columns.info[column].value_offset
    below = np.int64(np.floor(rank))
    seen = np.int64(0)
    run = 0
    while run < n_runs - 1 and seen + tuples.runs[start + run].rows <= below:
        seen += tuples.runs[start + run].rows
        run += 1
    lower = columns.values[offset + tuples.runs[start + run].code]
    upper = lower
    if below + 1 >= seen + tuples.runs[start + run].rows and run < n_runs - 1:
        upper = columns.values[offset + tuples.runs[start + run + 1].code]
    return lower + (upper - lower) * (rank - below)


@kernel
def n_histogram_bins(
    tuples: Tuples, columns: Columns, column: int, start: int, n_runs: int, rows: int
) -> int:
    """Return a histogram's bins: the more of Sturges and Freedman-Diaconis."""
    offset = columns.info[column].value_offset
    smallest = columns.values[offset + tuples.runs[start].code]
    largest = columns.values[offset + tuples.runs[start + n_runs - 1].code]
    upper = value_at(tuples, columns, column, start, 0.75 * (rows - 1), n_runs)
    lower = value_at(tuples, columns, column, start, 0.25 * (rows - 1), n_runs)
    width = (largest - smallest) / (np.log2(np.float64(rows)) + 1.0)
    quartile_width = 2.0 * (upper - lower) / np.float64(rows) ** (1.0 / 3.0)
    if 0.0 < quartile_width < width:
        width = quartile_width
    # Beyond any number of rows more bins say nothing, and an int has an end.
    return np.int64(min(np.ceil((largest - smallest) / width), 2.0**40))


@kernel
def propose_bin_edges(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    column: int,
    start: int,
    n_runs: int,
    rows: int,
    may_stay_open: bool,
    n: int,
) -> int:
    """Append a cut at each kept edge of the partition's histogram."""
    offset = columns.info[column].value_offset
    smallest = columns.values[offset + tuples.runs[start].code]
    largest = columns.values[offset + tuples.runs[start + n_runs - 1].code]
    n_edges = n_histogram_bins(tuples, columns, column, start, n_runs, rows)
    if n_edges < 2:
        return n
    n_kept = min(n_edges, policy.max_edges)
    last = -1
    for kept in range(n_kept):
        # The rightmost edge is never kept; the others are taken evenly spaced.
        edge = np.int64(kept)
        if n_edges > n_kept > 1:
            edge = np.int64(np.rint(kept * (n_edges - 1) / (n_kept - 1)))
        value = smallest + (largest - smallest) * (edge / n_edges)
        run = last
        while (
            run + 1 < n_runs
            and columns.values[offset + tuples.runs[start + run + 1].code] <= value
        ):
            run += 1
        if run == last or run == n_runs - 1:
            continue
        last = run
        n = propose_number_cut(
            tuples, models, work, column, start, run, rows, True, may_stay_open, n
        )
    return n


@kernel
def propose_numbers(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    column: int,
    start: int,
    stop: int,
    rows: int,
    n: int,
) -> int:
    """Append the cuts of a number column: median, bin edges, or the most even one."""
    first = n
    n_runs = find_runs(tuples, work, column, start, stop, models.has_rules)
    may_stay_open = policy.name == PAPER and rows < policy.inline_below
    run = median_run(tuples, start, rows)
    if policy.name != PAPER:
        if run == n_runs - 1:
            return n
        return propose_number_cut(
            tuples, models, work, column, start, run, rows, False, False, n
        )
    if policy.use_median:
        # Rows tied at the median may go to either side: two cut points, not one.
        for last in range(run, run - 2, -1):
            if 0 <= last < n_runs - 1:
                n = propose_number_cut(
                    tuples, models, work, column, start, last, rows, True,
                    may_stay_open, n,
                )  # fmt: skip
    if (
        policy.use_bin_edges
        and rows >= policy.bin_rows
        and n_runs >= policy.min_bin_values
        and tuples.runs[start + n_runs - 1].code < columns.info[column].n_values
    ):
        n = propose_bin_edges(
            tuples, columns, models, policy, work, column, start, n_runs, rows,
            may_stay_open, n,
        )  # fmt: skip
    for i in range(first, n):
        if work.proposals[i].loss == 0:
            return n
    # Moving the cut loses nothing; the published code drops the small side instead.
    run = balanced_run(tuples, models, work, start, n_runs, rows)
    if run >= 0:
        at = tuples.runs[start + run].code
        n = add_proposal(work, n, column, at, KEEP_BOTH, 0)
    return n


@kernel
def split_by_children(
    tuples: Tuples, columns: Columns, work: Work, column: int, start: int, n_runs: int
) -> int:
    """Give each run the child of the common ancestor it lies under; count the parts."""
    first = columns.info[column].node_offset
    node = common_ancestor(columns, column, work.box[column].low, work.box[column].high)
    part = start - 1
    high = -1
    for run in range(start, start + n_runs):
        code = tuples.runs[run].code
        rows = tuples.runs[run].rows
        if code > high:
            child = child_with(columns, column, node, code)
            high = columns.nodes[first + child].high
            part += 1
            tuples.parts[part].low = columns.nodes[first + child].low
            tuples.parts[part].high = high
            tuples.parts[part].rows = 0
            tuples.parts[part].mode = 0
        tuples.parts[part].rows += rows
        tuples.parts[part].mode = max(tuples.parts[part].mode, rows)
    return part - start + 1


@kernel
def add_to_pool(
    tuples: Tuples,
    models: Models,
    work: Work,
    column: int,
    start: int,
    stop: int,
    part: int,
) -> None:
    """Add one part of a category's cut to the counts of the pool."""
    for i in range(start, stop):
        code = tuples.records[i, column]
        if tuples.parts[part].low <= code <= tuples.parts[part].high:
            add_record(work.pool_counts, models, tuples.records[i], work.box.size)


@kernel
def form_parts(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    work: Work,
    column: int,
    start: int,
    stop: int,
    may_stay_open: bool,
) -> int:
    """Part the partition at its common ancestor and judge each part.

    Parts that fail are in the pool; ``work.pool_counts`` counts it. Returns the number
    of parts; their states are in ``part_state``.
    """
    has_rules = models.has_rules
    n_runs = find_runs(tuples, work, column, start, stop, has_rules)
    n_parts = split_by_children(tuples, columns, work, column, start, n_runs)
    clear(work.pool_counts, models)
    position = start
    rows_at = tuples.records.shape[1] - 2
    for part in range(start, start + n_parts):
        rows = tuples.parts[part].rows
        first = position
        if has_rules:
            clear(work.side_counts, models)
            added = np.int64(0)
            while added < rows:
                record = tuples.records[start + (tuples.keys[position] & 0xFFFFFFFF)]
                add_record(work.side_counts, models, record, work.box.size)
                added += record[rows_at]
                position += 1
        verdict = judge_part(models, rows, work.side_counts, may_stay_open)
        tuples.parts[part].state = verdict
        if verdict == FAILS and has_rules:
            for i in range(first, position):
                record = tuples.records[start + (tuples.keys[i] & 0xFFFFFFFF)]
                add_record(work.pool_counts, models, record, work.box.size)
    return n_parts


@kernel
def pool_rows(tuples: Tuples, start: int, n_parts: int) -> int:
    """Return the rows of all parts in the pool."""
    rows = np.int64(0)
    for part in range(start, start + n_parts):
        if tuples.parts[part].state == FAILS:
            rows += tuples.parts[part].rows
    return rows


@kernel
def n_surviving(tuples: Tuples, start: int, n_parts: int) -> int:
    """Return how many parts stand on their own."""
    n = 0
    for part in range(start, start + n_parts):
        n += tuples.parts[part].state != FAILS
    return n


@kernel
def top_up_pool(
    tuples: Tuples,
    models: Models,
    work: Work,
    column: int,
    start: int,
    stop: int,
    n_parts: int,
) -> bool:
    """Move the smallest parts into the pool until the pool passes the models."""
    rows = pool_rows(tuples, start, n_parts)
    while n_surviving(tuples, start, n_parts) > 1:
        smallest = -1
        for part in range(start, start + n_parts):
            if tuples.parts[part].state == FAILS:
                continue
            if smallest < 0 or tuples.parts[part].rows < tuples.parts[smallest].rows:
                smallest = part
        tuples.parts[smallest].state = FAILS
        rows += tuples.parts[smallest].rows
        if models.has_rules:
            add_to_pool(tuples, models, work, column, start, stop, smallest)
        if judge_part(models, rows, work.pool_counts, False) == PASSES:
            return True
    return False


@kernel
def propose_categories(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    column: int,
    start: int,
    stop: int,
    rows: int,
    n: int,
) -> int:
    """Append the cuts of a category: one part per child, small children pooled.

    If the pool is too small for a class it is lost, or, as another proposal, filled
    up with the smallest child that would have passed.
    """
    may_stay_open = policy.name == PAPER and rows < policy.inline_below
    n_parts = form_parts(
        tuples, columns, models, work, column, start, stop, may_stay_open
    )
    survivors = n_surviving(tuples, start, n_parts)
    in_pool = pool_rows(tuples, start, n_parts)
    if policy.name != PAPER:
        if in_pool == 0 and survivors > 1:
            return add_proposal(work, n, column, -1, POOLED, 0)
        return n
    if in_pool == 0:
        return add_proposal(work, n, column, -1, POOLED, 0)
    if judge_part(models, in_pool, work.pool_counts, False) == PASSES:
        if survivors == 0:
            return n
        return add_proposal(work, n, column, -1, POOLED, 0)
    if survivors == 0:
        return n
    n = add_proposal(work, n, column, -1, POOLED, in_pool)
    if top_up_pool(tuples, models, work, column, start, stop, n_parts):
        n = add_proposal(work, n, column, -1, TOPPED_UP, 0)
    return n


@merged_kernel
def propose(
    tuples: Tuples,
    columns: Columns,
    models: Models,
    policy: Policy,
    work: Work,
    column: int,
    start: int,
    stop: int,
    rows: int,
    n: int,
) -> int:
    """Append every cut of ``column`` worth having; return how many there are now."""
    if columns.info[column].kind == CATEGORY:
        return propose_categories(
            tuples, columns, models, policy, work, column, start, stop, rows, n
        )
    return propose_numbers(
        tuples, columns, models, policy, work, column, start, stop, rows, n
    )
