"""Cells of Arrow arrays by place, and nothing but these cells.

Arrow keeps more than an array shows: a slice refers to all rows of its origin, bytes
stay under missing cells, dictionaries list values that no row has, and a view refers
to a buffer of texts long gone. What is gathered here has buffers of its own.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import (
    ArrowArray,
    ArrowField,
    ArrowType,
    Flags,
    IntegerArray,
)
from core_mondrian.runtime.runs import run_members

Places: TypeAlias = NDArray[np.int64]
"""Positions in an array; `BLANK` stands for a missing cell."""

BLANK: Final = -1
_WIDTHS: Final = (1, 2, 4, 8)
_BLOCK: Final = 1 << 12
"""Rows that are looked at first; then twice as many, and so on."""
_EXTENSION: Final = (b"ARROW:extension:name", b"ARROW:extension:metadata")


def gather(array: ArrowArray, places: Places) -> ArrowArray:
    """Return the cells at ``places``, with no bytes of any other cell."""
    kind = array.type
    for test, gather_kind in _GATHER:
        if test(kind):
            return gather_kind(array, places)
    return array.take(_as_index(places))


def clean_array(array: ArrowArray) -> ArrowArray:
    """Return the same cells with no bytes of any other cell."""
    if pa.types.is_dictionary(array.type):
        indices = array.indices
        codes = clean_array(indices)
        if codes is indices and _is_in_order(array):
            return array
        return _compact(codes, array.dictionary, is_ordered=array.type.ordered)
    if not is_flat(array.type):
        return gather(array, own_places(array))
    if array.null_count:
        return _clean_nulls(array)
    validity, *buffers = array.buffers()
    if validity is None and _fills(array, buffers):
        return array
    # With a second one, Arrow copies: nothing refers to the old buffers any more.
    return pa.concat_arrays([array, array.slice(0, 0)])


def _is_in_order(array: ArrowArray) -> bool:
    """Return whether a dictionary lists the values in use, rising, and nothing else."""
    values = array.dictionary
    if (
        not is_flat(values.type)
        or values.null_count
        or clean_array(values) is not values
    ):
        return False
    try:
        is_rising = pc.all(pc.less(values[:-1], values[1:]), min_count=0).as_py()
    except pa.ArrowNotImplementedError:
        return False
    codes = np.frombuffer(
        array.indices.buffers()[1], array.type.index_type.to_pandas_dtype()
    )
    return bool(is_rising and _used(codes, 0, len(values)).all())


def _clean_nulls(array: ArrowArray) -> ArrowArray:
    """Clear what is under missing cells: .003 s for a million, .01 with `take`."""
    is_null, kind, buffers = _is_null(array), array.type, array.buffers()
    if _is_fixed(kind):
        width = kind.bit_width // 8
        # Numbers are cleared .0005 s a million, other bytes .003.
        dtype = f"{'u' if width in _WIDTHS else 'V'}{width}"
        cells = np.frombuffer(buffers[1], dtype)
        cells = cells[array.offset : array.offset + len(array)].copy()
        np.putmask(cells, is_null, np.zeros(1, cells.dtype))
        kept = [pa.py_buffer(cells.view(np.uint8))]
    elif _fills(array, buffers[1:]) and not _lengths(array)[is_null].any():
        kept = buffers[1:]
    else:
        return gather(array, own_places(array))
    return pa.Array.from_buffers(kind, len(array), [_bits(~is_null), *kept])


def own_places(array: ArrowArray) -> Places:
    """Return the place of every cell; missing ones are `BLANK`."""
    places = np.arange(len(array), dtype=np.int64)
    if array.null_count:
        places[_is_null(array)] = BLANK
    return places


def clean_type(kind: ArrowType) -> ArrowType:
    """Return a type whose inner fields carry no notes; they may hold anything.

    Fields of structs and cells of fixed-size lists may be missing, as they are inside a
    missing struct or list.
    """
    for test, make in _CLEAN:
        if test(kind):
            return make(kind)
    return kind


def clean_field(field: ArrowField) -> ArrowField:
    """Return a field without notes, except what its type is beyond Arrow's."""
    notes = field.metadata or {}
    kept = {key: notes[key] for key in _EXTENSION if key in notes}
    return pa.field(
        field.name,
        clean_type(field.type),
        nullable=field.nullable,
        metadata=kept or None,
    )


