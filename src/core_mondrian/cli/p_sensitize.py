"""core-mondrian p-sensitize: a release in, the same with some values changed out."""

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.cli.anonymize import manifest_of, read_key
from core_mondrian.cli.options import (
    AsJson,
    KeyFile,
    NullValues,
    QuasiIdentifiers,
    SpecFile,
    build_spec,
)
from core_mondrian.cli.summary import echo, json_line, say_record
from core_mondrian.errors import CHECK_PATH, SpecError

if TYPE_CHECKING:
    from core_mondrian.analysis.p_sensitize import Sensitized


def p_sensitize_file(
    release: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    *,
    spec_file: SpecFile = None,
    quasi_identifiers: QuasiIdentifiers = None,
    sensitive: Annotated[
        str,
        typer.Option("--sensitive", metavar="COLUMN", help="Whose values may change."),
    ],
    p: Annotated[
        int, typer.Option("--p", "-p", metavar="P", help="Values a class needs: 2.")
    ],
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", metavar="K", help="Rows every class has, such as 5."),
    ] = None,
    probabilities: Annotated[
        Path | None,
        typer.Option(
            "--probabilities",
            metavar="FILE",
            help="TOML lines 'value = 0.3'. Default: as often as values occur.",
        ),
    ] = None,
    key_file: KeyFile = None,
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            metavar="value|ignored",
            help="A missing value is a value, or does not count.",
        ),
    ] = "value",
    null_values: NullValues = None,
    output: Annotated[
        Path, typer.Option("--output", help="The changed table: CSV, Parquet, Arrow.")
    ],
    manifest: Annotated[
        Path | None,
        typer.Option("--manifest", help="What was changed. Default: beside it."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the files if they exist.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Change values of a sensitive column until every class of RELEASE has P of them.

    RELEASE has classes of at least K rows already. The values that are changed are
    false on purpose, and the manifest says so. No value of the table is ever printed.
    """
    flags = {
        "quasi_identifiers": quasi_identifiers,
        "k": k,
        "null_values": null_values,
    }
    spec = build_spec(spec_file, flags, None)  # released labels are just values
    record = manifest if manifest is not None else manifest_of(output)
    _check_files(release, output, record, overwrite=overwrite)
    table = _read(release, sensitive, spec.null_values)
    from core_mondrian.analysis.p_sensitize import p_sensitize

    chances = None
    if probabilities is not None:
        chances = _read_probabilities(probabilities, table, sensitive)
    done = p_sensitize(
        *(table, spec.quasi_identifiers, sensitive, p),
        k if k is not None else spec.min_rows,
        probabilities=chances,
        missing=missing,  # type: ignore[arg-type]  # checked there
        key=read_key(key_file),
    )
    _write(done, table, output, record, overwrite=overwrite)
    with suppress(KeyboardInterrupt):  # the work is done and stays done
        if as_json:
            typer.echo(json_line(done.to_json()))
        _summarize(done)
        echo(f"wrote {output} and {record}")
        say_record(output)


def _check_files(source: Path, output: Path, record: Path, *, overwrite: bool) -> None:
    """Refuse what could not be written, and files that would replace each other."""
    from core_mondrian.release.signatures import signature_of
    from core_mondrian.tables.files.atomic_write import (
        check_place,
        check_target,
        record_of,
    )

    check_target(output, overwrite=overwrite, source=source)
    if record.resolve() in (output.resolve(), source.resolve()):
        raise SpecError(
            f"{record}: the manifest needs a file of its own", hint="take another name"
        )
    for file in (record, signature_of(record), record_of(output)):
        check_place(file, overwrite=overwrite)


def _read(source: Path, sensitive: str, null_values: tuple[str, ...]) -> Any:  # noqa: ANN401
    """Return the table; cells of a CSV file stay the texts they are."""
    from core_mondrian.tables.files.read import read_table

    return read_table(source, typed=(sensitive,), null_values=null_values, infer=False)


def _read_probabilities(
    file: Path,
    table: Any,  # noqa: ANN401  # an Arrow table
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


def _read_toml(file: Path) -> dict[str, Any]:
    """Read lines 'value = number' without telling a value when they are wrong."""
    from core_mondrian.tables.toml_positions import read_toml

    try:
        found = read_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}", hint=CHECK_PATH) from None
    except ValueError:  # no UTF-8, or no TOML
        found = {"": {}}
    if any(isinstance(chance, dict) for chance in found.values()):
        raise SpecError(
            f"{file}: not lines 'value = number' of TOML",
            hint="put values in quotes, and name each once",
        )
    return found


def _write(
    done: "Sensitized[Any]",
    table: Any,  # noqa: ANN401  # an Arrow table
    output: Path,
    record: Path,
    *,
    overwrite: bool,
) -> None:
    from core_mondrian.release.signatures import signature_of
    from core_mondrian.tables.files.atomic_write import Content, record_of, write_files
    from core_mondrian.tables.files.kinds import source_schema
    from core_mondrian.tables.files.write import table_writer

    text = json.dumps(done.to_json(), ensure_ascii=False, indent=2) + "\n"
    writer = table_writer(done.data, output, source=source_schema(table))
    files: dict[Path, Content] = {
        output: writer,
        record: text.encode(),
        signature_of(record): None,
        record_of(output): json_line(done.record()).encode() + b"\n",
    }
    write_files(files, overwrite=overwrite, private=[record_of(output)])


def _summarize(done: "Sensitized[Any]") -> None:
    echo(
        f"classes     {done.n_classes}, the smallest has {done.k} rows, "
        f"{done.n_classes_changed} were changed"
    )
    echo(
        f"verified    {done.asked.k}-anonymity (reached {done.k}), "
        f"{done.asked.p} values a class (reached {done.p})"
    )
    echo(f"drift       {done.drift:.6f} (total variation distance)")
    echo(done.summary)
