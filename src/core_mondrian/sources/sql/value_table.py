"""The source in a database, tables of ours that hold its cells, and how to read them.

A table is read as it is; a view or a query as it was when first looked at.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from core_mondrian.errors import DataError
from core_mondrian.sources.sql.base import Cell, Column, Database, Reading
from core_mondrian.sources.sql.names import Name, is_query, parse_name, quoted


@dataclass(frozen=True, slots=True)
class Relation:
    """A table in a database, as SQL spells it, and its columns."""

    sql: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def column(self, name: str) -> Column:
        return self.columns[self.names.index(name)]

    def cell(self, name: str) -> str:
        """Return the cell of a row of `rows`."""
        return f"s.x{self.names.index(name)}"

    @property
    def rows(self) -> str:
        """Its rows, in columns that are called x0, x1, … and nothing else."""
        cells = (f"{quoted(name)} AS x{i}" for i, name in enumerate(self.names))
        return f"(SELECT {', '.join(cells)} FROM {self.sql}) AS s"


def open_relation(database: Database, sql: str) -> Relation:
    """Look up the columns of a table or view."""
    return Relation(sql, database.columns(sql))


def open_source(database: Database, source: str) -> Relation:
    """Return the source as it stands in the database.

    Raises:
        SpecError: it is neither a query nor a name.
        DataError: there is no such table.
    """
    if is_query(source):
        # On lines of its own: it may end in a comment.
        return open_relation(database, f"(\n{source.strip().rstrip(';')}\n) AS q")
    name = parse_name(source, "the source")
    if database.find(name) is None:
        raise DataError(
            f"the database has no table or view {name.sql}",
            hint="names are taken as they are spelled, capital letters as well",
        )
    return open_relation(database, name.sql)


def keep_rows(
    database: Database,
    source: str,
    relation: Relation,
    report: Callable[[float], None],
) -> Relation:
    """Return the rows as they are now: views and queries may give others each time."""
    if not is_query(source):
        name = parse_name(source, "the source")
        if database.find(name) == "table":
            return relation
    kept = database.temporary("source")
    database.run(f"CREATE {kept.new_table} AS SELECT * FROM {relation.sql}", report)
    return Relation(kept.sql, relation.columns)


@dataclass(frozen=True)
class ValueTable:
    """A table whose columns c0, c1, … hold values of some columns of a relation."""

    database: Database
    name: Name
    columns: tuple[Column, ...]

    @property
    def cells(self) -> list[str]:
        return [f"c{i}" for i in range(len(self.columns))]

    @cached_property
    def n_rows(self) -> int:
        return self.database.number(f"SELECT count(*) AS n FROM {self.name.sql}")

    @cached_property
    def _readings(self) -> list[Reading]:
        return self.database.readings(self.name, self.cells, self.columns)

    def read(
        self,
        chosen: Sequence[int],
        numbers: Sequence[str] = (),
        more: str = "",
        *,
        as_they_come: bool = False,
    ) -> Iterator[pa.Table]:
        """Yield some of the columns, and then numbers: names or expressions of ours.

        The types of a column are the same in all tables. ``more`` follows FROM.
        ``as_they_come``: what the engine cannot read is no error.
        """
        readings = [self._readings[i] for i in chosen]
        named = [f"{one.sql} AS y{i}" for i, one in enumerate(readings)]
        named += [f"{sql} AS z{i}" for i, sql in enumerate(numbers)]
        query = f"SELECT {', '.join(named)} FROM {self.name.sql} {more}"
        kinds = [*(one.kind for one in readings), *(pa.int64() for _ in numbers)]
        for some in self.database.stream(query, kinds):
            columns = [
                self._typed(some.column(place), i, as_they_come=as_they_come)
                for place, i in enumerate(chosen)
            ]
            last = some.columns[len(chosen) :]
            columns += [column.cast(pa.int64()) for column in last]
            names = [self.columns[i].name for i in chosen]
            yield pa.table(columns, names=[*names, *numbers])

    def _typed(
        self, cells: pa.ChunkedArray, i: int, *, as_they_come: bool
    ) -> pa.ChunkedArray:
        try:
            return self.database.as_arrow(
                cells, self.columns[i], self._readings[i].kind
            )
        except DataError:
            if not as_they_come:
                raise
            if isinstance(cells.type, pa.BaseExtensionType):
                chunks = [chunk.storage for chunk in cells.chunks]
                return pa.chunked_array(chunks, cells.type.storage_type)
            return cells


def count_cells(
    database: Database,
    name: Name,
    cells: Sequence[Cell],
    rows: str,
    first: Sequence[str] = (),
    report: Callable[[float], None] | None = None,
) -> ValueTable:
    """Count the distinct cells of rows into a table: c0, c1, … with ``n`` rows each.

    They are numbered by ``id`` in their order. ``rows`` follows FROM. Expressions of
    ours that come ``first`` are part of what is counted, and called as their last name.
    """
    every = [*first, *(cell.sql for cell in cells)]
    names = [sql.split(".")[-1] for sql in first]
    names += [f"c{i}" for i in range(len(cells))]
    named = ", ".join(f"{sql} AS {x}" for sql, x in zip(every, names, strict=True))
    keys = ", ".join(every)
    database.run(
        f"CREATE {name.new_table} AS "
        f"SELECT row_number() OVER (ORDER BY {keys}) - 1 AS id, {named}, "
        f"count(*) AS n FROM {rows} GROUP BY {keys}",
        report,
    )
    return ValueTable(database, name, tuple(cell.column for cell in cells))


def exact_cells(
    database: Database, relation: Relation, names: Sequence[str]
) -> list[Cell]:
    """Return columns of a relation as they are counted and compared."""
    columns = [relation.column(name) for name in names]
    return [Cell(x, database.exact(relation.cell(x.name), x)) for x in columns]
