"""Columns of new rows as codes, next to the values that a fit named."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.columns import Ranked, encode_ranked, rank_column
from core_mondrian.encoding.trees import texts_of
from core_mondrian.errors import DataError
from core_mondrian.hierarchies.base import Builder
from core_mondrian.hierarchies.load import tree_over
from core_mondrian.hierarchies.tree import Hierarchy
from core_mondrian.hierarchies.uncovered import Uncovered
from core_mondrian.tables.encoded import EncodedColumn, SensitiveColumn

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FittedColumn:
    """A quasi-identifier as a fit knows it; its fitted codes are places in ``values``.

    Numbers: the values that cuts and boxes name, in the order they were first named.
    Categories: the labels of the leaves, by leaf number.
    """

    name: str
    values: pa.Array
    hierarchy: Hierarchy | None
    """Categories: the tree. Numbers: None."""
    builder: Builder | None = None
    """What places values that the tree lacks; None: they hang under its root, if they
    may."""

    def encode(self, array: pa.ChunkedArray, uncovered: Uncovered) -> "NextColumn":
        """Code new values and the fitted ones together.

        Raises:
            DataError: a value does not fit the type of the fit, or the hierarchy
                lacks it and ``uncovered`` is an error.
        """
        if self.hierarchy is not None:
            return self._encode_labels(array, self.hierarchy, uncovered)
        n_rows = len(array)
        new = cast_column(array, self.values.type, self.name)
        both = pa.chunked_array([*new.chunks, self.values], self.values.type)
        ranked = rank_column(both, self.name)
        coded = encode_ranked(ranked, self.name, None, uncovered)
        fitted = np.append(coded.codes[n_rows:], np.int32(coded.column.missing))
        return NextColumn(coded.codes[:n_rows], coded.column, coded.values, fitted)

    def _encode_labels(
        self, array: pa.ChunkedArray, tree: Hierarchy, uncovered: Uncovered
    ) -> "NextColumn":
        ranked = rank_column(array, self.name)
        grown, fitted = self._with_new(tree, ranked, uncovered)
        coded = encode_ranked(ranked, self.name, grown, uncovered)
        fitted = np.append(fitted, np.int32(coded.column.missing))
        n_blanked = 0 if coded.is_blanked is None else int(coded.is_blanked.sum())
        return NextColumn(coded.codes, coded.column, coded.values, fitted, n_blanked)

    def _with_new(
        self, tree: Hierarchy, ranked: Ranked, uncovered: Uncovered
    ) -> tuple[Hierarchy, Codes]:
        """Return the tree with new values, and the leaf that each fitted one is."""
        known = np.arange(tree.n_leaves, dtype=np.int32)
        if self.builder is None:
            return tree, known  # leaves that are added come last
        texts = dict.fromkeys((*tree.leaves, *texts_of(ranked)))
        if len(texts) == tree.n_leaves:
            return tree, known
        built = tree_over(self.builder, [*texts], uncovered)
        places = {text: place for place, text in enumerate(built.leaves)}
        fitted = np.array([places.get(text, -1) for text in tree.leaves], np.int32)
        if (np.diff(fitted, prepend=-1) <= 0).any():  # its order is of these values
            return tree, known
        return built, fitted


class NextColumn(NamedTuple):
    """A quasi-identifier of new rows, coded together with the values of the fit."""

    codes: Codes
    column: EncodedColumn
    values: pa.Array
    """What each code stands for."""
    fitted: Codes
    """The code of each fitted code; the last is that of missing."""
    n_blanked: int = 0
    """Cells that count as missing because the hierarchy does not cover them."""


@dataclass(frozen=True, slots=True)
class FittedValues:
    """The values of a sensitive column in the table of the fit, and how many rows."""

    name: str
    labels: pa.Array
    rows: Counts
    """By value; the last is the missing one."""

    def encode(self, array: pa.ChunkedArray) -> "NextValues":
        """Code new values and those of the fit together.

        Raises:
            DataError: the column is of another type than in the fit.
        """
        n_rows = len(array)
        new = cast_column(array, self.labels.type, self.name)
        ranked = rank_column(
            pa.chunked_array([*new.chunks, self.labels], self.labels.type), self.name
        )
        n_values = len(ranked.values) + 1
        fitted = np.append(ranked.codes[n_rows:], np.int32(n_values - 1))
        known = np.zeros(n_values, dtype=np.int64)
        known[fitted] = self.rows
        labels = tuple(ranked.values.to_pylist())
        column = SensitiveColumn(self.name, n_values, labels)
        return NextValues(ranked.codes[:n_rows], column, ranked.values, known, fitted)


class NextValues(NamedTuple):
    """A sensitive column of new rows, coded together with the values of the fit."""

    codes: Codes
    column: SensitiveColumn
    values: pa.Array
    known: Counts
    """Rows of the fit by code, the missing one last; 0: the fit lacks the value."""
    fitted: Codes
    """The code of each value of the fit; the last is that of missing."""


def cast_column(
    array: pa.ChunkedArray, kind: pa.DataType, name: str
) -> pa.ChunkedArray:
    """Return a column in the type that was fitted; NaN is missing.

    Raises:
        DataError: some of its values do not fit.
    """
    if array.type == kind:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type) and not pa.types.is_floating(kind):
        array = pc.if_else(pc.is_nan(array), None, array)
    try:
        return array.cast(kind)
    except pa.ArrowException:
        raise DataError(
            f"column {name!r} was {kind} when the recoding was fitted, and values of "
            f"these rows, which are {array.type}, do not fit into that",
            hint="convert the column, or fit anew",
        ) from None


def with_leaves(column: FittedColumn, after: NextColumn) -> FittedColumn:
    """Return the column with the leaves that new rows have added to its tree."""
    if column.hierarchy is None:
        return column
    return replace(column, values=after.values, hierarchy=after.column.hierarchy)


def lowest_over(tree: Hierarchy, low: Codes, high: Codes) -> NDArray[np.intp]:
    """Return the lowest node over each range of leaves, climbing from the first one."""
    nodes = tree.leaf_nodes[low]
    while (is_below := tree.high[nodes] < high).any():
        nodes[is_below] = tree.parents[nodes[is_below]]
    return nodes
