"""The one place that cleans whatever leaves: a frame keeps what it shows, no more.

What a release shows is verified. What it holds besides would pass unseen: values of
suppressed rows in categories and dictionaries, bytes under blanked cells and beyond a
slice, an order of categories that is the order of the rows that came in, notes on
tables and columns, and an index, which is a column that nobody gave a role.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.runtime.array_types import ArrowType, Column, Dtype, Frame
from core_mondrian.runtime.threads import map_columns
from core_mondrian.tables.arrow_cells import (
    BLANK,
    clean_array,
    clean_field,
    clean_type,
    first_rows,
    gather,
    is_flat,
)


def clean_frame(
    data: Frame, made: Collection[str] = (), threads: int | None = 1
) -> Frame:
    """Return the caller's kind of frame with the cells it shows, and nothing else.

    Rows keep their order. A pandas index starts anew from 0; names and types of columns
    stay, except what types list: categories, dictionaries and enums are those in use.
    Text and numbers in columns just ``made`` from labels are taken as they are.
    """
    if isinstance(data, pa.Table):
        return clean_table(data, threads)
    if type(data).__module__.startswith("polars"):
        return _clean_polars(data, made)
    return _clean_pandas(data, made)


# Arrow


def clean_table(table: pa.Table, threads: int | None = 1) -> pa.Table:
    """Return an Arrow table with the cells it shows, and no notes."""
    fields = [clean_field(field) for field in table.schema]
    columns = map_columns(clean_column, table.columns, len(table), threads)
    return pa.table(columns, schema=pa.schema(fields))


def clean_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return an Arrow column with the cells it shows, in one chunk.

    Chunks such as those of the source would say in which of them rows were left out.
    """
    cleaned = [clean_array(chunk) for chunk in _joined(column)]
    return pa.chunked_array(cleaned, clean_type(column.type))


def take_arrow(column: pa.ChunkedArray, places: pa.Array) -> pa.ChunkedArray:
    """Return cells of any type by place; a null place is a missing cell."""
    kind = column.type
    if is_flat(kind) or pa.types.is_dictionary(kind):
        return column.take(places)
    rows = places.fill_null(BLANK).to_numpy().astype(np.int64)
    chunks = [gather(chunk, rows) for chunk in _joined(column)]
    return pa.chunked_array(chunks, clean_type(kind))


def _has_dictionary(kind: ArrowType) -> bool:
    """Return whether a type is a dictionary, or holds one."""
    if pa.types.is_dictionary(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _has_dictionary(kind.storage_type)
    return any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))


def _joined(column: pa.ChunkedArray) -> list[pa.Array]:
    """Return a column as one chunk, if it has any: with one dictionary for all."""
    if column.num_chunks < 2:
        return list(column.chunks)
    try:
        return [pa.concat_arrays(column.chunks)]
    except pa.ArrowException:
        if not _has_dictionary(column.type) and len(column) > 1:
            # Too many bytes for one array of text. Halves are of these rows alone.
            half = len(column) // 2
            return [*_joined(column.slice(0, half)), *_joined(column.slice(half))]
        # All values of all dictionaries are too many for the codes; those in use may
        # not be.
        return [pa.concat_arrays([clean_array(chunk) for chunk in column.chunks])]


# polars


def _clean_polars(frame: Frame, made: Collection[str]) -> Frame:
    import polars as pl

    return pl.DataFrame(
        column
        if column.name in made and not isinstance(column.dtype, pl.Categorical)
        else _clean_series(column)
        for column in frame.get_columns()
    )


def _clean_series(column: Column) -> Column:
    import polars as pl

    plain = column.cast(_plain_dtype(column.dtype))
    try:
        if column.dtype == pl.Object:
            raise pa.ArrowNotImplementedError
        # The oldest form of text is the one without references to other cells.
        native = plain.to_arrow(compat_level=pl.CompatLevel.oldest())
    except pa.ArrowException:  # such as for whole numbers of 128 bits
        return pl.Series(column.name, column.to_list(), dtype=column.dtype)
    kept = pl.Series(column.name, pl.from_arrow(clean_array(native)))
    return kept.cast(plain.dtype).cast(_own_dtype(column.dtype, kept))


