"""A 64-bit hash per cell, made from its content alone; public, and no secret.

It is the same in any batch, order, frame library and engine, as long as the values are.
Values of nested types are hashed as the plain Python values they hold.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import ArrowArray, ArrowType
from core_mondrian.tables.hashing import splitmix64

Keys: TypeAlias = NDArray[np.uint64]

_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_WHOLE: Final = 2.0**53
"""Below it, every whole number is a float: 5 and 5.0 are one value."""
_PLAIN: Final = (
    *(bool, int, float, str, bytes, Decimal, UUID),
    *(dt.date, dt.time, dt.timedelta),
)


def cell_keys(column: ArrowArray) -> Keys:
    """Return a number per cell; 0: missing."""
    if isinstance(column, pa.ChunkedArray):
        by_chunk = [cell_keys(chunk) for chunk in column.chunks]
        return np.concatenate(by_chunk) if by_chunk else np.zeros(0, dtype=np.uint64)
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return cell_keys(column.storage)
    if pa.types.is_dictionary(kind):
        dictionary_keys = np.append(cell_keys(column.dictionary), np.uint64(0))
        places = column.indices.cast(pa.int64()).fill_null(len(dictionary_keys) - 1)
        keys: Keys = dictionary_keys[places.to_numpy(zero_copy_only=False)]
        return keys
    if pa.types.is_null(kind):
        return np.zeros(len(column), dtype=np.uint64)
    if pa.types.is_struct(kind):
        keys = np.ones(len(column), dtype=np.uint64)
        for field in column.flatten():
            keys = splitmix64(keys + cell_keys(field))
        return _blank(column, keys)
    return _plain_keys(column)


def _plain_keys(column: ArrowArray) -> Keys:
    kind = column.type
    if pa.types.is_floating(kind):
        return _float_keys(column)
    for test, keys_of in _KINDS:
        if test(kind):
            return _blank(column, splitmix64(keys_of(column)))
    return object_keys(column.to_pylist())  # lists, maps, unions and the like


def _blank(column: ArrowArray, keys: Keys) -> Keys:
    if column.null_count:
        keys[column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)] = 0
    return keys


def _numbers(column: ArrowArray, kind: pa.DataType) -> Any:  # noqa: ANN401
    plain = column.cast(kind)
    if plain.null_count:
        plain = plain.fill_null(0)
    return plain.to_numpy(zero_copy_only=False)


def _integer_keys(column: ArrowArray) -> Keys:
    if pa.types.is_uint64(column.type):
        unsigned: Keys = _numbers(column, pa.uint64()).copy()
        return unsigned
    keys: Keys = _numbers(column, pa.int64()).view(np.uint64)
    return keys


def _float_keys(column: ArrowArray) -> Keys:
    """Whole numbers have the key that they have as integers.

    pandas makes floats of integers where some are missing.
    """
    numbers = _numbers(column, pa.float64()) + 0.0  # -0.0 is 0.0
    is_nan = np.isnan(numbers)
    is_whole = (np.abs(numbers) < _WHOLE) & (np.floor(numbers) == numbers)
    whole = np.where(is_whole, numbers, 0.0).astype(np.int64).view(np.uint64)
    keys = splitmix64(np.where(is_whole, whole, numbers.view(np.uint64)))
    keys[is_nan] = 0
    return _blank(column, keys)


def _moment_keys(column: ArrowArray) -> Keys:
    """Dates, times and spans of any unit: whole seconds, and the rest in ns."""
    return _two(*moment_words(column))


def moment_words(column: ArrowArray) -> NDArray[np.int64]:
    """Return whole seconds, and the rest in nanoseconds, in two rows."""
    kind = column.type
    if pa.types.is_date32(kind):
        days = _numbers(column.view(pa.int32()), pa.int64())
        return np.stack([days * 86400, np.zeros_like(days)])
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    plain = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    per_second = _PER_SECOND[unit]
    seconds, rest = np.divmod(_numbers(plain, pa.int64()), per_second)
    return np.stack([seconds, rest * (10**9 // per_second)])


def _two(first: NDArray[np.int64], second: NDArray[np.int64]) -> Keys:
    keys: Keys = splitmix64(first.view(np.uint64)) + second.view(np.uint64)
    return keys


def _decimal_keys(column: ArrowArray) -> Keys:
    """Decimals by their digits; zeros at the end of a fraction are none."""
    texts = column.cast(pa.string())
    has_point = pc.match_substring(texts, ".")
    short = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    return _text_keys(pc.if_else(has_point, short, texts))


def _text_keys(column: ArrowArray) -> Keys:
    # The compiler loads when it is needed: the verifier gets by without.
    from core_mondrian.tables.text_hashing import hash_texts

    plain = column.cast(pa.large_binary())
    keys = np.empty(len(plain), dtype=np.uint64)
    if not len(plain):
        return keys
    _, offsets, data = plain.buffers()
    lengths = np.frombuffer(offsets, np.int64)
    bounds = lengths[plain.offset : plain.offset + len(plain) + 1]
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    hash_texts(held, bounds, keys)
    return keys


def _bool_keys(column: ArrowArray) -> Keys:
    return _integer_keys(column.cast(pa.int8()))


def _is_bytes(kind: pa.DataType) -> bool:
    tests = (
        *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
        pa.types.is_fixed_size_binary,
    )
    return any(test(kind) for test in tests)


def _is_moment(kind: pa.DataType) -> bool:
    return pa.types.is_temporal(kind) and not pa.types.is_interval(kind)


_KINDS: Final[
    tuple[tuple[Callable[[ArrowType], bool], Callable[[ArrowArray], Keys]], ...]
] = (
    (_is_bytes, _text_keys),
    (pa.types.is_integer, _integer_keys),
    (pa.types.is_boolean, _bool_keys),
    (_is_moment, _moment_keys),
    (pa.types.is_decimal, _decimal_keys),
)


def object_keys(cells: Iterable[object]) -> Keys:
    """Return a number per Python object; 0: missing.

    Raises:
        TypeError: an object has no content that could be compared; the message is
            its type.
    """
    return np.array([_object_key(_as_plain(cell)) for cell in cells], dtype=np.uint64)


def _object_key(plain: object) -> int:
    if plain is None:
        return 0
    text = repr(plain).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _as_plain(cell: object) -> object:
    """Return a cell as values whose text says all there is to say."""
    if isinstance(cell, np.ndarray | np.generic):
        cell = cell.tolist()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, list | tuple):
        return [_as_plain(item) for item in cell]
    if isinstance(cell, set | frozenset):
        return sorted(repr(_as_plain(item)) for item in cell)
    if isinstance(cell, dict):
        return [(_as_plain(key), _as_plain(cell[key])) for key in cell]
    if isinstance(cell, float) and cell != cell:  # noqa: PLR0124  # NaN
        return None
    if isinstance(cell, _PLAIN):
        return cell
    raise TypeError(type(cell).__name__)


def combine_keys(columns: Iterable[Keys], n_rows: int) -> Keys:
    """Return a number per row from those of its cells, the same for the same ones."""
    keys: Keys = np.zeros(n_rows, dtype=np.uint64)
    for column in columns:
        keys = splitmix64(keys + column)
    return keys
