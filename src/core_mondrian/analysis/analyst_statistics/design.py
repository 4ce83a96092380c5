"""The columns of a regression: numbers, and expected memberships of values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core_mondrian.analysis.analyst_statistics.answers import OTHERS, name_levels
from core_mondrian.analysis.analyst_statistics.cells import (
    Cells,
    Column,
    Tables,
    collapse,
)
from core_mondrian.errors import SpecError
from core_mondrian.runtime.array_types import Flags, Floats, Integers

MOST_FEATURES: Final = 300


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of the design: a number, or which of some levels a row has."""

    name: str
    column: int
    levels: Flags | None = None
    """Those whose shares are added up; None: the number itself."""
    against: str | None = None
    """The level that has no feature."""

    def read(self, cells: Cells, codes: Integers) -> Floats:
        """Return the feature of each row, NaN where the cell is blank."""
        content = cells.content
        if self.levels is None:
            return content[codes]
        known = content.sum(axis=1)
        shares = content[:, self.levels].sum(axis=1)
        blank = np.full(known.size, np.nan)
        whole: Floats = np.divide(shares, known, out=blank, where=known > 0)
        return whole[codes]


@dataclass(frozen=True, slots=True)
class Side:
    """One table as distinct rows of features and an outcome's cell, with counts."""

    features: Floats
    outcome: Integers
    """The outcome's cell."""
    counts: Integers
    known: Floats
    """Which part of each row is known: less than 1 where a set holds a blank."""
    codes: list[Integers]


def find_features(
    columns: Sequence[Column], tables: Tables, *, is_full: bool = False
) -> list[Feature]:
    """Return the features of columns; levels that may not be named are put together.

    The level with the most exact rows in the release is what others are compared with,
    and has no feature unless ``is_full``.

    Raises:
        SpecError: there are too many.
    """
    features = []
    for place, column in enumerate(columns):
        if column.is_number:
            features.append(Feature(column.name, place))
            continue
        named = name_levels(column, tables)
        if not named.any():
            continue
        rows = column.after.count() @ (
            column.after.content * column.after.exact[:, np.newaxis]
        )
        first = int(np.where(named, rows, -1.0).argmax())
        against = None if is_full else column.levels[first]
        for level in np.flatnonzero(named).tolist():
            if is_full or level != first:
                name = f"{column.name} {column.levels[level]}"
                alone = np.arange(named.size) == level
                features.append(Feature(name, place, alone, against))
        if (column.before.count() @ column.before.content)[~named].any():
            name = f"{column.name} {OTHERS}"
            features.append(Feature(name, place, ~named, against))
    if len(features) > MOST_FEATURES:
        raise SpecError(
            f"the predictors have {len(features)} values; at most {MOST_FEATURES}",
            hint="predict by columns with fewer values",
        )
    return features


def lay_out(features: Sequence[Feature], by: Sequence[Cells], outcome: Cells) -> Side:
    """Return one table's distinct rows; numbers and levels that are blank are NaN."""
    codes, counts = collapse([*by, outcome])
    read = [one.read(by[one.column], codes[one.column]) for one in features]
    known = np.ones(counts.size)
    for cells, code in zip(by, codes, strict=False):
        if cells.content.ndim == 2:
            known *= cells.content.sum(axis=1)[code]
        else:
            known *= ~np.isnan(cells.content[code])
    matrix = np.stack(read, axis=1) if read else np.zeros((counts.size, 0))
    return Side(matrix, codes[-1], counts, known, codes)
