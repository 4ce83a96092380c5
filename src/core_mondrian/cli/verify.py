"""core-mondrian verify: recount a table anyone sends."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import typer

from core_mondrian.cli.csv_files import Csv, read_source
from core_mondrian.cli.options import (
    RUNNING,
    AsJson,
    KeyFile,
    OriginalFile,
    RecordFile,
    RecountOptions,
    TableFile,
    read_key,
)
from core_mondrian.cli.process import prepare_for
from core_mondrian.cli.reply import Reply
from core_mondrian.cli.requests import command
from core_mondrian.cli.summary import echo, escape_controls, print_verification
from core_mondrian.errors import PrivacyViolation, SpecError, not_there
from core_mondrian.runtime.progress import Progress, Steps, show_progress
from core_mondrian.tables.files.staging import manifest_of

if TYPE_CHECKING:
    import pyarrow as pa

    from core_mondrian.analysis.evidence import Evidence
    from core_mondrian.spec.declaration import Spec

READ_AND_COUNT: Final = (2.0, 3.0)
"""How the time divides."""


@dataclass(frozen=True, slots=True)
class EvidenceOptions:
    """A manifest, and who stands behind it."""

    PANEL: ClassVar = "Evidence"
    manifest_file: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="Check that FILE is the manifest of TABLE, and recount by it.",
        ),
    ] = None
    public_key: Annotated[
        Path | None,
        typer.Option(
            "--public-key",
            metavar="FILE",
            help="Who has to have signed the manifest, such as KEYFILE.pub.",
        ),
    ] = None
    source: OriginalFile = None
    csv: Csv = None
    redo: Annotated[
        bool,
        typer.Option(
            "--redo", help="Make the release of SOURCE again, and compare it."
        ),
    ] = False
    record_file: RecordFile = None
    key_file: KeyFile = None

    @property
    def is_given(self) -> bool:
        """Return whether anything is said."""
        values = (getattr(self, item.name) for item in fields(self))
        return any(value not in (None, [], False) for value in values)

    def check(self) -> None:
        """Refuse options that need others."""
        for name in ("redo", "csv", "record_file"):
            if getattr(self, name) and self.source is None:
                flag = name.removesuffix("_file")
                raise SpecError(
                    f"--{flag} needs the input", hint="name it by --with SOURCE"
                )
        if self.key_file is not None and not self.redo:
            raise SpecError(
                "--key-file is for a release that is made again", hint="add --redo"
            )
        is_about_one = self.public_key is not None or self.source is not None
        if self.manifest_file is None and is_about_one:
            raise SpecError(
                "--public-key and --with are about a manifest",
                hint="name it by --manifest FILE",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """What `verify` is asked."""

    PANEL: ClassVar = RUNNING
    table: TableFile
    asked: RecountOptions
    evidence: EvidenceOptions
    series: Annotated[
        bool,
        typer.Option(
            "--series",
            help="TABLE is a folder: recount the releases of a series together.",
        ),
    ] = False
    as_json: AsJson = False

    def check_series(self) -> None:
        """Refuse what the recount of a series has no use for.

        Raises:
            SpecError: a model is asked for, say, that would not be counted.
        """
        if replace(self.asked, file=None).is_given or self.evidence.is_given:
            raise SpecError(
                "a series is recounted by the manifests of its releases",
                hint="leave out all options but --spec and --json",
            )


@command(VerifyRequest)
def verify_file(request: VerifyRequest) -> None:
    """Check that every class of TABLE passes the models; exit code 5 if one does not.

    TABLE is recounted as it stands: a missing value is a value. Cells are read as
    anonymize reads them. What to check is said by options, --spec, or else the manifest
    beside TABLE. With a manifest, exit code 5 also if manifest, signature or SOURCE do
    not belong to it.
    """
    _verify(request).print(as_json=request.as_json)


def _verify(request: VerifyRequest) -> Reply:
    """Recount a table, a series, or a table and what its manifest says of it."""
    if request.series:
        from core_mondrian.cli.series import recount_series

        request.check_series()
        asked = request.asked.file
        return recount_series(request.table, asked, as_json=request.as_json)
    prepare_for(request.table)
    _check_there(request.table)
    manifest = request.evidence.manifest_file
    if manifest is None and not request.asked.names_protection:
        manifest = _beside(request.table)
    evidence = replace(request.evidence, manifest_file=manifest)
    evidence.check()
    if manifest is None and not request.asked.names_protection:
        raise _nothing_to_check(request.table)
    if manifest is None:
        return _recount(request)
    with show_progress(as_json=request.as_json) as progress:
        checked = _find_evidence(request, evidence, manifest, progress)
    return Reply(
        checked.to_json,
        print_notes=partial(_print_checks, checked),
        check=checked.check,
    )


def _nothing_to_check(table: Path) -> SpecError:
    """Return what is wrong where neither options nor a manifest say what to check."""
    if table.name.endswith(".manifest.json"):
        return SpecError(
            f"{table}: a manifest, not a release",
            hint=f"verify {table.name.removesuffix('.manifest.json')}: its manifest is "
            "found beside it",
        )
    return SpecError(
        f"{table}: no manifest stands beside it",
        hint="name it by --manifest, or say what to check: --qid and --k, or --spec",
    )


def _recount(request: VerifyRequest) -> Reply:
    """Recount a table by what options say."""
    from core_mondrian.verification.read_back import read_release
    from core_mondrian.verification.verify import verify

    spec = request.asked.spec()
    counted_by = spec.unit
    try:
        with show_progress(as_json=request.as_json) as progress:
            end = Steps(progress, "recounting", READ_AND_COUNT).end
            data = end(read_release(request.table, spec))
            if request.asked.flags["unit"] is None:  # else it was asked for here
                spec = _countable(spec, data.column_names)
            verification = end(verify(data, spec))
    except PrivacyViolation as error:
        return _failed(error)

    def print_notes() -> None:
        echo(f"rows        {verification.n_rows:,}")
        print_verification(verification)
        if counted_by != spec.unit:
            echo(
                f"note        rows were counted, not persons: the table has no column "
                f"{counted_by!r}, as a release should not"
            )

    return Reply(
        lambda: {"passed": True, **verification.to_json()}, print_notes=print_notes
    )


def _failed(error: PrivacyViolation) -> Reply:
    def check() -> None:
        raise error

    return Reply(lambda: {"passed": False, "message": error.message}, check=check)


def _countable(spec: "Spec", names: Sequence[str]) -> "Spec":
    """Return the spec without a unit that was removed: rows are counted instead."""
    return spec if spec.unit in names else replace(spec, unit=None)


def _check_there(table: Path) -> None:
    """Refuse a table that is not there before anything else is missed.

    Raises:
        DataError: there is no such file or folder.
    """
    if not table.exists():
        raise not_there(table)


def _beside(table: Path) -> Path | None:
    """Return the manifest beside a table, if there is one."""
    file = manifest_of(table)
    return file if file.is_file() else None


def _print_checks(evidence: "Evidence") -> None:
    """Say what was checked."""
    for one in evidence.checks:
        mark = {True: "", False: "NOT SO: ", None: "not checked: "}[one.passed]
        echo(escape_controls(f"{one.what:<11} {mark}{one.text}"))


def _find_evidence(
    request: VerifyRequest,
    evidence: EvidenceOptions,
    file: Path,
    progress: Progress | None,
) -> "Evidence":
    from core_mondrian.analysis.evidence import Redo, check_manifest, check_source
    from core_mondrian.release.manifests import read_manifest
    from core_mondrian.release.owner_record import find_record
    from core_mondrian.verification.read_back import read_release

    # What is said besides a manifest has to be all: nothing said is left unchecked.
    spec = request.asked.spec() if request.asked.is_given else None
    by = read_manifest(file).spec if spec is None else spec
    end = Steps(progress, "recounting", READ_AND_COUNT).end
    data = end(read_release(request.table, by))
    checked = end(
        check_manifest(
            data, file, file=request.table, spec=spec, public_key=evidence.public_key
        )
    )
    if evidence.source is None:
        return checked
    table, given = _read_source(
        checked, evidence.source, evidence.csv, request.asked.file
    )
    record = find_record(request.table, evidence.record_file)
    redo = None
    if evidence.redo:
        key = read_key(evidence.key_file)

        def same_rows(again: "pa.Table") -> bool:
            return _same_rows(again, table, by, request.table)

        redo = Redo(key, same_rows, progress=progress)
    return check_source(checked, table, record, given, redo=redo)


def _same_rows(again: "pa.Table", source: "pa.Table", spec: "Spec", file: Path) -> bool:
    """Tell whether a release made again has the rows of a file, in any order.

    Both are compared as they are read back, since CSV holds nothing but text.
    """
    from tempfile import TemporaryDirectory

    from core_mondrian.tables.files.kinds import parts_of, source_schema, suffix_of
    from core_mondrian.tables.files.write import table_writer
    from core_mondrian.tables.frames import same_rows
    from core_mondrian.verification.read_back import read_release

    parts = parts_of(file) if file.is_dir() else [file]
    with TemporaryDirectory() as folder:
        draft = Path(folder) / f"again{suffix_of(parts[0])}"
        guard = spec.guard_formulas
        table_writer(again, draft, source=source_schema(source), guard=guard)(draft)
        redone = read_release(draft, spec)
    return same_rows(redone, read_release(file, spec))


def _read_source(
    evidence: "Evidence", source: Path, csv: list[str] | None, spec_file: Path | None
) -> tuple["pa.Table", "Spec | None"]:
    """Return the input as `anonymize` reads it, and the spec if one is given."""
    from core_mondrian.spec.toml_file import load_spec

    spec = None if spec_file is None else load_spec(spec_file)
    by = evidence.manifest.spec if spec is None else spec
    table = read_source(
        source, csv, typed=by.quasi_identifiers, null_values=by.null_values
    )
    return table, spec