def _plain_dtype(dtype: Dtype) -> Dtype:
    """Return a type with text in place of categories."""
    import polars as pl

    if isinstance(dtype, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(dtype, pl.List):
        return pl.List(_plain_dtype(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(_plain_dtype(dtype.inner), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({x.name: _plain_dtype(x.dtype) for x in dtype.fields})
    return dtype


def _own_dtype(dtype: Dtype, texts: Column) -> Dtype:
    """Return a type that lists the categories in use; ``texts`` are its cells."""
    import polars as pl

    if isinstance(dtype, pl.Categorical):
        # Those that all columns share list what any of them ever held.
        shared = getattr(pl, "Categories", None)
        return pl.Categorical() if shared is None else pl.Categorical(shared.random())
    if isinstance(dtype, pl.Enum):
        used = set(texts.unique().to_list())
        return pl.Enum([name for name in dtype.categories if name in used])
    if isinstance(dtype, pl.List):
        return pl.List(_own_dtype(dtype.inner, texts.explode()))
    if isinstance(dtype, pl.Array):
        return pl.Array(_own_dtype(dtype.inner, texts.explode()), dtype.size)
    if isinstance(dtype, pl.Struct):
        fields = {x.name: (x.dtype, texts.struct.field(x.name)) for x in dtype.fields}
        return pl.Struct({name: _own_dtype(*field) for name, field in fields.items()})
    return dtype


# pandas


def _clean_pandas(frame: Frame, made: Collection[str]) -> Frame:
    import pandas as pd

    index = pd.RangeIndex(len(frame))
    columns = {}
    for name in frame.columns:
        column = frame[name]
        is_coded = isinstance(column.dtype, pd.CategoricalDtype)
        if is_coded or name not in made:
            column = _clean_pandas_column(column)
        columns[name] = column.set_axis(index)
    return pd.DataFrame(columns, index=index, copy=False)


def _clean_pandas_column(column: Column) -> Column:
    """Return a pandas column whose cells are in an array of their own."""
    import pandas as pd

    if pd.api.types.is_object_dtype(column.dtype) and _holds_arrays(column):
        column = column.map(_own_cell)
    values = _clean_values(column)
    if values is None:
        return column.copy()
    return pd.Series(values, index=column.index, copy=False)


def _clean_values(column: Column) -> Column:
    """Return the cells of a pandas array with something besides; None: it has not."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _clean_categories(column.array)
    if isinstance(dtype, pd.ArrowDtype):
        cells = clean_column(_arrow_cells(column.array))
        return pd.arrays.ArrowExtensionArray(cells)
    if isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow"):
        cells = clean_column(_arrow_cells(column.array))
        return type(column.array)._from_sequence(cells, dtype=dtype)  # noqa: SLF001
    if isinstance(dtype, pd.SparseDtype):
        return _clean_sparse(column)
    if hasattr(dtype, "numpy_dtype") and not isinstance(dtype, pd.StringDtype):
        values = column.array.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return type(column.array)(values.copy(), column.isna().to_numpy(copy=True))
    return None


def _arrow_cells(array: Column) -> pa.ChunkedArray:
    cells = array.__arrow_array__()
    return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])


def _clean_categories(array: Column) -> Column:
    import pandas as pd

    codes, categories = array.codes, array.categories
    first = first_rows(codes[codes >= 0], len(categories))
    used = np.flatnonzero(first < np.count_nonzero(codes >= 0))
    if not array.ordered:
        used = used[_sorted(categories.take(used), first[used])]
    moved = np.full(len(categories) + 1, BLANK)
    moved[used] = np.arange(used.size)
    return pd.Categorical.from_codes(
        moved[codes], categories.take(used).rename(None), ordered=array.ordered
    )


def _sorted(categories: Column, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return places of categories from the smallest on, or else by their first rows."""
    try:
        order: NDArray[np.int64] = categories.argsort()
    except TypeError:
        return np.argsort(first)
    return order


def _clean_sparse(column: Column) -> Column:
    """Return sparse cells whose most frequent value is one of them, or the usual."""
    import pandas as pd

    dense, dtype = column.sparse.to_dense().to_numpy(), column.dtype
    is_shown = pd.isna(dtype.fill_value) or (dense == dtype.fill_value).any()
    kept = dtype if is_shown else pd.SparseDtype(dtype.subtype)
    return pd.arrays.SparseArray(dense, dtype=kept)


def _holds_arrays(column: Column) -> bool:
    import pandas as pd

    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind.startswith("mixed") or "unknown" in kind


def _own_cell(cell: Any) -> Any:  # noqa: ANN401
    """Return a cell whose arrays are no views of those of other cells."""
    if isinstance(cell, np.ndarray):
        if cell.dtype == object:
            own = np.empty(cell.shape, dtype=object)
            own[...] = cell
            for place in np.ndindex(*cell.shape):
                own[place] = _own_cell(cell[place])
            return own
        return cell.copy()
    if type(cell) in (list, tuple):
        return type(cell)(_own_cell(item) for item in cell)
    if type(cell) is dict:
        return {key: _own_cell(item) for key, item in cell.items()}
    return cell
