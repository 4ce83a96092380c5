"""A hidden folder next to the target: drafts, and a first pass to go on with."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core_mondrian.errors import MondrianError, SpecError
from core_mondrian.files.place import output_error, remove
from core_mondrian.streams.state import Counts, load_counts, save_counts

_COUNTS: Final = "counts.arrow"
_LOCK: Final = "lock"


@dataclass(frozen=True)
class Workspace:
    """Where a run keeps what is not done yet."""

    folder: Path

    @property
    def counts(self) -> Path:
        """Where the counts of an unfinished run are."""
        return self.folder / _COUNTS

    def draft(self, name: str) -> Path:
        """Return the place of a file that is not verified yet."""
        return self.folder / f"draft-{name}"

    def save(self, counts: Counts) -> None:
        """Keep the counts so far."""
        save_counts(counts, self.counts)

    def clear(self, *keep: str) -> None:
        """Remove all but some files."""
        for path in self.folder.iterdir():
            if path.name not in (_LOCK, *keep):
                remove(path)

    def leave(self, *, keep_counts: bool) -> None:
        """Remove the folder, or all but the counts."""
        if keep_counts and self.counts.exists():
            self.clear(_COUNTS)
        else:
            remove(self.folder)


def workspace_of(target: Path) -> Path:
    """Return the folder of a target's unfinished run."""
    real = target.resolve()
    return real.with_name(f".{real.name}.core-mondrian")


@contextmanager
def open_workspace(
    target: Path, check: Callable[[Counts], None], *, resume: bool
) -> Iterator[tuple[Workspace, Counts | None]]:
    """Make or take up the folder; what is left in it is the first pass alone.

    An error leaves nothing behind. An interrupt leaves the counts, if there are any.
    Counts that ``check`` refuses stay as they are.

    Raises:
        SpecError: another run writes the same target.
        OutputError: the folder cannot be made.
    """
    space = Workspace(workspace_of(target))
    try:
        space.folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(space.folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise output_error(space.folder, error) from None
    try:
        _lock(lock, target)
        before = _left_over(space, check, resume=resume)
        try:
            yield space, before
        except (MondrianError, OSError):
            space.leave(keep_counts=False)
            raise
        except BaseException:  # an interrupt: the first pass can go on later
            space.leave(keep_counts=True)
            raise
        space.leave(keep_counts=False)
    finally:
        os.close(lock)


def _lock(handle: int, target: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on every system
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SpecError(
            f"{target}: another run is writing it", hint="wait, or take another name"
        ) from None


def _left_over(
    space: Workspace, check: Callable[[Counts], None], *, resume: bool
) -> Counts | None:
    """Return what an interrupted run has counted, if it is to go on."""
    has_counts = space.counts.exists()
    if resume and not has_counts:
        warnings.warn("no interrupted run to go on with; counting anew", stacklevel=2)
    if has_counts and not resume:
        warnings.warn(
            "an interrupted run was left behind and is dropped; --resume would have "
            "gone on with it",
            stacklevel=2,
        )
    counts = load_counts(space.counts) if resume and has_counts else None
    if counts is not None:
        check(counts)
    space.clear(*([_COUNTS] if resume else []))
    return counts
