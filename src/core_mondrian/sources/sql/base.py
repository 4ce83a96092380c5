"""What the databases have in common: a connection that hides how they differ."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, ParamSpec, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import DataError
from core_mondrian.sources.causes import Cause
from core_mondrian.sources.interruptible import interruptible
from core_mondrian.sources.sql.names import Name

Kind = Literal["table", "view"]
P = ParamSpec("P")
ResultT = TypeVar("ResultT")

TEMPORARY: Final = "core_mondrian_"
"""How the names of temporary tables begin."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table in a database."""

    name: str
    kind: str
    """Its type in the database's words."""
    is_text: bool = False
    """What equals what there depends on a collation."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An expression, and the column that it makes."""

    column: Column
    sql: str


class Reading(NamedTuple):
    """How the cells of a column are handed over."""

    sql: str
    kind: pa.DataType | None = None
    """Their Arrow type, where the driver does not know it from the start."""


class Space(NamedTuple):
    """What a connection may take."""

    folder: Path
    """Ours alone."""
    memory: int
    threads: int


class Database(ABC):
    """A connection, in a transaction from `begin` on.

    What its driver raises is for `naming` to report: it quotes cells. What has a body
    here is right for databases whose columns have one type each.
    """

    title: str
    errors: tuple[type[Exception], ...]
    """What the driver raises."""
    has_structs: bool
    has_views: bool
    """Whoever reads a view can read its source anyway: it is no boundary."""
    has_live_views: bool
    """A table that changes can have a live view."""
    ignores_case: bool
    """Names that differ only in case are the same."""
    longest_name: int
    """Bytes of a name."""
    join: str
    """How a large table is joined to a small one on its right."""
    folder: Path
    """Where temporary files may be."""
    shares_memory: bool = False
    """It computes in this process."""

    def call(
        self, work: Callable[P, ResultT], *arguments: P.args, **options: P.kwargs
    ) -> ResultT:
        """Do something with the connection that a signal may end."""
        return interruptible(partial(work, *arguments, **options), self.cancel)

    def run(self, sql: str, report: Callable[[float], None] | None = None) -> None:
        """Execute a statement; ``report`` how far it is, if that is known."""

        def look() -> None:
            done = self.progress()
            if report is not None and done is not None:
                report(done)

        interruptible(lambda: self.execute(sql), self.cancel, look)

    def fetch(self, sql: str) -> pa.Table:
        """Return all that a query finds."""
        return pa.concat_tables(self.stream(sql))

    def number(self, sql: str) -> int:
        """Return the one number that a query finds; none is 0."""
        return int(self.fetch(sql)[0][0].as_py() or 0)

    @abstractmethod
    def begin(self, space: Space) -> None:
        """Connect, and begin the transaction: others change nothing that is read."""

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Execute a statement to its end."""

    @abstractmethod
    def stream(
        self, sql: str, kinds: Sequence[pa.DataType | None] | None = None
    ) -> Iterator[pa.Table]:
        """Yield what a query finds, some rows at a time: one table at least.

        Until it is exhausted, nothing else can be asked. ``kinds``: see `Reading`.
        """

    @abstractmethod
    def upload(self, name: str, tables: Iterable[pa.Table]) -> None:
        """Make a temporary table; asks for the next table when the last one is up."""

    @abstractmethod
    def cancel(self) -> None:
        """Let the statement that is running fail."""

    def progress(self) -> float | None:
        """Return how much of a statement is done, from 0 to 1; None: not known."""
        return None

    def commit(self) -> None:
        """Keep what was done."""
        self.run("COMMIT")

    @abstractmethod
    def close(self) -> None:
        """Leave; what was not committed never was."""

    @abstractmethod
    def cause(self, error: Exception) -> Cause | None:
        """Return why a statement failed, if that is one of the usual reasons."""

    # What there is

    @abstractmethod
    def temporary(self, name: str) -> Name:
        """Return the whole name of a temporary table."""

    @abstractmethod
    def qualified(self, name: Name) -> Name:
        """Return the name of a new table with the schema it will be in."""

    @abstractmethod
    def has_schema(self, name: Name) -> bool:
        """Return whether the schema of a qualified name is there."""

    @abstractmethod
    def find(self, name: Name) -> Kind | None:
        """Say what there is of this name."""

    @abstractmethod
    def columns(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a table, view or query, as it stands after FROM."""

    @abstractmethod
    def may_read(self, relation: str, names: Sequence[Name]) -> bool:
        """Return whether a relation reads one of some tables or views that are there.

        Directly, or through views and functions; if it cannot be decided, it may.
        """

    # Cells

    @abstractmethod
    def exact(self, cell: str, column: Column) -> str:
        """Return an expression that is equal for the same value only."""

    @abstractmethod
    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Return the condition that exact cells are the same, or missing, in pairs."""

    @abstractmethod
    def ranked(self, cell: str, column: Column) -> str:
        """Return an expression to order by, whatever the collation."""

    @abstractmethod
    def present(self, cell: str, column: Column) -> str:
        """Return the condition that a cell is not missing; NaN is."""

    def is_countable(self, column: Column) -> bool:  # noqa: ARG002
        """Return whether values of a column can be grouped, matched and handed over."""
        return True

    def readings(
        self, table: Name, cells: Sequence[str], columns: Sequence[Column]
    ) -> list[Reading]:
        """Return how to read columns of a table of ours that hold such cells."""
        del table, columns
        return [Reading(cell) for cell in cells]

    def spell_alike(self) -> None:
        """Let what a value is as text depend on no setting of the session."""
        return

    def steady(self, column: Column) -> Column:
        """Return a column as it is read if equal cells are to be read as equal values.

        Whatever else is in the column, now or later.
        """
        return column

    @abstractmethod
    def as_arrow(
        self, cells: pa.ChunkedArray, column: Column, kind: pa.DataType | None
    ) -> pa.ChunkedArray:
        """Return cells as they were read as values of their own type."""

    def as_sql(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return values in a type that the database has."""
        return cells

    def cast(self, cell: str, column: Column) -> str:
        """Return an uploaded cell in the type of a column."""
        return f"CAST({cell} AS {column.kind})"

    def kind_of(self, kind: pa.DataType) -> str:  # noqa: ARG002
        """Return the database's word for the type of new values, if it needs one."""
        return ""

    # Tables

    @abstractmethod
    def index(
        self, table: Name, columns: Sequence[str], *, matched: bool = False
    ) -> None:
        """Prepare a table of ours for joins on columns; ``matched``: by `matches`."""

    def create(
        self,
        name: Name,
        columns: Sequence[Column],  # noqa: ARG002
        query: str,
        report: Callable[[float], None] | None = None,
    ) -> None:
        """Make a table of a query's rows; it gives the columns in this order."""
        self.run(f"CREATE {name.new_table} AS {query}", report)

    @abstractmethod
    def mixed(self, query: str) -> str:
        """Return a query of the same rows in an order that nobody can predict."""

    def protect(self, name: Name) -> None:  # noqa: ARG002
        """Keep a table with original rows from all but its owner, as a file is."""
        return

    def let_read_only(self, name: Name) -> None:  # noqa: ARG002
        """Take from all but a view's owner every right except to read it."""
        return

    def rights(self, name: Name) -> Any:  # noqa: ANN401, ARG002
        """Return who may do what with a table that is going to be replaced.

        Raises:
            SpecError: it has rules that its successor would not have.
        """
        return None

    def grant(self, name: Name, rights: Any) -> None:  # noqa: ANN401, ARG002
        """Give them the same rights on its successor, and nobody else any."""
        return


def check_times(cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Return dates and times as they are, if none is infinite.

    Raises:
        DataError: some are, which the engine has no number for.
    """
    kind = cells.type
    if pa.types.is_date32(kind):
        numbers, first, last = cells.cast(pa.int32()), -(10**7), 2**31 - 1
    elif pa.types.is_timestamp(kind):
        numbers, first, last = cells.cast(pa.int64()), -(10**18), 2**63 - 1
    else:
        return cells
    # The drivers count from another day than the databases: one end wraps around.
    wrong = pc.or_(pc.less(numbers, first), pc.equal(numbers, last))
    if n_wrong := pc.sum(wrong, min_count=0).as_py():
        raise DataError(
            f"column {column.name!r} holds {n_wrong} different infinite times",
            hint="leave these rows out, or make them NULL, in a query",
        )
    return cells
