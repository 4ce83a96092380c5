"""What a live view consists of in a database: the view, its rows, and a private state.

The view shows the columns of a table of rows and nothing else, so that whoever may
read the view sees no more than is released, however it is read: neither the numbers
of rows in that table, nor what a database notes of every row, such as which
transaction last tried to delete it. The state is original data, and its owner's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import DataError, OutputError, SpecError
from core_mondrian.sources.sql.base import Column, Database
from core_mondrian.sources.sql.failures import NO_SCHEMA
from core_mondrian.sources.sql.names import Name, is_query, parse_name, quoted
from core_mondrian.sources.sql.target import check_lengths, check_names
from core_mondrian.sources.sql.value_table import (
    ValueTable,
    open_relation,
    open_source,
)
from core_mondrian.spec.declaration import Spec

Integers = NDArray[np.int64]

_PART: Final = 1 << 24
"""Bytes of the state in a row of its table."""
_ROW: Final = "r"
"""The column that says which row it is; the others are called c0, c1, …"""


class Placed(NamedTuple):
    """Which row is shown in which cohort."""

    row: Integers
    cohort: NDArray[np.object_]

    def missing_in(self, other: "Placed") -> NDArray[np.bool_]:
        """Return which of these are not there among others, in the same cohort."""
        if not other.row.size:
            return np.ones(self.row.size, dtype=np.bool_)
        order = np.argsort(other.row)
        place = np.searchsorted(other.row[order], self.row)
        place = order[np.minimum(place, other.row.size - 1)]
        is_there = other.row[place] == self.row
        found: NDArray[np.bool_] = ~(is_there & (other.cohort[place] == self.cohort))
        return found


@dataclass(frozen=True)
class SourceRows:
    """The rows of the source as they were when the transaction looked at them."""

    database: Database
    name: Name
    columns: tuple[Column, ...]

    @classmethod
    def keep(cls, database: Database, source: str) -> "SourceRows":
        """Copy them into a temporary table, numbered: a query may change its mind."""
        relation = open_source(database, source)
        name = database.temporary("kept")
        cells = ", ".join(f"s.x{i} AS c{i}" for i in range(len(relation.columns)))
        database.run(
            f"CREATE {name.new_table} AS SELECT row_number() OVER () AS id, {cells} "
            f"FROM {relation.rows}"
        )
        return cls(database, name, relation.columns)

    def read(self, spec: Spec) -> tuple[pa.Table, Integers]:
        """Return all rows, and the number of each.

        Quasi-identifiers are what the engine can read; of the rest it has to be the
        same whenever the cell is the same.
        """
        names = [column.name for column in self.columns]
        strict = [i for i, name in enumerate(names) if name in spec.quasi_identifiers]
        others = [i for i in range(len(names)) if i not in strict]
        found: dict[int, pa.ChunkedArray] = {}
        table, ids = self._read(strict, self.columns, as_they_come=False)
        found.update(zip(strict, table, strict=True))
        steady = [self.database.steady(column) for column in self.columns]
        table, _ = self._read(others, steady, as_they_come=True)
        found.update(zip(others, table, strict=True))
        return pa.table({name: found[i] for i, name in enumerate(names)}), ids

    def _read(
        self, chosen: Sequence[int], columns: Sequence[Column], *, as_they_come: bool
    ) -> tuple[list[pa.ChunkedArray], Integers]:
        values = ValueTable(self.database, self.name, tuple(columns))
        parts = values.read(chosen, ["id"], "ORDER BY id", as_they_come=as_they_come)
        table = pa.concat_tables(_plain_names(parts), promote_options="permissive")
        *cells, ids = table.columns
        return cells, ids.to_numpy().astype(np.int64)


@dataclass(frozen=True)
class LiveTables:
    """The tables of a live view, by the view's name."""

    database: Database
    view: Name

    @classmethod
    def of(cls, database: Database, target: str) -> "LiveTables":
        """Return the tables of a view that may or may not be there.

        Raises:
            SpecError: it is no name, or one too long.
        """
        if is_query(target):
            raise SpecError("the target is a query", hint="name a view")
        found = cls(database, database.qualified(parse_name(target, "the target")))
        check_lengths(database, [name.last for name in found._names])
        return found

    @property
    def rows(self) -> Name:
        """What the view shows, with the number of each row."""
        return self.view.beside("_core_mondrian_rows")

    @property
    def state(self) -> Name:
        """What is remembered of everybody, in parts."""
        return self.view.beside("_core_mondrian_state")

    @property
    def _names(self) -> tuple[Name, ...]:
        return self.view, self.rows, self.state

    def check_free(self) -> None:
        """Refuse names that are taken, and a schema that is not there.

        Raises:
            SpecError: a name is taken.
            OutputError: there is no such schema.
        """
        if not self.database.has_schema(self.view):
            raise OutputError(
                f"{self.database.title} cannot make the target: {NO_SCHEMA.text}",
                hint=NO_SCHEMA.hint,
            )
        for name in self._names:
            if self.database.find(name) is not None:
                raise SpecError(f"{name.sql} exists", hint="choose another name")

    def check_there(self) -> None:
        """Refuse a view that is not live.

        Raises:
            DataError: it is not.
        """
        if any(self.database.find(name) is None for name in self._names):
            raise DataError(
                f"{self.view.sql} is no live view, or its tables are gone",
                hint="create it, or check the name: capital letters count",
            )

    # The state

    def read_state(self) -> bytes:
        """Return what is remembered."""
        sql = f"SELECT part, content FROM {self.state.sql} ORDER BY part"
        return b"".join(self.database.fetch(sql).column(1).to_pylist())

    def claim(self) -> None:
        """Take the state out, to be written anew: of two who do so, one fails."""
        self.database.run(f"DELETE FROM {self.state.sql}")

    def write_state(self, raw: bytes, *, is_new: bool) -> None:
        """Write what is to be remembered; the old state has been claimed."""
        parts = [raw[i : i + _PART] for i in range(0, len(raw), _PART)]
        numbers = pa.array(range(len(parts)), pa.int32())
        table = pa.table({"part": numbers, "content": pa.array(parts, pa.binary())})
        self.database.upload("state", [table])
        query = f"SELECT part, content FROM {self.database.temporary('state').sql}"
        if is_new:
            self.database.run(f"CREATE {self.state.new_table} AS {query}")
            self.database.protect(self.state)
        else:
            self.database.run(f"INSERT INTO {self.state.sql} {query}")

    # What is shown

    def placed(self, columns: Sequence[str], cohort: str) -> Placed:
        """Return which rows there are, in which cohorts."""
        cell = f"c{list(columns).index(cohort)}"
        found = self.database.fetch(f"SELECT {_ROW}, {cell} FROM {self.rows.sql}")
        rows = found.column(0).to_numpy().astype(np.int64)
        return Placed(rows, np.array(found.column(1).to_pylist(), dtype=object))

    def seen(self) -> pa.Table:
        """Return what a reader of the view sees now."""
        relation = open_relation(self.database, self.view.sql)
        name = self.database.temporary("seen")
        cells = ", ".join(f"s.x{i} AS c{i}" for i in range(len(relation.columns)))
        self.database.run(
            f"CREATE TEMP VIEW {name.sql} AS SELECT {cells} FROM {relation.rows}"
        )
        columns = tuple(map(self.database.steady, relation.columns))
        values = ValueTable(self.database, name, columns)
        parts = values.read(range(len(columns)), as_they_come=True)
        table = pa.concat_tables(parts, promote_options="permissive")
        self.database.run(f"DROP VIEW {name.sql}")
        return table

    def make(self, entering: "Entering") -> None:
        """Make the view with its first rows; only its owner reads what is behind it."""
        names = entering.shown.column_names
        check_names(self.database, names)
        self.database.create(self.rows, entering.columns, entering.upload())
        self.database.protect(self.rows)
        cells = ", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(names))
        self.database.run(
            f"CREATE VIEW {self.view.sql} AS SELECT {cells} FROM {self.rows.sql}"
        )
        self.database.let_read_only(self.view)

    def change(self, leaving: Integers, entering: "Entering") -> None:
        """Take rows out, and put others in; either may be none."""
        if leaving.size:
            self.database.upload("leaving", [pa.table({_ROW: leaving})])
            name = self.database.temporary("leaving")
            self.database.run(
                f"DELETE FROM {self.rows.sql} "
                f"WHERE {_ROW} IN (SELECT {_ROW} FROM {name.sql})"
            )
        if entering.rows.size:
            self.database.run(f"INSERT INTO {self.rows.sql} {entering.upload()}")
            self._check_passed(entering)

    def _check_passed(self, entering: "Entering") -> None:
        """Refuse cells that the types of the first rows have changed: 1.5 to 2, say."""
        kinds = open_relation(self.database, self.rows.sql)
        for name, cell, source in entering.passing:
            if kinds.column(cell).kind == source.kind:
                continue
            place = entering.source.columns.index(source)
            n_changed = self.database.number(
                f"SELECT count(*) AS n FROM {self.rows.sql} AS t "
                f"JOIN {self.database.temporary('entering').sql} AS m "
                f"ON t.{_ROW} = m.{_ROW} "
                f"JOIN {entering.source.name.sql} AS k ON k.id = m.id "
                f"WHERE {self.database.cast(f't.{cell}', source)} "
                f"IS DISTINCT FROM k.c{place}"
            )
            if n_changed:
                raise DataError(
                    f"column {name!r} has another type than when the view was made, "
                    f"and {n_changed:,} new cells do not fit that one",
                    hint="convert it in the source, or create another view",
                )

    def drop(self) -> None:
        """Remove all of it."""
        self.database.run(f"DROP VIEW {self.view.sql}")
        for name in (self.rows, self.state):
            self.database.run(f"DROP TABLE {name.sql}")


