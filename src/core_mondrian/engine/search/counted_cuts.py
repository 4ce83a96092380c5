"""The best cut of a partition whose records are elsewhere, by its counts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core_mondrian.engine.layout import FOUND, RANGE, Codes, Fields, fields
from core_mondrian.engine.marginals import Moments, Pairs
from core_mondrian.engine.search.best_search import choose_scored
from core_mondrian.engine.search.blocks import weight_of_impurity
from core_mondrian.engine.search.exact_cuts import (
    add_losses,
    forget_counts,
    has_second_order,
    keep_best,
    list_candidates,
    note_gain,
    open_column,
    open_partition,
)
from core_mondrian.engine.search.workspace import RecordBuffers, SearchWorkspace

if TYPE_CHECKING:
    from core_mondrian.engine.search.best import BestSearch


class CountedColumn(NamedTuple):
    """What the rows with each code of a column hold of the other columns."""

    moments: Moments
    """Of the numbers."""
    pairs: Mapping[int, Pairs]
    """Of the categories, by column."""


class CountedCuts:
    """The cuts of one partition, looked for column by column.

    Between two columns other partitions may use the same workspace.
    """

    def __init__(self, search: "BestSearch", records: Codes) -> None:
        """Begin with records that stand in for the partition's own."""
        self._search = search
        self._records = records
        self._found = fields(search.objective.info.size + 1, FOUND)

    @property
    def _workspace(self) -> SearchWorkspace:
        return self._search.workspaces[0]

    def score(self, column: int, counted: CountedColumn) -> None:
        """Look for the best cut of one column."""
        buffers, whole = self._open()
        if column in self._workspace.active_columns():
            open_column(buffers, self._workspace, column)
            self._score(buffers, column, counted, by_rows=False)
            if has_second_order(self._workspace, column):
                self._score(buffers, column, counted, by_rows=True)
            note_gain(self._workspace, column, whole)
        self._found[column] = self._workspace.found_array[column]
        self._close(buffers)

    def choose(self) -> tuple[int, Fields]:
        """Return the column whose best cut is best, or -1, and that cut."""
        buffers, _ = self._open()
        self._workspace.found_array[:] = self._found
        best = int(choose_scored(self._workspace))
        self._close(buffers)
        return best, self._found[best]

    def _open(self) -> tuple[RecordBuffers, float]:
        """Look at the partition; return what it loses as a class."""
        buffers = RecordBuffers(self._records)
        n, workspace = len(self._records), self._workspace
        rows = int(self._records[:, -2].sum(dtype=np.int64))
        weight = weight_of_impurity(workspace, rows, self._search.search.beta)
        return buffers, open_partition(buffers, workspace, 0, n, rows, weight)

    def _close(self, buffers: RecordBuffers) -> None:
        forget_counts(buffers, self._workspace, 0, len(self._records))

    def _score(
        self,
        buffers: RecordBuffers,
        column: int,
        counted: CountedColumn,
        *,
        by_rows: bool,
    ) -> None:
        workspace = self._workspace
        list_candidates(buffers, workspace, column, by_rows)
        groups = workspace.group_array[: workspace.n_groups]
        numbers = np.flatnonzero(self._search.objective.info["kind"] == RANGE).tolist()
        for other in workspace.active_columns():
            if other in numbers:
                place = numbers.index(other)
                _describe_number(workspace, groups, counted.moments, place)
            elif other == column:
                buffers.take_pairs(*_own_codes(groups))
            else:
                buffers.take_pairs(*_describe_category(groups, counted.pairs[other]))
            add_losses(buffers, workspace, other)
        keep_best(buffers, workspace, column, by_rows)


def _describe_number(
    workspace: SearchWorkspace, groups: Fields, moments: Moments, number: int
) -> None:
    """Say what each group holds of a number: its box, and the sums of its levels."""
    place, n = np.searchsorted(moments.code, groups["code"]), groups.size
    groups["low"] = moments.low[place, number]
    groups["high"] = moments.high[place, number]
    workspace.level_array[:n] = moments.levels[place, number]
    workspace.square_array[:n] = moments.squares[place, number]


def _own_codes(groups: Fields) -> tuple[Codes, Codes]:
    """Say that each group holds its own code; return the pairs."""
    groups["begin"] = np.arange(groups.size)
    groups["end"] = groups["begin"] + 1
    groups["low"] = groups["high"] = groups["code"]
    return groups["code"].copy(), groups["rows"].astype(np.int32)


def _describe_category(groups: Fields, pairs: Pairs) -> tuple[Codes, Codes]:
    """Say which codes of a category each group holds; return the pairs."""
    begin = np.searchsorted(pairs.first, groups["code"])
    end = np.searchsorted(pairs.first, groups["code"], side="right")
    groups["begin"], groups["end"] = begin, end
    groups["low"], groups["high"] = pairs.second[begin], pairs.second[end - 1]
    return pairs.second.copy(), pairs.rows.astype(np.int32)


def left_codes(records: Codes, column: int, found: Fields) -> NDArray[np.bool_]:
    """Return of each code of a column, as far as there are any, if it is on the left.

    ``records`` stand in for the partition's, and ``found`` is the cut of the column.
    """
    rows = np.bincount(records[:, column], records[:, -2])
    codes = np.flatnonzero(rows)
    if found["by_rows"]:
        codes = codes[np.lexsort((codes, -rows[codes]))]
    is_left = np.zeros(rows.size, dtype=np.bool_)
    is_left[codes[int(found["first"]) : int(found["last"])]] = True
    return is_left
