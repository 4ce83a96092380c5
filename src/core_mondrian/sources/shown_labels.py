"""What all parts of a release show, column by column and class by class, on disk.

Texts are as many as the classes, if these are ranges of a fine column: no more of them
is in memory than a batch asks for. The ends of ranges that are kept apart are values
of the column, and its values are in memory anyway.

Classes of several parts that show the same are one. A class is kept by the ranks of
what it shows among all that its column shows; -1 is a blank.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core_mondrian.encoding.columns import comparable
from core_mondrian.recoding.labels import (
    BOUNDS,
    Labels,
    digest_columns,
    number_distinct,
)
from core_mondrian.sources.mapped_files import map_file
from core_mondrian.sources.spill import insert, read_batches

Codes = NDArray[np.int32]
_SLICE: Final = 1 << 16


@dataclass(frozen=True)
class ShownLabels:
    """The labels of a column, from the smallest on."""

    labels: pa.ChunkedArray
    """In a file, of which only what is looked at is in memory."""
    ranks: Codes
    """Where what the parts show is among them, part by part."""
    first: Sequence[int]
    """By part: where its ranks begin; and last the end."""

    @property
    def n(self) -> int:
        return len(self.labels)

    def of_part(self, number: int, index: Codes) -> Codes:
        """Return the ranks of what leaves of a part show; -1: blank."""
        own = self.ranks[self.first[number] : self.first[number + 1]]
        return np.append(own, np.int32(-1))[index]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where each chunk begins, and last the end."""
        return np.cumsum([0, *map(len, self.labels.chunks)], dtype=np.int64)

    def take(self, ranks: NDArray[np.integer[Any]]) -> pa.Array:
        """Return the labels of these ranks.

        Arrow would join all chunks first: in memory, and no more than 2 GB of text.
        """
        of_chunk = np.searchsorted(self._starts, ranks, side="right") - 1
        order = np.argsort(of_chunk, kind="stable")
        chunks, first = np.unique(of_chunk[order], return_index=True)
        taken = [
            self.labels.chunk(i).take(pa.array(ranks[some] - self._starts[i]))
            for i, some in zip(chunks, np.split(order, first[1:]), strict=False)
        ]
        if len(taken) < 2:
            return taken[0] if taken else pa.array([], self.labels.type)
        back = np.empty_like(order)
        back[order] = np.arange(order.size)
        return pa.concat_arrays(taken).take(pa.array(back))

    def show(self, ranks: Codes) -> pa.Array:
        """Return one column of a release; -1: blank. Texts are a dictionary."""
        distinct, index = number_distinct(ranks.astype(np.int64))
        is_blank = distinct < 0
        shown = self.take(distinct[~is_blank])
        index = index - np.count_nonzero(is_blank)
        mask = index < 0 if is_blank.any() else None
        indices = pa.array(np.maximum(index, 0).astype(np.int32), mask=mask)
        if pa.types.is_string(shown.type):
            return pa.DictionaryArray.from_arrays(indices, shown, safe=False)
        return shown.take(indices)

    def texts(self) -> Iterator[list[str]]:
        """Yield the labels as texts, some at a time."""
        for start in range(0, self.n, _SLICE):
            ranks = np.arange(start, min(start + _SLICE, self.n), dtype=np.int32)
            yield Labels(ranks, self.take(ranks)).texts.to_pylist()


