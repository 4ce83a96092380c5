"""core-mondrian inspect: look at a table before choosing quasi-identifiers."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.options import AsJson, NullValues, TableFile
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo, printable
from core_mondrian.errors import look_like_cells
from core_mondrian.runtime.progress import Steps, show_progress

if TYPE_CHECKING:
    from rich.table import Table

    from core_mondrian.analysis.inspection import Inspection


@dataclass(frozen=True, slots=True)
class InspectRequest:
    """What `inspect` is asked."""

    table: TableFile
    null_values: NullValues = None
    csv: Csv = None
    as_json: AsJson = False


@command(InspectRequest)
def inspect_file(request: InspectRequest) -> None:
    """Show the columns of TABLE and how quickly a few of them make rows unique.

    Columns that others may know of a person and that make rows unique are
    quasi-identifiers. No value is shown.
    """
    from core_mondrian.analysis.inspection import inspect_table

    nulls = tuple(request.null_values or ("",))
    with show_progress(as_json=request.as_json) as progress:
        end = Steps(progress, "reading", (1.0,)).end
        table = end(read_source(request.table, request.csv, null_values=nulls))
        inspection = inspect_table(table, progress)
    Reply(inspection.to_json, partial(_show, inspection)).print(as_json=request.as_json)


def _show(inspection: "Inspection") -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    n = len(inspection.columns)
    console.print(f"{inspection.n_rows:,} rows, {n} column{'' if n == 1 else 's'}")
    if look_like_cells([column.name for column in inspection.columns]):
        echo("note: column names look like data: is the first line a header?")
    console.print(_column_table(inspection))
    if inspection.growing:
        console.print(_growing_table(inspection))


def _column_table(inspection: "Inspection") -> "Table":
    from rich.table import Table

    table = Table("column", "type", box=None)
    for title in ("missing", "distinct", "unique rows"):
        table.add_column(title, justify="right")
    table.add_column("")
    for column in inspection.columns:
        counts = (column.n_missing, column.n_distinct, column.n_unique_rows)
        note = "nearly unique: an identifier?" if column.is_nearly_unique else ""
        texts = ("not counted" if count is None else f"{count:,}" for count in counts)
        table.add_row(printable(column.name), printable(column.type), *texts, note)
    return table


def _growing_table(inspection: "Inspection") -> "Table":
    from rich.table import Table

    table = Table("knowing also", title="what makes rows unique", box=None)
    for title in ("unique rows", "share", "classes"):
        table.add_column(title, justify="right")
    for step in inspection.growing:
        share = f"{step.n_unique_rows / inspection.n_rows:.1%}"
        counts = (f"{step.n_unique_rows:,}", share, f"{step.n_classes:,}")
        table.add_row(printable(step.columns[-1]), *counts)
    return table