def _nullable(field: ArrowField) -> ArrowField:
    return clean_field(field).with_nullable(True)  # noqa: FBT003


def is_flat(kind: ArrowType) -> bool:
    """Return whether Arrow's own `take` returns only the cells it is asked for."""
    return not any(test(kind) for test, _ in _GATHER)


def _fills(array: ArrowArray, buffers: list[Any]) -> bool:
    """Return whether the cells of a flat array are all that its buffers hold."""
    if array.offset or pa.types.is_boolean(array.type):
        return False  # Bits of other rows may share the last byte.
    if any(buffer is None or buffer.parent is not None for buffer in buffers):
        return False
    if _is_fixed(array.type):
        return bool(buffers[0].size * 8 == len(array) * array.type.bit_width)
    ends = np.frombuffer(buffers[0], _offset_type(array.type))
    is_whole = ends.size == len(array) + 1 and ends[0] == 0
    return bool(is_whole and ends[-1] == buffers[1].size)


def _is_fixed(kind: ArrowType) -> bool:
    tests = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_fixed_size_binary)
    return any(test(kind) for test in tests) and not pa.types.is_boolean(kind)


def _lengths(array: ArrowArray) -> Places:
    ends = np.frombuffer(array.buffers()[1], _offset_type(array.type))
    return np.diff(ends).astype(np.int64)


def _offset_type(kind: ArrowType) -> str:
    tests = (pa.types.is_large_string, pa.types.is_large_binary)
    return "i8" if any(test(kind) for test in tests) else "i4"


def _is_null(array: ArrowArray) -> Flags:
    if is_flat(array.type) and (validity := array.buffers()[0]) is not None:
        # .0002 s a million, .001 through Arrow.
        stop = array.offset + len(array)
        held = np.frombuffer(validity, np.uint8)
        bits = np.unpackbits(held, count=stop, bitorder="little")
        flags: Flags = bits[array.offset :] == 0
        return flags
    is_null: Flags = array.is_null().to_numpy(zero_copy_only=False)
    return is_null


def _as_index(places: Places) -> ArrowArray:
    is_blank = places < 0
    return pa.array(places, mask=is_blank if is_blank.any() else None)


def _shown(array: ArrowArray, places: Places) -> Flags:
    """Return which places are those of present cells."""
    shown = places >= 0
    if array.null_count:
        shown &= ~np.append(_is_null(array), True)[places]
    return shown


def _at(values: IntegerArray, places: Places) -> Places:
    """Return numbers by place; 0 where there is none."""
    return np.append(values, 0)[places].astype(np.int64)


def _bits(shown: Flags) -> pa.Buffer | None:
    if shown.all():
        return None
    return pa.py_buffer(np.packbits(shown, bitorder="little").tobytes())


def _numbers(values: IntegerArray, dtype: str) -> pa.Buffer:
    return pa.py_buffer(np.ascontiguousarray(values, dtype=dtype))


def _gather_extension(array: ArrowArray, places: Places) -> ArrowArray:
    storage = gather(array.storage, places)
    kind = array.type
    return pa.ExtensionArray.from_storage(kind, storage.cast(kind.storage_type))


def _gather_null(_array: ArrowArray, places: Places) -> ArrowArray:
    return pa.nulls(places.size)


def _gather_view(array: ArrowArray, places: Places) -> ArrowArray:
    is_text = pa.types.is_string_view(array.type)
    plain = array.cast(pa.string() if is_text else pa.binary())
    return plain.take(_as_index(places)).cast(array.type)


