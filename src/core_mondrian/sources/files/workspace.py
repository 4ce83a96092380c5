"""A hidden folder next to the target: drafts, and a first pass to go on with."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core_mondrian.errors import DataError, SpecError, is_interrupt
from core_mondrian.sources.files.counting import Counts, load_counts, save_counts
from core_mondrian.tables.files.atomic_write import output_error
from core_mondrian.tables.files.staging import (
    COUNTS,
    LOCK,
    NO_LINKS,
    clear,
    private_folder,
    remove_empty,
    try_lock,
    workspace_of,
)

_LOCK_MODE: Final = os.O_RDWR | os.O_CREAT | NO_LINKS


@dataclass(frozen=True)
class Workspace:
    """Where a run keeps what is not done yet."""

    folder: Path
    """It itself: its name may lead elsewhere by now."""
    name: Path

    @property
    def counts(self) -> Path:
        """Where the counts of an unfinished run are."""
        return self.folder / COUNTS

    def draft(self, name: str) -> Path:
        """Return the place of a file that is not verified yet."""
        return self.folder / f"draft-{name}"

    def save(self, counts: Counts) -> None:
        """Keep the counts so far."""
        save_counts(counts, self.counts)

    def clear(self, *keep: str) -> None:
        """Remove all but some files."""
        clear(self.folder, LOCK, *keep)

    def leave(self, *, keep_counts: bool) -> None:
        """Remove the folder, or all but the counts."""
        clear(self.folder, *([COUNTS] if keep_counts else []))
        remove_empty(self.name)


@contextmanager
def open_workspace(
    target: Path, check: Callable[[Counts], None], *, resume: bool
) -> Iterator[tuple[Workspace, Counts | None]]:
    """Make or take up the folder; what is left in it is the first pass alone.

    An error leaves nothing behind. An interrupt leaves the counts, if there are any.
    Counts that ``check`` refuses stay as they are.

    Raises:
        SpecError: another run writes the same target.
        OutputError: the folder cannot be made, or nothing written in it, or it is not
            ours alone: what others put there would be believed, and rows be theirs.
    """
    name = workspace_of(target)
    with ExitStack() as stack:
        try:
            space = Workspace(stack.enter_context(private_folder(name)), name)
            lock = os.open(space.folder / LOCK, _LOCK_MODE, 0o600)
        except OSError as error:
            raise output_error(name, error) from None
        stack.callback(os.close, lock)
        _lock(lock, target)
        before = _left_over(space, check, resume=resume)
        try:
            yield space, before
        except BaseException as error:
            # After an interrupt the first pass can go on later.
            space.leave(keep_counts=is_interrupt(error))
            if is_interrupt(error) and isinstance(error, Exception):
                raise KeyboardInterrupt from None
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                raise output_error(target, error) from None  # not of the source
            raise
        space.leave(keep_counts=False)


def _lock(handle: int, target: Path) -> None:
    if try_lock(handle) is False:
        raise SpecError(
            f"{target}: another run is writing it", hint="wait, or take another name"
        )


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
    counts = _load(space) if resume and has_counts else None
    if counts is not None:
        check(counts)
    space.clear(*([COUNTS] if resume else []))
    return counts


def _load(space: Workspace) -> Counts:
    try:
        return load_counts(space.counts)
    except DataError as error:  # by the name that the user knows it by
        message = error.message.replace(str(space.folder), str(space.name))
        raise DataError(message, hint=error.hint) from None
