"""Find the records that are cheaper to suppress than to release."""

import numpy as np

from core_mondrian.kernels.borrow import (
    borrow_aims,
    borrow_finder,
    borrow_models,
    borrowed,
)
from core_mondrian.kernels.exact import ROUNDING
from core_mondrian.kernels.jit import entry_kernel, kernel
from core_mondrian.kernels.layout import (
    Aims,
    Codes,
    Counts,
    Finder,
    Flags,
    Floats,
    Models,
)
from core_mondrian.kernels.losses import class_loss, worth_between, worth_of
from core_mondrian.kernels.rules import add_record, clear, rules_admit


@kernel
def admits_others(
    records: Codes,
    models: Models,
    finder: Finder,
    n_columns: int,
    start: int,
    stop: int,
    gone: int,
    rows: int,
) -> bool:
    """Tell whether a class is still admitted without one of its records."""
    if not models.has_rules:
        return rows >= models.min_rows
    clear(finder.side_counts, models)
    for i in range(start, stop):
        if i != gone:
            add_record(finder.side_counts, models, records[i], n_columns)
    return rules_admit(models, rows, finder.side_counts)


@entry_kernel
def find_outliers(
    records: Codes,
    starts: Counts,
    stops: Counts,
    rows: Counts,
    aims: Aims,
    models: Models,
    finder: Finder,
    price: float,
    is_open: Flags,
    saved: Floats,
    taken: Counts,
) -> None:
    """Fill what each open class saves per row by losing its worst record, and which.

    A row that is worth more is dearer to lose, too.

    -1 stands for the class as a whole, where that is dearer than its price.
    """
    records = borrowed(records)
    aims = borrow_aims(aims)
    models = borrow_models(models)
    finder = borrow_finder(finder)
    rows_at = records.shape[1] - 2
    for leaf in range(starts.size):
        if not is_open[leaf]:
            continue
        start = starts[leaf]
        stop = stops[leaf]
        loss = class_loss(records, aims, finder, start, stop, -1)
        least = ROUNDING * price
        worth = worth_between(records, aims, start, stop, rows[leaf])
        # Compared with others by the row, because the budget is rows.
        saved[leaf] = loss - price if loss - price > least else 0.0
        saved[leaf] *= worth / rows[leaf]
        taken[leaf] = -1
        if stop - start == 1 or loss == 0.0:
            continue
        for i in range(start, stop):
            n = np.int64(records[i, rows_at])
            others = rows[leaf] - n
            if others < models.min_rows:
                continue
            left = class_loss(records, aims, finder, start, stop, i)
            own = worth_of(aims, records[i])
            gain = (worth * loss - (worth - own) * left) / n - price * (own / n)
            if gain <= saved[leaf] + least:
                continue
            if admits_others(
                records, models, finder, aims.info.size, start, stop, i, others
            ):
                saved[leaf] = gain
                taken[leaf] = i
