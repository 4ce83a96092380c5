"""core-mondrian verify: recount a table anyone sends."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from core_mondrian.cli.anonymize import manifest_of, read_key
from core_mondrian.cli.options import (
    AsJson,
    GuardFormulas,
    K,
    KeyFile,
    ModelTexts,
    NullValues,
    Numbers,
    QuasiIdentifiers,
    RecordFile,
    Sensitive,
    SpecFile,
    Suppress,
    Suppressed,
    Unit,
    build_spec,
    model_tables,
)
from core_mondrian.cli.process import prepare_for
from core_mondrian.cli.summary import (
    echo,
    escape_controls,
    json_line,
    print_verification,
)
from core_mondrian.errors import CHECK_PATH, DataError, PrivacyViolation, SpecError

if TYPE_CHECKING:
    from core_mondrian.analysis.evidence import Evidence
    from core_mondrian.spec.declaration import Spec

OF_EVIDENCE: Final = (
    *("manifest_file", "public_key", "source", "redo", "record_file", "key_file"),
)
"""Options that are about a manifest and who stands behind it."""


def verify_file(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    *,
    spec_file: SpecFile = None,
    quasi_identifiers: QuasiIdentifiers = None,
    k: K = None,
    models: ModelTexts = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    suppress: Suppress = None,
    suppressed: Suppressed = None,
    numbers: Numbers = None,
    null_values: NullValues = None,
    guard_formulas: GuardFormulas = False,
    manifest_file: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="Check that FILE is the manifest of TABLE, and recount by it.",
        ),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option(
            "--public-key",
            metavar="FILE",
            help="Who has to have signed the manifest, such as KEYFILE.pub.",
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="SOURCE",
            help="Check that SOURCE is the input that the manifest tells of.",
        ),
    ] = None,
    redo: Annotated[
        bool,
        typer.Option(
            "--redo", help="Make the release of SOURCE again, and compare it."
        ),
    ] = False,
    record_file: RecordFile = None,
    key_file: KeyFile = None,
    series: Annotated[
        bool,
        typer.Option(
            "--series",
            help="TABLE is a folder: recount the releases of a series together.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check that every class of TABLE passes the models; exit code 5 if one does not.

    TABLE is recounted as it stands: a missing value is a value. Cells are read as
    anonymize reads them. What to check is said by options, --spec, or else the manifest
    beside TABLE. With a manifest, exit code 5 also if manifest, signature or SOURCE do
    not belong to it.
    """
    from core_mondrian.verification.read_back import read_release
    from core_mondrian.verification.verify import verify

    if series:
        from core_mondrian.cli.series import verify_series

        verify_series(table, spec_file=spec_file, as_json=as_json)
        return
    prepare_for(table)
    _check_there(table)
    said = (spec_file, quasi_identifiers, k, models)
    manifest_file = manifest_file or _beside(table, said)
    if checked_evidence(locals()):
        return
    spec = released_spec(locals())
    data = read_release(table, spec)
    counted_by = spec.unit
    if unit is None:  # else it was asked for here and now
        spec = _countable(spec, data.column_names)
    try:
        found = verify(data, spec)
    except PrivacyViolation as error:
        if as_json:
            typer.echo(json_line({"passed": False, "message": error.message}))
        raise
    if as_json:
        typer.echo(json_line({"passed": True, **found.to_json()}))
    echo(f"rows        {found.n_rows}")
    print_verification(found)
    if counted_by != spec.unit:
        echo(
            f"note        rows were counted, not persons: the table has no column "
            f"{counted_by!r}, as a release should not"
        )


def _countable(spec: "Spec", names: Sequence[str]) -> "Spec":
    """Return the spec without a unit that was removed: rows are counted instead."""
    from dataclasses import replace

    return spec if spec.unit in names else replace(spec, unit=None)


def _check_there(table: Path) -> None:
    """Refuse a table that is not there before anything else is missed.

    Raises:
        DataError: there is no such file or folder.
    """
    if not table.exists():
        folder = table.parent
        names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
        close = difflib.get_close_matches(table.name, names, n=1)
        hint = f"did you mean {close[0]!r}?" if close else CHECK_PATH
        raise DataError(f"{table}: no such file", hint=hint)


