"""The report of a release that exists: of its files, or of the release made again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from core_mondrian.analysis.evidence import Evidence, Redo, check_source, remake
from core_mondrian.errors import InternalError, PrivacyViolation, SpecError
from core_mondrian.release.explanation import Explanation, explain
from core_mondrian.release.manifests import Manifest, parse_bytes, whole_spec
from core_mondrian.release.owner_record import OwnerRecord
from core_mondrian.release.report_file import ReportFile, Subject
from core_mondrian.release.signatures import read_bytes
from core_mondrian.report.page import write_public_page
from core_mondrian.report.public import PublicFacts
from core_mondrian.runtime.plain_values import JsonMapping
from core_mondrian.runtime.progress import Progress, Steps
from core_mondrian.spec.declaration import Spec
from core_mondrian.verification.read_back import read_release


@dataclass(frozen=True, slots=True)
class Existing:
    """A release and its manifest, recounted: they fit each other."""

    manifest: Manifest
    plain: JsonMapping = field(repr=False)
    """The manifest as its file has it."""
    columns: Sequence[str]
    found: Explanation

    def readers_page(self, of: Subject) -> bytes:
        """Return the page that may go with the release."""
        facts = PublicFacts.of_file(self.found, self.columns, self.plain)
        return write_public_page(facts, of).encode()

    def owners_page(
        self,
        source: pa.Table,
        record: OwnerRecord | None,
        file: ReportFile,
        redo: Redo,
        spec: Spec | None = None,
    ) -> bytes:
        """Return the owner's page, of the release made again from its source.

        ``spec`` is what the release was made with; None: what the manifest holds.

        Raises:
            PrivacyViolation: ``source`` is another table, or the release comes out
                another than it is.
            SpecError: there is no record, the spec is not known in full, or the key
                is needed.
        """
        evidence = Evidence(self.manifest, self.plain, ())
        check_source(evidence, source, record, spec).check()
        if record is None:
            raise InternalError("a table was accepted without the owner's record")
        rows = (record.n_read, record.budget)
        asked = whole_spec(self.plain, self.manifest, rows) if spec is None else spec
        file.check(asked)
        release = remake(source, asked, record, redo)
        if release.digest == self.manifest.digest:
            return file.page_of(release)
        if record.key is None and redo.key is None:
            raise SpecError(
                "the release was made with a key of yours",
                hint="give it: --key-file FILE",
            )
        raise PrivacyViolation(
            "made again, the release comes out as another",
            hint="take the version that made it, which its manifest names",
        )


def open_existing(
    release: Path, manifest: Path, *, progress: Progress | None = None
) -> Existing:
    """Read a release and recount it by its manifest.

    Raises:
        PrivacyViolation: it fails, or is not the manifest's.
        DataError: one of the files cannot be read.
    """
    end = Steps(progress, "recounting", (2.0, 3.0)).end
    manifest_read, plain = parse_bytes(read_bytes(manifest), manifest)
    data = end(read_release(release, manifest_read.spec))
    explanation = end(explain(data, None, manifest_read, depth=0))
    explanation.check()
    return Existing(manifest_read, plain, data.column_names, explanation)
