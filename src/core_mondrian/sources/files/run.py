"""anonymize_files(): two passes over files, and the engine in between."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core_mondrian.api import check_threads
from core_mondrian.errors import SpecError, drops_context
from core_mondrian.release.report_file import ReportFile
from core_mondrian.release.result import Release
from core_mondrian.release.signatures import Signer
from core_mondrian.runtime.progress import Progress, watched
from core_mondrian.sources.files.counting import Counts, fit, load_counts
from core_mondrian.sources.files.counting import save_counts as keep
from core_mondrian.sources.files.csv_blocks import BadRows
from core_mondrian.sources.files.file_run import Run
from core_mondrian.sources.files.source import check_streamable, open_source
from core_mondrian.sources.files.targets import Targets, check_targets
from core_mondrian.sources.files.workspace import open_workspace
from core_mondrian.sources.memory import DiskUse, Limit, parse_size, watch
from core_mondrian.sources.tuple_counts import TupleCounts, gather
from core_mondrian.spec.declaration import Spec, as_spec
from core_mondrian.tables.files.atomic_write import Content, check_place, write_files
from core_mondrian.tables.files.sizes import machine_memory
from core_mondrian.tables.files.staging import workspace_of
from core_mondrian.tables.keys import key_for, open_key


@drops_context
@watched
def anonymize_files(  # noqa: PLR0913  # one parameter an option of the command
    source: str | Path,
    target: str | Path,
    spec: Spec | str | Iterable[str] | None = None,
    *,
    key: bytes | None = None,
    by: Sequence[str] = (),
    memory: str | int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    resume: bool = False,
    bad_rows: int = 0,
    overwrite: bool = False,
    suppressed_file: str | Path | None = None,
    report: str | Path | ReportFile | None = None,
    signer: Signer | None = None,
    save_counts: str | Path | None = None,
    add_counts: str | Path | None = None,
    csv: Mapping[str, str] | None = None,
    **keys: Any,  # noqa: ANN401
) -> Release[Path]:
    """Write a release of files that need not fit into memory.

    It is the release that `anonymize` makes of the same table, in two passes over the
    rows. Nothing is written before it is verified, and all of it or nothing.

    Args:
        source: A CSV file, also compressed, or a Parquet file; a folder or a glob of
            them, where folders named ``key=value`` are columns.
        target: A file, or a folder for parts. Its manifest goes beside.
        spec: What is asked; or the quasi-identifiers, and the rest as keywords.
        key: The secret of the run, see `anonymize`.
        by: Counted columns for `Release.by_group`.
        memory: What the process may take, such as "2GB".
        threads: How many; None: all cores.
        progress: True shows bars, rows per second and the time left.
        resume: Go on with the first pass of an interrupted run.
        bad_rows: Rows of CSV that cannot be read and may be left out.
        overwrite: Replace files that exist.
        suppressed_file: Where rows go that are suppressed "separate": NOT anonymized.
        report: Where to write a report, or a `ReportFile`.
        signer: Who signs the manifest, see `signatures.read_signer`.
        save_counts: Where to keep the counts; they hold values of the source.
        add_counts: Kept counts: their parts of the source are not counted again.
        csv: How CSV files are written: ``delimiter``, ``quote``, ``encoding``; what is
            left out is found in their first rows.
        **keys: Of the spec, where only its quasi-identifiers are given.

    Raises:
        SpecError: the request contradicts itself, or cannot be streamed.
        DataError: a file or a value cannot be read.
        InfeasibleError: no release satisfies the models within the budget.
        PrivacyViolation: what was written failed verification, and is gone.
        MemoryLimitError: it cannot be done in ``memory``.
        OutputError: a file cannot be written.
    """
    spec = as_spec(spec, keys)
    check_threads(threads)
    secret = key_for(key, spec.pseudonyms)
    found = open_source(source, csv)
    check_streamable(found, spec)
    targets = Targets(
        Path(target),
        _path(suppressed_file),
        _report(report),
        _path(save_counts),
        overwrite=overwrite,
        signer=signer,
    )
    check_targets(targets, found, spec)
    limit = Limit(machine_memory() if memory is None else parse_size(memory))
    disk = DiskUse(workspace_of(targets.release))
    run = Run(
        source=found,
        spec=spec,
        targets=targets,
        limit=limit,
        sizes=limit.sizes(found.row_size, threads),
        stages=watch(limit, progress, disk),
        bad=BadRows(_whole(bad_rows)),
        key=secret,
        by=tuple(by),
    )
    kept = _kept(run, add_counts)

    def check(left: Counts) -> None:
        fit(left, run.source, run.columns, "counts of the interrupted run")

    with open_workspace(targets.release, check, resume=resume) as (space, left):
        release = run.make(space, kept if left is None else left)
        return replace(release, disk_bytes=disk.peak)


@drops_context
@watched
def count_files(  # noqa: PLR0913  # one parameter an option of the command
    source: str | Path,
    spec: Spec,
    *,
    save_counts: str | Path | None = None,
    add_counts: str | Path | None = None,
    memory: str | int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    bad_rows: int = 0,
    overwrite: bool = False,
    csv: Mapping[str, str] | None = None,
) -> TupleCounts:
    """Count the distinct tuples of files, and keep the counts for another day.

    Parts of the source that ``add_counts`` knows are not read again.

    Raises:
        SpecError: the spec does not fit the files.
        DataError: a file or a value cannot be read.
        MemoryLimitError: it cannot be done in ``memory``.
        OutputError: the counts cannot be written.
    """
    check_threads(threads)
    found = open_source(source, csv)
    check_streamable(found, spec)
    path = _path(save_counts)
    if path is not None:
        check_place(path, overwrite=overwrite, private=True)
    limit = Limit(machine_memory() if memory is None else parse_size(memory))
    run = Run(
        source=found,
        spec=spec,
        targets=Targets(path or Path()),
        limit=limit,
        sizes=limit.sizes(found.row_size, threads),
        stages=watch(limit, progress),
        bad=BadRows(_whole(bad_rows)),
        key=open_key(None),
    )
    counts = run.count(_kept(run, add_counts), None)
    found.check_unchanged()
    if path is not None:
        files: dict[Path, Content] = {path: lambda file: keep(counts, file)}
        write_files(files, overwrite=overwrite, private=[path])
    tuples = run.type(counts)
    return TupleCounts.of(tuples, *gather(tuples))


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _report(report: str | Path | ReportFile | None) -> ReportFile | None:
    if report is None or isinstance(report, ReportFile):
        return report
    return ReportFile(Path(report))


def _whole(bad_rows: int) -> int:
    if isinstance(bad_rows, bool) or not isinstance(bad_rows, int) or bad_rows < 0:
        raise SpecError("bad_rows is a number of rows >= 0")
    return bad_rows


def _kept(run: Run, path: str | Path | None) -> Counts | None:
    """Return counts of another day, if they are of this source."""
    if path is None:
        return None
    counts = load_counts(Path(path))
    fit(counts, run.source, run.columns, "kept counts")
    return counts