def _beside(table: Path, said: Sequence[object]) -> Path | None:
    """Return the manifest beside a table, if there is one and nothing else is said."""
    file = manifest_of(table)
    return file if not any(said) and file.is_file() else None


def checked_evidence(options: Mapping[str, Any]) -> bool:
    """Check a manifest if one is named; else refuse the options that need one."""
    file: Path | None = options["manifest_file"]
    if options["redo"] and options["source"] is None:
        raise SpecError("--redo needs the input", hint="name it by --with SOURCE")
    if file is None:
        if any(options[name] is not None for name in ("public_key", "source")):
            raise SpecError(
                "--public-key and --with are about a manifest",
                hint="name it by --manifest FILE",
            )
        return False
    found = _find_evidence(file, options)
    if options["as_json"]:
        typer.echo(json_line(found.to_json()))
    for one in found.checks:
        mark = {True: "", False: "NOT SO: ", None: "not checked: "}[one.passed]
        echo(escape_controls(f"{one.what:<11} {mark}{one.text}"))
    found.check()
    return True


def _find_evidence(file: Path, options: Mapping[str, Any]) -> "Evidence":
    from core_mondrian.analysis.evidence import check_manifest, check_source
    from core_mondrian.release.manifests import read_manifest
    from core_mondrian.verification.read_back import read_release

    asked = ("spec_file", "quasi_identifiers", "k", "models")
    is_given = any(options[name] not in (None, []) for name in asked)
    spec = released_spec(options) if is_given else None
    by = read_manifest(file).spec if spec is None else spec
    data = read_release(options["table"], by)
    found = check_manifest(
        *(data, file),
        file=options["table"],
        spec=spec,
        public_key=options["public_key"],
    )
    if options["source"] is None:
        return found
    from core_mondrian.analysis.evidence import Redo
    from core_mondrian.release.owner_record import find_record

    table, given = _read_source(found, options)
    record = find_record(options["table"], options["record_file"])
    redo = None
    if options["redo"]:
        key = read_key(options["key_file"])

        def same_rows(again: Any) -> bool:  # noqa: ANN401  # an Arrow table
            return _same_rows(again, table, by, options["table"])

        redo = Redo(key, same_rows)
    return check_source(found, table, record, given, redo=redo)


def _same_rows(again: Any, source: Any, spec: "Spec", file: Path) -> bool:  # noqa: ANN401
    """Tell whether a release made again has the rows of a file, in any order.

    Both are compared as they are read back, since CSV holds nothing but text.
    """
    from tempfile import TemporaryDirectory

    from core_mondrian.tables.files.kinds import parts_of, source_schema, suffix_of
    from core_mondrian.tables.files.write import table_writer
    from core_mondrian.tables.frames import same_rows
    from core_mondrian.verification.read_back import read_release

    parts = parts_of(file) if file.is_dir() else [file]
    with TemporaryDirectory() as folder:
        draft = Path(folder) / f"again{suffix_of(parts[0])}"
        guard = spec.guard_formulas
        table_writer(again, draft, source=source_schema(source), guard=guard)(draft)
        redone = read_release(draft, spec)
    return same_rows(redone, read_release(file, spec))


def _read_source(
    found: "Evidence", options: Mapping[str, Any]
) -> tuple[Any, "Spec | None"]:
    """Return the input as `anonymize` reads it, and the spec if one is given."""
    from core_mondrian.spec.toml_file import load_spec
    from core_mondrian.tables.files.read import read_table

    file = options["spec_file"]
    spec = None if file is None else load_spec(file)
    by = found.manifest.spec if spec is None else spec
    table = read_table(
        options["source"], typed=by.quasi_identifiers, null_values=by.null_values
    )
    return table, spec


def released_spec(options: Mapping[str, Any]) -> "Spec":
    """Return what the options of a command say a release is recounted by."""
    same = (
        *("quasi_identifiers", "k", "unit", "suppress", "suppressed", "numbers"),
        "null_values",
    )
    flags = {name: options[name] for name in same}
    flags["guard_formulas"] = options.get("guard_formulas") or None
    flags["models"] = model_tables(options["models"], options["sensitive"])
    file = options["spec_file"]
    spec = build_spec(file, flags, None)  # released labels are just values
    if spec.population is not None:
        spec = build_spec(file, flags, [])  # whom of it do they cover?
    return spec
