"""What has been shown, in the codes of new rows, and in fitted codes again."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core_mondrian.series.fitted_columns import (
    FittedColumn,
    FittedValues,
    NextColumn,
    lowest_over,
    with_leaves,
)
from core_mondrian.series.recoding import Batch
from core_mondrian.series.recoding_tree import in_codes_of, named_codes, renumbered
from core_mondrian.series.shown_cells import Box
from core_mondrian.series.state import Shown

Codes = NDArray[np.int32]


def in_batch_codes(shown: Shown, batch: Batch) -> tuple[Shown, Batch]:
    """Return what has been shown, and new rows, in the codes of the latter."""
    tree = in_codes_of(shown.recoding.tree, batch.columns)
    cohorts, records = shown.cohorts, shown.records
    low, high = cohorts.low.copy(), cohorts.high.copy()
    for i, item in enumerate(batch.columns):
        number = np.append(item.fitted[:-1], np.int32(-1))
        low[:, i], high[:, i] = number[low[:, i]], number[high[:, i]]
    values = records.values.copy()
    for i, known in enumerate(batch.values):
        values[:, i] = known.fitted[values[:, i]]
    columns = tuple(item._replace(fitted=_every(item)) for item in batch.columns)
    coded = shown._replace(
        recoding=replace(shown.recoding, tree=tree),
        cohorts=cohorts._replace(low=low, high=high),
        records=records._replace(values=values),
    )
    return coded, batch._replace(columns=columns)


def _every(item: NextColumn) -> Codes:
    return np.arange(item.column.missing + 1, dtype=np.int32)


def settled_codes(shown: Shown, batch: Batch) -> Shown:
    """Return what has been shown by now in fitted codes, for the next release.

    Of numbers only those are kept that a cut, a node or a cohort names.
    """
    columns: list[FittedColumn] = []
    tree, cohorts = shown.recoding.tree, shown.cohorts
    low, high = cohorts.low.copy(), cohorts.high.copy()
    for i, (column, item) in enumerate(
        zip(shown.recoding.columns, batch.columns, strict=True)
    ):
        if column.hierarchy is not None:
            columns.append(with_leaves(column, item))
            continue
        ends = np.concatenate([low[:, i], high[:, i]])
        named = np.union1d(named_codes(tree, i), ends[ends >= 0])
        numbers = np.full(len(item.values) + 1, -1, dtype=np.int32)
        numbers[named] = np.arange(named.size)
        tree = renumbered(tree, i, numbers[:-1])
        low[:, i], high[:, i] = numbers[low[:, i]], numbers[high[:, i]]
        columns.append(replace(column, values=item.values.take(named)))
    values = tuple(
        FittedValues(item.column.name, item.values, item.known) for item in batch.values
    )
    recoding = replace(shown.recoding, columns=tuple(columns), values=values, tree=tree)
    return shown._replace(
        recoding=recoding, cohorts=cohorts._replace(low=low, high=high)
    )


def covered_codes(item: NextColumn, box: Box) -> Box:
    """Return the codes that what is shown of each cohort stands for."""
    tree = item.column.hierarchy
    if tree is None:
        return box
    is_blank = box.low < 0
    if is_blank.all():
        return box
    nodes = lowest_over(tree, *(np.where(is_blank, np.int32(0), end) for end in box))
    first, last = tree.low[nodes], tree.high[nodes]
    return Box(
        np.where(is_blank, box.low, first).astype(np.int32),
        np.where(is_blank, box.high, last).astype(np.int32),
    )
