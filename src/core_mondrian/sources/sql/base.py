"""What the databases have in common: a connection that hides how they differ."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.errors import DataError, MondrianError
from core_mondrian.sources.sql.names import Name

Kind = Literal["table", "view"]

TEMPORARY: Final = "core_mondrian_"
"""How the names of temporary tables begin."""
_HINTS: Final = {
    "open": "check the path or the address, user and password; DuckDB opens a file for "
    "one process, and in it with the same options: close other connections",
    "42501": "the role needs the right to read the source, to create tables in the "
    "target's schema, and to make temporary ones",
    "42P07": "another run has made it in the meantime",
    "40001": "another transaction was in the way; run it again",
}
_HINT: Final = (
    "what the database said is not shown, as it may quote cells; run the source as a "
    "query in its own shell to see it"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table in a database."""

    name: str
    kind: str
    """Its type in the database's words."""
    is_text: bool = False
    """What equals what there depends on a collation."""


class Database(Protocol):
    """A connection, in a transaction from the first statement on.

    What its driver raises is for `telling` to say: it quotes cells. What has a body
    here is right for databases whose columns have one type each.
    """

    title: str
    errors: tuple[type[Exception], ...]
    """What the driver raises."""
    has_structs: bool
    has_views: bool
    """Whoever reads a view can read its source anyway: it is no boundary."""
    ignores_case: bool
    """Names that differ only in case are the same."""
    longest_name: int
    """Bytes of a name."""
    join: str
    """How a large table is joined to a small one on its right."""

    def run(self, sql: str) -> None:
        """Execute a statement."""

    def fetch(self, sql: str, n_rows: int = 1) -> pa.Table:
        """Return what a query finds; ``n_rows`` is at least how many rows that are."""

    def upload(self, name: str, table: pa.Table) -> None:
        """Make a temporary table."""

    def temporary(self, name: str) -> Name:
        """Return the whole name of a temporary table."""

    def find(self, name: Name) -> Kind | None:
        """Say what there is of this name."""

    def columns(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a table, view or query, as it stands after FROM."""

    def exact(self, cell: str, column: Column) -> str:
        """Return an expression that is equal for the same value only."""

    def matches(self, pairs: Sequence[tuple[str, str]]) -> str:
        """Return the condition that exact cells are the same, or missing, in pairs."""

    def ranked(self, cell: str, column: Column) -> str:
        """Return an expression to order by, whatever the collation."""

    def index(
        self, table: Name, columns: Sequence[str], *, matched: bool = False
    ) -> None:
        """Prepare a table of ours for joins on columns; ``matched``: by `matches`."""

    def present(self, cell: str, column: Column) -> str:
        """Return the condition that a cell is not missing; NaN is."""

    def is_countable(self, column: Column) -> bool:  # noqa: ARG002
        """Tell whether values of a column can be grouped, matched and handed over."""
        return True

    def readable(self, cell: str, column: Column) -> str:
        """Return an expression that the driver can hand over."""

    def as_arrow(self, cells: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
        """Return what the driver handed over as values of their own type."""

    def as_sql(self, cells: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return values in a type that the database has."""
        return cells

    def cast(self, cell: str, column: Column) -> str:
        """Return an uploaded cell in the type of a column."""
        return f"CAST({cell} AS {column.kind})"

    def kind_of(self, kind: pa.DataType) -> str:  # noqa: ARG002
        """Return the database's word for the type of new values, if it needs one."""
        return ""

    def create(self, name: Name, columns: Sequence[Column], query: str) -> None:  # noqa: ARG002
        """Make a table of a query's rows; it gives the columns in this order."""
        self.run(f"CREATE {name.new_table} AS {query}")

    def mixed(self, query: str) -> str:
        """Return a query of the same rows in an order that nobody can predict."""

    def protect(self, name: Name) -> None:  # noqa: ARG002
        """Keep a table with original rows from all but its owner, as a file is."""
        return

    def begin(self) -> None:
        """Begin the transaction: from now on others change nothing that is read."""

    def commit(self) -> None:
        """Keep what was done."""
        self.run("COMMIT")

    def close(self) -> None:
        """Leave; what was not committed never was."""


@contextmanager
def telling(
    database: Database, what: str, kind: type[MondrianError] = DataError
) -> Iterator[None]:
    """Say of a failing database what it could not do, and no cell.

    Raises:
        MondrianError: of the ``kind`` given.
    """
    try:
        yield
    except database.errors as error:
        state = getattr(error, "sqlstate", None)
        reason = type(error).__name__ + (f", SQLSTATE {state}" if state else "")
        known = _HINTS.get(what.split(maxsplit=1)[0], _HINT)
        raise kind(
            f"{database.title} failed to {what} ({reason})",
            hint=_HINTS.get(str(state), known),
        ) from None


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
