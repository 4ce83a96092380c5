"""Where everything goes, checked before any work."""

from dataclasses import dataclass
from pathlib import Path

from core_mondrian.errors import SpecError
from core_mondrian.release.report_file import ReportFile
from core_mondrian.release.signatures import Signer, signature_of
from core_mondrian.sources.files.source import Source
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files import kinds
from core_mondrian.tables.files.atomic_write import (
    check_folder,
    check_place,
    check_target,
)
from core_mondrian.tables.files.staging import manifest_of, record_of


@dataclass(frozen=True)
class Targets:
    """The files of a run."""

    release: Path
    suppressed: Path | None = None
    """Rows that are suppressed and kept apart; NOT anonymized."""
    report: ReportFile | None = None
    counts: Path | None = None
    overwrite: bool = False
    signer: Signer | None = None
    """Who signs the manifest."""

    @property
    def is_folder(self) -> bool:
        """Return whether the release is written in parts."""
        return not self.release.suffix

    @property
    def manifest(self) -> Path:
        """Where the manifest stands."""
        return manifest_of(self.release)

    @property
    def record(self) -> Path:
        """Where the owner's record stands."""
        return record_of(self.release)

    @property
    def private(self) -> list[Path]:
        """Files with values of the source or keys, which only the user may read."""
        more = (self.suppressed, self.counts)
        return [self.record, *(path for path in more if path is not None)]

    @property
    def all(self) -> list[Path]:
        """Every file that is written, or removed as an old signature is."""
        report = None if self.report is None else self.report.path
        more = (self.suppressed, report, self.counts)
        return [
            *(self.release, self.manifest, signature_of(self.manifest), self.record),
            *(path for path in more if path is not None),
        ]


def check_targets(targets: Targets, source: Source, spec: Spec) -> None:
    """Refuse what cannot be written, before any work.

    Raises:
        SpecError: a file exists, is the source, or cannot hold what is asked.
        OutputError: a folder is missing or not writable.
    """
    overwrite = targets.overwrite
    if targets.is_folder:
        check_folder(targets.release, overwrite=overwrite)
    else:
        check_target(targets.release, overwrite=overwrite)
        _check_streamed(targets.release)
    for path in targets.all[1:]:
        check_place(path, overwrite=overwrite, private=path in targets.private)
    if targets.suppressed is not None:
        check_target(targets.suppressed, overwrite=overwrite)
        _check_streamed(targets.suppressed)
    if targets.report is not None:
        targets.report.check(spec)
    _check_different(targets, source)
    _check_formats(targets, source, spec)


def _check_streamed(path: Path) -> None:
    if kinds.kind_of(path) == "ipc":
        raise SpecError(
            f"{path}: streams write CSV and Parquet", hint="take one of these"
        )


def _check_different(targets: Targets, source: Source) -> None:
    places = [path.resolve() for path in targets.all]
    if len(set(places)) < len(places):
        raise SpecError("two of the files to write are the same", hint="rename one")
    read = {part.path.resolve() for part in source.parts}
    root = targets.release.resolve()
    if any(path in read for path in places) or any(root in p.parents for p in read):
        raise SpecError(
            f"{targets.release}: target and source are the same",
            hint="take another name",
        )
    folder = Path(source.title).resolve()
    if folder.is_dir() and any(folder in path.parents for path in places):
        raise SpecError(
            f"{targets.release}: lies in the folder that is read",
            hint="write it elsewhere, or the next run would read it",
        )


def _check_formats(targets: Targets, source: Source, spec: Spec) -> None:
    if (spec.suppressed == "separate") != (targets.suppressed is not None):
        raise SpecError(
            "suppressed = 'separate' and a file for these rows go together",
            hint="the file gets the rows left out, as they are: NOT anonymized",
        )
    has_structs = any(spec.format_of(x) == "struct" for x in spec.quasi_identifiers)
    if has_structs and suffix_of(targets, source).startswith(".csv"):
        raise SpecError(
            f"{targets.release}: a CSV file has no structs",
            hint="take numbers = 'bounds', or write Parquet",
        )


def suffix_of(targets: Targets, source: Source) -> str:
    """Return what kind of files the release is; parts are of the source's kind."""
    if targets.is_folder:
        return f".{source.kind}"
    return kinds.suffix_of(targets.release)
