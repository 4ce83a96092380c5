"""Cells of text columns as the values that they stand for, whole columns at a time."""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.runtime.array_types import ArrowArray
from core_mondrian.tables import readings
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.csv_text import missing_texts


def without_nulls(column: ArrowArray, null_values: Sequence[str]) -> ArrowArray:
    """Return a chunked column in which the texts of ``null_values`` are missing.

    Text comes back as a dictionary; columns of other types stay as they are.
    """
    return _with_texts(column, lambda texts: _blanked(texts, null_values))


def unified_texts(column: ArrowArray, null_values: Sequence[str]) -> ArrowArray:
    """Return a chunked column in which texts that stand for one value are one text.

    Those of ``null_values`` are missing; see `readings.spell`. Columns of other types
    stay as they are.
    """
    return _with_texts(column, lambda texts: _spelled(_blanked(texts, null_values)))


def _with_texts(
    column: ArrowArray, change: Callable[[ArrowArray], ArrowArray]
) -> ArrowArray:
    """Change the distinct texts of a column; the result has no text twice."""
    kind = column.type
    is_coded = pa.types.is_dictionary(kind)
    if not is_text(kind.value_type if is_coded else kind) or not len(column):
        return column
    coded = _coded(column)
    texts = coded.chunk(0).dictionary
    changed = change(texts)
    if changed is texts:
        return coded
    # Missing values and equal texts are found by codes, not by the dictionary.
    distinct = changed.dictionary_encode()
    chunks = [
        pa.DictionaryArray.from_arrays(
            distinct.indices.take(chunk.indices), distinct.dictionary
        )
        for chunk in coded.chunks
    ]
    return pa.chunked_array(chunks)


def _coded(column: ArrowArray) -> ArrowArray:
    """Return a text column as codes of one dictionary of plain strings."""
    if not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).dictionary_encode()
    if not pa.types.is_string(column.type.value_type):
        column = column.cast(pa.dictionary(pa.int32(), pa.string()))
    if column.num_chunks > 1:
        if any(chunk.dictionary.null_count for chunk in column.chunks):
            return column.cast(pa.string()).dictionary_encode()
        column = column.unify_dictionaries()
    return column


def _blanked(texts: ArrowArray, null_values: Sequence[str]) -> ArrowArray:
    is_null = missing_texts(texts, null_values)
    if not pc.any(is_null).as_py():
        return texts
    return pc.if_else(is_null, None, texts)


def _spelled(texts: ArrowArray) -> ArrowArray:
    """Spell texts that may stand for the same value as another one; most do not."""
    may_differ = pc.match_substring_regex(texts, _OTHER)
    is_plain = pc.match_substring_regex(texts, readings.PLAIN)
    open_ = pc.and_not(may_differ, is_plain).fill_null(False)  # noqa: FBT003
    places = pc.indices_nonzero(open_)
    if not len(places):
        return texts
    spellings = [readings.spell(text) for text in texts.take(places).to_pylist()]
    return pc.replace_with_mask(texts, open_, pa.array(spellings, pa.string()))


_OTHER = "|".join(
    f"(?:{pattern})"
    for pattern in (
        readings.NUMBER,
        readings.MOMENT,
        readings.TRUTH,
        readings.INFINITE,
    )
)
