"""Which files there are, and the notes of a table beyond its columns."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from core_mondrian.errors import (
    CHECK_PATH,
    DataError,
    MondrianError,
    list_names,
    reason,
)

FORMATS: Final = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
}
COMPRESSIONS: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
SUFFIXES: Final = ", ".join([*FORMATS, *(f".csv{end}" for end in COMPRESSIONS)])
_SOURCE_SCHEMA: Final = b"core_mondrian:source_schema"
BLOCK: Final = 1 << 23
"""Bytes of CSV that Arrow parses at a time; no row may be longer."""
MOST_COLUMNS: Final = 10_000
"""Arrow takes 10 KB for each, however few rows there are."""


def compression_of(path: Path) -> str | None:
    """Return how a file is compressed by its suffix; None: it is not."""
    return COMPRESSIONS.get(path.suffix.lower())


_DATABASES = frozenset((".duckdb", ".db", ".sqlite", ".sqlite3"))


def suffix_of(path: Path) -> str:
    """Return the suffix that says what a file holds, such as .csv or .csv.gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-2:-1] == [".csv"] and suffixes[-1] in COMPRESSIONS:
        return "".join(suffixes[-2:])
    return path.suffix.lower()


def kind_of(path: Path) -> str | None:
    """Return what a file holds by its suffix; None: nothing we know."""
    suffix = suffix_of(path)
    return "csv" if suffix.startswith(".csv.") else FORMATS.get(suffix)


def known_kind(path: Path, error: type[MondrianError] = DataError) -> str:
    """Return what a file holds by its suffix.

    Raises:
        MondrianError: of the type ``error``: nothing we know.
    """
    kind = kind_of(path)
    if kind is None:
        hint = f"the suffix is one of {SUFFIXES}"
        if path.suffix.lower() in _DATABASES:
            hint = f"of a database, anonymize takes tables: --database {path} TABLE NEW"
        raise error(f"{path}: unknown kind of file", hint=hint)
    return kind


def parts_of(folder: Path) -> list[Path]:
    """Return the files of a table that is a folder, in order.

    Others keep notes of their own there, such as Spark its _SUCCESS.
    """
    return sorted(x for x in folder.iterdir() if not x.name.startswith((".", "_")))


def unreadable(path: str | Path, error: OSError) -> DataError:
    """Return the error about a file that the system does not give."""
    return DataError(f"{path}: cannot be read ({reason(error)})", hint=CHECK_PATH)


def check_names(path: Path, names: Sequence[str]) -> None:
    """Raise DataError if two columns have one name, or there are too many."""
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{path}: {len(names)} columns, and no more than {MOST_COLUMNS} are read",
            hint="leave out those that nobody needs, or make them rows",
        )
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise DataError(
            f"{path}: column names occur more than once: {list_names(twice, names)}",
            hint="give each column a name of its own",
        )


def source_schema(table: pa.Table) -> pa.Schema:
    """Return the types ``table`` has in the file it was read from."""
    kept = (table.schema.metadata or {}).get(_SOURCE_SCHEMA)
    if kept is None:
        return table.schema
    return pa.ipc.read_schema(pa.py_buffer(kept))


def remember(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table with a note of the types it has in its file."""
    metadata = table.schema.metadata or {}
    kept = {**metadata, _SOURCE_SCHEMA: schema.serialize().to_pybytes()}
    return table.replace_schema_metadata(kept)
