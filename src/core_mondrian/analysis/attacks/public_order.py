"""Orders of rows that a reader of a release can compute, and try out.

Who knows by which order rows of one tuple were allocated to classes knows more than the
classes show. The hash is the one that allocated rows up to version 0.1.0, kept as it
was: whatever allocates rows today, a reader may still try it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import ArrowArray, Flags, Integers
from core_mondrian.verification.counting import code_column

Keys: TypeAlias = NDArray[np.uint64]
_WHOLE: Final = 2.0**53
_PRIME: Final = 2147483647
_FACTORS: Final = (48271, 1327217885)
_TRIED_FIRST: Final = 100
_MOST_COLUMNS: Final = 8
"""Columns that are tried one by one."""


@dataclass(frozen=True)
class RowOrder:
    """A way in which rows may have been put in order."""

    name: str
    values: Keys
    """What decides, row by row."""
    decides: Flags
    """Rows whose value does not depend on which other rows are in their tuple."""
    within: Callable[[Integers, Integers], Keys]
    """Returns the values of rows that are all of some tuples, in the release's order.
    The second argument numbers the tuples."""


def public_orders(columns: Mapping[str, ArrowArray], n_rows: int) -> Iterator[RowOrder]:
    """Yield the orders that the cells and places of released rows give.

    ``columns`` are those that pass through, as the release has them.
    """
    plain = [_plain(column) for column in columns.values()]
    readings = [plain]
    typed = [_as_numbers(column) for column in plain]
    if any(a.type != b.type for a, b in zip(plain, typed, strict=True)):
        readings.append(typed)
    for number, reading in enumerate(readings):
        keys = hash_rows(reading, n_rows)
        name = "hash of cells" if not number else "hash of cells read as numbers"
        yield _hashed(name, keys)
    yield _fixed("place in the release", np.arange(n_rows, dtype=np.uint64))
    ranks = {
        name: code_column(column, ordered=True).codes.astype(np.uint64)
        for name, column in zip(columns, typed, strict=True)
        if not pa.types.is_nested(column.type)
    }
    for name, rank in islice(ranks.items(), _MOST_COLUMNS):
        yield _fixed(f"order of {name!r}", rank)
    if ranks:
        yield _database(list(ranks.values()))


def _hashed(name: str, keys: Keys) -> RowOrder:
    return RowOrder(
        name,
        splitmix64(keys),
        _is_unique(keys),
        lambda rows, kinds: _allocated(keys[rows], kinds),
    )


def _fixed(name: str, values: Keys) -> RowOrder:
    return RowOrder(name, values, _is_unique(values), lambda rows, _: values[rows])


def _database(ranks: Sequence[Keys]) -> RowOrder:
    """Ranks of cells among the rows of split tuples, folded as databases did."""
    n = ranks[0].size
    nothing = np.zeros(n, dtype=np.bool_)
    return RowOrder(
        "folded ranks",
        np.zeros(n, dtype=np.uint64),
        nothing,
        lambda rows, kinds: _folded([rank[rows] for rank in ranks], kinds),
    )


def _is_unique(keys: Keys) -> Flags:
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    unique: Flags = counts[place] == 1
    return unique


def _nth(keys: Keys, kinds: Integers) -> Keys:
    """Number equal keys of a kind from 0 on, in the order they stand."""
    order = np.lexsort((keys, kinds))
    ordered, of = keys[order], kinds[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]) | (of[1:] != of[:-1])
    place = np.arange(order.size)
    nth = np.empty(order.size, dtype=np.uint64)
    nth[order] = place - np.maximum.accumulate(np.where(is_new, place, 0))
    return nth


def _allocated(keys: Keys, kinds: Integers) -> Keys:
    return splitmix64(keys + _nth(keys, kinds))


def _folded(ranks: Sequence[Keys], kinds: Integers) -> Keys:
    dense = [np.unique(one, return_inverse=True)[1] + 1 for one in ranks]
    rows = np.zeros(dense[0].size, dtype=np.uint64)
    for one in dense:
        rows = splitmix64(rows + one.astype(np.uint64))
    folded = np.zeros(dense[0].size, dtype=np.int64)
    for one in (*dense, _nth(rows, kinds).astype(np.int64) + 1):
        folded = (folded * _FACTORS[0] + one % _PRIME * _FACTORS[1]) % _PRIME
    order = np.lexsort((*reversed(dense), folded))
    place = np.empty(order.size, dtype=np.uint64)
    place[order] = np.arange(order.size)
    return place


# The hash


def splitmix64(keys: Keys) -> Keys:
    """Return splitmix64 of each number."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scattered: Keys = keys ^ (keys >> np.uint64(31))
    return scattered


