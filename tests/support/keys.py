"""Owners' keys that are the same in every run."""

from core_mondrian.tables.keys import Key, open_key


def key_of(number: int) -> bytes:
    return number.to_bytes(32, "little", signed=True)


KEY = key_of(7)
OPENED: Key = open_key(KEY)
