"""Count the distinct tuples of files; those that do not fit into memory go to disk."""

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian.errors import DataError, SpecError, list_names
from core_mondrian.runtime.progress import Throughput
from core_mondrian.sources.files.batch_counts import Tally, merge, tally_columns
from core_mondrian.sources.files.batches import (
    Batch,
    Wanted,
    in_order,
    read_batches,
)
from core_mondrian.sources.files.csv_blocks import BadRows
from core_mondrian.sources.files.source import Source
from core_mondrian.sources.memory import Sizes
from core_mondrian.sources.row_coder import Codes
from core_mondrian.tables.files.staging import create_private

Counted = tuple[Codes, NDArray[np.int64]]
"""Codes of tuples, and the rows of each."""
_FEWEST: Final = 1 << 20
"""Tuples of batches that are worth being added up."""
_CHUNK: Final = 1 << 20
"""Tuples that are read from disk at a time."""
_ROWS: Final = "core_mondrian:rows"
"""The column that says how often a tuple occurs."""
_NOTES: Final = b"core_mondrian:counts"
_FORMAT: Final = 2


@dataclass(frozen=True)
class Counts:
    """The tuples of a source, and which of its parts they are of."""

    kind: str
    columns: tuple[str, ...]
    kept: Tally
    """Tuples in memory: all, if none are on disk."""
    spilled: Path | None
    """Tuples on disk, where one may be several times."""
    parts: tuple[Mapping[str, Any], ...]
    """Fingerprints of the parts."""
    n_bad: int = 0
    first_bad: str = ""

    @property
    def values(self) -> tuple[pa.Array, ...]:
        """By column: its distinct values; code 0 is missing, 1 the first of them."""
        return self.kept.values

    @property
    def n_counted(self) -> int:
        """Tuples that `chunks` yields."""
        size = 0 if self.spilled is None else self.spilled.stat().st_size
        return size // (4 * len(self.columns) + 4) + self.kept.n_tuples

    def chunks(self) -> Iterator[Counted]:
        """Yield all tuples, some at a time; one may be there several times."""
        if self.spilled is not None:
            width = len(self.columns) + 1
            with self.spilled.open("rb") as file:
                while (numbers := np.fromfile(file, np.int32, _CHUNK * width)).size:
                    found = numbers.reshape(-1, width)
                    yield found[:, :-1], found[:, -1].astype(np.int64)
        if self.kept.n_tuples:
            yield self.kept.codes, self.kept.rows


class TupleCounter:
    """Adds up the tuples of batches, and writes them to disk if they are too many."""

    def __init__(self, first: Tally, most: int, spill: Path | None) -> None:
        """Hold at most ``most`` tuples, if there is a place to ``spill`` to."""
        self._whole = first
        self._most = most
        self._spill = spill
        self._file: BinaryIO | None = None
        self._new: list[Tally] = []
        self._n_new = 0

    def add(self, tally: Tally) -> None:
        """Take one more."""
        self._new.append(tally)
        self._n_new += tally.n_tuples
        if self._n_new < max(min(_FEWEST, self._most // 4), self._whole.n_tuples):
            return
        self._add_up()
        if self._whole.n_tuples > self._most:
            self._write()

    @property
    def n_tuples(self) -> int:
        """Distinct tuples that are in memory."""
        return self._whole.n_tuples

    def _add_up(self) -> None:
        self._whole = merge([self._whole, *self._new])
        self._new, self._n_new = [], 0

    def _write(self) -> None:
        """Write the tuples to disk; their values stay, and keep their codes."""
        if self._spill is None:
            return
        if self._file is None:
            create_private(self._spill)
            self._file = self._spill.open("r+b")
        whole = self._whole
        rows = whole.rows.astype(np.int32)[:, np.newaxis]
        np.concatenate([whole.codes, rows], axis=1).tofile(self._file)
        self._whole = Tally(whole.values, whole.codes[:0], whole.rows[:0])

    def finish(self) -> tuple[Tally, Path | None]:
        """Return what is in memory, and where the rest is."""
        self._add_up()
        if self._file is None:
            return self._whole, None
        self._write()
        self._file.close()
        return self._whole, self._spill


@dataclass(frozen=True)
class Counting:
    """What is counted, and how."""

    source: Source
    columns: tuple[str, ...]
    sizes: Sizes
    bad: BadRows
    most: int
    """Tuples that may be in memory."""
    check: Callable[[int], None]
    """Called with the tuples in memory, now and then."""

    def run(
        self,
        before: Counts | None,
        spill: Path | None,
        report: Callable[[float], None],
    ) -> Counts:
        """Count the parts that ``before`` does not know, and return all."""
        rest = self._remaining(before)
        counter = TupleCounter(self._empty(), self.most, spill)
        if before is not None:
            for codes, rows in arrange(before, self.columns):
                counter.add(Tally(codes.values, codes.codes, rows))
            self.bad.n, self.bad.first = before.n_bad, before.first_bad
        throughput = Throughput(report, rest.size)
        wanted = Wanted(self.columns, coded=self.columns)
        batches = read_batches(rest, wanted, self.sizes, bad=self.bad)
        for batch, tally in in_order(self._tally, batches, self.sizes):
            counter.add(tally)
            self.check(counter.n_tuples)
            throughput.step(tally.n_rows, share_done(rest, batch))
        kept, spilled = counter.finish()
        known = () if before is None else before.parts
        parts = (*known, *(part.fingerprint() for part in rest.parts))
        first = self.bad.first if self.bad.n else ""
        return Counts(
            kind=self.source.kind,
            columns=self.columns,
            kept=kept,
            spilled=spilled,
            parts=parts,
            n_bad=self.bad.n,
            first_bad=first,
        )

    def _remaining(self, before: Counts | None) -> Source:
        names = set() if before is None else {part["name"] for part in before.parts}
        fresh = tuple(part for part in self.source.parts if part.name not in names)
        return replace(self.source, parts=fresh)

    def _tally(self, batch: Batch) -> tuple[Batch, Tally]:
        table = batch.load()
        return batch, tally_columns(table.columns, table.num_rows)

    def _empty(self) -> Tally:
        return tally_columns(self.source.no_rows().select(self.columns).columns, 0)


def share_done(source: Source, batch: Batch) -> float:
    """Return how much of a source is read, by the size of its parts."""
    sizes = [part.size for part in source.parts]
    whole = sum(sizes[: batch.part])
    own = sizes[batch.part] * batch.done
    return float(min((whole + own) / max(sum(sizes), 1), 1.0))


def arrange(
    counts: Counts, columns: Sequence[str]
) -> Iterator[tuple[Tally, NDArray[np.int64]]]:
    """Yield the tuples of counts with their columns in another order."""
    order = [counts.columns.index(name) for name in columns]
    values = tuple(counts.values[place] for place in order)
    for codes, rows in counts.chunks():
        yield Tally(values, np.ascontiguousarray(codes[:, order]), rows), rows


def save_counts(counts: Counts, path: Path) -> None:
    """Write counts, for nobody but the owner: they hold values of the source."""
    notes = {
        "format": _FORMAT,
        "kind": counts.kind,
        "columns": list(counts.columns),
        "parts": [dict(part) for part in counts.parts],
        "n_bad": counts.n_bad,
        "first_bad": counts.first_bad,
    }
    fields = [
        pa.field(name, pa.dictionary(pa.int32(), values.type))
        for name, values in zip(counts.columns, counts.values, strict=True)
    ]
    schema = pa.schema([*fields, pa.field(_ROWS, pa.int64())])
    schema = schema.with_metadata({_NOTES: json.dumps(notes).encode()})
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for codes, rows in counts.chunks():
                writer.write_batch(_as_batch(counts, codes, rows, schema))
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _as_batch(
    counts: Counts, codes: Codes, rows: NDArray[np.int64], schema: pa.Schema
) -> pa.RecordBatch:
    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array(codes[:, place] - 1, mask=codes[:, place] == 0), values
        )
        for place, values in enumerate(counts.values)
    ]
    return pa.record_batch([*arrays, pa.array(rows)], schema=schema)


