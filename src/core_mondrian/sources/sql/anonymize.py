"""anonymize_sql(): a table in a database in, a verified release beside it out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from core_mondrian.api import check_threads
from core_mondrian.errors import (
    InternalError,
    OutputError,
    PrivacyViolation,
    drops_context,
)
from core_mondrian.recoding.plan import SUPPRESSED
from core_mondrian.release.result import Release
from core_mondrian.runtime.progress import Progress, Throughput, watched
from core_mondrian.runtime.stages import Stages
from core_mondrian.runtime.threads import n_cores
from core_mondrian.sources.counted_release import CountedRelease, columns_of_models
from core_mondrian.sources.memory import DiskUse, Limit, parse_size, watch
from core_mondrian.sources.planner import Planner
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.sql.base import Cell, Column, Database
from core_mondrian.sources.sql.failures import naming
from core_mondrian.sources.sql.lookup_tables import MapMaker, cells_of, outputs_of
from core_mondrian.sources.sql.names import Name, parse_name, quoted
from core_mondrian.sources.sql.open import connected, open_database
from core_mondrian.sources.sql.planning import TuplePlaces
from core_mondrian.sources.sql.recoding import Places
from core_mondrian.sources.sql.row_sample import find_concerns
from core_mondrian.sources.sql.target import (
    check_names,
    check_request,
    check_source,
    make_room,
    map_of,
    open_target,
    suppressed_of,
)
from core_mondrian.sources.sql.value_table import (
    Relation,
    ValueTable,
    count_cells,
    exact_cells,
    keep_rows,
    open_relation,
    open_source,
)
from core_mondrian.sources.tuple_counts import counted_columns
from core_mondrian.spec.declaration import Spec, check_look_alikes
from core_mondrian.tables.files.sizes import machine_memory
from core_mondrian.tables.frames import check_columns, open_frame
from core_mondrian.tables.keys import key_for
from core_mondrian.tables.pseudonyms import LENGTH
from core_mondrian.verification.verify import SHOWS_PSEUDONYM, Verification

Publish = Callable[[Release[str], Callable[[], None]], None]
"""Takes a verified release, and what commits it."""


@drops_context
@watched
def anonymize_sql(  # noqa: PLR0913  # one parameter an option of the command
    database: str | Path,
    source: str,
    target: str,
    spec: Spec,
    *,
    key: bytes | None = None,
    view: bool = False,
    overwrite: bool = False,
    memory: str | int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    by: Sequence[str] = (),
    needs_all: Sequence[str] = (),
    publish: Publish | None = None,
) -> Release[str]:
    """Make ``target`` of ``source`` inside a database, in one transaction.

    ``database`` is a DuckDB or SQLite file, or the address of a PostgreSQL server;
    ``source`` is a table, a view or a query. Rows are counted and recoded there; what
    becomes of them is decided here, as `anonymize` does. With ``view``, the target is
    a view of the source. If anything fails, the database is as it was.

    This process takes no more than ``memory``, such as "2GB" (None: what the machine
    has): distinct tuples that do not fit are put on disk. ``needs_all`` names what will
    be made of the release and takes all of them in memory, such as "a report".
    ``publish`` is called with the verified release and a function that commits it, for
    whoever has to do something together with that.

    Raises:
        SpecError: the spec does not fit the source, or the target exists.
        DataError: the source cannot be read, or a column not encoded.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: the finished release failed its own verification.
        MemoryLimitError: it cannot be done in ``memory``.
        OutputError: the target cannot be made.
    """
    check_threads(threads)
    secret = key_for(key, spec.pseudonyms)
    limit = Limit(machine_memory() if memory is None else parse_size(memory))
    opened = open_database(database)
    check_request(opened, spec, view=view)
    asked = (by,) if isinstance(by, str) else tuple(by)
    n_threads = n_cores() if threads is None else threads
    # What DuckDB takes for the source's rows is not there for tuples.
    share = limit.duckdb
    here = Limit(limit.size - share) if opened.shares_memory else limit
    with connected(opened, share, n_threads) as folder:
        disk = DiskUse(folder)
        planner = Planner(
            spec=spec,
            key=secret,
            limit=here,
            stages=watch(limit, progress, disk),
            threads=n_threads,
            folder=folder,
            by=asked,
            needs_all=tuple(needs_all),
        )
        run = _Run(opened, planner, source, is_view=view)
        release = run.make(target, publish or _commit, overwrite=overwrite)
    return replace(release, disk_bytes=disk.peak)


def _commit(release: Release[str], commit: Callable[[], None]) -> None:
    del release
    commit()


@dataclass(frozen=True)
class _Run:
    """A connection, and what is asked."""

    database: Database
    planner: Planner
    source: str
    is_view: bool

    @property
    def spec(self) -> Spec:
        return self.planner.spec

    @property
    def stages(self) -> Stages:
        return self.planner.stages

    def make(self, target: str, publish: Publish, *, overwrite: bool) -> Release[str]:
        """Count, plan, make the target, check it, and commit."""
        database = self.database
        with naming(database, "read the source"):
            name = open_target(database, target, self.spec, overwrite=overwrite)
            found = open_source(database, self.source)
            check_source(database, found, name, self.spec)
            rows = found if self.is_view else self._keep_rows(found)
            counted = self._count(rows)
            planned = TuplePlaces.make(self.planner, counted)
        with naming(database, "make the target", OutputError):
            rights = make_room(database, name, self.spec) if overwrite else None
            work = _Work(self, rows, counted, planned, name)
            release = work.carry_out(parse_name(target, "the target"))
            if rights is not None:
                database.grant(name, rights)
            publish(release, database.commit)
        return release

    def _keep_rows(self, source: Relation) -> Relation:
        report = self.stages.report("read")
        kept = keep_rows(self.database, self.source, source, report)
        self.stages.end("read")
        return kept

    def _count(self, source: Relation) -> ValueTable:
        report = self.stages.report("count")
        empty = pa.table({name: pa.nulls(0) for name in source.names})
        check_columns(open_frame(empty), self.spec.columns)
        check_look_alikes(self.spec, source.names)
        counted = count_cells(
            self.database,
            self.database.temporary("counted"),
            exact_cells(self.database, source, counted_columns(self.spec)),
            source.rows,
            report=report,
        )
        self.stages.end("count")
        return counted


@dataclass(frozen=True)
class _Work:
    """A plan to be carried out."""

    run: _Run
    source: Relation
    counted: ValueTable
    planned: TuplePlaces
    target: Name

    @property
    def database(self) -> Database:
        return self.run.database

    @property
    def plan(self) -> RowPlan:
        return self.planned.plan

    def carry_out(self, name: Name) -> Release[str]:
        """Make the target, check it, and report what was done.

        ``name`` is the target as it was asked for.
        """
        stages, plan, planner = self.run.stages, self.plan, self.run.planner
        report = stages.report("recode")
        outputs = outputs_of(self.database, self.source, self.planned)
        check_names(self.database, [item.column.name for item in outputs])
        maker = MapMaker(
            database=self.database,
            source=self.source,
            planned=self.planned,
            name_of=self._name_of,
            folder=planner.folder,
            limit=planner.limit,
        )
        places = maker.make(self.counted)
        joins = f"{places.with_shown} {maker.join_pseudonyms()}"
        made = self._make(places, outputs, joins, report)
        is_separate = plan.spec.suppressed == "separate"
        if is_separate:
            self._set_apart(places)
        stages.end("recode")
        stages.report("verify")
        verification = self._verify(made, outputs)
        stages.end("verify")
        stages.report("warn")
        concerns = find_concerns(places, plan)
        stages.end("warn")
        return plan.release(
            name.text,
            verification,
            by=planner.by,
            suppressed=suppressed_of(name).text if is_separate else None,
            carried=tuple(plan.spec.carried(self.source.names)),
            spent=stages.spent,
            warnings=concerns,
        )

    def _name_of(self, table: str) -> Name:
        if self.run.is_view:
            return map_of(self.target, table)
        return self.database.temporary(table)

    def _make(
        self,
        places: Places,
        outputs: list[Cell],
        joins: str,
        report: Callable[[float], None],
    ) -> Relation:
        """Make the target, and return what to look at to check it."""
        unit = self._unit
        columns = [item.column for item in outputs]
        if self.run.is_view:
            joins = f"{joins} WHERE {places.unchanged}"
            query = places.select_mixed(cells_of(outputs), joins)
            self.database.run(f"CREATE VIEW {self.target.sql} AS {query}")
            checked = places.select(cells_of([*outputs, *unit]), joins)
            return open_relation(self.database, f"({checked}) AS q")
        throughput = Throughput(report)

        def step(done: float) -> None:
            n_rows = round(done * self.plan.n_rows)
            throughput.step(n_rows - throughput.n_rows, done)

        query = places.select_mixed(cells_of([*outputs, *unit]), joins)
        if not unit:
            self.database.create(self.target, columns, query, step)
            return open_relation(self.database, self.target.sql)
        # Persons are counted before they are taken out.
        whole = self.database.temporary("release")
        self.database.create(whole, [*columns, *(x.column for x in unit)], query, step)
        names = ", ".join(quoted(column.name) for column in columns)
        kept = f"SELECT {names} FROM {whole.sql}"
        self.database.create(self.target, columns, kept)
        return open_relation(self.database, whole.sql)

    @property
    def _unit(self) -> list[Cell]:
        """The column of the persons, if it is not released."""
        spec, source = self.plan.spec, self.source
        if spec.unit is None or not spec.is_unit_removed:
            return []
        return [Cell(source.column(spec.unit), source.cell(spec.unit))]

    def _set_apart(self, places: Places) -> None:
        """Keep the rows that are left out, as they are."""
        apart = suppressed_of(self.target)
        own = [Cell(x, self.source.cell(x.name)) for x in self.source.columns]
        query = places.select(cells_of(own), f"WHERE p.leaf = {SUPPRESSED}")
        self.database.create(apart, self.source.columns, query)
        self.database.protect(apart)
        if self._count_rows(apart.sql) != self.plan.n_suppressed:
            raise InternalError("the separate rows are not those that are suppressed")

    def _count_rows(self, table: str) -> int:
        return self.database.number(f"SELECT count(*) AS n FROM {table}")

    def _verify(self, made: Relation, outputs: list[Cell]) -> Verification:
        """Count what was made again, inside the database, and check it."""
        spec = self.plan.spec
        for name in spec.pseudonyms:
            self._check_pseudonyms(made, name)
        released = [item.column.name for item in outputs]
        cells = exact_cells(self.database, made, columns_of_models(spec, released))
        if spec.suppressed == "blank" and spec.pseudonyms:
            hidden = ", ".join(made.cell(name) for name in spec.pseudonyms)
            mark = f"CASE WHEN coalesce({hidden}, NULL) IS NOT NULL THEN 1 END"
            cells.append(Cell(Column(SHOWS_PSEUDONYM, "integer"), mark))
        table = self.database.temporary("checked")
        counted = count_cells(self.database, table, cells, made.rows)
        room = self.run.planner.limit.free // 3
        found = _CheckedRelease(counted, spec).verify(
            self.plan.requirements, released, room
        )
        if self._count_rows(self.target.sql) != found.n_rows:
            raise InternalError("the target has other rows than were checked")
        return found

    def _check_pseudonyms(self, made: Relation, name: str) -> None:
        cell = made.cell(name)
        n_others = self.database.number(
            f"SELECT count(*) AS n FROM {made.rows} WHERE length({cell}) <> {LENGTH} "
            f"OR ltrim({cell}, '0123456789abcdef') <> ''"
        )
        if n_others:
            raise PrivacyViolation(
                f"column {name!r} holds other things than pseudonyms"
            )


class _CheckedRelease(CountedRelease):
    """The different rows of a release, counted inside a database."""

    def __init__(self, counted: ValueTable, spec: Spec) -> None:
        self.spec, self.table = spec, counted.name.sql
        self.columns = [column.name for column in counted.columns]
        self._counted = counted

    def cell(self, name: str) -> str:
        return f"c{self.columns.index(name)}"

    def read(self, names: Sequence[str], n: str, more: str) -> Iterator[pa.Table]:
        places = [self.columns.index(name) for name in names]
        return self._counted.read(places, [n], more)

    def number(self, expression: str) -> int:
        sql = f"SELECT {expression} AS n FROM {self.table}"
        return self._counted.database.number(sql)