def _gather_struct(array: ArrowArray, places: Places) -> ArrowArray:
    shown = _shown(array, places)
    inside = np.where(shown, places, BLANK)
    fields = [gather(array.field(i), inside) for i in range(array.type.num_fields)]
    return _build(array.type, places.size, [_bits(shown)], fields)


def _gather_list(array: ArrowArray, places: Places) -> ArrowArray:
    """Gather lists that stand one after the other.

    offsets  0   2 2     5        places  2, 0, 1
             a b . c d e          taken   c d e | a b |
    """
    shown = _shown(array, places)
    ends = array.offsets.to_numpy()
    starts = _at(ends[:-1], places)
    lengths = np.where(shown, _at(np.diff(ends), places), 0)
    new_ends = np.append(0, np.cumsum(lengths))
    inside = run_members(starts, lengths)
    if pa.types.is_map(array.type):
        values = _gather_entries(array, inside)
    else:
        values = gather(array.values, inside)
    is_large = pa.types.is_large_list(array.type)
    buffers = [_bits(shown), _numbers(new_ends, "i8" if is_large else "i4")]
    return _build(array.type, places.size, buffers, [values])


def _gather_entries(array: ArrowArray, places: Places) -> ArrowArray:
    """Gather entries of maps: structs that are never missing."""
    kind = clean_type(array.type).field(0).type
    fields = [gather(array.values.field(i), places) for i in range(2)]
    return pa.Array.from_buffers(kind, places.size, [None], children=fields)


def _gather_list_view(array: ArrowArray, places: Places) -> ArrowArray:
    shown = _shown(array, places)
    starts = _at(array.offsets.to_numpy(), places)
    lengths = np.where(shown, _at(array.sizes.to_numpy(), places), 0)
    new_starts = np.cumsum(lengths) - lengths
    values = gather(array.values, run_members(starts, lengths))
    width = "i8" if pa.types.is_large_list_view(array.type) else "i4"
    buffers = [_bits(shown), _numbers(new_starts, width), _numbers(lengths, width)]
    return _build(array.type, places.size, buffers, [values])


def _gather_fixed_list(array: ArrowArray, places: Places) -> ArrowArray:
    size = array.type.list_size
    shown = _shown(array, places)
    first = (places + array.offset) * size
    inside = first[:, None] + np.arange(size)
    inside[~shown] = BLANK
    values = gather(array.values, inside.reshape(-1))
    return _build(array.type, places.size, [_bits(shown)], [values])


def _gather_dictionary(array: ArrowArray, places: Places) -> ArrowArray:
    codes = clean_array(array.indices.take(_as_index(places)))
    return _compact(codes, array.dictionary, is_ordered=array.type.ordered)


def _compact(
    indices: ArrowArray, values: ArrowArray, *, is_ordered: bool
) -> ArrowArray:
    """Return a dictionary of the values in use, each once, in an order of their own.

    ``indices`` have buffers of their own, and zeros under missing cells.
    """
    codes = np.frombuffer(indices.buffers()[1], indices.type.to_pandas_dtype())
    is_used = _used(codes, indices.null_count, len(values))
    same = _equal_values(values)
    is_kept = np.zeros(same.size + 1, dtype=np.bool_)
    is_kept[same[is_used]] = True
    kept = np.flatnonzero(is_kept[:-1])
    kept = kept if is_ordered else _sorted(values, kept, codes)
    if kept.size < same.size or (kept[1:] < kept[:-1]).any():
        moved = np.full(same.size + 1, BLANK)
        moved[kept] = np.arange(kept.size)
        indices = _move(indices, codes, moved[same], has_blank=is_kept[-1])
        values = gather(values, kept)
    # Codes need no second look: they are in range.
    return pa.DictionaryArray.from_arrays(
        indices, clean_array(values), ordered=is_ordered, safe=False
    )


