"""Tuples in a folder, counted by DuckDB: memory does not grow with them.

tuples.duckdb   relations of tuples, see `tuple_relation`
words           the packed codes of all tuples, in their order
STAGE/PART/     what is kept of each part, array by array
"""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.encoding.collapse import n_words, unpack_words
from core_mondrian.engine.layout import Codes, Counts
from core_mondrian.engine.parts import Arrays, PartRoots, Task
from core_mondrian.runtime.stages import Stages
from core_mondrian.sources.spill import connect, insert, read_batches
from core_mondrian.sources.tuple_relation import (
    PLANTED,
    TUPLES,
    TupleRelation,
    TupleShape,
    as_records,
)

ResultT = TypeVar("ResultT")
Words = NDArray[np.uint64]
_PARTIAL: Final = "partial"


@dataclass(frozen=True)
class StoreLimits:
    """What a store may take."""

    memory: int
    """Bytes for DuckDB."""
    task_tuples: int
    """Tuples that each thread solves at a time."""
    threads: int


@dataclass(frozen=True)
class PartFiles:
    """Arrays that are kept of parts, in files of a folder: STAGE/PART/NAME.npy."""

    folder: Path

    def place(self, stage: str, number: int) -> Path:
        """Return the folder of a part."""
        return self.folder / stage / f"{number:05d}"

    def save(self, stage: str, number: int, arrays: Arrays) -> None:
        """Keep some arrays of a part."""
        place = self.place(stage, number)
        place.mkdir(parents=True)
        for name, array in arrays.items():
            np.save(place / f"{name}.npy", array)

    def load(self, stage: str, number: int, name: str) -> NDArray[Any]:
        """Return one of them."""
        array: NDArray[Any] = np.load(self.place(stage, number) / f"{name}.npy")
        return array


