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
Content: TypeAlias = Writer | bytes | Path
"""What a file shall hold, or where it lies already, with a temporary name."""
_PART: Final = re.compile(r"part-\d{5,}\.(csv|parquet)")
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


def manifest_of(target: Path) -> Path:
    """Return where the manifest of a release stands."""
    return target.with_name(target.name + ".manifest.json")


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
            f"{path}: the folder is not empty", hint="take another, or --overwrite"
        )
    if not all(_PART.fullmatch(name) for name in names):
        raise SpecError(
            f"{path}: holds other things than parts of a release",
            hint="take another folder",
        )


def write_files(files: Mapping[Path, Content], *, overwrite: bool = False) -> None:
    """Write all files or none, whatever happens in between.

    Each is written next to its target under another name, in the order given, flushed
    to the disk, and only when all are complete are they renamed. What is written
    already, a file or a folder, is only renamed, or copied from another disk. A failure
    or an interrupt takes back what was done.

    Raises:
        SpecError: a target exists and is not to be overwritten.
        OutputError: the system refuses; the hint says what to do.
    """
    drafts = {_real(path): content for path, content in files.items()}
    temporary = {
        path: content
        if isinstance(content, Path) and _is_near(content, path)
        else _temporary(path)
        for path, content in drafts.items()
    }
    backups = {path: _temporary(path) for path in drafts}
    done: list[Path] = []
    current = next(iter(drafts), Path())
    try:
        for current, content in drafts.items():
            _check_free(current, content, overwrite=overwrite)
            _write_one(temporary[current], content)
        for current, content in drafts.items():
            _check_free(current, content, overwrite=overwrite)
            _back_up(current, backups[current])
            done.append(current)
            temporary[current].replace(current)
        for folder in {path.parent for path in done}:
            with suppress(OSError):  # not every file system can
                _flush(folder)
    except BaseException as error:
        _take_back(done, backups)
        if isinstance(error, OSError | pa.ArrowException):
            raise output_error(current, error) from None
        raise
    finally:
        for leftover in (*temporary.values(), *backups.values()):
            remove(leftover)


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _check_free(path: Path, content: Content, *, overwrite: bool) -> None:
    if isinstance(content, Path) and content.is_dir():
        check_folder(path, overwrite=overwrite)
    else:
        check_place(path, overwrite=overwrite)


def _real(path: Path) -> Path:
    return Path(path).resolve()


def _is_near(draft: Path, path: Path) -> bool:
    """Tell whether a draft can be renamed to its place."""
    return path.parent.is_dir() and draft.stat().st_dev == path.parent.stat().st_dev


def _temporary(path: Path) -> Path:
    return path.with_name(f".core-mondrian-{secrets.token_hex(8)}{path.suffix}.tmp")


def _write_one(path: Path, content: Content) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif not isinstance(content, Path):
        content(path)
    elif content.is_dir() and content != path:
        shutil.copytree(content, path)
    elif content != path:
        shutil.copy2(content, path)
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        _flush(file)


def _back_up(path: Path, backup: Path) -> None:
    if not path.exists():
        return
    if path.is_dir():
        path.replace(backup)
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
            is_folder = path.is_dir()
            if is_folder:
                remove(path)
            if backups[path].exists():
                backups[path].replace(path)
            elif not is_folder:
                path.unlink(missing_ok=True)


def output_error(path: Path, error: BaseException) -> OutputError:
    """Return what to say of a file that the system does not let us write."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None:  # Arrow names some system errors in its message only
        found = re.search(r"errno (\d+)", str(error))
        number = int(found[1]) if found else None
    reason = os.strerror(number) if number else type(error).__name__
    hint = _HINTS.get(number or 0, "nothing was written")
    return OutputError(f"{path}: cannot be written ({reason})", hint=hint)
