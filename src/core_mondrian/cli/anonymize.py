"""core-mondrian anonymize: a table in, a verified release and its manifest out."""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.cli.database import Database, Manifest, View, done_in_database
from core_mondrian.cli.options import (
    AsJson,
    DriverTuples,
    Engine,
    GuardFormulas,
    K,
    KeyFile,
    Master,
    ModelTexts,
    NullValues,
    Numbers,
    QuasiIdentifiers,
    Remote,
    Sensitive,
    SpecFile,
    Suppress,
    Suppressed,
    Unit,
    runs_on_spark,
    spec_of,
)
from core_mondrian.cli.process import prepare_for
from core_mondrian.cli.report import Painting, Report, ReportFor, Timings, report_of
from core_mondrian.cli.sign import SignKey, open_signer, signed_text
from core_mondrian.cli.stream import (
    AddCounts,
    BadRowsOption,
    Memory,
    Resume,
    SaveCounts,
    Stream,
    Streamed,
    check_guarded,
    check_streamed,
)
from core_mondrian.cli.summary import (
    echo,
    json_line,
    measured,
    print_release,
    say_written,
)
from core_mondrian.errors import CHECK_PATH, SpecError
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
    from core_mondrian.measures.groups import GroupMeasures
    from core_mondrian.measures.utility import Measures
    from core_mondrian.release.result import Release
    from core_mondrian.spec.declaration import Spec