@dataclass(frozen=True)
class LabelJoin:
    """Joins what parts show in a column; DuckDB sorts it."""

    connection: Any
    folder: Path
    shown: Callable[[], Iterable[pa.Array]]
    """Yields what each part shows, nothing of it twice."""
    column: int

    def run(self) -> ShownLabels:
        """Return the labels of all parts."""
        domains = self._domains()
        names = [f"e{i}" for i in range(len(domains))]
        first = self._upload(domains)
        keys = ", ".join(names)
        self.connection.execute(
            f"CREATE OR REPLACE TABLE labels AS SELECT DISTINCT {keys} "
            f"FROM part_labels ORDER BY {keys}"
        )
        labels = self._keep(names, domains)
        same = " AND ".join(f"p.{name} = l.{name}" for name in names)
        # Rows of a table that was sorted are numbered in that order.
        ranks = self._write(
            "ranks",
            "SELECT CAST(l.rowid AS INTEGER) AS x FROM part_labels AS p "
            f"JOIN labels AS l ON {same} ORDER BY p.place",
        )
        for name in ("part_labels", "labels"):
            self.connection.execute(f"DROP TABLE {name}")
        return ShownLabels(labels, ranks, first)

    def _shown(self) -> Iterator[list[pa.Array]]:
        """Yield both ends, or the one, of what each part shows."""
        for shown in self.shown():
            yield shown.flatten() if pa.types.is_struct(shown.type) else [shown]

    def _domains(self) -> list[pa.Array | None]:
        """Return the values of each end, rising; none: texts, which may be many."""
        found: list[list[pa.Array]] = []
        for ends in self._shown():
            if pa.types.is_string(ends[0].type):
                return [None]
            found.append([end.unique() for end in ends])
        return [_sorted(pa.concat_arrays(x)) for x in zip(*found, strict=True)]

    def _upload(self, domains: Sequence[pa.Array | None]) -> list[int]:
        """Put what parts show into a table; return where each begins."""
        kinds = ["BLOB" if domain is None else "INTEGER" for domain in domains]
        fields = ", ".join(f"e{i} {kind}" for i, kind in enumerate(kinds))
        self.connection.execute(
            f"CREATE OR REPLACE TABLE part_labels (place INTEGER, {fields})"
        )
        first = [0]
        for ends in self._shown():
            first.append(first[-1] + len(ends[0]))
            columns: dict[str, Any] = {"place": np.arange(*first[-2:], dtype=np.int32)}
            for i, (end, domain) in enumerate(zip(ends, domains, strict=True)):
                columns[f"e{i}"] = (
                    end.cast(pa.binary())
                    if domain is None
                    else pc.index_in(comparable(end), comparable(domain))
                )
            insert(self.connection, "part_labels", pa.table(columns))
        return first

    def _keep(
        self, names: Sequence[str], domains: Sequence[pa.Array | None]
    ) -> pa.ChunkedArray:
        """Write all labels to a file, some at a time, and return them."""
        path = self._path("values")
        schema = pa.schema(
            [("label", _join_ends([_no_values(x) for x in domains]).type)]
        )
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as file:
            sql = f"SELECT {', '.join(names)} FROM labels"
            for batch in read_batches(self.connection, sql):
                columns = (column.combine_chunks() for column in batch.columns)
                ends = [
                    own.cast(pa.string()) if domain is None else domain.take(own)
                    for own, domain in zip(columns, domains, strict=True)
                ]
                file.write_batch(pa.record_batch([_join_ends(ends)], schema=schema))
        written = pa.py_buffer(map_file(path, np.uint8))
        return pa.ipc.open_file(written).read_all().column("label")

    def _write(self, name: str, sql: str) -> Codes:
        """Write the numbers that a query finds to a file."""
        path = self._path(name)
        with path.open("wb") as file:
            for batch in read_batches(self.connection, sql):
                batch["x"].to_numpy().astype(np.int32).tofile(file)
        return map_file(path, np.int32)

    def _path(self, name: str) -> Path:
        return self.folder / f"labels{self.column}.{name}"


def _no_values(domain: pa.Array | None) -> pa.Array:
    return pa.array([], pa.string()) if domain is None else domain[:0]


def _join_ends(ends: Sequence[pa.Array]) -> pa.Array:
    """Return labels, given both ends of them, or the one."""
    if len(ends) == 1:
        return ends[0]
    return pa.StructArray.from_arrays(ends, names=list(BOUNDS))


