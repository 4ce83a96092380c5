"""core-mondrian anonymize --database: a table in a database in, another one out."""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.cli.options import spec_of
from core_mondrian.cli.report import report_of
from core_mondrian.cli.stream import check_guarded
from core_mondrian.cli.summary import FOR_OWNER, echo, measured, print_release
from core_mondrian.errors import SpecError
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
    from core_mondrian.release.report_file import ReportFile
    from core_mondrian.release.result import Release
    from core_mondrian.release.signatures import Signer
    from core_mondrian.spec.declaration import Spec

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
            hint="--suppressed separate makes the table TARGET_suppressed",
        )
    spec = spec_of(options)
    check_guarded(spec)
    beside = Beside.of(options, spec)
    beside.check()
    release = _anonymize(options, spec, beside)
    found, groups = measured(release, options)
    with suppress(KeyboardInterrupt):  # the work is done and stays done
        output = release_json(release, found, groups) if options["as_json"] else None
        print_release(release, found, groups, output)
        kind = "view" if options["view"] else "table"
        seconds = time.perf_counter() - started
        echo(f"made {kind} {release.data} in {seconds:.1f} s")
        if release.suppressed is not None:
            told = f"made table {release.suppressed}: original rows, NOT anonymized"
            echo(told)
        beside.tell()


@dataclass(frozen=True)
class Beside:
    """The files that are written with a table, all of them or none."""

    manifest: Path
    page: "ReportFile | None"
    signer: "Signer | None"
    overwrite: bool

    @staticmethod
    def of(options: Mapping[str, Any], spec: "Spec") -> "Beside":
        """Return what the options of `anonymize` ask for."""
        from core_mondrian.release.signatures import read_signer

        manifest = options["manifest"] or manifest_of_table(options["target_name"])
        key = options["sign_key"]
        return Beside(
            manifest,
            report_of(options, spec),
            None if key is None else read_signer(key),
            options["overwrite"],
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
        from core_mondrian.release.owner_record import record_text
        from core_mondrian.report.plain import manifest_text
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

    def tell(self) -> None:
        """Say what was written."""
        echo(f"wrote {self.manifest}")
        echo(f"wrote {self.record}: {FOR_OWNER}")
        if self.signer is not None:
            echo(f"wrote {self.signature}")
            echo(f"signed      by key {self.signer.fingerprint}")
        if self.page is not None:
            echo(f"wrote {self.page.path}")


def manifest_of_table(target: str) -> Path:
    """Return the file in this folder that a table's manifest is written to."""
    plain = re.sub(r"[^\w.-]+", "_", target).strip("_.")
    return Path(f"{plain or 'release'}.manifest.json")


def _anonymize(
    options: Mapping[str, Any], spec: "Spec", beside: Beside
) -> "Release[str]":
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
            memory=options["memory"],
            threads=options["threads"],
            progress=progress,
            by=options["by"] or [],
            needs_all=[] if beside.page is None else ["a report"],
            publish=beside.publish,
        )
