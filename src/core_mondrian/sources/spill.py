"""A DuckDB of our own: it spills into a folder, and reads only what is named."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from core_mondrian.sources.interruptible import interruptible

_PROGRESS: Final = (
    "enable_progress_bar = true",
    "enable_progress_bar_print = false",
    "progress_bar_time = 0",
)
_LEAST: Final = 64 << 20
_BATCH: Final = 1 << 18


def connect(
    folder: Path,
    memory: int,
    threads: int,
    *,
    name: str = ":memory:",
    readable: Sequence[Path] = (),
) -> Any:  # noqa: ANN401
    """Open a database that may take so much memory, and spills into a folder.

    It is a file there, if it has a name.

    Nothing is loaded or downloaded, no other database is opened, and no file is read
    but those that are ``readable``.
    """
    file = name if name == ":memory:" else str(folder / name)
    connection = open_duckdb(file, folder, max(memory, _LEAST), threads)
    paths = ", ".join(literal(str(path)) for path in readable)
    connection.execute(f"SET allowed_paths = [{paths}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def open_duckdb(
    file: str | Path, folder: Path, memory: int, threads: int, **more: object
) -> Any:  # noqa: ANN401
    """Open a database that loads and downloads nothing, and spills into a folder."""
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
        "memory_limit": f"{memory >> 20}MiB",
        "threads": threads,
        "temp_directory": str(folder / "spill"),
        **more,
    }
    connection = duckdb.connect(file, config=config)
    for setting in _PROGRESS:
        connection.execute(f"SET {setting}")
    return connection


def execute(
    connection: Any,  # noqa: ANN401
    sql: str,
    report: Callable[[float], None],
) -> None:
    """Run a long statement, say how far it is, and let it be interrupted."""

    def look() -> None:
        report(max(connection.query_progress(), 0.0) / 100)

    interruptible(lambda: connection.execute(sql), connection.interrupt, look)


def insert(connection: Any, name: str, table: pa.Table) -> None:  # noqa: ANN401
    """Add rows to a table."""
    connection.register("arrow", table)
    connection.execute(f"INSERT INTO {name} SELECT * FROM arrow")
    connection.unregister("arrow")


def read_batches(
    connection: Any,  # noqa: ANN401
    sql: str,
    *,
    with_empty: bool = False,
) -> Iterator[pa.Table]:
    """Yield what a query finds, some rows at a time.

    ``with_empty``: first a table without rows, for there may be no other.
    """
    reader = connection.sql(sql).to_arrow_reader(_BATCH)
    if with_empty:
        yield reader.schema.empty_table()
    for batch in reader:
        yield pa.table(batch)


def literal(text: str) -> str:
    """Return a text in quotes."""
    return "'" + text.replace("'", "''") + "'"
