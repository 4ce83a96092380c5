"""The statements: count a table's tuples, and give every row what its class shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import DataError, InternalError
from core_mondrian.plan import DIVIDED
from core_mondrian.sources.sql.base import Column, Database
from core_mondrian.sources.sql.names import Name, quoted


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


def count_tuples(
    database: Database, relation: Relation, names: Sequence[str], counted: str
) -> tuple[pa.Table, NDArray[np.int64]]:
    """Return the distinct tuples of some columns, and how many rows have each.

    They stay in the temporary table ``counted``, in columns c0, c1, …, numbered by
    ``id`` in the order returned.
    """
    cells = [database.exact(relation.cell(n), relation.column(n)) for n in names]
    named = ", ".join(f"{cell} AS c{i}" for i, cell in enumerate(cells))
    every = ", ".join(cells)
    table = database.temporary(counted)
    database.run(
        f"CREATE {table.new_table} AS "
        f"SELECT row_number() OVER (ORDER BY {every}) - 1 AS id, {named}, "
        f"count(*) AS n FROM {relation.rows} GROUP BY {every}"
    )
    columns = [relation.column(name) for name in names]
    every_cell = [f"c{i}" for i in range(len(names))]
    found = fetch_counted(database, table, every_cell, columns)
    return found.select(every_cell).rename_columns(list(names)), found["n"].to_numpy()


def fetch_counted(
    database: Database,
    table: Name,
    names: Sequence[str],
    columns: Sequence[Column],
    plain: Sequence[str] = (),
    as_values: Callable[[Database, pa.ChunkedArray, Column], pa.ChunkedArray] = (
        lambda database, cells, column: database.as_arrow(cells, column)
    ),
) -> pa.Table:
    """Return a table of counts in the order of ``id``: its values, and ``n`` rows.

    ``columns`` says what the columns ``names`` hold; those called ``plain`` are ours.
    """
    read = [
        f"{database.readable(name, column)} AS {name}"
        for name, column in zip(names, columns, strict=True)
    ]
    found = database.fetch(
        f"SELECT {', '.join([*read, *plain, 'n'])} FROM {table.sql} ORDER BY id",
        count_rows(database, table.sql),
    )
    values = {
        name: as_values(database, found.column(i), column)
        for i, (name, column) in enumerate(zip(names, columns, strict=True))
    }
    counts = {
        name: found.column(len(names) + i).cast(pa.int64())
        for i, name in enumerate((*plain, "n"))
    }
    return pa.table({**values, **counts})


def count_rows(database: Database, table: str) -> int:
    """Return how many rows a table has."""
    found = database.fetch(f"SELECT count(*) AS n FROM {table}")
    return int(found[0][0].as_py())


@dataclass(frozen=True, slots=True)
class SplitRows:
    """Where the rows of split tuples go: by their content, under the owner's key."""

    others: tuple[str, ...]
    """Columns whose cells are a row's content, next to its tuple."""
    contents: Name
    """Distinct contents, numbered, with how many rows have each."""
    lots: Name
    """Which rows of a content, numbered from 1 on, go to which leaf."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the rows of a source go.

    Tables say of every tuple which leaf its rows go to, of every leaf what it shows,
    and of the rows of split tuples which of them go where.
    """

    database: Database
    source: Relation
    counted: tuple[str, ...]
    tuples: Name
    classes: Name
    split: SplitRows | None = None
    """None: no tuple is split."""

    def select(self, cells: Sequence[str], more: str = "") -> str:
        """Return a query of rows ``s`` with their tuple and leaf in ``p``."""
        wanted = ", ".join(cells)
        query = f"SELECT {wanted} FROM {self._matched} {more}"
        if self.split is None:
            return query
        return (
            f"{query} UNION ALL SELECT {wanted} FROM ({self._numbered(self.split)}) "
            f"AS s JOIN {self.split.lots.sql} AS p ON p.content = s.content "
            f"AND s.nth > p.low AND s.nth <= p.high {more}"
        )

    def select_mixed(self, cells: Sequence[str], more: str = "") -> str:
        """Return the same rows in a random order.

        Else they would stand as the database happened to join them: sorted by their
        exact tuple, by a public hash of it, or as in the source.
        """
        return self.database.mixed(self.select(cells, more))

    @property
    def with_shown(self) -> str:
        """Joins what the class of a row shows, as ``w``."""
        return f"JOIN {self.classes.sql} AS w ON w.leaf = p.leaf"

    @property
    def unchanged(self) -> str:
        """The condition that the source has what was counted, all of it.

        If the tuples there are have as many rows as then, and all rows are as many,
        then none is new and none is gone; likewise the contents of split tuples.
        """
        same = f"(SELECT count(*) FROM {self.source.rows}) = "
        same += f"(SELECT sum(n) FROM {self.tuples.sql})"
        conditions = [_same(self._matched_by("LEFT JOIN"), self.tuples, "p"), same]
        if self.split is not None:
            rows = self._with_content(self.split, "LEFT JOIN")
            conditions.append(_same(rows, self.split.contents, "q"))
        return " AND ".join(conditions)

    def split_rows(self) -> str:
        """Return the rows of split tuples as ``s``, their tuple in ``p``, after FROM.

        What picks them is a WHERE clause, so nothing but that can follow.
        """
        return f"{self._matched} WHERE p.leaf = {DIVIDED}"

    @property
    def _matched(self) -> str:
        return self._matched_by(self.database.join)

    def _matched_by(self, join: str) -> str:
        pairs = [(self._exact(name), f"p.c{i}") for i, name in enumerate(self.counted)]
        return (
            f"{self.source.rows} {join} {self.tuples.sql} AS p "
            f"ON {self.database.matches(pairs)}"
        )

    def _exact(self, name: str) -> str:
        return self.database.exact(self.source.cell(name), self.source.column(name))

    def _with_content(self, split: SplitRows, join: str) -> str:
        """Return the rows of split tuples as ``s``, with their content in ``q``."""
        cells = (f"s.x{i}" for i in range(len(self.source.columns)))
        rows = f"SELECT p.tuple, {', '.join(cells)} FROM {self.split_rows()}"
        pairs = [("s.tuple", "q.tuple")]
        pairs += [(x.cell, f"q.c{i}") for i, x in enumerate(self.contents(split))]
        return (
            f"({rows}) AS s {join} {split.contents.sql} AS q "
            f"ON {self.database.matches(pairs)}"
        )

    def _numbered(self, split: SplitRows) -> str:
        """Return rows of split tuples, those of one content numbered from 1 on."""
        cells = (f"s.x{i}" for i in range(len(self.source.columns)))
        return (
            f"SELECT q.id AS content, {', '.join(cells)}, "
            f"row_number() OVER (PARTITION BY q.id) AS nth "
            f"FROM {self._with_content(split, self.database.join)}"
        )

    def contents(self, split: SplitRows) -> list["Content"]:
        """Return how the cells that are a row's content are compared."""
        return [self._content(name) for name in split.others]

    def _content(self, name: str) -> "Content":
        cell, column = self.source.cell(name), self.source.column(name)
        if self.database.is_countable(column):
            return Content(self.database.exact(cell, column), column)
        text = Column(name, self.database.kind_of(pa.string()), is_text=True)
        return Content(self.database.ranked(cell, column), text)


