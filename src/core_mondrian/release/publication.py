"""Publish a release: all of its files, read back and recounted first, or none."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from core_mondrian.release.manifests import manifest_text
from core_mondrian.release.owner_record import record_text
from core_mondrian.release.result import AnyRelease
from core_mondrian.release.signatures import Signer, sealed
from core_mondrian.tables.files.atomic_write import Content, Writer, write_files
from core_mondrian.tables.files.staging import manifest_of, record_of
from core_mondrian.tables.files.write import table_writer
from core_mondrian.tables.frames import arrow_table
from core_mondrian.verification.read_back import Verified

if TYPE_CHECKING:
    from core_mondrian.release.report_file import ReportFile


class Publication(NamedTuple):
    """Where a release goes, and what goes with it."""

    target: Path
    suppressed: Path | None = None
    """Where rows go that were left out, as they came in; they are the owner's."""
    report: "ReportFile | None" = None
    signer: Signer | None = None
    schema: pa.Schema | None = None
    """The types of the table that it was made of; None: those of the release."""

    def write(self, release: AnyRelease, *, overwrite: bool) -> None:
        """Write all files and give them their names together.

        Raises:
            OutputError: one of them cannot be written; none is there.
            PrivacyViolation: a reader of the file would not read what was verified.
        """
        manifest = release.manifest()
        contents: dict[Path, Content] = {
            self.target: release_writer(release, self.target, self.schema),
            **self._suppressed_rows(release),
            manifest_of(self.target): manifest_text(manifest).encode(),
            record_of(self.target): record_text(release.record()),
        }
        if self.report is not None:
            contents[self.report.path] = self.report.page_of(release)
        contents = sealed(contents, self.target, manifest, self.signer)
        private = [record_of(self.target)]
        if self.suppressed is not None:
            private.append(self.suppressed)
        write_files(contents, overwrite=overwrite, private=private)

    def _suppressed_rows(self, release: AnyRelease) -> dict[Path, Content]:
        if self.suppressed is None:
            return {}
        rows, guard = arrow_table(release.suppressed), release.spec.guard_formulas
        write = table_writer(rows, self.suppressed, source=self.schema, guard=guard)
        return {self.suppressed: write}


def release_writer(
    release: AnyRelease, path: Path, source: pa.Schema | None = None
) -> Writer:
    """Return what writes a release in the form that the suffix of ``path`` asks for.

    ``source`` is the schema of the table that it was made of. The writer raises
    PrivacyViolation if a reader of the file would not read what was verified.
    """
    spec, data = replace(release.spec, hierarchies=release.hierarchies), release.data
    guard = spec.guard_formulas
    write = table_writer(arrow_table(data), path, source=source, guard=guard)
    verified = Verified(data, spec, release.verification, release.budget)

    def write_and_read_back(file: Path) -> None:
        write(file)
        verified.check(file)

    return write_and_read_back
