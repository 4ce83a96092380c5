"""Series: releases of a table that changes, under one guarantee."""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from core_mondrian import __version__
from core_mondrian.api import check_threads
from core_mondrian.errors import DataError, OutputError, SpecError, drops_context
from core_mondrian.recoding.recode import release_digest
from core_mondrian.release.manifests import manifest_text
from core_mondrian.release.signatures import digest_file
from core_mondrian.runtime.array_types import Frame
from core_mondrian.runtime.progress import Progress, Steps
from core_mondrian.series.cohorts import TooSmall
from core_mondrian.series.events import Departures
from core_mondrian.series.release_step import RowCounts, Step, take_step
from core_mondrian.series.state import Chain, Cuts, Rules, State, series_spec
from core_mondrian.series.state_file import read_state, write_state
from core_mondrian.series.step_rows import as_frame, persons_of, step_rows
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.files.atomic_write import flush, output_error, undisturbed
from core_mondrian.tables.files.dialect import WRITTEN
from core_mondrian.tables.files.kinds import known_kind
from core_mondrian.tables.files.staging import (
    NO_LINKS,
    manifest_of,
    published,
    record_of,
    try_lock,
)
from core_mondrian.tables.files.write import table_writer
from core_mondrian.tables.frames import OpenFrame, open_frame
from core_mondrian.tables.keys import open_key
from core_mondrian.verification.read_back import read_release
from core_mondrian.verification.verify import Verification
from core_mondrian.verification.verify_series import (
    Numbered,
    SeriesVerification,
    first_values,
    verify_moves,
    verify_next,
    verify_series,
)

FrameT = TypeVar("FrameT")
_STATE: Final = "state"
_LOCK: Final = "lock"
_DRAFT: Final = "draft"
_RELEASES: Final = "releases"
_RECORDS: Final = "records"
_NUMBER: Final = re.compile(r"r([1-9]\d*)\.")


@dataclass(frozen=True)
class SeriesRelease(Generic[FrameT]):
    """One release of a series, verified next to the ones before."""

    number: int
    data: FrameT
    """The caller's kind of frame, with the cohort of each row."""
    path: Path
    """The file to give away; its manifest stands beside it."""
    counts: RowCounts
    verification: Verification
    cohort_sizes: NDArray[np.int64] = field(repr=False)
    """Rows of each cohort."""


