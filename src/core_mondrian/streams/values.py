"""What the counted values are: CSV has none but texts until all have been seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.counts import TupleCounts
from core_mondrian.files.csv_text import type_texts
from core_mondrian.spec import Spec
from core_mondrian.streams.source import Source
from core_mondrian.streams.tally import Tally


@dataclass(frozen=True)
class Values:
    """Counts in the types that `read_table` would give."""

    counts: TupleCounts
    typed: Mapping[str, pa.Array]
    """CSV: what each code of a quasi-identifier means; the first one is missing."""


def type_tally(
    source: Source, spec: Spec, columns: Sequence[str], tally: Tally, n_good: int
) -> Values:
    """Give the first ``n_good`` of counted tuples the types of their columns."""
    arrays, typed = [], {}
    for place, name in enumerate(columns):
        values, codes = tally.values[place], tally.codes[:n_good, place]
        if source.kind == "csv":
            meant = _meaning(name, values, codes, spec)
            if name in spec.quasi_identifiers:
                typed[name] = meant
        else:
            meant = _prepend_missing(values, source.schema.field(name).type)
        arrays.append(_spread(meant, codes))
    table = pa.table(arrays, names=list(columns))
    return Values(TupleCounts(table, tally.rows[:n_good]), typed)


def _meaning(
    name: str, texts: pa.Array, codes: NDArray[np.int32], spec: Spec
) -> pa.Array:
    """Return what codes 0, 1, … mean: missing, and the texts as their types say.

    Texts of bad rows alone mean nothing.
    """
    is_typed = name in spec.quasi_identifiers
    null_values = spec.null_values if is_typed else ("",)
    known = np.bincount(codes, minlength=len(texts) + 1)[1:] > 0
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
