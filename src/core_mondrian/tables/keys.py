"""The secret of a run: 32 random bytes, or what the owner gives.

Everything that decides between rows which should look alike is derived from it, so
that a reader who has the release, the spec and this source code cannot recompute it.
It is never derived from the data: a reader knows most of them and can try the rest.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final

from core_mondrian.errors import SpecError

SHORTEST_KEY: Final = 16
_LENGTH: Final = 32
_PERSON: Final = b"core-mondrian"
_HINT: Final = "give 16 bytes or more: key=, --key-file FILE or CORE_MONDRIAN_KEY"


@dataclass(frozen=True, slots=True)
class Key:
    """A secret that is never shown; each purpose has a key of its own."""

    secret: bytes = field(repr=False)
    is_given: bool
    """Whether the owner gave it; else it was drawn for one run."""

    def derive(self, *purpose: str) -> bytes:
        """Return 32 bytes that reveal nothing about those of any other purpose."""
        root = hashlib.blake2b(self.secret, digest_size=_LENGTH, person=_PERSON)
        derived = hashlib.blake2b(
            digest_size=_LENGTH, key=root.digest(), person=_PERSON
        )
        for part in purpose:  # each with its length: ("a", "bc") is not ("ab", "c")
            raw = part.encode("utf-8", "surrogatepass")
            derived.update(len(raw).to_bytes(8, "little") + raw)
        return derived.digest()


def open_key(given: object) -> Key:
    """Return the owner's key, or one drawn for this run.

    Raises:
        SpecError: it is no key, or too short to be secret; the message reveals
            nothing of it but its length.
    """
    if given is None:
        return Key(_draw(), is_given=False)
    if not isinstance(given, bytes | bytearray):
        raise SpecError(f"the key is bytes, got {type(given).__name__}", hint=_HINT)
    if len(given) < SHORTEST_KEY:
        raise SpecError(
            f"the key has {len(given)} bytes, fewer than {SHORTEST_KEY}", hint=_HINT
        )
    return Key(bytes(given), is_given=True)


def _draw() -> bytes:
    """Return a key for one run; tests replace it."""
    return secrets.token_bytes(_LENGTH)


def key_for(given: object, pseudonyms: tuple[str, ...]) -> Key:
    """Return the key of a run; pseudonyms need one that the owner can give again.

    Raises:
        SpecError: see `open_key`; or pseudonyms are asked for without a key.
    """
    if given is None and pseudonyms:
        raise SpecError(f"pseudonyms of {list(pseudonyms)} need a key", hint=_HINT)
    return open_key(given)
