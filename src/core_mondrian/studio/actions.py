"""What the page has done for it: read a table, count risks, make a release."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from core_mondrian.analysis.inspection import Inspection, inspect_table
from core_mondrian.analysis.suggest import Guess, guess_roles
from core_mondrian.api import anonymize
from core_mondrian.datasets import census
from core_mondrian.errors import DataError, InternalError, SpecError
from core_mondrian.measures.groups import GroupMeasures
from core_mondrian.measures.risk import Risk as ReleasedRisk
from core_mondrian.release.owner_record import record_text
from core_mondrian.release.publication import release_writer
from core_mondrian.release.result import Release
from core_mondrian.report.facts import released_risk
from core_mondrian.report.plain import manifest_text
from core_mondrian.report.wording import count
from core_mondrian.spec.declaration import Spec
from core_mondrian.studio.draft import Draft
from core_mondrian.studio.file_names import file_names
from core_mondrian.studio.jobs import Progress
from core_mondrian.studio.plain_words import ReleaseWords, describe_release
from core_mondrian.studio.preview import ColumnPreview, preview_columns
from core_mondrian.studio.rows import Rows
from core_mondrian.tables.files.atomic_write import write_files
from core_mondrian.tables.files.kinds import known_kind, source_schema, suffix_of
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table
from core_mondrian.verification.counting import Coded, code_column

MADE_UP_ROWS: Final = 20_000


@dataclass(frozen=True)
class OpenedTable:
    """A table, and what is known of it before anything is chosen."""

    path: Path
    title: str
    """What the user calls it; the file may stand under another name."""
    table: pa.Table = field(repr=False)
    found: Inspection = field(repr=False)
    guesses: tuple[Guess, ...] = field(repr=False)
    previews: tuple[ColumnPreview, ...] = field(repr=False)
    """Columns at a glance."""
    _coded: dict[str, Coded] = field(default_factory=dict, repr=False)

    def in_(self, folder: Path) -> "OpenedTable":
        """Return the same table with a file of its own, if the file is the studio's."""
        if self.path.parent.parent != folder.parent:
            return self
        path = folder / self.path.name
        path.hardlink_to(self.path)
        return replace(self, path=path)

    def code(self, name: str) -> Coded:
        """Return a column as numbers, which are kept."""
        if name not in self._coded:
            self._coded[name] = code_column(self.table.column(name))
        return self._coded[name]


@dataclass(frozen=True, eq=False)
class Run:
    """A finished release, and what the page shows of it."""

    number: int
    draft: Draft = field(repr=False)
    title: str
    groups: str | None
    release: Release[pa.Table] = field(repr=False)
    source: pa.Schema = field(repr=False)
    rows: Rows = field(repr=False)
    """The table and its release, for the local user's eyes."""
    risk: ReleasedRisk
    """How likely people are to be found in the release."""
    lost: tuple[GroupMeasures, ...]
    """What each group of the column ``groups`` lost."""
    words: ReleaseWords = field(repr=False)
    """What became of each column, in plain words."""

    @property
    def toml(self) -> str:
        """The spec file that asks for it."""
        return self.draft.to_toml()

    @property
    def people(self) -> str:
        """Whom groups are counted in."""
        return "rows" if self.release.spec.unit is None else "persons"

    def guarded(self, *, is_on: bool) -> "Run":
        """Return it with the text of its CSV file kept from being formulas, or not."""
        return replace(self, draft=replace(self.draft, guards_formulas=is_on))

    @property
    def downloads(self) -> dict[str, str]:
        """Files that can be had of it, the release first, and what each is called."""
        kinds = self.release.data.schema.types
        is_flat = not any(pa.types.is_nested(kind) for kind in kinds)
        return file_names(self.title, is_flat=is_flat)

    def write(self, name: str, folder: Path) -> Path:
        """Write one of its files into the folder, once, and return where it stands.

        Raises:
            SpecError: there is no such file.
        """
        if name not in self.downloads:
            raise SpecError("there is no such file of this run")
        guarded = "-guarded" if self.draft.guards_formulas else ""
        path = folder / f"run-{self.number}{guarded}-{name}"
        if not path.exists():
            secret = [path] if name == "owner.json" else []
            content = self._content(name, path)
            write_files({path: content}, overwrite=True, private=secret)
        return path

    def _content(self, name: str, path: Path) -> Any:  # noqa: ANN401  # or a writer
        if name == "spec.toml":
            return self.toml.encode()
        guard, release = self.draft.guards_formulas, self.release
        if guard != release.spec.guard_formulas:  # no cell depends on it
            spec = replace(release.spec, guard_formulas=guard)
            release = replace(release, spec=spec)
        if name == "manifest.json":
            return manifest_text(release.manifest()).encode()
        if name == "owner.json":
            return record_text(release.record())
        if name == "report.html":
            return release.report_html().encode()
        return release_writer(release, path, self.source)