def _sorted(values: pa.Array) -> pa.Array:
    distinct = values.unique()
    return distinct.take(pc.sort_indices(comparable(distinct)))


class ClassTotals(NamedTuple):
    """What is known of all classes."""

    n_classes: int
    smallest: int | None
    squares: int


@dataclass(frozen=True)
class ClassLedger:
    """The classes, by what they show in so many columns."""

    connection: Any
    n_columns: int

    @property
    def _keys(self) -> str:
        return ", ".join(f"r{i}" for i in range(self.n_columns))

    def open(self) -> None:
        """Begin with no class."""
        ranks = [f"r{i} INTEGER" for i in range(self.n_columns)]
        columns = ", ".join([*ranks, "leaf INTEGER", "n BIGINT"])
        self.connection.execute(f"CREATE OR REPLACE TABLE classes ({columns})")

    def add(self, ranks: Sequence[Codes], rows: NDArray[np.int64], first: int) -> None:
        """Take leaves, numbered from ``first`` on: what they show, and their rows."""
        columns: dict[str, Any] = {f"r{i}": rank for i, rank in enumerate(ranks)}
        columns["leaf"] = np.arange(first, first + rows.size, dtype=np.int32)
        columns["n"] = rows
        insert(self.connection, "classes", pa.table(columns))

    def digest(
        self, shown: Mapping[str, Iterable[Sequence[str]]], *, with_blank: bool
    ) -> str:
        """Return the digest of the classes; see `recode.release_digest`."""
        seen = "" if with_blank else f"WHERE greatest({self._keys}, -1) >= 0 "
        self.connection.execute(
            f"CREATE OR REPLACE TABLE shown_classes AS SELECT {self._keys}, "
            f"CAST(sum(n) AS BIGINT) AS n FROM classes {seen}GROUP BY {self._keys} "
            f"ORDER BY {self._keys}"
        )

        def column(name: str) -> Iterator[NDArray[Any]]:
            sql = f"SELECT {name} FROM shown_classes"
            for batch in read_batches(self.connection, sql):
                yield batch[name].to_numpy()

        names = (*(f"r{i}" for i in range(self.n_columns)), "n")
        found = digest_columns(shown, (column(name) for name in names))
        self.connection.execute("DROP TABLE shown_classes")
        return found

    @cached_property
    def totals(self) -> ClassTotals:
        """Count the classes that a reader can tell apart."""
        n, least, squares = self.connection.sql(
            "SELECT count(*), min(n), CAST(sum(n * n) AS VARCHAR) FROM (SELECT sum(n) "
            f"AS n FROM classes GROUP BY {self._keys}) AS t"
        ).fetchall()[0]
        return ClassTotals(n, None if least is None else int(least), int(squares or 0))

    def numbers(self, *, with_blank: bool) -> Iterator[NDArray[np.int64]]:
        """Yield the number of each leaf's class, from 1 on by what it shows.

        A class that is blank all over has none (-1), unless ``with_blank``.
        """
        keys = self._keys
        same = " AND ".join(f"a.r{i} = b.r{i}" for i in range(self.n_columns))
        ranks = ", ".join(f"a.r{i}" for i in range(self.n_columns))
        has_none = "false" if with_blank else f"greatest({ranks}) < 0"
        self.connection.execute(
            f"CREATE OR REPLACE TABLE distinct_classes AS SELECT DISTINCT {keys} "
            f"FROM classes ORDER BY {keys}"
        )
        # Rows of a table that was sorted are numbered in that order.
        for batch in read_batches(
            self.connection,
            f"SELECT CASE WHEN {has_none} THEN -1 ELSE b.rowid + 1 END AS number "
            f"FROM classes AS a JOIN distinct_classes AS b ON {same} ORDER BY a.leaf",
        ):
            yield batch["number"].to_numpy().astype(np.int64)
        self.connection.execute("DROP TABLE distinct_classes")
