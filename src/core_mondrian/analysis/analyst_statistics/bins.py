"""Numbers as categories: of their two values, or of ranges."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from core_mondrian.analysis.analyst_statistics.cells import Cells, Column
from core_mondrian.analysis.analyst_statistics.questions import N_BINS
from core_mondrian.recoding.intervals import moment_texts
from core_mondrian.runtime.array_types import Flags, Floats


def as_category(column: Column, low: float, high: float) -> Column:
    """Return a number that has two values as a category of them."""
    width = high - low

    def share(numbers: Floats) -> tuple[Floats, Flags]:
        upper = np.clip((numbers - low) / width if width else 1.0, 0.0, 1.0)
        shares = np.stack([1.0 - upper, upper * np.ones(numbers.size)], axis=1)
        return shares, np.isin(numbers, (low, high))

    return _categorize(column, _number_texts(np.array([low, high]), column.type), share)


def as_bins(column: Column, n_bins: int = N_BINS) -> Column:
    """Return a number as a category of ranges with about equally many released rows.

    Their bounds are numbers that the release shows, or middles of its ranges.
    """
    edges = _find_edges(column.after, n_bins)

    def place(numbers: Floats) -> tuple[Floats, Flags]:
        bins = np.searchsorted(edges, numbers, side="left")
        shares = np.eye(edges.size + 1)[np.minimum(bins, edges.size)]
        return shares, np.ones(bins.size, dtype=np.bool_)

    texts = _number_texts(edges, column.type)
    if not texts:
        return _categorize(column, ["any"], place)
    between = [f"over {low} to {high}" for low, high in pairwise(texts)]
    levels = [f"to {texts[0]}", *between, f"over {texts[-1]}"]
    return _categorize(column, levels, place)


def _find_edges(cells: Cells, n_bins: int) -> Floats:
    counts = np.where(np.isnan(cells.content), 0, cells.count())
    filled = cells.content[counts > 0]
    if not filled.size:
        return filled
    ends = np.cumsum(counts[counts > 0])
    at = np.searchsorted(ends, ends[-1] * np.arange(1, n_bins) / n_bins)
    edges = np.unique(filled[at])
    kept: Floats = edges[edges < filled[-1]]
    return kept


def _categorize(
    column: Column,
    levels: Sequence[str],
    share: Callable[[Floats], tuple[Floats, Flags]],
) -> Column:
    """Return a number as a category, given the shares of levels in its cells."""

    def turn(cells: Cells) -> Cells:
        shares, exact = share(cells.content)
        shares[np.isnan(cells.content)] = 0.0
        return Cells(cells.codes, shares, exact)

    return Column(
        column.name,
        pa.string(),
        tuple(levels),
        turn(column.before),
        turn(column.after),
        None if column.test is None else turn(column.test),
    )


def _number_texts(numbers: Floats, kind: pa.DataType) -> list[str]:
    """Return numbers as text; dates and times as such."""
    if not pa.types.is_temporal(kind) or pa.types.is_duration(kind):
        return [f"{number:.12g}" for number in numbers.tolist()]
    wide = pa.int32() if kind.bit_width == 32 else pa.int64()
    whole = pa.array(np.floor(numbers).astype(np.int64)).cast(wide)
    return list(moment_texts(whole.view(kind))[0].to_pylist())