def _move(
    indices: ArrowArray, codes: IntegerArray, moved: Places, *, has_blank: bool
) -> ArrowArray:
    """Return the new code of each cell; codes of missing values are missing cells."""
    if has_blank or not moved.size:
        new = moved[codes] if moved.size else np.full(codes.size, BLANK)
        if indices.null_count:
            new[_is_null(indices)] = BLANK
        return _as_index(new).cast(indices.type)
    new = np.maximum(moved, 0).astype(codes.dtype).take(codes)
    validity = indices.buffers()[0]
    if indices.null_count:
        new[_is_null(indices)] = 0
    return pa.Array.from_buffers(
        indices.type, len(indices), [validity, pa.py_buffer(new)]
    )


def _used(codes: IntegerArray, n_missing: int, n_values: int) -> Flags:
    """Return which codes occur; most dictionaries are used up by the first rows.

    So many of the codes are 0 because their cells are missing.
    """
    is_used = np.zeros(n_values, dtype=np.bool_)
    if not n_values:
        return is_used
    start, stop = 0, _BLOCK
    while start < codes.size:
        is_used[codes[start:stop]] = True
        if is_used.all():
            break
        start, stop = stop, 2 * stop
    if n_missing:
        is_used[0] = codes.size - np.count_nonzero(codes) > n_missing
    return is_used


def _equal_values(values: ArrowArray) -> Places:
    """Return the place of the first equal value of each; `BLANK`: it is missing.

    Which of two equal entries a row refers to is not for others to see.
    """
    try:
        coded = values.dictionary_encode()
    except pa.ArrowNotImplementedError:  # Lists and the like are taken as distinct.
        return own_places(values)
    numbers: NDArray[np.int32] = coded.indices.fill_null(BLANK).to_numpy()
    first = np.full(len(coded.dictionary) + 1, BLANK, dtype=np.int64)
    # The last assignment wins: from the last value to the first, the first.
    first[numbers[::-1]] = np.arange(numbers.size)[::-1]
    first[-1] = BLANK
    return first[numbers]


def _sorted(values: ArrowArray, kept: Places, codes: IntegerArray) -> Places:
    """Return places of values from the smallest on, or else in the order of the rows.

    The order they came in may be that of the rows that came in.
    """
    order: IntegerArray
    try:
        order = pc.array_sort_indices(values.take(pa.array(kept))).to_numpy()
    except pa.ArrowNotImplementedError:
        # Codes under missing cells are 0, and at worst move one value.
        order = np.argsort(first_rows(codes, len(values))[kept])
    return kept[order]


def first_rows(codes: IntegerArray, n_values: int) -> Places:
    """Return the first row of each code; of those that no row has, the last and one."""
    rows = np.full(n_values, codes.size)
    rows[codes[::-1]] = np.arange(codes.size)[::-1]
    return rows


