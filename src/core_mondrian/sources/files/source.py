"""Where the rows are: files, folders and globs as one table in a fixed order."""

import glob
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from core_mondrian.encoding.columns import rank_column
from core_mondrian.errors import (
    DataError,
    SpecError,
    list_names,
    not_there,
    quote_names,
)
from core_mondrian.sources.files.csv_blocks import read_names
from core_mondrian.sources.tuple_counts import counted_columns
from core_mondrian.spec.declaration import (
    Spec,
    check_look_alikes,
    check_rows_are_here,
)
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.csv_text import infer_type, unguarded_names
from core_mondrian.tables.files.dialect import (
    WRITTEN,
    Dialect,
    find_dialect,
    known_options,
)
from core_mondrian.tables.files.kinds import (
    check_names,
    kind_of,
)
from core_mondrian.tables.files.read import (
    check_counts,
    check_file,
    is_repetitive,
    reading,
)
from core_mondrian.tables.files.sizes import parquet_row

Kind = Literal["csv", "parquet"]
_HINT: Final = "CSV (also .gz, .bz2, .zst) and Parquet can be streamed"
_NO_KEY: Final = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Part:
    """One file."""

    path: Path
    name: str
    """Where it is below the source; the same wherever that lies."""
    size: int
    mtime_ns: int
    keys: tuple[tuple[str, str | None], ...] = ()
    """What the folders above it say, as ``key=value``."""
    dialect: Dialect = WRITTEN
    """How it is written, if it is CSV."""

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells whether it has changed, or is read another way."""
        return {
            "name": self.name,
            "size": self.size,
            "mtime_ns": self.mtime_ns,
            "dialect": list(self.dialect),
        }


@dataclass(frozen=True)
class Source:
    """Parts of one table, with the same columns."""

    title: str
    kind: Kind
    parts: tuple[Part, ...]
    schema: pa.Schema
    """Columns of the files, then the keys of their folders. CSV: all text."""
    repetitive: tuple[str, ...] = ()
    """Parquet: columns of text that are read as codes of distinct values."""
    guarded: bool = False
    """CSV: written by us, with apostrophes before what would be formulas."""

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(part.size for part in self.parts)

    @property
    def row_size(self) -> float:
        """About how many bytes a row takes in memory, by the first part."""
        if self.kind == "csv":
            return 64.0
        with reading(self.parts[0].path, "parquet"):
            metadata = pq.read_metadata(self.parts[0].path)
        return parquet_row(metadata, self.schema)

    def no_rows(self) -> pa.Table:
        """Return a table of its columns, in one chunk each: Arrow needs one."""
        arrays = [pa.nulls(0, field.type) for field in self.schema]
        return pa.table(arrays, names=self.schema.names)

    def check_unchanged(self) -> None:
        """Raise DataError if a part is not what it was."""
        for part in self.parts:
            if _stat(part.path) != (part.size, part.mtime_ns):
                raise DataError(
                    f"{part.path}: changed while it was read",
                    hint="run again when nobody writes to it",
                )


def open_release(release: Path, *, guarded: bool) -> Source:
    """Find the parts of what was written here; ``guarded``: with guard_formulas."""
    return _open(str(release), dict(WRITTEN._asdict()), guarded=guarded)


def open_source(source: str | Path, csv: Mapping[str, str] | None = None) -> Source:
    """Find the parts and check that they have the same columns.

    ``csv`` is what is known of how they are written, see `find_dialect`.

    Raises:
        SpecError: something is said of CSV, and there is none, or it is unknown.
        DataError: there are none, or they do not fit together.
    """
    found = _open(str(source), known_options(csv or {}), guarded=False)
    if csv and found.kind != "csv":
        raise SpecError(f"{source} is no CSV file", hint="leave out --csv")
    return found


def _open(source: str, csv: Mapping[str, str], *, guarded: bool) -> Source:
    found = _find(source)
    if not found:
        raise not_there(source)
    kinds = {kind_of(path) for path, _ in found}
    for path, _ in found:
        if kind_of(path) not in ("csv", "parquet"):
            raise DataError(f"{path}: unknown kind of file", hint=_HINT)
    if len(kinds) > 1:
        raise DataError(f"{source}: holds CSV and Parquet files", hint="take one kind")
    kind: Kind = "csv" if kinds == {"csv"} else "parquet"
    parts = tuple(_part(path, name, csv) for path, name in found)
    files = _one_schema(parts, [_read_schema(part, kind) for part in parts])
    if guarded and kind == "csv":
        plain = unguarded_names(files.names)
        files = pa.schema([(name, pa.string()) for name in plain])
    keys = _key_fields(parts, kind)
    if both := sorted({field.name for field in keys} & set(files.names)):
        raise DataError(
            f"{list_names(both)} are columns of the files and keys of their folders",
            hint="rename either of them",
        )
    schema = pa.schema([*files, *keys], files.metadata)
    coded = _repetitive(parts[0], files) if kind == "parquet" else ()
    return Source(source, kind, parts, schema, coded, guarded)


def _find(source: str) -> list[tuple[Path, str]]:
    """Return the files in order, and what they are called below the source."""
    path = Path(source)
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.is_file()]
        return _in_order((file, file.relative_to(path)) for file in files)
    if path.exists() or not glob.has_magic(source):
        return [(path, path.name)] if path.exists() else []
    whole = [i for i, name in enumerate(path.parts) if glob.has_magic(name)]
    root = Path(*path.parts[: whole[0]])
    files = [Path(name) for name in glob.glob(source, recursive=True)]  # noqa: PTH207
    return _in_order((file, file.relative_to(root)) for file in files if file.is_file())


def _in_order(files: Iterable[tuple[Path, Path]]) -> list[tuple[Path, str]]:
    """Leave out what is hidden, such as _SUCCESS, and sort by name."""
    shown = [
        (file, below)
        for file, below in files
        if not any(name.startswith((".", "_")) for name in below.parts)
    ]
    ordered = sorted(shown, key=lambda both: both[1].parts)
    return [(file, below.as_posix()) for file, below in ordered]


def _part(path: Path, name: str, csv: Mapping[str, str]) -> Part:
    check_file(path)
    is_csv = kind_of(path) == "csv"
    dialect = find_dialect(path, csv) if is_csv else WRITTEN
    folders = [folder.split("=", 1) for folder in name.split("/")[:-1] if "=" in folder]
    keys = tuple(
        (unquote(key), None if value == _NO_KEY else unquote(value))
        for key, value in folders
    )
    return Part(path, name, *_stat(path), keys, dialect)


def _stat(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        raise not_there(path) from None
    return found.st_size, found.st_mtime_ns


def _read_schema(part: Part, kind: Kind) -> pa.Schema:
    with reading(part.path, kind):
        if kind == "csv":
            names = read_names(part.path, part.dialect)
            return pa.schema([(name, pa.string()) for name in names])
        with pq.ParquetFile(part.path) as file:
            schema = file.schema_arrow
            check_counts(part.path, file.metadata)
        check_names(part.path, schema.names)
        return schema


def _repetitive(part: Part, schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns that the first part stores as codes; one form for all."""
    with reading(part.path, "parquet"), pq.ParquetFile(part.path) as file:
        metadata = file.metadata
    texts = [field.name for field in schema if is_text(field.type)]
    return tuple(name for name in texts if is_repetitive(metadata, name))