def anonymize_file(
    source_name: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="CSV, Parquet or Arrow IPC; also .csv.gz, a folder or a glob; of a "
            "--database, a table or a query.",
        ),
    ],
    target_name: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="Likewise; its manifest goes beside."),
    ],
    *,
    database: Database = None,
    view: View = False,
    manifest: Manifest = None,
    spec_file: SpecFile = None,
    quasi_identifiers: QuasiIdentifiers = None,
    k: K = None,
    models: ModelTexts = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    suppress_rows: Suppress = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="best|paper|original|FILE.py:CLASS",
            help="Cuts that lose least (default), Core Mondrian's, the classic, "
            "or your own.",
        ),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(
            "--effort",
            metavar="LEVEL",
            help="How long policy best searches: fast, light, strong, max, or as the "
            "size of the table allows. [default: auto]",
        ),
    ] = None,
    disjoint: Annotated[
        bool,
        typer.Option(
            "--disjoint", help="Policy best: classes that do not overlap; loses more."
        ),
    ] = False,
    equity: Annotated[
        str | None,
        typer.Option(
            "--equity",
            metavar="COLUMN",
            help="Policy best: groups that should lose about as much as each other.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Show what each group lost, by its name. Repeat for more.",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="value|pattern",
            help="One more value (default of best), or kept apart by pattern.",
        ),
    ] = None,
    small_patterns: Annotated[
        str | None,
        typer.Option(
            "--small-patterns",
            metavar="repair|suppress",
            help="Patterns too small for a class: blank cells, or spend --suppress.",
        ),
    ] = None,
    numbers: Numbers = None,
    nice: Annotated[
        bool,
        typer.Option(
            "--nice", help="Put the bounds of ranges on a grid that all classes share."
        ),
    ] = False,
    categories: Annotated[
        str | None,
        typer.Option(
            "--categories",
            metavar="label|set",
            help="The lowest label over the values, or all of them.",
        ),
    ] = None,
    suppressed: Suppressed = None,
    suppressed_file: Annotated[
        Path | None,
        typer.Option(
            "--suppressed-file",
            metavar="FILE",
            help="Write the rows left out to FILE, as they are: NOT anonymized. "
            "Keep it as safe as SOURCE.",
        ),
    ] = None,
    report: Report = None,
    report_for: ReportFor = "owner",
    painting: Painting = None,
    timings: Timings = False,
    class_id: Annotated[
        str | None,
        typer.Option(
            "--class-id", metavar="COLUMN", help="Number the classes in a new column."
        ),
    ] = None,
    shuffle: Annotated[
        int | None,
        typer.Option(
            "--shuffle",
            metavar="SEED",
            help="Order the rows by what they show, not as they came.",
        ),
    ] = None,
    guard_formulas: GuardFormulas = False,
    hierarchies: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            metavar="COLUMN=FILE|KIND",
            help="A file, or such as zip=prefix:2, age=ranges:5,10. Repeat for more.",
        ),
    ] = None,
    uncovered: Annotated[
        str | None,
        typer.Option(
            "--uncovered",
            metavar="CHOICE",
            help="Values a hierarchy lacks: error, 'own branch' or suppress.",
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="COLUMN=NUMBER",
            help="How much a loss there matters: 1. Repeat for more.",
        ),
    ] = None,
    identifiers: Annotated[
        list[str] | None,
        typer.Option(
            "--identifier",
            metavar="COLUMN",
            help="A column to remove. Repeat for more.",
        ),
    ] = None,
    pseudonyms: Annotated[
        list[str] | None,
        typer.Option(
            "--pseudonym",
            metavar="COLUMN",
            help="A column to replace by keyed pseudonyms. Repeat for more.",
        ),
    ] = None,
    key_file: KeyFile = None,
    sign_key: SignKey = None,
    weight: Annotated[
        str | None,
        typer.Option(
            "--survey-weight",
            metavar="COLUMN",
            help="How many people a row stands for; only measures use it.",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            metavar="COLUMN",
            help="Whose warnings are known. Repeat for more.",
        ),
    ] = None,
    inline_below: Annotated[
        int | None,
        typer.Option(
            "--inline-below", metavar="ROWS", help="Partitions solved in place: 1000."
        ),
    ] = None,
    null_values: NullValues = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Default: all cores.")
    ] = None,
    memory: Memory = None,
    stream: Stream = False,
    resume: Resume = False,
    bad_rows: BadRowsOption = None,
    save_counts: SaveCounts = None,
    add_counts: AddCounts = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace TARGET if it exists.")
    ] = False,
    as_json: AsJson = False,
    measures: Annotated[
        bool, typer.Option("--measures/--no-measures", help="Measure what was lost.")
    ] = True,
    bound: Annotated[
        bool,
        typer.Option("--bound", help="Find what any release loses at least."),
    ] = False,
    engine: Engine = "local",
    master: Master = None,
    remote: Remote = None,
    driver_tuples: DriverTuples = None,
) -> None:
    """Write an anonymized copy of SOURCE to TARGET.

    TARGET is written only after the release has passed verification. Options override
    the spec. No value of the table is ever printed, but for the groups of --by and
    --equity: those that more rows have than a class needs.
    """
    if done_in_database(check_streamed(locals())):
        return
    source, target = Path(source_name), Path(target_name)
    started = time.perf_counter()
    if suppressed_file is not None and suppressed is None:
        suppressed = "separate"
    options = locals()
    spec = spec_of(options)
    if _ran_on_spark(spec, options):
        return
    prepare_for(source)
    page = report_of(options, spec)
    key = read_key(key_file, spec)
    signer = open_signer(sign_key, target, overwrite=overwrite)
    streamed = Streamed(memory, stream, resume, bad_rows, save_counts, add_counts)
    files = [target, *([] if suppressed_file is None else [suppressed_file])]
    schema = None
    if streamed.is_asked(source, target, spec):
        release: Release[Any] = streamed.anonymize(
            *(source, target, spec),
            as_json=as_json,
            key=key,
            by=by or [],
            threads=threads,
            overwrite=overwrite,
            suppressed_file=suppressed_file,
            report=page,
            signer=signer,
        )
    else:
        check_formats(spec, target, suppressed_file)
        _check_targets(source, files, report, overwrite=overwrite)
        release, schema = _anonymize(source, spec, key, options)
    found, groups = measured(release, options)
    output = release_json(release, found, groups) if as_json else None
    if schema is not None:  # else it is written already
        _publish(
            release,
            (target, suppressed_file, page, signer, schema),
            overwrite=overwrite,
        )
    with suppress(KeyboardInterrupt):  # the work is done and stays done
        print_release(release, found, groups, output)
        say_written(target, time.perf_counter() - started)
        print_details(report, suppressed_file, signed_text(signer, target))


def _ran_on_spark(spec: "Spec", options: Mapping[str, Any]) -> bool:
    if not runs_on_spark(options):
        return False
    from core_mondrian.cli.spark import anonymize_on_spark

    check_guarded(spec)
    anonymize_on_spark(spec, options)
    return True


def print_details(
    report: Path | None, suppressed_file: Path | None, signed: str | None = None
) -> None:
    """Say what else was written."""
    if signed is not None:
        echo(signed)
    if report is not None:
        echo(f"wrote {report}")
    if suppressed_file is not None:
        echo(f"wrote {suppressed_file}: original rows, NOT anonymized")


