"""Live views: a relation in a database that follows a table that changes.

A refresh takes the table as it is, decides as a `Series` does who is shown, and changes
what the view shows in one transaction, together with what is remembered. So a reader
sees one state or the next, and all states together keep the promise of a series.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.api import check_threads
from core_mondrian.errors import DataError, OutputError, SpecError, drops_context
from core_mondrian.runtime.threads import n_cores
from core_mondrian.series.cohorts import TooSmall
from core_mondrian.series.private_file import file_bytes, parse_private
from core_mondrian.series.release_step import RowCounts, Step, take_step
from core_mondrian.series.row_hashes import find_places
from core_mondrian.series.state import Rules, State, series_spec
from core_mondrian.series.state_file import read_parts, state_parts
from core_mondrian.series.step_rows import persons_of, step_rows
from core_mondrian.sources.memory import Limit
from core_mondrian.sources.sql.base import Database
from core_mondrian.sources.sql.failures import naming
from core_mondrian.sources.sql.live_tables import (
    Entering,
    LiveTables,
    Placed,
    SourceRows,
)
from core_mondrian.sources.sql.open import connected, open_database
from core_mondrian.sources.sql.target import check_request
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.atomic_write import undisturbed
from core_mondrian.tables.files.sizes import machine_memory
from core_mondrian.tables.files.staging import published
from core_mondrian.tables.keys import open_key
from core_mondrian.verification.verify import Verification
from core_mondrian.verification.verify_series import (
    Numbered,
    verify_moves,
    verify_next,
)

KIND: Final = "live view"
VERSION: Final = 4
_OTHERS: Final = "restore it from a backup, or drop it and create another one"


@dataclass(frozen=True)
class LiveRefresh:
    """What a refresh did, verified next to what was seen before."""

    number: int
    """1 when the view is created."""
    counts: RowCounts
    verification: Verification


@dataclass(frozen=True)
class LiveStatus:
    """What a live view follows, and what became of rows at its last refresh."""

    source: str
    spec: Spec
    number: int
    rows: dict[str, int]


class _Remembered(NamedTuple):
    """What is kept in the database: the state of a series, and whose it is."""

    source: str
    columns: tuple[str, ...]
    """Those of the view."""
    rows: dict[str, int]
    state: State

    def to_bytes(self) -> bytes:
        told = {"source": self.source, "columns": self.columns, "rows": self.rows}
        return file_bytes(KIND, VERSION, {"live": told, **state_parts(self.state)})

    @classmethod
    def of(cls, tables: LiveTables, spec: Spec | None) -> "_Remembered":
        place = tables.state.text
        parts = parse_private(tables.read_state(), place, KIND, VERSION)
        told = parts["live"]
        state = read_parts(parts, place, spec)
        return cls(told["source"], tuple(told["columns"]), told["rows"], state)


@dataclass(frozen=True)
class LiveView:
    """A view in a DuckDB file or a PostgreSQL database that follows a table.

    ``database`` and ``target`` name it. What it remembers is in a table beside it that
    only its owner reads.
    """

    database: str | Path = field(repr=False)  # an address may hold a password
    target: str
    spec: Spec | None = field(default=None, repr=False)
    """Where the state cannot tell all of it: the spec that `create` was given."""

    @classmethod
    @drops_context
    def create(  # noqa: PLR0913
        cls,
        database: str | Path,
        source: str,
        target: str,
        spec: Spec,
        *,
        row_key: str | Sequence[str],
        too_small: TooSmall = "wait",
        cohort: str = "cohort",
        cohort_size: int | None = None,
        key: bytes | None = None,
        threads: int | None = None,
    ) -> tuple["LiveView", LiveRefresh]:
        """Make a view of what is in ``source`` now: a table, a view or a query.

        The other arguments are those of `Series.create`. In one transaction; if
        anything fails, nothing was made.

        Raises:
            SpecError: a name is taken, or the spec asks for what no series can do.
            DataError: the source cannot be read.
            InfeasibleError: its rows cannot be released.
            PrivacyViolation: what came out failed its verification.
            OutputError: the view cannot be made.
        """
        names = (row_key,) if isinstance(row_key, str) else tuple(row_key)
        # Who is deleted leaves a view at once: nobody lingers in what people look at.
        rules = Rules(
            names,
            departures="by lot",
            too_small=too_small,
            cohort=cohort,
            cohort_size=cohort_size,
        )
        state = State(
            secrets.token_hex(8), series_spec(spec, rules), rules, open_key(key)
        )
        if spec.suppressed == "blank":
            raise SpecError(
                "a live view does not go with suppressed = 'blank'", hint="leave it out"
            )
        with _connected(database, threads) as opened:
            check_request(opened, state.spec, view=False)
            tables = LiveTables.of(opened, target)
            tables.check_free()
            own = _Remembered(source, (), {}, state)
            found = _Refreshing(tables, own, threads).make()
        return cls(database, target, spec), found

    @drops_context
    def refresh(self, *, threads: int | None = None) -> LiveRefresh:
        """Let the view show the source as it is now, as far as that can be shown.

        Readers see all of it or nothing. Of two refreshes at once, one fails.

        Raises:
            SpecError: columns of the source are gone or have other names.
            DataError: a value does not fit, or what is kept was changed by others.
            PrivacyViolation: what came out failed its verification.
            OutputError: the database refuses.
        """
        with _connected(self.database, threads) as opened:
            return self._refreshing(opened, threads).change()

    @drops_context
    def preview(self, *, threads: int | None = None) -> RowCounts:
        """Say what a refresh would do with the rows of the source."""
        with _connected(self.database, threads) as opened:
            return self._refreshing(opened, threads).step.counts

    @drops_context
    def status(self) -> LiveStatus:
        """Say what the view follows."""
        with _connected(self.database, 1) as opened:
            own = self._refreshing(opened, 1).own
        return LiveStatus(own.source, own.state.spec, own.state.chain.number, own.rows)

    @drops_context
    def drop(self) -> None:
        """Remove the view and what it remembers.

        Another one of the same people is another release: nothing is promised for a
        reader of both.
        """
        with _connected(self.database, 1) as opened:
            tables = LiveTables.of(opened, self.target)
            tables.check_there()
            with naming(opened, "remove the view", OutputError):
                tables.drop()
                opened.commit()

    def _refreshing(self, opened: Database, threads: int | None) -> "_Refreshing":
        tables = LiveTables.of(opened, self.target)
        tables.check_there()
        with naming(opened, "read the state"):
            own = _Remembered.of(tables, self.spec)
        return _Refreshing(tables, own, threads)


@contextmanager
def _connected(database: str | Path, threads: int | None) -> Iterator[Database]:
    """Begin a transaction in which others change nothing that is read."""
    check_threads(threads)
    opened = open_database(database)
    if not opened.has_live_views:
        raise SpecError(
            f"live views are for DuckDB and PostgreSQL, and this is {opened.title}",
            hint="make a series of files: core-mondrian series create",
        )
    n_threads = n_cores() if threads is None else threads
    with connected(opened, Limit(machine_memory()).duckdb, n_threads):
        with naming(opened, "open the database"):
            opened.spell_alike()
        yield opened


@dataclass(frozen=True)
class _Refreshing:
    """A refresh in its transaction."""

    tables: LiveTables
    own: _Remembered
    threads: int | None

    @property
    def database(self) -> Database:
        return self.tables.database

    @property
    def state(self) -> State:
        return self.own.state

    @cached_property
    def _source(self) -> SourceRows:
        return SourceRows.keep(self.database, self.own.source)

    @cached_property
    def _read(self) -> tuple[nw.DataFrame[Any], NDArray[np.int64]]:
        with naming(self.database, "read the source"):
            table, ids = self._source.read(self.state.spec)
        return nw.from_native(table, eager_only=True), ids

    @cached_property
    def step(self) -> Step:
        """Who is to be shown in which cohort."""
        return take_step(self.state, self._read[0], self.threads)

    @cached_property
    def _shown(self) -> pa.Table:
        """All that is to be shown, verified by itself, and row by row over time."""
        spec, step = self.state.spec, self.step
        made = step_rows(self.state, step, self._read[0], self.threads)
        recoding = replace(step.shown.recoding, spec=spec)
        recoding.verify(made.counted(spec.unit), 0, self.threads)
        before = self.state.shown
        verify_moves(
            None if before is None else persons_of(before),
            persons_of(step.shown),
            spec,
            recoding.compared(),
        )
        return made.shown.released

    @cached_property
    def _after(self) -> Placed:
        row = self.step.shown.records.hashes.key.view(np.int64)
        cohort = self._shown[self.state.rules.cohort].to_pylist()
        return Placed(row, np.array(cohort, dtype=object))

    @property
    def _ids(self) -> NDArray[np.int64]:
        """Which row of the source each row is that is to be shown."""
        is_shown = self.step.cohort >= 0
        wanted = self.step.shown.records.hashes.key
        return self._read[1][is_shown][find_places(self.step.key[is_shown], wanted)]

    def _entering(self, is_new: NDArray[np.bool_]) -> Entering:
        return Entering(
            source=self._source,
            spec=self.state.spec,
            shown=self._shown.filter(pa.array(is_new)),
            rows=self._after.row[is_new],
            ids=self._ids[is_new],
        )

    def make(self) -> LiveRefresh:
        """Make the view."""
        entering = self._entering(np.ones(self._after.row.size, dtype=np.bool_))
        with naming(self.database, "make the target", OutputError):
            self.tables.make(entering)
            return self._finish(None, is_new=True)

    def change(self) -> LiveRefresh:
        """Change what the view shows."""
        before, placed = self._look()
        self.step  # noqa: B018  # what does not fit is told before anything is claimed
        entering = self._entering(self._after.missing_in(placed))
        leaving = placed.row[placed.missing_in(self._after)]
        with naming(self.database, "make the target", OutputError):
            self.tables.claim()
            self.tables.change(leaving, entering)
            return self._finish(before, is_new=False)

    def _look(self) -> tuple[Numbered, Placed]:
        """Return what readers see before, which has to be what they were given.

        Raises:
            DataError: the view or its rows were changed by others.
        """
        shown, cohort = self.state.shown, self.state.rules.cohort
        with naming(self.database, "read the view"):
            seen = self.tables.seen()
            is_ours = tuple(seen.column_names) == self.own.columns
            placed = self.tables.placed(self.own.columns, cohort) if is_ours else None
        if shown is not None and placed is not None:
            names = np.array(shown.cohorts.names.to_pylist(), dtype=object)
            records = shown.records
            known = Placed(records.hashes.key.view(np.int64), names[records.cohort])
            is_ours = known.row.size == placed.row.size == len(seen)
            is_ours &= not placed.missing_in(known).any()
        if placed is None or not is_ours:
            raise DataError(
                f"{self.tables.view.sql} does not show what it was left with",
                hint=_OTHERS,
            )
        return Numbered(self.state.chain.number, seen), placed

    def _finish(self, before: Numbered | None, *, is_new: bool) -> LiveRefresh:
        """Recount what readers will see next to what they saw, remember, commit."""
        state, counts = self.state, self.step.counts
        number = state.chain.number + 1
        seen = self.tables.seen()
        found = verify_next(
            before,
            Numbered(number, seen),
            state.spec,
            state.rules.cohort,
            self.step.shown.recoding.compared(),
        )
        if len(seen) != counts.n_shown:
            raise DataError(f"{self.tables.view.sql} shows other rows", hint=_OTHERS)
        chain = state.chain._replace(number=number)
        after = replace(state, chain=chain, shown=self.step.shown)
        columns = tuple(seen.column_names)
        own = _Remembered(self.own.source, columns, counts.to_json(), after)
        self.tables.write_state(own.to_bytes(), is_new=is_new)
        with undisturbed():
            self.database.commit()
            published.append(())  # no file, but readers see it
        return LiveRefresh(number, counts, found)
