"""Count what was written again, by DuckDB: it shares nothing with whoever wrote it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import InternalError, PrivacyViolation
from core_mondrian.measures.disclosure_warnings import Repeats
from core_mondrian.runtime.progress import Throughput
from core_mondrian.sources.counted_release import (
    CountedRelease,
    columns_of_models,
    repeats_query,
)
from core_mondrian.sources.files.batches import Batch, Wanted, read_batches
from core_mondrian.sources.files.rows import decoded
from core_mondrian.sources.files.source import Source, open_release
from core_mondrian.sources.memory import Sizes
from core_mondrian.sources.row_plan import RowPlan
from core_mondrian.sources.spill import connect, execute, literal
from core_mondrian.sources.spill import read_batches as read_rows
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.cell_keys import cell_keys
from core_mondrian.tables.files.csv_text import unguarded
from core_mondrian.tables.pseudonyms import PATTERN
from core_mondrian.verification.verify import (
    SHOWS_PSEUDONYM,
    Verification,
)

Connection = Any
"""One of DuckDB, which has no types to check."""


@dataclass(frozen=True)
class Counter:
    """Counts with DuckDB, which spills to a folder."""

    folder: Path
    memory: int
    sizes: Sizes

    @contextmanager
    def open(self, readable: Sequence[Path] = ()) -> Iterator[Any]:
        """Return a connection that may read some files, as long as it is needed."""
        connection = connect(
            self.folder, self.memory, self.sizes.threads, readable=readable
        )
        try:
            yield connection
        finally:
            connection.close()


@dataclass(frozen=True)
class Recount:
    """A release that was written, and what is to be checked in it."""

    draft: Path
    spec: Spec
    types: Mapping[str, Any]
    """What the sensitive columns are: a CSV file does not say."""
    units: Path | None
    """The number of each row's person, if the release does not have it."""
    counter: Counter

    def run(self, plan: RowPlan, report: Callable[[float], None]) -> Verification:
        """Check every model on what the files say.

        Raises:
            PrivacyViolation: a class fails, or something is there that should not be.
        """
        source = open_release(self.draft, guarded=self.spec.guard_formulas)
        columns = self._columns(source)
        hidden = [name for name in self.spec.pseudonyms if name in source.schema.names]
        with self.counter.open([part.path for part in source.parts]) as connection:
            throughput = Throughput(report, source.size)

            def step(done: float) -> None:
                throughput.step(round(done * plan.n_rows) - throughput.n_rows, done)

            with self._opened(connection, source, [*columns, *hidden]) as rows:
                self._count(connection, rows, columns, hidden, step)
            step(1.0)
            if self.spec.suppressed == "blank" and self.spec.pseudonyms:
                columns.append(SHOWS_PSEUDONYM)
            counted = _CountedFile(connection, self.spec, columns, self.types)
            room = self.counter.memory
            return counted.verify(plan.requirements, source.schema.names, room)

    def _columns(self, source: Source) -> list[str]:
        """Return the columns that models look at, as the release has them."""
        spec, names = self.spec, source.schema.names
        wanted = columns_of_models(spec, names)
        there = {*names, *([] if self.units is None else [spec.unit])}
        if absent := sorted(set(wanted).difference(there)):
            raise InternalError(f"columns are not in what was written: {absent}")
        return wanted

    @contextmanager
    def _opened(
        self, connection: Connection, source: Source, names: list[str]
    ) -> Iterator[str]:
        """Return the rows as a relation with columns k0 …, in the order of ``names``.

        Parquet files are read by DuckDB itself, unless it lacks a type.
        """
        cells = [f"k{i}" for i in range(len(names))]
        kinds = [source.schema.field(x).type for x in names if x in source.schema.names]
        has_all = all(_is_plain(kind) for kind in kinds) and self.units is None
        if source.kind == "parquet" and has_all:
            files = ", ".join(literal(str(part.path)) for part in source.parts)
            every = [f"x{i}" for i in range(len(source.schema.names))]
            own = (f"x{source.schema.names.index(name)}" for name in names)
            pairs = (f"{x} AS {k}" for x, k in zip(own, cells, strict=True))
            yield (
                f"(SELECT {', '.join(pairs)} FROM read_parquet([{files}]) "
                f"AS t ({', '.join(every)})) AS t"
            )
            return
        reader = self._reader(source, names, cells)
        connection.register("written", reader)
        yield "written"
        connection.unregister("written")

    def _reader(
        self, source: Source, names: list[str], cells: list[str]
    ) -> pa.RecordBatchReader:
        units = None if self.units is None else read_units(self.units)
        is_kept = units is not None  # the unit, and not in the release
        own = tuple(
            x for x in dict.fromkeys(names) if not is_kept or x != self.spec.unit
        )
        wanted = Wanted(own, coded=own, tells_empty=True)

        def tables() -> Iterator[pa.Table]:
            yield source.no_rows().select(own)
            for batch, start in numbered(
                read_batches(source, wanted, self.counter.sizes)
            ):
                table = batch.load()
                if units is not None and self.spec.unit is not None:
                    persons = pa.array(np.asarray(units[start : start + batch.n_rows]))
                    table = table.append_column(self.spec.unit, persons)
                yield table

        def ready(table: pa.Table) -> pa.Table:
            if units is not None and self.spec.unit not in table.column_names:
                empty = pa.array([], pa.int32())
                table = table.append_column(str(self.spec.unit), empty)
            plain = decoded(table)
            columns = [
                column if _is_plain(column.type) else column.cast(pa.string())
                for column in (plain.column(name) for name in names)
            ]
            return pa.table(columns, names=cells)

        every = map(ready, tables())
        first = next(every)
        batches = (batch for table in every for batch in table.to_batches())
        return pa.RecordBatchReader.from_batches(first.schema, batches)

    def _count(
        self,
        connection: Connection,
        rows: str,
        columns: list[str],
        hidden: list[str],
        report: Callable[[float], None],
    ) -> None:
        """Count the different rows, and look at the pseudonyms."""
        keys = [f"k{i}" for i in range(len(columns))]
        texts = [f"CAST(k{len(columns) + i} AS VARCHAR)" for i in range(len(hidden))]
        shown, mark = list(keys), "NULL"
        if hidden and self.spec.suppressed == "blank":
            mark = f"CASE WHEN coalesce({', '.join(texts)}) IS NOT NULL THEN TRUE END"
        wrong = " + ".join(
            f"count_if(NOT regexp_full_match({text}, {literal(PATTERN)}))"
            for text in texts
        )
        execute(
            connection,
            f"CREATE TABLE counted AS SELECT {', '.join(shown)}, {mark} AS mark, "
            f"count(*) AS n, {wrong or '0'} AS wrong FROM {rows} "
            f"GROUP BY {', '.join(keys)}, {mark if mark != 'NULL' else keys[0]}",
            report,
        )
        if _number(connection, "SELECT coalesce(sum(wrong), 0) FROM counted"):
            raise PrivacyViolation(
                f"columns for pseudonyms hold other things: {hidden}"
            )


