"""core-mondrian report: a page about a release that was made before."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.options import (
    KeyFile,
    Overwrite,
    RecordFile,
    SpecFile,
    TableFile,
    load_if_given,
    read_key,
)
from core_mondrian.cli.process import prepare_for
from core_mondrian.cli.release_request import By, Painting, Timings, today
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import FOR_ANYONE, FOR_OWNER, echo
from core_mondrian.errors import SpecError, not_there
from core_mondrian.runtime.progress import Progress, show_progress
from core_mondrian.tables.files.staging import manifest_of

if TYPE_CHECKING:
    from core_mondrian.release.report_file import ReportFile
    from core_mondrian.report.existing import Existing


@dataclass(frozen=True, slots=True)
class OwnerOptions:
    """What the owner's report needs besides the release."""

    PANEL: ClassVar = "The owner's report"
    source: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="SOURCE",
            help="The table that RELEASE was made of: the report is the owner's.",
        ),
    ] = None
    csv: Csv = None
    spec_file: SpecFile = None
    record_file: RecordFile = None
    key_file: KeyFile = None
    by: By = None
    painting: Painting = None
    timings: Timings = False

    @property
    def are_given(self) -> bool:
        """Tell whether anything but the source is said."""
        given = (self.csv, self.spec_file, self.record_file, self.key_file)
        return any((*given, self.by, self.painting, self.timings))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What `report` is asked."""

    release: TableFile
    page: Annotated[
        Path | None,
        typer.Argument(help="The page, FILE.html. [default: RELEASE.report.html]"),
    ] = None
    manifest_file: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="The manifest of RELEASE. [default: beside it]",
        ),
    ] = None
    report_for: Annotated[
        str | None,
        typer.Option(
            "--report-for",
            metavar="owner|readers",
            help="Whom it is for. [default: the owner with --with, else readers]",
        ),
    ] = None
    overwrite: Overwrite = False
    owner: OwnerOptions

    @property
    def audience(self) -> str:
        """Whom the report is for."""
        if self.report_for is not None:
            return self.report_for
        return "readers" if self.owner.source is None else "owner"

    def file(self) -> "ReportFile":
        """Return the page that is asked for, checked before any work.

        Raises:
            SpecError: it cannot be made of what is given.
        """
        from core_mondrian.release.report_file import ReportFile, Subject
        from core_mondrian.tables.files.atomic_write import (
            check_place,
            require_distinct,
        )

        default = self.release.with_name(f"{self.release.name}.report.html")
        path, owner = default if self.page is None else self.page, self.owner
        audience: Any = self.audience  # checked by the page
        subject = self.release if owner.source is None else owner.source
        of = Subject((self.release if audience == "readers" else subject).name, today())
        file = ReportFile(path, owner.painting, owner.timings, audience, of)
        file.check_kind()
        if audience == "owner" and owner.source is None:
            raise SpecError(
                "the owner's report compares the release with the table it was made of",
                hint="name that table: --with FILE; or --report-for readers",
            )
        if audience == "readers" and owner.are_given:
            raise SpecError(
                "readers get what the release and its manifest show, and no more",
                hint="leave out options of the owner's report, or add --with FILE",
            )
        check_place(path, overwrite=self.overwrite)
        sources = () if owner.source is None else (owner.source,)
        require_distinct("RELEASE, --with and PAGE", (path, self.release, *sources))
        return file


@command(ReportRequest)
def report_file(request: ReportRequest) -> None:
    """Write a report about RELEASE, which was made before: one HTML page.

    RELEASE is recounted first, and compared with the manifest beside it; if they do
    not fit, the exit code is 5 and no page is written. Readers get what they can
    compute from the release. With --with SOURCE the page is the owner's: the release
    is made again from SOURCE and the owner's record beside it.
    """
    started = time.perf_counter()
    if not request.release.exists():
        raise not_there(request.release)
    file = request.file()
    prepare_for(request.release)
    with show_progress() as progress:
        existing = _open(request, progress)
        source = request.owner.source
        if file.audience == "readers" or source is None:
            page = existing.readers_page(file.of)
        else:
            page = _owners_page(request, source, existing, file, progress)
    from core_mondrian.tables.files.atomic_write import write_files

    write_files({file.path: page}, overwrite=request.overwrite)
    whose = {"owner": FOR_OWNER, "readers": FOR_ANYONE}
    seconds = time.perf_counter() - started
    echo(f"wrote {file.path} in {seconds:.1f} s: {whose[file.audience]}")


def _open(request: ReportRequest, progress: Progress | None) -> "Existing":
    from core_mondrian.report.existing import open_existing

    release, named = request.release, request.manifest_file
    manifest = manifest_of(release) if named is None else named
    if not manifest.is_file():
        raise SpecError(
            f"{release}: no manifest stands beside it"
            if named is None
            else f"{named}: there is no such file",
            hint="a report needs the manifest written with the release: --manifest",
        )
    return open_existing(release, manifest, progress=progress)


def _owners_page(
    request: ReportRequest,
    source: Path,
    existing: "Existing",
    file: "ReportFile",
    progress: Progress | None,
) -> bytes:
    from core_mondrian.analysis.evidence import Redo
    from core_mondrian.release.owner_record import find_record

    owner = request.owner
    prepare_for(source)
    spec = load_if_given(owner.spec_file)
    by = existing.manifest.spec if spec is None else spec
    table = read_source(
        source,
        owner.csv,
        typed=by.quasi_identifiers,
        null_values=by.null_values,
    )
    record = find_record(request.release, owner.record_file)
    redo = Redo(read_key(owner.key_file), by=owner.by or (), progress=progress)
    return existing.owners_page(table, record, file, redo, spec)
