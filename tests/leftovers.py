"""Tables of every type with cells to be hidden, and a search for their leftovers."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

HIDDEN: Final = 0x11735A
"""Stands for a cell that nobody may see: as a date, it is in the year 5101."""
DAY: Final = 86_400_000

TEXTS: Final = (
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(40)),
)
FIXED: Final = (
    *(pa.int8(), pa.uint16(), pa.int32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64()),
    *(pa.decimal32(9), pa.decimal64(18), pa.decimal128(38), pa.decimal256(70)),
    *(pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("us")),
    *(pa.timestamp("us"), pa.timestamp("ns", "Europe/Berlin"), pa.duration("s")),
    pa.month_day_nano_interval(),
)
_CODED: Final = pa.dictionary(pa.int16(), pa.string())
NESTED: Final = (
    _CODED,
    pa.dictionary(pa.uint8(), pa.large_string(), ordered=True),
    pa.dictionary(pa.int32(), pa.int64()),
    pa.dictionary(pa.int32(), pa.list_(pa.string())),
    *(pa.list_(pa.string()), pa.large_list(pa.string_view()), pa.list_(_CODED)),
    *(pa.list_view(pa.string()), pa.large_list_view(_CODED)),
    *(pa.list_(pa.int32(), 2), pa.list_(pa.string_view(), 2)),
    *(pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), _CODED)),
    pa.struct({"s": pa.string(), "n": pa.int64(), "c": _CODED}),
    pa.struct({"inner": pa.list_(pa.struct({"s": pa.string_view()}))}),
    pa.run_end_encoded(pa.int32(), pa.string()),
    pa.run_end_encoded(pa.int64(), pa.list_(pa.string())),
    pa.uuid(),
    pa.sparse_union([pa.field("s", pa.string()), pa.field("n", pa.int64())]),
    pa.dense_union([pa.field("s", pa.string()), pa.field("n", pa.int64())]),
)
EVERY_TYPE: Final = (*TEXTS, *FIXED, *NESTED)


def word(number: int) -> str:
    """Return a text of 40 letters, whatever the number."""
    return f"what is written about person {number:011d}"


def column_of(kind: Any, numbers: list[int]) -> Any:
    """Return an array of a type whose cells stand for numbers."""
    for test, make in _MAKE:
        if test(kind):
            return make(kind, numbers)
    cells = b"".join(cell_bytes(kind, number) for number in numbers)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(cells)])


def cell_bytes(kind: Any, number: int) -> bytes:
    """Return how a cell of a type of fixed width is written."""
    width = kind.bit_width // 8
    number = number * DAY if pa.types.is_date64(kind) else number
    if width < 4:
        number = 0x5A * 0x0101 if number == HIDDEN else number
    return (number % (1 << 8 * width)).to_bytes(width, "little")


def needles_of(kind: Any, *, shortest: int = 1) -> list[bytes]:
    """Return the bytes that nobody may find where a column of this type was."""
    if isinstance(kind, pa.BaseExtensionType):
        return needles_of(kind.storage_type, shortest=shortest)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return needles_of(kind.value_type, shortest=shortest)
    if kind.num_fields:
        fields = [kind.field(i).type for i in range(kind.num_fields)]
        return [x for field in fields for x in needles_of(field, shortest=shortest)]
    if _is_text(kind):
        return [f"{HIDDEN:011d}".encode()]
    needle = cell_bytes(kind, HIDDEN)
    return [needle] if len(needle) >= shortest else []


def _is_text(kind: Any) -> bool:
    return kind in TEXTS


def _texts(kind: Any, numbers: list[int]) -> Any:
    words = pa.array([word(number) for number in numbers])
    return (
        words.cast(pa.binary()).cast(kind)
        if "binary" in str(kind)
        else words.cast(kind)
    )


def _dictionary(kind: Any, numbers: list[int]) -> Any:
    distinct = list(dict.fromkeys(numbers))
    codes = pa.array([distinct.index(number) for number in numbers])
    values = column_of(kind.value_type, distinct)
    codes = codes.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=kind.ordered)


def _twice(numbers: list[int]) -> list[int]:
    return [number for number in numbers for _ in range(2)]


def _list(kind: Any, numbers: list[int]) -> Any:
    ends = pa.array(range(0, 2 * len(numbers) + 1, 2))
    values = column_of(kind.value_type, _twice(numbers))
    if pa.types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(ends, values)
    return pa.ListArray.from_arrays(ends.cast(pa.int32()), values)


def _list_view(kind: Any, numbers: list[int]) -> Any:
    """Return lists that stand in the opposite order in memory."""
    is_large = pa.types.is_large_list_view(kind)
    width, make = (
        (pa.int64(), pa.LargeListViewArray)
        if is_large
        else (pa.int32(), pa.ListViewArray)
    )
    starts = pa.array([2 * i for i in reversed(range(len(numbers)))], width)
    sizes = pa.array([2] * len(numbers), width)
    values = column_of(kind.value_type, _twice(numbers[::-1]))
    return make.from_arrays(starts, sizes, values)


def _fixed_list(kind: Any, numbers: list[int]) -> Any:
    values = column_of(kind.value_type, _twice(numbers))
    return pa.FixedSizeListArray.from_arrays(values, 2)


def _map(kind: Any, numbers: list[int]) -> Any:
    ends = pa.array(range(len(numbers) + 1), pa.int32())
    keys = column_of(kind.key_type, numbers)
    return pa.MapArray.from_arrays(ends, keys, column_of(kind.item_type, numbers))


def _struct(kind: Any, numbers: list[int]) -> Any:
    fields = [column_of(field.type, numbers) for field in kind]
    return pa.StructArray.from_arrays(fields, fields=list(kind))


def _runs(kind: Any, numbers: list[int]) -> Any:
    ends = pa.array(range(1, len(numbers) + 1), kind.run_end_type)
    values = column_of(kind.value_type, numbers)
    return pa.RunEndEncodedArray.from_arrays(ends, values)


def _uuid(kind: Any, numbers: list[int]) -> Any:
    return pa.ExtensionArray.from_storage(kind, column_of(kind.storage_type, numbers))


def _union(kind: Any, numbers: list[int]) -> Any:
    n = len(numbers)
    codes = pa.array([i % 2 for i in range(n)], pa.int8())
    fields = [column_of(kind.field(i).type, numbers) for i in range(2)]
    names = ["s", "n"]
    if kind.mode == "sparse":
        return pa.UnionArray.from_sparse(codes, fields, names)
    at = pa.array(range(n), pa.int32())
    return pa.UnionArray.from_dense(codes, at, fields, names)


def _any_of(*tests: Any) -> Callable[[Any], bool]:
    return lambda kind: any(test(kind) for test in tests)


_MAKE: Final[tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...]] = (
    (lambda kind: isinstance(kind, pa.BaseExtensionType), _uuid),
    (_is_text, _texts),
    (pa.types.is_dictionary, _dictionary),
    (_any_of(pa.types.is_list, pa.types.is_large_list), _list),
    (_any_of(pa.types.is_list_view, pa.types.is_large_list_view), _list_view),
    (pa.types.is_fixed_size_list, _fixed_list),
    (pa.types.is_map, _map),
    (pa.types.is_struct, _struct),
    (pa.types.is_run_end_encoded, _runs),
    (pa.types.is_union, _union),
)


# What is in memory


def memory_of(frame: Any) -> Iterator[bytes]:
    """Yield every piece of memory that a frame refers to, and what a pickle holds."""
    if isinstance(frame, pa.Table):
        yield frame.schema.serialize().to_pybytes()
        for column in frame.columns:
            yield from _arrow_memory(column)
        return
    yield pickle.dumps(frame, protocol=5)
    if isinstance(frame, pl.DataFrame):
        for column in frame.get_columns():
            yield from _polars_memory(column)
        return
    for name in frame.columns:
        yield from _pandas_memory(frame[name].array)


def _arrow_memory(array: Any) -> Iterator[bytes]:
    if isinstance(array, pa.ChunkedArray):
        for chunk in array.chunks:
            yield from _arrow_memory(chunk)
        return
    buffers = [buffer for buffer in array.buffers() if buffer is not None]
    while buffers:
        yield from (buffer.to_pybytes() for buffer in buffers)
        buffers = [buffer.parent for buffer in buffers if buffer.parent is not None]
    for dictionary in _dictionaries(array):
        yield from _arrow_memory(dictionary)


def _dictionaries(array: Any) -> Iterator[Any]:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _dictionaries(array.storage)
    elif pa.types.is_dictionary(kind):
        yield array.dictionary
    elif pa.types.is_struct(kind) or pa.types.is_union(kind):
        for i in range(kind.num_fields):
            yield from _dictionaries(array.field(i))
    elif hasattr(array, "values"):
        yield from _dictionaries(array.values)


def _polars_memory(column: pl.Series) -> Iterator[bytes]:
    yield repr(column.dtype).encode()
    yield from _category_texts(column.dtype)
    native = column.to_arrow(compat_level=pl.CompatLevel.newest())
    yield from _arrow_memory(native)


def _category_texts(dtype: Any) -> Iterator[bytes]:
    if isinstance(dtype, pl.Categorical | pl.Enum):
        listed = dtype.categories
        texts = listed if isinstance(dtype, pl.Enum) else listed.to_series()
        yield "|".join(texts.to_list()).encode()
    elif isinstance(dtype, pl.List | pl.Array):
        yield from _category_texts(dtype.inner)
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield from _category_texts(field.dtype)


def _pandas_memory(array: Any) -> Iterator[bytes]:
    if isinstance(array, pd.Categorical):
        yield from _pandas_memory(array.categories.array)
    for name in ("_data", "_mask", "_ndarray", "_left", "_right", "_codes"):
        inner = getattr(array, name, None)
        if inner is not None:
            yield from _numpy_memory(np.asarray(inner))
    native = getattr(array, "_pa_array", None)
    if native is not None:
        yield from _arrow_memory(native)


def _numpy_memory(array: Any) -> Iterator[bytes]:
    while isinstance(array, np.ndarray):
        if array.dtype == object:
            for cell in array.reshape(-1):
                yield from _numpy_memory(cell)
        else:
            yield array.tobytes()
        array = array.base


def leftovers(pieces: Iterable[bytes], needles: list[bytes]) -> list[bytes]:
    """Return what can be found of hidden cells."""
    held = list(pieces)
    return [needle for needle in needles if any(needle in piece for piece in held)]
