"""core-mondrian studio: the same work on a local web page."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from core_mondrian.cli.options import RUNNING, SpecFile
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo
from core_mondrian.errors import SpecError, not_there

if TYPE_CHECKING:
    from core_mondrian.studio.reading import Named


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioRequest:
    """What `studio` is asked."""

    PANEL: ClassVar = RUNNING
    table: Annotated[
        Path | None, typer.Argument(help="CSV, Parquet or Arrow IPC to begin with.")
    ] = None
    spec_file: SpecFile = None
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="[default: a free one]")
    ] = 0
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page at once.")
    ] = True
    max_upload: Annotated[
        int, typer.Option("--max-upload", min=1, metavar="MB", help="Largest upload.")
    ] = 2048

    def check(self) -> None:
        """Refuse what cannot be opened, and a studio that is not installed."""
        if self.table is not None and not self.table.is_file():
            raise not_there(self.table)
        try:
            import nicegui  # noqa: F401
        except ModuleNotFoundError:
            raise SpecError(
                "the studio needs NiceGUI, which is not installed",
                hint="pip install 'core-mondrian[studio]'",
            ) from None
        from core_mondrian.release.report_file import require_report

        require_report("the studio", "studio")


@command(StudioRequest)
def open_studio(request: StudioRequest) -> None:
    """Open a page in the browser on which a release is made step by step.

    It is served on this machine only, to whoever has the address that is printed; it
    opens the page once, then another is printed.
    Nothing leaves the machine; what is uploaded is removed when the studio ends.
    """
    request.check()
    from core_mondrian.studio.server import serve

    spec, table = request.spec_file, request.table
    named = None if spec is None else _check_spec(spec, table)
    launch = webbrowser.open if request.browser else None
    first = None if table is None else table.resolve()
    try:
        serve(
            first, request.port, request.max_upload << 20, _print_address, named, launch
        )
    except KeyboardInterrupt:
        echo("the studio has ended; what was uploaded is removed")


def _print_address(address: str) -> None:
    echo(f"studio      {address}")
    echo("            only for you: it opens once; Ctrl-C ends the studio")


def _check_spec(path: Path, table: Path | None) -> "Named":
    """Return the spec to begin with, if it is one for this table."""
    from core_mondrian.spec.toml_file import read_spec_file
    from core_mondrian.studio.reading import name_files, read_draft
    from core_mondrian.tables.files.read import read_table

    if table is None:
        raise SpecError(
            "--spec goes with a table",
            hint="name it: core-mondrian studio TABLE --spec FILE",
        )
    file = read_spec_file(path)
    with file.located():
        read_draft(file.values, read_table(table).column_names, path.parent)
    return name_files(file)
