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
    source: Source,
    spec: Spec,
    columns: Sequence[str],
    tally: Tally,
    is_bad: NDArray[np.bool_] | None = None,
) -> Values:
    """Give counted tuples the types of their columns; bad ones have no rows."""
    arrays, typed = [], {}
    for place, name in enumerate(columns):
        values, codes = tally.values[place], tally.codes[:, place]
        if source.kind == "csv":
            known = _used(values, codes, is_bad)
            meant = _meaning(name, values, known, spec)
            if name in spec.quasi_identifiers:
                typed[name] = meant
        else:
            meant = _prepend_missing(values, source.schema.field(name).type)
        arrays.append(_spread(meant, codes))
    rows = tally.rows if is_bad is None else np.where(is_bad, 0, tally.rows)
    table = pa.table(arrays, names=list(columns))
    return Values(TupleCounts(table, rows.astype(np.int64)), typed)


def _used(
    values: pa.Array, codes: NDArray[np.int32], is_bad: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Tell which texts a row has that is not left out."""
    if is_bad is None:
        return np.ones(len(values), dtype=np.bool_)
    counted = np.bincount(codes[~is_bad], minlength=len(values) + 1)
    used: NDArray[np.bool_] = counted[1:] > 0
    return used


def _meaning(
    name: str, texts: pa.Array, known: NDArray[np.bool_], spec: Spec
) -> pa.Array:
    """Return what codes 0, 1, … mean: missing, and the texts as their types say."""
    is_typed = name in spec.quasi_identifiers
    null_values = spec.null_values if is_typed else ("",)
    places, values = type_texts(
        texts.filter(pa.array(known)), null_values, infer=is_typed
    )
    number = np.cumsum(known) - 1
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
