"""Dataframes at both ends: columns out as Arrow arrays, released columns back in."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from os import PathLike
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import (
    DataError,
    SpecError,
    list_names,
    look_like_cells,
    quote_names,
)
from core_mondrian.runtime.array_types import Column, Frame
from core_mondrian.runtime.threads import map_columns
from core_mondrian.tables.cell_keys import Keys, cell_keys, combine_keys, object_keys
from core_mondrian.tables.cleaning import take_arrow
from core_mondrian.tables.pandas_types import (
    as_pandas,
    nullable,
    plain,
    with_widest_decimals,
)

OpenFrame: TypeAlias = nw.DataFrame[Any]
OpenColumn: TypeAlias = nw.Series[Any]
"""A frame of any library, seen through narwhals; `open_frame` opens it."""
Layout = Mapping[str, Mapping[str, pa.Array] | None]
"""By place: the columns that are released there; None: the caller's own."""


def open_frame(data: Frame) -> OpenFrame:
    """Wrap the caller's frame.

    Raises:
        SpecError: it is not a dataframe held in memory.
        DataError: two of its columns have one name.
    """
    try:
        return nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise DataError(
            f"two columns have the same name{_twice_in(data)}",
            hint="rename one of them",
        ) from None
    except TypeError:
        raise SpecError(
            f"a dataframe in memory is needed, got {type(data).__name__}",
            hint=_hint_for(data),
        ) from None


def _hint_for(data: object) -> str:
    """Say how to make a frame of something else."""
    if isinstance(data, str | PathLike):
        return (
            "read the file first, such as pandas.read_csv(path), or give "
            "anonymize_files(source, target, …) both files"
        )
    if isinstance(data, list) and any(hasattr(one, "columns") for one in data):
        return "give one frame, not a list: pandas.concat(frames)"
    if isinstance(data, Mapping | list | np.ndarray):
        return "make a frame of it: pandas.DataFrame(data)"
    if type(data).__name__ == "Release":
        return "its table is release.data"
    return "pandas, polars and pyarrow tables work; .collect() a lazy frame"


def _twice_in(data: object) -> str:
    """Name the columns of a frame that has several of one name."""
    names = Counter(map(str, getattr(data, "columns", ())))
    twice = [name for name, n in names.items() if n > 1]
    return f": {list_names(twice, names)}" if twice else ""


def check_columns(frame: OpenFrame, wanted: Iterable[str]) -> None:
    """Raise SpecError unless the frame has every wanted column."""
    if missing := sorted(set(wanted).difference(frame.columns)):
        hint = f"it has {list_names(frame.columns)}"
        meant = _meant(missing[0], frame)
        raise SpecError(
            f"not in the data: {quote_names(missing)}",
            hint=f"{meant} {hint}" if meant else hint,
        )


def _meant(name: str, frame: OpenFrame) -> str | None:
    """Return what may have been meant by a column that a frame does not have."""
    if name in getattr(getattr(frame.to_native(), "index", None), "names", ()):
        return "it is the index: give data.reset_index();"
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= set(frame.columns):
        return f"name each by itself: {parts} in Python, --qid for each in a command;"
    if look_like_cells(frame.columns):
        return None
    close = get_close_matches(name, frame.columns, n=1)
    return f"did you mean {close[0]!r}?" if close else None


def arrow_column(frame: OpenFrame, name: str) -> pa.ChunkedArray:
    """Return one column as Arrow.

    Raises:
        DataError: its values are of several types.
    """
    if frame.implementation.is_pyarrow():
        return frame.to_native().column(name)
    series = frame.get_column(name)
    try:
        native = _without_int128(series).to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        # Arrow's own message quotes the offending cell.
        raise DataError(
            f"column {name!r} mixes values of different types",
            hint="convert it to one type first",
        ) from None
    if frame.implementation.is_pandas():
        native = with_widest_decimals(native, series.to_native().dtype)
    if isinstance(native, pa.ChunkedArray):
        return native
    return pa.chunked_array([native])


def arrow_table(data: Frame) -> pa.Table:
    """Return any frame as an Arrow table; one that is Arrow's stays as it is."""
    if isinstance(data, pa.Table):
        return data
    frame = open_frame(data)
    return pa.table({name: arrow_column(frame, name) for name in frame.columns})


def like(data: Frame, table: pa.Table) -> Frame:
    """Return an Arrow table as a frame of the library that ``data`` is of."""
    try:
        backend = open_frame(data).implementation
    except SpecError:  # it lies elsewhere
        return table
    return nw.DataFrame.from_arrow(table, backend=backend).to_native()


def row_weights(frame: OpenFrame, name: str) -> NDArray[np.float64]:
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


