"""One column → codes: numbers and dates by rank, labels by hierarchy leaf."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.errors import DataError
from core_mondrian.hierarchies.load import cover
from core_mondrian.hierarchies.tree import Hierarchy, flat
from core_mondrian.hierarchies.uncovered import Uncovered
from core_mondrian.runtime.array_types import ArrowArray
from core_mondrian.tables.arrow_types import holds_text
from core_mondrian.tables.encoded import EncodedColumn, SensitiveColumn

NO_VALUES = np.zeros(0, dtype=np.float64)
_LARGEST = 1e150
_SHOWN = 5
_BLOCK = 1 << 12


class Ranked(NamedTuple):
    """A column as ranks among its distinct values; rank ``len(values)`` is missing."""

    codes: NDArray[np.int32]
    values: pa.Array
    """The distinct values, rising, as Arrow can sort them."""
    own: pa.DataType | None = None
    """The column's own type, if that is another."""


class CodedColumn(NamedTuple):
    """A quasi-identifier's codes, and what they stand for in the caller's terms."""

    codes: NDArray[np.int32]
    column: EncodedColumn
    values: pa.Array
    """Numbers: the value of each code. Categories: the label of each leaf."""
    is_blanked: NDArray[np.bool_] | None = None
    """Rows whose value the hierarchy does not cover, and which count as missing."""


def is_ordered(kind: pa.DataType) -> bool:
    """Return whether a type is a number to us: it has an order and a distance."""
    if pa.types.is_interval(kind):
        return False
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_temporal(kind)
    )


def encode_ranked(
    ranked: Ranked,
    name: str,
    hierarchy: Hierarchy | None,
    uncovered: Uncovered,
    counts: NDArray[np.int64] | None = None,
) -> CodedColumn:
    """Encode one quasi-identifier, ranked by `rank_column`.

    Raises:
        DataError: the hierarchy does not cover every value and ``uncovered`` is an
            error.
    """
    kind = ranked.values.type
    if hierarchy is not None:
        return _encode_with_hierarchy(ranked, name, hierarchy, uncovered, counts)
    if is_ordered(kind):
        values = as_floats(ranked.values)
        column = EncodedColumn(name, "number", values.size, values, None)
        return CodedColumn(ranked.codes, column, ranked.values.cast(ranked.own or kind))
    labels = ranked.values.cast(pa.string())
    tree = flat(labels.to_pylist())
    column = EncodedColumn(name, "category", len(labels), NO_VALUES, tree)
    return CodedColumn(ranked.codes, column, labels)


def encode_sensitive(
    array: pa.ChunkedArray, name: str
) -> tuple[NDArray[np.int32], SensitiveColumn]:
    """Encode one sensitive column; a missing value is its last value."""
    ranked = rank_column(array, name)
    labels = tuple(ranked.values.to_pylist())
    return ranked.codes, SensitiveColumn(name, len(labels) + 1, labels)


def rank_column(array: pa.ChunkedArray, name: str) -> Ranked:
    """Rank a column's distinct values; NaN and null are both missing."""
    kind = array.type
    value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(value_type):
        return Ranked(np.zeros(len(array), dtype=np.int32), pa.array([], pa.string()))
    if not (holds_text(value_type) or is_ordered(value_type)):
        raise DataError(
            f"column {name!r} has type {kind}, which has neither an order nor labels",
            hint="numbers, dates, times, booleans and text can be quasi-identifiers",
        )
    chunks, values = distinct(comparable(array))
    values, rank = _sorted_values(values, name)
    codes = look_up(rank, chunks)
    if pa.types.is_dictionary(kind):
        return _without_unused(codes, values)._replace(own=value_type)
    return Ranked(codes, values, value_type)


def comparable(array: ArrowArray) -> ArrowArray:
    """Return a column as a type that Arrow can sort."""
    kind = array.type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    return array.cast(pa.string()) if pa.types.is_string_view(kind) else array


def distinct(array: pa.ChunkedArray) -> tuple[list[pa.Array], pa.Array]:
    """Return indices into one list of values, chunk by chunk; null: missing."""
    is_dictionary = pa.types.is_dictionary(array.type)
    if not len(array):  # Arrow has no empty dictionaries of some types
        kind = array.type.value_type if is_dictionary else array.type
        return [], pa.array([], kind)
    coded = array.unify_dictionaries() if is_dictionary else array.dictionary_encode()
    indices = [chunk.indices for chunk in coded.chunks if len(chunk)]
    return indices, coded.chunk(0).dictionary


