"""The plan inside the database: what becomes of every tuple, and what rows show."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from core_mondrian.recoding.plan import SUPPRESSED, Place
from core_mondrian.sources.counted_release import whole_groups
from core_mondrian.sources.memory import Limit, rows_at_once
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.sql.base import Cell, Column, Database
from core_mondrian.sources.sql.names import Name, quoted
from core_mondrian.sources.sql.planning import TuplePlaces
from core_mondrian.sources.sql.recoding import Places, SplitRows
from core_mondrian.sources.sql.value_table import (
    Relation,
    ValueTable,
    count_cells,
    exact_cells,
)
from core_mondrian.tables.cell_keys import cell_keys, combine_keys
from core_mondrian.tables.pseudonyms import pseudonymize

_AT_ONCE: Final = 1 << 17
"""Classes whose labels are uploaded at a time."""


def upload(database: Database, name: str, tables: Iterable[pa.Table]) -> Name:
    """Upload tables whose first column they will be joined on."""
    first: list[str] = []

    def noted() -> Iterator[pa.Table]:
        for table in tables:
            first[:] = table.column_names[:1]
            yield table

    database.upload(name, noted())
    uploaded = database.temporary(name)
    database.index(uploaded, first)
    return uploaded


@dataclass(frozen=True)
class MapMaker:
    """Uploads a plan; ``name_of`` says what its tables are called."""

    database: Database
    source: Relation
    planned: TuplePlaces
    name_of: Callable[[str], Name]
    folder: Path
    limit: Limit

    @property
    def _plan(self) -> RowPlan:
        return self.planned.plan

    def make(self, counted: ValueTable) -> Places:
        """Make the tables that say what becomes of every row."""
        database = self.database
        leaves = upload(database, "leaves", self.planned.leaves())
        tuples, classes = self.name_of("tuples"), self.name_of("classes")
        database.run(
            f"CREATE {tuples.new_table} AS SELECT a.*, b.tuple, b.leaf "
            f"FROM {counted.name.sql} AS a JOIN {leaves.sql} AS b ON b.id = a.id"
        )
        database.index(tuples, counted.cells, matched=True)
        if not tuples.is_temporary:
            database.index(tuples, ["id"])  # for whoever reads the view
        shown = upload(database, "shown", self._classes())
        self._keep(shown, classes)
        database.index(classes, ["leaf"])
        names = tuple(column.name for column in counted.columns)
        places = Places(database, self.source, names, tuples, classes)
        return self._divide(places) if self._plan.shares.n_rows else places

    def _classes(self) -> Iterator[pa.Table]:
        """Say what leaves show, in columns w0, w1, …; suppressed rows, if any, too."""
        n, first = self._plan.n_leaves, 0
        if not self._plan.spec.leaves_out:
            first = SUPPRESSED
        for start in range(first, max(n, first + 1), _AT_ONCE):
            leaf = np.arange(start, min(start + _AT_ONCE, n), dtype=np.int32)
            shown = self._plan.show(leaf)
            cells = {f"w{i}": self._as_sql(x) for i, x in enumerate(shown.columns)}
            yield pa.table({"leaf": leaf, **cells})

    def _as_sql(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        return self.database.as_sql(cells)

    def _keep(self, uploaded: Name, name: Name) -> None:
        """Copy an uploaded table, which is temporary, under the name asked for."""
        sql = f"CREATE {name.new_table} AS SELECT * FROM {uploaded.sql}"
        self.database.run(sql)

    def _divide(self, places: Places) -> Places:
        """Say which rows of split tuples go where."""
        others = tuple(self._plan.spec.carried(self.source.names))
        contents, lots = self.name_of("contents"), self.name_of("lots")
        cells = places.contents(others)
        counted = count_cells(
            self.database, contents, cells, places.split_rows(), ["p.tuple"]
        )
        names = ["tuple", *counted.cells]
        self.database.index(contents, names, matched=True)
        if not contents.is_temporary:
            self.database.index(contents, ["id"])
        drawn = self._spool("lots", self._lots(counted))
        self._keep(upload(self.database, "drawn", drawn), lots)
        self.database.index(lots, ["content"])
        return replace(places, split=SplitRows(others, contents, lots))

    def _lots(self, counted: ValueTable) -> Iterator[pa.Table]:
        """Draw lots for all rows of some tuples at a time."""
        numbers = ["id", "tuple", "n"]
        every = range(len(counted.columns))
        tables = counted.read(every, numbers, "ORDER BY id", as_they_come=True)
        first = len(every)
        for some in whole_groups(
            tables,
            lambda table: table.column(first + 1).to_numpy(),
            lambda table: int(table.column(first + 2).to_numpy().sum()),
            rows_at_once(self._plan.shares, self.limit.free // 3),
        ):
            yield _draw_lots(
                self._plan,
                some.select(every),
                *(some.column(first + i).to_numpy() for i in range(3)),
            )

    def _spool(self, name: str, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Take all tables before the first is given back: meanwhile they are in a file.

        A database does not hand over one table and take another at a time.
        """
        path = self.folder / name
        tables = iter(tables)
        table = next(tables)
        with (
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as file,
        ):
            file.write_table(table)
            for table in tables:
                file.write_table(table)
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            if not reader.num_record_batches:
                yield reader.schema.empty_table()
            for i in range(reader.num_record_batches):
                yield pa.Table.from_batches([reader.get_batch(i)])
        path.unlink()

    def join_pseudonyms(self) -> str:
        """Make tables of pseudonyms, and return what joins them: h0, h1 and so on."""
        names = enumerate(self._plan.spec.pseudonyms)
        return " ".join(self._join_pseudonyms(i, name) for i, name in names)

    def _join_pseudonyms(self, i: int, name: str) -> str:
        database = self.database
        [cell] = exact_cells(database, self.source, [name])
        known = database.temporary(f"known_{i}")
        values = count_cells(database, known, [cell], self.source.rows)
        hidden = self._spool(f"hidden_{i}", self._hide(values, name))
        more = upload(database, f"hidden_{i}", hidden)
        table = database.temporary(f"names_{i}")
        database.run(
            f"CREATE {table.new_table} AS SELECT a.c0, b.hidden "
            f"FROM {known.sql} AS a JOIN {more.sql} AS b ON b.id = a.id"
        )
        database.index(table, ["c0"])
        return f"LEFT JOIN {table.sql} AS h{i} ON h{i}.c0 = {cell.sql}"

    def _hide(self, values: ValueTable, name: str) -> Iterator[pa.Table]:
        key = self._plan.spec.domain_key(name, self._plan.key)
        for some in values.read([0], ["id"]):
            hidden = pseudonymize(some.column(0), name, key)
            yield pa.table({"id": some.column(1), "hidden": hidden})


