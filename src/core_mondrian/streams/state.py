"""Counts on disk: of a first pass that was interrupted, or kept for another day."""

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core_mondrian.counts import ROWS
from core_mondrian.errors import DataError, SpecError, list_names
from core_mondrian.streams.batches import Place
from core_mondrian.streams.source import Source
from core_mondrian.streams.tally import Tally

_NOTES: Final = b"core_mondrian:counts"
_FORMAT: Final = 1


@dataclass(frozen=True)
class Counts:
    """A tally, and which rows of a source are in it."""

    kind: str
    columns: tuple[str, ...]
    tally: Tally
    parts: tuple[Mapping[str, Any], ...]
    """Fingerprints of the parts that are counted, the last one maybe in part."""
    place: Place
    """Where counting goes on, among these parts."""
    n_bad: int = 0
    first_bad: str = ""

    @property
    def is_whole(self) -> bool:
        """Tell whether all its parts are counted to their ends."""
        return self.place == Place(len(self.parts))


def remaining(source: Source, counts: Counts | None) -> tuple[Source, Place]:
    """Return the parts that are not counted yet, and where in the first to go on."""
    if counts is None:
        return source, Place()
    names = [part["name"] for part in counts.parts]
    by_name = {part.name: part for part in source.parts}
    begun = [] if counts.is_whole else [by_name[names[-1]]]
    fresh = [part for part in source.parts if part.name not in names]
    start = Place(0, *counts.place[1:]) if begun else Place()
    return replace(source, parts=(*begun, *fresh)), start


def save_counts(counts: Counts, path: Path) -> None:
    """Write counts, for nobody but the owner: they hold values of the source."""
    notes = {
        "format": _FORMAT,
        "kind": counts.kind,
        "columns": list(counts.columns),
        "parts": [dict(part) for part in counts.parts],
        "place": list(counts.place),
        "n_bad": counts.n_bad,
        "first_bad": counts.first_bad,
    }
    tally = counts.tally
    arrays = [
        pa.DictionaryArray.from_arrays(
            pa.array(tally.codes[:, place] - 1, mask=tally.codes[:, place] == 0), values
        )
        for place, values in enumerate(tally.values)
    ]
    names = [*counts.columns, ROWS]
    table = pa.table([*arrays, pa.array(tally.rows)], names=names)
    table = table.replace_schema_metadata({_NOTES: json.dumps(notes).encode()})
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with (
            os.fdopen(handle, "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table)
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def load_counts(path: Path) -> Counts:
    """Read counts.

    Raises:
        DataError: the file holds none.
    """
    try:
        with pa.OSFile(str(path), "rb") as file:
            table = pa.ipc.open_file(file).read_all()
        notes = json.loads(table.schema.metadata[_NOTES])
        if notes["format"] != _FORMAT:
            raise ValueError  # noqa: TRY301
        table.validate(full=True)
        return _counts(table, notes)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file", hint="check the path") from None
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError):
        raise DataError(
            f"{path}: not a file of counts, or damaged", hint="count again"
        ) from None


def _counts(table: pa.Table, notes: Mapping[str, Any]) -> Counts:
    _check(table, notes)
    columns = [column.combine_chunks() for column in table.columns[:-1]]
    columns = [
        pa.concat_arrays(column.chunks)
        if isinstance(column, pa.ChunkedArray)
        else column
        for column in columns
    ]
    codes = [column.indices.fill_null(-1).to_numpy() + 1 for column in columns]
    tally = Tally(
        tuple(column.dictionary for column in columns),
        np.stack(codes, axis=1).astype(np.int32),
        table.column(-1).to_numpy().astype(np.int64),
    )
    return Counts(
        *(notes["kind"], tuple(notes["columns"]), tally, tuple(notes["parts"])),
        *(Place(*notes["place"]), notes["n_bad"], notes["first_bad"]),
    )


def _check(table: pa.Table, notes: Mapping[str, Any]) -> None:
    """Raise ValueError, or the like, if the table is not what the notes tell of."""
    names, rows = [*notes["columns"], ROWS], table.column(-1)
    is_coded = [pa.types.is_dictionary(kind) for kind in table.schema.types[:-1]]
    place = [notes["n_bad"], *notes["place"]]
    good = (
        *(len(names) > 1, table.column_names == names, all(is_coded)),
        *(rows.type == pa.int64(), not rows.null_count),
        *(isinstance(number, int) and number >= 0 for number in place),
        isinstance(notes["first_bad"], str),
        *(isinstance(part["name"], str) for part in notes["parts"]),
    )
    if not all(good) or (pc.min(rows).as_py() or 0) < 0:
        raise ValueError


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


def arrange(counts: Counts, columns: Sequence[str]) -> Tally:
    """Return the tally with its columns in another order."""
    order = [counts.columns.index(name) for name in columns]
    tally = counts.tally
    return Tally(
        tuple(tally.values[place] for place in order),
        np.ascontiguousarray(tally.codes[:, order]),
        tally.rows,
    )
