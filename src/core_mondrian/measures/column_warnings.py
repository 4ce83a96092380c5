"""Warnings about quasi-identifiers: of the wrong type, or lost in nearly all rows.

Text is generalized as names, from a value straight to "*", while numbers and dates are
generalized to ranges. One odd value makes text of a whole column, often unnoticed.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.measures.disclosure_warnings import DisclosureWarning
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedColumn, EncodedTable, ReleasedClasses
from core_mondrian.tables.readings import CODE, NUMBER

LOST: Final = 0.95
"""Share of the released rows in which a column shows nothing of its value."""
_FEW: Final = 0.05
"""Share of the filled rows up to which other values look like mistakes."""
_TIME: Final = r"[ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?"
_DATE: Final = (
    rf"^\s*(\d{{4}}-\d{{1,2}}-\d{{1,2}}({_TIME})?"
    r"|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})\s*$"
)
_KINDS: Final = {
    "number": "name what stands for a missing value (null_values, --null), or store "
    "it as numbers",
    "date": "store it as dates (pandas: to_datetime), or as ISO 8601 in a CSV file",
}


def find_mistyped(table: EncodedTable, spec: Spec) -> tuple[DisclosureWarning, ...]:
    """Say which quasi-identifiers are text, and look as if they should not be."""
    return tuple(
        concern
        for place, column in enumerate(table.columns)
        if column.kind == "category" and column.name not in spec.hierarchies
        for concern in _look_at(column, table.code_rows(place)[:-1], spec)
    )


def _look_at(
    column: EncodedColumn, rows: NDArray[np.int64], spec: Spec
) -> Iterator[DisclosureWarning]:
    texts = pa.array(column.hierarchy.leaves if column.hierarchy else [], pa.string())
    n_rows = int(rows.sum())
    for kind, help_text in _KINDS.items():
        is_one = _matches(texts, NUMBER if kind == "number" else _DATE)
        if kind == "number":  # digits that are codes are no quantities
            is_one &= ~_matches(texts, CODE)
        n_other = int(rows[~is_one].sum())
        if not n_rows or n_other > _FEW * n_rows:
            continue
        others = f"all but {n_other:,} of {n_rows:,} rows" if n_other else "all rows"
        yield DisclosureWarning(
            column.name,
            "text",
            f"{column.name!r} is text, but {others} hold a {kind}: it is generalized "
            f"as names, not to ranges; {help_text}",
            share=round(n_other / n_rows, 4),
            accepted=column.name in spec.accept,
        )
        return


def _matches(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    matches = pc.match_substring_regex(texts, pattern)
    return np.asarray(matches.to_numpy(zero_copy_only=False), dtype=np.bool_)


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
