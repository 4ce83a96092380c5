"""The owner's key, as a file or a variable of the environment has it."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from core_mondrian.errors import CHECK_PATH, SpecError

if TYPE_CHECKING:
    from core_mondrian.spec.declaration import Spec


def read_key(file: Path | None, spec: "Spec | None" = None) -> bytes | None:
    """Return the owner's key, checked before any work; None: one will be drawn."""
    from core_mondrian.tables.files.staging import read_secret
    from core_mondrian.tables.keys import key_for

    key: bytes | None
    if file is not None:
        try:
            key = _key_in(read_secret(file), file)
        except OSError as error:
            raise SpecError(
                f"key file {file}: {error.strerror}", hint=CHECK_PATH
            ) from None
    else:
        found = os.environ.get("CORE_MONDRIAN_KEY")
        key = None if found is None else os.fsencode(found)
    key_for(key, () if spec is None else spec.pseudonyms)
    return key


def _key_in(raw: bytes, file: Path) -> bytes:
    """Return the key that a file holds: as it is, or in the owner's record of a run."""
    from core_mondrian.release.owner_record import parse_record

    if not raw.lstrip().startswith(b"{"):
        return raw.rstrip(b"\r\n")
    try:
        key = parse_record(json.loads(raw)).key
    except ValueError:  # a DataError is one
        return raw.rstrip(b"\r\n")
    if key is None:
        raise SpecError(
            f"key file {file}: the run of this record had a key of yours",
            hint="give the file that it was made with",
        )
    return key