@dataclass(frozen=True)
class Entering:
    """Rows that are shown from now on."""

    source: SourceRows
    spec: Spec
    shown: pa.Table
    """As they are released."""
    rows: Integers
    """How they are known among the rows of the view."""
    ids: Integers
    """Their numbers in the source."""

    @property
    def columns(self) -> list[Column]:
        """Their columns in the table of rows; a name and no more."""
        names = [_ROW, *(f"c{i}" for i in range(self.shown.num_columns))]
        return [Column(name, "") for name in names]

    @property
    def passing(self) -> Iterator[tuple[str, str, Column]]:
        """Columns that pass through: their names here, there, and in the source."""
        names = [column.name for column in self.source.columns]
        for i, name in enumerate(self.shown.column_names):
            if not self._own(name):
                yield name, f"c{i}", self.source.columns[names.index(name)]

    def upload(self) -> str:
        """Return the query that gives them: cells that pass through never leave."""
        database = self.source.database
        made = [(i, x) for i, x in enumerate(self.shown.column_names) if self._own(x)]
        cells = {f"y{i}": database.as_sql(_plain(self.shown[x])) for i, x in made}
        numbers = {"id": self.ids, _ROW: self.rows}
        database.upload("entering", [pa.table({**numbers, **cells})])
        wanted = [
            f"{self._cell(i, name)} AS c{i}"
            for i, name in enumerate(self.shown.column_names)
        ]
        return database.mixed(
            f"SELECT m.{_ROW}, {', '.join(wanted)} "
            f"FROM {database.temporary('entering').sql} AS m "
            f"{database.join} {self.source.name.sql} AS k ON k.id = m.id"
        )

    def _own(self, name: str) -> bool:
        """Return whether cells of a column were made, and do not pass through."""
        is_there = name in (column.name for column in self.source.columns)
        made = (*self.spec.quasi_identifiers, *self.spec.pseudonyms)
        return not is_there or name in made

    def _cell(self, i: int, name: str) -> str:
        names = [column.name for column in self.source.columns]
        if not self._own(name):
            return f"k.c{names.index(name)}"
        for source in self.spec.quasi_identifiers:
            is_bound = name in self.spec.bounds_of(source)
            if is_bound and not _is_text(self.shown[name].type):
                column = self.source.columns[names.index(source)]
                return self.source.database.cast(f"m.y{i}", column)
        return f"m.y{i}"


def _plain_names(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Number the columns: the source may call one of its own like ours."""
    for part in parts:
        yield part.rename_columns([str(i) for i in range(part.num_columns)])


def _plain(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells without a dictionary, which holds more than they show."""
    is_coded = pa.types.is_dictionary(cells.type)
    return cells.cast(cells.type.value_type) if is_coded else cells


def _is_text(kind: Any) -> bool:  # noqa: ANN401  # an Arrow type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