def look_up(numbers: NDArray[np.int32], chunks: list[pa.Array]) -> NDArray[np.int32]:
    """Return the number of each index, and the last one where it is null."""
    codes = np.empty(sum(len(chunk) for chunk in chunks), dtype=np.int32)
    end = 0
    for chunk in chunks:
        start, end = end, end + len(chunk)
        held = np.frombuffer(chunk.buffers()[1], chunk.type.to_pandas_dtype())
        places = held[chunk.offset : chunk.offset + len(chunk)]
        # Below a null anything may stand: clipped, it is looked up in vain.
        np.take(numbers, places, out=codes[start:end], mode="clip")
        if chunk.null_count:
            is_null = chunk.is_null().to_numpy(zero_copy_only=False)
            codes[start:end][is_null] = numbers[-1]
    return codes


def _sorted_values(values: pa.Array, name: str) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the values rising and without repeats, and the rank of each given one.

    The ranks have one more entry, last, for missing.
    """
    if pa.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False)
        if np.isinf(numbers).any():
            raise DataError(
                f"column {name!r} holds infinite numbers",
                hint="replace them by missing values or by a bound",
            )
        if (np.abs(numbers.astype(np.float64)) > _LARGEST).any():
            raise DataError(
                f"column {name!r} holds numbers beyond {_LARGEST:g}",
                hint="their squares cannot be measured; scale the column down",
            )
        # -0.0 + 0.0 is 0.0: one value, not two that look alike.
        values = pa.array(numbers + 0.0, type=values.type, from_pandas=True)
    # values   7  3  null  7     order   1  0  3 | 2      ordered  3  7  7
    # is_new   1  1  0           unique  3  7           ranks    1  0  2  1
    order = pc.sort_indices(values)
    ordered = values.take(order).drop_null()
    n = len(ordered)
    is_new = np.ones(n, dtype=bool)
    if n > 1:
        differs = pc.not_equal(ordered[1:], ordered[:-1])
        is_new[1:] = differs.to_numpy(zero_copy_only=False)
    unique = ordered.filter(pa.array(is_new)) if not is_new.all() else ordered
    ranks = np.full(len(values) + 1, len(unique), dtype=np.int32)
    ranks[order.to_numpy()[:n]] = np.cumsum(is_new) - 1
    return unique, ranks


def _without_unused(codes: NDArray[np.int32], values: pa.Array) -> Ranked:
    """Drop values that no row has: a dictionary may list more than the data use."""
    used = np.zeros(len(values) + 1, dtype=np.bool_)
    start, stop = 0, _BLOCK
    while start < codes.size:  # the first of them have most values
        used[codes[start:stop]] = True
        if used[:-1].all():
            return Ranked(codes, values)
        start, stop = stop, 2 * stop
    used = used[:-1]
    number = np.append(np.cumsum(used) - 1, used.sum()).astype(np.int32)
    return Ranked(number[codes], values.filter(pa.array(used)))


def as_floats(values: pa.Array) -> NDArray[np.float64]:
    """Return ordered values as floats; dates and times as their count of units."""
    kind = values.type
    if pa.types.is_temporal(kind):
        wide = pa.int32() if kind.bit_width == 32 else pa.int64()
        values = values.view(wide)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    floats = values.cast(pa.float64(), safe=False)
    return np.array(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def _encode_with_hierarchy(
    ranked: Ranked,
    name: str,
    hierarchy: Hierarchy,
    uncovered: Uncovered,
    counts: NDArray[np.int64] | None,
) -> CodedColumn:
    texts = ranked.values.cast(pa.string())
    if uncovered == "own branch":
        hierarchy = cover(hierarchy, texts.to_pylist())
    leaves = pa.array(hierarchy.leaves, pa.string())
    in_tree = pc.index_in(texts, value_set=leaves)
    is_blanked = None
    if in_tree.null_count:
        is_lacking = np.append(in_tree.is_null().to_numpy(zero_copy_only=False), False)
        is_blanked = is_lacking[ranked.codes]
        if uncovered == "error":
            _refuse_uncovered(name, in_tree, is_blanked, counts)
    n_leaves = len(leaves)
    leaf = in_tree.fill_null(n_leaves).to_numpy(zero_copy_only=False)
    leaf = np.append(leaf, n_leaves).astype(np.int32)
    column = EncodedColumn(name, "category", n_leaves, NO_VALUES, hierarchy)
    return CodedColumn(leaf[ranked.codes], column, leaves, is_blanked)


def _refuse_uncovered(
    name: str,
    in_tree: pa.Array,
    rows: NDArray[np.bool_],
    counts: NDArray[np.int64] | None,
) -> None:
    places = np.flatnonzero(rows)
    where = f"{int(places.size if counts is None else counts[places].sum()):,} rows"
    if counts is None:  # else they are tuples, and where the rows are is not known
        examples = ", ".join(map(str, places[:_SHOWN].tolist()))
        where += f", counted from 0: {examples}{', …' if places.size > _SHOWN else ''}"
    raise DataError(
        f"the hierarchy of {name!r} does not cover {in_tree.null_count:,} of "
        f"{len(in_tree)} values in the data ({where})",
        hint="add them to it, or say uncovered = 'own branch' (each is a value right "
        "under the root) or 'suppress' (these cells are blanked)",
    )
