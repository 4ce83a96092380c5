"""core-mondrian p-sensitize: a release in, the same with some values changed out."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.options import (
    OUTPUT,
    AsJson,
    KeyFile,
    NullValues,
    Overwrite,
    QuasiIdentifiers,
    SpecFile,
    TableFile,
    build_spec,
    read_key,
)
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import FOR_OWNER, echo, json_line, written_stays
from core_mondrian.errors import CHECK_PATH, SpecError
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.progress import Steps, show_progress
from core_mondrian.spec.metadata import PROTECTION
from core_mondrian.tables.files.staging import manifest_of, record_of

if TYPE_CHECKING:
    import pyarrow as pa

    from core_mondrian.analysis.p_sensitize import Sensitized
    from core_mondrian.spec.declaration import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class PSensitizeRequest:
    """What `p-sensitize` is asked."""

    PANEL: ClassVar = PROTECTION
    release: TableFile
    spec_file: SpecFile = None
    quasi_identifiers: QuasiIdentifiers = None
    sensitive: Annotated[
        str,
        typer.Option("--sensitive", metavar="COLUMN", help="Whose values may change."),
    ]
    p: Annotated[
        int, typer.Option("--p", "-p", metavar="P", help="Values a class needs: 2.")
    ]
    k: Annotated[
        int | None,
        typer.Option(
            "--k", "-k", metavar="K", help="Rows a class has already, such as 5."
        ),
    ] = None
    probabilities: Annotated[
        Path | None,
        typer.Option(
            "--probabilities",
            metavar="FILE",
            help="TOML lines 'value = 0.3'. [default: as often as values occur]",
        ),
    ] = None
    key_file: KeyFile = None
    ignore_missing: Annotated[
        bool,
        typer.Option(
            "--ignore-missing", help="A missing value does not count as a value."
        ),
    ] = False
    null_values: NullValues = None
    csv: Csv = None
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            metavar="FILE",
            help="The changed table: CSV, Parquet, Arrow.",
            rich_help_panel=OUTPUT,
        ),
    ]
    manifest_file: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="What was changed. [default: beside the table]",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Overwrite = False
    as_json: AsJson = False

    @property
    def manifest(self) -> Path:
        """Where what was changed is written."""
        return self.manifest_file or manifest_of(self.output)

    def spec(self) -> "Spec":
        """Return the spec without hierarchies: released labels are just values."""
        flags = {
            "quasi_identifiers": self.quasi_identifiers,
            "k": self.k,
            "null_values": self.null_values,
        }
        return build_spec(self.spec_file, flags, None)


@command(PSensitizeRequest)
def p_sensitize_file(request: PSensitizeRequest) -> None:
    """Change values of a sensitive column until every class of RELEASE has P of them.

    RELEASE has classes of at least K rows already. The values that are changed are
    false on purpose, and the manifest says so. No value of the table is ever printed.
    """
    with written_stays():
        _p_sensitize(request).print(as_json=request.as_json)


def _p_sensitize(request: PSensitizeRequest) -> Reply:
    """Change a table, write it, and return what was done."""
    spec = request.spec()
    _check_files(request)
    # Cells of a CSV file stay the texts they are.
    how: JsonObject = {"null_values": spec.null_values, "infer": False}
    with show_progress(as_json=request.as_json) as progress:
        end = Steps(progress, "changing values", (1.0, 2.0)).end
        typed = (request.sensitive,)
        table = end(read_source(request.release, request.csv, typed=typed, **how))
        done = end(_changed(table, spec, request))
    _write(done, table, request)
    return Reply(done.to_json, print_notes=partial(_print_notes, done, request))


def _changed(
    table: "pa.Table",
    spec: "Spec",
    request: PSensitizeRequest,
) -> "Sensitized[Any]":
    """Change the values of a table as asked."""
    from core_mondrian.analysis.p_sensitize import p_sensitize

    chances = None
    if request.probabilities is not None:
        chances = _read_probabilities(request.probabilities, table, request.sensitive)
    return p_sensitize(
        table,
        spec.quasi_identifiers,
        request.sensitive,
        request.p,
        request.k if request.k is not None else spec.min_rows,
        probabilities=chances,
        missing="ignored" if request.ignore_missing else "value",
        key=read_key(request.key_file),
    )


def _check_files(request: PSensitizeRequest) -> None:
    """Refuse what could not be written, and files that would replace each other."""
    from core_mondrian.release.signatures import signature_of
    from core_mondrian.tables.files.atomic_write import check_place, check_target

    source, output, record = request.release, request.output, request.manifest
    check_target(output, overwrite=request.overwrite, source=source)
    if record.resolve() in (output.resolve(), source.resolve()):
        raise SpecError(
            f"{record}: the manifest needs a file of its own", hint="take another name"
        )
    for file in (record, signature_of(record), record_of(output)):
        check_place(file, overwrite=request.overwrite)


def _read_probabilities(
    file: Path,
    table: "pa.Table",
    sensitive: str,
) -> dict[Any, float]:
    """Read values and their probabilities, the values as the column has them."""
    import pyarrow as pa

    from core_mondrian.tables.frames import check_columns, open_frame

    check_columns(open_frame(table), (sensitive,))
    chances = _read_toml(file)
    kind = table.schema.field(sensitive).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    try:
        values = pa.array(list(chances), pa.string()).cast(kind).to_pylist()
    except pa.ArrowException:  # which quotes the value
        raise SpecError(
            f"{file}: some of {len(chances)} values are not {kind}",
            hint=f"name values that column {sensitive!r} can hold",
        ) from None
    if len(set(values)) < len(values):
        raise SpecError(
            f"{file}: names a value twice", hint="keep one line of each value"
        )
    return dict(zip(values, chances.values(), strict=True))


def _read_toml(file: Path) -> JsonObject:
    """Read lines 'value = number' without telling a value when they are wrong."""
    from core_mondrian.runtime.toml_positions import read_toml

    try:
        values = read_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}", hint=CHECK_PATH) from None
    except ValueError:  # no UTF-8, or no TOML
        values = {"": {}}
    if any(isinstance(chance, dict) for chance in values.values()):
        raise SpecError(
            f"{file}: not lines 'value = number' of TOML",
            hint="put values in quotes, and name each once",
        )
    return values


def _write(
    done: "Sensitized[Any]",
    table: "pa.Table",
    request: PSensitizeRequest,
) -> None:
    from core_mondrian.release.signatures import signature_of
    from core_mondrian.tables.files.atomic_write import Content, write_files
    from core_mondrian.tables.files.kinds import source_schema
    from core_mondrian.tables.files.write import table_writer

    output, record = request.output, request.manifest
    text = json.dumps(done.to_json(), ensure_ascii=False, indent=2) + "\n"
    writer = table_writer(done.data, output, source=source_schema(table))
    files: dict[Path, Content] = {
        output: writer,
        record: text.encode(),
        signature_of(record): None,
        record_of(output): json_line(done.record()).encode() + b"\n",
    }
    write_files(files, overwrite=request.overwrite, private=[record_of(output)])


def _print_notes(done: "Sensitized[Any]", request: PSensitizeRequest) -> None:
    echo(
        f"classes     {done.n_classes:,}, the smallest has {done.k:,} rows, "
        f"{done.n_classes_changed:,} were changed"
    )
    echo(
        f"verified    {done.asked.k}-anonymity (reached {done.k:,}), "
        f"{done.asked.p} values a class (reached {done.p})"
    )
    echo(f"drift       {done.drift:.6f} (total variation distance)")
    echo(done.summary)
    echo(f"wrote {request.output} and {request.manifest}")
    echo(f"wrote {record_of(request.output)}: {FOR_OWNER}")
