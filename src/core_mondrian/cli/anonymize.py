"""core-mondrian anonymize: a table in, a verified release and its manifest out."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from core_mondrian.cli.csv_files import read_source
from core_mondrian.cli.options import read_key
from core_mondrian.cli.process import prepare_for
from core_mondrian.cli.release_request import Outcome, ReleaseRequest, check_formats
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import written_stays
from core_mondrian.runtime.progress import show_progress
from core_mondrian.tables.files.staging import manifest_of

if TYPE_CHECKING:
    from core_mondrian.spec.declaration import Spec


@command(ReleaseRequest)
def anonymize_file(request: ReleaseRequest) -> None:
    """Write an anonymized copy of SOURCE to TARGET.

    TARGET is written only after the release has passed verification. Options override
    the spec. No value of the table is ever printed, except the groups of --by and
    --equity, which have more rows than a class needs.
    """
    started = time.perf_counter()
    with written_stays():
        request.check()
        spec = request.spec()
        match request.place(spec):
            case "files":
                outcome = anonymize_in_memory(request, spec)
            case "batches":
                from core_mondrian.cli.stream import anonymize_in_batches

                outcome = anonymize_in_batches(request, spec)
            case "database":
                from core_mondrian.cli.database import anonymize_in_database

                outcome = anonymize_in_database(request, spec)
            case "cluster":
                from core_mondrian.cli.spark import anonymize_on_spark

                outcome = anonymize_on_spark(request, spec)
        outcome.print(started)


def anonymize_in_memory(request: ReleaseRequest, spec: "Spec") -> Outcome:
    """Make a release of a table that is read whole."""
    source, target = request.source, request.target
    prepare_for(source)
    page = request.page(spec)
    key = read_key(request.key_file, spec)
    signer = request.signer()
    check_formats(spec, target, request.suppressed_file)
    _check_targets(request)
    from core_mondrian.tables.files.kinds import source_schema

    table = read_source(
        source,
        request.csv,
        typed=spec.quasi_identifiers,
        null_values=spec.null_values,
    )
    from core_mondrian.api import anonymize
    from core_mondrian.release.publication import Publication

    with show_progress(as_json=request.figures.as_json) as progress:
        release = anonymize(
            table,
            spec,
            key=key,
            by=request.by,
            threads=request.threads,
            progress=progress,
        )
    outcome = request.figures.measure(release)
    Publication(
        target, request.suppressed_file, page, signer, source_schema(table)
    ).write(release, overwrite=request.overwrite)
    return request.outcome_of_files(outcome, signer)


def _check_targets(request: ReleaseRequest) -> None:
    from core_mondrian.tables.files.atomic_write import (
        check_place,
        check_target,
        require_distinct,
    )
    from core_mondrian.tables.files.staging import record_of

    source, target, overwrite = request.source, request.target, request.overwrite
    rows, report = request.suppressed_file, request.report.report
    check_target(target, overwrite=overwrite, source=source)
    files: list[Path] = [target]
    if rows is not None:
        check_target(rows, overwrite=overwrite, source=source, private=True)
        files.append(rows)
    check_place(manifest_of(target), overwrite=overwrite)
    check_place(record_of(target), overwrite=overwrite, private=True)
    require_distinct("TARGET and --suppressed-file", files)
    if report is None:
        return
    check_place(report, overwrite=overwrite)
    taken = (source, *files, manifest_of(target), record_of(target))
    require_distinct("TARGET and --report", (report, *taken))