class LocalStore(TupleRelation):
    """See `parts.PartitionStore`."""

    def __init__(self, folder: Path, limits: StoreLimits, stages: Stages) -> None:
        self.folder = folder
        self.files = PartFiles(folder)
        self.task_tuples = limits.task_tuples
        self._threads = limits.threads
        self.stages = stages
        self.n_tuples = 0
        self.stage = "partition"
        """What is done with parts at the moment."""
        self.bits: list[int] = []
        self.connection = connect(
            folder, limits.memory, limits.threads, name="tuples.duckdb"
        )

    def close(self) -> None:
        """Let go of the database; the files stay."""
        self.connection.close()

    @property
    def words_file(self) -> Path:
        """Where the packed codes of all tuples are."""
        return self.folder / "words"

    def open(self, shape: TupleShape) -> None:
        """Make ready for tuples of this shape."""
        self.shape = shape
        self.bits = [size.bit_length() for size in shape.sizes]
        words = [f"w{i} UBIGINT" for i in range(n_words(self.bits))]
        self.create(_PARTIAL, [*words, "n BIGINT"])

    def add(self, words: Words, rows: Counts) -> None:
        """Take packed tuples, which may be there already."""
        columns = {f"w{i}": words[:, i] for i in range(words.shape[1])}
        insert(self.connection, _PARTIAL, pa.table({**columns, "n": rows}))

    def create(self, name: str, columns: Sequence[str]) -> None:
        """Make an empty relation, instead of one of that name."""
        made = f"CREATE OR REPLACE TABLE {name} ({', '.join(columns)})"
        self.connection.execute(made)

    def finish(self) -> int:
        """Add up equal tuples, number them in their order; return how many there are.

        So that they are there but once on disk, they are numbered as they are sorted.
        """
        n = n_words(self.bits)
        keys = ", ".join(f"w{i}" for i in range(n))
        report = self.stages.report("number")
        n_counted = self.query(f"SELECT count(*) AS n FROM {_PARTIAL}")["n"][0].as_py()
        self.create(TUPLES, [f"{name} INTEGER" for name in self.shape.names])
        n_tuples = 0
        cursor = self.connection.cursor()  # two statements at a time
        with self.words_file.open("wb") as file:
            for batch in read_batches(
                cursor,
                f"SELECT {keys}, CAST(sum(n) AS BIGINT) AS n FROM {_PARTIAL} "
                f"GROUP BY {keys} ORDER BY {keys}",
            ):
                words = np.stack([batch[f"w{i}"].to_numpy() for i in range(n)], axis=1)
                words.astype(">u8").tofile(file)
                codes = unpack_words(words, self.bits)
                rows = batch["n"].to_numpy()
                tuples = self.shape.batch(codes, rows, n_tuples)
                insert(self.connection, TUPLES, tuples)
                n_tuples += len(words)
                report(n_tuples / n_counted)
        cursor.close()
        self.connection.execute(f"DROP TABLE {_PARTIAL}")
        self.stages.end("number")
        self.n_tuples = n_tuples
        return n_tuples

    def query(self, sql: str, by: Sequence[str] = ()) -> pa.Table:
        order = f" ORDER BY {', '.join(by)}" if by else ""
        return self.connection.sql(sql + order).to_arrow_table()

    def scan(self, sql: str) -> Iterator[pa.Table]:
        yield from read_batches(self.connection, f"{sql} ORDER BY id")

    def replace(self, name: str, sql: str) -> None:
        self.connection.execute(f"CREATE TABLE new_{name} AS {sql}")
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(f"ALTER TABLE new_{name} RENAME TO {name}")

    def upload(self, name: str, table: pa.Table) -> None:
        self.connection.register("arrow", table)
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM arrow"
        )
        self.connection.unregister("arrow")

    def hand_out(self, parts: Sequence[PartRoots], stage: str) -> None:
        """Write the tuples of each part to a file of its own."""
        self.drop(stage)
        part_of = {node: i for i, part in enumerate(parts) for node in part.numbers}
        numbers = np.full(max(part_of) + 1, -1, dtype=np.int64)
        numbers[list(part_of)] = list(part_of.values())
        places = [self.files.place(stage, i) for i in range(len(parts))]
        for place in places:
            place.mkdir(parents=True)
            (place / "tuples").touch()
        names = [*self.shape.record, "node"]
        every = f"SELECT {', '.join(names)} FROM {PLANTED}"
        for batch in read_batches(self.connection, every):
            records = as_records(batch, names)
            owner = numbers[records[:, -1]]
            order = np.argsort(owner, kind="stable")
            edges = np.searchsorted(owner[order], np.arange(len(parts) + 1))
            for i in np.flatnonzero(np.diff(edges)).tolist():
                with (places[i] / "tuples").open("ab") as file:
                    records[order[edges[i] : edges[i + 1]]].tofile(file)

    def run(
        self, task: Task[ResultT], stage: str, target: str | None = None
    ) -> list[ResultT]:
        """Do a task with every part, one on each thread."""
        n_parts = len(list((self.folder / stage).iterdir()))
        if target is not None:
            self.drop(target)

        def do(number: int) -> ResultT:
            kept, summary = task(number, self._load(stage, number))
            if target is not None:
                self.files.save(target, number, kept)
            return summary

        done: list[ResultT] = []
        report = self.stages.report(self.stage)
        with ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(do, number) for number in range(n_parts)]
            try:
                for future in futures:
                    done.append(future.result())
                    report(len(done) / n_parts)
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        return done

    def drop(self, stage: str) -> None:
        shutil.rmtree(self.folder / stage, ignore_errors=True)

    def clear(self) -> None:
        for folder in self.folder.iterdir():
            if folder.is_dir() and folder.name != "spill":
                shutil.rmtree(folder)

    def _load(self, stage: str, number: int) -> Arrays:
        place = self.files.place(stage, number)
        raw = place / "tuples"
        if raw.exists():
            width = len(self.shape.record) + 1
            records = np.fromfile(raw, dtype=np.int32).reshape(-1, width)
            own: Codes = np.ascontiguousarray(records[:, :-1])
            return {"records": own, "node": records[:, -1].copy()}
        return {file.stem: np.load(file) for file in place.iterdir()}
