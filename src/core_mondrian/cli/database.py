"""core-mondrian anonymize --database: a table in a database in, another one out."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core_mondrian.cli.options import read_key
from core_mondrian.cli.release_request import Outcome, ReleaseRequest
from core_mondrian.cli.summary import FOR_OWNER
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
    from core_mondrian.release.report_file import ReportFile
    from core_mondrian.release.result import Release
    from core_mondrian.release.signatures import Signer
    from core_mondrian.spec.declaration import Spec


def anonymize_in_database(request: ReleaseRequest, spec: "Spec") -> Outcome:
    """Make a release of a table in a database, as another one in it."""
    beside = Beside.of(request, spec)
    beside.check()
    release = _anonymize(request, spec, beside)
    more = beside.lines()
    if release.suppressed is not None:
        rows = f"made table {release.suppressed}: original rows, NOT anonymized"
        more = [rows, *more]
    kind = "view" if request.database.view else "table"
    outcome = request.figures.measure(release)
    return outcome._replace(written=f"made {kind} {release.data}", more=more)


@dataclass(frozen=True)
class Beside:
    """The files that are written with a table, all of them or none."""

    manifest: Path
    page: "ReportFile | None"
    signer: "Signer | None"
    overwrite: bool

    @staticmethod
    def of(request: ReleaseRequest, spec: "Spec") -> "Beside":
        """Return what a request asks for."""
        from core_mondrian.release.signatures import read_signer

        key = request.sign_key
        return Beside(
            request.database.manifest or manifest_of_table(request.target_name),
            request.page(spec),
            None if key is None else read_signer(key),
            request.overwrite,
        )

    @property
    def record(self) -> Path:
        """The owner's record of a table stands beside its manifest."""
        name = self.manifest.name.removesuffix(".json").removesuffix(".manifest")
        return self.manifest.with_name(f"{name}.owner.json")

    @property
    def signature(self) -> Path:
        from core_mondrian.release.signatures import signature_of

        return signature_of(self.manifest)

    def check(self) -> None:
        """Refuse files that cannot be written, before any work."""
        from core_mondrian.tables.files.atomic_write import (
            check_place,
            require_distinct,
        )

        pages = [] if self.page is None else [self.page.path]
        files = [self.manifest, self.signature, self.record, *pages]
        for file in files:
            private = file == self.record
            check_place(file, overwrite=self.overwrite, private=private)
        require_distinct("--manifest and --report", files)

    def publish(self, release: "Release[str]", commit: Callable[[], None]) -> None:
        """Write all files, and commit the table when they are complete."""
        from core_mondrian.release.manifests import manifest_text
        from core_mondrian.release.owner_record import record_text
        from core_mondrian.tables.files.atomic_write import Content, write_files

        raw = manifest_text(release.manifest()).encode()
        files: dict[Path, Content] = {
            self.manifest: raw,
            self.record: record_text(release.record()),
            self.signature: None if self.signer is None else self.signer.sign(raw),
        }
        if self.page is not None:
            files[self.page.path] = self.page.page_of(release)
        write_files(
            files, overwrite=self.overwrite, private=[self.record], commit=commit
        )

    def lines(self) -> list[str]:
        """Return what to say of the files that were written."""
        lines = [f"wrote {self.manifest}", f"wrote {self.record}: {FOR_OWNER}"]
        if self.signer is not None:
            lines.append(f"wrote {self.signature}")
            lines.append(f"signed      by key {self.signer.fingerprint}")
        if self.page is not None:
            lines.append(f"wrote {self.page.path}")
        return lines


def manifest_of_table(target: str) -> Path:
    """Return the file in this folder that a table's manifest is written to."""
    plain = re.sub(r"[^\w.-]+", "_", target).strip("_.")
    return Path(f"{plain or 'release'}.manifest.json")


def _anonymize(request: ReleaseRequest, spec: "Spec", beside: Beside) -> "Release[str]":
    from core_mondrian.sources.sql.anonymize import anonymize_sql

    key = read_key(request.key_file, spec)
    with show_progress(as_json=request.figures.as_json) as progress:
        return anonymize_sql(
            request.database.database or "",
            request.source_name,
            request.target_name,
            spec,
            key=key,
            view=request.database.view,
            overwrite=request.overwrite,
            memory=request.streaming.memory,
            threads=request.threads,
            progress=progress,
            by=request.by,
            needs_all=[] if beside.page is None else ["a report"],
            publish=beside.publish,
        )
