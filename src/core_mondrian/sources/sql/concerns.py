"""What columns that pass through may give away, as far as the database has to tell."""

from typing import Final

import numpy as np
import pyarrow as pa

from core_mondrian.errors import DataError
from core_mondrian.measure.concerns import Concern, Repeats, seen_columns
from core_mondrian.plan import SUPPRESSED
from core_mondrian.sources.remote_plan import RemotePlan
from core_mondrian.sources.sql.base import Column, Database
from core_mondrian.sources.sql.maps import upload
from core_mondrian.sources.sql.recoding import Places
from core_mondrian.spec import Spec


def find_concerns(places: Places, planned: RemotePlan) -> tuple[Concern, ...]:
    """Look at the rows that `RemotePlan.looked_at` picks, or all of a small table.

    Of these, the columns that are released as they are and the identifiers leave the
    database, for as long as they are counted.
    """
    database, source, spec = places.database, places.source, planned.spec
    plan, seen = planned.plan, seen_columns(spec, source.names)
    cells = [
        f"{database.readable(source.cell(x), source.column(x))} AS y{i}"
        for i, x in enumerate(seen)
    ]
    picked = planned.looked_at(source.names)
    every = np.append(np.arange(picked.size - 1), SUPPRESSED).astype(np.int32)
    looked = upload(database, "looked_at", pa.table({"leaf": every[picked]}))
    more = f"JOIN {looked.sql} AS k ON k.leaf = p.leaf"
    n_rows = int(plan.pieces.counts[picked[plan.leaf_of_piece]].sum())
    found = database.fetch(places.select([*cells, "p.tuple", "p.leaf"], more), n_rows)
    rows = {name: pa.nulls(found.num_rows) for name in source.names}
    for i, name in enumerate(seen):
        rows[name] = _values(database, found.column(i), source.column(name))
    tuples, leaves = (x.cast(pa.int32()).to_numpy() for x in found.columns[-2:])
    return planned.find_concerns(
        *(pa.table(rows), tuples, leaves),
        lambda name: _count_repeats(places, name, spec),
    )


def _values(
    database: Database, cells: pa.ChunkedArray, column: Column
) -> pa.ChunkedArray:
    """Return cells in their own type; what the engine cannot read may be anything."""
    try:
        return database.as_arrow(cells, column)
    except DataError:
        return pa.chunked_array([pa.nulls(len(cells))])


def _count_repeats(places: Places, name: str, spec: Spec) -> Repeats:
    """Count how far the values of a column repeat in all released rows.

    Of a column that is removed, all rows are counted.
    """
    source = places.source
    is_removed = name in spec.removed
    unit = None if is_removed else spec.unit
    cells = [f"{_ranked(places, name)} AS v"]
    cells.append(f"{'0' if unit is None else _ranked(places, unit)} AS u")
    is_present = places.database.present(source.cell(name), source.column(name))
    if is_removed:
        rows = f"SELECT {', '.join(cells)} FROM {source.rows} WHERE {is_present}"
    else:
        is_blanked = name in (*spec.sensitive, *spec.pseudonyms)
        least = 0 if spec.leaves_out or is_blanked else SUPPRESSED
        rows = places.select(cells, f"WHERE p.leaf >= {least} AND {is_present}")
    query = _REPEATS_OF_ROWS if unit is None else _REPEATS_OF_PERSONS
    found = places.database.fetch(query.format(rows=rows))
    return Repeats(*(int(column[0].as_py() or 0) for column in found.columns))


_REPEATS_OF_ROWS: Final = (
    "SELECT sum(n) AS a, count(*) AS b, sum(CASE WHEN n = 1 THEN 1 ELSE 0 END) AS c "
    "FROM (SELECT count(*) AS n FROM ({rows}) AS r GROUP BY v) AS f"
)
_REPEATS_OF_PERSONS: Final = (
    "WITH d AS (SELECT DISTINCT v, u FROM ({rows}) AS r), "
    "w AS (SELECT v, u, count(*) OVER (PARTITION BY v) AS n FROM d) "
    "SELECT (SELECT count(*) FROM (SELECT DISTINCT u FROM w) AS x) AS a, "
    "(SELECT count(DISTINCT v) FROM w) AS b, "
    "(SELECT count(*) FROM (SELECT DISTINCT u FROM w WHERE n = 1) AS y) AS c"
)


def _ranked(places: Places, name: str) -> str:
    source = places.source
    return places.database.ranked(source.cell(name), source.column(name))
