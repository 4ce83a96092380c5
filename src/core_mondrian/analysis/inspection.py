"""Look at a table before choosing its quasi-identifiers; no cell is shown."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from core_mondrian.errors import drops_context
from core_mondrian.runtime.array_types import ArrowType
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.runtime.progress import Progress, Steps
from core_mondrian.verification.counting import (
    NEARLY_UNIQUE,
    Coded,
    class_sizes,
    code_column,
    combine,
    compress,
)

_MOST_CANDIDATES: Final = 24
"""Columns tried in growing sets: those with most values; bounds the work."""
_LONGEST_SET: Final = 6


@dataclass(frozen=True, slots=True)
class InspectedColumn:
    """What a column looks like from outside."""

    name: str
    type: str
    n_missing: int
    n_distinct: int | None
    """Values that occur, without missing; None: this type has no such count."""
    n_unique_rows: int | None
    """Rows whose value nobody else has."""
    is_nearly_unique: bool
    """Nearly every row has a value of its own: likely an identifier."""


@dataclass(frozen=True, slots=True)
class ColumnSet:
    """Columns that together make rows unique."""

    columns: tuple[str, ...]
    n_unique_rows: int
    n_classes: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a person needs before choosing quasi-identifiers."""

    n_rows: int
    columns: tuple[InspectedColumn, ...]
    growing: tuple[ColumnSet, ...]
    """The column that makes most rows unique, then the pair with it that does, …;
    without columns that look like identifiers."""

    def to_json(self) -> JsonObject:
        """Return plain values."""
        plain = asdict(self)
        return {**plain, "growing": [_listed(step) for step in plain["growing"]]}


def _listed(step: JsonMapping) -> JsonObject:
    return {**step, "columns": list(step["columns"])}


@drops_context
def inspect_table(table: pa.Table, progress: Progress | None = None) -> Inspection:
    """Count values, missing cells and unique rows, by column and by growing set."""
    # Growing sets take about as long as all columns by themselves.
    shares = [*(1.0 for _ in table.column_names), float(table.num_columns)]
    end = Steps(progress, "counting", shares).end
    columns: list[InspectedColumn] = []
    candidates: dict[str, Coded] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = _kind(field.type)
        if pa.types.is_nested(field.type):
            columns.append(end(_uncounted(field.name, kind, column.null_count)))
            continue
        coded = _without_unused(code_column(column))
        described = end(_describe(field.name, kind, coded))
        columns.append(described)
        if not described.is_nearly_unique and described.n_distinct:
            candidates[field.name] = coded
    growing = end(_grow(_with_most_values(candidates), table.num_rows))
    return Inspection(table.num_rows, tuple(columns), growing)


def _kind(kind: ArrowType) -> str:
    return str(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _without_unused(column: Coded) -> Coded:
    """Drop codes no row has; missing stays the last one."""
    used = np.bincount(column.codes, minlength=column.n_codes) > 0
    used[-1] = True
    numbers = np.cumsum(used) - 1
    return Coded(numbers[column.codes], int(np.count_nonzero(used)))


def _uncounted(name: str, kind: str, n_missing: int) -> InspectedColumn:
    return InspectedColumn(name, kind, n_missing, None, None, is_nearly_unique=False)


def _describe(name: str, kind: str, column: Coded) -> InspectedColumn:
    sizes = np.bincount(column.codes, minlength=column.n_codes)
    n_missing, n_distinct = int(sizes[-1]), column.n_codes - 1
    n_filled = int(column.codes.size) - n_missing
    return InspectedColumn(
        name=name,
        type=kind,
        n_missing=n_missing,
        n_distinct=n_distinct,
        n_unique_rows=int(np.count_nonzero(sizes == 1)),
        is_nearly_unique=n_filled > 1 and n_distinct >= NEARLY_UNIQUE * n_filled,
    )


def _with_most_values(columns: Mapping[str, Coded]) -> dict[str, Coded]:
    most = sorted(columns, key=lambda name: -columns[name].n_codes)[:_MOST_CANDIDATES]
    return {name: columns[name] for name in columns if name in most}


def _grow(columns: dict[str, Coded], n_rows: int) -> tuple[ColumnSet, ...]:
    """Add, one at a time, the column that makes most further rows unique.

    A unique row stays unique, so each step looks only at the rows that are not.
    """
    steps: list[ColumnSet] = []
    names: tuple[str, ...] = ()
    keys = Coded(np.zeros(n_rows, dtype=np.int64), 1)
    n_unique = 0
    while columns and len(steps) < _LONGEST_SET and keys.codes.size:
        best = _best_column(keys, columns)
        joined = compress(combine([keys, columns.pop(best)]))
        sizes = np.bincount(joined.codes, minlength=joined.n_codes)
        shared = sizes[joined.codes] > 1
        names = (*names, best)
        n_unique += int(np.count_nonzero(~shared))
        n_shared_classes = int(np.count_nonzero(sizes > 1))
        steps.append(ColumnSet(names, n_unique, n_unique + n_shared_classes))
        keys = compress(joined.select(shared))
        columns = {name: column.select(shared) for name, column in columns.items()}
    return tuple(steps)


def _best_column(keys: Coded, columns: Mapping[str, Coded]) -> str:
    return max(columns, key=lambda name: _score(keys, columns[name]))


def _score(keys: Coded, column: Coded) -> tuple[int, int]:
    """Return the unique rows and the classes that adding ``column`` would give."""
    sizes = class_sizes(combine([keys, column]))
    return int(np.count_nonzero(sizes == 1)), int(sizes.size)
