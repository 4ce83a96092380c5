"""core-mondrian init: a first spec, written from the table itself."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.options import OUTPUT, NullValues, TableFile
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo
from core_mondrian.errors import SpecError
from core_mondrian.runtime.progress import Steps, show_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class InitRequest:
    """What `init` is asked."""

    PANEL: ClassVar = OUTPUT
    table: TableFile
    spec: Annotated[
        Path | None, typer.Argument(help="The file to write; else it is printed.")
    ] = None
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Write the JSON Schema too, and name it in the spec for editors.",
        ),
    ] = None
    null_values: NullValues = None
    csv: Csv = None


@command(InitRequest)
def init_file(request: InitRequest) -> None:
    """Write a first spec for TABLE, with a comment on every guess.

    Roles are guessed from names, types, counts and the pattern of values. No value of
    the table is shown. Nothing is overwritten.
    """
    spec, schema = request.spec, request.schema
    for file in (spec, schema):
        _check_new(file)
    _write(_draft(request), spec, schema)


def _draft(request: InitRequest) -> str:
    """Return a first spec for the table."""
    from core_mondrian.analysis.suggest import draft_spec, guess_roles

    nulls = tuple(request.null_values or ("",))
    with show_progress() as progress:
        end = Steps(progress, "reading", (1.0,)).end
        read = end(read_source(request.table, request.csv, null_values=nulls))
        guesses = guess_roles(read, progress=progress)
    schema = request.schema
    named = None if schema is None else _relative(schema, request.spec)
    return draft_spec(guesses, read.num_rows, nulls, named)


def show_schema() -> None:
    """Print the JSON Schema of a spec file, for editors that understand TOML."""
    typer.echo(_schema_text(), nl=False)


def _check_new(file: Path | None) -> None:
    from core_mondrian.tables.files.atomic_write import check_place

    if file is None:
        return
    if file.exists():
        raise SpecError(f"{file}: the file exists", hint="take another name")
    check_place(file, overwrite=False)


def _relative(schema: Path, spec: Path | None) -> str:
    """Return where the schema lies as seen from the spec."""
    folder = (spec.parent if spec is not None else Path()).resolve()
    try:
        return f"./{schema.resolve().relative_to(folder).as_posix()}"
    except ValueError:
        return schema.resolve().as_uri()


def _write(text: str, spec: Path | None, schema: Path | None) -> None:
    from core_mondrian.tables.files.atomic_write import write_files

    files = {} if spec is None else {spec: text.encode()}
    if schema is not None:
        files[schema] = _schema_text().encode()
    write_files(files)
    if spec is None:
        typer.echo(text, nl=False)
    if files:
        echo(f"wrote {' and '.join(map(str, files))}")


def _schema_text() -> str:
    from core_mondrian.spec.json_schema import spec_schema

    return json.dumps(spec_schema(), ensure_ascii=False, indent=2) + "\n"
