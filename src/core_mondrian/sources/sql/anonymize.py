"""anonymize_sql(): a table in a database in, a verified release beside it out."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from core_mondrian.api import check_threads
from core_mondrian.errors import (
    InternalError,
    OutputError,
    PrivacyViolation,
    drops_context,
)
from core_mondrian.frames import check_columns, open_frame
from core_mondrian.measure.verify import Verification
from core_mondrian.plan import SUPPRESSED
from core_mondrian.progress import Progress, watched
from core_mondrian.pseudonyms import LENGTH
from core_mondrian.release import Release
from core_mondrian.sources.remote_plan import RemotePlan, make_plan
from core_mondrian.sources.sql.base import Database, telling
from core_mondrian.sources.sql.concerns import find_concerns
from core_mondrian.sources.sql.maps import (
    COUNTED,
    Output,
    join_pseudonyms,
    make_maps,
    outputs_of,
)
from core_mondrian.sources.sql.names import Name, quoted
from core_mondrian.sources.sql.open import open_database
from core_mondrian.sources.sql.recoding import (
    Places,
    Relation,
    count_rows,
    count_tuples,
    open_relation,
)
from core_mondrian.sources.sql.source import open_source
from core_mondrian.sources.sql.target import (
    check_names,
    check_request,
    make_room,
    map_of,
    open_target,
    suppressed_of,
)
from core_mondrian.sources.tuple_counts import TupleCounts, counted_columns
from core_mondrian.spec import Spec, check_look_alikes
from core_mondrian.stages import Stages
from core_mondrian.tables.keys import key_for


@drops_context
@watched
def anonymize_sql(  # noqa: PLR0913
    database: str | Path,
    source: str,
    target: str,
    spec: Spec,
    *,
    key: bytes | None = None,
    view: bool = False,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    by: Sequence[str] = (),
) -> Release[str]:
    """Make ``target`` of ``source`` inside a database, in one transaction.

    ``database`` is a DuckDB or SQLite file, or the address of a PostgreSQL server;
    ``source`` is a table, a view or a query. Rows are counted and recoded there; what
    becomes of them is decided here, as `anonymize` does. With ``view``, the target is
    a view of the source. If anything fails, the database is as it was.

    Raises:
        SpecError: the spec does not fit the source, or the target exists.
        DataError: the source cannot be read, or a column not encoded.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: the finished release failed its own verification.
        OutputError: the target cannot be made.
    """
    check_threads(threads)
    secret = key_for(key, spec.pseudonyms)
    stages = Stages(progress)
    with closing(open_database(database, threads)) as opened:
        check_request(opened, spec, view=view)
        with telling(opened, "open the database"):
            opened.begin()
        with telling(opened, "read the source"):
            name = open_target(opened, target, spec, overwrite=overwrite)
            relation = open_source(opened, source, is_live=view)
            counts = _count(opened, relation, spec, stages)
        asked = [by] if isinstance(by, str) else list(by)
        planned = make_plan(
            *(counts, spec, secret), by=asked, threads=threads, stages=stages
        )
        work = _Work(opened, relation, planned, name, is_view=view)
        with telling(opened, "make the target", OutputError):
            if overwrite:
                make_room(opened, name, spec)
            release = work.carry_out(stages, asked)
            opened.commit()
    return release


def _count(
    database: Database, source: Relation, spec: Spec, stages: Stages
) -> TupleCounts:
    stages.report("count")
    empty = pa.table({name: pa.nulls(0) for name in source.names})
    check_columns(open_frame(empty), spec.columns)
    check_look_alikes(spec, source.names)
    counted = count_tuples(database, source, counted_columns(spec), COUNTED)
    stages.end("count")
    return TupleCounts(*counted)


@dataclass(frozen=True, slots=True)
class _Work:
    """A plan to be carried out."""

    database: Database
    source: Relation
    planned: RemotePlan
    target: Name
    is_view: bool

    def carry_out(self, stages: Stages, by: Sequence[str]) -> Release[str]:
        """Make the target, check it, and say what was done."""
        stages.report("recode")
        outputs = outputs_of(self.database, self.source, self.planned)
        check_names(self.database, [item.column.name for item in outputs])
        places = make_maps(self.database, self.source, self.planned, self._name_of)
        hidden = join_pseudonyms(self.database, self.source, self.planned.plan)
        made = self._make(places, outputs, f"{places.with_shown} {hidden}")
        apart = self._set_apart(places)
        stages.end("recode")
        stages.report("verify")
        found = self._verify(made, outputs)
        stages.end("verify")
        stages.report("warn")
        concerns = find_concerns(places, self.planned)
        stages.end("warn")
        return self.planned.release(
            *(self.target.text, found),
            by=by,
            suppressed=apart,
            carried=tuple(self.planned.spec.carried(self.source.names)),
            spent=stages.spent,
            warnings=concerns,
        )

    def _name_of(self, table: str) -> Name:
        if self.is_view:
            return map_of(self.target, table)
        return self.database.temporary(table)

    def _make(self, places: Places, outputs: list[Output], joins: str) -> Relation:
        """Make the target, and return what to look at to check it."""
        unit = self._unit
        columns = [item.column for item in outputs]
        if self.is_view:
            joins = f"{joins} WHERE {places.unchanged}"
            query = places.select_mixed(_cells(outputs), joins)
            self.database.run(f"CREATE VIEW {self.target.sql} AS {query}")
            checked = places.select(_cells([*outputs, *unit]), joins)
            return open_relation(self.database, f"({checked}) AS q")
        query = places.select_mixed(_cells([*outputs, *unit]), joins)
        if not unit:
            self.database.create(self.target, columns, query)
            return open_relation(self.database, self.target.sql)
        # Persons are counted before they are taken out.
        whole = self.database.temporary("release")
        self.database.create(whole, [*columns, *(x.column for x in unit)], query)
        names = ", ".join(quoted(column.name) for column in columns)
        kept = f"SELECT {names} FROM {whole.sql}"
        self.database.create(self.target, columns, kept)
        return open_relation(self.database, whole.sql)

    @property
    def _unit(self) -> list[Output]:
        """The column of the persons, if it is not released."""
        spec, source = self.planned.spec, self.source
        if spec.unit is None or not spec.is_unit_removed:
            return []
        return [Output(source.column(spec.unit), source.cell(spec.unit))]

    def _set_apart(self, places: Places) -> str | None:
        """Keep the rows that are left out, as they are, if asked to."""
        plan = self.planned.plan
        if self.planned.spec.suppressed != "apart":
            return None
        apart = suppressed_of(self.target)
        own = [Output(x, self.source.cell(x.name)) for x in self.source.columns]
        query = places.select(_cells(own), f"WHERE p.leaf = {SUPPRESSED}")
        self.database.create(apart, self.source.columns, query)
        self.database.protect(apart)
        if count_rows(self.database, apart.sql) != plan.n_suppressed:
            raise InternalError("rows set apart are not those that are suppressed")
        return apart.text

    def _verify(self, made: Relation, outputs: list[Output]) -> Verification:
        """Count what was made again, inside the database, and check it."""
        plan, spec = self.planned.plan, self.planned.spec
        shown = [
            place.name
            for place in plan.places(self.source.names)
            if place.how == "shown"
        ]
        unit = () if spec.unit is None else (spec.unit,)
        names = list(dict.fromkeys((*shown, *spec.sensitive, *unit)))
        for name in spec.pseudonyms:
            self._check_pseudonyms(made, name)
        self._check_blank(made, [*shown, *spec.sensitive])
        values, rows = count_tuples(self.database, made, names, "checked")
        released = [item.column.name for item in outputs]
        found = self.planned.verify(values, rows, released)
        if count_rows(self.database, self.target.sql) != found.n_rows:
            raise InternalError("the target has other rows than were checked")
        return found

    def _check_blank(self, made: Relation, shown: Sequence[str]) -> None:
        """Refuse suppressed rows that still show a pseudonym."""
        plan, spec = self.planned.plan, self.planned.spec
        if spec.leaves_out or not spec.pseudonyms:
            return
        names = (*shown, *spec.pseudonyms)
        empty = " AND ".join(f"{made.cell(name)} IS NULL" for name in names)
        found = self.database.fetch(
            f"SELECT count(*) AS n FROM {made.rows} WHERE {empty}"
        )
        if int(found[0][0].as_py()) < plan.n_suppressed:
            raise PrivacyViolation("suppressed rows still show a pseudonym")

    def _check_pseudonyms(self, made: Relation, name: str) -> None:
        cell = made.cell(name)
        n_others = self.database.fetch(
            f"SELECT count(*) AS n FROM {made.rows} WHERE length({cell}) <> {LENGTH} "
            f"OR ltrim({cell}, '0123456789abcdef') <> ''"
        )
        if n_others[0][0].as_py():
            raise PrivacyViolation(
                f"column {name!r} holds other things than pseudonyms"
            )


def _cells(outputs: Sequence[Output]) -> list[str]:
    return [f"{item.cell} AS {quoted(item.column.name)}" for item in outputs]
