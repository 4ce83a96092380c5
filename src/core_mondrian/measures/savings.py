"""What a hierarchy would have saved in columns that were released without one."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from core_mondrian.encoding.trees import count_profile, few_codes
from core_mondrian.hierarchies.learned import MOST_VALUES, Learned
from core_mondrian.measures.utility import Measures, tree_loss
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable, ReleasedClasses


@dataclass(frozen=True, slots=True)
class Saving:
    """What one column lost, and what the same classes would have lost otherwise."""

    name: str
    loss: float
    """As it was released: a label for all values that are not alone."""
    learned: float
    """With a learned hierarchy; cut with it in mind, classes lose less still."""
    as_set: float
    """As sets of values."""


def find_savings(
    table: EncodedTable,
    values: tuple[pa.Array, ...],
    classes: ReleasedClasses,
    spec: Spec,
    measures: Measures,
) -> tuple[Saving, ...]:
    """Return, for each category without a hierarchy, what one would have saved.

    The classes stay as they are. Columns with too many values to learn from are left
    out.
    """
    savings = []
    for q, (column, lost) in enumerate(
        zip(table.columns, measures.columns, strict=True)
    ):
        is_flat = column.kind == "category" and spec.is_flat(column.name)
        is_label = spec.categories_of(column.name) == "label"
        if not (is_flat and is_label) or column.n_values > MOST_VALUES:
            continue
        learned = tree_loss(_with_learned(table, values[q].to_pylist(), q), classes, q)
        if None not in (lost.ncp, learned, lost.ncp_set):
            savings.append(Saving(column.name, lost.ncp, learned, lost.ncp_set))  # type: ignore[arg-type]
    return tuple(savings)


def _with_learned(table: EncodedTable, texts: list[str], q: int) -> EncodedTable:
    """Return the table with column ``q`` in the order of a learned hierarchy."""
    rows, own = table.counts, table.columns[q]
    profiles = [
        count_profile(
            table.codes[:, q],
            own.n_values,
            few_codes(
                table.codes[:, i],
                other.n_values,
                rows,
                is_number=other.kind == "number",
            ),
            rows,
        )
        for i, other in enumerate(table.columns)
        if i != q
    ]
    tree = Learned().build(texts, profiles)
    number = {label: leaf for leaf, label in enumerate(tree.leaves)}
    leaf = np.array([*(number[text] for text in texts), own.n_values], dtype=np.int32)
    codes = table.codes.copy()
    codes[:, q] = leaf[codes[:, q]]
    columns = list(table.columns)
    columns[q] = replace(own, hierarchy=tree)
    return replace(table, columns=tuple(columns), codes=codes)
