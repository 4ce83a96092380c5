"""SipHash-2-4, a keyed pseudo-random function, of whole columns of 64-bit words.

Aumasson and Bernstein (2012), "SipHash: a fast short-input PRF". One message per row;
all messages have the same number of words, so that the rounds run over arrays.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from core_mondrian.runtime.array_types import Words

KEY_BYTES: Final = 16
_START: Final = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)
_BLOCK: Final = 1 << 13
"""Rows at a time: the four words of state of so many fit into a core's cache."""


def keyed_hash(columns: Sequence[Words], key: bytes) -> Words:
    """Return the hash of each row's words; whoever lacks the key cannot predict it."""
    n_rows = columns[0].size
    hashes = np.empty(n_rows, dtype=np.uint64)
    for start in range(0, n_rows, _BLOCK):
        rows = slice(start, start + _BLOCK)
        hashes[rows] = _hash_block([words[rows] for words in columns], key)
    return hashes


def _hash_block(columns: list[Words], key: bytes) -> Words:
    first, second = np.frombuffer(key[:KEY_BYTES], "<u8").astype(np.uint64)
    state = [
        np.full(columns[0].size, np.uint64(word) ^ half)
        for word, half in zip(_START, (first, second, first, second), strict=True)
    ]
    # The last block holds the length in bytes, in its highest byte.
    length = np.uint64((8 * len(columns)) % 256 << 56)
    for words in (*columns, np.full(columns[0].size, length)):
        state[3] ^= words
        _mix(state, 2)
        state[0] ^= words
    state[2] ^= np.uint64(0xFF)
    _mix(state, 4)
    hashes: Words = state[0] ^ state[1] ^ state[2] ^ state[3]
    return hashes


def _mix(state: list[Words], n_rounds: int) -> None:
    """Apply SipRounds to the state in place."""
    a, b, c, d = state
    for _ in range(n_rounds):
        _add_rotate(a, b, 13)
        _add_rotate(c, d, 16)
        _rotate(a, 32)
        _add_rotate(c, b, 17)
        _add_rotate(a, d, 21)
        _rotate(c, 32)


def _add_rotate(into: Words, other: Words, bits: int) -> None:
    """Add ``other`` to ``into``; then rotate ``other`` and cross it with the sum."""
    into += other
    _rotate(other, bits)
    other ^= into


def _rotate(words: Words, bits: int) -> None:
    high = words << np.uint64(bits)
    words >>= np.uint64(64 - bits)
    words |= high
