"""Hidden folders for what is not finished, and what killed runs left of them.

Whoever works in such a folder holds a lock, which the system takes away from the dead:
what nobody holds is a killed run's, may hold rows of people, and goes.
"""

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from core_mondrian.errors import OutputError

COUNTS: Final = "counts.arrow"
"""What a stopped stream leaves on purpose, to go on with."""
LOCK: Final = "lock"
_WORKSPACE: Final = ".core-mondrian"
_DRAFTS: Final = ".core-mondrian-{}.drafts"
_PATIENCE: Final = 30.0
"""Seconds that another run may take to rename its files."""


def workspace_of(target: Path) -> Path:
    """Return the folder of a target's unfinished stream."""
    real = target.resolve()
    return real.with_name(f".{real.name}{_WORKSPACE}")


@contextmanager
def draft_folder(folder: Path) -> Iterator[Path]:
    """Make a folder in ``folder`` that only we can read, and remove it in the end."""
    with ExitStack() as stack:
        with publishing(folder):
            tidy(folder)
            made = folder / _DRAFTS.format(secrets.token_hex(8))
            stack.callback(remove, made)
            made.mkdir(mode=0o700)
            handle = os.open(made, os.O_RDONLY)
            stack.callback(os.close, handle)
            try_lock(handle)
        yield made


@contextmanager
def publishing(*folders: Path) -> Iterator[None]:
    """Let one run at a time put files into these folders.

    Raises:
        OutputError: another one does not come to an end.
    """
    handles: list[int] = []
    try:
        for folder in sorted(set(folders)):  # in one order, or two wait for each other
            with suppress(OSError):  # a folder that we may write, but not read
                handles.append(os.open(folder, os.O_RDONLY))
                _wait_for(handles[-1], folder)
        yield
    finally:
        for handle in handles:
            os.close(handle)


def _wait_for(handle: int, folder: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while try_lock(handle) is False:
        if time.monotonic() > until:
            raise OutputError(
                f"{folder}: another run is writing in it", hint="wait until it is done"
            )
        time.sleep(0.01)


def try_lock(handle: int) -> bool | None:
    """Lock an open file or folder; False: somebody holds it; None: nobody can say."""
    try:
        import fcntl
    except ImportError:  # not on every system
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def tidy(folder: Path) -> None:
    """Remove what killed runs left in a folder; counts to go on with stay."""
    with suppress(OSError):
        for path in folder.glob(_DRAFTS.format("*")):
            _remove_dead(path, path)
        for path in folder.glob(f".*{_WORKSPACE}"):
            _remove_dead(path, path / LOCK)


def _remove_dead(path: Path, lock: Path) -> None:
    with suppress(OSError):
        handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            if try_lock(handle):
                clear(path, COUNTS)
        finally:
            os.close(handle)


def clear(folder: Path, *keep: str) -> None:
    """Remove all but some files, and the folder if none of these is there."""
    is_kept = any((folder / name).exists() for name in keep)
    if not is_kept:
        remove(folder)
        return
    for path in folder.iterdir():
        if path.name not in (LOCK, *keep):
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