def open_table(path: Path, title: str, progress: Progress) -> OpenedTable:
    """Read a table, count its columns and guess their roles.

    Raises:
        DataError: the file cannot be read, or has no rows.
    """
    progress("read", 0.0)
    try:
        table = read_table(path)
    except DataError as error:  # the file stands here under another name
        raise DataError(
            error.message.replace(str(path), title), hint=error.hint
        ) from None
    if not table.num_rows:
        raise DataError(f"{title}: there are no rows", hint="take another file")
    progress("count", 0.3)
    inspected = inspect_table(table)
    progress("guess", 0.8)
    guesses = guess_roles(table, inspected)
    return OpenedTable(
        path,
        title,
        table,
        inspected,
        guesses,
        preview_columns(table, inspected.columns),
    )


def make_up(folder: Path, progress: Progress) -> OpenedTable:
    """Write a made-up census into the folder and open it."""
    path = folder / "census.csv"
    write_table(census(MADE_UP_ROWS), path, overwrite=True)
    return open_table(path, path.name, progress)


def check_suffix(title: str) -> str:
    """Return the suffix of a file's name.

    Raises:
        DataError: it is no kind of file that can be read.
    """
    known_kind(Path(title))
    return suffix_of(Path(title))


def make_release(
    opened: OpenedTable,
    draft: Draft,
    number: int,
    progress: Progress,
    key: bytes | None = None,
) -> Run:
    """Make the release that the command line makes of the same file, spec and key."""
    spec = draft.to_spec()
    progress("read", 0.0)
    table = read_as(opened, spec)
    progress("read", 1.0)
    by = [] if draft.groups is None else [draft.groups]
    if not spec.pseudonyms:
        key = None  # it was given for other choices
    release = anonymize(table, spec, key=key, by=by, progress=progress)
    progress("measure", 0.0)
    rows = _rows_of(table, release)
    _ = release.digest
    return Run(
        number=number,
        draft=draft,
        title=opened.title,
        groups=draft.groups,
        release=release,
        source=source_schema(table),
        rows=rows,
        risk=released_risk(release),
        lost=() if draft.groups is None else release.by_group(draft.groups),
        words=describe_release(release, rows),
    )


def reached_text(run: Run) -> str:
    """Return how many look alike in the release, in one sentence."""
    smallest = run.risk.smallest
    if smallest is None:
        return "No row is released."
    who = "row shares its" if run.release.spec.unit is None else "person shares their"
    if smallest == 1:
        return f"Some {run.people} are the only ones with their released values."
    return f"Every {who} released values with at least {count(smallest - 1, 'other')}."


def _rows_of(table: pa.Table, release: Release[pa.Table]) -> Rows:
    out = release._suppressed_rows  # noqa: SLF001
    if out is None:
        raise InternalError("nobody knows which rows were suppressed")
    return Rows(table, release.data, out, release.spec)


def read_as(opened: OpenedTable, spec: Spec) -> pa.Table:
    """Read the file as `core-mondrian anonymize` does: others stay text."""
    if known_kind(opened.path) != "csv":
        return opened.table
    return read_table(
        opened.path, typed=spec.quasi_identifiers, null_values=spec.null_values
    )
