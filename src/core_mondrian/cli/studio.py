"""core-mondrian studio: the same work on a local web page."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core_mondrian.errors import SpecError

if TYPE_CHECKING:
    from core_mondrian.studio.reading import Named


def open_studio(
    table: Annotated[
        Path | None, typer.Argument(help="CSV, Parquet or Arrow IPC to begin with.")
    ] = None,
    *,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", metavar="FILE", help="Begin with these choices (TOML)."),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Default: a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page at once.")
    ] = True,
    max_upload: Annotated[
        int, typer.Option("--max-upload", min=1, metavar="MB", help="Largest upload.")
    ] = 2048,
) -> None:
    """Open a page in the browser on which a release is made step by step.

    It is served on this machine only, to whoever has the address that is printed; it
    opens the page once, then another is printed.
    Nothing leaves the machine; what is uploaded is removed when the studio ends.
    """
    if table is not None and not table.is_file():
        raise SpecError(f"{table}: no such file", hint="check the path")
    try:
        import nicegui  # noqa: F401
    except ModuleNotFoundError:
        raise SpecError(
            "the studio needs NiceGUI, which is not installed",
            hint="pip install 'core-mondrian[studio]'",
        ) from None
    from core_mondrian.release.report_file import require_report

    require_report("the studio", "studio")
    from core_mondrian.studio.server import serve

    named = None if spec is None else _check_spec(spec, table)

    def tell(address: str) -> None:
        typer.echo(f"studio      {address}", err=True)
        typer.echo(
            "            only for you: it opens once; Ctrl-C ends the studio", err=True
        )

    launch = webbrowser.open if browser else None
    try:
        first = None if table is None else table.resolve()
        serve(first, port, max_upload << 20, tell, named, launch)
    except KeyboardInterrupt:
        typer.echo("the studio has ended; what was uploaded is removed", err=True)


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
        read_draft(file.asked, read_table(table).column_names, path.parent)
    return name_files(file)
