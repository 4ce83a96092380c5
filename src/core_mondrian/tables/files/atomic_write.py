"""Put files in their places: whole, together, or not at all."""

import errno
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa

from core_mondrian.errors import OutputError, SpecError
from core_mondrian.tables.files.kinds import known_kind
from core_mondrian.tables.files.staging import (
    HAS_OWNERS,
    create_private,
    draft_folder,
    is_ours,
    published,
    publishing,
    remove,
)

Writer: TypeAlias = Callable[[Path], None]
"""Writes one whole file to the path it is given."""
Content: TypeAlias = Writer | bytes | Path | None
"""What a file shall hold, or where it lies already, with a temporary name; None: there
shall be none."""
OVERWRITE: Final = "overwrite it (--overwrite; in Python, overwrite=True)"
_PART: Final = re.compile(r"part-\d{5,}\.(csv(\.(gz|bz2|zst))?|parquet)")
_HINTS: Final = {
    errno.ENOSPC: "the disk is full: make room, or write elsewhere",
    errno.EDQUOT: "the disk quota is used up: make room, or write elsewhere",
    errno.EFBIG: "the file would be larger than allowed here",
    errno.EACCES: "no permission: take another folder, or change its permissions",
    errno.EROFS: "the disk is read-only: write elsewhere",
}


def check_target(
    path: str | Path,
    *,
    overwrite: bool = False,
    source: str | Path | None = None,
    private: bool = False,
) -> None:
    """Refuse a target that cannot be written, before the long work.

    Raises:
        SpecError: it exists, is the source, or has an unknown suffix.
        OutputError: its folder is missing or not writable.
    """
    path = Path(path)
    known_kind(path, SpecError)
    same = source is not None and path.exists() and Path(source).exists()
    if same and path.samefile(str(source)):
        raise SpecError(
            f"{path}: target and source are the same file", hint="take another name"
        )
    check_place(path, overwrite=overwrite, private=private)


def require_distinct(what: str, files: Iterable[Path]) -> None:
    """Refuse one file for two things."""
    places = [file.resolve() for file in files]
    if len(set(places)) < len(places):
        raise SpecError(
            f"{what} are different files", hint="give each a name of its own"
        )


def check_place(path: Path, *, overwrite: bool, private: bool = False) -> None:
    """Refuse a place where no file can be put; see `check_target`.

    ``private``: it will hold rows or keys that only the user may read.
    """
    _check_link(path, private=private)
    if path.exists() and not path.is_file():
        raise SpecError(f"{path}: not an ordinary file", hint="name a new file")
    if path.exists() and not overwrite:
        raise SpecError(
            f"{path}: the file exists",
            hint=f"take another name, or {OVERWRITE}",
        )
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder does not exist", hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"{path}: no permission to write in its folder",
            hint="take another folder, or change its permissions",
        )


def _check_link(path: Path, *, private: bool) -> None:
    """Refuse a link of another user, and any to what only the user may read."""
    if not path.is_symlink():
        return
    owner = path.lstat().st_uid
    if owner != 0 and not is_ours(owner):
        raise OutputError(
            f"{path}: a link that another user made", hint="take another name"
        )
    if private:
        raise OutputError(
            f"{path}: a link, and this file is for you alone",
            hint="name the file itself",
        )


