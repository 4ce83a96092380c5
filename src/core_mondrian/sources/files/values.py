"""What the counted values are: CSV has none but texts until all have been seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.sources.files.batch_counts import Tally
from core_mondrian.sources.files.counting import Counts
from core_mondrian.sources.files.non_numeric import Words
from core_mondrian.sources.files.source import Source
from core_mondrian.sources.tuple_counts import TupleCounts
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.csv_text import type_texts

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class TypedValues:
    """What the codes of each counted column mean, in the types `read_table` gives."""

    meanings: Mapping[str, pa.Array]
    """By column: what code 0, missing, and codes 1 … mean."""
    rows: Mapping[str, Integers]
    """How many rows have each, bad ones left out."""
    bad: Sequence[Flags | None]
    """By column: codes of words in place of numbers, which make a row bad."""

    def is_bad(self, codes: NDArray[np.int32]) -> Flags:
        """Return which tuples have a word in place of a number."""
        found = np.zeros(len(codes), dtype=np.bool_)
        for place, flags in enumerate(self.bad):
            if flags is not None:
                found |= flags[codes[:, place]]
        return found


def type_values(
    source: Source, spec: Spec, counts: Counts, words: Sequence[Words]
) -> TypedValues:
    """Give the counted values the types of their columns."""
    by_column = {one.column: one.is_word for one in words}
    bad = [by_column.get(name) for name in counts.columns]
    rows = [np.zeros(len(values) + 1, dtype=np.int64) for values in counts.values]
    plain = TypedValues({}, {}, bad)
    for codes, n in counts.chunks():
        good = ~plain.is_bad(codes) if words else slice(None)
        for place in range(len(rows)):
            found = np.bincount(codes[good, place], n[good], rows[place].size)
            rows[place] += found.astype(np.int64)
    meanings = {}
    for name, values, own in zip(counts.columns, counts.values, rows, strict=True):
        if source.kind == "csv":
            meanings[name] = _meaning(name, values, own[1:] > 0, spec)
        else:
            meanings[name] = _prepend_missing(values, source.schema.field(name).type)
    return TypedValues(meanings, dict(zip(counts.columns, rows, strict=True)), bad)


def tuple_counts(
    values: TypedValues, columns: Sequence[str], good: Tally
) -> TupleCounts:
    """Return tuples that are in memory with their typed values."""
    arrays = [
        _spread(values.meanings[name], good.codes[:, place])
        for place, name in enumerate(columns)
    ]
    return TupleCounts(pa.table(arrays, names=list(columns)), good.rows)


def _meaning(name: str, texts: pa.Array, known: Flags, spec: Spec) -> pa.Array:
    """Return what codes 0, 1, … mean: missing, and the texts as their types say.

    Texts of bad rows alone mean nothing.
    """
    is_typed = name in spec.quasi_identifiers
    null_values = spec.null_values if is_typed else ("",)
    places, values = type_texts(
        texts.filter(pa.array(known)), null_values, infer=is_typed
    )
    number = (np.cumsum(known) - 1).astype(np.int32)
    at = places.take(pa.array(number, mask=~known))
    return values.take(pa.concat_arrays([pa.nulls(1, at.type), at]))


def _prepend_missing(values: pa.Array, kind: pa.DataType) -> pa.Array:
    own = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.concat_arrays([pa.nulls(1, own), values.cast(own)])


def _spread(meant: pa.Array, codes: NDArray[np.int32]) -> pa.Array:
    """Return a column of the tuples; text as codes of distinct values."""
    if not pa.types.is_string(meant.type):
        return meant.take(pa.array(codes))
    coded = meant.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        coded.indices.take(pa.array(codes)), coded.dictionary
    )
