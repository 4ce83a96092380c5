"""A source's rows, batch by batch, in an order that never changes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core_mondrian.errors import DataError
from core_mondrian.sources.files.csv_blocks import (
    BadRows,
    Block,
    parse_block,
    read_blocks,
    read_names,
)
from core_mondrian.sources.files.source import Part, Source
from core_mondrian.sources.memory import Sizes
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.csv_text import CODED_TEXT, unguarded, unguarded_names
from core_mondrian.tables.files.read import reading

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
NO_LIMIT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows, and how to get them."""

    load: Callable[[], pa.Table]
    n_rows: int
    part: int
    """Which part they are of."""
    done: float
    """How much of it has been read then, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns are read, and which of them as codes of distinct values."""

    columns: tuple[str, ...]
    coded: tuple[str, ...] = ()
    tells_empty: bool = False
    """CSV: a cell that is not there is missing, one that is quoted is not."""


def read_batches(
    source: Source,
    wanted: Wanted,
    sizes: Sizes,
    *,
    bad: BadRows | None = None,
) -> Iterator[Batch]:
    """Yield a source's batches; loading them is left to workers.

    Bad rows are counted in ``bad``; None: left out without a word.
    """
    bad = BadRows(NO_LIMIT) if bad is None else bad
    for number in range(len(source.parts)):
        if source.kind == "csv":
            yield from _csv_batches(source, number, wanted, sizes.text, bad)
        else:
            yield from _parquet_batches(source, number, wanted, sizes.rows)


def _csv_batches(
    source: Source, number: int, wanted: Wanted, size: int, bad: BadRows
) -> Iterator[Batch]:
    part = source.parts[number]
    with reading(part.path, "csv"):
        # Each part may have its columns in an order of its own.
        names = read_names(part.path, part.dialect)
        if source.guarded:
            names = unguarded_names(names)
        types: dict[str, Any] = {
            name: CODED_TEXT if name in wanted.coded else pa.string()
            for name in wanted.columns
            if name in names
        }
        blocks = read_blocks(part.path, part.dialect, bad, size=size)
        opened = _Csv(source, part, wanted, names, types)
        for block in blocks:
            load = partial(opened.load, block)
            yield Batch(load, block.n_rows, number, block.done)


@dataclass(frozen=True, slots=True)
class _Csv:
    """One CSV file, and what is read of it."""

    source: Source
    part: Part
    wanted: Wanted
    names: list[str]
    types: dict[str, Any]

    def load(self, block: Block) -> pa.Table:
        """Parse a block."""
        tells_empty = self.wanted.tells_empty
        with reading(self.part.path, "csv"):
            table = parse_block(
                text=block.text,
                names=self.names,
                types=self.types,
                dialect=self.part.dialect,
                tells_empty=tells_empty,
            )
            if self.source.guarded:
                table = unguarded(table)
        return _with_keys(self.source, self.part, self.wanted, table, block.n_rows)


def _parquet_batches(
    source: Source, number: int, wanted: Wanted, most: int
) -> Iterator[Batch]:
    part = source.parts[number]
    with reading(part.path, "parquet"):
        with pq.ParquetFile(part.path) as file:
            metadata, schema = file.metadata, file.schema_arrow
        names = [name for name in wanted.columns if name in schema.names]
        coded = [
            name for name in names if name in wanted.coded or name in source.repetitive
        ]
        coded = [name for name in coded if is_text(source.schema.field(name).type)]
        opened = _Parquet(source, part, wanted, names, coded, metadata)
        for group in range(metadata.num_row_groups):
            n_rows = metadata.row_group(group).num_rows
            if n_rows <= most:
                done = (group + 1) / metadata.num_row_groups
                yield Batch(partial(opened.load, group), n_rows, number, done)
            else:
                yield from _large_group(opened, group, most, number)


@dataclass(frozen=True, slots=True)
class _Parquet:
    """One Parquet file, and what is read of it."""

    source: Source
    part: Part
    wanted: Wanted
    names: list[str]
    coded: list[str]
    metadata: Any

    def open(self) -> Any:  # noqa: ANN401
        return pq.ParquetFile(
            self.part.path,
            metadata=self.metadata,
            read_dictionary=self.coded,
            buffer_size=1 << 20,
        )

    def load(self, group: int) -> pa.Table:
        """Read a row group."""
        with reading(self.part.path, "parquet"), self.open() as file:
            table = file.read_row_group(group, columns=self.names, use_threads=False)
            n_rows = self.metadata.row_group(group).num_rows
            self.check_rows(table.num_rows, n_rows)
            return self.finish(table, n_rows)

    def check_rows(self, found: int, told: int) -> None:
        if self.names and found != told:
            raise DataError(
                f"{self.part.path}: row count does not match the file's metadata",
                hint="write it again",
            )

    def finish(self, table: pa.Table, n_rows: int) -> pa.Table:
        with reading(self.part.path, "parquet"):
            table.validate(full=True)  # Arrow trusts offsets and text in these files
        return _with_keys(self.source, self.part, self.wanted, table, n_rows)


def _large_group(
    opened: _Parquet, group: int, most: int, number: int
) -> Iterator[Batch]:
    """Yield a row group that is too large to be held in pieces."""
    n_rows = opened.metadata.row_group(group).num_rows
    at = 0
    with reading(opened.part.path, "parquet"), opened.open() as file:
        for batch in file.iter_batches(
            most, row_groups=[group], columns=opened.names, use_threads=False
        ):
            at += batch.num_rows
            table = pa.Table.from_batches([batch])
            yield Batch(
                partial(opened.finish, table, batch.num_rows),
                batch.num_rows,
                number,
                (group + at / n_rows) / opened.metadata.num_row_groups,
            )
        opened.check_rows(at, n_rows)


def _with_keys(
    source: Source, part: Part, wanted: Wanted, table: pa.Table, n_rows: int
) -> pa.Table:
    """Put the columns in order, those of the folders among them, with their types."""
    keys = dict(part.keys)
    columns = []
    for name in wanted.columns:
        kind = source.schema.field(name).type
        if name in keys:
            columns.append(_constant(keys[name], kind, n_rows))
            continue
        column = table.column(name)
        if pa.types.is_null(column.type):
            column = column.cast(kind)
        is_coded = name in source.repetitive
        if is_coded and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        columns.append(column)
    return pa.table(columns, names=list(wanted.columns))


def _constant(text: str | None, kind: Any, n_rows: int) -> Any:  # noqa: ANN401
    """Return a column that says one thing; text as codes."""
    if not is_text(kind):
        value = pa.array([text], pa.string()).cast(kind)
        return pa.chunked_array([value.take(pa.array(np.zeros(n_rows, np.int64)))])
    mask = np.full(n_rows, text is None)
    codes = pa.array(np.zeros(n_rows, dtype=np.int32), mask=mask)
    values = pa.array([] if text is None else [text], pa.string())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, values)])


def in_order(
    work: Callable[[ItemT], ResultT], items: Iterable[ItemT], sizes: Sizes
) -> Iterator[ResultT]:
    """Yield ``work(item)`` of each item, in order, some of them done at once."""
    if sizes.threads < 2:
        yield from map(work, items)
        return
    waiting: deque[Future[ResultT]] = deque()
    with ThreadPoolExecutor(sizes.threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) >= sizes.in_flight:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
