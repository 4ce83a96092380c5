"""Read a table from CSV, Parquet or Arrow IPC."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from core_mondrian.errors import (
    DataError,
    MemoryLimitError,
    MondrianError,
    drops_context,
    not_there,
)
from core_mondrian.tables.arrow_types import is_text
from core_mondrian.tables.files.csv_text import read_csv, too_long
from core_mondrian.tables.files.dialect import Dialect
from core_mondrian.tables.files.kinds import (
    check_names,
    known_kind,
    remember,
    unreadable,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_STREAM: Final = "--memory SIZE reads CSV and Parquet in batches"


@drops_context
def read_table(  # noqa: PLR0913  # one parameter a property of the file
    path: str | Path,
    *,
    typed: Collection[str] | None = None,
    null_values: Sequence[str] = ("",),
    infer: bool = True,
    guarded: bool = False,
    columns: Collection[str] | None = None,
    dialect: Dialect | None = None,
) -> pa.Table:
    """Read a table; text may come back dictionary-encoded, see `source_schema`.

    A CSV file has no types. Columns in ``typed`` (None: all) get those Arrow infers,
    but whole numbers with leading zeros stay text, and ``null_values`` are missing
    there. Other columns are text as it stands. Empty cells are missing in all.

    Args:
        path: The file; its suffix says what it is.
        typed: Columns of a CSV file to be read as more than text.
        null_values: What a missing value looks like in those columns.
        infer: False: those columns stay text, only missing values are recognized.
        guarded: A CSV file was written with guard_formulas: take the guards away.
        columns: Those that are needed, of those that there are; None: all.
        dialect: How a CSV file is written; None: as its first rows show.

    Raises:
        DataError: there is no such file, or it is not what its suffix says.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: a folder, not a file", hint="name one file in it")
    if path.exists():
        known_kind(path)
    check_file(path)
    kind = known_kind(path)
    with reading(path, kind):
        if kind == "csv":
            table = read_csv(
                path,
                typed,
                null_values,
                infer=infer,
                guarded=guarded,
                columns=columns,
                dialect=dialect,
            )
        elif kind == "parquet":
            table = _read_parquet(path, columns)
        else:
            table = _read_ipc(path)
            if columns is not None:
                kept = [name for name in table.column_names if name in columns]
                table = table.select(kept)
        check_names(path, table.column_names)
        # 20 ms for a million rows: Arrow trusts offsets and text in these files.
        table.validate(full=True)
    return table


def check_file(path: Path) -> None:
    """Raise DataError unless there is a file, and something in it."""
    if not path.exists():
        raise not_there(path)
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise unreadable(path, error) from None
    if is_empty:
        raise DataError(f"{path}: the file is empty", hint="write it again")


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn Arrow's errors, which quote cells, into ours, which do not."""
    try:
        yield
    except MondrianError:
        raise
    except MemoryError:  # Arrow's is one
        raise MemoryLimitError(
            f"{path}: does not fit into memory", hint=_STREAM
        ) from None
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or re.search("(?i)utf-?8", str(error)):
            raise undecodable(path, getattr(error, "encoding", "utf-8")) from None
        raise _damaged(path, kind, str(error)) from None
    except OSError as error:
        if error.errno is not None:
            raise unreadable(path, error) from None
        raise _damaged(path, kind, "") from None
    except pa.ArrowException as error:
        raise DataError(
            f"{path}: cannot be read ({type(error).__name__})",
            hint="write it again, with types and a compression that others know",
        ) from None


def undecodable(path: Path, encoding: str) -> DataError:
    """Return the error about bytes that are no text."""
    name = "UTF-8" if encoding in ("utf-8", "utf8") else encoding
    return DataError(
        f"{path}: holds bytes that are no {name}",
        hint="save it as UTF-8, or say what it is: --csv encoding=windows-1252",
    )


def _damaged(path: Path, kind: str, message: str) -> DataError:
    if "straddling" in message:
        return too_long(path)
    names = {"csv": "a CSV", "parquet": "a Parquet", "ipc": "an Arrow"}
    return DataError(
        f"{path}: not {names[kind]} file, or cut off or damaged", hint="write it again"
    )


def _read_parquet(path: Path, columns: Collection[str] | None) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
    check_names(path, schema.names)
    check_counts(path, metadata)
    names = [name for name in schema.names if is_text(schema.field(name).type)]
    repetitive = [name for name in names if is_repetitive(metadata, name)]
    # 1M rows of census: .09 s of CPU time instead of .45.
    with pq.ParquetFile(path, read_dictionary=repetitive) as file:
        if columns is None:
            return remember(file.read(), schema)
        return file.read([name for name in schema.names if name in columns])


def check_counts(path: Path, metadata: "pq.FileMetaData") -> None:
    """Raise DataError if a Parquet file contradicts itself on how many rows it has."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    first = metadata.schema.column(0) if metadata.num_columns else None
    is_flat = first is not None and first.max_repetition_level == 0
    same = [
        not is_flat or group.column(0).num_values == group.num_rows for group in groups
    ]
    n_rows = sum(group.num_rows for group in groups)
    if n_rows != metadata.num_rows or not all(same):
        raise DataError(
            f"{path}: contradicts itself on its number of rows", hint="write it again"
        )


def is_repetitive(metadata: "pq.FileMetaData", name: str) -> bool:
    """Return whether the file stores a text column as dictionary codes throughout.

    One that is mostly distinct values would take longer to read as a dictionary.
    """
    if not metadata.num_row_groups:
        return True
    group = metadata.row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    own = [chunk for chunk in chunks if chunk.path_in_schema == name]
    most = 4 * group.num_rows + (1 << 20)
    return len(own) == 1 and bool(own[0].total_uncompressed_size <= most)


def _read_ipc(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as file:
        try:
            return pa.ipc.open_file(file).read_all()
        except pa.ArrowInvalid:
            file.seek(0)  # written as a stream
            return pa.ipc.open_stream(file).read_all()
