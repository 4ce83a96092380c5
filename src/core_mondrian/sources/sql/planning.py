"""What becomes of counted tuples: decided in memory, or part by part on disk."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.engine.grow_parts import check_parts
from core_mondrian.errors import InternalError
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.disk_planner import DiskPlanner, tuple_places
from core_mondrian.sources.mapped_files import give_back
from core_mondrian.sources.memory import Limit
from core_mondrian.sources.remote_plan import make_plan
from core_mondrian.sources.row_coder import Codes, TupleIndex, ValueCoder, number_values
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.sql.value_table import ValueTable
from core_mondrian.sources.tuple_counts import TupleCounts
from core_mondrian.sources.tuple_store import LocalStore
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

Integers = NDArray[np.int64]
_AT_ONCE: Final = 1 << 18
"""Tuples that are looked up at a time."""


class Planned(NamedTuple):
    """A plan, and which of its tuples the counted ones are."""

    plan: RowPlan
    numbers: Callable[[], Iterator[tuple[Integers, Codes]]]
    """Yields ids of counted tuples, and their numbers in the plan."""
    types: pa.Schema
    """Of the counted columns."""

    def leaves(self) -> Iterator[pa.Table]:
        """Yield the tuple and the leaf of counted tuples, some at a time."""
        for ids, numbers in self.numbers():
            owners, leaf = self.plan.owners(numbers), self.plan.leaf[numbers]
            yield pa.table({"id": ids, "tuple": owners, "leaf": leaf})


@dataclass(frozen=True)
class Planner:
    """What a plan is made with."""

    spec: Spec
    key: Key
    limit: Limit
    stages: Stages
    threads: int
    folder: Path
    """Ours alone, for tuples that do not fit into memory."""
    by: tuple[str, ...] = ()
    needs_all: tuple[str, ...] = ()
    """What is asked that takes all tuples in memory."""

    def plan(self, counted: ValueTable) -> Planned:
        """Decide what becomes of counted tuples.

        Raises:
            SpecError: the spec does not fit them, or needs all of them in memory.
            InfeasibleError: no release satisfies the models within the budget.
        """
        policy = self.spec.policy.base
        most = self.limit.tuples_in_memory(len(counted.columns), policy)
        if counted.n_rows <= most:
            return self._plan_in_memory(counted)
        return self._plan_on_disk(counted)

    def _plan_in_memory(self, counted: ValueTable) -> Planned:
        every = range(len(counted.columns))
        tables = [_coded(x) for x in counted.read(every, ["n"], "ORDER BY id")]
        whole = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
        rows = whole.column(len(every)).to_numpy()
        values = whole.select(every)
        plan = make_plan(
            TupleCounts(values, rows),
            self.spec,
            self.key,
            by=self.by,
            threads=self.threads,
            stages=self.stages,
        )

        def numbers() -> Iterator[tuple[Integers, Codes]]:
            for start in range(0, max(rows.size, 1), _AT_ONCE):
                ids = np.arange(start, min(start + _AT_ONCE, rows.size))
                yield ids, ids.astype(np.int32)

        return Planned(plan, numbers, values.schema)

    def _plan_on_disk(self, counted: ValueTable) -> Planned:
        check_parts(self.spec, self.needs_all)
        tuples = TupleFile(counted, self.spec, self.folder / "counted")
        limits = self.limit.store(
            len(counted.columns), self.spec.policy.base, self.threads
        )
        folder = self.folder / "store"
        folder.mkdir(mode=0o700)
        with closing(LocalStore(folder, limits, self.stages)) as store:
            planner = DiskPlanner(store, self.spec, self.key, self.limit, self.stages)
            plan, index = planner.plan(
                *tuples.values(), tuples.chunks(), counted.n_rows
            )
        give_back()
        return Planned(plan, lambda: tuples.numbers(index), tuples.schema)


def _coded(table: pa.Table) -> pa.Table:
    """Return tuples with their texts as codes: they repeat."""
    columns = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


class TupleFile:
    """Counted tuples as codes of their values, in a file.

    It is written while they are read for the first time, and read where they are
    looked up: a database does one thing at a time.
    """

    def __init__(self, counted: ValueTable, spec: Spec, path: Path) -> None:
        self._counted, self._path = counted, path
        names = [column.name for column in counted.columns]
        self._places = tuple_places(names, spec)
        found = [self._values(place) for place in range(len(names))]
        self.schema = pa.schema(
            [(name, one.kind) for name, one in zip(names, found, strict=True)]
        )
        self._meanings = {x: one.meaning for x, one in zip(names, found, strict=True)}
        self._rows = {x: one.rows for x, one in zip(names, found, strict=True)}
        self._coder = ValueCoder(names, [one.values for one in found])

    def _values(self, place: int) -> "_Values":
        """Read the distinct values of a column, and how many rows have each."""
        grouped = f"GROUP BY c{place}"
        found = pa.concat_tables(
            self._counted.read([place], ["CAST(sum(n) AS BIGINT)"], grouped)
        )
        codes, values = number_values(found.column(0))
        n = found.column(1).to_numpy()
        rows = np.bincount(codes, n, len(values) + 1).astype(np.int64)
        kind = found.column(0).type
        return _Values(kind, values, rows)

    def values(self) -> tuple[dict[str, pa.Array], dict[str, Integers]]:
        """Return what the codes of each column mean, and the rows of each."""
        return self._meanings, self._rows

    def chunks(self) -> Iterator[tuple[list[Codes], Integers]]:
        """Yield the tuples column by column, with their rows."""
        every = range(len(self._coder.columns))
        with self._path.open("xb") as file:
            for some in self._counted.read(every, ["id", "n"]):
                codes = [
                    self._coder.codes(self._coder.columns[i], some.column(i))
                    for i in self._places
                ]
                ids, rows = (some.column(len(every) + i).to_numpy() for i in range(2))
                record = np.stack([*codes, ids.astype(np.int32)], axis=1)
                record.astype(np.int32).tofile(file)
                yield codes, rows

    def numbers(self, index: TupleIndex) -> Iterator[tuple[Integers, Codes]]:
        """Yield ids of tuples, and their numbers in a plan."""
        width = len(self._places) + 1
        with self._path.open("rb") as file:
            while (read := np.fromfile(file, np.int32, _AT_ONCE * width)).size:
                record = read.reshape(-1, width)
                found = index.find(list(record[:, :-1].T))
                if (found < 0).any():
                    raise InternalError("counted tuples are not in the plan")
                yield record[:, -1].astype(np.int64), found


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