def _without_int128(series: OpenColumn) -> OpenColumn:
    """Return whole numbers of 128 bits, which Arrow does not have, as decimals."""
    if series.dtype not in (nw.Int128, nw.UInt128):
        return series
    return series.cast(nw.Decimal(38, 0))


def blank_cells(
    frame: OpenFrame, names: Iterable[str], rows: NDArray[np.bool_]
) -> OpenFrame:
    """Return the frame with the cells of ``rows`` missing in some columns."""
    native = frame.to_native()
    if frame.implementation.is_pandas_like():
        native = native.copy(deep=False)
        places = pa.array(np.arange(len(native)), mask=rows)
        for name in names:
            native[name] = _take_pandas(nullable(native[name]), places)
    elif frame.implementation.is_polars():
        import polars as pl

        is_blank = pl.lit(pl.Series(rows))
        native = native.with_columns(
            pl.when(is_blank).then(None).otherwise(pl.col(name)).alias(name)
            for name in names
        )
    else:
        places = pa.array(np.arange(len(native)), mask=rows)
        for name in names:
            at = native.column_names.index(name)
            field = native.schema.field(at).with_nullable(True)  # noqa: FBT003
            native = native.set_column(at, field, take_arrow(native[name], places))
    return open_frame(native)


def _take_pandas(column: Column, places: pa.Array) -> Column:
    """Return the cells of a pandas column by place; a null place is a missing cell."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        kept = take_arrow(column.array.__arrow_array__(), places)
        return pd.Series(pd.arrays.ArrowExtensionArray(kept), index=column.index)
    return column.mask(places.is_null().to_numpy(zero_copy_only=False))


def row_keys(
    frame: OpenFrame,
    names: Sequence[str],
    rows: NDArray[np.int64],
    threads: int | None = 1,
) -> Keys:
    """Return a public hash of some cells of each row, the same for the same cells.

    Raises:
        SpecError: a column holds objects that have no content to compare.
    """
    hash_column = partial(column_keys, frame, rows=rows)
    return combine_keys(map_columns(hash_column, names, rows.size, threads), rows.size)


def column_keys(
    frame: OpenFrame, name: str, rows: NDArray[np.int64] | None = None
) -> Keys:
    """Return a public hash of each cell of a column, or of some rows of it.

    Raises:
        SpecError: the column holds objects that have no content to compare.
    """
    try:
        column = arrow_column(frame, name)
    except DataError:  # objects of several types
        cells = frame.get_column(name).to_list()
        return _object_keys(cells if rows is None else [cells[i] for i in rows], name)
    if rows is None:
        return cell_keys(column)
    if (rows[1:] < rows[:-1]).any():
        return cell_keys(take_arrow(column, pa.array(rows)))
    return cell_keys(_take_chunks(column, rows))


def _object_keys(cells: list[object], name: str) -> Keys:
    try:
        return object_keys(cells)
    except TypeError as error:
        kind = str(error)
    raise SpecError(
        f"rows cannot be distinguished by their content: column {name!r} holds "
        f"{kind} objects",
        hint="make the column text or numbers, remove it, or ask for disjoint classes "
        "and no shuffle",
    )


def drop_column(data: Frame, name: str) -> Frame:
    """Return the caller's kind of frame without one column."""
    return nw.from_native(data, eager_only=True).drop(name).to_native()


def filter_rows(
    frame: OpenFrame, keep: NDArray[np.bool_], threads: int | None = 1
) -> Frame:
    """Return the caller's kind of frame with the rows to keep, and nothing changed."""
    native = frame.to_native()
    if frame.implementation.is_pandas_like():
        return native.loc[keep]
    if frame.implementation.is_polars():
        import polars as pl

        return native.filter(pl.Series(keep))
    return _take_rising(native, np.flatnonzero(keep), threads)


def take_rows(frame: OpenFrame, rows: NDArray[np.int64]) -> Frame:
    """Return the caller's kind of frame with some rows, by their places, rising."""
    native = frame.to_native()
    if frame.implementation.is_pandas_like():
        return native.iloc[rows]
    if frame.implementation.is_polars():
        return native[rows]
    return _take_rising(native, rows, 1)


def order_rows(data: Frame, order: NDArray[np.int64]) -> Frame:
    """Return the caller's kind of frame in another order; an index starts anew."""
    frame = open_frame(data)
    if frame.implementation.is_pandas_like():
        return data.iloc[order].reset_index(drop=True)
    if frame.implementation.is_polars():
        return data[order]
    return _take_rows_arrow(data, order)


