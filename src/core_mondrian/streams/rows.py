"""Rows of a batch, as they are released."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.files.csv_text import empty_as_missing
from core_mondrian.files.kinds import is_text
from core_mondrian.measure.concerns import seen_columns
from core_mondrian.measure.sights import Sight, look_at
from core_mondrian.plan import DIVIDED, SUPPRESSED, Plan
from core_mondrian.pseudonyms import pseudonymize
from core_mondrian.spec import Spec
from core_mondrian.streams.dealing import Deal
from core_mondrian.streams.lookup import TupleIndex
from core_mondrian.streams.source import Source
from core_mondrian.tables.cell_keys import cell_keys, combine_keys
from core_mondrian.tables.cleaning import take_arrow

BAD: Final = -3
"""In place of a leaf: the rows of this tuple are left out, as if unreadable."""


@dataclass(frozen=True)
class Released:
    """What becomes of a batch."""

    n_rows: int
    table: pa.Table
    suppressed: pa.Table | None
    n_suppressed: int
    n_bad: int
    units: NDArray[np.int32] | None
    """The number of each released row's person, if that column is removed."""
    sight: Sight
    """Rows that are looked at for what they give away."""


@dataclass(frozen=True)
class Recoder:
    """Looks rows up and says what they show."""

    source: Source
    spec: Spec
    plan: Plan
    leaf: NDArray[np.int32]
    """By tuple, as the plan says, or `BAD`."""
    columns: tuple[str, ...]
    """The counted ones."""
    index: TupleIndex
    typed: Mapping[str, pa.Array]
    """CSV: what each code of a quasi-identifier means; the first one is missing."""
    deal: Deal
    looked_at: NDArray[np.bool_]
    """By leaf, and of suppressed rows: whether they are looked at."""
    persons: NDArray[np.int32] | None = None
    """The person that each code of the unit stands for; 0: nobody."""

    def keys(self, table: pa.Table) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Return tuple and content of the rows of divided tuples."""
        tuples, _ = self._tuples(table)
        rows = np.flatnonzero(self.leaf[tuples] == DIVIDED)
        at = pa.array(rows)
        others = self.spec.carried(self.source.schema.names)
        cells = (
            cell_keys(take_arrow(self._as_read(table, name), at)) for name in others
        )
        return tuples[rows], combine_keys(cells, rows.size)

    def release(self, number: int, table: pa.Table) -> Released:
        """Return the rows of the ``number``-th batch as they are released."""
        tuples, codes = self._tuples(table)
        leaf = self.leaf[tuples]
        if self.deal.is_needed:
            rows = np.flatnonzero(self.leaf[tuples] == DIVIDED)
            leaf[rows] = self.deal.leaves(number, tuples[rows])
        is_bad = leaf == BAD
        is_gone = (leaf < 0) & ~is_bad
        keep = ~is_bad & ~is_gone if self.spec.leaves_out else ~is_bad
        apart = None
        if self.spec.suppressed == "apart":
            apart = self._original(table, codes, np.flatnonzero(is_gone))
        units = None
        if self.spec.unit is not None and self.spec.is_unit_removed:
            units = codes[self.columns.index(self.spec.unit)][keep]
            units = units if self.persons is None else self.persons[units]
        return Released(
            len(table),
            self._table(table, leaf, np.flatnonzero(keep)),
            apart,
            int(np.count_nonzero(is_gone)),
            int(np.count_nonzero(is_bad)),
            units,
            self._see(table, tuples, codes, leaf),
        )

    def _see(
        self,
        table: pa.Table,
        tuples: NDArray[np.int32],
        codes: Sequence[NDArray[np.int32]],
        leaf: NDArray[np.int32],
    ) -> Sight:
        rows = np.flatnonzero(self.looked_at[np.maximum(leaf, SUPPRESSED)])
        rows = rows[leaf[rows] != BAD]
        names = seen_columns(self.spec, self.source.schema.names)
        columns = {
            name: self._original_cells(table, codes, name, rows) for name in names
        }
        owners = self.plan.tuple_of[tuples[rows]]
        return look_at(columns, self.plan.pieces_of(owners, leaf[rows]))

    def _tuples(
        self, table: pa.Table
    ) -> tuple[NDArray[np.int32], list[NDArray[np.int32]]]:
        codes = [
            self.index.codes(place, table.column(name))
            for place, name in enumerate(self.columns)
        ]
        return self.index.find(codes, table.num_rows), codes

    def _as_read(self, table: pa.Table, name: str) -> Any:  # noqa: ANN401
        """Return a column as `read_table` would."""
        column = table.column(name)
        if self.source.kind == "parquet" or name in self.typed:
            return column
        if pa.types.is_dictionary(column.type):
            column = column.cast(pa.string())
        return empty_as_missing(column)

    def _table(
        self, table: pa.Table, leaf: NDArray[np.int32], rows: NDArray[np.int64]
    ) -> pa.Table:
        chosen = leaf[rows]
        blank = self.plan.grown.tree.n_classes
        shown_at = pa.array(np.where(chosen < 0, blank, chosen))
        places = pa.array(rows)
        cleared = places
        if (chosen < 0).any():
            cleared = pa.array(rows, mask=chosen < 0)
        arrays, fields = [], []
        for name, how, _ in self.plan.places(self.source.schema.names):
            if how == "shown":
                array = self.plan.shown.column(name).take(shown_at)
                fields.append(pa.field(name, array.type))
            elif how == "pseudonym":
                array = take_arrow(self._hidden(table, name), cleared)
                fields.append(pa.field(name, array.type))
            else:
                array = take_arrow(self._as_read(table, name), cleared)
                blanked = not self.spec.leaves_out
                fields.append(self._field(name, array, blanked=blanked))
            arrays.append(array)
        return pa.table(arrays, schema=pa.schema(fields))

    def _field(self, name: str, array: Any, *, blanked: bool) -> Any:  # noqa: ANN401
        field = self.source.schema.field(name).with_type(array.type)
        return field.with_nullable(True) if blanked else field  # noqa: FBT003

    def _hidden(self, table: pa.Table, name: str) -> Any:  # noqa: ANN401
        key = self.spec.domain_key(name, self.plan.key)
        hidden = pseudonymize(self._as_read(table, name), name, key)
        return pa.chunked_array([hidden])

    def _original(
        self,
        table: pa.Table,
        codes: Sequence[NDArray[np.int32]],
        rows: NDArray[np.int64],
    ) -> pa.Table:
        """Return rows as they came in."""
        arrays, fields = [], []
        for name in self.source.schema.names:
            array = self._original_cells(table, codes, name, rows)
            arrays.append(array)
            fields.append(self._field(name, array, blanked=False))
        return pa.table(arrays, schema=pa.schema(fields))

    def _original_cells(
        self,
        table: pa.Table,
        codes: Sequence[NDArray[np.int32]],
        name: str,
        rows: NDArray[np.int64],
    ) -> Any:  # noqa: ANN401
        if name in self.typed:
            own = codes[self.columns.index(name)][rows]
            return pa.chunked_array([self.typed[name].take(pa.array(own))])
        return take_arrow(self._as_read(table, name), pa.array(rows))


def decoded(table: pa.Table) -> pa.Table:
    """Return a table of plain values, text of one type: batches may differ in that."""
    columns = []
    for column in table.columns:
        kind = column.type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        columns.append(column.cast(pa.string() if is_text(kind) else kind))
    return pa.table(columns, names=table.column_names)
