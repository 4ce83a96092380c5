"""The table as it is: first rows, and per column type, missing cells and values.

The cells are the user's own, and are shown in the user's own browser only.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.analysis.inspection import InspectedColumn
from core_mondrian.encoding.columns import as_floats, comparable
from core_mondrian.report.wording import percent
from core_mondrian.studio.rows import texts_of
from core_mondrian.studio.tables import quote

MOST_COLUMNS: Final = 40
_N_ROWS: Final = 8
_N_BINS: Final = 14
_N_TOP: Final = 3
_FEW: Final = 8
"""Numbers with at most so many values are shown value by value."""


@dataclass(frozen=True, slots=True)
class ColumnPreview:
    """One column at a glance."""

    name: str
    kind: str
    n_missing: int
    n_distinct: int | None
    bins: tuple[int, ...] = ()
    """Of a number: rows in each of equal parts of its range."""
    ends: tuple[str, str] = ("", "")
    top: tuple[tuple[str, int], ...] = ()
    """Otherwise: the most frequent values, with their rows."""


def preview_columns(
    table: pa.Table, columns: tuple[InspectedColumn, ...]
) -> tuple[ColumnPreview, ...]:
    """Return the first columns of a table at a glance."""
    return tuple(
        _preview(table.column(one.name), one) for one in columns[:MOST_COLUMNS]
    )


def _preview(column: pa.ChunkedArray, one: InspectedColumn) -> ColumnPreview:
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    known = ColumnPreview(one.name, name_kind(kind), one.n_missing, one.n_distinct)
    facts = (known.name, known.kind, known.n_missing, known.n_distinct)
    if not one.n_distinct or one.is_nearly_unique:
        return known
    is_scale = _is_scale(kind)
    if is_scale and one.n_distinct > _FEW:
        return ColumnPreview(*facts, *_spread_over(column))
    counted = pc.value_counts(column.combine_chunks())
    values, counts = counted.flatten()
    order = pc.sort_indices(counts, sort_keys=[("", "descending")])
    kept = order.filter(pc.is_valid(values.take(order)))[:_N_TOP]
    texts = texts_of(values.take(kept))
    return ColumnPreview(
        *facts, top=tuple(zip(texts, counts.take(kept).to_pylist(), strict=True))
    )


def _spread_over(column: pa.ChunkedArray) -> tuple[tuple[int, ...], tuple[str, str]]:
    """Return the rows in equal parts of a number's range, and its ends."""
    values = comparable(column.drop_null().combine_chunks())
    numbers = as_floats(values)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return (), ("", "")
    bins, _ = np.histogram(numbers, bins=_N_BINS)
    both = pc.min_max(values)
    ends = [
        texts_of(pa.array([both[end].as_py()], values.type)) for end in ("min", "max")
    ]
    return tuple(bins.tolist()), (ends[0][0], ends[1][0])


def _is_scale(kind: pa.DataType) -> bool:
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return bool(is_number or pa.types.is_decimal(kind) or pa.types.is_temporal(kind))


def name_kind(kind: pa.DataType) -> str:
    """Return a type as people call it."""
    for is_kind, name in (
        (pa.types.is_boolean, "yes or no"),
        (pa.types.is_integer, "whole number"),
        (pa.types.is_floating, "number"),
        (pa.types.is_decimal, "number"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "date and time"),
        (pa.types.is_time, "time"),
        (pa.types.is_string, "text"),
        (pa.types.is_large_string, "text"),
        (pa.types.is_string_view, "text"),
    ):
        if is_kind(kind):
            return name
    return str(kind)


def write_preview(table: pa.Table, columns: tuple[ColumnPreview, ...]) -> str:
    """Return columns and first rows as HTML; all text is escaped here."""
    heads = "".join(_write_head(one, table.num_rows) for one in columns)
    cells = [texts_of(table.column(one.name).slice(0, _N_ROWS)) for one in columns]
    right = [
        ' class="studio-number-cell"' if _is_scale(table.field(one.name).type) else ""
        for one in columns
    ]
    rows = "".join(
        f'<tr><th scope="row">{number}</th>'
        + "".join(
            f"<td{side}>{quote(text)}</td>"
            for side, text in zip(right, line, strict=True)
        )
        + "</tr>"
        for number, line in enumerate(zip(*cells, strict=True), 1)
    )
    return (
        '<div class="studio-wide" tabindex="0" role="region" aria-label="First rows">'
        '<table class="studio-table studio-preview">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _write_head(one: ColumnPreview, n_rows: int) -> str:
    missing = "nothing missing"
    if one.n_missing:
        missing = f"{percent(one.n_missing / n_rows)} missing"
    return (
        f'<th scope="col"><span class="studio-name">{quote(one.name)}</span><br>'
        f'<span class="studio-faint">{quote(one.kind)}<br>{missing}</span>'
        f"{''.join(_draw(one, n_rows))}</th>"
    )


def _draw(one: ColumnPreview, n_rows: int) -> Iterator[str]:
    """Yield the values of a column as bars."""
    if one.bins:
        most = max(one.bins)
        bars = "".join(
            f'<i style="height:{math.ceil(100 * n / most)}%"></i>' for n in one.bins
        )
        low, high = map(quote, one.ends)
        yield f'<div class="studio-bars" aria-hidden="true">{bars}</div>'
        yield f'<div class="studio-ends studio-faint"><span>{low}</span>'
        yield f"<span>{high}</span></div>"
        return
    for text, n in one.top:
        yield f'<div class="studio-top"><i style="width:{100 * n / n_rows:.1f}%"></i>'
        yield f"<span>{quote(text)}</span><span>{percent(n / n_rows)}</span></div>"
    if one.n_distinct is None:
        return
    n_more = one.n_distinct - len(one.top)
    if n_more:
        kind = "more" if one.top else "different"
        what = f"{n_more:,} {kind} value{'s' * (n_more != 1)}"
        yield f'<div class="studio-faint">{what}</div>'
