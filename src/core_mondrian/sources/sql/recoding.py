"""The statements that give every row what its class shows."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from core_mondrian.recoding.plan import DIVIDED
from core_mondrian.sources.sql.base import Cell, Column, Database
from core_mondrian.sources.sql.names import Name
from core_mondrian.sources.sql.value_table import Relation


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
        pairs += [(x.sql, f"q.c{i}") for i, x in enumerate(self.contents(split.others))]
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

    def contents(self, others: Sequence[str]) -> list[Cell]:
        """Return how the cells that are a row's content are compared."""
        return [self._content(name) for name in others]

    def _content(self, name: str) -> Cell:
        cell, column = self.source.cell(name), self.source.column(name)
        if self.database.is_countable(column):
            return Cell(column, self.database.exact(cell, column))
        text = Column(name, self.database.kind_of(pa.string()), is_text=True)
        return Cell(text, self.database.ranked(cell, column))


def _same(rows: str, table: Name, alias: str) -> str:
    """Return the condition that ``rows`` are as many by id as ``table`` says."""
    now = f"SELECT {alias}.id AS id, count(*) AS n FROM {rows} GROUP BY {alias}.id"
    return (
        f"NOT EXISTS (SELECT 1 FROM ({now}) AS a LEFT JOIN {table.sql} AS b "
        "ON b.id = a.id WHERE b.n IS NULL OR b.n <> a.n)"
    )
