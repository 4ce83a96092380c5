"""core-mondrian inspect: look at a table before choosing quasi-identifiers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core_mondrian.cli.options import AsJson, NullValues
from core_mondrian.cli.summary import json_line, printable

if TYPE_CHECKING:
    from rich.table import Table

    from core_mondrian.analysis.inspection import Inspection


def inspect_file(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    null_values: NullValues = None,
    as_json: AsJson = False,
) -> None:
    """Show the columns of TABLE and how quickly a few of them make rows unique.

    Columns that others may know of a person and that make rows unique are
    quasi-identifiers. No value is shown.
    """
    from core_mondrian.analysis.inspection import inspect_table
    from core_mondrian.tables.files.read import read_table

    found = inspect_table(read_table(table, null_values=tuple(null_values or ("",))))
    if as_json:
        typer.echo(json_line(found.to_json()))
        return
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    console.print(f"{found.n_rows} rows, {len(found.columns)} columns")
    console.print(_column_table(found))
    if found.growing:
        console.print(_growing_table(found))


def _column_table(found: "Inspection") -> "Table":
    from rich.table import Table

    table = Table("column", "type", box=None)
    for title in ("missing", "distinct", "unique rows"):
        table.add_column(title, justify="right")
    table.add_column("")
    for column in found.columns:
        counts = (column.n_missing, column.n_distinct, column.n_unique_rows)
        note = "nearly unique: an identifier?" if column.is_nearly_unique else ""
        texts = ("not counted" if count is None else str(count) for count in counts)
        table.add_row(printable(column.name), printable(column.type), *texts, note)
    return table


def _growing_table(found: "Inspection") -> "Table":
    from rich.table import Table

    table = Table("knowing also", title="what makes rows unique", box=None)
    for title in ("unique rows", "share", "classes"):
        table.add_column(title, justify="right")
    for step in found.growing:
        share = f"{step.n_unique_rows / found.n_rows:.1%}"
        counts = (str(step.n_unique_rows), share, str(step.n_classes))
        table.add_row(printable(step.columns[-1]), *counts)
    return table
