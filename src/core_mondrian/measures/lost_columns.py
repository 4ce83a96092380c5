"""Quasi-identifiers of which a release shows almost nothing, and what would help."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedColumn, EncodedTable
from core_mondrian.measures.disclosure_warnings import DisclosureWarning
from core_mondrian.recoding.classes import ReleasedClasses
from core_mondrian.spec.declaration import Spec

LOST = 0.95
"""Share of the released rows in which a column shows nothing of its value."""


def find_lost(
    table: EncodedTable, classes: ReleasedClasses, spec: Spec
) -> Iterator[DisclosureWarning]:
    """Say which quasi-identifiers show the same range or label in nearly all rows."""
    n_rows = int(classes.rows.sum())
    for place, column in enumerate(table.columns):
        if not n_rows or column.n_values < 2:
            continue
        n = int(classes.rows[_shows_nothing(table, classes, place)].sum())
        if n < LOST * n_rows:
            continue
        yield DisclosureWarning(
            column.name,
            "lost",
            f"{column.name!r} shows nothing of its values in {n:,} of {n_rows:,} rows: "
            f"{_help(column, spec)}",
            share=round(n / n_rows, 4),
            accepted=column.name in spec.accept,
        )


def _shows_nothing(
    table: EncodedTable, classes: ReleasedClasses, place: int
) -> NDArray[np.bool_]:
    """Return which classes show the whole of a column: its root, or its range."""
    shows_nothing: NDArray[np.bool_]
    nodes, column = classes.nodes[place], table.columns[place]
    if nodes is not None:
        shows_nothing = nodes <= 0  # the root, or blank
        return shows_nothing
    codes = table.codes[:, place]
    of_tuple = classes.of_tuple

    def holds(is_held: NDArray[np.bool_]) -> NDArray[np.bool_]:
        # The last place is that of suppressed tuples: -1.
        held = np.zeros(classes.n_classes + 1, dtype=np.bool_)
        held[of_tuple[is_held]] = True
        return held[:-1]

    is_blank = ~holds(codes < column.missing)
    shows_nothing = is_blank | (holds(codes == 0) & holds(codes == column.n_values - 1))
    return shows_nothing


def _help(column: EncodedColumn, spec: Spec) -> str:
    if column.kind == "category" and column.name not in spec.hierarchies:
        return "give it a hierarchy, or a smaller k, or drop other quasi-identifiers"
    return "raise its weight, take a smaller k, or drop other quasi-identifiers"
