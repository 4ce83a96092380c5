"""Counted tuples of a database as codes, and what becomes of each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from core_mondrian.errors import InternalError
from core_mondrian.sources.planner import Planned, Planner
from core_mondrian.sources.row_coder import ValueCoder, number_values
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.sql.value_table import ValueTable
from core_mondrian.sources.tuple_counts import Codes, Integers

_AT_ONCE: Final = 1 << 18
"""Tuples that are looked up at a time."""


class _Values(NamedTuple):
    """The distinct values of a column."""

    kind: Any
    """Their Arrow type."""
    values: pa.Array
    rows: Integers
    """Of missing cells, and of each value."""

    @property
    def meaning(self) -> pa.Array:
        """What code 0, missing, and codes 1, … mean."""
        own = self.values.cast(self.kind)
        return pa.concat_arrays([pa.nulls(1, own.type), own])


@dataclass(frozen=True)
class TupleFile:
    """Counted tuples as codes of their values; see `CodedTuples`.

    They are kept while they are read for the first time, and read again where they are
    looked up: a database does one thing at a time.
    """

    counted: ValueTable
    path: Path | None
    """The file that they are kept in; None: in memory."""
    kept: list[Codes] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self.counted.columns]

    @property
    def n_counted(self) -> int:
        return self.counted.n_rows

    @cached_property
    def _found(self) -> dict[str, _Values]:
        return {name: self._values(i) for i, name in enumerate(self.columns)}

    def _values(self, place: int) -> _Values:
        """Read the distinct values of a column, and how many rows have each."""
        grouped = f"GROUP BY c{place}"
        found = pa.concat_tables(
            self.counted.read([place], ["CAST(sum(n) AS BIGINT)"], grouped)
        )
        codes, values = number_values(found.column(0))
        n = found.column(1).to_numpy()
        rows = np.bincount(codes, n, len(values) + 1).astype(np.int64)
        return _Values(found.column(0).type, values, rows)

    @property
    def schema(self) -> pa.Schema:
        """The columns, and their types."""
        return pa.schema([(name, one.kind) for name, one in self._found.items()])

    @cached_property
    def meanings(self) -> dict[str, pa.Array]:
        return {name: one.meaning for name, one in self._found.items()}

    @property
    def rows(self) -> dict[str, Integers]:
        return {name: one.rows for name, one in self._found.items()}

    def chunks(self) -> Iterator[tuple[Codes, Integers]]:
        n = len(self.columns)
        coder = ValueCoder(self.columns, [x.values for x in self._found.values()])
        for some in self.counted.read(range(n), ["id", "n"]):
            codes = [
                coder.codes(name, some.column(i)) for i, name in enumerate(self.columns)
            ]
            ids, rows = (some.column(n + i).to_numpy() for i in range(2))
            record = np.stack([*codes, ids.astype(np.int32)], axis=1)
            self._keep(record)
            yield record[:, :-1], rows

    def _keep(self, record: Codes) -> None:
        if self.path is None:
            self.kept.append(record)
            return
        with self.path.open("ab") as file:
            record.tofile(file)

    def read(self) -> Iterator[tuple[Integers, Codes]]:
        """Yield ids of tuples and their codes, once all of them were there."""
        for record in self._records():
            yield record[:, -1].astype(np.int64), record[:, :-1]

    def _records(self) -> Iterator[Codes]:
        yield from self.kept
        if self.path is not None:
            width = len(self.columns) + 1
            with self.path.open("rb") as file:
                while (read := np.fromfile(file, np.int32, _AT_ONCE * width)).size:
                    yield read.reshape(-1, width)


class TuplePlaces(NamedTuple):
    """A plan, and which of its tuples the counted ones are."""

    planned: Planned
    tuples: TupleFile

    @classmethod
    def make(cls, planner: Planner, counted: ValueTable) -> "TuplePlaces":
        """Decide what becomes of counted tuples; see `Planner.plan`."""
        tuples = TupleFile(counted, None)
        if not planner.has_room(tuples):
            tuples = TupleFile(counted, planner.folder / "counted")
        return cls(planner.plan(tuples), tuples)

    @property
    def plan(self) -> RowPlan:
        return self.planned.plan

    def leaves(self) -> Iterator[pa.Table]:
        """Yield the tuple and the leaf of counted tuples, some at a time."""
        plan, lookup, places = self.planned
        yield _as_table(np.zeros(0, np.int64), *2 * [np.zeros(0, np.int32)])
        for ids, codes in self.tuples.read():
            numbers = lookup.find([codes[:, place] for place in places])
            if (numbers < 0).any():
                raise InternalError("counted tuples are not in the plan")
            yield _as_table(ids, plan.owners(numbers), plan.leaf[numbers])


def _as_table(ids: Integers, tuples: Codes, leaves: Codes) -> pa.Table:
    return pa.table({"id": ids, "tuple": tuples, "leaf": leaves})
