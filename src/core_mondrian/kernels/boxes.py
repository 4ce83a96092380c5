"""What a class looks like: its box, its median, its lowest hierarchy node."""

from core_mondrian.kernels.choices import common_ancestor, is_blank
from core_mondrian.kernels.jit import entry_kernel
from core_mondrian.kernels.layout import Codes, Columns, Counts, Tuples, Work
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