def load_counts(path: Path) -> Counts:
    """Read counts.

    Raises:
        DataError: the file holds none, or is of another version.
    """
    try:
        with pa.OSFile(str(path), "rb") as file:
            table = pa.ipc.open_file(file).read_all()
        notes = json.loads(table.schema.metadata[_NOTES])
        if notes["format"] != _FORMAT:
            raise DataError(
                f"{path}: counts of format {notes['format']}, and this version reads "
                f"format {_FORMAT}",
                hint="count again",
            )
        table.validate(full=True)
        return _counts(table, notes)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file", hint="check the path") from None
    except (pa.ArrowException, OSError, LookupError, TypeError, AttributeError):
        raise _damaged(path) from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise _damaged(path) from None


def _damaged(path: Path) -> DataError:
    return DataError(f"{path}: not a file of counts, or damaged", hint="count again")


def _counts(table: pa.Table, notes: Mapping[str, Any]) -> Counts:
    """Return the counts; ValueError, or the like: they are not what the notes say."""
    names, rows = [*notes["columns"], _ROWS], table.column(-1)
    is_coded = [pa.types.is_dictionary(kind) for kind in table.schema.types[:-1]]
    good = (
        *(len(names) > 1, table.column_names == names, all(is_coded)),
        *(rows.type == pa.int64(), not rows.null_count),
        *(isinstance(notes["n_bad"], int), notes["n_bad"] >= 0),
        isinstance(notes["first_bad"], str),
        *(isinstance(part["name"], str) for part in notes["parts"]),
    )
    numbers = rows.to_numpy().astype(np.int64)
    if not all(good) or numbers.min(initial=0) < 0:
        raise ValueError
    columns = [one.unify_dictionaries().combine_chunks() for one in table.columns[:-1]]
    arrays = [
        one.chunk(0) if isinstance(one, pa.ChunkedArray) else one for one in columns
    ]
    codes = [one.indices.fill_null(-1).to_numpy() + 1 for one in arrays]
    values = tuple(one.dictionary for one in arrays)
    whole = Tally(values, np.stack(codes, axis=1).astype(np.int32), numbers)
    return Counts(
        kind=notes["kind"],
        columns=tuple(notes["columns"]),
        kept=whole,
        spilled=None,
        parts=tuple(notes["parts"]),
        n_bad=notes["n_bad"],
        first_bad=notes["first_bad"],
    )


def fit(counts: Counts, source: Source, columns: Sequence[str], what: str) -> None:
    """Refuse counts that are not of this source.

    Raises:
        SpecError: they are of other columns, or of parts that are not there any more.
    """
    if counts.kind != source.kind or set(counts.columns) != set(columns):
        raise SpecError(
            f"{what} are of the columns {list_names(counts.columns)} of "
            f"{counts.kind} files; needed are {list_names(columns)} of {source.kind}",
            hint="count again with the same spec",
        )
    there = {part.name: part.fingerprint() for part in source.parts}
    for part in counts.parts:
        if there.get(part["name"]) != dict(part):
            state = "has changed" if part["name"] in there else "is not in the source"
            raise SpecError(
                f"{what} are of a part that {state}: {part['name']}",
                hint="give the source with all its parts unchanged, or count again",
            )
