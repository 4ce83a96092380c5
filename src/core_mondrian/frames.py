"""Dataframes at both ends: columns out as Arrow arrays, released columns back in."""

from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.errors import DataError, SpecError, list_names

_MOST_TEXT = 2**31 - 1
"""Bytes that one Arrow array of ordinary text can hold; sets of values may be long."""


def open_frame(data: Any) -> nw.DataFrame[Any]:  # noqa: ANN401
    """Wrap the caller's frame.

    Raises:
        SpecError: it is not a dataframe held in memory.
        DataError: two of its columns have one name.
    """
    try:
        return nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise DataError(
            "two columns have the same name", hint="rename one of them"
        ) from None
    except TypeError:
        raise SpecError(
            f"a dataframe in memory is needed, got {type(data).__name__}",
            hint="pandas, polars and pyarrow tables work; .collect() a lazy frame",
        ) from None


def check_columns(frame: nw.DataFrame[Any], wanted: Iterable[str]) -> None:
    """Raise SpecError unless the frame has every wanted column."""
    if missing := sorted(set(wanted).difference(frame.columns)):
        raise SpecError(
            f"not in the data: {missing}", hint=f"it has {list_names(frame.columns)}"
        )


def arrow_column(frame: nw.DataFrame[Any], name: str) -> pa.ChunkedArray:
    """Return one column as Arrow.

    Raises:
        DataError: its values are of several types.
    """
    try:
        native = frame.get_column(name).to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        # Arrow's own message quotes the offending cell.
        raise DataError(
            f"column {name!r} mixes values of different types",
            hint="convert it to one type first",
        ) from None
    if isinstance(native, pa.ChunkedArray):
        return native
    return pa.chunked_array([native])


def row_weights(frame: nw.DataFrame[Any], name: str) -> NDArray[np.float64]:
    """Return how much each row weighs; texts that are numbers are numbers.

    Raises:
        DataError: something there is not a finite number >= 0.
    """
    column = arrow_column(frame, name)
    try:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        kind = column.type
        if pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            raise pa.ArrowInvalid
        weights = column.cast(pa.float64()).fill_null(np.nan).to_numpy()
    except pa.ArrowException:  # which quotes the cell
        raise DataError(
            f"column {name!r} of type {column.type} holds other things than numbers",
            hint="a weight is a finite number of at least 0",
        ) from None
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        raise DataError(
            f"column {name!r} has {np.count_nonzero(wrong)} rows without a finite "
            "weight of at least 0",
            hint="fill or drop these rows first",
        )
    return np.asarray(weights, dtype=np.float64)


def blank_cells(
    frame: nw.DataFrame[Any], name: str, rows: NDArray[np.bool_]
) -> pa.Array:
    """Return a column as Arrow with the cells of ``rows`` missing."""
    column = arrow_column(frame, name).combine_chunks()
    return pc.if_else(pa.array(rows), pa.scalar(None, column.type), column)


