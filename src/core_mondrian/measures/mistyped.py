"""Quasi-identifiers that are text although their values are numbers or dates.

Text is generalized as names, from a value straight to "*", while numbers and dates are
generalized to ranges. One odd value makes text of a whole column, often unnoticed.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.table import EncodedColumn, EncodedTable
from core_mondrian.measures.disclosure_warnings import DisclosureWarning
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.readings import CODE, NUMBER

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
        is_one = _is_number(texts) if kind == "number" else _matches(texts, _DATE)
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


def _is_number(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which texts are quantities; digits that are codes are none."""
    return _matches(texts, NUMBER) & ~_matches(texts, CODE)


def _matches(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    matches = pc.match_substring_regex(texts, pattern)
    return np.asarray(matches.to_numpy(zero_copy_only=False), dtype=np.bool_)
