"""Rows of a batch, as they are released."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.measures.disclosure_warnings import seen_columns
from core_mondrian.measures.row_sample import DistinctRows, distinct_rows
from core_mondrian.recoding.plan import DIVIDED, SUPPRESSED
from core_mondrian.sources.files.source import Source
from core_mondrian.sources.row_coder import BAD, RowCoder
from core_mondrian.sources.row_plan import LookedAtRows, RowPlan
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.cell_keys import cell_keys, combine_keys
from core_mondrian.tables.cleaning import take_arrow
from core_mondrian.tables.files.csv_text import empty_as_missing
from core_mondrian.tables.pseudonyms import pseudonymize

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Released:
    """What becomes of a batch."""

    n_rows: int
    table: pa.Table
    suppressed: pa.Table | None
    n_suppressed: int
    n_bad: int
    units: Codes | None
    """The number of each released row's person, if that column is removed."""
    sight: DistinctRows
    """Rows that are looked at for what they give away."""


@dataclass(frozen=True)
class Recoder:
    """Looks rows up and says what they show."""

    source: Source
    spec: Spec
    plan: RowPlan
    coder: RowCoder
    typed: Mapping[str, pa.Array]
    """CSV: what each number of a quasi-identifier's value means; the first: missing."""
    look: LookedAtRows
    persons: Codes | None = None
    """The person that each number of the unit stands for; 0: nobody."""

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that a row is written from, once its leaf is known."""
        spec, names = self.spec, self.source.schema.names
        if spec.suppressed == "separate":
            return tuple(names)
        unit = [] if spec.unit is None else [spec.unit]
        wanted = {*seen_columns(spec, names), *spec.carried(names), *unit}
        wanted |= {*spec.sensitive, *spec.pseudonyms}
        return tuple(name for name in names if name in wanted)

    def find(self, table: pa.Table) -> tuple[Codes, Codes]:
        """Return the tuple and the leaf of each row; `BAD` rows have neither."""
        numbers = self.coder.find(table)
        is_bad = numbers == BAD
        if not is_bad.any():
            return self.plan.owners(numbers), self.plan.leaf[numbers]
        leaf = np.full(numbers.size, BAD, dtype=np.int32)
        owners = leaf.copy()
        good = ~is_bad
        leaf[good] = self.plan.leaf[numbers[good]]
        owners[good] = self.plan.owners(numbers[good])
        return owners, leaf

    def contents(self, table: pa.Table, leaf: Codes) -> NDArray[np.uint64]:
        """Return the content of the rows of split tuples: a hash of other cells."""
        rows = np.flatnonzero(leaf == DIVIDED)
        at = pa.array(rows)
        others = self.spec.carried(self.source.schema.names)
        cells = (
            cell_keys(take_arrow(self._as_read(table, name), at)) for name in others
        )
        return combine_keys(cells, rows.size)

    def release(self, table: pa.Table, owners: Codes, leaf: Codes) -> Released:
        """Return rows as they are released."""
        is_bad = leaf == BAD
        is_gone = (leaf < 0) & ~is_bad
        keep = ~is_bad & ~is_gone if self.spec.leaves_out else ~is_bad
        apart = None
        if self.spec.suppressed == "separate":
            apart = self._original(table, np.flatnonzero(is_gone))
        units = None
        if self.spec.unit is not None and self.spec.is_unit_removed:
            units = self.coder.codes(self.spec.unit, table.column(self.spec.unit))
            units = units if self.persons is None else self.persons[units]
            units = units[keep]
        return Released(
            leaf.size,  # a table of quasi-identifiers alone is read without columns
            self._table(table, leaf, np.flatnonzero(keep)),
            apart,
            int(np.count_nonzero(is_gone)),
            int(np.count_nonzero(is_bad)),
            units,
            self._see(table, owners, leaf),
        )

    def _see(self, table: pa.Table, owners: Codes, leaf: Codes) -> DistinctRows:
        rows = np.flatnonzero(self.look.leaves[np.maximum(leaf, SUPPRESSED)])
        rows = rows[leaf[rows] != BAD]
        names = seen_columns(self.spec, self.source.schema.names)
        at = pa.array(rows)
        columns = {name: take_arrow(self._as_read(table, name), at) for name in names}
        return distinct_rows(columns, self.look.pieces(owners[rows], leaf[rows]))

    def _as_read(self, table: pa.Table, name: str) -> Any:  # noqa: ANN401
        """Return a column as `read_table` would."""
        column = table.column(name)
        if self.source.kind == "parquet" or name in self.typed:
            return column
        if pa.types.is_dictionary(column.type):
            column = column.cast(pa.string())
        return empty_as_missing(column)

    def _table(self, table: pa.Table, leaf: Codes, rows: NDArray[np.int64]) -> pa.Table:
        chosen = leaf[rows]
        shown = self.plan.show(chosen)
        places = pa.array(rows)
        cleared = places
        if (chosen < 0).any():
            cleared = pa.array(rows, mask=chosen < 0)
        arrays, fields = [], []
        for name, how, _ in self.plan.places(self.source.schema.names):
            if how == "shown":
                array = shown.column(name)
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

    def _original(self, table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
        """Return rows as they came in."""
        arrays, fields, at = [], [], pa.array(rows)
        for name in self.source.schema.names:
            array = take_arrow(self._as_read(table, name), at)
            if name in self.typed:
                own = self.coder.codes(name, array)
                array = pa.chunked_array([self.typed[name].take(pa.array(own))])
            arrays.append(array)
            fields.append(self._field(name, array, blanked=False))
        return pa.table(arrays, schema=pa.schema(fields))


def decoded(table: pa.Table) -> pa.Table:
    """Return a table of plain values, text of one type: batches may differ in that."""
    columns = []
    for column in table.columns:
        kind = column.type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        columns.append(column.cast(pa.string() if is_text(kind) else kind))
    return pa.table(columns, names=table.column_names)
