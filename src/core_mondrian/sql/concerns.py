"""What columns that pass through may give away, as far as the database has to tell."""

import numpy as np
import pyarrow as pa

from core_mondrian.counted import CountedPlan
from core_mondrian.errors import DataError
from core_mondrian.measure.concerns import Concern, Repeats
from core_mondrian.plan import SUPPRESSED
from core_mondrian.sql.base import Column, Database
from core_mondrian.sql.maps import upload
from core_mondrian.sql.recoding import Places

_MOST_REPEATS = 1 << 16
"""Different numbers of rows that values have, or more: a row each."""


def find_concerns(places: Places, planned: CountedPlan) -> tuple[Concern, ...]:
    """Look at the rows that `CountedPlan.looked_at` picks, or all of a small table.

    Of these, the columns that are released as they are leave the database.
    """
    database, source, spec = places.database, places.source, planned.spec
    names = [*spec.carried(source.names), *spec.sensitive]
    seen = [name for name in names if name not in spec.pseudonyms]
    cells = [
        f"{database.readable(source.cell(x), source.column(x))} AS y{i}"
        for i, x in enumerate(seen)
    ]
    more, n_rows = f"WHERE p.leaf >= {SUPPRESSED}", planned.counts.n_rows
    picked = planned.looked_at()
    if picked is not None:
        tuples = np.unique(planned.plan.tuple_of[picked])
        looked = upload(database, "looked_at", pa.table({"tuple": tuples}))
        more = f"JOIN {looked.sql} AS k ON k.tuple = p.tuple {more}"
        n_rows = int(planned.counts.rows[picked].sum())
    found = database.fetch(places.select([*cells, "p.tuple", "p.leaf"], more), n_rows)
    rows = {name: pa.nulls(found.num_rows) for name in source.names}
    for i, name in enumerate(seen):
        rows[name] = _values(database, found.column(i), source.column(name))
    tuples, leaves = (x.cast(pa.int32()).to_numpy() for x in found.columns[-2:])
    return planned.find_concerns(
        *(pa.table(rows), tuples, leaves), lambda name: _count_repeats(places, name)
    )


def _values(
    database: Database, cells: pa.ChunkedArray, column: Column
) -> pa.ChunkedArray:
    """Return cells in their own type; what the engine cannot read may be anything."""
    try:
        return database.as_arrow(cells, column)
    except DataError:
        return pa.chunked_array([pa.nulls(len(cells))])


def _count_repeats(places: Places, name: str) -> Repeats:
    """Count how often the values of a column of the whole source occur."""
    database, source = places.database, places.source
    cell, column = source.cell(name), source.column(name)
    each = (
        f"SELECT count(*) AS n FROM {source.rows} "
        f"WHERE {database.present(cell, column)} "
        f"GROUP BY {database.ranked(cell, column)}"
    )
    found = database.fetch(
        f"SELECT n, count(*) AS m FROM ({each}) AS e GROUP BY n ORDER BY n",
        _MOST_REPEATS,
    )
    rows, values = (x.cast(pa.int64()).to_numpy() for x in found.columns)
    return Repeats(rows, values)
