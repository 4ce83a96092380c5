"""Count rows and classes of a table as it stands, by means of Arrow and NumPy alone."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.runtime.array_types import ArrowArray, ArrowType, Flags, Integers
from core_mondrian.tables.frames import OpenColumn
from core_mondrian.tables.hashing import splitmix64

NEARLY_UNIQUE: Final = 0.95
"""Distinct values per filled row from which a column looks like an identifier."""
_LARGEST_KEY: Final = 2**62
_MOST_HASHES: Final = 8
_FEW_NUMBERS: Final = 1 << 12
_ARROW_REFUSES: Final = (
    pa.ArrowNotImplementedError,
    pa.ArrowInvalid,
    pa.ArrowTypeError,
)


class Coded(NamedTuple):
    """Rows as codes below ``n_codes``; of a column, the last code means missing."""

    codes: Integers
    n_codes: int
    labels: Sequence[object] = ()
    """What the codes of a column stand for, where they rank."""

    @property
    def missing(self) -> Flags:
        """Rows without a value."""
        flags: Flags = self.codes == self.n_codes - 1
        return flags

    def select(self, kept: Flags | Integers | slice) -> "Coded":
        """Return these rows only."""
        return Coded(self.codes[kept], self.n_codes, self.labels)


def combine(columns: Sequence[Coded]) -> Coded:
    """Return one code per row that is equal where all columns are equal."""
    keys, n_codes = columns[0].codes.astype(np.int64), columns[0].n_codes
    for column in columns[1:]:
        if n_codes * column.n_codes > _LARGEST_KEY:
            packed = compress(Coded(keys, n_codes))
            keys, n_codes = packed.codes, packed.n_codes
        keys *= column.n_codes
        keys += column.codes
        n_codes *= column.n_codes
    return Coded(keys, n_codes)


def compress(keys: Coded) -> Coded:
    """Number the codes that occur from 0 on, in the order they rank."""
    if keys.n_codes <= 4 * keys.codes.size:
        used = np.bincount(keys.codes) > 0
        numbers = np.cumsum(used) - 1
        return Coded(numbers[keys.codes], int(np.count_nonzero(used)))
    encoded = pa.array(keys.codes).dictionary_encode()
    values = encoded.dictionary.to_numpy()
    numbers = np.empty(values.size, dtype=np.int64)
    numbers[np.argsort(values)] = np.arange(values.size)
    return Coded(numbers[encoded.indices.to_numpy()], int(values.size))


def group(keys: Coded) -> Coded:
    """Number the codes that occur from 0 on, in any order."""
    if keys.n_codes <= 4 * keys.codes.size:
        return compress(keys)
    encoded = pa.array(keys.codes).dictionary_encode()
    numbers = encoded.indices.to_numpy().astype(np.int64)
    return Coded(numbers, len(encoded.dictionary))


def first_rows(keys: Coded) -> Integers:
    """Return the place of the first row of each code that occurs, by rising code."""
    packed = compress(keys)
    first = np.zeros(packed.n_codes, dtype=np.int64)
    first[packed.codes[::-1]] = np.arange(packed.codes.size)[::-1]
    return first


def class_sizes(keys: Coded, counts: Integers | None = None) -> Integers:
    """Count the rows of each code that occurs, in the order the codes rank.

    ``counts`` says how many rows each of them stands for; None: for itself.
    """
    if counts is not None:
        return np.bincount(compress(keys).codes, counts).astype(np.int64)
    if keys.n_codes <= 4 * keys.codes.size:
        sizes = np.bincount(keys.codes)
        return sizes[sizes > 0].astype(np.int64)
    pairs = pc.value_counts(pa.array(keys.codes))
    order = np.argsort(pairs.field(0).to_numpy())
    ranked: Integers = pairs.field(1).to_numpy()[order]
    return ranked


def value_counts(series: OpenColumn, rows: Flags | None = None) -> Integers:
    """Count the rows of each value of a frame's column; missing ones are left out.

    ``rows`` says which are counted; None: all. Whole numbers that rise from row to
    row, such as numbers of the rows, are seen to be different.
    """
    numbers = _whole_numbers(series)
    if numbers is None:
        coded = code_series(series)
        codes = coded.codes if rows is None else coded.codes[rows]
        counts = np.bincount(codes, minlength=coded.n_codes)[:-1]
        return counts[counts > 0]
    numbers = numbers if rows is None else numbers[rows]
    if (numbers[1:] > numbers[:-1]).all():
        return np.ones(numbers.size, dtype=np.int64)
    rest = _without_unique(numbers)
    counted: Integers = pc.value_counts(pa.array(rest)).field(1).to_numpy()
    return np.append(np.ones(numbers.size - rest.size, dtype=np.int64), counted)


def _without_unique(numbers: Integers) -> Integers:
    """Leave out numbers that occur once, as far as a few hashes of them show it.

    A million different numbers: .03 s, and .12 s to count them all one by one.
    """
    for salt in range(_MOST_HASHES):
        if numbers.size <= _FEW_NUMBERS:
            break
        bits = numbers.size.bit_length()
        keys = splitmix64(numbers.view(np.uint64) + np.uint64(salt))
        keys >>= np.uint64(64 - bits)
        places = keys.view(np.int64)
        rest = numbers[(np.bincount(places) > 1)[places]]
        if rest.size > 0.9 * numbers.size:  # most of them occur again
            break
        numbers = rest
    return numbers


def _whole_numbers(series: OpenColumn) -> Integers | None:
    """Return 64-bit whole numbers, if a column holds such and none is missing."""
    if series.dtype != nw.Int64 or series.null_count():
        return None
    numbers = series.to_numpy()
    return numbers if numbers.dtype == np.int64 else None


def code_series(
    series: OpenColumn,
    *,
    ordered: bool = False,
    narrow: bool = False,
    read: Callable[[ArrowArray], ArrowArray] = lambda column: column,
) -> Coded:
    """Number the distinct values of a frame's column; see `code_column`.

    ``read`` says what its cells stand for.
    """
    native = series.to_native()
    if isinstance(native, pa.ChunkedArray):
        return code_column(read(native), ordered=ordered, narrow=narrow)
    try:
        column = series.to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _code_objects(series.to_list())  # mixed kinds in a pandas column
    chunked = pa.chunked_array([column])
    return code_column(read(chunked), ordered=ordered, narrow=narrow)


def code_column(
    column: ArrowArray, *, ordered: bool = False, narrow: bool = False
) -> Coded:
    """Number the distinct values of a column; null and NaN are the last number.

    Dictionaries may differ between chunks and hold duplicates, nulls and values that
    no row has. With ``ordered``, greater values have greater numbers. With ``narrow``,
    numbers have as few bits as they need: enough where nothing is computed with them.
    """
    if pa.types.is_struct(column.type) and column.type.num_fields and not ordered:
        return _code_struct(column)
    try:
        chunks, values = _dictionaries(column)
        distinct = _without_nan(values).dictionary_encode()
        order = pc.rank(distinct.dictionary) if ordered else None
    except _ARROW_REFUSES:
        return _code_objects(column.to_pylist())
    n_values = len(distinct.dictionary)
    labels: list[object] = []
    numbers = np.asarray(distinct.indices.fill_null(n_values)).astype(np.int64)
    if order is not None:
        ranks = np.append(order.to_numpy().astype(np.int64) - 1, n_values)
        numbers = ranks[numbers]
        labels = distinct.dictionary.take(np.argsort(ranks[:-1])).to_pylist()
    if narrow:
        numbers = numbers.astype(np.min_scalar_type(n_values))
    codes = np.empty(len(column), dtype=numbers.dtype)
    end = 0
    for start, chunk in chunks:
        begin, end = end, end + len(chunk)
        _look_up(numbers[start:], chunk.indices, n_values, codes[begin:end])
    return Coded(codes, n_values + 1, labels)


def _look_up(
    numbers: Integers, indices: ArrowArray, missing: int, codes: Integers
) -> None:
    """Write the number of each index to ``codes``; ``missing`` where it is null."""
    if not numbers.size or not codes.size:
        codes[:] = missing
        return
    places = np.frombuffer(indices.buffers()[1], indices.type.to_pandas_dtype())
    places = places[indices.offset : indices.offset + len(indices)]
    # Below a null anything may stand: clipped, it is looked up in vain.
    np.take(numbers, places, out=codes, mode="clip")
    if indices.null_count:
        codes[indices.is_null().to_numpy(zero_copy_only=False)] = missing


def _code_struct(column: ArrowArray) -> Coded:
    """Number structs by their fields; a struct of missing fields is not missing."""
    fields = compress(combine([code_column(field) for field in column.flatten()]))
    is_missing = column.is_null().to_numpy()
    codes = np.where(is_missing, fields.n_codes, fields.codes)
    return Coded(codes, fields.n_codes + 1)


def _dictionaries(
    column: ArrowArray,
) -> tuple[list[tuple[int, ArrowArray]], ArrowArray]:
    """Return dictionary chunks, each with where its values start among all values."""
    if isinstance(column.type, pa.BaseExtensionType):
        kind: ArrowType = column.type.storage_type
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    kept: list[ArrowArray] = []
    starts: list[tuple[int, ArrowArray]] = []
    start = end = 0
    for chunk in column.chunks:
        if not kept or not chunk.dictionary.equals(kept[-1]):
            kept.append(chunk.dictionary)
            start, end = end, end + len(chunk.dictionary)
        starts.append((start, chunk))
    empty = pa.array([], column.type.value_type)
    return starts, pa.concat_arrays(kept) if kept else empty


def _without_nan(values: ArrowArray) -> ArrowArray:
    if not pa.types.is_floating(values.type):
        return values
    numbers = values.cast(pa.float64())
    # Adding zero makes -0.0 and 0.0 the same bits.
    return pc.if_else(pc.is_nan(numbers), None, pc.add(numbers, 0.0))


def _code_objects(values: Sequence[object]) -> Coded:
    """Number any Python values; slow, for what Arrow cannot compare."""
    numbers: dict[object, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        key = _hashable(value)
        codes[i] = -1 if key is None else numbers.setdefault(key, len(numbers))
    labels = _ascending(numbers)
    # The last rank, which -1 stands for, is that of missing values.
    ranks = np.append(np.argsort([numbers[label] for label in labels]), len(labels))
    return Coded(ranks[codes], len(labels) + 1, labels)


def _ascending(values: Iterable[Any]) -> list[object]:
    """Return values as they rank; by kind and spelling if they have no order."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def _hashable(value: object) -> object:
    """Return a key that is equal for equal values, and None for missing ones."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, dict):
        return tuple((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list | tuple | set | np.ndarray):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, bool | np.bool_):
        return ("bool", bool(value))  # else the same key as 0 and 1
    if isinstance(value, float | np.floating) and np.isnan(value):
        return None
    return value