def _one_schema(parts: Sequence[Part], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the schema that all parts have; a column of no type fits any."""
    first = schemas[0]
    for part, schema in zip(parts, schemas, strict=True):
        if set(schema.names) != set(first.names):
            stray = sorted(set(schema.names) ^ set(first.names))
            raise DataError(
                f"{part.path}: not the columns of {parts[0].path}: "
                f"{list_names(stray, schema.names)} are in one of them only",
                hint="all parts of a table have the same columns",
            )
    fields = []
    for field in first:
        kinds = [schema.field(field.name).type for schema in schemas]
        known = [kind for kind in kinds if not pa.types.is_null(kind)] or kinds
        for part, kind in zip(parts, kinds, strict=True):
            if not pa.types.is_null(kind) and kind != known[0]:
                raise DataError(
                    f"{part.path}: column {field.name!r} is of type {kind}, and of "
                    f"type {known[0]} in other parts",
                    hint="write the parts anew with one type",
                )
        can_lack = any(schema.field(field.name).nullable for schema in schemas)
        fields.append(field.with_type(known[0]).with_nullable(can_lack))
    return pa.schema(fields, first.metadata)


def _key_fields(parts: Sequence[Part], kind: Kind) -> list[Any]:
    """Return the columns that the folders' names make."""
    names = [tuple(key for key, _ in part.keys) for part in parts]
    for part, own in zip(parts, names, strict=True):
        if own != names[0] or len(set(own)) < len(own):
            raise DataError(
                f"{part.path}: its folders do not have the keys of {parts[0].path}",
                hint="all parts lie below the same keys, in the same order",
            )
    fields = []
    for place, name in enumerate(names[0]):
        texts = sorted({part.keys[place][1] for part in parts} - {None}, key=str)
        values = pa.array(texts, pa.string())
        is_typed = kind == "parquet" and len(texts) > 0
        fields.append(pa.field(name, (infer_type(values) if is_typed else values).type))
    return fields


def check_streamable(source: Source, spec: Spec) -> None:
    """Refuse what the source does not have or streams cannot do, before any work.

    Raises:
        SpecError: the spec asks for such a thing.
        DataError: a column cannot be counted.
    """
    if missing := sorted(set(spec.columns).difference(source.schema.names)):
        raise SpecError(
            f"not in the data: {quote_names(missing)}",
            hint=f"it has {list_names(source.schema.names)}",
        )
    check_look_alikes(spec, source.schema.names)
    check_rows_are_here(spec, "streamed")
    if spec.shuffle is not None:
        raise SpecError(
            "shuffle needs all rows at once, and streams never have them",
            hint="leave it out, or read the table into memory: anonymize()",
        )
    keys = {name for part in source.parts for name, _ in part.keys}
    if told := sorted(keys.intersection(spec.quasi_identifiers)):
        raise SpecError(
            f"folders are named by {told}, which are quasi-identifiers: rows are "
            "written folder by folder, so that their order would give the values away",
            hint="load them into DuckDB and release a table: --database mixes the rows",
        )
    empty = source.no_rows()
    for name in counted_columns(spec):
        rank_column(empty.column(name), name)  # refuses types that have no order
