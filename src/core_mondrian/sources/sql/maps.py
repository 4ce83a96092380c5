"""The plan inside the database: what becomes of every tuple, and what rows show."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.plan import SUPPRESSED, Place, Plan
from core_mondrian.pseudonyms import pseudonymize
from core_mondrian.sources.remote_plan import RemotePlan
from core_mondrian.sources.sql.base import Column, Database
from core_mondrian.sources.sql.names import Name
from core_mondrian.sources.sql.recoding import (
    Places,
    Relation,
    SplitRows,
    count_contents,
    count_tuples,
)
from core_mondrian.tables.cell_keys import cell_keys, combine_keys

COUNTED = "counted"
"""The temporary table of the source's tuples."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the release, and the expression that makes it."""

    column: Column
    cell: str


def make_maps(
    database: Database,
    source: Relation,
    planned: RemotePlan,
    name_of: Callable[[str], Name],
) -> Places:
    """Upload the plan; ``name_of`` says what its tables are called."""
    plan, counts = planned.plan, planned.counts
    counted = tuple(counts.values.column_names)
    leaves = {"id": np.arange(counts.rows.size), "tuple": plan.tuple_of}
    own, more = (
        database.temporary(COUNTED),
        upload(database, "leaves", pa.table({**leaves, "leaf": plan.leaf})),
    )
    tuples, classes = name_of("tuples"), name_of("classes")
    database.run(
        f"CREATE {tuples.new_table} AS SELECT a.*, b.tuple, b.leaf "
        f"FROM {own.sql} AS a JOIN {more.sql} AS b ON b.id = a.id"
    )
    cells = [f"c{i}" for i in range(len(counted))]
    database.index(tuples, cells, matched=True)
    shown = upload(database, "shown", _classes(database, plan))
    _keep(database, shown, classes)
    database.index(classes, ["leaf"])
    places = Places(database, source, counted, tuples, classes)
    if not plan.shares.n_rows:
        return places
    others = tuple(planned.spec.carried(source.names))
    contents, lots = name_of("contents"), name_of("lots")
    places = replace(places, split=SplitRows(others, contents, lots))
    found = count_contents(places, contents)
    _keep(database, upload(database, "drawn", _draw_lots(plan, *found)), lots)
    database.index(lots, ["content"])
    return places


def upload(database: Database, name: str, table: pa.Table) -> Name:
    """Upload a table whose first column it will be joined on."""
    database.upload(name, table)
    uploaded = database.temporary(name)
    database.index(uploaded, table.column_names[:1])
    return uploaded


def _keep(database: Database, uploaded: Name, name: Name) -> None:
    """Copy an uploaded table, which is temporary, under the name asked for."""
    database.run(f"CREATE {name.new_table} AS SELECT * FROM {uploaded.sql}")


def _draw_lots(
    plan: Plan, tuples: NDArray[np.int32], values: pa.Table, rows: NDArray[np.int64]
) -> pa.Table:
    """Say how many rows of each content go to which leaf, as in memory.

    Rows of one content are equal, and numbered from 1 on by the database: which of
    them is which makes no difference.

        content  leaf  low  high
           0       3    0     2        rows 1 and 2 of content 0 go to leaf 3,
           0       8    2     3        row 3 to leaf 8
    """
    hashed = combine_keys((cell_keys(x) for x in values.columns), rows.size)
    content = np.repeat(np.arange(rows.size), rows)
    place = plan.shares.allocate(tuples[content], hashed[content], plan.allocation_key)
    width = plan.grown.tree.n_classes + 1  # leaves, and SUPPRESSED before them
    pairs = content * width + plan.shares.leaf[place] - SUPPRESSED
    pairs, n = np.unique(pairs, return_counts=True)
    of, leaf = pairs // width, pairs % width + SUPPRESSED
    high = np.cumsum(n)
    is_first = np.diff(of, prepend=-1) > 0
    before = np.maximum.accumulate(np.where(is_first, high - n, 0))
    return pa.table(
        {
            "content": of,
            "tuple": tuples[of],
            "leaf": leaf.astype(np.int32),
            "low": high - n - before,
            "high": high - before,
        }
    )


def _classes(database: Database, plan: Plan) -> pa.Table:
    """Say what each leaf shows, in columns w0, w1, …; suppressed rows, if any, too."""
    shown = plan.shown
    leaf = np.arange(shown.num_rows, dtype=np.int32)
    if not plan.spec.leaves_out:
        leaf[-1] = SUPPRESSED
    cells = {f"w{i}": database.as_sql(x) for i, x in enumerate(shown.columns)}
    return pa.table({"leaf": leaf, **cells})


def outputs_of(
    database: Database, source: Relation, planned: RemotePlan
) -> list[Output]:
    """Return the columns of the release, in order."""
    places = planned.plan.places(source.names)
    return [_output(database, source, planned, place) for place in places]


def _output(
    database: Database, source: Relation, planned: RemotePlan, place: Place
) -> Output:
    plan, spec = planned.plan, planned.spec
    if place.how == "shown":
        return _shown(database, source, planned, place)
    name = place.name
    cell, column = source.cell(name), source.column(name)
    if place.how == "pseudonym":
        cell = f"h{spec.pseudonyms.index(name)}.hidden"
        column = Column(name, database.kind_of(pa.string()))
    if not spec.leaves_out and plan.n_suppressed:
        # Fewer than k rows are suppressed: what they show would be somebody's.
        cell = f"CASE WHEN p.leaf = {SUPPRESSED} THEN NULL ELSE {cell} END"
    return Output(column, cell)


def _shown(
    database: Database, source: Relation, planned: RemotePlan, place: Place
) -> Output:
    shown, values = planned.plan.shown.schema, planned.counts.values.schema
    cell = f"w.w{shown.names.index(place.name)}"
    kind = shown.field(place.name).type
    own = None if place.source is None else values.field(place.source).type
    if place.source is None or kind != own or _is_text(kind):
        return Output(Column(place.name, database.kind_of(kind)), cell)
    column = source.column(place.source)
    return Output(Column(place.name, column.kind), database.cast(cell, column))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind))


def join_pseudonyms(database: Database, source: Relation, plan: Plan) -> str:
    """Make tables of pseudonyms, and return what joins them: h0, h1 and so on."""
    joins = []
    for i, name in enumerate(plan.spec.pseudonyms):
        counted = f"known_{i}"
        values, _ = count_tuples(database, source, [name], counted)
        key = plan.spec.domain_key(name, plan.key)
        hidden = pseudonymize(values.column(0), name, key)
        ids = {"id": np.arange(len(hidden)), "hidden": hidden}
        more = upload(database, f"hidden_{i}", pa.table(ids))
        table, own = database.temporary(f"names_{i}"), database.temporary(counted)
        database.run(
            f"CREATE {table.new_table} AS SELECT a.c0, b.hidden "
            f"FROM {own.sql} AS a JOIN {more.sql} AS b ON b.id = a.id"
        )
        database.index(table, ["c0"])
        cell = database.exact(source.cell(name), source.column(name))
        joins.append(f"LEFT JOIN {table.sql} AS h{i} ON h{i}.c0 = {cell}")
    return " ".join(joins)