def _gather_runs(array: ArrowArray, places: Places) -> ArrowArray:
    """Gather from runs of equal cells; where one began and ended is not kept."""
    ends = array.run_ends.to_numpy()
    at = np.searchsorted(ends, places + array.offset, side="right")
    plain = gather(array.values, np.where(places < 0, BLANK, at))
    kind = array.type
    try:
        return pc.run_end_encode(plain, run_end_type=kind.run_end_type)
    except pa.ArrowNotImplementedError:
        each = pa.array(np.arange(1, places.size + 1)).cast(kind.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(each, plain)


def _gather_union(array: ArrowArray, places: Places) -> ArrowArray:
    """Gather cells of several types; a blank one is missing in the first of them."""
    kind = array.type
    codes = np.where(places < 0, kind.type_codes[0], _at(_codes_of(array), places))
    inside = places if kind.mode == "sparse" else _at(_starts_of(array), places)
    inside = np.where(places < 0, BLANK, inside)
    types = _numbers(codes, "i1")
    fields = [array.field(i) for i in range(kind.num_fields)]
    owned = [codes == code for code in kind.type_codes]
    if kind.mode == "sparse":
        cells = [
            gather(field, np.where(own, inside, BLANK))
            for field, own in zip(fields, owned, strict=True)
        ]
        return _build(kind, places.size, [None, types], cells)
    offsets = np.zeros(places.size, dtype=np.int64)
    for own in owned:
        offsets[own] = np.arange(np.count_nonzero(own))
    cells = [gather(f, inside[own]) for f, own in zip(fields, owned, strict=True)]
    return _build(kind, places.size, [None, types, _numbers(offsets, "i4")], cells)


def _codes_of(array: ArrowArray) -> IntegerArray:
    # `type_codes` and `offsets` of a slice are those of its origin.
    return np.frombuffer(array.buffers()[1], np.int8)[array.offset :][: len(array)]


def _starts_of(array: ArrowArray) -> IntegerArray:
    return np.frombuffer(array.buffers()[2], np.int32)[array.offset :][: len(array)]


def _build(
    kind: ArrowType, n: int, buffers: list[pa.Buffer | None], children: list[ArrowArray]
) -> ArrowArray:
    return pa.Array.from_buffers(clean_type(kind), n, buffers, children=children)


def _is_extension(kind: ArrowType) -> bool:
    return isinstance(kind, pa.BaseExtensionType)


_CLEAN: Final[
    tuple[tuple[Callable[[ArrowType], bool], Callable[[ArrowType], ArrowType]], ...]
] = (
    (_is_extension, lambda kind: kind),
    (
        pa.types.is_dictionary,
        lambda kind: pa.dictionary(
            kind.index_type, clean_type(kind.value_type), ordered=kind.ordered
        ),
    ),
    (
        pa.types.is_run_end_encoded,
        lambda kind: pa.run_end_encoded(kind.run_end_type, clean_type(kind.value_type)),
    ),
    (pa.types.is_struct, lambda kind: pa.struct([_nullable(x) for x in kind])),
    (
        pa.types.is_map,
        lambda kind: pa.map_(
            clean_field(kind.key_field),
            clean_field(kind.item_field),
            keys_sorted=kind.keys_sorted,
        ),
    ),
    (
        pa.types.is_union,
        lambda kind: pa.union(
            [clean_field(kind.field(i)) for i in range(kind.num_fields)],
            mode=kind.mode,
            type_codes=kind.type_codes,
        ),
    ),
    (
        pa.types.is_fixed_size_list,
        lambda kind: pa.list_(_nullable(kind.value_field), kind.list_size),
    ),
    (pa.types.is_list, lambda kind: pa.list_(clean_field(kind.value_field))),
    (
        pa.types.is_large_list,
        lambda kind: pa.large_list(clean_field(kind.value_field)),
    ),
    (pa.types.is_list_view, lambda kind: pa.list_view(clean_field(kind.value_field))),
    (
        pa.types.is_large_list_view,
        lambda kind: pa.large_list_view(clean_field(kind.value_field)),
    ),
)
_GATHER: Final[
    tuple[
        tuple[Callable[[ArrowType], bool], Callable[[ArrowArray, Places], ArrowArray]],
        ...,
    ]
] = (
    (_is_extension, _gather_extension),
    (pa.types.is_null, _gather_null),
    (pa.types.is_dictionary, _gather_dictionary),
    (pa.types.is_string_view, _gather_view),
    (pa.types.is_binary_view, _gather_view),
    (pa.types.is_struct, _gather_struct),
    (pa.types.is_list, _gather_list),
    (pa.types.is_large_list, _gather_list),
    (pa.types.is_map, _gather_list),
    (pa.types.is_list_view, _gather_list_view),
    (pa.types.is_large_list_view, _gather_list_view),
    (pa.types.is_fixed_size_list, _gather_fixed_list),
    (pa.types.is_run_end_encoded, _gather_runs),
    (pa.types.is_union, _gather_union),
)