@dataclass(frozen=True)
class Series:
    """Releases of a table whose rows come, go and change, in one folder.

    The folder is its owner's: ``releases`` in it has what may be given away, ``state``
    what the series remembers, and ``records`` what became of how many rows.
    """

    folder: Path
    spec: Spec | None = field(default=None, repr=False)
    """Where the file cannot tell all of it: the spec that `create` was given."""

    @classmethod
    @drops_context
    def create(  # noqa: PLR0913
        cls,
        folder: str | Path,
        spec: Spec,
        *,
        row_key: str | Sequence[str],
        too_small: TooSmall = "ancestor",
        cuts: Cuts = "afresh",
        departures: Departures = "together",
        cohort: str = "cohort",
        cohort_size: int | None = None,
        suffix: str = ".parquet",
        key: bytes | None = None,
    ) -> "Series":
        """Begin a series in a new folder.

        ``row_key`` names the columns that say which row is which, from release to
        release. ``cuts``: new rows are cut "afresh", by themselves, or by the tree of
        the "first" release. ``too_small``: those that are too few where they stop move
        up to an ancestor, wait for more, or are withheld. ``departures``: rows that are
        gone or have changed leave "together", as soon as a cohort has enough of them,
        and are shown as they were until then; or at once, and others "by lot" with
        them. ``cohort`` is the column
        that says who is shown together; ``cohort_size`` asks for larger cohorts than
        the models do, which survive more deletions. ``suffix`` says in which form
        files are written. ``key`` makes pseudonyms; by default one is drawn.

        Raises:
            SpecError: the folder exists, or the spec asks for what no series can do.
            OutputError: it cannot be made.
        """
        names = (row_key,) if isinstance(row_key, str) else tuple(row_key)
        rules = Rules(names, cuts, departures, too_small, cohort, cohort_size, suffix)
        known_kind(Path(f"x{suffix}"), SpecError)
        state = State(
            secrets.token_hex(8), series_spec(spec, rules), rules, open_key(key)
        )
        own = Path(folder)
        try:
            own.mkdir(mode=0o700)
            for name in (_RELEASES, _RECORDS):
                (own / name).mkdir()
        except FileExistsError:
            raise SpecError(f"{own}: exists", hint="name a new folder") from None
        except OSError as error:
            raise output_error(own, error) from None
        write_state(own / _STATE, state, overwrite=False)
        return cls(own, spec)

    @classmethod
    @drops_context
    def open(cls, folder: str | Path, spec: Spec | None = None) -> "Series":
        """Go on with a series. What a killed run left is put right.

        ``spec`` is needed where a file cannot tell all of it, such as a model of your
        own; if it is given, it has to be the one of `create`.

        Raises:
            DataError: it is no series, of another version, or damaged.
            SpecError: the series has another spec, or needs it.
        """
        series = cls(Path(folder), spec)
        series.state()
        return series

    def state(self) -> State:
        """Return what the series remembers."""
        with suppress(_Busy), self._alone() as state:
            return state
        return read_state(self.folder / _STATE, self.spec)

    @property
    def paths(self) -> list[Path]:
        """The files of all releases, in their order."""
        n = self.state().chain.number
        return [self._path(i) for i in range(1, n + 1)]

    def _path(self, number: int) -> Path:
        suffix = read_state(self.folder / _STATE, self.spec).rules.suffix
        return _file(self.folder / _RELEASES, number, suffix)

    @drops_context
    def preview(self, data: Frame, *, threads: int | None = None) -> RowCounts:
        """Say what the next release would do with the rows of a table.

        Raises:
            MondrianError: as `release`; nothing is written in any case.
        """
        return take_step(self.state(), open_frame(data), threads).counts

    @drops_context
    def release(
        self,
        data: FrameT,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> SeriesRelease[FrameT]:
        """Release the table as it is now.

        Rows that were shown and are as they were are shown as they were. Others are
        new, or leave, see `docs/series.md`. The release is verified next to the one
        before, as it was written, and remembered before anybody can see it.
        ``progress`` is called with how much is done.

        Raises:
            SpecError: columns are missing or of other names than at first.
            DataError: a value does not fit, or the series is damaged.
            InfeasibleError: the first table cannot be released at all.
            PrivacyViolation: what came out failed its verification.
            OutputError: another process writes to the series; or the system refuses.
        """
        check_threads(threads)
        frame = open_frame(data)
        with self._alone() as state:
            end = Steps(progress, "releasing", (6.0, 1.0, 3.0)).end
            step = end(take_step(state, frame, threads))
            made = end(_Making(self.folder, state, step, frame, threads))
            release = end(made.write())
            # From here on the release is remembered; until it is published, nobody
            # has seen it. What a kill leaves in between is published later.
            path = _file(self.folder / _RELEASES, made.number, state.rules.suffix)
            with undisturbed():
                write_state(self.folder / _STATE, made.next_state(), overwrite=True)
                _publish(self.folder, made.number, state.rules.suffix)
                published.append((path,))
        return SeriesRelease(
            number=made.number,
            data=as_frame(made.table, frame),
            path=path,
            counts=step.counts,
            verification=release,
            cohort_sizes=np.bincount(step.shown.records.cohort),
        )

    @drops_context
    def verify(self) -> SeriesVerification:
        """Recount all releases from their files.

        Raises:
            PrivacyViolation: some rows can be distinguished from too many others.
        """
        state = self.state()
        files = enumerate(self.paths, start=1)
        tables = (Numbered(n, _as_written(path, state.spec)) for n, path in files)
        return verify_series(tables, state.spec, state.rules.cohort)

    @contextmanager
    def _alone(self) -> Iterator[State]:
        """Keep other writers out, and put right what a killed one left."""
        if not (self.folder / _STATE).is_file():
            raise DataError(
                f"{self.folder}: no series", hint="create it, or check the path"
            )
        try:
            handle = os.open(
                self.folder / _LOCK, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600
            )
        except OSError as error:
            raise output_error(self.folder / _LOCK, error) from None
        try:
            if try_lock(handle) is False:
                raise _Busy(
                    f"{self.folder}: another process writes to this series",
                    hint="wait until it is done",
                )
            state = read_state(self.folder / _STATE, self.spec)
            _publish(self.folder, state.chain.number, state.rules.suffix)
            _check_is_last(self.folder, state.chain.number)
            yield state
        finally:
            os.close(handle)


class _Busy(OutputError):
    """Another process writes to the series."""


def _file(folder: Path, number: int, suffix: str) -> Path:
    return folder / f"r{number}{suffix}"


def _publish(folder: Path, number: int, suffix: str) -> None:
    """Put what a release consists of in its place, and remove what is left of others.

    The state names the release by then, so this may be done again and again.
    """
    draft = folder / _DRAFT
    if not draft.is_dir():
        return
    file = _file(draft, number, suffix)
    places = {record_of(file): _RECORDS, manifest_of(file): _RELEASES, file: _RELEASES}
    for path, place in places.items():
        if path.exists():
            path.replace(folder / place / path.name)
    shutil.rmtree(draft)


def _check_is_last(folder: Path, number: int) -> None:
    """Refuse a state that does not know what was given away: from a backup, say."""
    for path in (folder / _RELEASES).glob("r*"):
        match = _NUMBER.match(path.name)
        if match is not None and int(match[1]) > number:
            raise DataError(
                f"{path}: the state does not know this release; it is an older one",
                hint="restore the last state, or begin another series",
            )


class _Making:
    """A release that is being made."""

    def __init__(
        self,
        folder: Path,
        state: State,
        step: Step,
        frame: OpenFrame,
        threads: int | None,
    ) -> None:
        self.folder, self.state, self.step, self.threads = folder, state, step, threads
        self.number = state.chain.number + 1
        self._rows = step_rows(state, step, frame, threads)
        self._manifest = b""
        self._record = b""

    @property
    def table(self) -> pa.Table:
        """The release."""
        return self._rows.table

    def write(self) -> Verification:
        """Write all files of the release to a draft, and verify what was written."""
        verification = self._verify()
        draft = self.folder / _DRAFT
        try:
            draft.mkdir(mode=0o700)
            self._write_files(draft, verification)
            for path in (*draft.iterdir(), draft, self.folder):
                flush(path)
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise output_error(draft, error) from None
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return verification

    def _write_files(self, draft: Path, verification: Verification) -> None:
        file = _file(draft, self.number, self.state.rules.suffix)
        table_writer(self.table, file, guard=self.state.spec.guard_formulas)(file)
        self._verify_files(file)
        self._manifest = self._manifest_text(verification, digest_file(file)).encode()
        manifest_of(file).write_bytes(self._manifest)
        self._record = self._record_text().encode()
        record_of(file).touch(mode=0o600)
        record_of(file).write_bytes(self._record)

    def _verify(self) -> Verification:
        """Recount the release in memory, where it is known whose each row is."""
        recoding = replace(self.step.shown.recoding, spec=self.state.spec)
        spec, before = self.state.spec, self.state.shown
        verification = recoding.verify(
            self._rows.counted(spec.unit), self._rows.n_blank, self.threads
        )
        verify_moves(
            None if before is None else persons_of(before),
            persons_of(self.step.shown),
            spec,
            recoding.compared(),
        )
        return verification

    def _verify_files(self, file: Path) -> None:
        """Recount what was written next to the release before."""
        spec, cohort = self.state.spec, self.state.rules.cohort
        after = Numbered(self.number, _as_written(file, spec))
        before = None
        if self.number > 1:
            before = Numbered(self.number - 1, self._read(self.number - 1))
        first = after.table if self.number == 1 else self._read(1)
        verify_next(before, after, spec, cohort, first_values(first, spec))

    def _read(self, number: int) -> pa.Table:
        """Return a release that was made before, as it was written."""
        path = _file(self.folder / _RELEASES, number, self.state.rules.suffix)
        if not path.exists():
            raise DataError(
                f"{path}: gone, and the next release is verified together with it",
                hint="put it back: copy releases from there, do not move them",
            )
        manifest = manifest_of(path)
        raw = manifest.read_bytes() if manifest.exists() else b""
        is_last = number == self.state.chain.number
        is_told = not is_last or _digest(raw) == self.state.chain.manifest
        digest = json.loads(raw)["files"]["release"] if raw and is_told else None
        if digest != digest_file(path):
            raise DataError(
                f"{path}: it or its manifest is not as it was released",
                hint="put it back as it was",
            )
        return _as_written(path, self.state.spec)

    def next_state(self) -> State:
        """Return what is remembered once the release is made."""
        chain = Chain(self.number, _digest(self._manifest), _digest(self._record))
        return replace(self.state, chain=chain, shown=self._rows.shown)

    def _manifest_text(self, verification: Verification, digest: str) -> str:
        """Return what goes with the release: nothing that it does not show itself."""
        spec, state = self.state.spec, self.state
        is_hidden = spec.is_unit_removed
        return manifest_text(
            {
                "format": 2,
                "spec": spec.to_json(),
                "series": {
                    "name": state.name,
                    "number": self.number,
                    "previous": state.chain.manifest,
                    "cohort": state.rules.cohort,
                },
                "rows": {
                    "released": verification.n_rows,
                    "budget": verification.n_suppressed_blank,
                },
                "classes": verification.n_classes,
                "models": [
                    {"name": x.name, "reached": None if is_hidden else x.reached}
                    for x in verification.models
                ],
                "allocation": "none",
                "digests": {"release": release_digest(self._rows.recoded, spec)},
                "files": {"release": digest},
                "versions": {"core-mondrian": __version__},
            }
        )

    def _record_text(self) -> str:
        return manifest_text(
            {
                "format": 1,
                "kind": "series",
                "notice": "For the owner of the table alone: do not pass it on.",
                "series": {"name": self.state.name, "number": self.number},
                "previous": self.state.chain.record,
                "manifest": _digest(self._manifest),
                "rows": self.step.counts.to_json(),
                "cohorts": self.step.shown.cohorts.n_cohorts,
            }
        )


def _as_written(file: Path, spec: Spec) -> pa.Table:
    return read_release(file, spec, dialect=WRITTEN)


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
