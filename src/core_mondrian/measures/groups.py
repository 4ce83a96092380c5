"""Loss by group: who pays for the privacy of all."""

import json
import math
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from core_mondrian.errors import SpecError
from core_mondrian.measures.cells import (
    cells_of,
    divide,
    group_tuples,
    own_penalty,
    penalties,
)
from core_mondrian.runtime.array_types import Integers
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.encoded import EncodedTable, ReleasedClasses
from core_mondrian.tables.files.cells import unified_texts
from core_mondrian.tables.frames import OpenFrame
from core_mondrian.verification.counting import Coded, code_series

MOST_GROUPS = 100
MISSING = "missing"
OTHERS = "others"
# Models may ask for no size at all; what one person alone has is not named even then.
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class GroupMeasures:
    """What one group of rows lost."""

    group: str
    """The value its rows share; values of fewer people than a class has are others."""
    n_rows: int
    n_suppressed: int
    share_suppressed: float
    loss: float
    """As `Measures.loss`, of these rows alone: a suppressed row has lost everything."""
    ratio: float | None
    """The same, relative to the loss of all rows; None: nothing was lost."""
    columns: dict[str, float]
    """What is lost in each quasi-identifier (NCP)."""

    def to_json(self) -> JsonObject:
        """Return plain values."""
        result: JsonObject = json.loads(json.dumps(asdict(self)))
        return result


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How many rows of each tuple are in each group, where there are any."""

    labels: tuple[str, ...]
    tuple_of: Integers
    group: Integers
    rows: Integers


def count_groups(
    frame: OpenFrame,
    column: str,
    row_tuple: NDArray[np.int32],
    spec: Spec,
    counts: Integers | None = None,
) -> GroupCounts:
    """Count the rows of each tuple by the values of a column.

    ``counts`` says how many rows each row of ``frame`` stands for; None: for itself.

    Values that fewer people have than a class needs are not distinguished, nor named.

        value    f   m   x        large   yes  yes  no
        number   0   1   2        labels  f, m, others
        pairs    tuple * 3 + number, and how many rows have each

    Raises:
        SpecError: more than `MOST_GROUPS` values are left.
    """
    read = partial(unified_texts, null_values=spec.null_values)
    coded = code_series(frame[column], ordered=True, read=read)
    rows = np.bincount(coded.codes, counts, coded.n_codes).astype(np.int64)
    large = _count_people(frame, coded, spec, rows) >= max(spec.min_rows, _FEWEST)
    if np.count_nonzero(large) > MOST_GROUPS:
        raise SpecError(
            f"column {column!r} has too many values for groups",
            hint=f"at most {MOST_GROUPS}; name a column such as sex or an age group",
        )
    named = [*(str(label) for label in coded.labels), MISSING]
    labels = [named[i] for i in np.flatnonzero(large).tolist()]
    number = np.where(large, np.cumsum(large) - 1, len(labels))
    if rows[~large].sum():
        labels.append(OTHERS)
    n_groups = max(len(labels), 1)
    pairs = row_tuple.astype(np.int64) * n_groups + number[coded.codes]
    distinct, owner = np.unique(pairs, return_inverse=True)
    total = np.bincount(owner, counts, distinct.size).astype(np.int64)
    return GroupCounts(tuple(labels), *np.divmod(distinct, n_groups), total)


def _count_people(
    frame: OpenFrame, coded: Coded, spec: Spec, rows: Integers
) -> Integers:
    """Return how many people have each value: rows, or units where there are any."""
    if spec.unit is None:
        return rows
    read = partial(unified_texts, null_values=spec.null_values)
    units = code_series(frame[spec.unit], read=read)
    pairs = np.unique(coded.codes * units.n_codes + units.codes)
    return np.bincount(pairs // units.n_codes, minlength=coded.n_codes)


def measure_groups(
    table: EncodedTable, classes: ReleasedClasses, spec: Spec, groups: GroupCounts
) -> tuple[GroupMeasures, ...]:
    """Return what each group lost, those of most rows first."""
    owner = classes.of_tuple[groups.tuple_of]
    released = owner >= 0
    n_groups = len(groups.labels)
    n_rows = np.bincount(groups.group, weights=groups.rows, minlength=n_groups)
    lost = np.bincount(
        groups.group[~released], weights=groups.rows[~released], minlength=n_groups
    )
    grouping = group_tuples(table, classes, None)
    by_column = {}
    for cells in cells_of(table, classes, grouping):
        penalty = own_penalty(cells, penalties(cells, grouping), spec)
        each = penalty[owner[released]] * groups.rows[released]
        sums = np.bincount(groups.group[released], weights=each, minlength=n_groups)
        by_column[cells.column.name] = (sums + lost) / n_rows
    losses = _weighed(by_column, spec)
    mean = math.fsum((losses * n_rows).tolist()) / max(n_rows.sum(), 1.0)
    order = np.argsort(-n_rows, kind="stable").tolist()
    return tuple(
        GroupMeasures(
            group=groups.labels[i],
            n_rows=int(n_rows[i]),
            n_suppressed=int(lost[i]),
            share_suppressed=float(lost[i] / n_rows[i]),
            loss=float(losses[i]),
            ratio=divide(float(losses[i]), mean),
            columns={
                name: float(losses_by_group[i])
                for name, losses_by_group in by_column.items()
            },
        )
        for i in order
    )


def _weighed(
    by_column: dict[str, NDArray[np.float64]], spec: Spec
) -> NDArray[np.float64]:
    heaviest = max(spec.weight_of(name) for name in by_column)
    weights = {name: spec.weight_of(name) / heaviest for name in by_column}
    total: NDArray[np.float64] = sum(
        (lost * weights[name] for name, lost in by_column.items()),
        start=np.zeros(1),
    )
    return total / math.fsum(weights.values())