@dataclass(frozen=True)
class _CountedFile(CountedRelease):
    """The different rows of files, counted by DuckDB."""

    connection: Connection
    spec: Spec
    columns: Sequence[str]
    types: Mapping[str, Any]
    table: str = "counted"

    def cell(self, name: str) -> str:
        return "mark" if name == SHOWS_PSEUDONYM else f"k{self.columns.index(name)}"

    def read(self, names: Sequence[str], n: str, more: str) -> Iterator[pa.Table]:
        cells = [*(self.cell(name) for name in names), f"{n} AS n"]
        sql = f"SELECT {', '.join(cells)} FROM {self.table} {more}"
        for some in read_rows(self.connection, sql, with_empty=True):
            values = self._typed(some.select(range(len(names))).rename_columns(names))
            columns = [*values.columns, some["n"]]
            yield pa.table(columns, names=[*names, "n"])

    def number(self, expression: str) -> int:
        return _number(self.connection, f"SELECT {expression} FROM {self.table}")

    def _typed(self, table: pa.Table) -> pa.Table:
        """Return values as they were written, of the types that they are."""
        if self.spec.guard_formulas:
            table = unguarded(table)
        columns = [
            column.cast(self.types.get(name, column.type))
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        return pa.table(columns, names=table.column_names)


def count_repeats(
    source: Source, name: str, unit: str | Path | None, counter: Counter
) -> Repeats:
    """Read one column once more and count how far its values repeat.

    ``unit`` says whose row it is: another column, or a file with the number of each
    row's person. Values are told apart by 64-bit keys, as if they were their hashes.
    """
    wanted = dict.fromkeys((name, unit) if isinstance(unit, str) else (name,))
    units = read_units(unit) if isinstance(unit, Path) else None
    is_csv = source.kind == "csv"

    def batches() -> Iterator[pa.RecordBatch]:
        asked = Wanted(tuple(wanted))
        for batch, start in numbered(read_batches(source, asked, counter.sizes)):
            table = batch.load()
            persons = None
            if units is not None:
                persons = pa.array(np.asarray(units[start : start + batch.n_rows]))
            elif isinstance(unit, str):
                persons = table.column(unit)
            yield _key_pairs(table.column(name), persons, is_csv=is_csv)

    schema = pa.schema([("v", pa.uint64()), ("u", pa.uint64())])
    with counter.open() as connection:
        reader = pa.RecordBatchReader.from_batches(schema, batches())
        connection.register("cells", reader)
        found = connection.sql(repeats_query("cells", unit)).fetchall()[0]
    return Repeats(*(int(number or 0) for number in found))


def _key_pairs(
    column: Any,  # noqa: ANN401
    persons: Any | None,  # noqa: ANN401
    *,
    is_csv: bool,
) -> pa.RecordBatch:
    """Return the keys of values that are not missing, and of their persons."""
    names = ["v", "u"]
    if pa.types.is_nested(column.type):
        return pa.record_batch([pa.array([], pa.uint64())] * 2, names=names)
    keys = cell_keys(column)
    of_persons = np.zeros_like(keys) if persons is None else cell_keys(persons)
    is_filled = keys != 0
    if is_csv:  # an empty text is a missing one
        is_filled &= keys != np.uint64(cell_keys(pa.array([""]))[0])
    pairs = [pa.array(keys[is_filled]), pa.array(of_persons[is_filled])]
    return pa.record_batch(pairs, names=names)


def numbered(batches: Iterable[Batch]) -> Iterator[tuple[Batch, int]]:
    """Yield batches, and how many rows are before them."""
    n_rows = 0
    for batch in batches:
        yield batch, n_rows
        n_rows += batch.n_rows


def read_units(path: Path) -> NDArray[np.int32]:
    """Return the number of each row's person."""
    if not path.stat().st_size:
        return np.zeros(0, dtype=np.int32)
    return np.memmap(path, np.int32, "r")


def _number(connection: Connection, sql: str) -> int:
    return int(connection.sql(sql).fetchall()[0][0] or 0)


def _is_plain(kind: Any) -> bool:  # noqa: ANN401
    """Return whether DuckDB has a type as it is."""
    if pa.types.is_struct(kind):
        return all(_is_plain(field.type) for field in kind)
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    tests = (
        *(pa.types.is_integer, pa.types.is_boolean, pa.types.is_date32),
        *(pa.types.is_float32, pa.types.is_float64, pa.types.is_decimal128),
        *(is_text, pa.types.is_timestamp, pa.types.is_binary),
    )
    return any(test(kind) for test in tests)
