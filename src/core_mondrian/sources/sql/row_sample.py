"""What columns that pass through may give away, as far as the database has to say."""

import numpy as np
import pyarrow as pa

from core_mondrian.measures.disclosure_warnings import (
    DisclosureWarning,
    Repeats,
    RowSample,
    seen_columns,
)
from core_mondrian.measures.row_sample import distinct_rows, join_distinct_rows
from core_mondrian.recoding.plan import SUPPRESSED
from core_mondrian.sources.counted_release import repeats_query
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.sql.lookup_tables import upload
from core_mondrian.sources.sql.recoding import Places
from core_mondrian.sources.sql.value_table import ValueTable
from core_mondrian.spec.declaration import Spec


def find_concerns(places: Places, plan: RowPlan) -> tuple[DisclosureWarning, ...]:
    """Look at the rows that the plan picks, or all of a small table.

    Of these, the columns that are released as they are and the identifiers leave the
    database, for as long as they are counted.
    """
    database, source = places.database, places.source
    columns = [source.column(x) for x in seen_columns(plan.spec, source.names)]
    look = plan.look(source.names)
    leaves = np.flatnonzero(look.leaves).astype(np.int32)
    leaves[leaves == look.leaves.size - 1] = SUPPRESSED
    picked = upload(database, "looked_at", [pa.table({"leaf": leaves})])
    cells = [f"{source.cell(x.name)} AS c{i}" for i, x in enumerate(columns)]
    rows = places.select(
        [*cells, "p.tuple AS tuple", "p.leaf AS leaf"],
        f"JOIN {picked.sql} AS k ON k.leaf = p.leaf",
    )
    seen = ValueTable(database, database.temporary("seen"), tuple(columns))
    database.run(f"CREATE {seen.name.new_table} AS {rows}")
    every, sights = range(len(columns)), []
    for some in seen.read(every, ["tuple", "leaf"], as_they_come=True):
        tuples, own = (
            x.to_numpy().astype(np.int32) for x in some.columns[len(every) :]
        )
        named = {x.name: some.column(i) for i, x in enumerate(columns)}
        sights.append(distinct_rows(named, look.pieces(tuples, own)))
    looked = RowSample(
        tuple(source.names),
        join_distinct_rows(sights),
        lambda name: _count_repeats(places, name, plan.spec),
    )
    return look.find_concerns(looked)


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
    found = places.database.fetch(repeats_query(f"({rows}) AS r", unit))
    return Repeats(*(int(column[0].as_py() or 0) for column in found.columns))


def _ranked(places: Places, name: str) -> str:
    source = places.source
    return places.database.ranked(source.cell(name), source.column(name))
