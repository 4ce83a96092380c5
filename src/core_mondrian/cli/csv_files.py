"""How CSV files of the command line are written: as asked with --csv, else as found."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.cli.summary import echo
from core_mondrian.errors import SpecError

if TYPE_CHECKING:
    import pyarrow as pa

Csv = Annotated[
    list[str] | None,
    typer.Option(
        "--csv",
        metavar="KEY=VALUE",
        help="How a CSV file is written: delimiter, quote or encoding, such as "
        "delimiter=';'. Repeat for more. [default: as its first rows show]",
        rich_help_panel="How files are read",
    ),
]


def read_source(
    path: Path,
    csv: list[str] | None,
    **how: Any,  # noqa: ANN401  # of read_table
) -> "pa.Table":
    """Read a table as `read_table` does, and say what is unusual about a CSV file."""
    from core_mondrian.tables.files.kinds import kind_of
    from core_mondrian.tables.files.read import read_table

    asked = requested_dialect(csv)
    if kind_of(path) != "csv" or not path.is_file():
        if asked and path.exists():
            raise SpecError(f"{path} is no CSV file", hint="leave out --csv")
        return read_table(path, **how)
    from core_mondrian.tables.files.dialect import find_dialect

    dialect = find_dialect(path, asked)
    table = read_table(path, **how, dialect=dialect)
    if unusual := dialect.describe():
        echo(f"note: {path}: {unusual}")
    return table


def requested_dialect(csv: list[str] | None) -> Mapping[str, str]:
    """Return what --csv says."""
    if not csv:
        return {}
    from core_mondrian.tables.files.dialect import read_dialect

    return read_dialect(csv)


def state_dialects(source: Path, asked: Mapping[str, str]) -> None:
    """Say what is unusual about CSV files that are read in batches: a file, or many."""
    from core_mondrian.sources.files.source import open_source

    parts = open_source(source, asked).parts
    for said in dict.fromkeys(part.dialect.describe() for part in parts):
        if said:
            echo(f"note: {source}: {said}")