def hash_rows(columns: Sequence[ArrowArray], n_rows: int) -> Keys:
    """Return the hash of each row; columns that it does not know do not enter it."""
    keys = np.zeros(n_rows, dtype=np.uint64)
    for column in columns:
        try:
            keys = splitmix64(keys + hash_cells(column))
        except pa.ArrowException:
            continue
    return keys


def hash_cells(column: ArrowArray) -> Keys:
    """Return the hash of each cell; 0: missing.

    Raises:
        ArrowNotImplementedError: the type is none of those that are known.
    """
    encoded = column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
        parts = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
        keys = [_hash_cells(part) for part in parts]
        return np.concatenate(keys) if keys else np.zeros(0, dtype=np.uint64)
    return _hash_cells(encoded)


def _hash_cells(encoded: ArrowArray) -> Keys:
    known = np.append(_hash_values(encoded.dictionary), np.uint64(0))
    places = encoded.indices.cast(pa.int64()).fill_null(known.size - 1)
    keys: Keys = known[places.to_numpy(zero_copy_only=False)]
    return keys


def _hash_values(values: ArrowArray) -> Keys:
    kind = values.type
    if pa.types.is_boolean(kind):
        values, kind = values.cast(pa.int8()), pa.int8()
    if pa.types.is_uint64(kind):
        return splitmix64(values.fill_null(0).to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind):
        whole = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return splitmix64(whole.view(np.uint64))
    if pa.types.is_floating(kind):
        return _hash_floats(values)
    if pa.types.is_date32(kind):
        days = values.cast(pa.int32()).cast(pa.int64()).fill_null(0)
        seconds = days.to_numpy(zero_copy_only=False) * 86400
        return splitmix64(splitmix64(seconds.view(np.uint64)))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return splitmix64(_hash_texts(values.fill_null("").to_pylist()))
    raise pa.ArrowNotImplementedError(f"no hash for {kind}")


def _hash_floats(values: ArrowArray) -> Keys:
    numbers = values.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
    numbers = numbers + 0.0  # -0.0 is 0.0
    is_whole = (np.abs(numbers) < _WHOLE) & (np.floor(numbers) == numbers)
    whole = np.where(is_whole, numbers, 0.0).astype(np.int64).view(np.uint64)
    keys = splitmix64(np.where(is_whole, whole, numbers.view(np.uint64)))
    keys[np.isnan(numbers)] = 0
    return keys


def _hash_texts(texts: Sequence[str]) -> Keys:
    """Return FNV-1a of each text, byte by byte for all at once."""
    raw = [text.encode() for text in texts]
    lengths = np.array([len(one) for one in raw], dtype=np.int64)
    state = np.full(len(raw), 0xCBF29CE484222325, dtype=np.uint64)
    order = np.argsort(-lengths, kind="stable")
    joined = np.frombuffer(b"".join(raw), dtype=np.uint8)
    starts = np.cumsum(lengths) - lengths
    for place in range(int(lengths.max(initial=0))):
        longer = order[: int(np.count_nonzero(lengths > place))]
        byte = joined[starts[longer] + place].astype(np.uint64)
        state[longer] = (state[longer] ^ byte) * np.uint64(0x100000001B3)
    return state


def _plain(column: ArrowArray) -> ArrowArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if pa.types.is_string_view(kind):
        return column.cast(pa.string())
    return column


def _as_numbers(column: ArrowArray) -> ArrowArray:
    """Return text that is numbers throughout as numbers."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    for kind in (pa.int64(), pa.float64()):
        try:
            pc.cast(column.slice(0, _TRIED_FIRST), kind)
            return pc.cast(column, kind)
        except pa.ArrowException:
            continue
    return column
