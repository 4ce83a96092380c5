"""View: one quasi-identifier of a release, class by class, and what it shows there."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.columns import as_floats, comparable
from core_mondrian.measures.cells import Cells, cells_of, group_tuples, values_of
from core_mondrian.recoding.labels import Labels
from core_mondrian.release.result import AnyRelease
from core_mondrian.spec.declaration import Spec

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What each class shows of a number: from where to where; NaN: a blank."""

    low: Floats
    high: Floats
    texts: dict[float, str]
    """How the numbers above are released."""


@dataclass(frozen=True)
class View:
    """One quasi-identifier: what each class shows, and what was there before."""

    cells: Cells
    labels: Labels
    index: NDArray[np.int32]
    """What each class shows, as a place in ``labels``; -1: a blank."""
    owner: NDArray[np.intp]
    """The class of each of the cells' codes."""
    rows: Integers
    """Rows of each class."""
    before: Integers
    """Rows of the whole table with each code, missing last."""
    suppressed: Integers
    """Those of them that are suppressed."""
    values: pa.Array
    """What the codes of a number stand for."""
    spec: Spec

    @property
    def name(self) -> str:
        return self.cells.column.name

    @property
    def is_set(self) -> bool:
        """Whether each class shows the set of its values."""
        is_number = self.cells.column.kind == "number"
        return not is_number and self.spec.categories_of(self.name) == "set"

    @property
    def least_rows(self) -> int:
        """Rows that have to have a value of the original before it is counted."""
        return max(self.spec.min_rows, 2)

    @cached_property
    def bounds(self) -> Bounds:
        """What the classes show of a number, from the release alone."""
        return _bounds_of(self)


def views_of(release: AnyRelease) -> Iterator[View]:
    """Return a view of each quasi-identifier."""
    table, recoded = release._pieces, release._recoded  # noqa: SLF001
    classes = recoded.classes
    grouping = group_tuples(table, classes, None)
    gone = classes.of_tuple < 0
    for q, cells in enumerate(cells_of(table, classes, grouping)):
        labels = recoded.labels[cells.column.name]
        size = cells.column.n_values + 1
        codes = table.codes[:, q]
        counted = np.bincount(codes, weights=table.counts, minlength=size)
        lost = np.bincount(codes[gone], weights=table.counts[gone], minlength=size)
        yield View(
            cells=cells,
            labels=labels,
            index=labels.index[recoded.leaf_of_class],
            owner=grouping.owner,
            rows=classes.rows,
            before=counted.astype(np.int64),
            suppressed=lost.astype(np.int64),
            values=release._encoded.values[q],  # noqa: SLF001
            spec=release.spec,
        )


def _bounds_of(view: View) -> Bounds:
    cells, index = view.cells, view.index
    if cells.representatives is not None:
        shown = np.where(index < 0, np.nan, cells.representatives)
        words = view.labels.texts.to_pylist()
        texts = {
            number: words[at]
            for number, at in zip(shown.tolist(), index.tolist(), strict=True)
            if at >= 0
        }
        return Bounds(shown, shown, texts)
    if view.labels.ends is not None:
        ends = [np.append(as_floats(end), np.nan) for end in view.labels.ends]
        texts = _texts_by_value(view.labels.ends[0]) | _texts_by_value(
            view.labels.ends[1]
        )
        return Bounds(ends[0][index], ends[1][index], texts)
    is_blank = index < 0
    numbers = values_of(cells.column)
    used = np.unique(np.concatenate([cells.low[~is_blank], cells.high[~is_blank]]))
    texts = _texts_by_value(view.values.take(pa.array(used)))
    low, high = (
        np.where(is_blank, np.nan, numbers[end]) for end in (cells.low, cells.high)
    )
    return Bounds(low, high, texts)


def _texts_by_value(values: pa.Array) -> dict[float, str]:
    texts = comparable(values).cast(pa.string()).to_pylist()
    return dict(zip(as_floats(values).tolist(), texts, strict=True))