def _draw_lots(
    plan: RowPlan,
    values: pa.Table,
    ids: np.ndarray,
    tuples: np.ndarray,
    rows: np.ndarray,
) -> pa.Table:
    """Say how many rows of each content go to which leaf, as in memory.

    Rows of one content are equal, and numbered from 1 on by the database: which of
    them is which makes no difference.

        content  leaf  low  high
           0       3    0     2        rows 1 and 2 of content 0 go to leaf 3,
           0       8    2     3        row 3 to leaf 8
    """
    hashed = combine_keys((cell_keys(x) for x in values.columns), rows.size)
    content = np.repeat(np.arange(rows.size), rows)
    owners = tuples.astype(np.int32)
    place = plan.shares.allocate(owners[content], hashed[content], plan.allocation_key)
    width = plan.n_leaves + 1  # leaves, and SUPPRESSED before them
    pairs = content * width + plan.shares.leaf[place] - SUPPRESSED
    pairs, n = np.unique(pairs, return_counts=True)
    of, leaf = pairs // width, pairs % width + SUPPRESSED
    high = np.cumsum(n)
    is_first = np.diff(of, prepend=-1) > 0
    before = np.maximum.accumulate(np.where(is_first, high - n, 0))
    return pa.table(
        {
            "content": ids[of],
            "tuple": owners[of],
            "leaf": leaf.astype(np.int32),
            "low": high - n - before,
            "high": high - before,
        }
    )


def outputs_of(
    database: Database, source: Relation, planned: TuplePlaces
) -> list[Cell]:
    """Return the columns of the release, in order."""
    places, shown = planned.plan.places(source.names), planned.plan.shown_schema
    return [
        _shown(database, source, planned, place, shown)
        if place.how == "shown"
        else _carried(database, source, planned.plan, place)
        for place in places
    ]


def _carried(database: Database, source: Relation, plan: RowPlan, place: Place) -> Cell:
    name, spec = place.name, plan.spec
    cell, column = source.cell(name), source.column(name)
    if place.how == "pseudonym":
        cell = f"h{spec.pseudonyms.index(name)}.hidden"
        column = Column(name, database.kind_of(pa.string()))
    if not spec.leaves_out and plan.n_suppressed:
        # Fewer than k rows are suppressed: what they show would be somebody's.
        cell = f"CASE WHEN p.leaf = {SUPPRESSED} THEN NULL ELSE {cell} END"
    return Cell(column, cell)


def _shown(
    database: Database,
    source: Relation,
    planned: TuplePlaces,
    place: Place,
    shown: pa.Schema,
) -> Cell:
    cell = f"w.w{shown.names.index(place.name)}"
    kind = shown.field(place.name).type
    own = (
        None if place.source is None else planned.tuples.schema.field(place.source).type
    )
    if place.source is None or kind != own or _is_text(kind):
        return Cell(Column(place.name, database.kind_of(kind)), cell)
    column = source.column(place.source)
    return Cell(Column(place.name, column.kind), database.cast(cell, column))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind))


def cells_of(outputs: Sequence[Cell]) -> list[str]:
    """Return what a query selects to make columns."""
    return [f"{item.sql} AS {quoted(item.column.name)}" for item in outputs]
