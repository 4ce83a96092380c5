"""Which database is meant, a file or a server, and a connection to it."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from core_mondrian.errors import DataError, SpecError, not_there
from core_mondrian.sources.sql.base import Database, Space
from core_mondrian.sources.sql.failures import naming
from core_mondrian.tables.files.atomic_write import output_error
from core_mondrian.tables.files.kinds import unreadable
from core_mondrian.tables.files.staging import draft_folder

_SQLITE: Final = b"SQLite format 3\0"
_DUCKDB: Final = b"DUCK"
_HEADER: Final = 16
_SERVERS: Final = ("postgresql://", "postgres://")
_FILES: Final = ("duckdb:///", "sqlite:///")


def open_database(database: str | Path) -> Database:
    """Return a database that is there, not yet connected to.

    An address may hold a password: no message shows any of it.

    Raises:
        SpecError: it is no kind of database that we know, or its driver is not there.
        DataError: there is no such file, or it is something else.
    """
    text = str(database)
    try:
        if text.startswith(_SERVERS):
            from core_mondrian.sources.sql.postgresql import PostgreSQL

            return PostgreSQL(text)
        return _open_file(_path_of(text))
    except ImportError as error:
        raise SpecError(
            f"databases need the package {str(error.name).partition('.')[0]}",
            hint="pip install 'core-mondrian[sql]'",
        ) from None


def _path_of(text: str) -> Path:
    for prefix in _FILES:
        if text.startswith(prefix):
            return Path(text.removeprefix(prefix))
    if "://" in text:
        raise SpecError(
            "the database has an address of an unknown kind",
            hint="take postgresql://…, or the path of a DuckDB or SQLite file",
        )
    return Path(text)


def _open_file(path: Path) -> Database:
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        raise not_there(path) from None
    except OSError as error:
        raise unreadable(path, error) from None
    if header == _SQLITE:
        from core_mondrian.sources.sql.sqlite_file import SQLiteFile

        return SQLiteFile(path)
    if header[8:12] == _DUCKDB:
        from core_mondrian.sources.sql.duckdb_file import DuckDBFile

        return DuckDBFile(path)
    raise DataError(
        f"{path}: neither a DuckDB nor an SQLite file",
        hint="tables in other files are read without a database",
    )


@contextmanager
def connected(opened: Database, memory: int, threads: int) -> Iterator[Path]:
    """Connect and begin a transaction; yield a folder that is ours alone.

    Raises:
        OutputError: there can be no such folder.
        DataError: the database cannot be opened.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(draft_folder(opened.folder, private=True))
        except OSError as error:
            raise output_error(opened.folder, error) from None
        stack.enter_context(closing(opened))
        with naming(opened, "open the database"):
            opened.begin(Space(folder, memory, threads))
        yield folder