def _take_rows_arrow(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    columns = [take_arrow(column, pa.array(rows)) for column in table.columns]
    return pa.table(columns, schema=table.schema)


def _take_rising(
    table: pa.Table, rows: NDArray[np.int64], threads: int | None
) -> pa.Table:
    take = partial(_take_chunks, rows=rows)
    columns = map_columns(take, table.columns, rows.size, threads)
    return pa.table(columns, schema=table.schema)


def _take_chunks(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    """Return cells in the order they are in: no chunks have to be joined."""
    parts, start = [], 0
    for chunk in column.chunks:
        stop = start + len(chunk)
        first, last = np.searchsorted(rows, (start, stop))
        places = rows[first:last] - start if start else rows[first:last]
        parts += take_arrow(pa.chunked_array([chunk]), pa.array(places)).chunks
        start = stop
    return pa.chunked_array(parts, parts[0].type) if parts else column


def replace_columns(
    frame: OpenFrame,
    released: Mapping[str, Mapping[str, pa.Array]],
    removed: Iterable[str],
    keep: NDArray[np.bool_] | None,
    threads: int | None = 1,
) -> Frame:
    """Return the caller's kind of frame with released columns in place of its own.

    ``released`` says by which columns one is replaced; what replaces none is put last.
    Its arrays are as long as the rows kept. Order and the other columns are the
    caller's; rows with ``keep`` false are left out.
    """
    dropped = [name for name in removed if name in frame.columns]
    kept = frame.drop(dropped) if dropped else frame
    others = kept.drop([name for name in kept.columns if name in released])
    rest = others.to_native() if keep is None else filter_rows(others, keep, threads)
    layout = {name: released.get(name) for name in (*kept.columns, *released)}
    if frame.implementation.is_pandas_like():
        return _replace_in_pandas(kept.to_native(), rest, layout)
    if frame.implementation.is_polars():
        return _replace_in_polars(kept.to_native(), rest, layout)
    if frame.implementation.is_pyarrow():
        return _replace_in_arrow(kept.to_native(), rest, layout)
    raise SpecError(
        f"frames of {frame.implementation} are not supported",
        hint="pandas, polars and pyarrow tables work",
    )


def _replace_in_arrow(table: pa.Table, others: pa.Table, layout: Layout) -> pa.Table:
    arrays, fields = [], []
    for place, columns in layout.items():
        if columns is None:
            arrays.append(others.column(place))
            fields.append(table.schema.field(place))
            continue
        for name, array in columns.items():
            arrays.append(array)
            fields.append(pa.field(name, array.type))
    return pa.table(arrays, schema=pa.schema(fields))


def _replace_in_polars(table: Frame, others: Frame, layout: Layout) -> Frame:
    import polars as pl

    # Older polars have no unsigned ones.
    wide = (pl.Int128, getattr(pl, "UInt128", pl.Int128))
    series = []
    for place, columns in layout.items():
        if columns is None:
            series.append(others[place])
            continue
        kind = table.schema.get(place)
        for name, array in columns.items():
            column = pl.Series(name, pl.from_arrow(plain(array)))
            if kind in wide and column.dtype == pl.Decimal:
                column = column.cast(kind)
            elif isinstance(kind, pl.Categorical) and column.dtype == pl.String:
                column = column.cast(pl.Categorical())
            series.append(column)
    return pl.DataFrame(series)


def _replace_in_pandas(table: Frame, others: Frame, layout: Layout) -> Frame:
    import pandas as pd

    columns_by_name = {}
    for place, columns in layout.items():
        if columns is None:
            columns_by_name[place] = others[place]
            continue
        dtype = table[place].dtype if place in table.columns else None
        for name, array in columns.items():
            columns_by_name[name] = as_pandas(array, dtype).set_axis(others.index)
    return pd.DataFrame(columns_by_name, index=others.index, copy=False)


def take_cells(
    frame: OpenFrame, name: str, new: pa.Array, places: NDArray[np.int64]
) -> Frame:
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
    table: Frame,
    name: str,
    new: pa.Array,
    places: NDArray[np.int64],
) -> Frame:
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
    table: Frame,
    name: str,
    new: pa.Array,
    places: NDArray[np.int64],
) -> Frame:
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


def same_rows(first: Frame, second: Frame) -> bool:
    """Return whether two frames have the same columns, and rows in any order."""
    frames = [open_frame(data) for data in (first, second)]
    if frames[0].columns != frames[1].columns or len(frames[0]) != len(frames[1]):
        return False
    every = np.arange(len(frames[0]))
    hashes = [np.sort(row_keys(frame, frame.columns, every)) for frame in frames]
    return bool(np.array_equal(hashes[0], hashes[1]))
