"""Put files in their places: whole, together, or not at all."""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa

from core_mondrian.errors import OutputError, SpecError
from core_mondrian.files.kinds import FORMATS, SUFFIXES

Writer: TypeAlias = Callable[[Path], None]
"""Writes one whole file to the path it is given."""
_HINTS: Final = {
    errno.ENOSPC: "the disk is full: make room, or write elsewhere",
    errno.EDQUOT: "the disk quota is used up: make room, or write elsewhere",
    errno.EFBIG: "the file would be larger than allowed here",
    errno.EACCES: "no permission: take another folder, or change its permissions",
    errno.EROFS: "the disk is read-only: write elsewhere",
}


def check_target(
    path: str | Path, *, overwrite: bool = False, source: str | Path | None = None
) -> None:
    """Refuse a target that cannot be written, before the long work.

    Raises:
        SpecError: it exists, is the source, or has an unknown suffix.
        OutputError: its folder is missing or not writable.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise SpecError(
            f"{path}: unknown kind of file", hint=f"the suffix is one of {SUFFIXES}"
        )
    same = source is not None and path.exists() and Path(source).exists()
    if same and path.samefile(str(source)):
        raise SpecError(
            f"{path}: target and source are the same file", hint="take another name"
        )
    check_place(path, overwrite=overwrite)


def check_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no file can be put; see `check_target`."""
    if path.exists() and not path.is_file():
        raise SpecError(f"{path}: not an ordinary file", hint="name a new file")
    if path.exists() and not overwrite:
        raise SpecError(
            f"{path}: the file exists", hint="take another name, or --overwrite"
        )
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OutputError(f"{path}: the folder does not exist", hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"{path}: no permission to write in its folder",
            hint="take another folder, or change its permissions",
        )


def write_files(
    files: Mapping[Path, Writer | bytes], *, overwrite: bool = False
) -> None:
    """Write all files or none, whatever happens in between.

    Each is written next to its target under another name, flushed to the disk, and
    only when all are complete are they renamed. A failure or an interrupt takes back
    what was done.

    Raises:
        SpecError: a target exists and is not to be overwritten.
        OutputError: the system refuses; the hint says what to do.
    """
    drafts = {_real(path): content for path, content in files.items()}
    temporary = {path: _temporary(path) for path in drafts}
    backups = {path: _temporary(path) for path in drafts}
    done: list[Path] = []
    current = next(iter(drafts), Path())
    try:
        for current, content in drafts.items():
            check_place(current, overwrite=overwrite)
            _write_one(temporary[current], content)
        for current in drafts:
            check_place(current, overwrite=overwrite)
            _back_up(current, backups[current])
            done.append(current)
            temporary[current].replace(current)
        for folder in {path.parent for path in done}:
            with suppress(OSError):  # not every file system can
                _flush(folder)
    except BaseException as error:
        _take_back(done, backups)
        if isinstance(error, OSError | pa.ArrowException):
            raise _output_error(current, error) from None
        raise
    finally:
        for leftover in (*temporary.values(), *backups.values()):
            with suppress(OSError):
                leftover.unlink(missing_ok=True)


def _real(path: Path) -> Path:
    return Path(path).resolve()


def _temporary(path: Path) -> Path:
    return path.with_name(f".core-mondrian-{secrets.token_hex(8)}{path.suffix}.tmp")


def _write_one(path: Path, content: Writer | bytes) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        content(path)
    _flush(path)


def _back_up(path: Path, backup: Path) -> None:
    if not path.exists():
        return
    try:
        os.link(path, backup)
    except OSError:  # no links on this file system
        shutil.copy2(path, backup)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_back(done: Sequence[Path], backups: Mapping[Path, Path]) -> None:
    for path in done:
        with suppress(OSError):
            if backups[path].exists():
                backups[path].replace(path)
            else:
                path.unlink(missing_ok=True)


def _output_error(path: Path, error: BaseException) -> OutputError:
    number = error.errno if isinstance(error, OSError) else None
    if number is None:  # Arrow names some system errors in its message only
        found = re.search(r"errno (\d+)", str(error))
        number = int(found[1]) if found else None
    reason = os.strerror(number) if number else type(error).__name__
    hint = _HINTS.get(number or 0, "nothing was written")
    return OutputError(f"{path}: cannot be written ({reason})", hint=hint)
