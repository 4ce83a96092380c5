"""core-mondrian anonymize --database: a table in a database in, another one out."""

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.cli.options import spec_of
from core_mondrian.cli.report import report_of
from core_mondrian.cli.stream import check_guarded
from core_mondrian.cli.summary import (
    FOR_OWNER,
    measured,
    say,
    summarize,
    tell_groups,
)
from core_mondrian.errors import SpecError
from core_mondrian.progress import show_progress

if TYPE_CHECKING:
    from core_mondrian.release import Release
    from core_mondrian.report_file import ReportFile
    from core_mondrian.spec import Spec

Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="FILE|URL",
        help="A DuckDB or SQLite file, or postgresql://…: work inside it.",
    ),
]
View = Annotated[
    bool,
    typer.Option("--view", help="With --database: TARGET is a view of SOURCE."),
]
Manifest = Annotated[
    Path | None,
    typer.Option(
        "--manifest",
        metavar="FILE",
        help="With --database: else TARGET.manifest.json, here.",
    ),
]


def done_in_database(options: Mapping[str, Any]) -> bool:
    """Tell whether `anonymize` is asked to work in a database; if so, it is done."""
    if options["database"] is not None:
        anonymize_in_database(options)
        return True
    if options["view"] or options["manifest"] is not None:
        raise SpecError(
            "--view and --manifest are for --database",
            hint="the manifest of a file stands beside it",
        )
    return False


def anonymize_in_database(options: Mapping[str, Any]) -> None:
    """Do what the options of `anonymize` ask for, inside a database."""
    from core_mondrian.cli.anonymize import release_json

    started = time.perf_counter()
    if options["suppressed_file"] is not None:
        raise SpecError(
            "--suppressed-file is for files",
            hint="--suppressed apart makes the table TARGET_suppressed",
        )
    spec = spec_of(options)
    check_guarded(spec)
    page = report_of(options, spec)
    manifest = options["manifest"] or manifest_of_table(options["target_name"])
    record = record_of_manifest(manifest)
    files = [manifest, record, *([] if page is None else [page.path])]
    _check_files(files, overwrite=options["overwrite"])
    release = _anonymize(options, spec)
    found, groups = measured(release, options)
    _write(release, manifest, page, overwrite=options["overwrite"])
    with suppress(KeyboardInterrupt):  # the work is done and stays done
        if options["as_json"]:
            typer.echo(release_json(release, found, groups))
        summarize(release, found)
        for name, lost in groups.items():
            tell_groups(name, lost)
        kind = "view" if options["view"] else "table"
        seconds = time.perf_counter() - started
        say(f"made {kind} {release.data} in {seconds:.1f} s")
        if release.suppressed is not None:
            told = f"made table {release.suppressed}: original rows, NOT anonymized"
            say(told)
        for file in files:
            say(f"wrote {file}" + (f": {FOR_OWNER}" if file == record else ""))


def manifest_of_table(target: str) -> Path:
    """Return the file in this folder that a table's manifest is written to."""
    plain = re.sub(r"[^\w.-]+", "_", target).strip("_.")
    return Path(f"{plain or 'release'}.manifest.json")


def record_of_manifest(manifest: Path) -> Path:
    """Return where the owner's record of a table stands: beside its manifest."""
    return manifest.with_name(
        manifest.name.removesuffix(".json").removesuffix(".manifest") + ".owner.json"
    )


def _check_files(files: list[Path], *, overwrite: bool) -> None:
    from core_mondrian.files.place import check_apart, check_place

    for file in files:
        check_place(file, overwrite=overwrite)
    check_apart("--manifest and --report", files)


def _anonymize(options: Mapping[str, Any], spec: "Spec") -> "Release[str]":
    from core_mondrian.cli.anonymize import read_key
    from core_mondrian.sources.sql.anonymize import anonymize_sql

    key = read_key(options["key_file"], spec)
    with show_progress(as_json=options["as_json"]) as progress:
        return anonymize_sql(
            *(options["database"], options["source_name"], options["target_name"]),
            spec,
            key=key,
            view=options["view"],
            overwrite=options["overwrite"],
            threads=options["threads"],
            progress=progress,
            by=options["by"] or [],
        )


def _write(
    release: "Release[str]",
    manifest: Path,
    page: "ReportFile | None",
    *,
    overwrite: bool,
) -> None:
    from core_mondrian.files.place import Content, write_files
    from core_mondrian.owner_record import record_text
    from core_mondrian.report.plain import manifest_text
    from core_mondrian.signatures import signature_of

    record = record_of_manifest(manifest)
    files: dict[Path, Content] = {
        manifest: manifest_text(release.manifest()).encode(),
        record: record_text(release.record()),
        signature_of(manifest): None,
    }
    if page is not None:
        files[page.path] = page.page_of(release)
    write_files(files, overwrite=overwrite, private=[record])
