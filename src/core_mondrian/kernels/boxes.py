"""What a class looks like: the box of its codes, and the middle of its numbers."""

import numpy as np

from core_mondrian.kernels.choices import common_ancestor, is_blank
from core_mondrian.kernels.jit import entry_kernel
from core_mondrian.kernels.layout import Codes, Columns, Counts, Floats, Tuples, Work
from core_mondrian.kernels.proposals import median_run
from core_mondrian.kernels.runs import find_box, find_runs


@entry_kernel
def find_boxes(
    tuples: Tuples, work: Work, starts: Counts, stops: Counts, low: Codes, high: Codes
) -> None:
    """Fill the smallest and largest code of each class (axis 0) and column (axis 1)."""
    for leaf in range(starts.size):
        find_box(tuples, work, starts[leaf], stops[leaf])
        for column in range(low.shape[1]):
            low[leaf, column] = work.box[column].low
            high[leaf, column] = work.box[column].high


@entry_kernel
def find_medians(
    tuples: Tuples,
    work: Work,
    column: int,
    starts: Counts,
    stops: Counts,
    medians: Codes,
) -> None:
    """Fill the lower median code of each class."""
    for leaf in range(starts.size):
        start = starts[leaf]
        rows = find_box(tuples, work, start, stops[leaf])
        find_runs(tuples, work, column, start, stops[leaf], False)
        run = median_run(tuples, start, rows)
        medians[leaf] = tuples.runs[start + run].code


@entry_kernel
def find_means(
    tuples: Tuples,
    columns: Columns,
    work: Work,
    column: int,
    starts: Counts,
    stops: Counts,
    means: Floats,
) -> None:
    """Fill the mean value of each class, summed in code order; missing is left out."""
    offset = columns.info[column].value_offset
    for leaf in range(starts.size):
        start = starts[leaf]
        find_box(tuples, work, start, stops[leaf])
        n_runs = find_runs(tuples, work, column, start, stops[leaf], False)
        if tuples.runs[start].code >= columns.info[column].n_values:
            means[leaf] = np.nan
            continue
        # Sums of offsets from the smallest value: a class of equal values has
        # exactly that value as its mean.
        origin = columns.values[offset + tuples.runs[start].code]
        total = 0.0
        rows = np.int64(0)
        for run in range(start, start + n_runs):
            if tuples.runs[run].code < columns.info[column].n_values:
                value = columns.values[offset + tuples.runs[run].code] - origin
                total += tuples.runs[run].rows * value
                rows += tuples.runs[run].rows
        means[leaf] = origin + total / rows


@entry_kernel
def find_nodes(
    columns: Columns, column: int, low: Codes, high: Codes, nodes: Codes
) -> None:
    """Fill the lowest hierarchy node that covers each class; -1: blank."""
    missing = columns.info[column].n_values
    for leaf in range(nodes.size):
        if low[leaf] == missing or is_blank(columns, column, low[leaf], high[leaf]):
            nodes[leaf] = -1
        else:
            nodes[leaf] = common_ancestor(columns, column, low[leaf], high[leaf])