def row_keys(
    frame: nw.DataFrame[Any], names: Iterable[str], rows: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Return a number per row that is scattered, and the same for the same cells.

    Columns that Arrow cannot rank (lists, objects of several types) do not enter it:
    they are only carried along, and may hold anything.
    """
    keys = np.zeros(rows.size, dtype=np.uint64)
    at = pa.array(rows)
    for name in names:
        try:
            column = arrow_column(frame, name).take(at).combine_chunks()
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            ranks = pc.rank(column, tiebreaker="dense")
        except (DataError, pa.ArrowException):
            continue
        keys = scatter(keys + ranks.to_numpy(zero_copy_only=False).astype(np.uint64))
    return keys


def scatter(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, the same for the same ones (splitmix64)."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scattered: NDArray[np.uint64] = keys ^ (keys >> np.uint64(31))
    return scattered


def drop_column(data: Any, name: str) -> Any:  # noqa: ANN401
    """Return the caller's kind of frame without one column."""
    return nw.from_native(data, eager_only=True).drop(name).to_native()


def replace_columns(
    frame: nw.DataFrame[Any],
    released: Mapping[str, pa.Array],
    removed: Iterable[str],
    keep: NDArray[np.bool_] | None,
) -> Any:  # noqa: ANN401
    """Return the caller's kind of frame with released columns in place of its own.

    ``released`` arrays are as long as the rows kept. Index, order and the other
    columns are the caller's; rows with ``keep`` false are left out.
    """
    gone = [name for name in removed if name in frame.columns]
    native = (frame.drop(gone) if gone else frame).to_native()
    if frame.implementation.is_pandas_like():
        return _replace_in_pandas(native, released, keep)
    if frame.implementation.is_polars():
        return _replace_in_polars(native, released, keep)
    if frame.implementation.is_pyarrow():
        return _replace_in_arrow(native, released, keep)
    raise SpecError(
        f"frames of {frame.implementation} are not supported",
        hint="pandas, polars and pyarrow tables work",
    )


def _replace_in_arrow(
    table: pa.Table, released: Mapping[str, pa.Array], keep: NDArray[np.bool_] | None
) -> pa.Table:
    others = table.drop_columns(list(released))
    if keep is not None:
        others = others.filter(pa.array(keep))
    arrays, fields = [], []
    for field in table.schema:
        if field.name in released:
            array = released[field.name]
            field = pa.field(field.name, array.type, metadata=field.metadata)  # noqa: PLW2901
        else:
            array = others.column(field.name)
        arrays.append(array)
        fields.append(field)
    return pa.table(arrays, schema=pa.schema(fields, table.schema.metadata))


def _replace_in_polars(
    table: Any,  # noqa: ANN401
    released: Mapping[str, pa.Array],
    keep: NDArray[np.bool_] | None,
) -> Any:  # noqa: ANN401
    import polars as pl

    others = table.drop(list(released))
    if keep is not None:
        others = others.filter(pl.Series(keep))
    series = []
    for name, array in released.items():
        column = pl.Series(name, pl.from_arrow(_plain(array)))
        if table.schema[name] == pl.Categorical:
            column = column.cast(pl.Categorical)
        series.append(column)
    return others.with_columns(series).select(table.columns)


def _replace_in_pandas(
    table: Any,  # noqa: ANN401
    released: Mapping[str, pa.Array],
    keep: NDArray[np.bool_] | None,
) -> Any:  # noqa: ANN401
    import pandas as pd

    # Only what is carried along is filtered; the released columns are as long already.
    others = table.drop(columns=list(released))
    if keep is not None:
        others = others.loc[keep]
    columns = {}
    for name in table.columns:
        if name not in released:
            columns[name] = others[name]
            continue
        array, dtype = released[name], table[name].dtype
        if isinstance(dtype, pd.CategoricalDtype) and pa.types.is_dictionary(
            array.type
        ):
            column = pd.Series(array.to_pandas())
        elif isinstance(dtype, pd.ArrowDtype):
            column = _plain(array).to_pandas(types_mapper=pd.ArrowDtype)
        else:
            column = _plain(array).to_pandas()
        columns[name] = column.set_axis(others.index)
    whole = pd.DataFrame(columns, index=others.index, copy=False)
    whole.columns.name = table.columns.name
    return whole


def _plain(array: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(array.type):
        return array
    lengths = pc.binary_length(array.dictionary)
    if (pc.sum(lengths.take(array.indices)).as_py() or 0) > _MOST_TEXT:
        wide = array.dictionary.cast(pa.large_string())
        array = pa.DictionaryArray.from_arrays(array.indices, wide)
    return array.dictionary_decode()


def take_cells(
    frame: nw.DataFrame[Any], name: str, new: pa.Array, places: NDArray[np.int64]
) -> Any:  # noqa: ANN401
    """Return the caller's kind of frame with the cells of one column rearranged.

    Cell ``i`` is what stands at ``places[i]`` of the column followed by ``new``. The
    column keeps its type, and everything else is the caller's.

    Raises:
        SpecError: a value of ``new`` does not fit into the column's type.
    """
    native = frame.to_native()
    try:
        if frame.implementation.is_pandas():
            return _take_in_pandas(native, name, new, places)
        if frame.implementation.is_polars():
            return _take_in_polars(native, name, new, places)
        if frame.implementation.is_pyarrow():
            return _take_in_arrow(native, name, new, places)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        raise SpecError(
            f"new values do not fit into column {name!r}",
            hint="it may be a categorical that lists its values: add them first",
        ) from None
    raise SpecError(
        f"frames of {frame.implementation} are not supported",
        hint="pandas, polars and pyarrow tables work",
    )


def _take_in_pandas(
    table: Any,  # noqa: ANN401
    name: str,
    new: pa.Array,
    places: NDArray[np.int64],
) -> Any:  # noqa: ANN401
    import pandas as pd

    column = table[name]
    if len(new):
        is_arrow = isinstance(column.dtype, pd.ArrowDtype)
        more = new.to_pandas(types_mapper=pd.ArrowDtype if is_arrow else None)
        is_listed = isinstance(column.dtype, pd.CategoricalDtype)
        if is_listed and not more.isin(column.cat.categories).all():
            raise ValueError  # pandas would make them missing
        column = pd.concat([column, more.astype(column.dtype)])
    whole = table.copy()
    whole[name] = column.take(places).set_axis(table.index)
    return whole


def _take_in_polars(
    table: Any,  # noqa: ANN401
    name: str,
    new: pa.Array,
    places: NDArray[np.int64],
) -> Any:  # noqa: ANN401
    import polars as pl

    column = table[name]
    if len(new):
        more = pl.Series(name, pl.from_arrow(new)).cast(column.dtype, strict=False)
        if more.has_nulls():
            raise ValueError
        column = pl.concat([column, more])
    return table.with_columns(column.gather(places))


def _take_in_arrow(
    table: pa.Table, name: str, new: pa.Array, places: NDArray[np.int64]
) -> pa.Table:
    at = table.column_names.index(name)
    field = table.schema.field(at)
    kind = field.type
    column = pa.chunked_array([*table.column(at).chunks, _as_type(new, kind)], kind)
    if pa.types.is_dictionary(kind):
        column = column.unify_dictionaries()
    elif pa.types.is_string_view(kind):  # which Arrow cannot take from
        column = column.cast(pa.string())
    return table.set_column(at, field, column.take(pa.array(places)).cast(kind))


def _as_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return array.cast(kind)
    coded = array.cast(kind.value_type).dictionary_encode()
    codes = coded.indices.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, coded.dictionary, ordered=kind.ordered)
