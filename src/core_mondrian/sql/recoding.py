"""The statements: count a table's tuples, and give every row what its class shows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.plan import DIVIDED
from core_mondrian.sql.base import Column, Database
from core_mondrian.sql.names import Name, quoted

# Numbers are folded into keys below a prime, in 64 bits. The second factor is the
# golden section of the prime: numbers next to each other come to stand far apart.
_PRIME: Final = 2147483647
_FACTORS: Final = (48271, 1327217885)


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
    read = (database.readable(f"c{i}", item) for i, item in enumerate(columns))
    found = database.fetch(
        f"SELECT {', '.join(f'{cell} AS c{i}' for i, cell in enumerate(read))}, n "
        f"FROM {table.sql} ORDER BY id",
        count_rows(database, table.sql),
    )
    values = [
        database.as_arrow(cells, item)
        for cells, item in zip(found.columns[:-1], columns, strict=True)
    ]
    rows = found.columns[-1].cast(pa.int64()).to_numpy()
    return pa.table(values, names=list(names)), rows


def count_rows(database: Database, table: str) -> int:
    """Return how many rows a table has."""
    found = database.fetch(f"SELECT count(*) AS n FROM {table}")
    return int(found[0][0].as_py())


@dataclass(frozen=True, slots=True)
class Places:
    """Where the rows of a source go.

    Three tables say of every tuple which leaf its rows go to, of the divided ones how
    many go to which, and of every leaf what it shows.
    """

    database: Database
    source: Relation
    counted: tuple[str, ...]
    scattered_by: tuple[str, ...]
    """Columns that decide which rows of a divided tuple go where."""
    tuples: Name
    shares: Name | None
    """None: no tuple is divided."""
    classes: Name

    def select(self, cells: Sequence[str], more: str = "") -> str:
        """Return a query of rows ``s`` with their tuple and leaf in ``p``."""
        wanted = ", ".join(cells)
        query = f"SELECT {wanted} FROM {self._matched} {more}"
        if self.shares is None:
            return query
        return (
            f"{query} UNION ALL SELECT {wanted} FROM ({self._numbered}) AS s "
            f"JOIN {self.shares.sql} AS p ON p.tuple = s.tuple "
            f"AND s.nth > p.low AND s.nth <= p.high {more}"
        )

    @property
    def with_shown(self) -> str:
        """Joins what the class of a row shows, as ``w``."""
        return f"JOIN {self.classes.sql} AS w ON w.leaf = p.leaf"

    @property
    def unchanged(self) -> str:
        """The condition that the source has the tuples that were counted, all of them.

        If those there are have as many rows as then, and all rows are as many, then
        none is new and none is gone.
        """
        matched = self._matched_by("LEFT JOIN")
        now = f"SELECT p.id AS id, count(*) AS n FROM {matched} GROUP BY p.id"
        return (
            f"NOT EXISTS (SELECT 1 FROM ({now}) AS a LEFT JOIN {self.tuples.sql} AS b "
            "ON b.id = a.id WHERE b.n IS NULL OR b.n <> a.n) AND "
            f"(SELECT count(*) FROM {self.source.rows}) = "
            f"(SELECT sum(n) FROM {self.tuples.sql})"
        )

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

    @property
    def _numbered(self) -> str:
        """Rows of divided tuples, numbered in an order that their cells decide.

        Rows that are equal in all cells are scattered as well: side by side they would
        fill a class with one value.
        """
        cells = [f"x{i}" for i in range(len(self.source.columns))]
        ranks = [f"r{i}" for i in range(len(self.scattered_by))]
        ranked = [
            f"dense_rank() OVER (ORDER BY {self._ranked(name)}) AS {rank}"
            for name, rank in zip(self.scattered_by, ranks, strict=True)
        ]
        rows = ", ".join(["p.tuple", *(f"s.{cell}" for cell in cells), *ranked])
        among = f"row_number() OVER (PARTITION BY {', '.join(['tuple', *ranks])})"
        order = ", ".join(["place", *ranks])
        return (
            f"SELECT tuple, {', '.join(cells)}, "
            f"row_number() OVER (PARTITION BY tuple ORDER BY {order}) AS nth "
            f"FROM (SELECT *, {_fold([*ranks, among])} AS place FROM ("
            f"SELECT {rows} FROM {self._matched} WHERE p.leaf = {DIVIDED}"
            ") AS ranked) AS scattered"
        )

    def _ranked(self, name: str) -> str:
        return self.database.ranked(self.source.cell(name), self.source.column(name))


def _fold(numbers: Iterable[str]) -> str:
    """Return an expression that makes one scattered number of several."""
    a, b = _FACTORS
    folded = "0"
    for number in numbers:
        folded = f"(({folded} * {a} + ({number} % {_PRIME}) * {b}) % {_PRIME})"
    return folded
