"""Leftovers: values that no released row shows, and that are stored with it anyway."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.analysis.attacks.findings import Finding, counted
from core_mondrian.analysis.attacks.stored import Dictionary, Stored
from core_mondrian.runtime.array_types import ArrowArray
from core_mondrian.tables.frames import OpenFrame, arrow_column

_SHORTEST: Final = 4
"""Characters of a text that is searched for: shorter ones are found by chance."""
_MOST_SEARCHED: Final = 64
_MOST_BYTES: Final = 1 << 31
"""Texts of a column that are searched for, and bytes that are looked at for them."""
_FORMAT_WORDS: Final = (
    "index_columns column_indexes columns name field_name pandas_type numpy_type "
    "metadata encoding pandas_version creator library pyarrow version partition "
    "pandas object string unicode categorical num_categories ordered range start stop "
    "step kind attributes schema parquet-cpp-arrow ARROW:schema large_string bool "
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 date "
    "datetime datetimetz decimal bytes list item element null None UTF-8"
)
"""What files say of themselves: found in them, it is nobody's value."""


def find_leftovers(stored: Stored, released: OpenFrame, original: OpenFrame) -> Finding:
    """Count values of the original that no row shows, in all that is stored."""
    unused: dict[str, set[str]] = {}
    for one in stored.dictionaries:
        if one.column in original.columns:
            hidden = _hidden(released, original, one.column)
            unused.setdefault(one.column, set()).update(_unused(one, hidden))
    n_unused = sum(len(one) for one in unused.values())
    searched, by_column = _search(stored, released, original)
    names = sorted(
        {name for name, values in unused.items() if values} | by_column.keys()
    )
    n_found = sum(by_column.values())
    return Finding(
        name="leftovers",
        succeeded=n_unused + n_found > 0,
        numbers={
            "dictionaries": len(stored.dictionaries),
            "unused": n_unused,
            "searched": searched,
            "found": n_found,
        },
        sentence=(
            f"{counted(len(stored.dictionaries), 'dictionary', 'dictionaries')} of "
            f"the release hold {counted(n_unused, 'value', 'values')} of the original "
            f"that no row shows; of {counted(searched, 'hidden text', 'hidden texts')} "
            f"searched for, {n_found:,} are in its bytes."
        ),
        remedy="make it again: what leaves is cleaned now; or write it as CSV",
        columns=tuple(names),
    )


def _unused(one: Dictionary, hidden: ArrowArray) -> set[str]:
    """Return the values of a dictionary that only hidden cells have."""
    values = one.values if one.used is None else one.values.filter(pa.array(~one.used))
    texts = texts_of(values)
    kept = pc.is_in(texts, value_set=hidden)
    return set(texts.filter(kept).drop_null().to_pylist())


def _hidden(released: OpenFrame, original: OpenFrame, name: str) -> ArrowArray:
    """Return the values of a column of the original that no released row shows."""
    before = texts_of(arrow_column(original, name)).unique().drop_null()
    if name not in released.columns:
        return before
    after = texts_of(arrow_column(released, name)).unique()
    return before.filter(pc.invert(pc.is_in(before, value_set=after)))


def texts_of(column: ArrowArray) -> ArrowArray:
    """Return the cells of a column as text, those of lists and the like one by one."""
    parts = _parts(column)
    if parts is None:
        try:
            return column.cast(pa.string())
        except (pa.ArrowException, UnicodeDecodeError):
            parts = []
    texts = [texts_of(part) for part in parts]
    return pa.concat_arrays(texts) if texts else pa.array([], pa.string())


def _parts(column: ArrowArray) -> list[ArrowArray] | None:
    """Return the arrays that a column is made of; None: it is plain."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        return list(column.chunks)
    if isinstance(kind, pa.BaseExtensionType):
        return [column.storage]
    if pa.types.is_dictionary(kind):
        return [column.dictionary_decode()]
    if pa.types.is_map(kind):
        return [column.keys, column.items]
    if pa.types.is_nested(kind):
        flat = column.flatten()
        return flat if isinstance(flat, list) else [flat]
    return None


def _search(
    stored: Stored, released: OpenFrame, original: OpenFrame
) -> tuple[int, dict[str, int]]:
    """Return how many hidden texts were searched for, and how many found by column."""
    shown = _shown_text(released, original.columns)
    searched, by_column = 0, {}
    most = pick(stored, _MOST_SEARCHED, _MOST_BYTES)
    for name, texts in _searchable(released, original, most):
        wanted = [one for one in texts if one not in shown]
        searched += len(wanted)
        n = sum(any(one in text for text in stored.texts) for one in wanted)
        if n:
            by_column[name] = n
    return searched, by_column


def pick(stored: Stored, most: int, n_bytes: int) -> int:
    """Return how many texts can be searched for in all that is stored."""
    size = max(1, sum(map(len, stored.texts)))
    return min(most, max(most // 8, n_bytes // size))


def _searchable(
    released: OpenFrame, original: OpenFrame, most: int
) -> Iterator[tuple[str, Sequence[bytes]]]:
    for name in original.columns:
        hidden = _hidden(released, original, name)
        long = hidden.filter(pc.greater_equal(pc.utf8_length(hidden), _SHORTEST))
        step = max(1, len(long) // most)
        some = long.take(pa.array(np.arange(0, len(long), step)[:most]))
        yield name, [text.encode() for text in some.to_pylist()]


def _shown_text(released: OpenFrame, names: Sequence[str]) -> bytes:
    """Return all that the rows show, and the names of columns."""
    shown = [*names, *released.columns, _FORMAT_WORDS]
    for name in released.columns:
        texts = texts_of(arrow_column(released, name)).unique().drop_null()
        shown += texts.to_pylist()
    return "\0".join(shown).encode()