def check_folder(path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no folder of parts can be put; see `check_target`.

    Only a folder that holds nothing but parts is ever replaced.
    """
    if path.exists() and not path.is_dir():
        raise SpecError(f"{path}: not a folder", hint="name a new folder")
    if not path.exists():
        check_place(path, overwrite=overwrite)
        return
    names = [file.name for file in path.iterdir()]
    if names and not overwrite:
        raise SpecError(
            f"{path}: the folder is not empty", hint=f"take another, or {OVERWRITE}"
        )
    if not all(_PART.fullmatch(name) for name in names):
        raise SpecError(
            f"{path}: holds other things than parts of a release",
            hint="take another folder",
        )


def write_files(
    files: Mapping[Path, Content],
    *,
    overwrite: bool = False,
    private: Collection[Path] = (),
    commit: Callable[[], None] | None = None,
) -> None:
    """Write all files or none, whatever happens in between.

    Each is written to a hidden folder beside its target, in the order given, flushed
    to the disk, and only when all are complete are they renamed. What is written
    already, a file or a folder, is only renamed, or copied from another disk. A failure
    or an interrupt takes back what was done. The first file is what the others are
    about: when it appears, no old one of them is there, even if we are killed.

    Only the user can read what is ``private``, from its first byte on; others have the
    mode that the user's umask gives them. ``commit`` is called when all are complete,
    and none is renamed if it fails; from then on no signal interrupts.

    Raises:
        SpecError: a target exists and is not to be overwritten.
        OutputError: the system refuses; the hint says what to do.
    """
    for path in files:
        _check_link(path, private=path in private)
    secret = {path.resolve() for path in private}
    wanted = {path.resolve(): content for path, content in files.items()}
    _check_all(wanted, overwrite=overwrite)
    with ExitStack() as stack:
        hidden: dict[Path, Path] = {}
        for path in wanted:
            if path.parent not in hidden:
                is_secret = any(path.parent == one.parent for one in secret)
                with _naming(path):
                    own = stack.enter_context(
                        draft_folder(path.parent, private=is_secret)
                    )
                    hidden[path.parent] = own
                    for name in ("new", "old"):
                        (own / name).mkdir()
        drafts = {}
        for path, content in wanted.items():
            if content is not None:
                with _naming(path):
                    own = hidden[path.parent] / "new" / path.name
                    drafts[path] = _write_one(own, content, private=path in secret)
        stack.enter_context(publishing(*hidden))
        _check_all(wanted, overwrite=overwrite)
        old = {path: hidden[path.parent] / "old" / path.name for path in wanted}
        if commit is not None:
            stack.enter_context(undisturbed())
            commit()
        _publish(drafts, old)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say which file the system does not let us write."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise output_error(path, error) from None


def _publish(drafts: Mapping[Path, Path], backups: Mapping[Path, Path]) -> None:
    """Put all drafts in their places, or everything back to where it was."""
    begun: list[Path] = []
    try:
        for path in list(backups)[1:]:  # they describe what is going to be replaced
            if path.exists():
                with _naming(path):
                    path.replace(backups[path])
        for path, draft in drafts.items():
            with _naming(path):
                _back_up(path, backups[path])
                begun.append(path)
                draft.replace(path)
        for folder in {path.parent for path in backups}:
            with suppress(OSError):  # not every file system can
                flush(folder)
    except BaseException:
        with undisturbed():
            _take_back(begun, backups)
        raise
    published.append(tuple(drafts))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let no interrupt stop what has to be done as a whole, such as a repair."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, signal.SIG_IGN) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, signal.SIG_DFL if handler is None else handler)


def _check_all(wanted: Mapping[Path, Content], *, overwrite: bool) -> None:
    for path, content in wanted.items():
        if isinstance(content, Path) and content.is_dir():
            check_folder(path, overwrite=overwrite)
        else:
            check_place(path, overwrite=overwrite)


def _is_near(draft: Path, path: Path) -> bool:
    """Return whether a draft can be renamed to its place."""
    return path.parent.is_dir() and draft.stat().st_dev == path.parent.stat().st_dev


def _write_one(own: Path, content: Writer | bytes | Path, *, private: bool) -> Path:
    """Write a draft, and return where it is."""
    is_near = isinstance(content, Path) and _is_near(content, own)
    if private and not is_near:
        create_private(own)
    if isinstance(content, bytes):
        own.write_bytes(content)
    elif not isinstance(content, Path):
        content(own)
    elif is_near:
        own = content
    elif content.is_dir():
        shutil.copytree(content, own)
    else:
        shutil.copy2(content, own)
    if private:
        own.chmod(0o600)  # some write a file of their own and rename it
    for file in sorted(own.iterdir()) if own.is_dir() else [own]:
        flush(file)
    return own


def _back_up(path: Path, backup: Path) -> None:
    if not path.exists():
        return
    if path.is_dir():
        path.replace(backup)
        return
    try:
        os.link(path, backup)
    except OSError:  # no links on this file system
        # Whole, or not there: half of it would be put back in place of the old file.
        part = backup.parent.parent / f"{secrets.token_hex(4)}.part"
        shutil.copy2(path, part)
        part.replace(backup)


def flush(path: Path) -> None:
    """Let a file or a folder survive a crash of the system."""
    # Windows flushes only what it may write.
    handle = os.open(path, os.O_RDONLY if HAS_OWNERS else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_back(begun: Sequence[Path], backups: Mapping[Path, Path]) -> None:
    for path, backup in backups.items():
        with suppress(OSError):
            if path in begun and (path.is_dir() or not backup.exists()):
                remove(path)
            if backup.exists():
                backup.replace(path)


def output_error(path: Path, error: BaseException) -> OutputError:
    """Return what to say of a file that the system does not let us write."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None:  # Arrow names some system errors in its message only
        match = re.search(r"errno (\d+)", str(error))
        number = int(match[1]) if match else None
    reason = os.strerror(number) if number else type(error).__name__
    hint = _HINTS.get(number or 0, "nothing was written")
    return OutputError(f"{path}: cannot be written ({reason})", hint=hint)
