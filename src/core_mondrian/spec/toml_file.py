"""Spec files: a spec from TOML, with the line of what is wrong."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from core_mondrian.errors import CHECK_PATH, SpecError, drops_context, similar_file
from core_mondrian.runtime.plain_values import JsonObject
from core_mondrian.runtime.toml_positions import find_line, read_toml
from core_mondrian.spec.declaration import Spec, spec_from_mapping


@drops_context
def load_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a spec from a TOML file.

    Raises:
        SpecError: it cannot be read, is not TOML, or asks for what does not exist; the
            message names the file and, where one key is to blame, its line.
    """
    if not isinstance(path, str | os.PathLike):
        raise SpecError(
            f"a path is needed, got {type(path).__name__}",
            hint="keys make a spec without a file: Spec(['age'], k=5)",
        )
    file = read_spec_file(Path(path))
    with file.located():
        return spec_from_mapping(file.values, file.path.parent)


class SpecFile(NamedTuple):
    """A spec file's plain values, and where they stand in it."""

    path: Path
    text: str
    values: JsonObject

    @contextmanager
    def located(self, flags: Mapping[str, object] | None = None) -> Iterator[None]:
        """Let errors about a key of the file name the file, the line and the key.

        What ``flags`` say instead of the file is not the file's fault.
        """
        try:
            yield
        except SpecError as error:
            key = error.key or _first_word(error.message)
            if _is_given(key, flags or {}):
                raise
            where = f"spec {self.path}"
            if line := find_line(self.text, key):
                where += f", line {line}"
                if str(key[-1]) not in re.findall(r"[\w-]+", error.message):
                    where += f", key {'.'.join(str(part) for part in key)!r}"
            message = f"{where}: {error.message}"
            raise SpecError(message, hint=error.hint, key=key) from None


def read_spec_file(path: Path) -> SpecFile:
    """Read a spec file's plain values.

    Raises:
        SpecError: it cannot be read, or is not TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return SpecFile(path, text, read_toml(text))
    except FileNotFoundError:
        raise SpecError(f"spec {path}: no such file", hint=similar_file(path)) from None
    except OSError as error:
        raise SpecError(f"spec {path}: {error.strerror}", hint=CHECK_PATH) from None
    except UnicodeDecodeError:
        raise SpecError(
            f"spec {path}: not UTF-8 text", hint="save it as UTF-8"
        ) from None
    except ValueError as error:
        raise SpecError(f"spec {path}: {error}") from None


def _is_given(key: tuple[str | int, ...], flags: Mapping[str, object]) -> bool:
    """Return whether the flags, and not the file, say what a key is."""
    given: Any = flags
    for part in key:
        given = given.get(part) if isinstance(given, Mapping) else None
        if given is not None and not isinstance(given, Mapping):
            return True
    return False


def _first_word(message: str) -> tuple[str, ...]:
    """Return the key that a message begins with, as those about one key do."""
    match = re.match(r"[a-z_]+(\.[a-z_]+)*", message)
    return tuple(match[0].split(".")) if match else ()