def release_json(
    release: "Release[Any]",
    found: "Measures | None",
    groups: "Mapping[str, tuple[GroupMeasures, ...]]",
) -> str:
    """Return manifest, figures and what was lost as one line: for the owner."""
    from core_mondrian.release.manifests import finite

    told = {**release.manifest(), **release.figures()}
    if release.disk_bytes:
        told["disk_bytes"] = release.disk_bytes
    if found is not None:
        told["measures"] = found.to_json()
    if groups:
        told["groups"] = {
            name: [one.to_json() for one in lost] for name, lost in groups.items()
        }
    return json_line(finite(told))


def check_formats(spec: "Spec", target: Path, suppressed_file: Path | None) -> None:
    """Refuse what the files cannot hold, before any work."""
    from core_mondrian.tables.files.kinds import kind_of

    is_separate = spec.suppressed == "separate"
    if is_separate != (suppressed_file is not None):
        raise SpecError(
            "suppressed = 'separate' and --suppressed-file go together",
            hint="the file gets the rows left out, as they are: NOT anonymized",
        )
    columns = spec.quasi_identifiers
    has_structs = any(spec.format_of(name) == "struct" for name in columns)
    if has_structs and kind_of(target) == "csv":
        raise SpecError(
            f"{target}: a CSV file has no structs",
            hint="take numbers = 'bounds', or write Parquet",
        )


def manifest_of(target: Path) -> Path:
    """Return where the manifest of a release stands."""
    from core_mondrian.tables.files import atomic_write as place

    return place.manifest_of(target)


def read_key(file: Path | None, spec: "Spec | None" = None) -> bytes | None:
    """Return the owner's key, checked before any work; None: one will be drawn."""
    from core_mondrian.tables.files.staging import read_secret
    from core_mondrian.tables.keys import key_for

    key: bytes | None
    if file is not None:
        try:
            key = _key_in(read_secret(file), file)
        except OSError as error:
            raise SpecError(
                f"key file {file}: {error.strerror}", hint=CHECK_PATH
            ) from None
    else:
        found = os.environ.get("CORE_MONDRIAN_KEY")
        key = None if found is None else os.fsencode(found)
    key_for(key, () if spec is None else spec.pseudonyms)
    return key


def _key_in(raw: bytes, file: Path) -> bytes:
    """Return the key that a file holds: as it is, or in the owner's record of a run."""
    from core_mondrian.release.owner_record import parse_record

    if not raw.lstrip().startswith(b"{"):
        return raw.rstrip(b"\r\n")
    try:
        key = parse_record(json.loads(raw)).key
    except ValueError:  # a DataError is one
        return raw.rstrip(b"\r\n")
    if key is None:
        raise SpecError(
            f"key file {file}: the run of this record had a key of yours",
            hint="give the file that it was made with",
        )
    return key


def _check_targets(
    source: Path, files: list[Path], report: Path | None, *, overwrite: bool
) -> None:
    from core_mondrian.tables.files.atomic_write import (
        check_place,
        check_target,
        record_of,
        require_distinct,
    )

    for place, file in enumerate(files):
        check_target(file, overwrite=overwrite, source=source, private=place > 0)
    check_place(manifest_of(files[0]), overwrite=overwrite)
    check_place(record_of(files[0]), overwrite=overwrite, private=True)
    require_distinct("TARGET and --suppressed-file", files)
    if report is None:
        return
    check_place(report, overwrite=overwrite)
    taken = (source, *files, manifest_of(files[0]), record_of(files[0]))
    require_distinct("TARGET and --report", (report, *taken))


def _anonymize(
    source: Path, spec: "Spec", key: bytes | None, options: Mapping[str, Any]
) -> tuple["Release[Any]", Any]:
    from core_mondrian.tables.files.kinds import source_schema
    from core_mondrian.tables.files.read import read_table

    table = read_table(
        source, typed=spec.quasi_identifiers, null_values=spec.null_values
    )
    from core_mondrian.api import anonymize

    by, threads = options["by"] or [], options["threads"]
    with show_progress(as_json=options["as_json"]) as progress:
        release = anonymize(
            table, spec, key=key, by=by, threads=threads, progress=progress
        )
    return release, source_schema(table)


def _publish(
    release: "Release[Any]", places: tuple[Any, ...], *, overwrite: bool
) -> None:
    """Write a release; ``places`` are the fields of a `Publication`."""
    from core_mondrian.release.publication import Publication

    Publication(*places).write(release, overwrite=overwrite)
