"""Arrow arrays as pandas columns, in the type that the caller's column has."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.runtime.array_types import ArrowArray, Column, Dtype

_MOST_TEXT = 2**31 - 1
"""Bytes that one Arrow array of ordinary text can hold; sets of values may be long."""
_MOST_DIGITS: Final = 38
"""Digits of Arrow's decimals of 128 bits; those of 256 bits have twice as many."""
_NULLABLE: Final = {
    **{f"int{bits}": f"Int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)},
    "bool": "boolean",
}
"""Pandas' types that hold missing cells, by those of NumPy and Arrow that do not."""
_NULLABLE_FLOATS: Final = {"float": "Float32", "double": "Float64"}


def nullable(column: Column) -> Column:
    """Return a column that can hold missing cells without becoming another number."""
    wanted = _NULLABLE.get(str(column.dtype))
    return column if wanted is None else column.astype(wanted)


def with_widest_decimals(array: ArrowArray, dtype: Dtype) -> ArrowArray:
    """Return decimals that are objects in pandas with as many digits as Arrow has.

    Objects have no precision. Arrow's guess is the digits of the largest one, and where
    a bound of a range would need more, the guess would decide what is released.
    """
    coded = pa.types.is_dictionary(array.type)
    kind = array.type.value_type if coded else array.type
    held = dtype.categories.dtype if hasattr(dtype, "categories") else dtype
    if str(held) != "object" or not pa.types.is_decimal(kind):
        return array
    wide = (
        pa.decimal128(_MOST_DIGITS, kind.scale)
        if kind.precision <= _MOST_DIGITS
        else pa.decimal256(2 * _MOST_DIGITS, kind.scale)
    )
    return array.cast(pa.dictionary(array.type.index_type, wide) if coded else wide)


def as_pandas(array: pa.Array, dtype: Dtype) -> Column:
    """Return a released array as pandas holds a column of ``dtype``.

    Whole numbers and booleans with blanks are nullable; ranges are Arrow's structs.
    """
    import pandas as pd

    if isinstance(dtype, pd.ArrowDtype) or pa.types.is_struct(array.type):
        return _as_arrow_column(array, getattr(dtype, "pyarrow_dtype", None))
    if pa.types.is_dictionary(array.type):
        if isinstance(dtype, pd.CategoricalDtype):
            return pd.Series(array.to_pandas())
        texts = plain(array).to_pandas()
        return texts.astype(dtype) if isinstance(dtype, pd.StringDtype) else texts
    is_masked = not isinstance(dtype, np.dtype | None) and hasattr(dtype, "numpy_dtype")
    if not is_masked and (not array.null_count or str(dtype) == "object"):
        return array.to_pandas()
    names = _NULLABLE | (_NULLABLE_FLOATS if is_masked else {})

    def find_type(kind: pa.DataType) -> Dtype:
        name = names.get(str(kind))
        return None if name is None else pd.api.types.pandas_dtype(name)

    return array.to_pandas(types_mapper=find_type)


def _as_arrow_column(array: pa.Array, wanted: pa.DataType | None) -> Column:
    import pandas as pd

    is_coded = wanted is not None and pa.types.is_dictionary(wanted)
    if pa.types.is_dictionary(array.type) and not is_coded:
        array = plain(array)
        if wanted in (pa.large_string(), pa.string_view()):
            array = array.cast(wanted)
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


def plain(array: pa.Array) -> pa.Array:
    """Return text that is no dictionary."""
    if not pa.types.is_dictionary(array.type):
        return array
    if _is_long(array):
        wide = array.dictionary.cast(pa.large_string())
        array = pa.DictionaryArray.from_arrays(array.indices, wide)
    return array.dictionary_decode()


def _is_long(array: pa.Array) -> bool:
    """Return whether the texts of all rows are more than Arrow can count."""
    lengths = pc.binary_length(array.dictionary)
    if (pc.max(lengths).as_py() or 0) * len(array) <= _MOST_TEXT:
        return False
    return (pc.sum(lengths.take(array.indices)).as_py() or 0) > _MOST_TEXT
