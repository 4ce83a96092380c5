"""The owner's record of a release: what redoes and proves it, and would undo it.

The public manifest holds what was asked and what can be computed from the release
itself. Everything else depends on hidden cells, so that a reader could try guesses
against it: it is here, in a file that only its owner may read.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core_mondrian.errors import CHECK_PATH, DataError
from core_mondrian.release.manifests import (
    Counts,
    count_of,
    funnel_of,
    get,
    manifest_text,
)
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.tables.files.staging import record_of

if TYPE_CHECKING:
    from core_mondrian.release.result import AnyRelease

_FORMAT: Final = 2
SALT: Final = 32
_HINT: Final = "take the one written beside the release: TARGET.owner.json"


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """What is in an owner's record."""

    plain: JsonMapping = field(repr=False)
    """Its plain values, the key among them."""
    release: str
    """The digest of the release that it is about."""
    n_in: int
    n_bad: int
    """Of the rows that came in, those of files that could not be read."""
    n_released: int
    n_suppressed: int
    budget: int
    n_blanked: int
    funnel: Mapping[str, Counts] = field(repr=False)
    salt: bytes = field(repr=False)
    key: bytes | None = field(repr=False)
    """None: the owner gave one, and has it."""

    @property
    def n_read(self) -> int:
        """Rows that came in and could be read."""
        return self.n_in - self.n_bad

    def faults(self) -> list[str]:
        """Return where the record contradicts itself."""
        contradictions = []
        if self.n_read != self.n_released + self.n_suppressed:
            contradictions.append(
                "rows released and suppressed do not add up to rows in"
            )
        if self.n_suppressed > self.budget:
            contradictions.append("more rows are suppressed than the budget allows")
        totals = (
            {sum(one[stage] for one in part.values()) for part in self.funnel.values()}
            for stage in _stages(self.funnel)
        )
        if any(len(total) > 1 for total in totals):
            contradictions.append("the funnel's columns do not add up to its kinds")
        return contradictions


def _stages(funnel: Mapping[str, Counts]) -> set[str]:
    return {stage for part in funnel.values() for one in part.values() for stage in one}


def build_record(release: "AnyRelease") -> JsonObject:
    """Return the owner's record of a release as plain values."""
    key = release._key  # noqa: SLF001
    salt, digests = release.salted_digests()
    return {
        "format": _FORMAT,
        "kind": "release",
        "notice": "For the owner of the table alone: do not pass it on.",
        "release": release.digest,
        "key": {
            "source": "given" if key.is_given else "random",
            "secret": None if key.is_given else key.secret.hex(),
        },
        "salt": salt.hex(),
        "digests": digests,
        **release.figures(),
    }


def salted_digests(release: "AnyRelease", salt: bytes) -> dict[str, str]:
    """Return digests of what came in and of the tree, which need the salt."""
    tree = hashlib.blake2b(release.tree.digest.encode(), key=salt, digest_size=32)
    return {"input": release.input_digest(salt), "tree": tree.hexdigest()}


def record_text(record: Mapping[str, object]) -> bytes:
    """Return an owner's record as its file has it."""
    return manifest_text(record).encode()


def find_record(release: Path, named: Path | None = None) -> OwnerRecord | None:
    """Read the owner's record that is named, or stands beside a release.

    Raises:
        DataError: it cannot be read, or is no owner's record.
    """
    path = record_of(release) if named is None else named
    if named is None and not path.exists():
        return None
    try:
        plain = json.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", hint=CHECK_PATH) from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: not JSON", hint="was it cut off?") from None
    is_other = isinstance(plain, dict) and plain.get("kind") != "release"
    if named is None and is_other:
        return None  # of p-sensitize, which keeps other things
    try:
        return parse_record(plain)
    except DataError as error:
        raise DataError(f"{path}: {error.message}", hint=_HINT) from None


def parse_record(plain: object) -> OwnerRecord:
    """Return an owner's record from its plain values.

    Raises:
        DataError: something is missing, or of the wrong kind.
    """
    if not isinstance(plain, dict):
        raise DataError("it is no JSON object with a record's keys")
    if get(plain, "format", int) != _FORMAT:
        raise DataError(f"an owner's record of format {_FORMAT} was expected")
    rows = {"bad": 0, **get(plain, "rows", dict)}
    names = ("in", "bad", "released", "suppressed", "budget")
    secret = get(plain, "key", dict).get("secret")
    digests = get(plain, "digests", dict)
    if not all(isinstance(x, str) for x in digests.values()):
        raise DataError("digests are texts")
    n_in, n_bad, n_released, n_suppressed, budget = (count_of(rows, x) for x in names)
    return OwnerRecord(
        plain=plain,
        release=get(plain, "release", str),
        n_in=n_in,
        n_bad=n_bad,
        n_released=n_released,
        n_suppressed=n_suppressed,
        budget=budget,
        n_blanked=count_of(plain, "cells_blanked"),
        funnel=funnel_of(get(plain, "funnel", dict)),
        salt=_bytes(get(plain, "salt", str)),
        key=None if secret is None else _bytes(secret),
    )


def _bytes(text: object) -> bytes:
    try:
        raw = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        raw = b""
    if len(raw) != SALT:
        raise DataError(f"key and salt are {SALT} bytes each")
    return raw
