"""Where files of a release stand, and hidden folders for what is not finished.

Whoever works in such a folder holds a lock, which the system takes away from the dead:
what nobody holds is a killed run's, may hold rows of people, and goes.
"""

import errno
import os
import secrets
import shutil
import stat
import time
import warnings
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
_REMOVE: Final = "remove it, or write into a folder that only you can change"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
# Windows has neither owners and modes of this kind nor folders that can be opened: a
# folder there is as private as the one it is made in.
HAS_OWNERS = hasattr(os, "geteuid")
NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0)
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS
published: Final[list[tuple[Path, ...]]] = []
"""Files that this process has put in their places, together with each other; none, if
what it has published is in a database."""
_PATIENCE: Final = 30.0
"""Seconds that another run may take to rename its files."""


def manifest_of(target: Path) -> Path:
    """Return where the manifest of a release stands."""
    return target.with_name(target.name + ".manifest.json")


def record_of(target: Path) -> Path:
    """Return where the owner's record of a release stands."""
    return target.with_name(target.name + ".owner.json")


def workspace_of(target: Path) -> Path:
    """Return the folder of a target's unfinished stream."""
    real = target.resolve()
    return real.with_name(f".{real.name}{_WORKSPACE}")


@contextmanager
def draft_folder(folder: Path, *, private: bool = False) -> Iterator[Path]:
    """Make a folder in ``folder`` that only we can read, and remove it in the end.

    ``private``: refuse a file system on which others could read it.
    """
    with ExitStack() as stack:
        with publishing(folder):
            tidy(folder)
            made = folder / _DRAFTS.format(secrets.token_hex(8))
            stack.callback(remove_empty, made)
            made.mkdir(mode=0o700)
            handle = stack.enter_context(_open_folder(made))
            if private and _problem_of(handle):
                raise OutputError(
                    f"{folder}: a folder made there is not for you alone",
                    hint="take a file system that keeps owners and modes",
                )
            own = _by_descriptor(handle, made)
            stack.callback(clear, own)
            try_lock(handle)
        yield own


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """Make a folder, or take up one that was always ours alone.

    What is yielded leads to that very folder, even if others rename it meanwhile and
    put one of theirs in its place (where the system lets us hold on to a folder).

    Raises:
        OutputError: it is another user's, open to others, or no folder; or the system
            refuses.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    with ExitStack() as stack:
        try:
            handle = stack.enter_context(_open_folder(path))
        except NotADirectoryError:  # a link, too
            raise OutputError(f"{path}: not a folder", hint=_REMOVE) from None
        if problem := _problem_of(handle):
            raise OutputError(f"{path}: {problem}", hint=_REMOVE)
        yield _by_descriptor(handle, path)


@contextmanager
def _open_folder(path: Path) -> Iterator[int | None]:
    """Open a folder itself, never what a link of its name leads to.

    Yields None where the system does not open folders.
    """
    if not HAS_OWNERS:
        if path.is_symlink() or not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        yield None
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | NO_LINKS)
    try:
        yield handle
    finally:
        os.close(handle)


def is_ours(user: int) -> bool:
    """Return whether a file with this owner is ours, as far as the system knows."""
    return not HAS_OWNERS or user == os.geteuid()


def _problem_of(handle: int | None) -> str | None:
    """Return why a folder is not ours alone."""
    if handle is None:
        return None
    status = os.fstat(handle)
    if not is_ours(status.st_uid):
        return "belongs to another user"
    if stat.S_IMODE(status.st_mode) & _OTHERS:
        return "is open to other users"
    return None


def _by_descriptor(handle: int | None, path: Path) -> Path:
    """Return a path to an open folder that does not depend on its name."""
    if handle is None:
        return path
    held = Path(f"/proc/self/fd/{handle}")
    with suppress(OSError):  # only Linux has it
        if os.path.samestat(held.stat(), os.fstat(handle)):
            return held
    return path


def create_private(path: Path) -> None:
    """Make an empty file that only we can read, for a writer that opens it."""
    os.close(os.open(path, _NEW, 0o600))


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
                until = time.monotonic() + _PATIENCE
                while try_lock(handles[-1]) is False:
                    if time.monotonic() > until:
                        raise OutputError(
                            f"{folder}: another run is writing in it",
                            hint="wait until it is done",
                        )
                    time.sleep(0.01)
        yield
    finally:
        for handle in handles:
            os.close(handle)


def try_lock(handle: int | None) -> bool | None:
    """Lock an open file or folder; False: somebody holds it; None: nobody can say."""
    try:
        import fcntl
    except ImportError:  # not on every system
        return None
    if handle is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def read_secret(path: Path) -> bytes:
    """Read a key, and warn if other users can."""
    with path.open("rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHERS:
            warnings.warn(
                f"key {path}: is open to other users; chmod 600 makes it yours alone",
                stacklevel=2,
            )
        return file.read()


def tidy(folder: Path) -> None:
    """Remove what our killed runs left in a folder; counts to go on with stay."""
    with suppress(OSError):
        for path in folder.glob(_DRAFTS.format("*")):
            _remove_dead(path)
        for path in folder.glob(f".*{_WORKSPACE}"):
            _remove_dead(path, LOCK)


def _remove_dead(path: Path, lock: str | None = None) -> None:
    """Clear a folder of ours if nobody holds its lock: a file in it, or the folder."""
    with ExitStack() as stack, suppress(OSError):
        folder = handle = stack.enter_context(_open_folder(path))
        if folder is None or not is_ours(os.fstat(folder).st_uid):
            return
        if lock is not None:
            handle = os.open(lock, os.O_RDONLY | NO_LINKS, dir_fd=folder)
            stack.callback(os.close, handle)
        if try_lock(handle):
            clear(_by_descriptor(folder, path), COUNTS)
            remove_empty(path)


def clear(folder: Path, *keep: str) -> None:
    """Remove all but some files; the lock stays as long as one of them does."""
    with suppress(OSError):
        kept = {name for name in keep if (folder / name).exists()}
        for path in folder.iterdir():
            if not kept or path.name not in {LOCK, *kept}:
                remove(path)


def remove_empty(folder: Path) -> None:
    """Remove a folder, if it is there and nothing is in it."""
    with suppress(OSError):
        folder.rmdir()


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