@dataclass(frozen=True, slots=True)
class Content:
    """A cell as rows of split tuples are told apart by it, and its column's type."""

    cell: str
    column: Column


def _same(rows: str, table: Name, alias: str) -> str:
    """Return the condition that ``rows`` are as many by id as ``table`` says."""
    now = f"SELECT {alias}.id AS id, count(*) AS n FROM {rows} GROUP BY {alias}.id"
    return (
        f"NOT EXISTS (SELECT 1 FROM ({now}) AS a LEFT JOIN {table.sql} AS b "
        "ON b.id = a.id WHERE b.n IS NULL OR b.n <> a.n)"
    )


def as_any(
    database: Database, cells: pa.ChunkedArray, column: Column
) -> pa.ChunkedArray:
    """Return cells in their own type; what the engine cannot read, as it came."""
    try:
        return database.as_arrow(cells, column)
    except DataError:
        return cells


def count_contents(
    places: Places, contents: Name
) -> tuple[NDArray[np.int32], pa.Table, NDArray[np.int64]]:
    """Count the distinct contents of rows of split tuples into a table.

    Return the tuple of each, its values, and how many rows have it.
    """
    if places.split is None:
        raise InternalError("no tuple is split")
    asked = places.contents(places.split)
    cells = ["p.tuple", *(item.cell for item in asked)]
    names = ["tuple", *(f"c{i}" for i in range(len(asked)))]
    named = ", ".join(f"{x} AS {y}" for x, y in zip(cells, names, strict=True))
    every, database = ", ".join(cells), places.database
    database.run(
        f"CREATE {contents.new_table} AS "
        f"SELECT row_number() OVER (ORDER BY {every}) - 1 AS id, {named}, "
        f"count(*) AS n FROM {places.split_rows()} GROUP BY {every}"
    )
    database.index(contents, names, matched=True)
    found = fetch_counted(
        *(database, contents, names[1:], [item.column for item in asked]),
        ("tuple",),
        as_any,
    )
    tuples = found["tuple"].cast(pa.int32()).to_numpy()
    return tuples, found.select(names[1:]), found["n"].to_numpy()
