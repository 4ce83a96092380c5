"""What is stored of a release besides its rows: dictionaries, buffers, pages, notes."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.analysis.attacks.parquet_pages import Page, read_pages
from core_mondrian.runtime.array_types import ArrowArray, Flags, Frame
from core_mondrian.tables.files.dialect import WRITTEN
from core_mondrian.tables.files.kinds import kind_of
from core_mondrian.tables.frames import OpenFrame


@dataclass(frozen=True)
class Dictionary:
    """Values that cells refer to, in the order they are stored in."""

    column: str
    """The column of the release, if it is in it as a list or the like, too."""
    values: Any
    """An Arrow array."""
    used: Flags | None
    """Which of them a row shows; None: that is not known here."""


@dataclass
class Stored:
    """All that is stored of a release."""

    dictionaries: list[Dictionary] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    """Everything as bytes, not compressed."""

    def add_table(self, table: pa.Table) -> None:
        """Take in the dictionaries, buffers and notes of an Arrow table."""
        self.add_notes(table.schema)
        for name, column in zip(table.column_names, table.columns, strict=True):
            for chunk in column.chunks:
                self._add_array(name, chunk)

    def add_notes(self, schema: pa.Schema) -> None:
        """Take in the metadata of a schema and of its fields."""
        self.texts += list(_notes(schema.metadata))
        waiting = list(schema)
        while waiting:
            one = waiting.pop()
            self.texts += list(_notes(one.metadata))
            kind = one.type
            if pa.types.is_nested(kind):
                waiting += [kind.field(i) for i in range(kind.num_fields)]

    def _add_array(self, name: str, array: ArrowArray) -> None:
        kind = array.type
        if isinstance(kind, pa.BaseExtensionType):
            self._add_array(name, array.storage)
            return
        if pa.types.is_dictionary(kind):
            self.dictionaries.append(
                Dictionary(name, array.dictionary, _used(array, len(array.dictionary)))
            )
            self._add_array(name, array.dictionary)
            return
        # The buffers of a nested array hold those of the arrays in it.
        self.texts += [one.to_pybytes() for one in array.buffers() if one is not None]
        for child in _children(array):
            self._add_dictionaries(name, child)

    def _add_dictionaries(self, name: str, array: ArrowArray) -> None:
        if pa.types.is_dictionary(array.type):
            self._add_array(name, array)
            return
        for child in _children(array):
            self._add_dictionaries(name, child)


def _used(array: ArrowArray, n: int) -> Flags:
    used = np.zeros(n, dtype=np.bool_)
    used[array.indices.drop_null().to_numpy(zero_copy_only=False)] = True
    return used


def _children(array: ArrowArray) -> list[ArrowArray]:
    kind = array.type
    if pa.types.is_map(kind):
        return [array.keys, array.items]
    if pa.types.is_struct(kind):
        return [array.field(i) for i in range(kind.num_fields)]
    if pa.types.is_union(kind):
        return [array.field(i) for i in range(kind.num_fields)]
    if pa.types.is_nested(kind) and hasattr(array, "values"):
        # Only what the lists refer to is a row's; the rest of it is stored as well.
        return [array.values]
    return []


def _notes(metadata: Mapping[bytes, bytes] | None) -> Iterator[bytes]:
    for key, value in (metadata or {}).items():
        yield key + b"\0" + value
        if key == b"ARROW:schema":
            try:
                yield base64.b64decode(value)
            except binascii.Error:
                continue


def stored_in_file(path: Path) -> Stored:
    """Return what a file holds; a folder's files together."""
    stored = Stored()
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        kind = kind_of(file)
        if kind is None or not file.is_file():
            continue
        with WRITTEN.open(file) as opened:
            stored.texts.append(opened.read())
        if kind == "parquet":
            _add_pages(stored, file)
        elif kind != "csv":
            _add_ipc(stored, file)
    return stored


def _add_ipc(stored: Stored, file: Path) -> None:
    with pa.memory_map(str(file)) as source:
        try:
            table = pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            table = pa.ipc.open_stream(source).read_all()
        stored.add_table(table)


def _add_pages(stored: Stored, file: Path) -> None:
    import pyarrow.parquet as pq

    schema = pq.read_schema(file)
    stored.add_notes(schema)
    for page in read_pages(file):
        stored.texts.append(page.content)
        if page.is_dictionary:
            name = page.column.split(".")[0]
            values = _logical(page, schema, name)
            if values is not None:
                stored.dictionaries.append(Dictionary(name, values, None))


def _logical(page: Page, schema: pa.Schema, name: str) -> Any:  # noqa: ANN401
    """Return the values of a dictionary page in the type that they are read as."""
    values = page.values()
    if values is None or name not in schema.names:
        return values
    kind = schema.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        kind = pa.string() if page.physical_type == "BYTE_ARRAY" else values.type
    try:
        return values.cast(kind)
    except pa.ArrowException:
        return values


def stored_in_frame(frame: OpenFrame) -> Stored:
    """Return what a frame in memory holds, beside its cells too."""
    native = frame.to_native()
    stored = Stored()
    if isinstance(native, pa.Table):
        stored.add_table(native)
    elif frame.implementation.is_pandas_like():
        _add_pandas(stored, native)
    elif frame.implementation.is_polars():
        _add_polars(stored, native)
    return stored


def _add_pandas(stored: Stored, native: Frame) -> None:
    import pandas as pd

    stored.texts.append(repr(native.attrs).encode())
    index = native.index
    if not isinstance(index, pd.RangeIndex):
        stored.texts.append("\0".join(map(str, index)).encode())
    stored.texts.append(repr((index.names, native.columns.names)).encode())
    for name in native.columns:
        column = native[name]
        stored.texts.append(repr(column.attrs).encode())
        if isinstance(column.dtype, pd.CategoricalDtype):
            used = np.zeros(len(column.cat.categories), dtype=np.bool_)
            codes = column.cat.codes.to_numpy()
            used[codes[codes >= 0]] = True
            values = pa.array(column.cat.categories.astype(str).tolist(), pa.string())
            stored.dictionaries.append(Dictionary(str(name), values, used))
            stored.texts.append("\0".join(values.to_pylist()).encode())
        elif isinstance(column.dtype, pd.ArrowDtype):
            array = column.array.__arrow_array__()
            stored.add_table(pa.table({str(name): array}))


def _add_polars(stored: Stored, native: Frame) -> None:
    import polars as pl

    stored.add_table(native.to_arrow())
    for column in native.get_columns():
        if isinstance(column.dtype, pl.Enum):
            values = pa.array(column.dtype.categories.to_list(), pa.string())
            shown = pa.array(column.unique().cast(pl.String).to_list(), pa.string())
            used = pc.is_in(values, value_set=shown).to_numpy(zero_copy_only=False)
            stored.dictionaries.append(Dictionary(column.name, values, used))
